"""Standing instructions and orders, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import CODING, Program
from tests.sessions.claude_lines import Claude, call, jsonl, result, text

RULES = ("Never push to main without my approval.", "Always answer in German from now on.")


def session(path: Path) -> Path:
    claude = Claude()
    claude.user(f"Mend the pump. {RULES[0]}\n\n{RULES[1]}")
    for turn in range(12):
        claude.reply(call(f"c{turn}", command=f"make part{turn}"), id=f"r{turn}")
        claude.user([result(f"c{turn}", f"valve_{turn} closed\n" + f"word_{turn} and more " * 60)])
        claude.reply(text(f"Part {turn} leaked because valve_{turn} was open."), id=f"s{turn}")
        claude.user(f"Now look at part {turn + 1}.")
    path.write_bytes(jsonl(claude.lines))
    return path


def compacted(program: Program, path: Path, *options: str) -> str:
    ended = program("compact", path, "--window", 64_000, "--tail-tokens", 0, *options)
    assert ended.code == 0, ended.err
    return ended.out.decode()


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("tokens", ["200", "1000"])
def test_rules_stand_first_in_the_summary_at_any_size(program: Program, tmp_path: Path, tokens: str) -> None:
    told = compacted(program, session(tmp_path / "s.jsonl"), "--summary-tokens", tokens)
    record = told.split("<conversation_record>")[1]
    assert record.lstrip("\n> ").startswith("## Rules in force")
    assert all(rule in record for rule in RULES)


@pytest.mark.requirement("F5", "E1")
def test_rules_stand_before_a_summary_that_does_not_have_them(program: Program, tmp_path: Path) -> None:
    summary = tmp_path / "summary.txt"
    summary.write_text("The pump was mended part by part.")
    told = compacted(program, session(tmp_path / "s.jsonl"), "--summary", str(summary))
    assert all(rule in told for rule in RULES)
    assert told.index(RULES[0]) < told.index("The pump was mended part by part.")


@pytest.mark.requirement("F5")
def test_decisions_about_the_task_at_hand_are_no_standing_rules(program: Program) -> None:
    record = compacted(program, CODING).split("<conversation_record>")[1]
    rules = record.split("## Rules in force\n")[1].split("## ")[0]
    assert "don't touch the schema in storage.py" in rules
    assert "no new dependencies" in rules
    for decision in (
        "leave everything as it is until then",
        "banker's rounding",
        "docs/rounding.md",
        "credit note",
    ):
        assert decision not in rules


@pytest.mark.requirement("F6")
def test_orders_of_a_lead_agent_and_words_inside_a_refusal_are_requests(
    program: Program, tmp_path: Path
) -> None:
    claude = Claude()
    claude.user(
        '<teammate-message teammate_id="team-lead">Mend the pump. Do not touch the valve.</teammate-message>'
    )
    claude.reply(call("c1", command="rm valve.txt"), id="r1")
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse git rm instead"
    claude.user([result("c1", refused, is_error=True)])
    claude.reply(text("I use git rm, because the file is tracked."), id="r2")
    for turn in range(12):
        claude.reply(call(f"d{turn}", command=f"make part{turn}"), id=f"t{turn}")
        claude.user([result(f"d{turn}", f"valve_{turn} closed\n" + f"word_{turn} and more " * 60)])
    claude.reply(text("All parts are made."), id="end")
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(claude.lines))
    ledger = json.loads(compacted(program, path, "--format", "json"))["ledger"]
    asked = sorted((entry for entry in ledger if entry["kind"] == "request"), key=lambda entry: entry["seq"])
    requests = [entry["text"] for entry in asked]
    assert requests == ["Mend the pump. Do not touch the valve.", "use git rm instead"]
    assert [entry["text"] for entry in ledger if entry["kind"] == "rule"] == ["Do not touch the valve."]
