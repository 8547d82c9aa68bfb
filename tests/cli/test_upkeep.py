from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pytest

from autocompact.chat.loop_thread import LoopThread
from autocompact.cli.upkeep import main
from autocompact.testing import FakeProvider, Recorded
from tests.cli.program import CODING, Ended, Program, environment

Compress: TypeAlias = Callable[..., Ended]


@pytest.fixture
def compress(capfdbinary: pytest.CaptureFixture[bytes]) -> Compress:
    def run(*arguments: str | Path) -> Ended:
        code = main([str(each) for each in arguments])
        out, err = capfdbinary.readouterr()
        return Ended(code=code, out=out, err=err.decode())

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's, with a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    made = tmp_path / "project" / ".autocompact"
    made.mkdir(parents=True)
    (made / "OBSERVATIONS.md").write_text(
        "- 2020-01-01: Old\n- 2020-01-01: Confirmed\x1b[2J (9 confirmations)\n"
    )
    (made / "ACTIVE_RULES.md").write_text("1. Always use tabs\n2. Never use tabs\n")
    (made / "DONE.md").write_text(
        "".join(f"- 2020-01-{day:02}: T-{day} x (done; pattern: tea)\n" for day in range(1, 25))
    )
    return made


@pytest.mark.requirement("C5")
def test_done_is_0_and_nothing_to_do_is_3(folder: Path, compress: Compress):
    done = compress("--dir", folder, "--all")
    assert (done.code, done.out) == (0, b"")
    assert "new rule" in done.err
    assert "rule 3: Confirmed\\x1b[2J" in done.err
    assert "contradiction 1: Always use tabs / 2: Never use tabs" in done.err
    assert "… 4 more" in done.err
    assert "10 tasks stay, 14 archived, 1 pattern proposed" in done.err
    assert "backups" in done.err
    assert "Session: there is none yet" in done.err
    assert "Report of 20" in done.err
    again = compress("--dir", folder, "--all")
    assert again.code == 3
    assert "nothing to do" in again.err


@pytest.mark.parametrize("name", ["memory", "notes/agent"])
def test_a_folder_of_any_name_takes_the_newest_session_of_its_own_project(
    folder: Path, name: str, compress: Compress, monkeypatch: pytest.MonkeyPatch
):
    project = folder.parent
    (project / ".git").mkdir()
    other = _recorded(folder, "other", ran_in=project.parent / "another")
    own = _recorded(folder, "own", ran_in=project)
    os.utime(own, (1_700_000_000, 1_700_000_000))
    assert own.stat().st_mtime < other.stat().st_mtime
    monkeypatch.chdir(project.parent)
    done = json.loads(compress("--dir", project / name, "--session-now", "--json").out)
    assert done["session"]["path"] == str(own)


def test_a_folder_outside_of_projects_takes_sessions_of_the_folder_that_is_worked_in(
    folder: Path, tmp_path: Path, compress: Compress, monkeypatch: pytest.MonkeyPatch
):
    work = tmp_path / "work"
    work.mkdir()
    _recorded(folder, "other", ran_in=folder.parent)
    monkeypatch.chdir(work)
    refused = compress("--dir", tmp_path / "memory", "--session-now")
    assert refused.code == 2
    assert f"there is no session that ran in {str(work)!r}" in refused.err
    own = _recorded(folder, "own", ran_in=work)
    done = json.loads(compress("--dir", tmp_path / "memory", "--session-now", "--json").out)
    assert done["session"]["path"] == str(own)


