"""Edits of a JSON document leave every other byte of it as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.agents.json_edits import add_element, remove

pytestmark = pytest.mark.requirement("F1")

PATH = ("hooks", "Stop")
ELEMENT = {"hooks": [{"command": 'ours, with "quotes" and ] and }'}]}

scalars = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
names = st.text().filter(lambda name: name != "hooks")
events = st.dictionaries(
    st.sampled_from(["Stop", "Start", "x"]), st.lists(values, min_size=1, max_size=3), max_size=3
)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A document of hooks, and its text in some layout."""
    document: dict[str, Any] = draw(st.dictionaries(names, values, max_size=3))
    if draw(st.booleans()):
        document["hooks"] = draw(events.filter(bool))
    text = json.dumps(document, indent=draw(layouts), ensure_ascii=draw(st.booleans()))
    return document, draw(st.sampled_from(["", "\n", "  \n"])) + text + draw(st.sampled_from(["", "\n"]))


@given(documents())
def test_what_is_added_is_there_and_everything_else_too(given: tuple[dict[str, Any], str]) -> None:
    document, text = given
    added = json.loads(add_element(text, PATH, element=ELEMENT))
    assert added["hooks"]["Stop"][-1] == ELEMENT
    added["hooks"]["Stop"].pop()
    assert added == {**document, "hooks": {"Stop": [], **document.get("hooks", {})}}


@given(documents())
def test_what_was_added_and_removed_leaves_the_very_same_text(given: tuple[dict[str, Any], str]) -> None:
    document, text = given
    added = add_element(text, PATH, element=ELEMENT)
    place = len(json.loads(added)["hooks"]["Stop"]) - 1
    removed = remove(added, (*PATH, place))
    assert json.loads(removed) == document
    assert removed == text or not document  # only the space inside of empty braces is lost


def test_an_element_among_others_is_removed_with_its_comma() -> None:
    text = '{"hooks": {"Stop": [1,\n  2 , 3]}, "x": 1}'
    assert [remove(text, (*PATH, place)) for place in range(3)] == [
        '{"hooks": {"Stop": [2 , 3]}, "x": 1}',
        '{"hooks": {"Stop": [1 , 3]}, "x": 1}',
        '{"hooks": {"Stop": [1,\n  2]}, "x": 1}',
    ]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// x\n{}"])
def test_something_else_than_a_document_of_hooks_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        add_element(text, PATH, element=ELEMENT)


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        remove('{"hooks": {}}', PATH)


def test_of_two_members_with_one_name_the_last_is_edited_as_every_reader_takes_it() -> None:
    text = '{"hooks": {"Stop": [1]}, "hooks": {"Stop": [2]}}'
    added = add_element(text, ("hooks", "Stop"), element=3)
    assert json.loads(added) == {"hooks": {"Stop": [2, 3]}}
    assert remove(added, ("hooks", "Stop", 1)) == text
