"""How the rows of the tables of forms are made."""

from __future__ import annotations

import re
from collections.abc import Callable

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    Trust,
    entropy,
    has_symbol,
    is_chosen,
    is_common,
    is_default,
    is_dotted_password,
    is_password,
    is_placeholder,
    is_reference,
    is_scrambled,
    mixed,
    random_looking,
    stripped,
)

QUOTE = r"(?:\\{0,7}[\"'`]|%22|%27|&quot;|&#3[49];)"
"""A quotation mark, also inside a JSON string, a URL or HTML."""


def form(
    kind: str,
    anchor: str,
    *,
    pattern: str,
    examples: tuple[str, ...],
    others: tuple[str, ...] = (),
    back: int = 0,
    ahead: int = 0,
    line: str = "",
    accept: Callable[[str], bool] = bool,
) -> Form:
    """A row of the table: its pattern reads capitals as small letters."""
    return Form(
        kind=kind,
        anchor=anchor,
        pattern=LazyPattern(pattern, re.IGNORECASE),
        examples=examples,
        others=others,
        back=back,
        ahead=ahead or (300 if back else 8000),
        line=LazyPattern(line, re.MULTILINE) if line else None,
        accept=accept,
    )


def given(value: str) -> bool:
    """True for what a program is given as a password: nearly anything that is no placeholder."""
    value = stripped(value)
    if is_scrambled(value):
        return True
    return bool(value) and not is_default(value) and not is_placeholder(value)


def dense(value: str) -> bool:
    """True for 16 characters or more that are mixed as in a token."""
    return len(value) >= 16 and mixed(value) and entropy(value) >= 2.8 and not is_placeholder(value)


def made_up(value: str) -> bool:
    """True for what nothing but a password is: letters with digits or signs, in no form that names have."""
    value = stripped(value)
    if len(value) < 6 or not given(value) or is_common(value):
        return False
    if is_reference(value) and not is_dotted_password(value):
        return False
    return is_chosen(value) or (mixed(value) and (has_symbol(value) or random_looking(value)))


def stated(value: str) -> bool:
    """True for a password with a digit or a sign, where a sentence says that it is one."""
    return is_password(value, Trust.STATED)


VALUE = r"(?:(?P<q>[\"'])(?P<s>(?:(?!(?P=q))[^\n]){1,200})(?P=q)|(?P<t>[^\s\"'`|;&<>\\$-][^\s\"'`|;&<>\\]{0,4000}))"


def program(
    names: str, anchor: str, *, option: str, examples: tuple[str, ...], others: tuple[str, ...] = ()
) -> Form:
    """A password as an option of one of the programs ``names`` (a pattern), which stands before it on the line."""
    return Form(
        kind="password",
        anchor=anchor,
        pattern=LazyPattern(f"{option}{VALUE}"),
        line=LazyPattern(rf"(?<![\w.-])(?:{names})(?![\w-])[^|;&\n]*$", re.MULTILINE),
        examples=examples,
        others=others,
        accept=given,
    )
