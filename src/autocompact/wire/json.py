r"""JSON as the bytes it came as: decoding that names the path, and finding where a value stands.

Providers' clients send escapes of half surrogate pairs (a cut emoji, ``"\ud83d"``), which no strict decoder takes.
They are read as U+FFFD, written with the same number of bytes, so that every other byte keeps its place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, cast

import msgspec
from msgspec import Raw

from autocompact.errors import InvalidRequest

T = TypeVar("T")

_ESCAPE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_PIECE = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]|[^\s\[\]{}:,"]+', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")
_SPACE = re.compile(rb"[ \t\r\n]*")
_AT = re.compile(r" - at `\$(.*)`$")

_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])
_STR = msgspec.json.Decoder(str)
_RAW = msgspec.json.Decoder(Raw)
_ANY: msgspec.json.Decoder[object] = msgspec.json.Decoder()

Span = tuple[int, int]


def decode(raw: bytes | Raw, decoder: msgspec.json.Decoder[T], *, path: str) -> T:
    """Decode ``raw`` with ``decoder``.

    Raises:
        InvalidRequest: it is not JSON, or not of that type; the message begins with the path, e.g.
            ``messages[3].content[0].type``.
    """
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as exc:
        raise _invalid(exc, path) from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        # only after a failure: the fast path never scans for half surrogates
        mended = mend(raw)
        # nothing to mend, so it really is invalid; else mending ends the recursion
        if mended == bytes(raw):
            raise _invalid(exc, path) from exc
        return decode(mended, decoder, path=path)


def _invalid(exc: Exception, path: str) -> InvalidRequest:
    problem = str(exc)
    at = _AT.search(problem)
    if at is not None:
        # the decoder's path is relative to the value that it was given
        path, problem = path + at[1], problem[: at.start()]
    return InvalidRequest(f"{path.lstrip('.') or 'the body'}: {problem}")


def mend(raw: bytes | Raw) -> bytes:
    r"""The same JSON with each escaped half surrogate as ``\ufffd``; same length, same places."""
    return _ESCAPE.sub(lambda match: b"\\ufffd" if match[2] else match[0], bytes(raw))


def members(raw: bytes | Raw, *, path: str) -> dict[str, Raw]:
    """The members of an object, each as its bytes; of a repeated key the last one counts."""
    return decode(raw, _MEMBERS, path=path)


def items(raw: bytes | Raw, *, path: str) -> list[Raw]:
    """The items of an array, each as its bytes."""
    return decode(raw, _ITEMS, path=path)


def contents(raw: bytes | Raw, *, path: str) -> list[Raw]:
    """The blocks of a content: a list's items, or the string itself; none for null, an empty string or list."""
    if is_array(raw):
        return items(raw, path=path)
    if is_string(raw):
        return [] if bytes(memoryview(raw)[:2]) == b'""' else [Raw(raw)]
    if bytes(memoryview(raw)) == b"null":
        return []
    raise InvalidRequest(f"{path}: expected a string or a list of blocks")


def string(raw: bytes | Raw, *, path: str = "") -> str:
    """The text of a JSON string; "" for null, and the JSON itself for anything else."""
    if is_string(raw):
        return decode(raw, _STR, path=path)
    text = bytes(raw).decode(errors="replace")
    return "" if text == "null" else text


def any_value(raw: bytes | Raw, *, path: str) -> object:
    """The value of ``raw``, whatever it is."""
    return decode(raw, _ANY, path=path)


def plain(raw: bytes | Raw) -> object:
    r"""The value of ``raw``, whatever JSON it is: nested however deep, with numbers and escapes that nothing can hold.

    Half surrogates come as U+FFFD. A number beyond a double is the largest double, and a whole number of more than 4,300
    digits likewise: what this returns can be written as JSON again.
    """
    try:
        return _ANY.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _walked(mend(raw).decode(errors="replace").encode())


def _walked(raw: bytes) -> object:
    """`plain`, one token after the other."""
    top: list[object] = []
    # a stack of our own instead of recursion: nesting may exceed Python's limit
    holder: list[object] | dict[str, object] = top
    above: list[list[object] | dict[str, object]] = []
    key: str | None = None
    for match in _PIECE.finditer(raw):
        token = match[0]
        if token in (b"]", b"}"):
            holder = above.pop()
            continue
        if isinstance(holder, dict) and key is None:
            key = _STR.decode(token)
            continue
        value: object = [] if token == b"[" else {} if token == b"{" else _scalar(token)
        if isinstance(holder, dict):
            holder[cast("str", key)], key = value, None
        else:
            holder.append(value)
        if token in (b"[", b"{"):
            above.append(holder)
            holder = cast("list[object] | dict[str, object]", value)
    return top[0]


