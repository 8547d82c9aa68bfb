r"""Private keys as blocks of lines (PEM, OpenSSH, PGP, PuTTY), however a tool printed them.

Before and after each line may stand what tools add: line numbers, the name of the file, diff signs, quotes, indentation;
between two lines may stand JSON's "\n" or a URL's "%0A". A block is replaced from its first to its last line. Where a
limit cut its end off, it goes as far as lines of key material follow; where its beginning is missing, it goes back as
far as they reach. Every character is read a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import mixed

KIND = "private key"

PRIVATE_KEYS: tuple[Form, ...] = tuple(
    Form(
        kind=KIND,
        anchor=anchor,
        pattern=LazyPattern(pattern),
        examples=examples,
        others=others,
    )
    for anchor, pattern, examples, others in (
        (
            "private",
            r"[-–—]{2,5}[ \xa0]?(?:BEGIN|END)(?:[ +\xa0]|%20)(?:[A-Z0-9]{1,20}(?:[ +\xa0]|%20)){0,4}(?:(?:PRIVATE|SECRET)(?:[ +\xa0]|%20)KEY(?:(?:[ +\xa0]|%20)BLOCK)?|OpenVPN Static key V1)[ \xa0]?[-–—]{2,5}",
            (
                "«-----BEGIN PRIVATE KEY-----\n<b64>\n<b64>\n<b40>\n-----END PRIVATE KEY-----»",
                "«-----BEGIN OPENSSH PRIVATE KEY-----\n<b70>\n<b70>\n<b9>=\n-----END OPENSSH PRIVATE KEY-----»",
                "«---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n<b70>\n<b70>\n---- END SSH2 ENCRYPTED PRIVATE KEY ----»",
                "«-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n<b64>\n<b64>\n=aB1x\n-----END PGP PRIVATE KEY BLOCK-----»",
                "«-----BEGIN\xa0RSA\xa0PRIVATE\xa0KEY-----\n<b64>\n<b64>\n<b40>\n-----END\xa0RSA\xa0PRIVATE\xa0KEY-----»",
                "«—–-BEGIN PRIVATE KEY—–-\n<b64>\n<b64>\n<b40>\n—–-END PRIVATE KEY—–-»",
                "«-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,<h32>\n\n<b64>\n<b64>»\n",
            ),
            (
                'pattern = "-----BEGIN RSA PRIVATE KEY-----"',
                "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----",
                "-----BEGIN PUBLIC KEY-----\n<b64>\n<b64>\n-----END PUBLIC KEY-----",
                "-----BEGIN CERTIFICATE-----\n<b64>\n<b64>\n-----END CERTIFICATE-----",
            ),
        ),
        (
            "private",
            r"Private-(?:Lines|MAC|Hash):[ \t]*\d{0,3}",
            ("Private-Lines: 3\n«<b64>\n<b64>\n<b20>»\nPrivate-MAC: <h40>",),
            ("Private-Lines: 3",),
        ),
        (
            "static key",
            "static key",
            (
                "«-----BEGIN OpenVPN Static key V1-----\n<h32>\n<h32>\n<h32>\n-----END OpenVPN Static key V1-----»",
            ),
            ("a static key",),
        ),
        (
            "secret key",
            "secret key",
            ("«-----BEGIN NOISE SECRET KEY-----\n<b64>\n<b64>\n-----END NOISE SECRET KEY-----»",),
            ("the secret key",),
        ),
    )
)
_MARK, _PUTTY = (form.pattern for form in PRIVATE_KEYS[:2])
_ANCHORS = frozenset(form.anchor for form in PRIVATE_KEYS)

_BREAK = re.compile(
    r"\r?\n|\r|(?:\\+r)?\\+n|(?:%0[Dd])?%0[Aa]|(?<=[A-Za-z0-9+/=]{60})[ +](?=[A-Za-z0-9+/=]{16})"
)
_BLOB = re.compile(r"[A-Za-z0-9+/=]*")
_RUN = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
_HEADER = re.compile(
    r"(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset|MessageID|Subject|Key-Derivation|Argon2-\w+):"
)
_LONG_RUN = re.compile(r"[A-Za-z0-9+/]{40,}")
"""A line of a key, which the 32 digits in the header of an encrypted one are not."""
_ENDS = re.compile(r"\s*(?:$|…|\.\.|[\[(<\"'`\\])")
_PARTS = re.compile(r"\d+|\s+|[^\d\s]+")
_AROUND = " \t\"'`,;+\\|│)]}#*"
_LONGEST = 24_000
"""Characters of a block that are read, at most: an RSA key of 16,384 bits has 13,000."""
_LEAST = 20
"""Characters of base64 that make a line of a key; its last one may have fewer."""


class _Mark(Struct, frozen=True):
    """The first or the last line of a block; the secret begins at ``start`` or ends at ``end``."""

    start: int
    end: int
    begins: bool


def find_private_keys(source: Source) -> Iterator[Span]:
    """The private keys in the text, each with its first and last line where they are there."""
    marks = _marks(source)
    done = 0
    for index, mark in enumerate(marks):
        if mark.start < done:
            continue
        following = marks[index + 1] if index + 1 < len(marks) else None
        if not mark.begins:
            span = _tail(source.text, mark, done=done)
        elif (
            following is not None
            and not following.begins
            and _is_body(source.text, mark.end, end=following.start)
        ):
            span = _trimmed(source.text, mark, last=following)
        else:
            limit = following.start if following is not None else len(source.text)
            span = _head(source.text, mark, limit=limit)
        if span is not None:
            done = span[1]
            yield Span(start=span[0], end=span[1], kind=KIND)


def _trimmed(text: str, first: _Mark, *, last: _Mark) -> tuple[int, int]:
    """From mark to mark; between PuTTY's, which are no part of it, from the first to the last character of the key."""
    if first.end > first.start:
        return (first.start, last.end)
    inner = text[first.end : last.start]
    return (last.start - len(inner.lstrip()), first.end + len(inner.rstrip()))


