"""What a message may be, and what becomes of one that an older version stored."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Document, Image, Message, Opaque, Text, ToolCall, ToolResult, Usage
from autocompact.core.tokens import Estimator, message_cost
from autocompact.core.validity import check_message, check_usage, mended
from autocompact.errors import InvalidInput
from autocompact.wire import export_messages

FINE = Message(
    seq=1,
    role="user",
    parts=(
        Text(text="Hello."),
        ToolResult(call_id="c1", text="12", media=(Image(url="a.png", width=8), Document(name="a.pdf"))),
        Opaque(kind="audio", raw=b"{}"),
    ),
    usage=Usage(prompt=3),
)


def odd(**fields: Any) -> Message:
    return replace(FINE, **fields)


ODD = (
    (odd(role="robot"), "role is 'robot': choose one of 'system', 'user', 'assistant', 'tool'"),
    (odd(role=None), "role is None"),
    (odd(role=["user"]), "role is ['user']"),
    (
        odd(dialect="cohere"),
        "dialect is 'cohere': choose one of 'openai_chat', 'openai_responses', 'anthropic'",
    ),
    (odd(parts="Hello."), "parts is of type str, it must be tuple"),
    (odd(parts=("Hello.",)), "parts[0] is a str: give a part, e.g. Text(text=...)"),
    (odd(parts=(Text(text=cast("str", None)),)), "parts[0].text is of type NoneType, it must be str"),
    (odd(parts=(Text(text=cast("str", 5)),)), "parts[0].text is of type int, it must be str"),
    (
        odd(parts=(Text(text="", raw=cast("bytes", "{}")),)),
        "parts[0].raw is of type str, it must be bytes or NoneType",
    ),
    (
        odd(parts=(FINE.parts[0], ToolCall(id="a", name="b", arguments=cast("str", {})))),
        "parts[1].arguments is of type dict, it must be str",
    ),
    (
        odd(parts=(ToolResult(call_id="a", media=cast("Any", (Text(text="x"),))),)),
        "parts[0].media[0] is a Text: give an Image or a Document",
    ),
    (
        odd(parts=(ToolResult(call_id="a", media=(Image(width=cast("int", "8")),)),)),
        "parts[0].media[0].width is of type str, it must be int or NoneType",
    ),
    (
        odd(parts=(ToolResult(call_id="a", media=cast("Any", [])),)),
        "parts[0].media is of type list, it must be tuple",
    ),
    (
        odd(parts=(Opaque(kind="x", raw=cast("bytes", None)),)),
        "parts[0].raw is of type NoneType, it must be bytes",
    ),
    (odd(usage={"prompt": 3}), "usage is of type dict, it must be Usage or NoneType"),
    (odd(usage=Usage(prompt=cast("int", float("nan")))), "usage.prompt is of type float, it must be int"),
    (odd(usage=Usage(prompt=True)), "usage.prompt is of type bool, it must be int"),
    (odd(replaces="1"), "replaces is of type str, it must be int or NoneType"),
    (odd(synthetic=1), "synthetic is of type int, it must be bool"),
    (odd(id=None), "id is of type NoneType, it must be str"),
    (odd(raw="{}"), "raw is of type str, it must be bytes or NoneType"),
)


def test_what_a_message_is_passes_and_stays_the_same_object() -> None:
    check_message(FINE)
    assert mended(FINE) is FINE


@pytest.mark.parametrize("message, said", ODD, ids=[said[:40] for _, said in ODD])
def test_what_cannot_be_used_is_named_by_its_place(message: Message, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_message(message)
    assert str(refused.value).startswith(f"the message was not stored: {said}")


def test_usage_is_a_usage_of_whole_numbers() -> None:
    check_usage(Usage(prompt=3))
    with pytest.raises(InvalidInput, match=r"the usage is of type int: give a Usage, e\.g\. Usage\(prompt"):
        check_usage(5)
    with pytest.raises(InvalidInput, match="prompt"):
        check_usage(Usage(prompt=cast("int", "many")))


@pytest.mark.parametrize("given_in", [None, "Hello.", {"role": "user", "content": "Hello."}, Text(text="x")])
def test_what_is_no_message_is_told_where_it_belongs(given_in: object) -> None:
    with pytest.raises(
        InvalidInput, match=r"is no message and was not stored: give a Message; `say` takes plain"
    ):
        check_message(given_in)


@pytest.mark.parametrize("message, said", ODD, ids=[said[:40] for _, said in ODD])
def test_the_nearest_message_can_be_used(message: Message, said: str) -> None:
    del said
    near = mended(message)
    check_message(near)
    assert mended(near) is near


FIELDS = st.sampled_from(
    ("role", "parts", "raw", "dialect", "synthetic", "replaces", "id", "time", "model", "usage", "changed")
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from(
        ((), [], {}, (None,), ("x",), (Text(text=cast("str", 5)),), Usage(prompt=cast("int", "x")))
    ),
)


@given(changes=st.dictionaries(FIELDS, VALUES, max_size=5))
def test_whatever_was_stored_there_is_a_message_near_it_that_can_be_used(changes: dict[str, Any]) -> None:
    near = mended(odd(**changes))
    check_message(near)
    message_cost(near, Estimator())


def test_an_unknown_role_is_shown_as_a_note_and_is_nobodys_request() -> None:
    stored = mended(Message(seq=2, role=cast("Any", "robot"), parts=(Text(text="Do this."),)))
    assert (stored.role, stored.unknown_role, stored.text) == ("user", "robot", "Do this.")
    assert not stored.is_request
    log = Transcript([Message(seq=1, role="user", parts=(Text(text="Hello."),)), stored], counter=Estimator())
    context = view(log)
    assert export_messages(context.messages, dialect="openai_chat").messages[1] == (
        b'{"role":"user","content":"[This message was stored with the role \'robot\', which no API knows.]\\n\\nDo this."}'
    )
    assert context.cost.tokens > log.cost(1).tokens + log.cost(2).tokens
    assert log[2].text == "Do this."
