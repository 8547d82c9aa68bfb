from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from autocompact.memory.documents.outline import Section, outline

# Every line that means something to Markdown, and look-alikes.
PIECES = (
    "||text|more text|- a|* b|+ c|1. x|2. y|3) z|  - nested|  more|   x|    code|     deep| - one|# H|## H2 ##|### |#no"
    "| # ind|```|~~~|```py|  ```|   ~~~| ```|````|<!-- c -->|<!-- open|-->|<div>|</div>|  <div>|> q|>- q|---|===|***"
    "|- - -|-|1.|- ```|- > q|- # h|-\tx|\ttab| \tx|* * x|---x|1. - x|10. ten|- |  > r|`code`|``` a`b|<https://x.y>"
    "|-      far|_ _ _|+|2.| 2. x|    - x|- a\x0c|\x0c|\u2028x|<!-->|    |#"
).split("|")
LINES = st.lists(st.sampled_from(PIECES), max_size=9).filter(lambda lines: lines[:1] != ["---"])


def flat(section: Section) -> Iterator[tuple[int, int, str]]:
    """Headings and items, each with its first line."""
    if section.level:
        yield section.start, section.level, section.title
    for item in section.items:
        yield item.start, 0, str(item.stop)
    for inner in section.sections:
        yield from flat(inner)


def parsed(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The same by markdown-it-py alone."""
    tokens = MarkdownIt("commonmark").disable("reference").parse("\n".join(lines))
    for index, token in enumerate(tokens):
        start, end = token.map or (0, 0)
        if token.type == "heading_open" and token.level == 0:
            yield start, int(token.tag[1:]), " ".join(tokens[index + 1].content.split())
        elif token.type == "list_item_open" and token.level == 1:
            while end > start and not lines[end - 1].strip():
                end -= 1
            yield start, 0, str(end)


@given(lines=LINES)
@example(lines=["- a", "", "    more", "", "# H", "~~~", "# no"])
@example(lines=["- a", "  <div>", "# H"])
@example(lines=[" - one", "  ```", "# H"])
@example(lines=["text", "2. y"])
@example(lines=["text", "3) z", "   ~~~", "# H"])
@example(lines=["```", "# H", "```", "- a"])
def test_headings_and_items_are_those_that_the_parser_finds(lines: list[str]):
    assert sorted(flat(outline(lines).root)) == sorted(parsed(lines))


def test_sections_lie_within_each_other_and_end_before_blank_lines():
    root = outline("# A\n\n## B ##\n\n- x\n  more\n\n- y\n\n## C\ntext\n\n# D".split("\n")).root
    first, last = root.sections
    inner = first.sections[0]
    assert (first.title, first.start, first.body, first.end) == ("A", 0, 1, 11)
    assert (inner.title, inner.end, [(item.start, item.stop) for item in inner.items]) == (
        "B",
        8,
        [(4, 6), (7, 8)],
    )
    assert (last.title, last.start, last.end) == ("D", 12, 13)


def test_a_heading_may_be_underlined_and_a_front_matter_is_none():
    root = outline(["---", "title: x", "---", "", "Title", "more", "===", "text"]).root
    assert [(section.title, section.start, section.body) for section in root.sections] == [
        ("Title more", 4, 7)
    ]
    assert [section.title for section in outline(["---", "title: x", "..."]).root.sections] == []
    assert outline(["---", "a", "", "# H"]).root.sections[0].title == "H"


@pytest.mark.parametrize("opened", ["```", "~~~~\n~~~", "<!-- a comment"])
def test_new_text_goes_before_a_block_that_nobody_closed(opened: str):
    assert outline(f"# H\ntext\n\n{opened}\n- no item".split("\n")).end == 3


@pytest.mark.parametrize(
    "closed", ["```\n- no item\n```", "<!-- a\n- no item\n-->", "<div>\n- no item", "text\n===", "- a"]
)
def test_else_it_goes_to_the_end(closed: str):
    lines = f"# H\n\n{closed}".split("\n")
    assert outline(lines).end == len(lines)
    assert outline([]).end == 0


def test_lines_with_a_tab_behind_blanks_are_what_the_parser_says() -> None:
    lines = ["# H", "text", "", " \tcode", "# I"]
    assert sorted(flat(outline(lines).root)) == sorted(parsed(lines))
