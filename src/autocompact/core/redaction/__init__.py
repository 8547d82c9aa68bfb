"""Secrets in a text, found by their form, by their surroundings and by the name they are assigned to.

A summary, a ledger, a report and a log line never carry a credential in clear; the original stays in the log. What has
no form of its own is only taken for a secret where its name says so and its value looks made up, because a wrong hit
costs the reader an identifier: git hashes, UUIDs, digests, paths and code stay.

The rules are data: `RULES` is one table, each row with examples and counter-examples that the tests read. One search
finds the anchors of all rows (`anchors`), and what looks closer is bounded around each: the work is linear in the length
of the text, and a text without an anchor costs little more than that search.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NewType

from autocompact.core.redaction.anchors import Anchors
from autocompact.core.redaction.columns import COLUMNS, find_columns
from autocompact.core.redaction.cookies import COOKIES, find_cookies
from autocompact.core.redaction.forms import FORMS, find_forms
from autocompact.core.redaction.known import KnownSecrets
from autocompact.core.redaction.kubernetes import SECRETS, find_kubernetes
from autocompact.core.redaction.name_table import NAMES
from autocompact.core.redaction.names import find_named
from autocompact.core.redaction.nearby import NEARBY, find_nearby
from autocompact.core.redaction.private_keys import PRIVATE_KEYS, find_private_keys
from autocompact.core.redaction.rules import Form, Name, Token
from autocompact.core.redaction.sections import SECTIONS, find_sections
from autocompact.core.redaction.spans import Source, Span, merged
from autocompact.core.redaction.tokens import SHAPED, TOKENS, UNKNOWN, find_tokens

__all__ = ["RULES", "KnownSecrets", "Redacted", "Span", "find_secrets", "hide", "redact", "redact_parts"]

RULES: tuple[Token | Form | Name, ...] = (
    *TOKENS,
    *SHAPED,
    UNKNOWN,
    *FORMS,
    *COOKIES,
    *SECRETS,
    *SECTIONS,
    *COLUMNS,
    *NAMES,
    *NEARBY,
    *PRIVATE_KEYS,
)
"""All rules, with examples of what they find and of what must stay."""

Redacted = NewType("Redacted", str)
"""Text in which every secret that the redactor knows was replaced. Only `redact` and what is built from its results makes one."""


_ANCHORS = Anchors(rule.anchor for rule in RULES if not isinstance(rule, Token))
_MARKER = re.compile(r"\[secret: [A-Za-z0-9 .]{2,30}\]")
_BREAK = re.compile(r"(?:\x1b|\\(?:u001[bB]|x1[bB]|e|033))\[[0-9;:]{0,20}[mK]|\\\r?\n[ \t]{0,40}")
"""What parts a text without being of it: a change of colour, also as a string in code writes it (grep's have a "K"
behind them), and the end of a line that a command goes on after."""

_CODED = (r"\u001", r"\x1", r"\e[", r"\033[", "\\\n", "\\\r\n")
"""What of `_BREAK` begins with a backslash, at each of which that stops: so these are looked for before it."""

_PUBLIC_BLOCK = re.compile(
    r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d{3}|sk-[a-z0-9-]{8,30}@openssh\.com)[ \t]{1,4}AAAA[A-Za-z0-9+/]{30,2000}+={0,3}"
    r"|-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}(?:PUBLIC KEY|CERTIFICATE|CERTIFICATE REQUEST|CRL)-----(?:\s|\\[rnt]){1,20}+[A-Za-z0-9+/]{40}[A-Za-z0-9+/=\s\\]{1,40000}+-----END "
)
"""What everybody may read, in letters among which any name can stand by chance: also the public half of an SSH key."""

_BEGINS_PUBLIC = ("-----BEGIN ", " AAAA", "\tAAAA")

_ARGUMENTS = re.compile(
    r"\[\s{0,20}+(?:\\?[\"'][^\"'\\\n]{0,200}\\?[\"']\s{0,3}+,\s{0,20}+){1,40}+\\?[\"'][^\"'\\\n]{0,200}\\?[\"'],?\s{0,20}\]"
)
"""A command as a list of its words: ``["mysqladmin", "-uroot", "-p…"]``."""
_WORD_BREAK = re.compile(r"\\?[\"']\s{0,3},\s{0,20}\\?[\"']|[\[\]\"'\\]+")


def redact(text: str) -> Redacted:
    """``text`` with every secret replaced by ``[secret: kind]``; unchanged where none is found."""
    while spans := find_secrets(text):
        text = _replaced(text, spans)
    return Redacted(text)


def hide(text: Redacted, known: KnownSecrets) -> Redacted:
    """``text`` with each of the ``known`` secrets replaced like those that `redact` finds."""
    return Redacted(_replaced(text, spans)) if (spans := known.find(text)) else text


def redact_parts(texts: Sequence[str]) -> tuple[Redacted, ...]:
    """Each of the consecutive texts of one message, redacted; a secret that crosses a boundary is replaced on both sides."""
    parts = tuple(texts)
    if len(parts) > 1:
        while any(spans := _spans_of_parts(parts)):
            parts = tuple(map(_replaced, parts, spans))
    return tuple(map(redact, parts))


def _replaced(text: str, spans: Sequence[Span]) -> str:
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces += (text[position : span.start], f"[secret: {span.kind}]")
        position = span.end
    return "".join((*pieces, text[position:])) if pieces else text


def _spans_of_parts(parts: tuple[str, ...]) -> list[tuple[Span, ...]]:
    """What is secret in each part, read as lines that follow each other and as one text that was cut anywhere."""
    found: list[list[Span]] = [[] for _ in parts]
    for glue in ("\n", ""):
        spans = find_secrets(glue.join(parts))
        offset = 0
        for part, own in zip(parts, found, strict=True):
            end = offset + len(part)
            own += (
                Span(start=max(0, span.start - offset), end=min(span.end - offset, len(part)), kind=span.kind)
                for span in spans
                if max(span.start, offset) < min(span.end, end)
            )
            offset = end + len(glue)
    return [merged(own) for own in found]


def find_secrets(text: str, known: KnownSecrets | None = None) -> tuple[Span, ...]:
    """The secrets in ``text``, in order, without overlap; colours and line ends in or around one do not hide it.

    Args:
        text: as it was said.
        known: secrets that are found wherever they stand.
    """
    if known:
        return merged((*find_secrets(text), *known.find(text)))
    found = _spans(text)
    may_break = "\x1b" in text or ("\\" in text and any(each in text for each in _CODED))
    breaks = [match.span() for match in _BREAK.finditer(text)] if may_break else []
    hidden = [*_without(text, breaks)] if breaks else []
    if '"-' in text or "'-" in text:
        hidden += _of_commands(text)
    return merged((*found, *hidden)) if hidden else found


def _of_commands(text: str) -> Iterator[Span]:
    """The secrets of commands that are written as lists."""
    for command in _ARGUMENTS.finditer(text):
        breaks = [match.span() for match in _WORD_BREAK.finditer(command[0])]
        for span in _without(command[0], breaks, glue=" "):
            start = command.start()
            yield Span(start=span.start + start, end=span.end + start, kind=span.kind)


def _without(text: str, breaks: Sequence[tuple[int, int]], *, glue: str = "") -> Iterator[Span]:
    """The secrets of the text with ``glue`` for its breaks, where they stand in the text with them."""
    starts: list[int] = []
    kept: list[str] = []
    offsets: list[int] = []
    done = size = 0
    for start, end in (*breaks, (len(text), len(text))):
        starts.append(size)
        offsets.append(done - size)
        kept.append(text[done:start])
        size += start - done + len(glue)
        done = end
    for span in _spans(glue.join(kept)):
        first = offsets[bisect_right(starts, span.start) - 1]
        last = offsets[bisect_right(starts, span.end - 1) - 1]
        yield Span(start=span.start + first, end=span.end + last, kind=span.kind)


def _spans(text: str) -> tuple[Span, ...]:
    markers = [match.span() for match in _MARKER.finditer(text)] if "[secret: " in text else []
    masked = _MARKER.sub(lambda match: "\0" * len(match[0]), text) if markers else text
    if any(each in masked for each in _BEGINS_PUBLIC):
        markers = sorted((*markers, *(match.span() for match in _PUBLIC_BLOCK.finditer(masked))))
        masked = _PUBLIC_BLOCK.sub(lambda match: "\0" * len(match[0]), masked)
    source = Source.of(masked, _ANCHORS)
    if source.has_no_anchor:  # nearly every text: only a token has none
        found = [*find_tokens(source)]
        return merged(_between(found, markers) if markers else found) if found else ()
    found = [
        *find_private_keys(source),
        *find_tokens(source),
        *find_forms(source),
        *find_cookies(source),
        *find_kubernetes(source),
        *find_sections(source),
        *find_columns(source),
        *find_named(source),
        *find_nearby(source),
    ]
    return merged(_between(found, markers) if markers else found) if found else ()


def _between(found: list[Span], markers: list[tuple[int, int]]) -> Iterator[Span]:
    """The spans as far as they reach to the next marker: what stands for a secret is none."""
    starts = [start for start, _ in markers]
    for span in found:
        following = bisect_left(starts, span.start)
        end = min(span.end, starts[following]) if following < len(starts) else span.end
        if span.start < end and (not following or markers[following - 1][1] <= span.start):
            yield Span(start=span.start, end=end, kind=span.kind)
