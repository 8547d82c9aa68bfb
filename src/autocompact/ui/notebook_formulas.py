"""Formulas in LaTeX as MathML for notebooks, which browsers draw by themselves: no script, no font, no request.

What the converter makes is written out here element by element: it keeps names of links, styles and classes that the
text brings along, and puts text of a formula into its markup as it stands.
"""

from __future__ import annotations

import re
from html import escape, unescape
from xml.etree.ElementTree import Element

DEEPEST = 40
"""Braces within each other: deeper ones are shown as they were written."""

_ENVIRONMENTS = {
    "aligned": "align*",
    "alignat": "align*",
    "alignat*": "align*",
    "alignedat": "align*",
    "dcases": "cases",
    "displaymath": "equation*",
    "eqnarray": "align*",
    "eqnarray*": "align*",
    "flalign": "align*",
    "flalign*": "align*",
    "gather": "matrix",
    "gather*": "matrix",
    "gathered": "matrix",
    "multline": "matrix",
    "multline*": "matrix",
}
"""Environments that the converter does not know, and the one that looks most like it."""
_ENVIRONMENT = re.compile(r"\\(?P<end>begin|end)\{(?P<name>[a-z]+\*?)\}(?:(?<=at\}|t\*\})\{\d+\})?")
_DIAGRAM = "\\begin{CD}"
"""The converter takes its arrows for signs in a row."""
_COMMAND = re.compile(r"\s*\\[a-zA-Z]")
"""Text of the converter for a command that it does not know, such as those of chemistry."""
_LABEL = re.compile(r"\\label\{[^{}]*\}")
"""Name of a formula, for references, which a message has none of."""
_ARG = re.compile(r"\\arg(?![a-zA-Z])")
_LIMITS = frozenset("lim max min sup inf limsup liminf argmax argmin det gcd Pr ⋃ ⋂ ⋁ ⋀ ⨁ ⨂ ∐".split())
"""Operators that have their limits below and above in a displayed formula."""
_BELOW = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_SMALL = frozenset(("mfrac", "msub", "msup", "msubsup", "munder", "mover", "munderover"))
"""Elements in which formulas are set as among words."""

_TAGS = frozenset(
    "math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub "
    "msubsup msup mtable mtd mtext mtr munder munderover none".split()
)
_ATTRIBUTES = frozenset(
    "accent accentunder columnalign columnspacing depth display displaystyle fence form height largeop linethickness lspace "
    "mathvariant maxsize minsize movablelimits notation rowspacing rspace scriptlevel separator stretchy symmetric "
    "voffset width".split()
)


def formula_html(latex: str, block: bool) -> str:
    """A formula as MathML; as code where it cannot be read.

    Args:
        latex: what stands between the marks.
        block: it stands on lines of its own.
    """
    from latex2mathml.converter import convert_to_element

    source = f"<code>{escape(latex)}</code>"
    if _depth(latex) > DEEPEST or _DIAGRAM in latex:
        return source
    try:
        made: Element = convert_to_element(_known(latex), display="block" if block else "inline")
    except Exception:  # noqa: BLE001 - the converter's errors have no common class, and every one means: not LaTeX
        return source
    if any(_COMMAND.match(element.text or "") for element in made.iter()):
        return source
    return _written(made, displayed=block)


def _known(latex: str) -> str:
    """The formula in words that the converter knows."""

    def environment(found: re.Match[str]) -> str:
        known = _ENVIRONMENTS.get(found["name"])
        return f"\\{found['end']}{{{known}}}" if known else found[0]

    return _ENVIRONMENT.sub(environment, _ARG.sub(r"\\operatorname{arg}", _LABEL.sub("", latex)))


def _depth(latex: str) -> int:
    deepest = depth = 0
    for sign in latex:
        depth += (sign == "{") - (sign == "}")
        deepest = max(deepest, depth)
    return deepest


def _written(element: Element, *, displayed: bool) -> str:
    name = element.tag.rpartition("}")[2]
    if displayed and name in _BELOW and _operator(element[0]) in _LIMITS:
        name = _BELOW[name]
    displayed = displayed and name not in _SMALL
    inner = _words(element.text) + "".join(
        _written(child, displayed=displayed) + _words(child.tail) for child in element
    )
    if name not in _TAGS:
        return inner
    given = ((key, escape(str(value), quote=True)) for key, value in element.attrib.items())
    attributes = "".join(f' {key}="{value}"' for key, value in given if key in _ATTRIBUTES)
    return f"<{name}{attributes}>{inner}</{name}>"


def _operator(element: Element) -> str:
    """The words of an element that holds nothing else, without spaces."""
    return "" if len(element) else "".join(unescape(element.text or "").split())


def _words(text: str | None) -> str:
    """Text of the converter: its own signs are references to characters."""
    return escape(unescape(text)) if text else ""
