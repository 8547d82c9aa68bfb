"""Random histories for every invariant: valid ones, broken ones, logs with edits, and compactions over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Literal

from hypothesis import strategies as st
from msgspec import structs

from autocompact.compaction.record import Compaction, Mask, Placement, Receipt
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import (
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Ledger

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
PLACEMENTS: tuple[Placement, ...] = ("system", "user", "assistant")
RECEIPT = Receipt(tokens_before=0, tokens_after=0, bytes_before=0, bytes_after=0, rung="summarise")


@dataclasses.dataclass
class LengthCounter:
    """One token per character; remembers how often it was asked."""

    name: str = "length"
    asked: int = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text)


def numbered(messages: Iterable[Message]) -> list[Message]:
    """The messages with `seq` 1, 2, 3..."""
    return [structs.replace(message, seq=seq) for seq, message in enumerate(messages, start=1)]


def said(role: Role, *parts: Part | str, **fields: str) -> Message:
    """A message of these parts, texts as `Text`; `numbered` gives it its place."""
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return structs.replace(Message(seq=0, role=role, parts=made), **fields)


def call(id: str, name: str = "bash", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def result(id: str, text: str = "done", *, is_error: bool = False) -> ToolResult:
    return ToolResult(call_id=id, text=text, is_error=is_error)


def words() -> st.SearchStrategy[str]:
    return st.text(alphabet="abc é漢\n", min_size=1, max_size=8).filter(lambda text: not text.isspace())


def _any_parts() -> st.SearchStrategy[Part]:
    ids = st.sampled_from(["a", "b", "c", "a_2", ""])
    return st.one_of(
        st.builds(Text, text=words() | st.sampled_from(["", " "])),
        st.builds(Reasoning, text=words() | st.just(""), raw=st.none() | st.just(b"{}")),
        st.builds(ToolCall, id=ids, name=st.just("bash"), arguments=st.sampled_from(["{}", '{"x":1}'])),
        st.builds(ToolCall, id=ids, name=st.just("bash"), arguments=st.just("{}")),
        st.builds(ToolResult, call_id=ids, text=words()),
        st.builds(ToolResult, call_id=ids, text=words(), is_error=st.booleans()),
        st.just(Image(media_type="image/png", data="aa", width=2, height=2)),
        st.just(Opaque(kind="odd", raw=b'{"type":"odd"}')),
    )


@st.composite
def _steps(draw: st.DrawFn, ids: list[str]) -> list[Message]:
    """A valid step: thoughts, a run of one or two messages with calls, their results in any order and packing."""
    run = [said("assistant", Reasoning(text="hm", raw=b"{}"))] if draw(st.booleans()) else []
    half = draw(st.integers(0, len(ids)))
    for group in (ids[:half], ids[half:]):
        if group:
            text = [Text(text=draw(words()))] if draw(st.booleans()) else []
            run.append(said("assistant", *text, *map(call, group)))
    answers = [result(id, draw(words())) for id in draw(st.permutations(ids))]
    if draw(st.booleans()):
        extra = [Text(text=draw(words()))] if draw(st.booleans()) else []
        return [*run, said("user", *answers, *extra)]
    return [*run, *(said("tool", answer) for answer in answers)]


@st.composite
def valid_histories(draw: st.DrawFn, max_turns: int = 5) -> list[Message]:
    """Histories that every API accepts as they are."""
    messages = [said("system", draw(words()))] if draw(st.booleans()) else []
    next_id = 0
    for _ in range(draw(st.integers(0, max_turns))):
        kind: Literal["request", "answer", "step", "note"] = draw(
            st.sampled_from(["request", "answer", "step", "step", "note"])
        )
        if kind == "step" and (not messages or messages[-1].role != "assistant"):
            count = draw(st.integers(1, 3))
            messages += draw(_steps([f"call{next_id + n}" for n in range(count)]))
            next_id += count
        elif kind == "note":
            messages.append(said("system", draw(words())))
        else:
            messages.append(said("user" if kind == "request" else "assistant", draw(words())))
    return numbered(messages)


@st.composite
def broken_histories(draw: st.DrawFn, max_size: int = 12) -> list[Message]:
    """Anything: valid histories with messages lost, repeated and moved, and messages of any parts in any role."""
    anything = st.builds(
        Message,
        seq=st.just(0),
        role=st.sampled_from(ROLES),
        parts=st.lists(_any_parts(), max_size=4).map(tuple),
        id=st.sampled_from(["", "", "m1"]),
    )
    messages = draw(valid_histories()) if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 4)) if messages else 0):
        position = draw(st.integers(0, len(messages) - 1))
        moved = messages[position] if draw(st.booleans()) else messages.pop(position)
        messages.insert(draw(st.integers(0, len(messages))), moved)
    for message in draw(st.lists(anything, max_size=max_size)):
        messages.insert(draw(st.integers(0, len(messages))), message)
    if messages and draw(st.booleans()):
        messages.pop(draw(st.integers(0, len(messages) - 1)))
    return numbered(messages)


def histories() -> st.SearchStrategy[list[Message]]:
    """Valid and broken histories."""
    return valid_histories() | broken_histories()


@st.composite
def id_histories(draw: st.DrawFn, max_steps: int = 6, size: int = 12) -> list[Message]:
    """Histories of servers that number their calls from zero in every turn, or give them no id at all.

    Every call has its own arguments, every result its own words; `size` times as many words as its number.
    """
    messages = [said("system", "be brief")] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(0, max_steps))):
        if draw(st.booleans()):
            messages.append(said("user", f"request {number}"))
        ids = draw(st.sampled_from([["call_0"], [""], ["call_0", "call_1"], ["", ""], ["call_0", "call_0"]]))
        calls = [call(id, "Read", f'{{"file_path":"f{number + n}.py"}}') for n, id in enumerate(ids)]
        texts = [f"line of f{number + n}.py, again and again; " * size for n in range(len(ids))]
        answers = [result(id, text) for id, text in zip(ids, texts, strict=True)]
        messages.append(said("assistant", f"step {number}", *calls))
        number += len(ids)
        packing = draw(st.sampled_from(["together", "apart", "lost", "late", "user"]))
        if packing == "together":
            messages.append(said("tool", *answers))
        elif packing == "user":
            messages.append(said("user", *answers, "and look at this"))
        elif packing == "late":
            messages += [said("user", "wait"), *(said("tool", answer) for answer in answers)]
        else:
            messages += [said("tool", answer) for answer in (answers if packing == "apart" else answers[:-1])]
    if draw(st.booleans()):
        messages.append(said("assistant", "done"))
        messages.append(said("user", "thanks, go on"))
    return numbered(messages)


@st.composite
def logs(draw: st.DrawFn) -> list[Message]:
    """Histories in which some messages replace earlier ones (edit, regenerate)."""
    messages = draw(histories())
    edits = draw(st.lists(st.integers(2, max(2, len(messages))), max_size=2))
    return [
        structs.replace(message, replaces=draw(st.integers(1, message.seq - 1)))
        if message.seq in edits
        else message
        for message in messages
    ]


@st.composite
def compactions(draw: st.DrawFn, log: Transcript, *, at_least: int = 0) -> Compaction:
    """A record over `log`: any boundary, pins, masks and placement, bound to what it covers or not."""
    through = draw(st.integers(min(at_least, len(log)), len(log)))
    keep = draw(st.sets(st.integers(1, max(1, through)), max_size=3)) if through else set[int]()
    masks = [
        Mask(seq=message.seq, part=place, stub=redact("[…]"))
        for message in log.live()
        for place, part in enumerate(message.parts)
        if isinstance(part, ToolResult) and draw(st.booleans())
    ]
    return Compaction(
        id=draw(st.sampled_from(["c1", "c2"])),
        from_seq=1,
        through_seq=through,
        summary=redact(draw(words()) if through else ""),
        ledger=Ledger(),
        masks=tuple(masks),
        keep=tuple(sorted(keep)),
        placement=draw(st.sampled_from(PLACEMENTS)),
        prefix=log.prefix(through) if draw(st.booleans()) else "",
        receipt=RECEIPT,
    )


def talk(length: int) -> list[Message]:
    """A plain conversation: request, call, result, answer, over and over."""
    turn = ["request", "call", "result", "answer"]
    messages: list[Message] = []
    for n in range(length):
        kind = turn[n % 4]
        if kind == "call":
            messages.append(said("assistant", call(f"call{n}")))
        elif kind == "result":
            messages.append(said("tool", result(f"call{n - 1}")))
        else:
            messages.append(text_message(0, "user" if kind == "request" else "assistant", f"{kind} {n}"))
    return numbered(messages)