def test_the_users_own_folder_takes_the_newest_session_of_all(
    folder: Path, tmp_path: Path, compress: Compress, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    recorded = _recorded(folder, "other", ran_in=folder.parent)
    done = json.loads(compress("--session-now", "--json").out)
    assert done["session"]["path"] == str(recorded)
    assert (tmp_path / "data" / "autocompact" / "memory" / "CONTEXT_ARCHIVE.md").exists()


def _recorded(folder: Path, name: str, *, ran_in: Path) -> Path:
    """A session of Claude Code that ran in a folder."""
    recorded = folder.parents[1] / ".claude" / "projects" / f"-{name}" / f"{name}.jsonl"
    recorded.parent.mkdir(parents=True)
    recorded.write_text(CODING.read_text("utf-8").replace("/home/ada/invoices", str(ran_in)), "utf-8")
    return recorded


def test_confirmations_behind_a_comma_and_in_words_make_rules_and_others_are_named(
    folder: Path, compress: Compress
):
    noted = "- 2020-01-02: Bar, confirmed 9 times\n- 2020-01-03: Baz (confirmed seven times)\n- 2020-01-03: Selten, 8-fach bestätigt\n"
    (folder / "OBSERVATIONS.md").write_text(f"{noted}- 2020-01-04: Quux dreimal bestätigt\n")
    done = compress("--dir", folder, "--observations")
    assert "rule 3: Bar" in done.err
    assert "rule 4: Baz" in done.err
    assert "rule 5: Selten" in done.err
    assert "not read: OBSERVATIONS.md:4: 'dreimal bestätigt' may be confirmations, so it stays" in done.err
    assert (folder / "OBSERVATIONS.md").read_text() == "- 2020-01-04: Quux dreimal bestätigt\n"


@pytest.mark.requirement("C2")
@pytest.mark.parametrize(
    "line, figure",
    [
        ("Old (n=8)", "(n=8)"),
        ("Old (seen by 8 people)", "(seen by 8 people)"),
        ("Old 👍👍👍👍👍", "👍👍👍👍👍"),
        ("Old — confirmed on 8 occasions", "confirmed on 8 occasions"),
        ("Old (eight)", "(eight)"),
        ("Old - 8 confs", "8 confs"),
        ("Alt (8fach)", "(8fach)"),
        ("Alt (bei acht Gelegenheiten bestätigt)", "(bei acht Gelegenheiten bestätigt)"),
        ("Vieux (vu huit fois)", "(vu huit fois)"),
        ("Viejo (en ocho ocasiones)", "(en ocho ocasiones)"),
        ("Viejo\n  - Veces: ocho", "- Veces: ocho"),
        ("旧（共八次）", "（共八次）"),
        ("旧\n  - 次数：八", "- 次数：八"),
        ("古い（八回）", "（八回）"),
        ("Old\n  - 8 confirmations", "- 8 confirmations"),
        ("Old\n  - Confirmed by Ann, Bob, Cy, Dan and Eve", "- Confirmed by Ann, Bob, Cy, Dan and Eve"),
    ],
)
def test_what_may_be_confirmations_is_never_archived_as_having_none(
    folder: Path, line: str, figure: str, compress: Compress
):
    noted = f"- 2020-01-02: {line}\n"
    (folder / "OBSERVATIONS.md").write_text(noted, "utf-8")
    done = compress("--dir", folder, "--observations")
    assert f"not read: OBSERVATIONS.md:{noted.count(chr(10))}: '{figure}' may be confirmations" in done.err
    assert (folder / "OBSERVATIONS.md").read_text("utf-8") == noted
    assert not (folder / "OBSERVATION_ARCHIVE.md").exists()


@pytest.mark.requirement("C5")
def test_all_closes_the_newest_session_too_and_a_dry_run_shows_all_steps_as_one(
    folder: Path, compress: Compress
):
    recorded = folder.parents[1] / ".claude" / "projects" / "-project" / "s.jsonl"
    recorded.parent.mkdir(parents=True)
    lines = CODING.read_text("utf-8").replace("/home/ada/invoices", str(folder.parent))
    recorded.write_text(lines, "utf-8")
    planned = json.loads(compress("--dir", folder, "--all", "--dry-run", "--json").out)
    assert not (folder / "CONTEXT_ARCHIVE.md").exists()
    done = json.loads(compress("--dir", folder, "--all", "--json").out)
    assert done["session"]["path"] == str(recorded)
    assert (planned["tasks"], planned["changed"]) == (done["tasks"], done["changed"])
    assert planned["diff"]["MEMORY.md"] == done["diff"]["MEMORY.md"]
    assert compress("--dir", folder, "--all").code == 3


def test_what_was_not_there_before_is_not_said_to_be_kept(tmp_path: Path, compress: Compress):
    (tmp_path / "OBSERVATIONS.md").write_text("- Once\n")
    told = compress("--dir", tmp_path, "--observations")
    assert (told.code, "as it was before" in told.err) == (0, False)
    assert not (tmp_path / "backups").exists()


@pytest.mark.requirement("C2", "C3")
def test_tables_of_observations_rules_and_tasks_are_read(tmp_path: Path, compress: Compress):
    observations = "| Pattern | Noted | Confirmations |\n|---|---|---|\n"
    (tmp_path / "OBSERVATIONS.md").write_text(
        f"{observations}| Use UTC | 2020-01-01 | 8 |\n| Old | 2020-01-01 | |\n"
    )
    (tmp_path / "ACTIVE_RULES.md").write_text("| # | Rule | Why |\n|---|---|---|\n| 3 | Lint | it helps |\n")
    rows = "".join(f"| T-{n} | 2020-01-{n + 10} | done |\n" for n in range(12))
    (tmp_path / "DONE.md").write_text(f"| Task | Date | Outcome |\n|---|---|---|\n{rows}")
    told = compress("--dir", tmp_path, "--observations", "--tasks").err
    assert "rule 4: Use UTC" in told
    assert "archived Old" in told
    assert "10 tasks stay, 2 archived" in told
    assert "not read" not in told
    assert (tmp_path / "OBSERVATIONS.md").read_text() == observations
    assert "\n| 4 | Use UTC<br>Observed: 2020-01-01<br>" in (tmp_path / "ACTIVE_RULES.md").read_text()
    assert compress("--dir", tmp_path, "--observations", "--tasks").code == 3


def test_what_is_not_read_is_named(tmp_path: Path, compress: Compress):
    (tmp_path / "OBSERVATIONS.md").write_text("| what |\n|---|\n| x |\n\n2026-10-03: Use UTC\n")
    told = compress("--dir", tmp_path, "--observations").err
    assert "not read: OBSERVATIONS.md:1: a table is no entry" in told
    assert "not read: OBSERVATIONS.md:5: a paragraph is no entry" in told


def test_one_of_a_kind_is_told_in_the_singular(tmp_path: Path, compress: Compress):
    (tmp_path / "OBSERVATIONS.md").write_text("- Once\n")
    (tmp_path / "DONE.md").write_text("- T-1 Once\n")
    told = compress("--dir", tmp_path, "--observations", "--tasks").err
    assert "1 observation stays, 0 new rules" in told
    assert "1 task stays, 0 archived" in told


def test_a_dry_run_shows_a_diff_on_stdout_and_changes_nothing(folder: Path, compress: Compress):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    shown = compress("--dir", folder, "--observations", "--dry-run")
    assert shown.code == 0
    assert b"\n-- 2020-01-01: Old\n" in shown.out
    assert "would change" in shown.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    compress("--dir", folder, "--observations")
    assert compress("--dir", folder, "--observations", "--dry-run").code == 3


def test_the_json_says_what_happened(folder: Path, compress: Compress):
    told = json.loads(compress("--dir", folder, "--all", "--json").out)
    assert told["observations"]["escalated"] == [{"number": 3, "text": "Confirmed\x1b[2J"}]
    assert told["tasks"]["proposed"] == ["tea"]
    assert set(told["diff"]) == set(told["changed"])
    assert Path(told["backup"]).is_dir()
    quiet = json.loads(compress("--dir", folder, "--tasks", "--json").out)
    assert (quiet["changed"], quiet["observations"], quiet["backup"]) == ([], None, None)


def test_settings_of_the_project_are_obeyed(folder: Path, compress: Compress):
    triggers = {"observationAge": {"escalateAfterConfirmations": 10}, "taskArchive": {"enabled": False}}
    (folder / "settings.json").write_text(json.dumps({"compaction": {"triggers": triggers}}))
    told = compress("--dir", folder, "--all")
    assert "0 new rules, 2 archived" in told.err
    assert "tasks are switched off" in told.err


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--observations", "--dir", "nowhere"], "no memory folder 'nowhere'"),
        (["--observations", "--dir", ""], "it is empty"),
        (["--dry-run"], "say what to do"),
        (["--frobnicate"], "No such option"),
    ],
)
def test_bad_input_is_2_with_one_message(compress: Compress, arguments: list[str], problem: str):
    ended = compress(*arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert problem in ended.err
    assert ended.err.startswith("compress-context: ")


def test_without_arguments_the_help_is_shown(compress: Compress):
    ended = compress()
    assert ended.code == 2
    assert "3 nothing to do" in ended.err


def test_observations_are_noted_confirmed_and_become_rules(folder: Path, program: Program):
    noted = program("observe", "Use UTC everywhere", "--why", "DST", "--dir", folder)
    assert (noted.code, noted.out) == (0, b"")
    assert "noted: Use UTC everywhere" in noted.err
    again = program("observe", "use UTC everywhere!", "--dir", folder)
    assert "counted today already, 0 confirmations: Use UTC everywhere" in again.err
    near = program("observe", "Everywhere, use UTC", "--dir", folder)
    assert "same? Use UTC everywhere" in near.err
    assert "--same-as" in near.err
    rule = json.loads(program("observe", "always use tabs", "--dir", folder, "--json").out)
    assert (rule["action"], rule["rule"], rule["confirmations"]) == ("rule", 1, 1)
    told = program("observe", "use tabs", "--same-as", "Always use tabs", "--dir", folder)
    assert "that is rule 1 already, 1 confirmation:" in told.err
    confirmed = program("observe", "It is hot", "--same-as", "Confirmed\x1b[2J", "--dir", folder)
    assert "confirmed, 10 confirmations: Confirmed" in confirmed.err
    main(["--dir", str(folder), "--observations"])
    assert "back from the archive" in program("observe", "old", "--dir", folder).err


@pytest.mark.requirement("C2")
@pytest.mark.parametrize(
    "one, other",
    [
        ("Debes pedir permiso", "Debe pedir permiso"),
        ("Der Faktor ist 1,250", "Der Faktor ist 1250"),
        ("Team messages are archived", "Teams messages are archived"),
        ("No tests, need docs", "No tests need docs"),
        ("Polish the texts", "Polish texts"),
        ("Ask the WHO portal", "Ask the who portal"),
    ],
)
def test_what_only_looks_alike_is_noted_anew(folder: Path, program: Program, one: str, other: str):
    program("observe", one, "--dir", folder)
    assert f"noted: {other}" in program("observe", other, "--dir", folder).err


def test_an_observation_without_words_is_refused(folder: Path, program: Program):
    ended = program("observe", "...", "--dir", folder)
    assert ended.code == 2
    assert "needs words" in ended.err


def test_in_a_project_the_folder_need_not_be_named(folder: Path):
    command = [str(Path(sys.executable).with_name("compress-context")), "--all"]
    done = subprocess.run(
        command, cwd=folder.parent, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert str(folder) in done.stderr


@pytest.mark.requirement("C5", "C6")
def test_the_report_of_a_month_is_written_once_and_told_as_json(folder: Path, compress: Compress):
    written = compress("--dir", folder, "--report", "2020-01")
    assert (written.code, written.out) == (0, b"")
    assert "Report of 2020-01: written" in written.err
    assert "Tasks finished: 24" in written.err
    assert (folder / "reports" / "2020-01.html").is_file()
    again = compress("--dir", folder, "--report", "2020-01", "--json")
    assert again.code == 3
    told = json.loads(again.out)
    assert (told["changed"], told["report"]["month"], len(told["report"]["tasks"])) == ([], "2020-01", 24)
    assert told["report"]["cost"] is None
    planned = compress("--dir", folder, "--report", "--dry-run", "--tasks")
    assert planned.code == 0
    assert b"+Nothing was recorded in 20" in planned.out
    assert "would be written" in planned.err


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--report", "October"], "no month: write it as YYYY-MM"),
        (["--report", "9999-12"], "has not begun"),
    ],
)
def test_a_month_that_is_none_is_2(folder: Path, compress: Compress, arguments: list[str], problem: str):
    ended = compress("--dir", folder, *arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert problem in ended.err
    assert not (folder / "reports").exists()


@pytest.mark.requirement("C5")
def test_a_session_is_compacted_from_the_command_line(folder: Path, compress: Compress):
    done = compress("--dir", folder, "--session-now", CODING)
    assert done.code == 0
    assert done.out.startswith(b"## Rules in force\n")
    assert "compacted and archived" in done.err
    assert "noted Round half up per line, as DATEV does" in done.err
    again = compress("--dir", folder, "--session-now", CODING, "--json")
    assert (again.code, json.loads(again.out)["session"]["receipt"]) == (3, None)
    assert "fix-invoice-rounding" in (folder / "CONTEXT_ARCHIVE.md").read_text("utf-8")


@pytest.mark.requirement("C5", "C7")
def test_a_task_is_not_named_by_what_the_agent_explains_or_offers(
    folder: Path, compress: Compress, tmp_path: Path
):
    def line(role: str, content: object, at: str) -> str:
        said = {
            "type": role,
            "timestamp": f"2026-05-04T10:{at}:00Z",
            "sessionId": "s",
            "cwd": "/home/ada/shop",
        }
        return json.dumps({**said, "uuid": at, "message": {"role": role, "content": content}}) + "\n"

    change = {"file_path": "/home/ada/shop/cart.py", "old_string": "a", "new_string": "b" * 9_000}
    call = {"type": "tool_use", "id": "c", "name": "Edit", "input": change}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "edited"}
    recorded = tmp_path / "s.jsonl"
    recorded.write_text(
        line("user", "can you add a -c flag to the export?", "01")
        + line("assistant", [call], "02")
        + line("user", [result], "03")
        + line("assistant", "Next time you export, check `export.log`. Should I push?", "04")
    )
    done = compress("--dir", folder, "--session-now", recorded)
    assert "noted Add a -c flag to the export" in done.err
    assert "- 2026-05-04: Add a -c flag to the export\n" in (folder / "DONE.md").read_text()


