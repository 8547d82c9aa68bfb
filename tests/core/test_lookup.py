"""Texts that name references are worded for what the model can do with one."""

from __future__ import annotations

import pytest

from autocompact.core.lookup import OPENS, OPENS_ALL, WITH_TOOLS, Lookup

STUB = "[output left out: cat a; " + OPENS.format(4)
SUMMARY = (
    f"Said: begin\n[… 9 characters left out: {OPENS_ALL.format(2)}\nend; the log quotes {OPENS.format(7)}"
)


def test_a_record_has_the_words_for_a_model_with_the_tools() -> None:
    assert WITH_TOOLS.stub(STUB, seq=4) is STUB
    assert WITH_TOOLS.summary(SUMMARY) is SUMMARY
    assert "memory_search finds them, memory_expand opens" in WITH_TOOLS.note


def test_without_the_tools_their_names_are_nowhere() -> None:
    without = Lookup(tools=False)
    assert without.stub(STUB, seq=4) == "[output left out: cat a; archived as m4]"
    assert without.stub("x\n[" + OPENS_ALL.format(4), seq=4) == "x\n[all of it is archived as m4]"
    assert "[… 9 characters left out: all of it is archived as m2]\nend" in without.summary(SUMMARY)
    assert "memory_" not in without.note


def test_what_names_another_message_is_no_word_of_ours() -> None:
    without = Lookup(tools=False)
    assert without.stub(STUB, seq=5) is STUB
    assert without.summary(SUMMARY).endswith(OPENS.format(7))


@pytest.mark.parametrize(
    "command, said", [("show m123", "run commands, `show m123` shows it"), ("", "You cannot open it")]
)
def test_the_note_says_where_the_record_is(command: str, said: str) -> None:
    assert said in Lookup(tools=False, command=command).note
