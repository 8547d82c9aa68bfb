"""What the redactor knows never enters what the program makes of a session."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import Program, environment, started
from tests.sessions.claude_lines import Claude, call, jsonl, result, text
from tests.warm import command

ROWS = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + f"C7abcdEFGH01{row:02}" for row in range(12)]
KEY = ["-----BEGIN PRIVATE KEY-----", *ROWS, "-----END PRIVATE KEY-----"]
TOKEN = "ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A"
PASSWORD = "tr0ub4dor-" + "Hx93kQ"


def plain(lines: list[str]) -> object:
    return "\n".join(lines)


def numbered(lines: list[str]) -> object:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))


def arrows(lines: list[str]) -> object:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))


def split(lines: list[str]) -> object:
    return [text("\n".join(lines[:6])), text("\n".join(lines[6:]))]


def session(path: Path, key: object, *, turns: int = 30) -> Path:
    """A session in which a key is shown early, and much is done after it."""
    claude = Claude()
    claude.user(f"Deploy the pump with the token {TOKEN}, and read deploy.key first.")
    claude.reply(call("k", command=f"DB_PASSWORD={PASSWORD} cat deploy.key"), id="a")
    claude.user([result("k", key)])
    claude.reply(
        text(f"The key is in deploy.key. I decided to use {TOKEN} because the pump needs it."), id="b"
    )
    for turn in range(turns):
        claude.user(f"Now look at part {turn}.")
        claude.reply(call(f"c{turn}", command=f"cat part{turn}.txt"), id=f"r{turn}")
        claude.user(
            [result(f"c{turn}", f"Exit code 1\nError: valve_{turn} leaks\n" + f"word_{turn} and more " * 60)]
        )
        claude.reply(text(f"Part {turn} is fixed in valve_{turn}."), id=f"s{turn}")
    path.write_bytes(jsonl(claude.lines))
    return path


def leaked(told: bytes | str) -> list[str]:
    shown = told if isinstance(told, str) else told.decode("utf-8", "replace")
    return [secret for secret in (*ROWS, TOKEN, PASSWORD) if secret in shown]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("form", [plain, numbered, arrows, split])
def test_a_key_that_a_tool_printed_is_in_no_line_of_a_compaction(
    program: Program, tmp_path: Path, form: Callable[[list[str]], object]
) -> None:
    path = session(tmp_path / "s.jsonl", form(KEY))

    for options in (
        (),
        ("--preview",),
        ("--format", "json"),
        ("--focus", f"the key {TOKEN}"),
        ("--pin", f"use {TOKEN}"),
    ):
        ended = program("compact", path, "--window", 64_000, "--to", 3_500, *options)
        assert ended.code == 0, ended.err
        assert leaked(ended.out) == [], options
        assert leaked(ended.err) == [], options
    told = json.loads(program("compact", path, "--window", 64_000, "--to", 3_500, "--format", "json").out)
    assert "[secret: " in told["summary"]


@pytest.mark.requirement("E1")
def test_a_summary_that_is_handed_in_is_redacted(program: Program, tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", plain(KEY))
    summary = tmp_path / "summary.md"
    summary.write_text("The key:\n" + "\n".join(KEY) + f"\nand {TOKEN}", "utf-8")

    ended = program("compact", path, "--tail-tokens", 500, "--summary", summary)

    assert ended.code == 0, ended.err
    assert leaked(ended.out) == []


@pytest.mark.requirement("E1")
def test_what_upkeep_writes_of_a_session_has_no_secret(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", plain(KEY))
    folder = tmp_path / "memory"
    ended = subprocess.run(
        [*command("compress-context"), "--dir", folder, "--session-now", path, "--report", "2026-03"],
        env=environment(HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data")), cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr.decode()
    written = {each.name: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    assert "CONTEXT_ARCHIVE.md" in written
    assert any(name.endswith(".html") for name in written)
    assert {name: leaked(content) for name, content in written.items() if leaked(content)} == {}
    assert leaked(ended.stdout + ended.stderr) == []


@pytest.mark.requirement("E1")
def test_search_and_show_redact_into_a_pipe_as_well_unless_they_are_asked_to_reveal(tmp_path: Path) -> None:
    path, db = session(tmp_path / "s.jsonl", plain(KEY)), tmp_path / "a.db"
    started("import", path, "--db", db)

    hidden = [
        started(*command, "--db", db).stdout
        for command in (["list"], ["list", "--json"], ["show"], ["show", "--json"], ["show", "--context"], ["search", "deploy key"], ["search", "deploy key", "--json"])
    ]  # fmt: skip
    shown = [
        started(*command, "--reveal", "--db", db).stdout for command in (["show"], ["search", "deploy key"])
    ]

    assert [leaked(out) for out in hidden] == [[]] * 7
    assert all(b"[secret: " in out for out in hidden[1:])
    assert all(leaked(out) for out in shown)
    assert set(leaked(started("export", "--db", db).stdout)) == {*ROWS, TOKEN, PASSWORD}
