"""``autocompact compact`` on the example sessions: what it writes and what it says."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from inline_snapshot import snapshot
from jsonschema import Draft202012Validator

import autocompact.cli
from autocompact.cli import COMMANDS
from autocompact.cli import program as program_
from autocompact.compaction.goal import SMALLEST_LEDGER
from autocompact.compaction.ladder import RULES_LEAST
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.lookup import Lookup
from autocompact.core.messages import Message
from autocompact.ledger.entries import Kind
from autocompact.models.vocabulary import load_counter
from autocompact.runtime.files import PRIVATE_FOLDER
from autocompact.sessions import read_session
from autocompact.sessions.session import Format
from tests.cli.program import ANTHROPIC, CODING, DATA, EXAMPLES, OPENAI, Program, environment, started
from tests.lengths import some
from tests.sessions.claude_lines import Claude, jsonl, text

SCHEMA: Any = json.loads((Path(autocompact.cli.__file__).parent / "compact.schema.json").read_bytes())
CONTRACT: Any = Draft202012Validator(SCHEMA)
RECORDED = sorted(
    path
    for folder in ("claude_code", "codex", "copilot_cli", "gemini_cli", "pi", "openhands_sdk", "tau_bench")
    for path in (DATA / folder).glob("*")
    if path.name != "29eb990e-c773-4302-a4e7-317f0af0001f.json"
)


def compacted(program: Program, path: Path, *options: str | int) -> dict[str, Any]:
    """The JSON of a compaction."""
    ended = program("compact", path, "--format", "json", *options)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def unnamed(messages: list[dict[str, Any]], path: Path) -> str:
    """The messages without the name of the session's file, by which its originals are opened."""
    return json.dumps(messages).replace(str(path), "SESSION")


def pairing_problems(messages: list[dict[str, Any]]) -> list[str]:
    """What OpenAI's API would refuse: its rule for tool calls, written down apart from the code."""
    found: list[str] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"message {index} answers no call")
            continue
        if waiting:
            found.append(f"before message {index} {len(waiting)} calls have no answer")
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    return [*found, *(["calls at the end have no answer"] if waiting else [])]


# The contract of --format json --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES)
@pytest.mark.parametrize(
    "options",
    [(), ("--to", 4_000), ("--tail-tokens", 0), ("--through", 20), ("--to", 100_000), ("--to", 1_500)],
)
def test_the_json_keeps_to_its_schema_and_its_messages_can_be_sent(
    program: Program, path: Path, options: tuple[str | int, ...]
) -> None:
    document = compacted(program, path, *options)
    Draft202012Validator.check_schema(SCHEMA)
    CONTRACT.validate(document)
    assert pairing_problems(document["messages"]) == []
    assert document["messages"][-1]["role"] != "tool"
    receipt = document["receipt"]
    assert receipt["stated"] + receipt["referenced"] + receipt["missing"] == len(document["ledger"])
    assert receipt["tokens_after"] <= receipt["tokens_before"]


def test_the_json_has_the_fields_of_the_contract_and_no_others(program: Program) -> None:
    document = compacted(program, CODING, "--to", 9_000)
    assert list(document) == list(SCHEMA["properties"])
    for part in ("receipt", "usage", "source"):
        assert list(document[part]) == list(SCHEMA["properties"][part]["properties"])
    assert all(list(entry) == ["kind", "text", "seq", "check"] for entry in document["ledger"])
    assert document["source"] == {"format": "claude_code", "messages": 279, "skipped_lines": 0}


def test_the_schema_knows_the_kinds_of_the_ledger() -> None:
    kinds = SCHEMA["properties"]["ledger"]["items"]["properties"]["kind"]["enum"]
    assert set(kinds) == set(get_args(Kind))


