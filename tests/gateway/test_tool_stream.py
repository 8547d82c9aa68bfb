"""What the client gets of streams in which some calls are ours, whatever the bytes are cut into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.messages import Dialect, Text, ToolCall, Usage
from autocompact.gateway.memory_tools import NAMES
from autocompact.gateway.raw_json import object_of, parts_of
from autocompact.gateway.tool_events import SIEVES
from autocompact.gateway.tool_reply import REPLIES
from autocompact.gateway.tool_stream import Frames, payload, with_payload
from autocompact.testing import Answer, Received
from autocompact.testing.provider import Api
from autocompact.testing.provider_anthropic import Messages
from autocompact.testing.provider_chat import Chat
from autocompact.testing.provider_prompt import Figures
from autocompact.testing.provider_responses import Responses
from autocompact.wire import Reply, parse_reply
from autocompact.wire.stream import StreamReader

APIS: dict[Dialect, Api] = {"openai_chat": Chat(), "openai_responses": Responses(), "anthropic": Messages()}
DIALECTS = st.sampled_from(list(APIS))

OURS = ToolCall(id="mem", name="memory_search", arguments='{"query":"x"}')
THEIRS = ToolCall(id="own", name="read", arguments='{"path":"a b c"}')
WORDS = st.sampled_from(["", "Some words of it.", "Größe 漢字\r\n😀"])


@st.composite
def answers(draw: st.DrawFn, *, last: bool) -> Answer:
    """One of a round that goes on calls our tools alone; the last may call what it likes."""
    calls = [OURS, THEIRS] if last else [OURS]
    chosen = draw(st.lists(st.sampled_from(calls), min_size=0 if last else 1, max_size=3))
    if last and chosen and THEIRS not in chosen:
        chosen.append(THEIRS)
    return Answer(
        text=draw(WORDS),
        reasoning=draw(WORDS),
        calls=tuple(
            ToolCall(id=f"{c.id}{n}", name=c.name, arguments=c.arguments) for n, c in enumerate(chosen)
        ),
        tokens=draw(st.integers(1, 99)),
    )


@st.composite
def turns(draw: st.DrawFn) -> list[Answer]:
    """The answers of the rounds of one turn."""
    searches = draw(st.lists(answers(last=False), max_size=3))
    return [*searches, draw(answers(last=True))]


def asked(dialect: Dialect) -> Received:
    body: Any = {"model": "m", "stream_options": {"include_usage": True}}
    return Received(path="/", headers={}, raw=b"", body=body, dialect=dialect)


def streams(dialect: Dialect, turn: Sequence[Answer]) -> list[bytes]:
    """The bytes of each round's stream."""
    return [
        b"".join(
            APIS[dialect].events(answer, asked(dialect), figures=Figures(prompt=100 * number), number=number)
        )
        for number, answer in enumerate(turn, 1)
    ]


def whole(dialect: Dialect, turn: Sequence[Answer]) -> list[bytes]:
    """The bytes of each round's answer in one piece."""
    return [
        APIS[dialect].whole(answer, asked(dialect), figures=Figures(prompt=100 * number), number=number)
        for number, answer in enumerate(turn, 1)
    ]


def sieved(dialect: Dialect, rounds: Sequence[bytes], *, cuts: Sequence[int]) -> bytes:
    """What the client gets of these rounds, each cut into chunks of these sizes over and over."""
    sieve = SIEVES[dialect]()
    told: list[bytes] = []
    for number, stream in enumerate(rounds, 1):
        sieve.begin(last=False)
        told += (sieve.feed(chunk) for chunk in chunks(stream, cuts))
        told.append(sieve.end())
        assert sieve.again == (number < len(rounds))
    return b"".join(told)


def chunks(stream: bytes, cuts: Sequence[int]) -> Iterator[bytes]:
    start, place = 0, 0
    while start < len(stream):
        size = cuts[place % len(cuts)]
        yield stream[start : start + size]
        start, place = start + size, place + 1


def read(dialect: Dialect, stream: bytes) -> Reply:
    reader = StreamReader(dialect)
    reader.feed(stream)
    reader.close()
    assert not reader.problems
    return reader.reply()


@given(DIALECTS, turns(), st.lists(st.integers(1, 90), min_size=1, max_size=8))
def test_however_the_bytes_are_cut_the_client_gets_the_same(
    dialect: Dialect, turn: list[Answer], cuts: list[int]
) -> None:
    rounds = streams(dialect, turn)
    assert sieved(dialect, rounds, cuts=cuts) == sieved(dialect, rounds, cuts=[10**9])


@given(DIALECTS, st.lists(st.integers(1, 90), min_size=1, max_size=8), answers(last=True))
def test_without_a_call_of_ours_every_byte_is_the_providers(
    dialect: Dialect, cuts: list[int], answer: Answer
) -> None:
    own = Answer(text=answer.text, reasoning=answer.reasoning, calls=(THEIRS,) * (answer.tokens or 0 > 50))
    (stream,) = streams(dialect, [own])
    assert sieved(dialect, [stream], cuts=cuts) == stream
    replies = REPLIES[dialect]()
    assert not replies.add(whole(dialect, [own])[0], last=False)
    assert replies.edits() == {}


@given(st.sampled_from(["openai_responses", "anthropic"]), turns())
def test_blocks_and_items_are_numbered_without_a_gap(dialect: Dialect, turn: list[Answer]) -> None:
    begins, number = ("content_block_start", "index")
    if dialect == "openai_responses":
        begins, number = ("response.output_item.added", "output_index")
    told = Frames().feed(sieved(dialect, streams(dialect, turn), cuts=[10**9]))
    events = [json.loads(data) for frame in told if (data := payload(frame))]
    shown = [event[number] for event in events if event["type"] == begins]
    assert shown == list(range(len(shown)))
    assert {event[number] for event in events if number in event} == set(shown)


