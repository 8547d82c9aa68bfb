"""A list of messages as a client library holds it, and what is given back in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.core.messages import Dialect, Message, Text, Usage
from autocompact.errors import InvalidInput
from autocompact.wire import Renderer
from autocompact.wire.items import Items, reported_usage, system_text, tools_json

Item = dict[str, Any]
SAID: list[Item] = [
    {"role": "system", "content": "You are careful."},
    {"role": "user", "content": "One."},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "Three."},
]


class Model:
    def model_dump(self, *, mode: str, exclude_unset: bool) -> object:
        return {"role": "user", "content": f"{mode} {exclude_unset}"}


def shown(items: Items, context: list[Message], *, standing: int = 0) -> list[object]:
    return items.shown(
        context,
        standing=standing,
        place=lambda seq: seq - 1 if seq > 0 else None,
        renderer=Renderer(items.dialect),
    )


def made(text: str, role: Any = "user") -> Message:
    return Message(seq=0, role=role, parts=(Text(text=text),), synthetic=True)


def test_each_item_is_a_message_without_its_cache_marks() -> None:
    given = [
        {"role": "user", "content": "One.", "cache_control": {"type": "ephemeral"}},
        Model(),
        b'{"role": "assistant",  "content": "Two."}',
    ]
    items = Items(given, dialect="anthropic")
    assert len(items) == 3
    assert json.loads(items.raws[0]) == given[0]
    assert items.raws[2] is given[2]
    messages = items.messages(0)
    assert [message.text for message in messages] == ["One.", "json True", "Two."]
    assert messages[0].raw == b'{"role":"user","content":"One."}'
    assert [message.seq for message in items.messages(1)] == [2, 3]


def test_a_context_that_is_the_list_gives_the_list_back() -> None:
    items = Items(SAID, dialect="openai_chat")
    told = shown(items, list(items.messages(0)), standing=4)
    assert all(one is other for one, other in zip(told, SAID, strict=True))
    told[0] = None
    assert SAID[0] is not None, "it is another list"


@pytest.mark.parametrize("standing", [0, 1])
def test_what_was_made_stands_between_the_very_items(standing: int) -> None:
    items = Items(SAID, dialect="openai_chat")
    system, _, _, last = items.messages(0)
    told = shown(items, [system, made("The summary."), last], standing=standing)
    assert told[0] is SAID[0]
    assert told[1] == {"role": "user", "content": "The summary."}
    assert told[2] is SAID[3]


def test_json_gives_json_back() -> None:
    raws = [json.dumps(item).encode() for item in SAID]
    items = Items(raws, dialect="openai_chat")
    told = shown(items, [made("The summary."), *items.messages(2)], standing=2)
    assert told == [b'{"role":"user","content":"The summary."}', *raws[2:]]


def test_a_message_that_was_changed_is_written_anew_with_the_rest_of_its_bytes() -> None:
    items = Items([{"role": "user", "content": "long", "name": "me"}, *SAID[2:]], dialect="openai_chat")
    first, *rest = items.messages(0)
    told = shown(items, [first.with_parts((Text(text="short"),)), *rest], standing=2)
    assert told[0] == {"role": "user", "content": "short", "name": "me"}
    assert [told[1], told[2]] == SAID[2:]


@pytest.mark.parametrize(
    "dialect, role", [("openai_chat", "system"), ("anthropic", "user"), ("openai_responses", "user")]
)
def test_a_system_message_that_was_made_never_goes_beside_the_list(dialect: Dialect, role: str) -> None:
    items = Items(SAID[2:], dialect=dialect)
    told = shown(items, [made("The summary.", role="system"), *items.messages(0)], standing=2)
    assert isinstance(told[0], dict)
    assert told[0]["role"] == role
    assert told[-1] is SAID[3]


BAD: list[tuple[Any, str]] = [
    (3, "messages is of type int: give the whole list"),
    ("Hello", "messages is of type str"),
    (b"[]", "messages is of type bytes"),
    ([], "messages is empty"),
    ([SAID[0], None], r"messages\[1\] is of type NoneType: give e.g."),
    ([{"x": object()}], r"messages\[0\] cannot be written as JSON"),
    ([{"x": "\ud800", "y": object()}], r"messages\[0\] cannot be written as JSON"),
    ([b"{"], r"messages\[0\]: "),
    ([b"[]"], r"messages\[0\]: expected an object"),
]


@pytest.mark.parametrize("messages, sentence", BAD, ids=[sentence for _, sentence in BAD])
def test_what_is_no_list_of_items_is_refused(messages: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Items(messages, dialect="openai_chat")


def test_an_unknown_dialect_is_refused() -> None:
    dialect: Any = "soap"
    with pytest.raises(InvalidInput, match="dialect is 'soap': choose one of 'openai_chat'"):
        Items(SAID, dialect=dialect)


@pytest.mark.parametrize(
    "item", [{"role": "pope", "content": "x"}, {"role": 3, "content": "x"}, {"content": "x"}]
)
def test_a_role_that_the_api_does_not_have_is_refused_with_its_place(item: Item) -> None:
    items = Items([SAID[1], item], dialect="openai_chat")
    with pytest.raises(InvalidInput, match=r"messages\[1\].*role"):
        items.messages(1)


def test_tools_are_json() -> None:
    assert tools_json(None) is None
    assert tools_json(b"[3]") == b"[3]"
    assert tools_json([{"name": "read"}, {"name": "write"}]) == b'[{"name":"read"},{"name":"write"}]'
    wrong: list[Any] = ["read", 3]
    for tools in wrong:
        with pytest.raises(InvalidInput, match=f"tools is of type {type(tools).__name__}"):
            tools_json(tools)
    with pytest.raises(InvalidInput, match=r"tools\[0\] is of type int"):
        tools_json([3])


def test_a_system_prompt_is_a_text_or_blocks() -> None:
    assert system_text(None, dialect="anthropic") == ""
    assert system_text("Be kind.", dialect="anthropic") == "Be kind."
    blocks = [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}]
    assert "Be brief." in system_text(blocks, dialect="anthropic")
    for system in (3, b"Be kind."):
        with pytest.raises(InvalidInput, match=f"system is of type {type(system).__name__}"):
            system_text(system, dialect="anthropic")


def test_a_response_says_its_usage() -> None:
    assert reported_usage({"usage": {"prompt_tokens": 3, "completion_tokens": 2}}) == Usage(
        prompt=3, completion=2
    )
    assert reported_usage(b'{"content": []}') is None
    with pytest.raises(InvalidInput, match="the reply is of type str"):
        reported_usage("Fine.")