def test_the_schema_refuses_what_is_not_the_contract(program: Program) -> None:
    document = compacted(program, OPENAI)
    for broken in (
        {**document, "ledger": [{"kind": "rumour", "text": "", "seq": 1}]},
        {**document, "messages": [{"role": "tool", "content": "x"}]},
        {name: value for name, value in document.items() if name != "receipt"},
    ):
        assert not CONTRACT.is_valid(broken)


def test_the_schema_knows_the_formats_that_are_read() -> None:
    assert set(SCHEMA["properties"]["source"]["properties"]["format"]["enum"]) == set(get_args(Format))


@pytest.mark.skipif(not RECORDED, reason="the data pack is not beside the repository (../shared/data)")
@pytest.mark.requirement("E8", "E6", "D3")
@pytest.mark.parametrize("path", some(RECORDED, gate=12), ids=lambda path: path.name[:24])
def test_every_recorded_session_gives_valid_json_within_its_target(program: Program, path: Path) -> None:
    document = compacted(program, path, "--to", 16_000)
    CONTRACT.validate(document)
    assert pairing_problems(document["messages"]) == []
    assert document["messages"][-1]["role"] != "tool"
    assert document["receipt"]["tokens_after"] <= 16_000
    usage = document["usage"]
    assert document["receipt"]["tokens_before"] == usage["log"]
    # the factor is rounded to four places
    counts = {"used": usage["log"], "after": document["receipt"]["tokens_after"]}
    for name, counted in counts.items():
        assert abs(counted * usage["factor"] + usage["outside"] - usage[name]) <= 1 + counted / 10_000
    if usage["reported"]:
        assert abs(usage["used"] - usage["reported"] - usage["since"]) <= 1


# What the options do ------------------------------------------------------------------------------------------


@pytest.mark.requirement("D6")
@pytest.mark.parametrize("tokens", [500, 1_000, 3_000])
@pytest.mark.parametrize("path", EXAMPLES)
def test_the_summary_takes_no_more_than_it_may(program: Program, path: Path, tokens: int) -> None:
    document = compacted(program, path, "--tail-tokens", 0, "--summary-tokens", tokens)
    assert document["summary"]
    assert load_counter().count(document["summary"]) <= tokens


@pytest.mark.parametrize("tokens", [1, 20, 64])
def test_a_summary_can_be_next_to_nothing_beside_the_rules(program: Program, tokens: int) -> None:
    document = compacted(program, CODING, "--tail-tokens", 0, "--summary-tokens", tokens)
    counter = load_counter()
    rules, _, rest = document["summary"].partition("\n\n")
    assert "don't touch the schema in storage.py" in rules
    assert counter.count(rules) <= RULES_LEAST
    assert counter.count(rest) <= SMALLEST_LEDGER


def texts_of(messages: list[dict[str, Any]], *, role: str = "") -> list[str]:
    """The words of each message of ``role``, or of all."""
    contents: list[Any] = [message["content"] for message in messages if role in ("", message["role"])]
    return [
        content
        if isinstance(content, str)
        else "\n".join(part["text"] for part in content or () if "text" in part)
        for content in contents
    ]


def last_request(path: Path) -> Message:
    return next(message for message in reversed(read_session(path).messages) if message.is_request)


