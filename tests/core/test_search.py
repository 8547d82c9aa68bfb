"""Search: what an index keeps of a message, and how passages become messages in order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.search import (
    FINALISTS,
    MOST_TERMS,
    MOST_WORDS,
    PASSAGE,
    SHORTLIST,
    Kind,
    Passage,
    Posting,
    Query,
    Ranked,
    contenders,
    narrowed,
    parse_query,
    part_text,
    passages,
    rank,
    rarity,
    search,
    shortlist,
    spans,
)


def _message(*parts: Part, seq: int = 1, synthetic: bool = False) -> Message:
    return Message(seq=seq, role="user", parts=parts, synthetic=synthetic)


def _passage(seq: int, *, length: int = 20, kind: Kind = "words", start: int = 0) -> Passage:
    return Passage(seq=seq, part=0, start=start, end=start + 100, kind=kind, length=length)


def _log_of(number: int) -> int:
    return number // 1_000


def _ranked(query: str, texts: Mapping[int, str], *, kinds: Mapping[int, Kind] | None = None) -> list[Ranked]:
    """Texts by the number of their passage; ``number % 1000`` is the message."""
    asked = parse_query(query)
    held = {
        number: [t for _, found in passages(text_message(1, "user", text)) for t in found]
        for number, text in texts.items()
    }
    postings: list[Posting] = []
    for term in asked.terms:
        places = {
            number: [at for at, other in enumerate(found) if other == term]
            for number, found in held.items()
            if term in found
        }
        postings.append(Posting(places=places, found=len(places)))
    known = {
        number: _passage(number % 1_000, kind=(kinds or {}).get(number, "words"), length=len(found))
        for number, found in held.items()
    }
    return search(
        asked,
        postings,
        total=len(texts),
        look_up=lambda numbers: {number: known[number] for number in numbers},
        log_of=_log_of,
    )


def _order(query: str, texts: Mapping[int, str]) -> list[int]:
    return [one.log * 1_000 + one.seq for one in _ranked(query, texts)]


# What an index keeps


def test_every_kind_of_part_is_searched_by_its_words() -> None:
    message = _message(
        Text(text="please look"),
        Reasoning(text="hmm, tricky"),
        ToolCall(
            id="1",
            name="Read",
            arguments='{"path": "src/tax.py", "limit": 120, "deep": {"all": [true, null, "x"]}}',
        ),
        ToolResult(call_id="1", text="rate = 7"),
        Document(name="law.pdf", text="paragraph"),
        Image(data="AAAA"),
        Opaque(kind="odd", raw=b"{}"),
    )
    found = list(passages(message))
    assert [passage.kind for passage, _ in found] == ["request", "reasoning", "call", "output", "document"]
    assert [passage.part for passage, _ in found] == [0, 1, 2, 3, 4]
    assert found[2][1] == ["read", "src", "tax", "py", "120", "x"]
    assert found[4][1] == ["law", "pdf", "paragraph"]


def test_what_the_program_says_is_not_taken_for_a_request() -> None:
    (passage, _), *_ = passages(_message(Text(text="a hook ran"), synthetic=True))
    assert passage.kind == "words"


def test_a_system_prompt_and_a_message_without_words_give_nothing() -> None:
    assert list(passages(text_message(1, "system", "You are helpful"))) == []
    assert list(passages(text_message(1, "user", "is it, or not?"))) == []


@pytest.mark.parametrize("arguments", ["free text", "{broken", "{}", "", '{"a":' * 100_000])
def test_a_call_without_values_is_searched_by_its_arguments_as_they_are(arguments: str) -> None:
    assert part_text(ToolCall(id="1", name="run", arguments=arguments)) == f"run\n{arguments}"


def test_the_values_of_arguments_keep_their_order() -> None:
    arguments = json.dumps({"a": "1st", "b": ["2nd", {"c": "3rd"}], "d": 4.5})
    assert part_text(ToolCall(id="1", name="t", arguments=arguments)) == "t\n1st\n2nd\n3rd\n4.5"


@given(st.text(alphabet="ab \n漢", max_size=3 * PASSAGE) | st.integers(0, 3 * PASSAGE).map("x".__mul__))
def test_passages_cover_a_text_and_are_bounded(text: str) -> None:
    pieces = [text[start:end] for start, end in spans(text)]
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= PASSAGE for piece in pieces)


def test_a_text_is_cut_at_the_end_of_a_line_else_at_a_space_else_anywhere() -> None:
    line = "w" * 99 + "\n"
    assert [end for _, end in spans(line * 30)] == [PASSAGE - PASSAGE % 100, 3_000]
    word = "w" * 98 + " "
    assert next(spans(word * 30)) == (0, PASSAGE - PASSAGE % 99)
    assert next(spans("w" * 3_000)) == (0, PASSAGE)


# The question


def test_a_question_gives_its_distinct_terms_and_its_names() -> None:
    query = parse_query("Where does loadState in src/tax.py load the state?")
    assert query.terms == ("load", "stat", "loadstate", "src", "tax", "py")
    assert query.names == ((0, 1, 2), (3, 4, 5))


def _words(count: int) -> list[str]:
    letters = "bcdfghjkmnpqrtvwxz"
    return [f"z{a}{b}{c}" for a in letters for b in letters for c in letters][:count]


def test_of_a_long_question_the_rarest_terms_are_looked_up_wherever_they_stand() -> None:
    common = _words(MOST_TERMS)
    query = parse_query(" ".join(common) + " tax.python")
    counts = [9] * MOST_TERMS + [1] * (len(query.terms) - MOST_TERMS)
    asked, kept = narrowed(query, counts)
    assert len(asked.terms) == MOST_TERMS == len(kept)
    assert asked.terms[-2:] == ("tax", "python")
    assert asked.names == ((MOST_TERMS - 2, MOST_TERMS - 1),)
    assert narrowed(query, counts[::-1])[0].names == ()


def test_a_short_question_is_looked_up_whole() -> None:
    query = parse_query("load the state")
    assert narrowed(query, [3, 0]) == (query, [3, 0])


def test_of_a_pasted_text_the_longest_terms_are_looked_at() -> None:
    query = parse_query(" ".join(_words(2 * MOST_WORDS)) + " characteristic")
    assert len(query.terms) == MOST_WORDS
    assert query.terms[-1] == "characteristic"


def test_a_question_of_function_words_alone_asks_for_nothing() -> None:
    assert parse_query("what is it?") == Query(terms=())
    assert _order("what is it?", {1: "what it is"}) == []


# The order


def test_a_rare_term_says_more_than_a_common_one() -> None:
    assert rarity(1, 100) > rarity(50, 100) > rarity(100, 100) > 0


def test_the_passage_with_more_of_the_terms_is_first() -> None:
    texts = {1: "the parser reads tokens", 5: "the parser fails on unicode", 9: "nothing here"}
    assert _order("why does the parser fail on unicode", texts) == [5, 1]


def test_among_equals_the_newest_is_first() -> None:
    assert _order("deploy", {1: "deploy now", 5: "deploy now", 9: "deploy now"}) == [9, 5, 1]


def test_terms_that_stand_together_beat_terms_far_apart() -> None:
    far = "timeout " + "filler words between them " * 6 + " proxy"
    near = "proxy timeout " + "filler words between them " * 6
    assert _order("proxy timeout", {1: near, 9: far}) == [1, 9]


def test_a_name_that_stands_there_whole_beats_its_pieces() -> None:
    texts = {1: "see auth/login.py for it", 9: "py runs, then auth, and login"}
    assert _order("auth/login.py", texts) == [1, 9]


def test_a_piece_of_a_name_is_not_the_name() -> None:
    texts = {1: "see auth/login.py for it", 9: "the login, once more the login"}
    assert _order("auth/login.py", texts) == [1, 9]


def test_a_repeated_term_counts_more_but_not_without_end() -> None:
    once, often, very = (_score_of("retry " * times + "pad " * (60 - times)) for times in (1, 3, 30))
    assert once < often < very < 3 * once


def _score_of(text: str) -> float:
    return _ranked("retry", {1: text, 2_005: "other"})[0].score


def test_a_short_passage_beats_a_long_one() -> None:
    assert _order("quota", {9: "quota " + "pad " * 150, 1: "quota exceeded"}) == [1, 9]


def test_what_a_neighbour_says_counts_in_part() -> None:
    texts = {1: "cache", 5: "cache", 6: "cache"}
    assert _order("cache", texts) == [6, 5, 1]
    scores = {one.seq: one.score for one in _ranked("cache", texts)}
    assert scores[5] == scores[6] == pytest.approx(1.25 * scores[1])


def test_neighbours_are_of_the_same_conversation() -> None:
    scores = {(one.log, one.seq): one.score for one in _ranked("cache", {1_005: "cache", 2_006: "cache"})}
    assert scores[1, 5] == scores[2, 6]


def test_thinking_counts_less_than_words() -> None:
    kinds: dict[int, Kind] = {9: "reasoning"}
    found = _ranked("migrate", {1: "migrate", 9: "migrate"}, kinds=kinds)
    assert [one.seq for one in found] == [1, 9]


def test_a_message_counts_with_its_best_passage() -> None:
    query = parse_query("lock file")
    weak, strong, alone = (_passage(1, start=0), _passage(1, start=100), _passage(5))
    postings = [
        Posting(places={1: [0], 2: [0], 3: [0]}, found=3),
        Posting(places={2: [1], 3: [1]}, found=2),
    ]
    found = rank(query, postings, passages={1: weak, 2: strong, 3: alone}, total=100, log_of=_log_of)
    assert [(one.seq, one.passages) for one in found] == [(5, (alone,)), (1, (strong, weak))]
    assert found[0].score == found[1].score
    assert found[0].weights == {"lock": rarity(3, 100), "file": rarity(2, 100)}


def _many(count: int) -> tuple[list[Posting], dict[int, Passage]]:
    known = {number: _passage(2 * number) for number in range(1, count + 1)}
    return [Posting(places={number: [0] for number in known}, found=count)], known


def test_only_the_shortlist_is_looked_up() -> None:
    postings, known = _many(3 * SHORTLIST)
    asked: list[int] = []

    def look_up(numbers: Sequence[int]) -> Mapping[int, Passage]:
        asked.extend(numbers)
        return {number: known[number] for number in numbers}

    found = search(Query(terms=("x",)), postings, total=1_000, look_up=look_up, log_of=_log_of)
    assert len(found) == SHORTLIST == len(asked)
    assert found[0].seq == 6 * SHORTLIST


def test_where_not_all_may_be_found_the_rest_is_looked_through() -> None:
    postings, known = _many(3 * SHORTLIST)

    def found(admitted: Iterable[int]) -> list[int]:
        chosen = set(admitted)
        ranked = search(
            Query(terms=("x",)),
            postings,
            total=1_000,
            look_up=lambda numbers: {number: known[number] for number in numbers},
            log_of=_log_of,
            admit=lambda log, seq: log == 0 and seq in chosen,
        )
        return [one.seq for one in ranked]

    assert found([2, 4]) == [4, 2]
    assert len(found(range(10_000))) == SHORTLIST
    assert found([]) == []


def test_beyond_the_finalists_names_are_not_looked_at() -> None:
    count = FINALISTS + 5
    known = {number: _passage(2 * number) for number in range(1, count + 1)}
    apart = {number: [0] for number in known}
    together = {number: [1] for number in known}
    postings = [Posting(places=apart, found=count), Posting(places=together, found=count)]
    query = Query(terms=("a", "b"), names=((0, 1),))
    found = rank(query, postings, passages=known, total=100, log_of=_log_of)
    assert len({one.score for one in found[:FINALISTS]}) == 1
    assert found[FINALISTS].score < found[0].score


@given(
    st.dictionaries(
        st.integers(1, 40),
        st.lists(st.sampled_from("red blue green lake loadState".split()), min_size=1, max_size=9),
    ),
    st.lists(st.sampled_from("red blue green lake loadState other".split()), max_size=4),
)
def test_exactly_the_messages_with_a_term_are_found_in_the_order_of_their_scores(
    texts: dict[int, list[str]], asked: list[str]
) -> None:
    found = _ranked(" ".join(asked), {number: " ".join(words) for number, words in texts.items()})
    assert {one.seq for one in found} == {
        number for number, words in texts.items() if set(words) & set(asked)
    }
    scores = [round(one.score, 6) for one in found]
    assert scores == sorted(scores, reverse=True)
    for before, after in pairwise(found):
        assert round(before.score, 6) > round(after.score, 6) or before.seq > after.seq


@given(
    st.lists(st.dictionaries(st.integers(1, 12), st.integers(1, 9), max_size=12), max_size=4),
    st.integers(1, 4),
)
def test_contenders_are_all_that_the_shortlist_may_choose(often: list[dict[int, int]], limit: int) -> None:
    known = [Posting(places={n: range(k) for n, k in one.items()}, found=len(one)) for one in often]
    held = [Posting(places=dict.fromkeys(one, (0,)), found=len(one)) for one in often]
    chosen = contenders(held, total=12, limit=limit)
    assert set(shortlist(known, total=12, limit=limit)) <= set(chosen)


def test_a_passage_with_too_few_terms_is_no_contender() -> None:
    rare, usual = dict.fromkeys(range(1, 3), (0,)), dict.fromkeys(range(1, 9), (0,))
    postings = [Posting(places=rare, found=2), Posting(places=usual, found=8)]
    assert contenders(postings, total=10, limit=2) == [2, 1]
    assert contenders(postings, total=10, limit=8) == [2, 1, 8, 7, 6, 5, 4, 3]


def test_the_shortlist_is_best_first_and_cut() -> None:
    postings = [Posting(places={1: [0], 2: [0]}, found=2), Posting(places={3: [1]}, found=1)]
    assert shortlist(postings, total=50) == [3, 2, 1]
    assert shortlist(postings, total=50, limit=1) == [3]
