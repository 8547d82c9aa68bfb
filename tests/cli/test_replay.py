"""``autocompact replay``: what is printed while a session is replayed, and what a program reads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from inline_snapshot import snapshot

from autocompact.cli.replaying import chosen_mode
from autocompact.cli.tape import Tape
from autocompact.compaction.modes import DEFAULT, MODES
from autocompact.errors import InvalidInput
from autocompact.testing import FakeProvider
from autocompact.what_if.replay import Invalid, Place, Refused, Totals
from tests.cli.program import CODING, DATA, OPENAI, Program, environment, started
from tests.lengths import some

PLACE = Place(turn=3, request=9, seq=20)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def events(program: Program, *arguments: str | Path | int) -> list[dict[str, Any]]:
    ended = program("replay", *arguments, "--json")
    assert ended.code == 0, ended.err
    assert ended.err == ""
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.mark.requirement("A1", "E6")
def test_each_compaction_is_shown_as_it_happens_and_the_sum_at_the_end(program: Program) -> None:
    ended = program("replay", CODING, "--window", 64_000)
    assert (ended.code, ended.err) == (0, "")
    shown = ended.out.decode()
    assert "Window 64,000 tokens, compacted at 43,200 (mode default)" in shown
    assert "Tokens by our count with o200k_base." in shown
    rows = [line for line in shown.splitlines() if "→" in line]
    assert rows
    checked = r"([\d,]+/[\d,]+/[\d,]+|[\d,]+ masked)"
    for row in rows:
        assert re.fullmatch(rf" +\d+ +m\d+  █+▒+░*  +[\d,]+ → +[\d,]+  \w+ +{checked}", row)
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])
    assert re.search(r"^requests that did not fit +0 +[1-9]\d*$", shown, re.MULTILINE)
    assert re.search(r"^tokens sent +[\d,]+ +[\d,]+  -\d+%$", shown, re.MULTILINE)
    told = " ".join(shown.split("\n\n")[-1].split())
    assert told.startswith("6 turns, 111 requests, 279 messages,")
    assert told.endswith("Of the requests every one that was sent is valid, and takes at most 56,000 tokens.")


@pytest.mark.requirement("E6")
def test_a_session_that_fits_is_not_compacted(program: Program) -> None:
    ended = program("replay", OPENAI)
    assert ended.out.decode().replace(str(OPENAI), "chat-openai.json") == snapshot(
        """\
chat-openai.json: OpenAI messages, gpt-4.1, 41 messages
Window 1,047,576 tokens, compacted at 822,060 (mode default), summaries made
offline.
Tokens by our count with o200k_base.

 turn  before  context                        tokens  step       st./ref./miss.
               nothing was compacted

                              with autocompact           without
largest context sent                     2,062             2,062
tokens sent                             20,638            20,638
requests that did not fit                    0                 0

