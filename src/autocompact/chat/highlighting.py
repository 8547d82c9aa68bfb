"""Code with its words marked, for the page and the notebook."""

from __future__ import annotations

LONGEST = 12_000
"""Characters of code that are marked; longer code stays as it is."""


def highlighted(code: str, language: str) -> str:
    """Code as HTML with the classes of Pygments; "" if it is too long or its language is not known."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - its options are untyped
    from pygments.util import ClassNotFound

    if len(code) > LONGEST:
        return ""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True))
