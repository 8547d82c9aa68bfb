from __future__ import annotations

import json

import pytest

from autocompact.wire.canonical import canonical, says_the_same, without_marks


def test_cache_marks_do_not_make_another_message() -> None:
    plain = b'{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"there"}]}'
    marked = plain.replace(b'"there"', b'"there","cache_control":{"type":"ephemeral"}')
    first = plain.replace(b'{"type":"text","text":"Hi"', b'{"cache_control": null, "type":"text","text":"Hi"')
    assert canonical(plain) == canonical(marked) == canonical(first)


def test_a_lone_text_is_the_same_as_a_string_and_as_a_block() -> None:
    block = b'{"role":"user","content":[{"type":"text","text":"Hi \\"you\\"","cache_control":{"type":"ephemeral"}}]}'
    assert canonical(block) == canonical(b'{"role":"user","content":"Hi \\"you\\""}')


def test_words_that_look_like_a_mark_stay() -> None:
    raw = b'{"role":"user","content":"x, \\"cache_control\\":{\\"type\\":1}"}'
    assert without_marks(raw) == raw


SAID = b'{"role":"user","content":"x","n":[1,{"a":1,"b":2}]}'


@pytest.mark.parametrize(
    "other, same",
    [
        (SAID, True),
        (json.dumps(dict(reversed(json.loads(SAID).items())), indent=1).encode(), True),
        (SAID.replace(b'"a":1,"b":2', b'"b":2,"a":1'), True),
        (SAID.replace(b'"x"', b'[{"type":"text","text":"x","cache_control":{"type":"e"}}]'), True),
        (SAID.replace(b"[1,", b"[true,"), False),
        (SAID.replace(b'[1,{"a":1,"b":2}]', b'[{"a":1,"b":2},1]'), False),
        (SAID.replace(b'"x"', b'"y"'), False),
        (SAID.replace(b'"x"', b'"\\ud83d"'), False),
    ],
)
def test_what_says_the_same_differs_in_order_marks_and_form_alone(other: bytes, same: bool) -> None:
    assert says_the_same(SAID, other) is same
