"""Clauses as notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.ledger.notes import note


@pytest.mark.parametrize(
    ("language", "clause", "said"),
    [
        ("en", "I've actually been working as a freelance graphic designer", "working as freelance graphic designer"),
        ("en", "To be honest, I never really liked the steam wand", "never liked steam wand"),
        ("en", "we can't really afford the trip to Kyoto", "can't afford trip to Kyoto"),
        ("en", "and my sister, who might move to Oslo, is a nurse", "sister, who might move to Oslo, nurse"),
        ("de", "ich habe eigentlich eine Katze namens Miso", "Katze namens Miso"),
        ("fr", "je pense que ma sœur Ana habite à Lyon", "sœur Ana habite à Lyon"),
        ("es", "la verdad es que mi hermana Ana vive en Lima", "hermana Ana vive en Lima"),
        ("en", "Portland, actually, and the coast, really", "Portland, and coast"),
        ("en", "Don't forget about the Plan B in Salem", "Don't forget Plan B in Salem"),
        ("en", "the kiln might really break again", "kiln might break again"),
        ("en", "Tony was adopted in Salem and was vegan", "Tony adopted in Salem and was vegan"),
        ("en", "we met ten years before the game of chess", "met ten years before game chess"),
        ("en", "Everything at the harbour of Salem was about Tom, and the Board", "Everything at harbour Salem was Tom, and Board"),
        ("de", "eigentlich wollte ich nicht nach Rom fahren", "wollte nicht nach Rom fahren"),
        ("ko", "저는 사실 서울에 살아요", "저는 사실 서울에 살아요"),
        ("zh", "其实我住在上海", "我住在上海"),
        ("ja", "実は札幌に住んでいます。", "札幌に住んでいます。"),
        ("en", "Portland that, Salem", "Portland, Salem"),
        ("en", "Portland ... Salem", "Portland Salem"),
        ("zh", "我住在上海，养了一只猫", "我住在上海，养了一只猫"),
        ("en", "the sedimentation rate was 18 and the level is high", "sedimentation rate was 18 and level high"),
        ("en", "I failed to pass and am unable to walk", "failed to pass and unable to walk"),
        ("en", "I hardly ever drink, nobody came, except Tom", "hardly ever drink, nobody came, except Tom"),
        ("fr", "je mange rarement du poisson", "mange rarement poisson"),
        ("de", "ich esse kaum Fisch", "esse kaum Fisch"),
        ("es", "nadie vino a la fiesta", "nadie vino a fiesta"),
        ("en", "it came to 42 (normal range 35)", "came to 42 (normal range 35)"),
        ("en", "the IT department — my team — moved", "IT department — team — moved"),
    ],
)  # fmt: skip
def test_a_note_keeps_what_a_clause_states(language: str, clause: str, said: str) -> None:
    assert note(clause, language=language) == said


def test_a_clause_of_fillers_alone_gives_nothing() -> None:
    assert note("so a", language="en") == ""


@given(st.text(max_size=200), st.sampled_from(["en", "de", "fr", "es", "ja"]))
def test_a_note_is_no_longer_than_its_clause_and_never_fails(clause: str, language: str) -> None:
    assert len(note(clause, language=language)) <= len(clause)


@given(
    st.lists(
        st.sampled_from(
            [
                "not",
                "never",
                "can't",
                "no",
                "without",
                "Ana",
                "31",
                "might",
                "was",
                "nobody",
                "rarely",
                "unable",
                "quit",
                "except",
            ]
        ),
        max_size=8,
    )
)
def test_negations_names_numbers_and_modal_verbs_stay(words: list[str]) -> None:
    assert note(" ".join(words), language="en").split() == words
