from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocompact.settings import all_settings, schema
from tests.cli.program import Program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, with a user's folder of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("AUTOCOMPACT_GATEWAY_PORT", "8788")
    file = tmp_path / "project" / ".autocompact" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"compaction":\n{"triggers": {"sessionTokens": {"threshold": "50k"}}}}')
    return file.parent.parent


def test_each_value_is_shown_with_what_set_it(folder: Path, program: Program) -> None:
    plain = program("settings", "--dir", folder)
    assert (plain.code, plain.err) == (0, "")
    assert len(plain.out.splitlines()) == len(all_settings())
    shown = program("settings", "--dir", folder, "--explain").out.decode()
    by_path = {line.split()[0]: line.split(maxsplit=2)[1:] for line in shown.splitlines()}
    file = folder / ".autocompact" / "settings.json"
    assert by_path["compaction.triggers.sessionTokens.threshold"] == ['"50k"', f"project: {file}:2"]
    assert by_path["gateway.port"] == ["8788", "environment: AUTOCOMPACT_GATEWAY_PORT"]
    assert by_path["chat.steps"] == ["100", "default"]
    assert shown.startswith(f"# {file}\n")


def test_programs_read_the_same_as_json(folder: Path, program: Program) -> None:
    whole = json.loads(program("settings", "--dir", folder, "--json").out)
    trigger = {"enabled": True, "threshold": "50k", "description": ""}
    assert whole["compaction"]["triggers"]["sessionTokens"] == trigger
    told = json.loads(program("settings", "--dir", folder, "--json", "--explain").out)
    port = next(row for row in told["settings"] if row["path"] == "gateway.port")
    assert (port["value"], port["source"], port["default"]) == (8788, "environment", 8787)


def test_what_a_project_may_not_say_is_told_beside_the_values(folder: Path, program: Program) -> None:
    file = folder / ".autocompact" / "settings.json"
    file.write_text('{"chat":\n{"model": "openai:gpt-5"}}')
    ended = program("settings", "--dir", folder, "--json", "--explain")
    assert json.loads(ended.out)["ignored"] == [{"path": "chat.model", "where": f"{file}:2"}]
    assert ended.err.startswith(
        "ignored, because a project's file may have come with a repository: chat.model"
    )
    assert ended.err.count("\n") == 1


def test_the_schema_goes_to_stdout(program: Program) -> None:
    assert program("settings", "--schema").out == schema()


def test_what_cannot_be_used_ends_with_2(folder: Path, program: Program) -> None:
    (folder / ".autocompact" / "settings.json").write_text('{"compaction": {"enabld": true}}')
    ended = program("settings", "--dir", folder)
    assert (ended.code, ended.out) == (2, b"")
    assert "compaction.enabld: no such setting (did you mean 'enabled'?)" in ended.err
