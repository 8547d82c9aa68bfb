"""Whatever a model writes, the HTML of it can do nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.chat.markdown import safe_html, safe_link

TAGS = set(
    "a blockquote br button code div em h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split()
)
ATTRIBUTES = set("class data-action data-seq href referrerpolicy rel start tabindex target type".split())
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/a)",
    "[x](/export/1)",
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "[m1]: javascript:alert(1)\n\n[m1]",
    '[x](https://a.example "\\" onclick=alert(1) x=\\"")',
    "<https://a.example/'onmouseover='alert(1)>",
    "<javascript:alert(1)>",
    '```"><script>alert(1)</script>\ncode\n```',
    "```js onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    "| a |\n|:-:|\n| <svg onload=alert(1)> |",
    "[a ![b](javascript:x) c](https://a.example)",
    "`<b>` &lt;script&gt; &#60;script&#62;",
    "<!-- --><iframe src=https://evil.example></iframe>",
)


class Tags(HTMLParser):
    """What is in a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("br", "hr"):
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def check(text: str) -> Tags:
    for bare in (False, True):
        tags = Tags(safe_html(text, references=99, bare=bare))
        assert tags.tags <= TAGS
        assert set(tags.attributes) <= ATTRIBUTES
        assert not tags.open
        for url in tags.attributes.get("href", ()):
            assert url.startswith(("http://", "https://", "mailto:", "#m")), url
    return tags


def test_headings_are_below_the_title_of_the_page() -> None:
    html = safe_html("# One\n\nTwo\n---\n\n##### Five\n\n###### Six")
    assert html == "<h2>One</h2><h3>Two</h3><h6>Five</h6><h6>Six</h6>"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_harmless_html(text: str) -> None:
    check(text)


@given(
    st.lists(st.sampled_from([*HOSTILE, "> ", "- ", "\n", "\n\n", "    ", "*", "`", "|", "[", "](", "m7"]))
)
def test_so_does_any_mixture_of_it(pieces: list[str]) -> None:
    check("".join(pieces))


@given(st.text())
def test_so_does_any_text(text: str) -> None:
    check(text)


def test_an_image_is_a_link_that_nobody_loads_by_itself() -> None:
    html = safe_html("![a cat](https://pictures.example/cat.png)")
    assert "<img" not in html
    assert 'href="https://pictures.example/cat.png"' in html
    assert "[image: a cat]" in html


def test_html_is_shown_as_it_was_written() -> None:
    assert Tags(safe_html("<b>bold</b> & <x-y>")).words.strip() == "<b>bold</b> & <x-y>"


def test_references_up_to_the_last_message_become_links() -> None:
    html = safe_html("see [m3] and [m12], not `[m3]`, not m3", references=11)
    assert Tags(html).attributes["data-seq"] == ["3"]
    assert "[m12]" in html


def test_in_a_summary_references_need_no_brackets_and_lines_stay() -> None:
    html = safe_html("- m1 [done m4]: ask\n  more words (m5)", references=9, bare=True)
    assert Tags(html).attributes["data-seq"] == ["1", "4", "5"]
    assert "<br>" in html


def test_code_is_coloured_by_whoever_can_and_else_escaped() -> None:
    assert "<code>1 &lt; 2\n</code>" in safe_html("```sql\n1 < 2\n```")
    coloured = safe_html("```sql\n1\n```", highlight=lambda code, language: f"<i>{language}:{code}</i>")
    assert "<code><i>sql:1\n</i></code>" in coloured


@pytest.mark.parametrize("url", ["http://[", "https:", "https:///x", "ftp://a.example", "", " https://a b"])
def test_a_link_without_a_place_is_none(url: str) -> None:
    assert not safe_link(url)


def test_a_references_brackets_are_part_of_the_link() -> None:
    words = Tags(safe_html("asked [m1], m2 and (m3); not [m4 nor m5]", references=9, bare=True)).words
    assert words.strip() == "asked m1, m2 and (m3); not [m4 nor m5]"
