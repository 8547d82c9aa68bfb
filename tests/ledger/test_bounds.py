from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.compaction.goal import Goal
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Message, Text, ToolCall, ToolResult, text_message
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.bounds import LONGEST, MOST, carried
from autocompact.ledger.entries import Entry, Kind, Ledger, State
from tests.compaction.offline import climb_offline

KINDS: tuple[Kind, ...] = (
    *(
        "rule",
        "request",
        "finding",
        "fact",
        "change",
        "step",
        "file",
        "command",
        "error",
        "todo",
        "identifier",
        "running",
    ),
)
STATES: tuple[State, ...] = ("", "open", "done", "superseded", "withdrawn")


def entry(kind: Kind, seq: int, *, text: str = "words", state: State = "", need: float = 0.5) -> Entry:
    return Entry(kind=kind, text=redact(text), seq=seq, key=redact(f"{kind} {seq}"), state=state, need=need)


ENTRIES = st.builds(
    Entry,
    kind=st.sampled_from(KINDS),
    text=st.sampled_from(["words", "never push to main", "x " * LONGEST]),
    seq=st.integers(1, 500),
    key=st.uuids().map(str),
    state=st.sampled_from(STATES),
    need=st.floats(0, 1),
)


@given(st.lists(ENTRIES, max_size=60), st.integers(1, 12))
def test_what_goes_on_keeps_its_order_and_everything_open(entries: list[Entry], times: int) -> None:
    ledger = Ledger(entries=tuple(replace(e, key=f"{e.key} {n}") for n in range(times) for e in entries))
    kept = carried(ledger)
    places = [e.key for e in ledger.entries]
    assert [e.key for e in kept] == [key for key in places if key in {e.key for e in kept}]
    gone = {e.key for e in ledger.entries} - {e.key for e in kept}
    for e in ledger.entries:
        if e.key in gone:
            assert e.kind in MOST
            assert not (e.kind == "request" and e.state == "open")
    for kind, most in MOST.items():
        bound = [e for e in kept if e.kind == kind and (kind != "request" or e.state != "open")]
        assert kind == "request" or len(bound) <= most


def test_of_the_rest_the_most_needed_and_latest_go_on() -> None:
    most = MOST["command"]
    commands = [entry("command", seq, need=0.9 if seq == 1 else 0.1) for seq in range(1, most + 3)]
    kept = carried(Ledger(entries=tuple(commands)))
    assert [e.seq for e in kept] == [1, *range(4, most + 3)]


def test_old_requests_leave_and_open_ones_and_the_last_stay() -> None:
    most = MOST["request"]
    old = [entry("request", seq, state="done") for seq in range(10, most + 30)]
    said = [
        entry("request", 4, state="open"),
        *old,
        entry("request", 999),
    ]
    kept = {e.seq for e in carried(Ledger(entries=tuple(said)))}
    assert {4, 999} <= kept
    assert len(kept) == 2 + most
    assert 10 not in kept


def test_a_long_settled_request_goes_on_by_its_beginning_and_an_open_one_whole() -> None:
    long = "word " * LONGEST
    settled, open_, last = (
        entry("request", 1, text=long, state="done"),
        entry("request", 2, text=long, state="open"),
        entry("request", 3, text=long),
    )
    short, *whole = carried(Ledger(entries=(settled, open_, last)))
    assert len(short.text) <= LONGEST
    assert short.text.endswith("word…")
    assert whole == [open_, last]


def work(seq: int) -> list[Message]:
    """A turn with a request, an edit, a command, and names that no other turn has."""
    path = f"src/package_{seq}/module_{seq}.py"
    names = " ".join(f"value_{seq}_{n} compute_{seq}_{n}() Error{seq}x{n}" for n in range(60))
    edit = ToolCall(
        id=f"e{seq}", name="Edit", arguments=f'{{"file_path":"{path}","old_string":"a","new_string":"b"}}'
    )
    run = ToolCall(id=f"r{seq}", name="Bash", arguments=f'{{"command":"pytest tests/test_{seq}.py"}}')
    return [
        text_message(seq, "user", f"Please change {path} so that it rounds item {seq}."),
        Message(seq=seq + 1, role="assistant", parts=(edit, run)),
        Message(seq=seq + 2, role="tool", parts=(ToolResult(call_id=edit.id, text=f"{path} was updated.\n{names}"),)),
        Message(seq=seq + 3, role="tool", parts=(ToolResult(call_id=run.id, text=f"{seq} passed"),)),
        Message(seq=seq + 4, role="assistant", parts=(Text(text=f"Done: {path} rounds item {seq} now."),)),
    ]  # fmt: skip


@pytest.mark.uncovered
@pytest.mark.requirement("E5")
def test_the_twentieth_ledger_is_as_large_as_the_second() -> None:
    goal = Goal(limit=40_000, target=10_000, summary_tokens=1_500, tail_tokens=3_000, first_rung="summarise")
    log, active, sizes = Transcript(counter=Estimator()), None, list[int]()
    rule = "Never push without my approval."
    log.append(text_message(1, "user", rule))
    while len(sizes) < 20:
        log.extend(work(len(log) + 1))
        if view(log, active).cost.tokens > 30_000:
            active = climb_offline(log, goal, active=active)
            assert active is not None
            sizes.append(sum(len(e.text) + len(e.key) for e in active.ledger.entries))
            log = log.after(active)
            assert rule in {e.text for e in active.ledger.entries}
    assert sizes[-1] == pytest.approx(sizes[1], rel=0.2)
