"""Formulas of a notebook are MathML, and nothing else than that comes out of them."""

from __future__ import annotations

import re

import pytest

from autocompact.ui.notebook_html import framed, words_html
from tests.chat.test_markdown import ATTRIBUTES, HOSTILE, TAGS, Tags

MATH = set(
    "math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub "
    "msubsup msup mtable mtd mtext mtr munder munderover none".split()
)
GIVEN = set(
    "accent accentunder columnalign columnspacing depth display displaystyle fence form height largeop linethickness lspace "
    "mathvariant maxsize minsize movablelimits notation rowspacing rspace scriptlevel separator stretchy symmetric "
    "voffset width".split()
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_formulas_become_harmless_mathml(text: str) -> None:
    tags = Tags(words_html(text))
    assert tags.tags <= TAGS | MATH
    assert set(tags.attributes) <= ATTRIBUTES | GIVEN


def test_a_formula_is_drawn_by_the_browser_itself() -> None:
    assert "<msup><mi>a</mi><mn>2</mn></msup>" in words_html("so $a^2$ holds")


@pytest.mark.parametrize(
    ("latex", "drawn"),
    [
        (r"\begin{aligned}a&=b\\&=c\end{aligned}", 2),
        (r"\begin{alignedat}{2}a&=b\\&=c\end{alignedat}", 2),
        (r"\begin{gather*}a\\b\end{gather*}", 2),
        (r"\begin{dcases}a&b\\c&d\end{dcases}", 2),
    ],
)
def test_formulas_of_several_lines_are_tables(latex: str, drawn: int) -> None:
    html = words_html(f"$$\n{latex}\n$$")
    assert html.count("<mtr>") == drawn
    assert "&amp;" not in html


@pytest.mark.parametrize(
    ("latex", "drawn"),
    [
        (r"\lim_{x\to 0}", "<munder><mo>lim</mo>"),
        (r"\arg\max_x", "<mo>arg</mo><munder><mo>max</mo>"),
        (r"\limsup_n", "<munder>"),
        (r"\bigcup_{i}^{n}", "<munderover>"),
        (r"\frac{\max_x}{2}", "<msub>"),
        (r"x_1 \label{eq:x}", "<msub>"),
    ],
)
def test_limits_stand_below_their_operator(latex: str, drawn: str) -> None:
    assert drawn in words_html(f"$$\n{latex}\n$$")
    assert "<munder" not in words_html(f"among words ${latex}$")


@pytest.mark.parametrize("name", ["align", "equation", "gather", "eqnarray*", "flalign", "displaymath"])
def test_an_environment_needs_no_marks(name: str) -> None:
    html = words_html(f"So:\n\\begin{{{name}}}\nx = y\n\\end{{{name}}}")
    assert "<mi>x</mi><mo>=</mo><mi>y</mi>" in html
    assert "\\begin" not in html
    assert "&amp;" not in html


@pytest.mark.parametrize(
    "latex",
    [r"\nosuch{x}", r"\frac{", "{" * 50 + "}" * 50, r"\ce{2H2 + O2 -> 2H2O}", r"\begin{CD}A @>>> B\end{CD}"],
)
def test_what_is_no_formula_is_shown_as_it_was_written(latex: str) -> None:
    html = words_html(f"$$\n{latex}\n$$")
    assert "<math" not in html
    assert Tags(html).words.strip() == latex


def test_no_mathjax_of_the_notebook_makes_a_formula_of_sums_of_money() -> None:
    (frame,) = (
        each for each in re.findall(r"<div class=\"(.*?)\">", framed("<p>$5 or $6</p>")) if "chat" in each
    )
    assert {"mathjax_ignore", "tex2jax_ignore"} <= set(frame.split())