7 turns, 17 requests, 41 messages, 0 compactions. Of the requests every one that
was sent is valid, and takes at most 1,031,576 tokens.
"""
    )


@pytest.mark.requirement("E1", "C6")
def test_the_json_says_the_same_line_by_line(program: Program) -> None:
    *made, end = events(program, CODING, "--window", 32_000)
    assert end["event"] == "end"
    assert end["compactions"] == len(made) > 1
    for event in made:
        assert event["event"] == "compacted"
        assert event["tokens_after"] < event["tokens_before"] <= end["limit"] == 28_000
        assert event["receipt"]["rung"] in ("mask", "summarise", "tighten", "floor")
        assert {"turn", "request", "seq", "compaction", "through_seq"} <= event.keys()
    assert end["refused"] == end["invalid"] == 0
    assert end["peak"] <= 28_000 < end["peak_without"]
    assert events(program, CODING, "--window", 32_000)[-1] == end


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_can_be_replayed_and_is_named_in_the_help(program: Program, mode: str) -> None:
    assert mode in program("replay", "--help").out.decode()
    *made, end = events(program, CODING, "--window", 64_000, "--mode", mode, "--threshold", "30k")
    assert len(made) == end["compactions"] > 0
    assert end["refused"] == end["invalid"] == 0


@pytest.mark.requirement("A12", "C1")
@pytest.mark.parametrize(
    ("threshold", "ratio", "tokens"),
    [
        (None, 0.8, None),
        ("0.6", 0.6, None),
        (".75", 0.75, None),
        ("62.5%", 0.625, None),
        ("30000", 0.8, 30_000),
        ("100k", 0.8, 100_000),
        ("0", 0.8, 0),
        ("never", 0.8, 0),
        ("session-150k", 0.8, 150_000),
    ],
)
def test_a_threshold_is_a_share_a_number_or_a_name(
    threshold: str | None, ratio: float, tokens: int | None
) -> None:
    policy = chosen_mode("default", threshold).policy
    assert (policy.ratio, policy.tokens) == (ratio, tokens)


def test_a_mode_keeps_its_threshold_unless_another_is_given() -> None:
    assert chosen_mode("default", None) is DEFAULT
    assert chosen_mode("coding-agent", "80%").policy.tokens is None
    assert chosen_mode("coding-agent", "80%").skill == "handoff"


@pytest.mark.parametrize("threshold", ["", "x", "-1", "1.5", "80 %", "10m", "session-1k"])
def test_what_is_no_threshold_is_refused_with_what_there_is(threshold: str) -> None:
    with pytest.raises(InvalidInput, match=r"give a share .0\.8 or 80%., a number .*session-50k"):
        chosen_mode("default", threshold)


def test_a_threshold_out_of_bounds_is_clamped_and_said(program: Program) -> None:
    ended = program("replay", OPENAI, "--threshold", "99%")
    assert (ended.code, ended.err) == (0, "threshold 0.99 is outside 0.5..0.95: 0.95 is used\n")
    ended = program("replay", OPENAI, "--threshold", "200%")
    assert (ended.code, "must be a share between 0 and 1" in ended.err) == (2, True)


def test_without_compaction_only_the_first_of_the_refused_requests_is_shown(program: Program) -> None:
    shown = program("replay", CODING, "--window", 32_000, "--threshold", "never").out.decode()
    assert "never compacted" in shown
    assert shown.count("refused: ") == 1
    assert re.search(r"^requests that did not fit +([1-9]\d*) +\1$", shown, re.MULTILINE)


def test_a_request_that_is_invalid_would_be_shown() -> None:
    tape = Tape(window=100, width=80)
    (line,) = tape.lines(Invalid(place=PLACE, problems=("a call has no answer", "so it is")))
    assert "INVALID: a call has no answer; so it is" in line
    assert "2 of them INVALID" in " ".join(" ".join(tape.lines(Totals(invalid=2))).split())
    refused = Refused(place=PLACE, reason="too large")
    assert [len(list(tape.lines(refused))) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--mode", "wild"), "no mode 'wild': choose one of default, database-chat"),
        (("--window", "0"), "0 is too small"),
        (("--threshold", "soon"), "--threshold 'soon' is none"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    program: Program, options: tuple[str, str], message: str
) -> None:
    ended = program("replay", OPENAI, *options)
    assert (ended.code, ended.out) == (2, b"")
    assert message in ended.err


def test_what_is_no_session_is_refused_and_no_store_is_made(program: Program, tmp_path: Path) -> None:
    store = tmp_path / "talks.db"
    ended = program("replay", tmp_path / "none.jsonl", "--db", store)
    assert (ended.code, "there is no file" in ended.err) == (2, True)
    assert not store.exists()


@pytest.mark.requirement("E2", "E3")
def test_a_replay_is_kept_where_it_is_asked_for(program: Program, tmp_path: Path) -> None:
    store = ("--db", tmp_path / "talks.db")
    end = events(program, CODING, "--window", 32_000, *store, "--name", "small")[-1]
    records = json.loads(program("compactions", "small", *store, "--json").out)["compactions"]
    assert len(records) == end["compactions"]
    shown = program("compactions", "small", *store).out.decode()
    assert "c1" in shown
    assert re.search(
        r"^  (old tool outputs cut|summarised[\w ]*, offline summary|cut down to what must stay.*), ",
        shown,
        re.MULTILINE,
    )
    assert program("undo", "small", *store).code == 0
    again = program("replay", CODING, *store, "--name", "small")
    assert (again.code, "choose another --name" in again.err) == (2, True)
    assert program("replay", CODING, *store).code == 0
    names = [info["name"] for info in json.loads(program("list", *store, "--json").out)["conversations"]]
    assert names == ["fix-invoice-rounding", "small"]
    assert json.loads(program("search", "half to even", *store, "--json").out)["results"]


@pytest.mark.anyio
@pytest.mark.requirement("B6")
async def test_a_model_writes_the_summaries(program: Program) -> None:
    async with FakeProvider("<summary>The rounding was mended.</summary>") as provider:
        options = ("--window", 32_000, "--model", "any", "--base-url", provider.url)
        ended = await to_thread.run_sync(partial(program, "replay", CODING, *options, "--json"))
        shown = await to_thread.run_sync(partial(program, "replay", CODING, *options))
    made = [json.loads(line) for line in ended.out.splitlines()][:-1]
    assert provider.requests
    assert "any" in {event["receipt"]["model"] for event in made}
    assert b"summaries by any." in shown.out


@pytest.mark.anyio
async def test_a_model_that_fails_is_told_and_the_replay_goes_on(program: Program) -> None:
    async with FakeProvider("no", api_key="right") as provider:
        options = (
            "--window",
            32_000,
            "--mode",
            "database-chat",
            "--model",
            "any",
            "--base-url",
            provider.url,
        )
        shown = await to_thread.run_sync(partial(program, "replay", CODING, *options))
    assert (shown.code, shown.err) == (0, "")
    assert b"not compacted: automatic compactions stopped" in shown.out
    assert b"every one that was sent is valid" in b" ".join(shown.out.split())


def test_a_session_can_come_from_stdin() -> None:
    ended = started("replay", "-", input=OPENAI.read_bytes())
    assert ended.returncode == 0
    assert ended.stdout.startswith(b"standard input: OpenAI messages")
    assert b"\x1b" not in ended.stdout


def test_nobody_reads_the_output_any_more() -> None:
    command = [sys.executable, "-m", "autocompact", "replay", str(CODING), "--window", "32000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 1
    assert b"Traceback" not in said


@pytest.mark.anyio
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
async def test_an_interrupted_replay_leaves_a_store_that_can_be_used(
    program: Program, tmp_path: Path
) -> None:
    store = tmp_path / "talks.db"
    async with FakeProvider("<summary>Never said.</summary>") as provider:
        provider.fail("silent", times=9)
        command = [
            sys.executable,
            "-m",
            "autocompact",
            "replay",
            str(CODING),
            "--window",
            "32000",
            "--db",
            str(store),
        ]
        command += ["--model", "any", "--base-url", provider.url]
        process = await to_thread.run_sync(
            lambda: subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
            )
        )
        await provider.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        _, said = await to_thread.run_sync(process.communicate)
    assert (process.returncode, b"Traceback" in said) == (130, False)
    kept = json.loads(
        (await to_thread.run_sync(partial(program, "show", "fix", "--db", store, "--json"))).out
    )
    assert [message["seq"] for message in kept["messages"]] == list(range(1, len(kept["messages"]) + 1))
    undo = await to_thread.run_sync(partial(program, "undo", "fix", "--db", store))
    assert (undo.code, "nothing to undo" in undo.err) == (
        2,
        True,
    )  # no lease of the dead program is in the way


@pytest.mark.skipif(not DATA.is_dir(), reason="the data pack is not beside the repository (../shared/data)")
@pytest.mark.requirement("E8", "E5", "D3")
@pytest.mark.parametrize("window", some([24_000, 100_000], gate=1))
@pytest.mark.parametrize(
    "name",
    some(
        [
            "claude_code/2026-01-20-130d7b7e-5801-4345-9bd6-f32fd9b8429b.jsonl",
            "claude_code/2026-01-22-0cf3db51-1c73-43bb-8d05-dc02739514a5.jsonl",
            "pi/before-compaction.jsonl",
        ],
        gate=2,
    ),
)
def test_recorded_sessions_are_replayed_without_an_invalid_or_refused_request(
    program: Program, name: str, window: int
) -> None:
    end = events(program, DATA / name, "--window", window)[-1]
    assert (end["invalid"], end["refused"]) == (0, 0)
    assert end["peak"] <= end["limit"]
