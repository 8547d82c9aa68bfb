"""The values of cookies in a header, an option or a jar that can be the key to a session."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import is_placeholder, mixed, random_looking, stripped

COOKIES: tuple[Form, ...] = (
    Form(
        kind="cookie",
        anchor="cookie",
        pattern=LazyPattern(
            r"cookies?2?(?:\\{0,7}[\"'`])?[ \t]{0,3}(?:[:=]|=>|,|[ ](?=[\"']?[\w.-]+=))[ \t]{0,3}[\"'`{]{0,2}",
            re.IGNORECASE,
        ),
        examples=(
            "Cookie: theme=dark; sessionid=«<l32>»; lang=en",
            "Set-Cookie: connect.sid=«s%3A<a32>.<a43>»; Path=/; HttpOnly",
            "-H 'cookie: auth=«<h64>»'",
            "requests.get(url, cookies={'sessionid': '«<l32>»'})",
            "curl --cookie 'sid=«<a24>»' https://h/",
        ),
        others=(
            "Cookie: theme=dark; lang=en-US",
            "Set-Cookie: lang=de; Max-Age=31536000; Path=/",
            "document.cookie = name + '=' + value;",
            "Cookie: _ga=GA1.2.1234567890.1234567890; cookie_consent=2024-01-01",
            "cookie: consent required",
        ),
    ),
)
_KIND, _HEADER = COOKIES[0].kind, COOKIES[0].pattern
_PAIR = LazyPattern(
    r"(?P<name>[\w.!$*-]{1,80})[\"']?[ ]?[=:][ ]?\\{0,3}[\"']?(?P<value>[^\x00-\x20;,\"'\\<>{}`]+)"
)
_ATTRIBUTES = LazyPattern(
    r"(?:path|domain|expires|max-age|samesite|version|comment|priority|_ga|_gid|_gcl|_fbp|__utm|amp_|optimizely|cookie_?consent|euconsent)",
    re.IGNORECASE,
)
_LONGEST = 8000
"""Characters of a header that are read: browsers send 4,096 for one cookie."""


def find_cookies(source: Source) -> Iterator[Span]:
    """The values in cookie headers that are long and made up."""
    text, done = source.text, 0
    for at in source.positions("cookie"):
        header = _HEADER.match(text, at) if at >= done else None
        if header is None:
            continue
        line = text.find("\n", header.end(), header.end() + _LONGEST)
        done = line if line >= 0 else min(len(text), header.end() + _LONGEST)
        for pair in _PAIR.finditer(text, header.end(), done):
            if _is_key(pair["name"], pair["value"]):
                yield Span(start=pair.start("value"), end=pair.end("value"), kind=_KIND)


def _is_key(name: str, value: str) -> bool:
    value = stripped(value)
    if len(value) < 16 or _ATTRIBUTES.match(name) or is_placeholder(value):
        return False
    return mixed(value) and random_looking(value)
