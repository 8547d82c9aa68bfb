"""Whatever a model writes, the HTML of it can do nothing."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.chat.markdown import MOST, safe_html, safe_link

TAGS = set(
    "a blockquote br button code div em h2 h3 h4 h5 h6 hr input li ol p pre s span strong sup table tbody td th thead tr "
    "ul".split()
)
ATTRIBUTES = set(
    "aria-label checked class data-action data-seq dir disabled href referrerpolicy rel start tabindex target type "
    "value".split()
)
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
    r"$\href{javascript:alert(1)}{x}$",
    r"$$\style{background:url(https://evil.example)}{\text{<script>alert(1)</script>}}$$",
    r"\(\class{x}{\id{m1}{y}}\) and \[\color{red} &lt;img src=x&gt; \]",
    "a[^1]\n\n[^1]: <img src=x onerror=alert(1)>",
    "- [x] <input onfocus=alert(1)>",
    'https://a.example/"onmouseover=alert(1) javascript:alert(1)',
)
FORMULA = re.compile('<code class="math">(.*?)</code>', re.DOTALL)


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
        if tag not in ("br", "hr", "input"):
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
    assert (
        html
        == '<h2 dir="auto">One</h2><h3 dir="auto">Two</h3><h6 dir="auto">Five</h6><h6 dir="auto">Six</h6>'
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_harmless_html(text: str) -> None:
    check(text)


MARKS = (
    "> ",
    "- ",
    "\n",
    "\n\n",
    "    ",
    "*",
    "`",
    "|",
    "[",
    "](",
    "m7",
    "$",
    "$$",
    r"\(",
    r"\)",
    "{",
    "}",
    "^",
    "[^1]",
)


@given(st.lists(st.sampled_from([*HOSTILE, *MARKS])))
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


def test_tasks_have_boxes_that_nobody_can_tick() -> None:
    html = safe_html("- [x] seal\n- [ ] valve\n- pump")
    assert html.count('<input type="checkbox" disabled') == 2
    assert html.count(" checked") == 1
    assert html.count('class="task"') == 2
    assert Tags(html).words.split() == ["seal", "valve", "pump"]


def test_footnotes_stand_below_by_their_number() -> None:
    html = safe_html("worn[^a] and leaking[^b]\n\n[^b]: since May\n[^a]: the seal")
    assert html.index('worn<sup class="footnote">1</sup>') < html.index(
        'leaking<sup class="footnote">2</sup>'
    )
    assert Tags(html[html.index("<ol") :]).words == "the sealsince May"


def test_an_address_is_a_link_and_the_name_of_a_file_is_none() -> None:
    html = safe_html("see https://pumps.example/a_b. Then main.py, README.md and pumps.example")
    assert Tags(html).attributes["href"] == ["https://pumps.example/a_b"]


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("$a^2$", ""),
        (r"\(a^2\)", ""),
        ("$$\na^2\n$$", ""),
        (r"\[ a^2 \]", ""),
        ("$$a^2$$", ""),
        ("So:\n$$\na^2\n$$\nholds", "So: holds"),
        ("So:\n\\[\na^2\n\\]\nholds", "So: holds"),
        (r"so \[a^2\] holds", "so  holds"),
        ("so $$ a^2 $$ holds", "so  holds"),
        ("1. So:\n   \\[ a^2 \\]\n2. next", "So: next"),
        (r"\[ a^2 \] (1)", " (1)"),
        (r"\[ a^2 \] for all a", " for all a"),
        ("> $$\n> a^2\n> $$\n> holds", "holds"),
        ("so[^1]\n\n[^1]: \\[a^2\\]", "so1"),
    ],
)
def test_a_formula_is_given_to_be_drawn_and_what_is_around_it_stays(text: str, around: str) -> None:
    html = safe_html(text)
    assert FORMULA.findall(html) == ["a^2"]
    assert Tags(html).words.replace("a^2", "").split() == around.split()


@pytest.mark.parametrize(
    ("text", "formula", "around"),
    [
        (
            "\\begin{align}\na &= b \\\\\n- c\n\\end{align}",
            "\\begin{align}\na &= b \\\\\n- c\n\\end{align}",
            "",
        ),
        ("So:\n\\begin{equation*}\na\n\n= b\n\\end{equation*}\nholds", None, "So: holds"),
        ("- So:\n  \\begin{gather}a\\end{gather}\n- next", None, "So: next"),
        (r"so \begin{CD}A @>>> B\end{CD} holds", None, "so holds"),
        (r"\begin{cases} a & \begin{cases} b \end{cases} \\ c \end{cases}", None, ""),
        (r"\begin{alignat}{2}a\end{alignat} (1)", None, "(1)"),
    ],
)
def test_an_environment_of_latex_is_a_formula_with_its_own_words(
    text: str, formula: str | None, around: str
) -> None:
    html = safe_html(text)
    (drawn,) = re.findall('<code class="math">(.*?)</code>', html, re.DOTALL)
    assert 'class="formula environment"' in html
    assert unescape(drawn) in text
    assert formula is None or unescape(drawn) == formula
    assert Tags(html).words.replace(unescape(drawn), "").split() == around.split()
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        r"\begin{itemize}a\end{itemize}",
        r"\begin{align}a\end{gather}",
        r"\begin{align} \end{align}",
        r"`\begin{align}a\end{align}`",
        "```latex\n\\begin{align}\na\n\\end{align}\n```",
        r"\beginning and \begin{align}",
    ],
)
def test_what_only_looks_like_an_environment_is_none(text: str) -> None:
    assert "formula" not in safe_html(text)


def test_environments_that_never_end_hold_up_nothing() -> None:
    text = (r"\begin{align}" * 2 + r"a\end{align}") * 200
    assert len(FORMULA.findall(safe_html(text))) == 200


def test_the_lines_of_a_formula_are_no_list() -> None:
    html = safe_html("So:\n\\[\na\n- b\n+ c\n\\]")
    assert FORMULA.findall(html) == ["a\n- b\n+ c"]
    assert "<li" not in html


@pytest.mark.parametrize("text", [r"\[ a", "$$\na\n\nb", r"\[\]", "$$$$", "- $$\n\na$$"])
def test_an_opening_mark_alone_is_no_formula(text: str) -> None:
    assert not FORMULA.findall(safe_html(text))


@pytest.mark.parametrize(
    ("text", "so_far"),
    [
        ("So:\n\\[\na_1\n- b", ["a_1\n- b"]),
        ("$$\n\\frac{a}", [r"\frac{a}"]),
        ("1. So:\n   $$\n   a < b", ["a &lt; b"]),
        ("$$", [""]),
        ("- \\[\n  a\n\nb", ["a"]),
        ("So:\n\\begin{align}\na\n- b", ["\\begin{align}\na\n- b"]),
    ],
)
def test_a_formula_that_still_comes_is_shown_as_it_is_written(text: str, so_far: list[str]) -> None:
    html = safe_html(text, growing=True)
    assert re.findall('<div class="formula" tabindex="0"><code>(.*?)</code></div>', html, re.DOTALL) == so_far
    assert not FORMULA.findall(html)
    check(text)


@pytest.mark.parametrize("text", ["costs $$ a\nb", "`$$", "```\n$$\na", "    \\[ a"])
def test_what_only_looks_like_its_beginning_is_none_while_the_text_grows(text: str) -> None:
    assert "formula" not in safe_html(text, growing=True)


def test_a_closed_formula_is_the_same_while_the_text_grows() -> None:
    text = "so \\(a\\)\n\n\\[\nb\n\\]\n\nand"
    assert safe_html(text, growing=True) == safe_html(text)


@pytest.mark.parametrize(
    "text", ["costs $5 and $6", "`$a$`", "```\n$a$\n```", "in $HOME and $PATH", r"C:\new \d+ \w"]
)
def test_money_variables_and_code_are_no_formulas_and_keep_their_signs(text: str) -> None:
    html = safe_html(text)
    assert not FORMULA.findall(html)
    assert Tags(html).words.replace("Copy", "").strip() == text.replace("`", "").strip()


def test_a_formula_that_is_too_long_to_be_drawn_is_shown_as_it_was_written() -> None:
    latex = "x" * (MOST + 1)
    html = safe_html(f"$$\n{latex}\n$$")
    assert not FORMULA.findall(html)
    assert Tags(html).words.strip() == latex


def test_in_a_summary_nothing_is_a_formula() -> None:
    assert not FORMULA.findall(safe_html(r"sed 's/\(a\)/$b$/'", bare=True))


def test_each_block_finds_its_own_direction_and_what_is_in_a_list_or_a_quote_that_of_it() -> None:
    html = safe_html(
        "> \u05e9\u05dc\u05d5\u05dd\n\n1. a\n\n   b\n   - c\n\n| a |\n|--:|\n| b |\n\nd[^1]\n\n[^1]: e"
    )
    directed = re.findall(r'<(\w+)[^>]* dir="auto"', html)
    assert directed == ["blockquote", "ol", "th", "td", "p", "li"]


@pytest.mark.parametrize(
    "path",
    [r"C:\Users\anna\_new\.ssh", r"\\server\share\.x", r"..\..\a", r"C:\(x86)\[a]", "C:\\*.txt", "C:\\"],
)
def test_the_backslashes_of_a_windows_path_stay(path: str) -> None:
    assert safe_html(f"See {path}") == f'<p dir="auto">See {path}</p>'
    assert safe_html(f"({path})", bare=True) == f'<p dir="auto">({path})</p>'


def test_elsewhere_a_backslash_says_that_no_markup_follows() -> None:
    assert safe_html(r"snake\_case and \*stars\*") == '<p dir="auto">snake_case and *stars*</p>'


@pytest.mark.parametrize(
    "figure",
    [
        "42.3",
        "1,042.3 €",
        "-3.5 %",
        "2026-11-26",
        "2026-11-26T06:12:00+01:00",
        "12 km/h",
        "42 / 3",
        "(~7)",
        "9:15–10:00",
    ],
)
def test_a_figure_in_a_table_is_not_broken_into_lines(figure: str) -> None:
    assert f'<td class="number" dir="auto">{figure}</td>' in safe_html(f"|a|\n|--|\n|{figure}|")


@pytest.mark.parametrize("words", ["42 birds", "m12", "see 3", "12 and 13 and 14 and 15 and 16"])
def test_words_in_a_table_are_broken_into_lines(words: str) -> None:
    assert f'<td dir="auto">{words}</td>' in safe_html(f"|a|\n|--|\n|{words}|")


def test_a_diagram_is_shown_as_its_source_and_called_so() -> None:
    html = safe_html("```mermaid\ngraph TD; A--><b>\n```")
    assert '<span class="language">mermaid: source of a diagram</span>' in html
    assert "A--&gt;&lt;b&gt;" in html
    assert 'class="code" data-diagram="mermaid"' in html  # by which the page draws it
    assert "data-diagram" not in safe_html("```dot\ndigraph {}\n```")
