"""The moving picture of the README shows what the program says today, and needs nothing from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tests.house.source import ROOT
from tools.documents.recording import COMMANDS, PICTURE, ROWS, Line, Run, dialogue, picture

_SVG = "{http://www.w3.org/2000/svg}"
_SECONDS = re.compile(r"\d+\.\d\d s\b")


def shown(svg: str) -> list[str]:
    """The words of each line, in order."""
    return [
        _SECONDS.sub("0 s", " ".join(part.text or "" for part in line.iter(f"{_SVG}tspan")))
        for line in ElementTree.fromstring(svg).iter(f"{_SVG}text")
    ]


def test_the_picture_shows_what_the_program_says() -> None:
    recorded = shown(PICTURE.read_text(encoding="utf-8"))
    assert recorded == shown(picture(dialogue())), "record it anew: make picture"
    assert [line for line in recorded if line.startswith("$ ")] == [f"$ {command}" for command in COMMANDS]


def test_the_picture_is_small_and_asks_for_nothing() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    assert PICTURE.is_relative_to(ROOT / "docs")
    assert len(svg) <= 100_000
    names = set(re.findall(r"https?://[\w./]+", svg))
    assert names == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|href|@import|url\(", svg)


def test_the_page_moves_up_for_a_line_below_its_edge_and_text_is_escaped() -> None:
    few = [Line(runs=(Run(column=0, text="a < b & c"),), at=1.0, typed=True)]
    many = [Line(runs=(Run(column=2, text=str(place)),), at=1.0 + place) for place in range(ROWS + 2)]
    assert shown(picture(few)) == ["a < b & c"]
    assert "translateY(0px)" in picture(few).replace("translateY(-0px)", "translateY(0px)")
    assert re.findall(r"% \{ transform: translateY\((-\d+)px\)", picture(many)) == ["-19", "-38"]