@given(DIALECTS, turns())
def test_a_streamed_turn_and_one_in_one_piece_say_the_same(dialect: Dialect, turn: list[Answer]) -> None:
    streamed = read(dialect, sieved(dialect, streams(dialect, turn), cuts=[7]))
    replies = REPLIES[dialect]()
    bodies = whole(dialect, turn)
    assert [replies.add(body, last=False) for body in bodies] == [True] * (len(turn) - 1) + [False]
    told = parse_reply(object_of(parts_of(bodies[-1]) | replies.edits()), dialect=dialect)
    assert words(streamed) == words(told)
    assert calls(streamed) == calls(told)
    assert (streamed.usage, streamed.stop_reason) == (told.usage, told.stop_reason)


@given(DIALECTS, turns())
def test_the_client_gets_all_words_its_own_calls_and_true_figures(
    dialect: Dialect, turn: list[Answer]
) -> None:
    reply = read(dialect, sieved(dialect, streams(dialect, turn), cuts=[10**9]))
    assert [call.name for call in calls(reply)] == [c.name for c in turn[-1].calls if c.name not in NAMES]
    assert words(reply) == "\n\n".join(answer.text for answer in turn if answer.text)
    assert reply.usage == Usage(prompt=100, completion=sum(answer.tokens or 0 for answer in turn))
    assert reply.complete


def words(reply: Reply) -> str:
    texts = [part.text for message in reply.messages for part in message.parts if isinstance(part, Text)]
    return "\n\n".join(text for text in texts if text)


def calls(reply: Reply) -> list[ToolCall]:
    return [call for message in reply.messages for call in message.calls]


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses"])
def test_thinking_that_leads_to_a_search_alone_stays_with_it(dialect: Dialect) -> None:
    turn = [
        Answer(reasoning="I should look.", calls=(OURS,)),
        Answer(reasoning="Found it.", text="Done."),
    ]
    told = sieved(dialect, streams(dialect, turn), cuts=[11])
    assert b"look" not in told
    assert b"Found" in told


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses"])
def test_a_stream_that_breaks_off_within_thinking_gives_what_came(dialect: Dialect) -> None:
    (stream,) = streams(dialect, [Answer(reasoning="I should look.", text="Done.")])
    cut = stream[: stream.index(b"look") + 20]
    sieve = SIEVES[dialect]()
    sieve.begin(last=False)
    assert sieve.feed(cut) + sieve.end() == cut


@pytest.mark.parametrize("dialect", list(APIS))
def test_a_call_that_was_cut_by_the_limit_is_left_out_and_not_answered(dialect: Dialect) -> None:
    (stream,) = streams(dialect, [Answer(text="Look:", calls=(OURS,), stop="length")])
    sieve = SIEVES[dialect]()
    sieve.begin(last=False)
    reply = read(dialect, sieve.feed(stream) + sieve.end())
    assert not sieve.again
    assert (words(reply), calls(reply)) == ("Look:", [])
    assert reply.stop_reason in ("length", "max_tokens", "max_output_tokens")


ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(
    st.lists(st.tuples(st.sampled_from([b"data: a", b": note", b"event: x\ndata: b", b"id: 1"]), ENDS)),
    st.lists(st.integers(1, 5), min_size=1),
)
def test_events_are_cut_at_blank_lines_with_any_line_ends(
    events: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(event.replace(b"\n", end) + end * 2 for event, end in events)
    frames = Frames()
    found = [frame for chunk in chunks(stream, cuts) for frame in frames.feed(chunk)]
    rest = frames.rest()
    assert b"".join(found) + rest == stream
    told = [payload(frame) for frame in (*found, rest) if frame]
    assert [data for data in told if data is not None] == [
        event[-1:] for event, _ in events if b"data" in event
    ]


def test_an_event_keeps_its_name_with_other_data() -> None:
    assert (
        with_payload(b"event: x\r\ndata: old\r\n\r\n", b'{"a":\n1}') == b'event: x\ndata: {"a":\ndata: 1}\n\n'
    )
    assert payload(b"data:a\ndata: b\n\n") == b"a\nb"


def test_blocks_of_a_model_that_thinks_stay_blocks_over_all_rounds() -> None:
    """Mistral's thinking models answer with a list of blocks where others have a text."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "I should look."}]}
    call = {"id": "a", "type": "function", "function": {"name": "memory_search", "arguments": "{}"}}
    said: list[Any] = [
        {"role": "assistant", "content": [thought], "tool_calls": [call | {"index": 0}]},
        {"role": "assistant", "content": [thought]},
        {"role": "assistant", "content": "In herons."},
    ]
    ends = ["tool_calls", None, "stop"]
    events = [
        {"id": "1", "choices": [{"index": 0, "delta": message, "finish_reason": end}]}
        for message, end in zip(said, ends, strict=True)
    ]
    lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
    told = sieved("openai_chat", [lines[0], lines[1] + lines[2]], cuts=[1_000])
    deltas = [json.loads(line[6:]) for line in told.split(b"\n\n") if line]
    assert [delta["choices"][0]["delta"]["content"] for delta in deltas] == [
        [thought],
        [thought],
        "In herons.",
    ]

    replies = REPLIES["openai_chat"]()
    for message, end in ((said[0], "tool_calls"), (said[2], "stop")):
        body = {"choices": [{"index": 0, "message": message, "finish_reason": end}]}
        assert replies.add(json.dumps(body).encode(), last=False) == (end == "tool_calls")
    answer: Any = json.loads(replies.edits()["choices"])
    assert answer[0]["message"]["content"] == [thought, {"type": "text", "text": "In herons."}]
