from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from autocompact.gateway.chain import Known, chain, seed
from autocompact.wire.canonical import without_marks

START = seed("one", "openai_chat", system=b"")
HISTORIES = st.lists(st.sampled_from([b'{"a":1}', b'{"b":2}', b'{"c":3}']), min_size=1, max_size=6)


@dataclass(slots=True, kw_only=True, eq=False)
class Log:
    digests: list[bytes] = field(default_factory=list[bytes])
    raws: list[bytes] = field(default_factory=list[bytes])

    def forget_bytes(self) -> None:
        self.raws.clear()


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


@given(st.lists(HISTORIES, min_size=1, max_size=5), HISTORIES)
def test_the_longest_known_prefix_is_found(histories: list[list[bytes]], asked: list[bytes]) -> None:
    known: Known[Log] = Known(100)
    for history in histories:
        known.add(Log(digests=list(chain(START, history))))
    digests = list(chain(START, asked))
    shared = [
        max((n for n in range(1, len(asked) + 1) if history[:n] == asked[:n]), default=0)
        for history in histories
    ]
    lengths = [0 if n == 1 < len(history) else n for n, history in zip(shared, histories, strict=True)]
    found = known.find(digests)
    assert (found[1] if found else 0) == max(lengths)
    if found is not None and asked[: found[1]] in histories:
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


MARKED = b'{"role":"user","content":"a","cache_control":{"type":"ephemeral"}}'
FORMS = st.sampled_from(
    [
        b'{"role":"user","content":"a"}',
        b'{"role":"user","content":[{"type":"text","text":"a"}]}',
        MARKED,
        b'{"role":"assistant","content":"b"}',
    ]
)


@given(st.lists(st.lists(FORMS, min_size=1, max_size=8), max_size=4), st.lists(FORMS, max_size=8))
def test_what_is_remembered_gives_the_very_digests_that_hashing_gives(
    histories: list[list[bytes]], asked: list[bytes]
) -> None:
    known: Known[Log] = Known(3, raw_bytes=400)
    for history in histories:
        digests, _ = known.digests(START, history)
        assert digests == list(chain(START, history))
        found = known.find(digests)
        if found is None or found[1] < len(found[0].digests):
            known.add(log := Log(digests=digests))
        else:
            log = found[0]
            known.extend(log, digests[found[1] :])
        known.remember(log, history)
    digests, remembered = known.digests(START, asked)
    assert digests == list(chain(START, asked))
    assert remembered == 0 or any(asked[:remembered] == history[:remembered] for history in histories)


def test_a_message_in_another_form_does_not_make_the_others_be_hashed_again() -> None:
    known: Known[Log] = Known(1)
    asked = [b"1", b"2", MARKED, b"4", b"5"]
    log = Log(digests=list(chain(START, asked)))
    known.add(log)
    known.remember(log, asked)
    moved = [b"1", b"2", without_marks(MARKED), b"4", b"5"]
    assert known.digests(START, moved) == (log.digests, 0)
    known.remember(log, moved)
    assert log.raws == moved
    assert all(new is old for new, old in zip(log.raws[:2], asked, strict=False))


def test_bytes_are_remembered_of_those_used_last_and_always_of_the_one_in_use() -> None:
    known: Known[Log] = Known(10, raw_bytes=250)
    logs: list[Log] = []
    for number in range(3):
        raws = [bytes([number]) * 100, b"same"]
        log = Log(digests=list(chain(START, raws)))
        known.add(log)
        known.remember(log, raws)
        logs.append(log)
    assert [bool(log.raws) for log in logs] == [False, True, True]
    known.remember(logs[2], [b"x" * 1000, b"same"])
    assert [bool(log.raws) for log in logs] == [False, False, True]
    known.drop(logs[2])
    known.drop(logs[2])
    assert (len(known), logs[2].raws) == (2, [])
    assert known.find(logs[2].digests) is None
    assert known.find(logs[0].digests) == (logs[0], 2)