def test_a_last_request_that_was_cut_is_not_called_verbatim(program: Program, tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    ended = program("compact", CODING, "--window", 64000, "--summary-tokens", 100, "--out", out)
    report = " ".join(ended.report.split())
    assert (
        "verbatim 32 recent messages (m248 to m279, 6,162 tokens) cut your last request (m226), to its head and tail summarised"
        in report
    )
    assert "note the last request (m226) was cut from 116 to 65 tokens" in report
    assert "1 earlier message kept, 0 tool results masked, 1 request cut." in out.read_text("utf-8")


@pytest.mark.requirement("D4")
@pytest.mark.parametrize(("option", "tokens"), [("--to", 6_000), ("--tail-tokens", 4_000)])
def test_a_last_request_for_which_there_is_room_stays_whole_beside_a_small_summary(
    program: Program, tmp_path: Path, option: str, tokens: int
) -> None:
    talk = [{"role": "user", "content": f"Please fix total {n}."} for n in range(20)]
    answers = [{"role": "assistant", "content": f"Total {n} was rounded twice. " * 20} for n in range(20)]
    last = {"role": "user", "content": "Why?\n" + "line of a log with the number 12345\n" * 300}
    path = tmp_path / "pasted.json"
    path.write_text(json.dumps([*(each for pair in zip(talk, answers, strict=True) for each in pair), last]))
    document = compacted(program, path, "--window", 32_000, "--summary-tokens", 800, option, tokens)
    assert document["summary"]
    assert texts_of(document["messages"], role="user")[-1] == last["content"]


def test_out_makes_the_folder_that_is_missing_as_for_the_command_of_the_readme(tmp_path: Path) -> None:
    command = ("compact", CODING, "--window", "64000", "--to", "12000", "--out", "build/compacted.md")
    ended = subprocess.run(
        [sys.executable, "-m", "autocompact", *command], cwd=tmp_path, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    written = tmp_path / "build" / "compacted.md"
    assert written.read_text("utf-8").startswith("# Conversation")
    assert written.parent.stat().st_mode & 0o777 == PRIVATE_FOLDER


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("path", EXAMPLES)
@pytest.mark.parametrize("to", [1_500, 3_000, 8_000])
def test_the_last_request_stands_in_the_context_verbatim(program: Program, path: Path, to: int) -> None:
    sent = texts_of(compacted(program, path, "--to", to)["messages"], role="user")
    assert last_request(path).text in sent


def test_the_system_prompt_comes_through_byte_for_byte(program: Program) -> None:
    prompt: Any = json.loads(OPENAI.read_bytes())["messages"][0]
    assert prompt["role"] == "system"
    ended = program("compact", OPENAI, "--format", "openai", "--to", 1_500)
    assert json.loads(ended.out)["messages"][0] == prompt


@pytest.mark.requirement("E1")
def test_a_given_summary_is_taken_without_its_tags_checked_and_repaired(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "summary.md"
    path.write_text(
        "Thinking about it.\n<summary>\nWe fixed the rounding. The key was sk_live_9aX2kQ7mZ4tR8vB1nC5d.\n</summary>\n"
    )
    document = compacted(
        program, CODING, "--summary", str(path), "--summary-tokens", 1_200, "--tail-tokens", 0
    )
    summary = document["summary"]
    rules, _, rest = summary.partition("\n\n")
    assert rules.startswith("## Rules in force\n")
    assert rest.startswith("We fixed the rounding.")
    assert "<summary>" not in summary
    assert "sk_live_9aX2" not in summary
    assert "money.py" in summary
    assert load_counter().count(summary) <= 1_200
    assert "given summary" in program("compact", CODING, "--summary", path, "--preview").err


def test_a_pinned_message_stays_and_a_pinned_text_stands_in_the_summary(program: Program) -> None:
    pinned = "no new dependencies"
    rule = "Never touch storage.py; ask Kim first."
    document = compacted(program, CODING, "--to", 6_000, "--pin", "1", "--pin", pinned, "--pin", rule)
    first = read_session(CODING).messages[0].text
    assert any(message["content"] == first for message in document["messages"])
    assert f"## Pinned\n\n- {pinned} [m1]\n- {rule}\n" in document["summary"]


def test_a_focus_brings_what_matches_it(program: Program) -> None:
    options = ("--tail-tokens", "0", "--summary-tokens", "1500")
    plain = compacted(program, CODING, *options)["summary"]
    focused = compacted(program, CODING, *options, "--focus", "stripe_sync credit_note")["summary"]
    assert focused.count("stripe_sync") > plain.count("stripe_sync")


@pytest.mark.requirement("C8")
def test_a_target_that_masking_reaches_leaves_every_word_that_was_said(program: Program) -> None:
    ended = program("compact", CODING, "--to", 50_000, "--format", "json")
    document = json.loads(ended.out)
    assert document["receipt"]["rung"] == "mask"
    assert document["summary"] == ""
    assert "each shown as one line" in ended.err
    sent = texts_of(document["messages"])
    assert all(message.text in sent for message in read_session(CODING).messages if message.is_request)


@pytest.mark.parametrize(
    "option", [("--summary-tokens", 2_000), ("--tail-tokens", 5_000), ("--focus", "x"), ("--pin", "x y")]
)
def test_with_a_target_these_options_ask_for_a_summary(
    program: Program, option: tuple[str, str | int]
) -> None:
    assert compacted(program, CODING, "--to", 60_000, *option)["receipt"]["rung"] == "summarise"


def test_through_compacts_as_if_the_conversation_ended_there(program: Program, tmp_path: Path) -> None:
    lines = CODING.read_bytes().splitlines(keepends=True)
    session = read_session(CODING)
    # names of one length: the result tells how to open the file, and that takes room
    whole_file, cut = tmp_path / "all.jsonl", tmp_path / "cut.jsonl"
    whole_file.write_bytes(b"".join(lines))
    cut.write_bytes(b"".join(lines[: session.lines[172] - 1]))
    assert len(read_session(cut).messages) == 172
    whole, part = (
        compacted(program, path, *options) for path, options in ((whole_file, ("--through", 172)), (cut, ()))
    )
    for name in ("summary", "ledger"):
        assert whole[name] == part[name]
    assert unnamed(whole["messages"], whole_file) == unnamed(part["messages"], cut)


def leaked(value: str, path: Path) -> None:
    """A session in which a file gives a value away, and commands and replies go on with it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the pump is refused."}]
    commands = ["cat .env", *(f"pumpctl check {number} --with {value}" for number in range(30))]
    for number, command in enumerate(commands):
        call = {"name": "bash", "arguments": json.dumps({"command": command})}
        answer = f"PUMP_API_KEY={value}" if command == "cat .env" else f"refused: {value}\n" + "retry\n" * 40
        messages += [
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": answer},
            {"role": "assistant", "content": f"Part {number} fails because {value} is refused there."},
        ]
    path.write_text(json.dumps(messages))


@pytest.mark.requirement("E1")
def test_a_secret_that_was_given_away_once_is_hidden_wherever_it_stands(
    program: Program, tmp_path: Path
) -> None:
    value, path = "kX9vTq2LmZ8wR4pB", tmp_path / "session.json"
    leaked(value, path)
    document = compacted(program, path, "--to", 1_500)
    assert value in json.dumps(document["messages"])  # what stays verbatim does
    for name in ("summary", "ledger", "receipt"):
        assert value not in json.dumps(document[name])
    assert "with [secret: API key]" in document["summary"]
    ended = program("compact", path, "--to", 1_500, "--preview")
    assert value not in ended.report
    assert program("inspect", path).out.count(value.encode()) == 0
    for command in (("search", "refused", "--conversation", path), ("show", f"{path}:m10"), ("show", path)):
        shown = program(*command)
        assert shown.code == 0
        assert b"[secret: API key]" in shown.out or b"m10 " in shown.out
        assert value.encode() not in shown.out


def test_the_same_input_gives_the_same_output(program: Program) -> None:
    first, second = (program("compact", CODING, "--to", 8_000).out for _ in range(2))
    assert first == second


def test_nothing_to_do_is_no_error(program: Program) -> None:
    ended = program("compact", OPENAI, "--to", 100_000, "--format", "json")
    document = json.loads(ended.out)
    assert ended.code == 0
    assert (document["receipt"]["rung"], document["ledger"], document["summary"]) == ("none", [], "")
    assert document["receipt"]["tokens_before"] == document["receipt"]["tokens_after"]
    assert "fits 100,000 tokens already" in ended.err
    ended = program("compact", OPENAI, "--tail-tokens", 100_000)
    assert ended.code == 0
    assert "nothing would become smaller with --tail-tokens 100000" in " ".join(ended.err.split())


# The forms it is written in -----------------------------------------------------------------------------------


@pytest.mark.requirement("E8")
def test_the_result_says_how_the_originals_are_opened_and_that_command_works(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "my session.jsonl"
    path.write_bytes(CODING.read_bytes())
    summary = program("compact", path).out.decode()
    assert "memory_search" not in summary
    (command,) = re.findall(r"`autocompact (show '[^']+:m123')` shows it", summary)
    shown = program(*shlex.split(command))
    assert shown.out.startswith(b"\xe2\x94\x80\xe2\x94\x80 m123 ")


def test_without_a_file_the_result_names_none(tmp_path: Path) -> None:
    with CODING.open("rb") as file:
        ended = started("compact", "-", stdin=file)
    assert b"You cannot open it yourself" in ended.stdout
    assert b"autocompact show" not in ended.stdout


def test_what_is_written_for_claude_code_is_read_back_as_the_same_context(
    program: Program, tmp_path: Path
) -> None:
    out = tmp_path / "compacted.jsonl"
    document = compacted(program, CODING, "--to", "9000")
    program("compact", CODING, "--to", 9_000, "--format", "claude-code", "--out", out)
    assert out.read_bytes().startswith(CODING.read_bytes())
    session = read_session(out)
    lookup = Lookup(tools=False, command=f"autocompact show {CODING}:m123")
    log = Transcript(session.messages, counter=load_counter(), lookup=lookup)
    context = view(log, session.compactions[-1], closed=True)
    assert context.cost.tokens == document["receipt"]["tokens_after"]
    again = program("compact", out, "--to", 100_000, "--format", "json")
    assert unnamed(json.loads(again.out)["messages"], out) == unnamed(document["messages"], CODING)


def test_what_claude_code_goes_on_from_has_a_summary_where_masks_alone_would_do(
    program: Program, tmp_path: Path
) -> None:
    out = tmp_path / "compacted.jsonl"
    assert compacted(program, CODING, "--to", "60000")["receipt"]["rung"] == "mask"
    program("compact", CODING, "--to", "60000", "--format", "claude-code", "--out", out)
    lines = map(json.loads, out.read_bytes().splitlines())
    (summary,) = (line["message"]["content"] for line in lines if line.get("isCompactSummary"))
    assert "## " in summary.partition("<conversation_record>")[2]
    assert f"autocompact show {CODING}:m123" in summary
    assert "memory_search" not in summary.partition("<conversation_record>")[0]
    assert read_session(out).compactions[-1].through_seq > 0


def test_an_unchanged_session_of_claude_code_is_written_as_it_is(program: Program, tmp_path: Path) -> None:
    program("compact", CODING, "--to", 100_000, "--format", "claude-code", "--out", tmp_path / "same.jsonl")
    assert (tmp_path / "same.jsonl").read_bytes() == CODING.read_bytes()


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_forms_agree(program: Program, path: Path) -> None:
    options = ("--to", 1_500)
    document = compacted(program, path, *options)
    written = json.loads(program("compact", path, *options, "--format", "openai").out)
    assert written["messages"] == document["messages"]
    body = json.loads(program("compact", path, *options, "--format", "anthropic").out)
    assert {message["role"] for message in body["messages"]} == {"user", "assistant"}
    markdown = program("compact", path, *options).out.decode()
    assert markdown.startswith("# ")
    assert "> # Conversation Summary" in markdown


def test_stdin_and_a_pipe_are_sessions_too(program: Program, tmp_path: Path) -> None:
    expected = program("inspect", ANTHROPIC, "--json").out
    with ANTHROPIC.open("rb") as file:
        assert started("inspect", "-", "--json", stdin=file).stdout == expected
    with ANTHROPIC.open("rb") as file:
        ended = started("compact", "-", "--to", "2000", stdin=file)
    assert ended.stdout.startswith(b"# Conversation")
    assert ended.stderr.decode().startswith("standard input: Anthropic messages")
    with ANTHROPIC.open("rb") as file:
        assert b"standard input" in started("inspect", "-", stdin=file).stdout
    ended = started("compact", "-", input=b"nothing of a session\n")
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"autocompact: 'standard input' is not JSON")


def test_out_gets_what_stdout_would_get(program: Program, tmp_path: Path) -> None:
    out = tmp_path / "compacted.md"
    expected = program("compact", CODING, "--to", 7_000).out
    ended = program("compact", CODING, "--to", 7_000, "--out", out)
    assert ended.out == b""
    assert out.read_bytes() == expected
    assert f"written     {out}" in ended.err


# What it says -------------------------------------------------------------------------------------------------


def rows(report: str) -> dict[str, str]:
    """The labelled paragraphs of a report, each on one line."""
    found: dict[str, str] = {}
    for line in report.split("\n\n", 1)[1].splitlines():
        label, text = line[:12].strip(), " ".join(line[12:].split())
        if label:
            found[label] = text
        elif line:
            found[next(reversed(found))] += "" if text.startswith("of a window of") else f" {text}"
    return found


def test_the_report_of_the_coding_session(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CODING.parent)
    ended = program("compact", CODING.name, "--window", 64_000, "--to", 12_000)
    told = rows(ended.report)
    assert list(told) == [
        *("before", "after", "usage", "in the log", "outside"),
        *("verbatim", "summarised", "checked", "stated", "receipt"),
    ]
    assert ended.report.startswith(
        f"{CODING.name}: Claude Code, claude-sonnet-4-5-20250929, 279 messages\n\n"
    )
    assert told["before"].endswith("78,550 tokens 123%")
    assert told["usage"] == "78,550 tokens with the last reply, as the provider reported"
    assert told["in the log"].startswith("65,665 tokens: 64,478 counted with o200k_base, times 1.02 ")
    assert told["outside"].startswith("12,885 tokens that no compaction removes: system prompt")
    assert "your last request (m226)" in told["verbatim"]
    assert told["stated"].startswith("rules 3 of 3, requests 6 of 6, errors ")
    assert told["receipt"].endswith("offline summary, 0.00 s, counted with o200k_base")
    assert max(map(len, ended.report.splitlines()[1:])) <= 80


def test_a_preview_says_what_would_happen_and_writes_nothing(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CODING.parent)
    out = tmp_path / "out.md"
    ended = program("compact", CODING.name, "--to", 12_000, "--pin", 1, "--preview", "--out", out)
    assert (ended.code, ended.out, out.exists()) == (0, b"", False)
    told = rows(ended.report)
    assert "Preview: nothing is written." in ended.report
    assert list(told) == [
        *("before", "after", "usage", "in the log", "outside"),
        *("verbatim", "summarised", "leaves", "checked", "stated", "receipt", "cost"),
    ]
    assert "pinned m1" in told["verbatim"]
    assert told["leaves"].startswith("m169 result of Bash git diff: 2,604 tokens m189 ")
    assert told["cost"].startswith("no model is asked; every later request carries ")


def test_a_preview_in_json_is_given_on_stdout_and_not_in_a_file(program: Program, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    ended = program("compact", OPENAI, "--preview", "--format", "json", "--out", out)
    CONTRACT.validate(json.loads(ended.out))
    assert not out.exists()
    assert "nothing is written" in ended.err


def test_the_report_of_a_session_with_an_earlier_compaction_and_things_left_out(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = Claude()
    log.user("Please fix the pump controller.")
    for step in range(8):
        log.reply(
            text(f"Step {step}: " + "the valve is checked, the pressure written down. " * 30), id=f"v{step}"
        )
    log.compact("We fixed the valve.")
    log.user("Now the pressure sensor, please. The password is in https://ada:Xk29dLmQ77@pump.example/")
    for step in range(8):
        log.reply(
            text(f"Sensor {step}: " + "the sensor is calibrated, its curve stored. " * 30), id=f"s{step}"
        )
    log.add("user", isSidechain=True, agentId="a1", message={"role": "user", "content": "Look at it."})
    log.lines.append(b'{"type":"user","uuid":\n')
    path = tmp_path / "pump.jsonl"
    path.write_bytes(jsonl(log.lines))
    ended = program("compact", path.name, "--to", 900)
    assert ended.report == snapshot("""\
pump.jsonl: Claude Code, claude-x, 18 messages
Compacted before, through m9: what follows starts from that summary.

before      █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   2,344 tokens    1%
after       █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░     392 tokens    0%
            of a window of 200,000 tokens (that of claude-x)

verbatim    your last request (m10)
summarised  8 messages, m11 to m18, in 285 tokens with the ledger
checked     23 things found: 9 stated, 14 referenced, 0 missing
stated      requests 2 of 2, facts 7 of 18, identifiers 0 of 2
secrets     1 replaced in the summary; 1 still in what stays verbatim: treat it
            like the session itself
skipped     1 line that could not be used (line 22: not JSON:
            '{"type":"user","uuid":')
not in it   1 sub-agent's own messages
receipt     summarised, offline summary, 0.00 s, counted with o200k_base
""")


def test_the_report_says_which_bytes_were_no_text(program: Program, tmp_path: Path) -> None:
    said = [{"role": "user", "content": f"Open valve {number} of the café."} for number in range(3)]
    lines = [json.dumps(each, ensure_ascii=False).encode() for each in said]
    lines[1] = lines[1].replace("é".encode(), b"\xe9")
    path = tmp_path / "pump.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    ended = program("compact", path, "--out", tmp_path / "out.md")
    assert ended.code == 0
    assert "not UTF-8   bytes in 1 line (the first is line 2): read as U+FFFD (�)" in ended.report


@pytest.mark.requirement("E1")
def test_a_given_summary_is_checked_and_a_pointer_is_no_statement(program: Program, tmp_path: Path) -> None:
    words = tmp_path / "summary.md"
    words.write_text(
        "See m1 to m200 of it. We changed src/invoices/never_was.py and ran it with --imaginary.", "utf-8"
    )
    ended = program("compact", CODING, "--summary", words, "--summary-tokens", 3_000, "--format", "json")
    document = json.loads(ended.out)
    CONTRACT.validate(document)
    receipt = document["receipt"]
    assert receipt["notes"] == [
        "names in the summary that stand nowhere in the conversation: src/invoices/never_was.py, --imaginary"
    ]
    checks = [entry["check"] for entry in document["ledger"]]
    assert [checks.count(word) for word in ("stated", "referenced", "missing")] == [
        receipt[word] for word in ("stated", "referenced", "missing")
    ]
    assert {entry["check"] for entry in document["ledger"] if entry["kind"] == "rule"} == {"stated"}
    findings = [entry["check"] for entry in document["ledger"] if entry["kind"] == "finding"]
    assert findings.count("stated") > 10
    text = document["summary"]
    for entry in document["ledger"]:
        if entry["kind"] == "request" and entry["check"] == "stated":
            assert " ".join(entry["text"].split())[:40] in " ".join(text.split())


def test_no_color_reaches_a_pipe_and_none_a_terminal_that_wants_none(program: Program) -> None:
    ended = program("compact", CODING, "--to", 8_000)
    assert "\x1b" not in ended.err
    assert b"\x1b" not in program("inspect", CODING).out


def test_help_is_there_for_every_command_and_fast_to_load() -> None:
    script = (
        "import sys; from autocompact.cli import main; main(['compact', '--help']);"
        "print(sorted({'tiktoken', 'msgspec', 'autocompact.ledger', 'autocompact.sessions'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "--summary-tokens N" in done.stdout


def _loads(*arguments: str) -> tuple[str, list[str]]:
    """What the program says with ``arguments``, and the packages of ours that it loads for it."""
    script = (
        f"import sys; from autocompact.cli import main; main({list(arguments)!r});"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('autocompact.')})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment()
    )
    said, _, loaded = done.stdout.rstrip("\n").rpartition("\n")
    return said, sorted(loaded.split())


@pytest.mark.requirement("E8")
def test_the_commands_are_listed_in_whole_lines_and_none_is_loaded_for_that() -> None:
    said, loaded = _loads("--help")
    listed = {
        line.split()[0]: line for line in said.splitlines() if line.startswith("  ") and line[2:3].isalpha()
    }
    context = click.Context(program_)
    for name in program_.list_commands(context):
        assert listed[name].endswith(".")
        assert "..." not in listed[name]
        command = program_.get_command(context, name)
        assert command is not None
        assert command.name == name
        if isinstance(command, click.Group):
            below = command.get_help(click.Context(command, info_name=name))
            assert not any(re.search(r"\w\.\.\.$", line) for line in below.splitlines())
    assert program_.get_command(context, "none") is None
    assert loaded == ["cli", "errors", "ui"]


@pytest.mark.requirement("E8")
def test_no_help_loads_what_only_the_work_of_a_command_needs() -> None:
    script = """
import contextlib, io, sys
import click
from autocompact.cli import COMMANDS, main, program
from autocompact.cli.upkeep import main as upkeep
def shown(main, *words):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main([*words, "--help"]) == 0, words
    assert "Usage:" in said.getvalue(), words
context, shows = click.Context(program), 0
for name in COMMANDS:
    command = program.get_command(context, name)
    below = sorted(command.commands) if isinstance(command, click.Group) else []
    for words in ([name], *([name, each] for each in below)):
        shown(main, *words)
        shows += 1
shown(upkeep)
print(shows, *sorted(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment()
    )
    shows, *loaded = done.stdout.split()
    work = {
        *("aiohttp", "apsw", "markdown_it", "multiprocessing", "prompt_toolkit", "stamina", "tiktoken"),
        *("autocompact.chat", "autocompact.engine", "autocompact.gateway", "autocompact.what_if"),
        *("autocompact.history.archive", "autocompact.ledger.extraction", "autocompact.stores.access"),
    }

    assert int(shows) > len(COMMANDS)  # those below `keys`, too
    assert work & set(loaded) == set()


@pytest.mark.requirement("E8")
def test_to_compact_a_session_only_the_formats_are_loaded_that_it_may_have() -> None:
    script = (
        f"import sys; from autocompact.cli import main; main(['compact', {str(CODING)!r}, '--preview']);"
        "print(*sorted(name.removeprefix('autocompact.sessions.') for name in sys.modules if name.startswith('autocompact.sessions.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment()
    )
    loaded = set(done.stdout.split())
    assert "claude_code" in loaded
    assert not {"aider", "chatgpt", "gemini_cli", "goose", "langchain", "opencode", "vercel_ai"} & loaded


def test_to_compact_a_session_without_a_model_no_engine_is_loaded() -> None:
    script = "import sys, autocompact.history.recorded; print('autocompact.engine' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.requirement("A8")
def test_a_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> list[str]:
        at = {
            "_AUTOCOMPACT_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        script = "from autocompact.cli import program; program(prog_name='autocompact')"
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment() | at
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("autocompact un") == ["undo", "uninstall"]
    assert completed("autocompact --v") == ["--version"]
    assert completed("autocompact compact --su") == ["--summary-tokens", "--summary"]


def test_the_version_is_that_of_the_package() -> None:
    assert (
        started("--version").stdout.decode() == f"autocompact {importlib.metadata.version('autocompact')}\n"
    )