def _marks(source: Source) -> list[_Mark]:
    found: list[_Mark] = []
    for at in source.all_positions(_ANCHORS):
        putty = _PUTTY.match(source.text, at)
        if putty is not None:
            begins = source.text[at + 8] == "L"
            edge = putty.end() if begins else putty.start()
            found.append(_Mark(edge, edge, begins))
            continue
        mark = _MARK.search(source.text, max(0, at - 90), at + 40)
        if mark is not None and mark.end() > at and not (found and mark.start() < found[-1].end):
            found.append(_Mark(mark.start(), mark.end(), "BEGIN" in mark[0][:12]))
    return found


def _is_body(text: str, start: int, *, end: int) -> bool:
    """True if much of what stands between two marks is base64."""
    if end - start > _LONGEST:
        return False
    body = text[start:end]
    material = sum(map(len, _RUN.findall(body)))
    return material >= _LEAST and material >= 0.4 * len("".join(body.split()))


def _lines(text: str, start: int, *, end: int) -> list[tuple[int, int]]:
    edges = [start]
    for match in _BREAK.finditer(text, start, end):
        edges += match.span()
    edges.append(end)
    return list(zip(edges[::2], edges[1::2], strict=True))


def _prefix(before: str) -> re.Pattern[str]:
    """What a tool put before a line, as a pattern for the other lines: other numbers, other blanks."""
    parts = _PARTS.findall(before)
    return re.compile(r"\s*" + "".join(_generalised(part) for part in parts) + r"\s*")


def _generalised(part: str) -> str:
    if part.isspace():
        return r"\s*"
    return r"\d+" if part.isdigit() else re.escape(part)


def _head(text: str, mark: _Mark, *, limit: int) -> tuple[int, int] | None:
    """From a first line to the last character of key material, where the last line is missing."""
    prefix: re.Pattern[str] | None = None
    stop = mark.end
    for start, end in _lines(text, mark.end, end=min(limit, mark.end + _LONGEST)):
        if prefix is None:
            if _HEADER.search(text, start, end) and not _LONG_RUN.search(text, start, end):
                continue
            run = _RUN.search(text, start, end)
            before = text[start : run.start() if run is not None else end]
            if run is None and not before.strip(_AROUND):
                continue
            if run is None or len(before) > 100 or len(before.split()) > 3:
                return None
            prefix, stop = _prefix(before), run.end()
            mark = mark if mark.end > mark.start else _Mark(run.start(), run.end(), begins=True)
            continue
        place = prefix.match(text, start, end)
        at = place.end() if place is not None else end
        material = _end_of_material(text, at, end=end)
        if material > at and _is_material(text[at:material]) and _ENDS.match(text, material, end):
            stop = material
        if text[start:end].strip() and (material - at < _LEAST or text[material:end].strip(_AROUND)):
            break
    return (mark.start, stop) if prefix is not None else None


def _end_of_material(text: str, start: int, *, end: int) -> int:
    matched = _BLOB.match(text, start, end)
    return matched.end() if matched is not None else start


def _is_material(piece: str) -> bool:
    """True for a whole line of base64, and for the rest of one that is no word."""
    return (
        len(piece) >= _LEAST
        or mixed(piece)
        or not piece.isalpha()
        or not (piece.islower() or piece.istitle())
    )


def _tail(text: str, mark: _Mark, *, done: int) -> tuple[int, int] | None:
    """From the first character of key material to a last line, where the first line is missing."""
    lines = _lines(text, max(done, mark.start - _LONGEST), end=mark.start)
    own = text[slice(*lines[-1])].rstrip()
    size = _size_at_end(own)
    # What stands before the last line is what a tool puts before all of them, unless the key is on one line.
    prefix = _prefix(own.rstrip("+") if size < _LEAST else own[: len(own) - size])
    lines = lines[:-1] if size < _LEAST else lines
    first, material = mark.start, 0
    for start, end in reversed(lines):
        line = text[start:end].rstrip(_AROUND)
        size = _size_at_end(line)
        if not size:
            if line.strip() and not prefix.fullmatch(text[start:end]):
                break
            continue
        begin = start + len(line) - size
        fits = prefix.fullmatch(text, start, begin) is not None
        if size < _LEAST and not (
            fits and (material < _LEAST or (start == 0 and _is_material(line[-size:])))
        ):
            break
        if fits or mixed(line[-size:]):
            first, material = begin, material + size
        if not fits:
            break
    return (first, mark.end) if material >= _LEAST else None


def _size_at_end(line: str) -> int:
    return _end_of_material(line[::-1], 0, end=len(line))