@pytest.mark.requirement("C9")
def test_what_is_read_alone_tells_the_last_request_and_points_to_nothing_below(
    folder: Path, compress: Compress
):
    done = compress("--dir", folder, "--session-now", CODING)
    archive = (folder / "CONTEXT_ARCHIVE.md").read_text("utf-8")
    last = "- m226 [work since m227–m279]: Thanks for being open about the key"
    # what `autocompact inspect` says of the last request and its reply
    assert "- Peak: 78,550 tokens" in archive
    for text in (done.out.decode(), archive):
        assert "stands below" not in text
        assert last in text
    planned = compress("--dir", folder.parent / "other", "--session-now", CODING, "--dry-run", "--json")
    told = json.loads(planned.out)
    assert last in told["session"]["summary"]
    assert "stands below" not in json.dumps(told)


def test_a_dry_run_of_a_session_shows_its_entry(folder: Path, compress: Compress):
    planned = compress("--dir", folder, "--session-now", CODING, "--dry-run")
    assert planned.code == 0
    assert b"+- Conversation: `fix-invoice-rounding`" in planned.out
    assert not (folder / "CONTEXT_ARCHIVE.md").exists()
    told = json.loads(compress("--dir", folder, "--session-now", CODING, "--dry-run", "--json").out)
    assert told["session"]["receipt"]["tokens_after"] < 7_000
    assert set(told["changed"]) == {"MEMORY.md", "DONE.md", "CONTEXT_ARCHIVE.md"}


