"""The gallery of the documents is what the program draws."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.cli.program import ROOT
from tools.documents.gallery import IMAGES, outcomes, pictures


@pytest.mark.requirement("E10")
def test_the_pictures_of_the_gallery_are_those_of_the_program() -> None:
    made = pictures()
    assert made == {path.name: path.read_text("utf-8") for path in IMAGES.glob("what-if-*.svg")}
    for picture in made.values():
        ElementTree.fromstring(picture)
    page = (ROOT / "docs" / "guides" / "what-if-gallery.md").read_text("utf-8")
    assert set(re.findall(r"images/(what-if-[\w-]+\.svg)", page)) == set(made)


def test_what_the_gallery_says_is_so() -> None:
    by_name = {outcome.policy.name: outcome for outcome in outcomes()}
    assert (by_name["no compaction"].failed, by_name["no compaction"].requests) == (37, 74)
    assert by_name["masks only"].failed > 0
    assert (by_name["autocompact"].compactions, by_name["window 32k"].compactions) == (2, 8)
    assert by_name["autocompact"].peak < 45_000
    assert (by_name["window 200k"].failed, by_name["window 200k"].compactions) == (0, 0)
    assert by_name["autocompact"].rules.kept == by_name["autocompact"].rules.needed > 0
    fixed = by_name["window 32k"].points[0].layers.fixed
    assert fixed > 32_000 / 2
