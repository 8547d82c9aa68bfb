"""Where something stands beside a provider's compaction, to the byte."""

from __future__ import annotations

import json

import pytest
from inline_snapshot import snapshot

from autocompact.core.messages import Dialect
from autocompact.gateway.provider_blocks import find_block, place_beside, with_text
from autocompact.wire import parse_request

BLOCK = '{"type": "compaction", "content": "So far."}'
USED = f'{{"role":"assistant","content":[{BLOCK}, {{"type":"tool_use","id":"a","name":"n","input":{{}}}}]}}'
RESULT = '{"type":"tool_result","tool_use_id":"a","content":"R"}'
SAID = f'{{"role":"assistant","content":[{BLOCK},{{"type":"text","text":"T"}}]}}'


def added(*messages: str, dialect: Dialect = "anthropic") -> str | None:
    """What comes in the place of the messages; None where nothing is put beside the block."""
    name = "messages" if dialect == "anthropic" else "input"
    body = '{{"model":"m","{}":[{}], "x": 1}}'.format(name, " , ".join(messages))
    request = parse_request(body.encode(), dialect=dialect)
    block = find_block(request.raws, dialect)
    place = place_beside(request, block) if block is not None else None
    if place is None:
        return None
    given = with_text(request, "HERE", beside=place).decode()
    assert json.loads(given)["x"] == 1
    start, end = f'{{"model":"m","{name}":[', '], "x": 1}'
    assert given.startswith(start)
    assert given.endswith(end)
    return given[len(start) : -len(end)]


def user(content: str) -> str:
    return f'{{"role": "user", "content": {content}}}'


def test_it_stands_before_the_words_of_the_user() -> None:
    first = user('"Go \\u0041."')
    assert added(first, SAID, first) == (
        f"{first} , {SAID} , " + user('[{"type":"text","text":"HERE"},{"type":"text","text":"Go \\u0041."}]')
    )
    assert added(SAID, user('[ {"type":"text","text":"Go."} ]')) == (
        f"{SAID} , " + user('[ {"type":"text","text":"HERE"},{"type":"text","text":"Go."} ]')
    )


def test_it_stands_behind_the_results_of_tools() -> None:
    text = '{"type":"text","text":"Also."}'
    here = '{"type":"text","text":"HERE"}'
    assert added(USED, user(f"[{RESULT}, {text}]")) == f"{USED} , " + user(f"[{RESULT}, {here},{text}]")
    assert added(USED, user(f"[{RESULT} ]")) == f"{USED} , " + user(f"[{RESULT},{here} ]")


def test_of_messages_of_the_user_in_a_row_it_stands_behind_the_last_that_has_results_first() -> None:
    other = RESULT.replace('"a"', '"b"')
    here = '{"type":"text","text":"HERE"}'
    words = user('"Also."')
    behind = user(f"[{other},{here}]")
    assert added(USED, user(f"[{RESULT}]"), user(f"[{other}]"), words) == (
        f"{USED} , " + user(f"[{RESULT}]") + f" , {behind} , {words}"
    )
    assert added(USED, user(f"[{other}]")) == f"{USED} , {behind}"  # the same before the words came


def test_it_stays_where_it_was_as_the_conversation_goes_on() -> None:
    messages = (USED, user(f"[{RESULT}]"), '{"role":"assistant","content":"Done."}', user('"Next."'))
    long, short = added(*messages), added(*messages[:2])
    assert long is not None
    assert short is not None
    assert long.startswith(short)


def test_behind_a_block_in_a_message_of_the_user_it_stands_there() -> None:
    assert added(user(f"[{BLOCK}]"), user('"Go."')) == (
        user(f'[{BLOCK},{{"type":"text","text":"HERE"}}]') + " , " + user('"Go."')
    )


def test_while_the_user_said_nothing_since_there_is_no_place() -> None:
    assert added(user('"Go."'), SAID) is None


@pytest.mark.parametrize("content", ["null", '""'])
def test_a_compaction_that_failed_is_none(content: str) -> None:
    failed = SAID.replace('"So far."', content)
    assert added(user('"Go."'), failed, user('"On."')) is None


def test_the_last_block_counts() -> None:
    later = SAID.replace("So far", "Later")
    request = parse_request(f'{{"messages":[{SAID},{later}]}}'.encode(), dialect="anthropic")
    block = find_block(request.raws, "anthropic")
    assert block is not None
    assert (block.place, block.part, block.text) == snapshot((1, 0, "Later."))


def test_behind_a_sealed_item_stands_an_item() -> None:
    item = '{"type":"compaction","encrypted_content":"x"}'
    call = '{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}'
    here = '{"type":"message","role":"user","content":[{"type":"input_text","text":"HERE"}]}'
    assert added(item, call, dialect="openai_responses") == f"{item} , {here},{call}"
    assert added(call, item, dialect="openai_responses") == f"{call} , {item},{here}"
    assert added('{"type":"compaction_trigger"}', dialect="openai_responses") is None
