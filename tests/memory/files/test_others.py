"""The memory of other programs in a project and in the home folder."""

from pathlib import Path

import pytest

from autocompact.memory.files.others import (
    LARGEST,
    MOST_FILES,
    background_files,
    others_around,
    texts_in,
    topics_in,
    untouched_by,
)

FILES = (
    "AGENTS.md",
    "packages/api/AGENTS.md",
    "packages/api/.cursor/rules/inner.mdc",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    ".claude/rules/style.md",
    ".cursorrules",
    ".cursor/rules/api/rest.mdc",
    ".github/copilot-instructions.md",
    ".github/instructions/python.instructions.md",
    "memory-bank/activeContext.md",
    "memory-bank/progress.md",
    ".clinerules/memory-bank.md",
)
NONE = (
    "README.md",
    "docs/page.md",
    ".github/workflows/x.md",
    "node_modules/a/AGENTS.md",
    ".venv/AGENTS.md",
    ".cursor/x.mdc",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    for name in (*FILES, *NONE):
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    (made / ".git").mkdir()
    (made / ".autocompact").mkdir()
    return made


def test_the_files_of_each_program_are_found_and_no_others(project: Path, tmp_path: Path):
    found = others_around(project / ".autocompact", home=tmp_path / "home", environ={})
    assert {each.name for each in found} == set(FILES)
    assert [each.name for each in found][:2] == ["memory-bank/activeContext.md", "memory-bank/progress.md"]
    assert found[0].text() == "# memory-bank/activeContext.md"
    assert others_around(tmp_path / "elsewhere", home=tmp_path) == []


def test_a_memory_folder_of_the_home_folder_is_in_no_project(project: Path) -> None:
    assert others_around(project / ".autocompact", home=project, environ={}) == []


def test_the_notes_of_claude_code_belong_to_their_project(project: Path, tmp_path: Path):
    home = tmp_path / "home"
    for name, where in (("here", project), ("other", tmp_path / "other")):
        slug = "".join(each if each.isascii() and each.isalnum() else "-" for each in str(where.resolve()))
        notes = home / ".claude" / "projects" / slug / "memory"
        (notes / "backups").mkdir(parents=True)
        (notes / f"{name}.md").write_text("x")
        (notes / "backups" / "old.md").write_text("x")
    found = [each.name for each in others_around(project / ".autocompact", home=home, environ={})]
    assert [name.rpartition("/")[2] for name in found if name.startswith("~/")] == ["here.md"]
    moved = others_around(
        project / ".autocompact", home=tmp_path, environ={"CLAUDE_CONFIG_DIR": str(home / ".claude")}
    )
    assert sum(each.name.endswith("/here.md") for each in moved) == 1


def test_a_link_out_of_a_project_is_not_followed(project: Path, tmp_path: Path):
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret")
    (project / "GEMINI.md").symlink_to(secret)
    (project / "memory-bank" / "leak.md").symlink_to(secret)
    names = {
        each.name for each in others_around(project / ".autocompact", home=tmp_path / "home", environ={})
    }
    assert names == set(FILES)
    assert "leak.md" not in topics_in(project / "memory-bank")


def test_the_owner_of_a_memory_folder_may_keep_its_files_elsewhere(project: Path, tmp_path: Path):
    (tmp_path / "kept.md").write_text("# Kept")
    (project / ".autocompact" / "MEMORY.md").symlink_to(tmp_path / "kept.md")
    assert [each.text() for each in texts_in(project / ".autocompact")] == ["# Kept"]


def test_a_folder_of_another_program_is_its_own_and_a_project_has_pages(project: Path):
    bank = project / "memory-bank"
    assert list(topics_in(bank)) == ["activeContext.md", "progress.md"]
    assert untouched_by(bank)[:3] == ["activeContext.md", "progress.md", ".claude/CLAUDE.md"]
    assert list(background_files(bank))[:2] == ["activeContext.md", "progress.md"]
    assert topics_in(project) == {}
    assert untouched_by(project)[:3] == ["AGENTS.md", "CLAUDE.md", "README.md"]


def test_what_is_too_large_or_gone_has_no_text_and_a_flood_of_files_is_cut(tmp_path: Path):
    (tmp_path / "large.md").write_bytes(b"x" * (LARGEST + 1))
    for number in range(MOST_FILES + 5):
        (tmp_path / f"n{number}.md").touch()
    found = texts_in(tmp_path)
    assert len(found) == MOST_FILES
    assert found[0].text() == ""
    found[1].path.unlink()
    assert found[1].text() == ""