def _scalar(token: bytes) -> object:
    try:
        return _ANY.decode(token)
    except msgspec.ValidationError:  # a number out of range
        try:
            return int(token)
        # more digits than Python converts (4,300), or a fraction
        except ValueError:
            bound = sys.float_info.max
            return max(-bound, min(bound, float(token)))


def encode(value: object) -> bytes:
    """Compact JSON; text that is not valid Unicode is written with U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # half a surrogate pair from Python code: the walk is paid for by those texts alone
        return msgspec.json.encode(_valid(value))


def _valid(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _valid(item) for key, item in cast("dict[str, object]", value).items()}
    return value


def check(raw: bytes, *, path: str) -> None:
    """Check that these bytes are JSON in UTF-8, nested no deeper than can be read; numbers may be of any size.

    Raises:
        InvalidRequest: they are not.
    """
    try:
        # the JSON decoder does not look at bytes inside of values that it hands out raw
        raw.decode()
    except UnicodeDecodeError as exc:
        raise _invalid(exc, path) from exc
    decode(raw, _RAW, path=path)


def is_valid(raw: bytes) -> bool:
    """True if these bytes are JSON."""
    try:
        any_value(raw, path="")
    except InvalidRequest:
        return False
    return True


def array(values: Iterable[bytes | Raw]) -> bytes:
    """A JSON array of values that are JSON already."""
    return b"[" + b",".join(bytes(value) for value in values) + b"]"


def fragment(value: bytes) -> Raw:
    r"""JSON that `encode` is to take as it stands."""
    return Raw(value)


def is_string(raw: bytes | Raw | memoryview) -> bool:
    """True if this JSON value is a string."""
    return bytes(memoryview(raw)[:1]) == b'"'


def is_array(raw: bytes | Raw | memoryview) -> bool:
    """True if this JSON value is an array."""
    return bytes(memoryview(raw)[:1]) == b"["


def is_object(raw: bytes | Raw) -> bool:
    """True if this JSON value is an object."""
    return bytes(memoryview(raw)[:1]) == b"{"


def space(body: bytes, at: int) -> int:
    """The place of the first byte from ``at`` on that is not white space."""
    return _found(_SPACE.match(body, at)).end()


def spans(body: bytes, known: Mapping[str, Raw]) -> dict[str, Span]:
    """Positions of the member values of the object ``body``; the last one of a repeated key.

    Args:
        body: valid JSON (half surrogates allowed), an object.
        known: values expected under a key. A list, an object or a string that stands there is jumped over; any other
            value is scanned, which takes about ten times as long as decoding.
    """
    found: dict[str, Span] = {}
    # the body was decoded before, so the grammar is known to hold, and only places are sought
    at = space(body, space(body, 0) + 1)
    while body[at : at + 1] != b"}":
        key_end = _end_of(body, at, pattern=_STRING)
        key = decode(body[at:key_end], _STR, path="")
        start = space(body, space(body, key_end) + 1)
        end = _end(body, start, expected=known.get(key))
        found[key] = (start, end)
        at = space(body, end)
        if body[at : at + 1] == b",":
            at = space(body, at + 1)
    return found


def raw_items(array: memoryview) -> list[bytes]:
    """The items of an array in a body that was decoded before, each as the bytes it came as."""
    try:
        return list(map(bytes, _ITEMS.decode(array)))
    except msgspec.DecodeError:  # half surrogates
        whole = bytes(array)
        return [whole[start:end] for start, end in _item_spans(whole)]


def _item_spans(array: bytes) -> Iterator[Span]:
    at = space(array, 1)
    while array[at : at + 1] != b"]":
        end = _end(array, at)
        yield at, end
        at = space(array, end)
        if array[at : at + 1] == b",":
            at = space(array, at + 1)


def _end(body: bytes, start: int, *, expected: Raw | None = None) -> int:
    """The place after the value that begins at ``start``."""
    first = body[start : start + 1]
    if first not in b'[{"':
        return _end_of(body, start, pattern=_SCALAR)
    # jumping over a known value: the walk costs the number of members, not of bytes
    if expected is not None and body.startswith(whole := bytes(expected), start):
        return start + len(whole)  # no list, object or string begins another one
    if first == b'"':
        return _end_of(body, start, pattern=_STRING)
    # strings are single tokens, so brackets within them do not count
    depth, end = 1, start + 1
    while depth:
        token = _found(_TOKEN.search(body, end))
        depth += (token[0] in b"[{") - (token[0] in b"]}")
        end = token.end()
    return end


def _end_of(body: bytes, at: int, *, pattern: re.Pattern[bytes]) -> int:
    return _found(pattern.match(body, at)).end()


def _found(match: re.Match[bytes] | None) -> re.Match[bytes]:
    assert match is not None, "the body was decoded before, so what the grammar demands is there"
    return match
