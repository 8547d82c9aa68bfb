"""Settings with a password or a key that were written in base64 as a whole, as a table: an encoding hides nothing.

What the text says is seen in its letters without decoding it: three bytes are four letters, so a word is one of three
rows of letters, by the place where it begins.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.building import given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import is_common

_NAMED = re.compile(
    r"(?:passw(?:or)?d|passwort|_pass|pwd|secret|token|api_?key|access_?key|private_?key)\w{0,20}[\"']?\s{0,3}(?:[=:]|=>)\s{0,3}[\"']?(?P<value>[^\s\"'$<{]{4,})",
    re.IGNORECASE,
)
_USER = re.compile(r"(?:admin|root|user):[^\s:]{4,80}$")


def _is_setting(value: str) -> bool:
    """True for base64 of a text in which a password or a key has a value."""
    try:
        said = b64decode(value[: len(value) // 4 * 4], validate=True).decode()
    except (Error, ValueError):
        return False
    named = _NAMED.search(said)
    return bool((named and given(named["value"]) and not is_common(named["value"])) or _USER.match(said))


def _letters(word: str, *, behind: int) -> str:
    """The letters of base64 that ``word`` alone makes, ``behind`` bytes after the beginning of a group of three."""
    size = behind + len(word)
    return b64encode(b"\0" * behind + word.encode()).decode()[(behind * 8 + 5) // 6 : size * 8 // 6]


ENCODED: tuple[Form, ...] = tuple(
    Form(
        kind="credentials",
        anchor=letters.lower(),
        pattern=LazyPattern(
            rf"(?<![A-Za-z0-9+/])(?<!sha256-)(?<!sha384-)(?<!sha512-)(?P<s>[A-Za-z0-9+/]{{0,400}}?{re.escape(letters)}[A-Za-z0-9+/]{{4,4000}}={{0,2}})(?![A-Za-z0-9+/=])"
        ),
        examples=(
            b64encode(f"{'x=1'[:behind]}{word}{'' if word[-1] == ':' else '='}moonlight9".encode()).decode(),
        ),
        others=(b64encode(f"{'x=1'[:behind]}{word} is required here".encode()).decode(), letters),
        back=400,
        ahead=4_500,
        accept=_is_setting,
    )
    for word, places in (
        *(
            (word, range(3))
            for word in (
                "password",
                "PASSWORD",
                "Password",
                "secret",
                "SECRET",
                "_token",
                "_TOKEN",
                "api_key",
                "API_KEY",
            )
        ),
        *((word, range(1)) for word in ("admin:", "root:", "user:")),
    )
    for behind in places
    for letters in (_letters(word, behind=behind),)
)
