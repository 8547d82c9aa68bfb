"""The gallery of the documents is what the program draws."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from examples.make_sessions import sessions
from tests.cli.program import ROOT
from tools.documents.gallery import EXAMPLES, IMAGES, SESSIONS, outcomes, pictures


@pytest.mark.requirement("E10")
def test_the_pictures_of_the_gallery_are_those_of_the_program() -> None:
    made = pictures()
    assert made == {path.name: path.read_text("utf-8") for path in IMAGES.glob("what-if-*.svg")}
    for picture in made.values():
        ElementTree.fromstring(picture)
    page = (ROOT / "docs" / "guides" / "what-if-gallery.md").read_text("utf-8")
    assert set(re.findall(r"images/(what-if-[\w-]+\.svg)", page)) == set(made)


def test_the_two_sessions_that_a_script_writes_are_what_it_writes() -> None:
    for name, text in sessions().items():
        assert (SESSIONS / name).read_text("utf-8") == text


def test_what_the_gallery_says_is_so() -> None:
    invoices, leak, garden = (
        {outcome.policy.name: outcome for outcome in outcomes(example)} for example in EXAMPLES
    )
    assert (invoices["no compaction"].failed, invoices["no compaction"].requests) == (37, 74)
    assert invoices["masks only"].failed > 0
    assert (invoices["autocompact"].compactions, invoices["window 32k"].compactions) == (2, 8)
    assert invoices["autocompact"].peak < 45_000
    assert (invoices["window 200k"].failed, invoices["window 200k"].compactions) == (0, 0)
    assert invoices["autocompact"].rules.kept == invoices["autocompact"].rules.needed > 0
    fixed = invoices["window 32k"].points[0].layers.fixed
    assert fixed > 32_000 / 2
    assert (leak["no compaction"].failed, len(leak["no compaction"].points)) == (31, 46)
    assert (leak["masks only"].failed, leak["masks only"].compactions) == (0, 3)
    assert leak["masks only"].points[-1].layers.masked > 0
    assert (garden["no compaction"].failed, len(garden["no compaction"].points)) == (28, 61)
    assert (garden["masks only"].failed, garden["masks only"].compactions) == (28, 0)
    assert (garden["autocompact"].failed, garden["autocompact"].compactions) == (0, 3)
    assert garden["autocompact"].rules.kept == garden["autocompact"].rules.needed == 3
