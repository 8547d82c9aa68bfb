"""What the chat reads of the memory folder."""

from pathlib import Path

from autocompact.chat.prompt import MemoryFiles, system_prompt


def test_memory_files_in_windows_1252_are_read_as_such_and_what_is_no_text_is_left_out(tmp_path: Path):
    (tmp_path / "ACTIVE_RULES.md").write_bytes("1. Sag “immer” – nie „oft“\r\n".encode("cp1252"))
    (tmp_path / "NOTES.md").write_bytes(b"a\0b")
    memory = MemoryFiles(tmp_path)
    assert memory.documents() == [("ACTIVE_RULES.md", "1. Sag “immer” – nie „oft“"), ("NOTES.md", "")]
    assert "Sag “immer” – nie „oft“" in system_prompt(memory, instructions="", workspace=None, skills=())
