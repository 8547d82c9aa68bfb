"""What the chat reads of the memory folder and of the memory of other programs beside it."""

from pathlib import Path

from autocompact.chat.prompt import MemoryFiles, system_prompt


def test_memory_files_in_windows_1252_are_read_as_such_and_what_is_no_text_is_left_out(tmp_path: Path):
    (tmp_path / "ACTIVE_RULES.md").write_bytes("1. Sag “immer” – nie „oft“\r\n".encode("cp1252"))
    (tmp_path / "NOTES.md").write_bytes(b"a\0b")
    memory = MemoryFiles(tmp_path)
    assert memory.documents() == [("ACTIVE_RULES.md", "1. Sag “immer” – nie „oft“"), ("NOTES.md", "")]
    assert "Sag “immer” – nie „oft“" in system_prompt(memory, instructions="", workspace=None, skills=())


def test_the_memory_of_other_programs_in_the_project_is_searched_too(tmp_path: Path):
    folder = tmp_path / ".autocompact"
    for name in (
        "ACTIVE_RULES.md",
        "notes/topic.md",
        "../AGENTS.md",
        "../.cursor/rules/a.mdc",
        "../README.md",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"Text of {name}\n")
    assert MemoryFiles(folder).documents() == [
        (".cursor/rules/a.mdc", "Text of ../.cursor/rules/a.mdc"),
        ("ACTIVE_RULES.md", "Text of ACTIVE_RULES.md"),
        ("AGENTS.md", "Text of ../AGENTS.md"),
        ("notes/topic.md", "Text of notes/topic.md"),
    ]
    assert MemoryFiles(None).documents() == ()