@pytest.mark.requirement("C5")
def test_a_schedule_is_printed_and_nothing_installed(folder: Path, compress: Compress):
    cron = compress("--dir", folder, "--print-schedule")
    assert cron.code == 0
    assert cron.out.decode().count(f"--dir {folder} --") == 2
    assert "crontab -l" in cron.err
    systemd = compress("--dir", folder, "--print-schedule", "systemd")
    assert b"# autocompact-weekly.timer\n[Unit]" in systemd.out
    told = json.loads(compress("--dir", folder, "--print-schedule", "systemd", "--json").out)
    assert len(told["files"]) == 4
    assert set(json.loads(compress("--dir", folder, "--print-schedule", "--json").out)["files"]) == {
        "crontab"
    }
    mixed = compress("--dir", folder, "--print-schedule", "--tasks")
    assert (mixed.code, mixed.out) == (2, b"")
    assert "only prints a schedule" in mixed.err


@pytest.mark.requirement("C4")
def test_a_family_without_a_provider_is_summarised_offline_with_one_line(
    folder: Path, compress: Compress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    own = tmp_path / "data" / "autocompact" / "settings.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"compaction": {"summaryModel": "haiku",}} // a family')
    done = compress("--dir", folder, "--session-now", CODING)
    assert done.code == 0
    assert done.err.count("no provider for the models of the family 'haiku': summaries are made offline") == 1
    assert "summary by offline" in done.err


@pytest.mark.parametrize(
    "reply, said",
    [
        ("1 same", "merged Everywhere, use UTC"),
        ("1 contradicts", "contradiction Use UTC everywhere / Everywhere, use UTC"),
        ("1 different", "2 observations stay, 0 new rules, 0 archived, 0 merged"),
        (Recorded(body=b"{}", status=400), "pairs of observations are not judged: "),
        ("They look alike.", "any judged 0 of 1 pair of observations; the others stay as they are"),
    ],
)
def test_the_summary_model_judges_what_may_be_the_same(
    folder: Path, compress: Compress, monkeypatch: pytest.MonkeyPatch, reply: str | Recorded, said: str
):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (folder / "ACTIVE_RULES.md").unlink()
    day = datetime.now(UTC).date()
    (folder / "OBSERVATIONS.md").write_text(f"- {day}: Use UTC everywhere\n- {day}: Everywhere, use UTC\n")
    monkeypatch.setenv("AUTOCOMPACT_COMPACTION_SUMMARY_MODEL", "any")
    loop = LoopThread()
    try:
        provider = FakeProvider([reply])
        loop.hold(provider)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        done = compress("--dir", folder, "--observations")
    finally:
        loop.close()
    assert said in done.err
    assert len(provider.requests) == 1
    assert ("same?" in done.err) == ("judged" in said)
    assert ("Also noted: Everywhere, use UTC" in (folder / "OBSERVATIONS.md").read_text()) == (
        reply == "1 same"
    )


def test_a_model_is_asked_about_pairs_that_are_too_far_apart_for_a_person(
    folder: Path, compress: Compress, monkeypatch: pytest.MonkeyPatch
):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (folder / "ACTIVE_RULES.md").unlink()
    day = datetime.now(UTC).date()
    pair = (
        "Neue Funktionen brauchen Typangaben",
        "Typangaben sind in neuen Funktionen nötig",
    )
    (folder / "OBSERVATIONS.md").write_text("".join(f"- {day}: {each}\n" for each in pair))
    assert "same?" not in compress("--dir", folder, "--observations").err
    monkeypatch.setenv("AUTOCOMPACT_COMPACTION_SUMMARY_MODEL", "any")
    loop = LoopThread()
    try:
        provider = FakeProvider(["1 contradicts"])
        loop.hold(provider)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        done = compress("--dir", folder, "--observations")
    finally:
        loop.close()
    assert f"contradiction {pair[0]} / {pair[1]}" in done.err


def test_a_model_that_nobody_offers_does_not_keep_upkeep_from_its_work(
    folder: Path, compress: Compress, monkeypatch: pytest.MonkeyPatch
):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTOCOMPACT_COMPACTION_SUMMARY_MODEL", "gpt-5")
    done = compress("--dir", folder, "--observations")
    assert done.code == 0
    assert "pairs of observations are not judged: no provider is known for the model 'gpt-5'" in done.err


def test_the_files_of_another_program_are_left_as_they_are_and_named(tmp_path: Path, compress: Compress):
    names = ("importer.md", *(f"topic-{number:02}.md" for number in range(12)))
    (tmp_path / "MEMORY.md").write_text("".join(f"- [{name}]({name}): how it rounds\n" for name in names))
    for name in names:
        (tmp_path / name).write_text("# Topic\n\n- 2020-01-01: Rounds half even (9 confirmations)\n")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.md")}
    done = compress("--dir", tmp_path, "--observations", "--tasks")
    assert done.code == 3
    assert "not touched: importer.md, topic-00.md, " in done.err
    assert " and 3 more" in done.err
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.md")} == before
    told = json.loads(compress("--dir", tmp_path, "--tasks", "--json").out)
    assert len(told["untouched"]) == 13


@pytest.mark.requirement("C2")
def test_topic_files_of_another_program_stand_in_the_index_unless_its_own_leads_to_them(
    tmp_path: Path, compress: Compress
):
    (tmp_path / "MEMORY.md").write_text("- [Importer](importer.md): how it rounds\n")
    topic = "---\nname: deploys\ndescription: when and how we deploy\n---\n\n- 2026-10-03: Never on Fridays\n"
    (tmp_path / "deploys.md").write_text(topic)
    (tmp_path / "importer.md").write_text("# Importer\n")
    assert compress("--dir", tmp_path, "--observations").code == 0
    index = (tmp_path / "MEMORY.md").read_text()
    assert index.startswith("- [Importer](importer.md): how it rounds\n\n<!--")
    assert "| [deploys.md](deploys.md) | when and how we deploy | 1 | 2026-10-03 |\n" in index
    assert index.count("importer.md") == 1
    assert (tmp_path / "deploys.md").read_text() == topic
    assert compress("--dir", tmp_path, "--observations").code == 3


def test_instructions_of_the_project_are_background_of_a_summary_and_stay_as_they_are(
    folder: Path, compress: Compress, monkeypatch: pytest.MonkeyPatch
):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTOCOMPACT_COMPACTION_SUMMARY_MODEL", "any")
    project, key = folder.parent, "ghp_" + "x7Kq2VbN9sLw4TzR8mYd3HfJ6cPa1Ge5UoXi"
    rule = "---\ndescription: Tests\nglobs: **/*.test.ts\nalwaysApply: false\n---\n- Use vitest, never jest\n"
    for name, text in (
        (".cursor/rules/testing.mdc", rule),
        (".github/copilot-instructions.md", f"Quokka palette only, {key}\n"),
        ("packages/api/AGENTS.md", "Numbat codes\n"),
        ("memory-bank/activeContext.md", "The platypus is being fed\n"),
    ):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(text)
    loop = LoopThread()
    try:
        provider = FakeProvider("## Tasks\n\n- T-1: Round the totals (done)\n")
        loop.hold(provider)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        done = compress("--dir", folder, "--session-now", CODING, "--observations")
    finally:
        loop.close()
    assert "not touched: memory-bank/activeContext.md, .cursor/rules/testing.mdc, " in done.err
    asked = str(provider.requests[0].body)
    for words in (
        "<memory>",
        "Use vitest, never jest",
        "Quokka palette only",
        "Numbat codes",
        "platypus is being fed",
    ):
        assert words in asked
    assert key not in asked
    assert (project / ".cursor" / "rules" / "testing.mdc").read_text() == rule
