"""What the commands take from the settings where no option says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import CODING, Program

OWN = Path("data") / "autocompact" / "settings.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a user's folder of its own and no provider."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def say(project: Path, settings: dict[str, Any]) -> None:
    written(project / ".autocompact" / "settings.json", settings)


def say_as_user(project: Path, settings: dict[str, Any]) -> None:
    written(project.parent / OWN, settings)


def written(file: Path, settings: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings), "utf-8")


def test_the_window_is_that_of_the_settings_unless_an_option_says_it(project: Path, program: Program) -> None:
    say(project, {"models": {"windows": {"claude-sonnet": 70_000}}})
    assert json.loads(program("inspect", CODING, "--json").out)["window"] == 70_000
    assert "of a window of 70,000 tokens" in program("compact", CODING, "--preview").err
    say(project, {"models": {"window": 80_000, "windows": {"claude": 70_000}}})
    assert json.loads(program("inspect", CODING, "--json").out)["window"] == 80_000
    assert "of a window of 90,000 tokens" in program("compact", CODING, "--preview", "--window", 90_000).err


def test_the_summary_model_is_that_of_the_settings_unless_an_option_says_it(
    project: Path, program: Program
) -> None:
    say_as_user(project, {"compaction": {"summaryModel": "claude-haiku-4-5"}})
    refused = program("compact", CODING)
    assert (refused.code, refused.out) == (2, b"")
    assert "no provider is known for the model 'claude-haiku-4-5'" in refused.err
    offline = program("compact", CODING, "--model", "offline")
    assert (offline.code, "offline summary" in offline.err) == (0, True)
    mixed = program("compact", CODING, "--model", "offline", "--base-url", "http://127.0.0.1:9")
    assert mixed.code == 2


def test_a_repository_sends_no_session_to_a_model_and_the_person_is_told_so_once(
    project: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key that must not be used")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    say(project, {"compaction": {"summaryModel": "claude-haiku-4-5"}})
    ended = program("compact", CODING)
    assert (ended.code, "offline summary" in ended.err) == (0, True)
    told = f"compaction.summaryModel ({project / '.autocompact' / 'settings.json'}:1)"
    assert (ended.err.count("ignored, because"), ended.err.count(told)) == (1, 1)
    assert "ignored" not in program("compact", CODING, "--model", "offline", "--window", 90_000).err


def test_a_replay_compacts_as_the_settings_say_unless_options_do(project: Path, program: Program) -> None:
    def compactions(*options: str) -> int:
        return program("replay", CODING, "--json", *options).out.count(b'"event":"compacted"')

    say(project, {"compaction": {"triggers": {"sessionTokens": {"threshold": 30_000}}}})
    often = compactions()
    say(project, {"compaction": {"enabled": False}})
    assert (often > 1, compactions(), compactions("--mode", "default", "--threshold", "30k")) == (
        True,
        0,
        often,
    )


def test_kept_conversations_are_those_of_the_settings_unless_an_option_says_it(
    project: Path, program: Program
) -> None:
    say_as_user(project, {"chat": {"db": "mine.db"}})
    kept = (project.parent / OWN).parent / "mine.db"
    assert program("import", CODING).code == 0
    assert kept.is_file()
    assert [each["name"] for each in json.loads(program("list", "--json").out)["conversations"]] == [
        CODING.stem
    ]
    assert str(project / "other.db") in program("list", "--json", "--db", project / "other.db").err
    assert program("export", CODING.stem, "--out", kept).code == 2


def test_settings_that_are_wrong_stop_a_command_that_needs_them_and_no_other(
    project: Path, program: Program
) -> None:
    say(project, {"models": {"windw": 1}})
    stopped = program("inspect", CODING)
    assert (stopped.code, stopped.out) == (2, b"")
    assert "models.windw: no such setting (did you mean 'window'?)" in stopped.err
    assert program("inspect", CODING, "--window", 90_000).code == 0
