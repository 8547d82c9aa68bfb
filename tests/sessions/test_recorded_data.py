"""Every recorded session of the data pack beside the repository; skipped where it is not there."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from autocompact.compaction.record import Compaction, Mask, Receipt
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Reasoning, Text, ToolCall, ToolResult
from autocompact.core.redaction import redact
from autocompact.errors import UnreadableSession
from autocompact.ledger.entries import Ledger
from autocompact.models.vocabulary import load_counter
from autocompact.sessions import read_session, write_claude_code

DATA = Path(__file__).parents[3] / "shared" / "data"
PACK = pytest.mark.skipif(
    not DATA.is_dir(), reason="the data pack is not beside the repository (../shared/data)"
)
pytestmark = [pytest.mark.requirement("E8"), PACK]


def manifest() -> list[dict[str, str]]:
    if not DATA.is_dir():
        return []
    with (DATA / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if not row["file"].startswith("retrieval/")]


ROWS = {row["file"]: row for row in manifest()}
NOT_A_MESSAGE = "gemini_cli/29eb990e-c773-4302-a4e7-317f0af0001f.json"
READABLE = sorted(ROWS.keys() - {NOT_A_MESSAGE})
CLAUDE = [name for name in READABLE if name.startswith("claude_code/")]


def flag(row: dict[str, str], name: str) -> int:
    flags = dict(item.split("=") for item in row["tricky_flags"].split("; ") if item.count("=") == 1)
    return int(flags.get(name, "0").split()[0])


class Length:
    """Counts characters: fast, and as good as any for telling two contexts apart."""

    name = "length"

    def count(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize("name", READABLE)
def test_each_file_is_read_whole(name: str) -> None:
    row, session = ROWS[name], read_session(DATA / name)
    assert session.messages
    assert [message.seq for message in session.messages] == list(range(1, len(session.messages) + 1))
    assert len(session.lines) == len(session.messages)
    assert [skipped for skipped in session.skipped if skipped.line] == []
    assert session.abandoned == ()
    chains = [session.messages, *session.sidechains.values()]
    calls = [call.id for chain in chains for message in chain for call in message.calls]
    # Not counted there: tool searches of Codex, and the reply in a request log.
    uncounted = flag(row, "tool_search_calls") + ("llm-log" in name)
    listed = 0 if "text_actions_no_tool_calls" in row["tricky_flags"] else int(row["n_tool_calls"])
    assert len(calls) == listed + uncounted
    summarised = [record for record in session.compactions if record.receipt.rung == "summarise"]
    assert len(summarised) == int(row["n_compactions"])


@pytest.mark.parametrize(
    "name", [name for name in READABLE if name.split("/")[0] in ("claude_code", "codex", "pi")]
)
def test_calls_and_results_pair_up_but_for_the_known_ones(name: str) -> None:
    row, session = ROWS[name], read_session(DATA / name)
    calls = {call.id for message in session.messages for call in message.calls}
    results = [result.call_id for message in session.messages for result in message.results]
    assert len(results) == len(set(results))
    assert len(calls - set(results)) == flag(row, "unanswered_calls")
    assert len(set(results) - calls) == flag(row, "orphan_results")


# Where both count the same: the others repeat system prompts, wrap outputs in JSON, or leave out thinking there.
COMPARABLE = [
    name for name in READABLE if name.startswith(("claude_code/", "codex/agentv", "pi/", "swe_agent/"))
]


@pytest.mark.parametrize("name", COMPARABLE)
def test_nothing_is_lost_or_counted_twice(name: str) -> None:
    session, counter = read_session(DATA / name), load_counter()
    parts = [part for message in session.messages for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, Text | Reasoning | ToolResult)]
    texts += [part.arguments for part in parts if isinstance(part, ToolCall)]
    texts += [record.summary for record in session.compactions if record.receipt.rung == "summarise"]
    tokens = sum(counter.count(text) for text in texts)
    assert tokens == pytest.approx(int(ROWS[name]["tokens_o200k"]), rel=0.02)


@pytest.mark.parametrize("name", CLAUDE)
def test_each_compaction_stands_where_the_list_says(name: str) -> None:
    session = read_session(DATA / name)
    records = {record.id: record for record in session.compactions}
    with (DATA / "compactions.jsonl").open(encoding="utf-8") as file:
        listed = [entry for entry in map(json.loads, file) if entry["file"] == name]
    for entry in listed:
        record = records[entry["boundary_uuid"]]
        assert record.receipt.tokens_before == entry["pre_tokens"]
        assert session.lines[record.through_seq - 1] < entry["boundary_line"]
        if record.through_seq < len(session.lines):
            assert session.lines[record.through_seq] > entry["summary_line"]
        assert record.summary.startswith("This session is being continued")


@pytest.mark.parametrize("name", CLAUDE)
def test_each_claude_code_session_comes_back_from_a_compacted_copy(name: str, tmp_path: Path) -> None:
    before = read_session(DATA / name)
    through = max(1, len(before.messages) * 7 // 10)
    masks = [
        Mask(seq=message.seq, part=place, stub=redact("[masked]"))
        for message in before.messages[through:]
        for place, part in enumerate(message.parts)
        if isinstance(part, ToolResult)
    ]
    receipt = Receipt(tokens_before=9, tokens_after=1, bytes_before=0, bytes_after=0, rung="summarise")
    made = Compaction(
        id="k",
        from_seq=1,
        through_seq=through,
        summary=redact("What was done."),
        ledger=Ledger(),
        keep=(1,),
        masks=tuple(masks[:3]),
        receipt=receipt,
    )
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(b"".join(write_claude_code(DATA / name, made)))
    after = read_session(copy)
    assert copy.read_bytes().startswith((DATA / name).read_bytes())
    assert after.messages == before.messages
    assert after.compactions[:-1] == before.compactions
    old = view(Transcript(before.messages, counter=Length()), made)
    new = view(Transcript(after.messages, counter=Length()), after.compactions[-1])
    assert old.messages == new.messages


def test_a_session_with_nothing_said_is_refused() -> None:
    if NOT_A_MESSAGE in ROWS:
        with pytest.raises(UnreadableSession, match="without a single message"):
            read_session(DATA / NOT_A_MESSAGE)


def test_one_session_in_two_files_agrees_on_its_first_part() -> None:
    first = read_session(DATA / "claude_code/2026-01-20-130d7b7e-5801-4345-9bd6-f32fd9b8429b.jsonl")
    second = read_session(DATA / "claude_code/2026-01-21-130d7b7e-5801-4345-9bd6-f32fd9b8429b.jsonl")
    assert second.messages[: len(first.messages)] == first.messages
