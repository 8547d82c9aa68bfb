from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from autocompact.gateway.chain import Known, canonical, chain, seed, without_marks

START = seed("one", "openai_chat", system=b"")
HISTORIES = st.lists(st.sampled_from([b'{"a":1}', b'{"b":2}', b'{"c":3}']), min_size=1, max_size=6)


@dataclass(slots=True, kw_only=True, eq=False)
class Log:
    digests: list[bytes] = field(default_factory=list[bytes])


@given(HISTORIES, HISTORIES)
def test_equal_digests_mean_equal_histories(one: list[bytes], other: list[bytes]) -> None:
    digests = zip(chain(START, one), chain(START, other), strict=False)
    for length, (first, second) in enumerate(digests, 1):
        assert (first == second) == (one[:length] == other[:length])


def test_another_client_another_api_and_another_system_prompt_have_other_digests() -> None:
    seeds = {
        START,
        seed("two", "openai_chat", system=b""),
        seed("one", "anthropic", system=b""),
        seed("one", "anthropic", system=b'"Be kind."'),
    }
    assert len(seeds) == 4


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


@given(st.lists(HISTORIES, min_size=1, max_size=5), HISTORIES)
def test_the_longest_known_prefix_is_found(histories: list[list[bytes]], asked: list[bytes]) -> None:
    known: Known[Log] = Known(100)
    for history in histories:
        known.add(Log(digests=list(chain(START, history))))
    digests = list(chain(START, asked))
    lengths = [
        max((n for n in range(1, len(asked) + 1) if history[:n] == asked[:n]), default=0)
        for history in histories
    ]
    found = known.find(digests)
    assert (found[1] if found else 0) == max(lengths)
    if found is not None and any(history == asked[: found[1]] for history in histories):
        assert len(found[0].digests) == found[1]


def test_two_branches_are_both_recognised_and_what_is_used_least_is_forgotten() -> None:
    known: Known[Log] = Known(2)
    left, right = ([b"1", b"2", side] for side in (b"l", b"r"))
    one, two = Log(digests=list(chain(START, left))), Log(digests=list(chain(START, right)))
    known.add(one)
    known.add(two)
    assert known.find(list(chain(START, left))) == (one, 3)
    assert known.find(list(chain(START, right))) == (two, 3)
    assert known.find(list(chain(START, [*left, b"4"]))) == (one, 3)
    known.add(Log(digests=list(chain(START, [b"other"]))))
    assert len(known) == 2
    assert known.find(list(chain(START, left))) == (one, 3)
    assert known.find(list(chain(START, right))) == (one, 2) or known.find(list(chain(START, right))) is None
