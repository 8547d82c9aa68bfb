from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from autocompact.errors import InvalidInput, MemoryInUse
from autocompact.memory.documents.pages import NAMES
from autocompact.memory.documents.policy import ObservationPolicy, TaskPolicy, UpkeepPolicy
from autocompact.memory.observing import observe
from autocompact.memory.paths import memory_folder
from autocompact.memory.upkeep import run_upkeep
from autocompact.testing.clock import FakeClock
from tests.memory.child import NOW
from tests.warm import command

ROOT = Path(__file__).parents[2]
FILES = {
    "OBSERVATIONS.md": b"# Observations\r\n\r\n- 2026-11-20: Young (9 confirmations)\r\n- 2026-10-01: Old\r\n- 2026-11-20: Stays",
    "DONE.md": b"\xef\xbb\xbf"
    + b"".join(b"- 2026-10-%02d: T-%d x (done)\n" % (day, day) for day in range(1, 13)),
    "DECISIONS.md": b"caf\xe9\n",
    "CONTEXT_ARCHIVE.md": b"# Context archive\n\n## 2026-11-20T00:00:00.000+00:00 c1\n\nx\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in NAMES if (folder / name).exists()}


@pytest.mark.requirement("C2", "C3", "C10")
def test_a_run_changes_the_files_that_it_must_and_no_byte_of_the_others(folder: Path):
    report = run_upkeep(folder, clock=FakeClock(NOW))
    after = contents(folder)
    assert after["OBSERVATIONS.md"] == b"# Observations\r\n\r\n- 2026-11-20: Stays"
    assert after["DONE.md"] == FILES["DONE.md"].replace(
        b"- 2026-10-01: T-1 x (done)\n- 2026-10-02: T-2 x (done)\n", b""
    )
    assert {name: after[name] for name in ("DECISIONS.md", "CONTEXT_ARCHIVE.md")} == {
        name: FILES[name] for name in ("DECISIONS.md", "CONTEXT_ARCHIVE.md")
    }
    assert {change.name for change in report.changes} == {*NAMES} - {"DECISIONS.md", "CONTEXT_ARCHIVE.md"}
    assert report.backup == folder / "backups" / "2026-11-21T10-00-00"
    assert {
        path.name: path.read_bytes() for path in (folder / "backups" / "2026-11-21T10-00-00").iterdir()
    } == {name: FILES[name] for name in ("OBSERVATIONS.md", "DONE.md")}


def test_a_second_run_right_after_changes_nothing(folder: Path):
    run_upkeep(folder, clock=FakeClock(NOW))
    before = contents(folder)
    report = run_upkeep(folder, clock=FakeClock(NOW))
    assert (report.changes, report.backup, contents(folder)) == ((), None, before)


def test_a_dry_run_writes_nothing_and_shows_what_a_run_would_do(folder: Path):
    planned = run_upkeep(folder, clock=FakeClock(NOW), dry_run=True)
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert contents(folder) == FILES
    diffs = {change.name: change.diff() for change in planned.changes}
    assert "\n-- 2026-10-01: Old\n" in diffs["OBSERVATIONS.md"]
    assert diffs["ACTIVE_RULES.md"].startswith("--- /dev/null\n+++ ACTIVE_RULES.md\n@@")
    done = run_upkeep(folder, clock=FakeClock(NOW))
    assert done.changes == planned.changes


def test_a_layer_that_is_switched_off_does_not_run(folder: Path):
    policy = UpkeepPolicy(observations=ObservationPolicy(enabled=False), tasks=TaskPolicy(enabled=False))
    report = run_upkeep(folder, clock=FakeClock(NOW), policy=policy)
    assert (report.observations, report.tasks, report.off) == (None, None, ("observations", "tasks"))
    assert [change.name for change in report.changes] == ["MEMORY.md"]
    assert run_upkeep(folder, layers=["tasks"], clock=FakeClock(NOW), policy=policy).off == ("tasks",)


def test_an_empty_folder_stays_empty_and_a_missing_one_is_named(tmp_path: Path):
    assert run_upkeep(tmp_path, clock=FakeClock(NOW)).changes == ()
    assert contents(tmp_path) == {}
    with pytest.raises(InvalidInput, match=r"no memory folder.*nowhere.*autocompact observe"):
        run_upkeep(tmp_path / "nowhere")


def test_a_file_that_is_no_text_stops_the_run_before_anything_changes(folder: Path):
    (folder / "DONE.md").write_bytes("x".encode("utf-16"))
    with pytest.raises(InvalidInput, match=r"DONE\.md holds NUL bytes"):
        run_upkeep(folder, clock=FakeClock(NOW))
    assert contents(folder) == {**FILES, "DONE.md": "x".encode("utf-16")}


def test_a_file_edited_during_a_run_is_looked_at_again(folder: Path):
    edits = iter([b"- 2026-11-20: Mine\n"])

    def edit(reached: str) -> None:
        if reached.startswith("staged") and (line := next(edits, b"")):
            (folder / "ACTIVE_RULES.md").write_bytes(line)

    run_upkeep(folder, clock=FakeClock(NOW), failpoint=edit)
    assert contents(folder)["ACTIVE_RULES.md"].startswith(b"- 2026-11-20: Mine\n\n## Rule 1: Young\n")


def test_where_somebody_keeps_editing_the_run_gives_up_and_says_so(folder: Path):
    def edit(reached: str) -> None:
        if reached == "planned":
            with (folder / "ACTIVE_RULES.md").open("ab") as file:
                file.write(b"more\n")

    with pytest.raises(MemoryInUse, match="keeps changing"):
        run_upkeep(folder, clock=FakeClock(NOW), failpoint=edit)
    assert contents(folder)["OBSERVATIONS.md"] == FILES["OBSERVATIONS.md"]
    (folder / "OBSERVATION_ARCHIVE.md").write_bytes(b"- 2026-10-01: x is back\n")

    def edit_more(reached: str) -> None:
        if reached == "planned":
            with (folder / "OBSERVATIONS.md").open("ab") as file:
                file.write(b"more\n")

    with pytest.raises(MemoryInUse, match="keeps changing"):
        observe(folder, "x is back", failpoint=edit_more)
    assert b"x is back" in contents(folder)["OBSERVATION_ARCHIVE.md"]


def test_killed_at_any_step_the_next_run_brings_it_to_the_same_end(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
):
    reference = tmp_path_factory.mktemp("reference")
    for name, content in FILES.items():
        (reference / name).write_bytes(content)
    steps = killed(reference, "never").split("\n")[:-1]
    expected = contents(reference)
    assert len(steps) > 12
    for step in dict.fromkeys(steps):
        for name in contents(folder):
            (folder / name).unlink()
        for name, content in FILES.items():
            (folder / name).write_bytes(content)
        assert killed(folder, step).endswith(f"{step}\n")
        run_upkeep(folder, clock=FakeClock(NOW))
        assert contents(folder) == expected, step
        assert not (folder / ".journal").exists()


def killed(folder: Path, step: str) -> str:
    killing = [*command("tests.memory.child"), str(folder), step]
    return subprocess.run(killing, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_many_who_observe_at_once_wait_for_each_other(tmp_path: Path):
    folder = tmp_path / "memory"
    threads = [
        threading.Thread(
            target=observe,
            args=(folder, f"Use UTC {n % 2}"),
            kwargs={"clock": FakeClock(f"2026-11-1{n // 2}{NOW[10:]}")},
        )
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (folder / "OBSERVATIONS.md").read_text()
    assert text.count("(3 confirmations: ") == 2
    assert text.count("\n- ") == 2


def test_what_cannot_be_noted_makes_no_folder(tmp_path: Path):
    with pytest.raises(InvalidInput):
        observe(tmp_path / "memory", "...")
    assert not (tmp_path / "memory").exists()


def test_the_folder_is_the_nearest_in_the_project_else_in_the_data_folder(tmp_path: Path):
    home = tmp_path / "home"
    inner = home / "project" / "src" / "deep"
    inner.mkdir(parents=True)

    def found(start: Path) -> Path:
        environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
        return memory_folder(start, environ=environ, platform="linux", home=home)

    assert found(inner) == tmp_path / "data" / "autocompact" / "memory"
    (home / "project" / "pyproject.toml").touch()
    assert found(inner) == home / "project" / ".autocompact"
    (home / ".autocompact").mkdir()
    (home / "project" / ".git").mkdir()
    (home / "project" / "src" / ".autocompact").mkdir()
    assert found(inner) == home / "project" / "src" / ".autocompact"
    assert found(home / "project") == home / "project" / ".autocompact"
    assert found(home) == tmp_path / "data" / "autocompact" / "memory"
