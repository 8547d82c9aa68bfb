"""Messages and records as bytes, for stores that keep bytes.

A body is one byte that names its form, then MessagePack, deflated where that makes it shorter:

    {"raw": the JSON as it came, "dialect": …, other fields that are not their default, "parts": [[kind, fields], …]}

The parts are left out where parsing ``raw`` again gives the very same ones, which is checked when a message is
written: so a message is stored once, and what was masked, repaired or read by another parser is still kept as it
was. Half surrogates, which no UTF-8 can hold, travel as an extension type.

A record is JSON in an envelope with a version. Fields that a newer program of the same version added are ignored.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import structs

from autocompact.compaction.record import Compaction, redacted_record
from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from autocompact.core.surrogates import without_half_surrogates
from autocompact.core.validity import ROLES, mended
from autocompact.errors import InvalidInput, InvalidRequest, StoreCorrupt, StoreTooNew
from autocompact.wire.request import is_intact, parse_message

_PLAIN, _DEFLATED = b"\x00", b"\x01"
_WORTH_DEFLATING = 128
"""Bytes: below, deflating gains nothing on JSON."""
_LEVEL = 4
"""On recorded agent sessions: 0.38 of the raw bytes at 60 MB/s; level 6 gives 0.37 at 50, level 1 gives 0.40 at 70."""

_UNREADABLE = (
    msgspec.DecodeError,
    zlib.error,
    TypeError,
    ValueError,  # UnicodeDecodeError is one
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""What decoding of damaged bytes can raise."""

_RECORD_VERSION = 5
"""1: masks named their result by the id of its call, and are located when the context is folded. 1 and 2: the ledger had
decisions, and told changed files like those that were only read. 1 to 3: receipts counted what was kept (a reference to a
request was enough), recoverable and lost. 1 to 4: the ledger had no wishes; all else is as in 4."""

_WITHOUT_WISHES = 4
"""What a record without any is written as; those below are translated when they are read."""

_HALF_SURROGATES = 1

_Plain: TypeAlias = dict[str, Any]

_KINDS: Mapping[str, type[Part]] = {
    "text": Text,
    "reasoning": Reasoning,
    "call": ToolCall,
    "result": ToolResult,
    "image": Image,
    "document": Document,
    "opaque": Opaque,
}
_ROLES: Mapping[str, Role] = {role: role for role in ROLES}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_DEFAULTS = {
    kind: tuple((field.name, None if field.required else field.default) for field in structs.fields(kind))
    for kind in (*_KINDS.values(), Message)
}
_IN_COLUMNS = ("seq", "role", "replaces")
_OF_CONTEXTS = ("places",)


def encode_message(message: Message) -> bytes:
    """The body of a message: everything but ``seq``, ``role`` and ``replaces``, which are columns."""
    plain = _fields(message)
    for name in (*_IN_COLUMNS, *_OF_CONTEXTS):
        plain.pop(name, None)
    if message.usage is not None:
        plain["usage"] = [message.usage.prompt, message.usage.completion]
    # a message that came as JSON is stored once; checked here, since a newer parser may read it differently
    if _derivable(message):
        plain.pop("parts", None)
    else:
        plain["parts"] = [_part_fields(part) for part in message.parts]
    return _pack(plain)


def decode_message(body: bytes, *, seq: int, role: Role, replaces: int | None) -> Message:
    """The message of a body. One that an older version stored though it cannot be used comes as the nearest that can.

    Raises:
        StoreCorrupt: it is not what `encode_message` wrote.
    """
    try:
        plain = _UNPACKER.decode(_inflated(body))
        role = _ROLES.get(role, role)  # a database gives each row a text of its own
        packed, usage = plain.pop("parts", None), plain.pop("usage", None)
        known = {name: plain[name] for name, _ in _DEFAULTS[Message] if name in plain}
        if packed is None:
            parts = parse_message(known["raw"], seq=seq, dialect=known["dialect"], role=role).parts
        else:
            parts = tuple(_part(*each) for each in packed)
        reported = None if usage is None else Usage(prompt=usage[0], completion=usage[1])
        message = Message(seq=seq, role=role, parts=parts, replaces=replaces, usage=reported, **known)
        # one whose parts were derived has just been parsed, so its JSON is known to be usable
        return mended(message) if packed is None else _usable(mended(message))
    except (*_UNREADABLE, InvalidInput, InvalidRequest) as error:
        raise StoreCorrupt(f"message {seq} cannot be read: {error}") from error


def _usable(message: Message) -> Message:
    """The message; one whose ``raw`` is no JSON that an API takes is written anew from its parts, ``raw`` stays."""
    return message if is_intact(message) else structs.replace(message, dialect=None)


def encode_record(record: Compaction) -> bytes:
    """A compaction record, of the lowest version that can say it."""
    envelope = {"version": _version_of(record), "record": record}
    try:
        data = msgspec.json.encode(envelope)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_each_text(msgspec.to_builtins(envelope), without_half_surrogates))
    return _deflated(data)


def _version_of(record: Compaction) -> int:
    # During an update programs of the version before read the same conversations: they are refused only what they have no word for.
    has_wishes = any(entry.kind == "wish" for entry in record.ledger.entries)
    return _RECORD_VERSION if has_wishes else _WITHOUT_WISHES


class _Envelope(msgspec.Struct, frozen=True):
    version: int
    record: msgspec.Raw


_RECORDS_READ = 32
"""Compaction records that are kept as they were read: a page reads all of a conversation whenever one changes."""


@lru_cache(maxsize=_RECORDS_READ)
def decode_record(data: bytes) -> Compaction:
    """The compaction record of what `encode_record` wrote, redacted anew: what wrote it may have known fewer secrets.

    Raises:
        StoreTooNew: a newer program wrote it.
        StoreCorrupt: it cannot be read.
    """
    try:
        envelope = msgspec.json.decode(_inflated(data), type=_Envelope)
        # by way of plain values: the old form does not fit the type
        if envelope.version < _WITHOUT_WISHES:
            plain = _with_newer_words(_with_newer_kinds(msgspec.json.decode(envelope.record)))
            return redacted_record(msgspec.convert(plain, type=Compaction))
        if envelope.version <= _RECORD_VERSION:
            return redacted_record(msgspec.json.decode(envelope.record, type=Compaction))
    except _UNREADABLE as error:
        raise StoreCorrupt(f"a compaction record cannot be read: {error}") from error
    raise StoreTooNew(
        f"a compaction record has version {envelope.version}, this autocompact knows {_RECORD_VERSION}: "
        "update autocompact"
    )


def _with_newer_kinds(record: _Plain) -> _Plain:
    """A record of an older version with the kinds of ledger entries that there are now."""
    for entry in record["ledger"]["entries"]:
        if entry["kind"] == "decision":
            entry["kind"] = "finding"
        elif entry["kind"] == "file" and entry.get("state") == "done":
            entry["kind"], entry["text"] = "change", entry["text"].partition(" — ")[2]
    return record


EARLIER_CHECK = "checked by an earlier version, which took a reference to a request for its words"


def _with_newer_words(record: _Plain) -> _Plain:
    """A record of version 1 to 3 with the figures of a receipt that there are now, and a note where they mean less."""
    receipt = record["receipt"]
    stated, recoverable, lost = (receipt.pop(name, 0) for name in ("kept", "recoverable", "lost"))
    receipt |= {"stated": stated, "referenced": 0, "missing": recoverable + lost}
    if stated:
        receipt["notes"] = [*receipt.get("notes", ()), EARLIER_CHECK]
    return record


def _derivable(message: Message) -> bool:
    """True if parsing ``raw`` gives these very parts."""
    if message.raw is None or message.dialect is None or message.changed:
        return False
    try:
        again = parse_message(message.raw, seq=message.seq, dialect=message.dialect, role=message.role)
    except InvalidRequest:
        return False
    return again.parts == message.parts


def _fields(value: Part | Message) -> _Plain:
    plain: _Plain = {}
    for name, default in _DEFAULTS[type(value)]:
        content = getattr(value, name)
        if content != default:
            plain[name] = content
    return plain


def _part_fields(part: Part) -> list[object]:
    plain = _fields(part)
    if isinstance(part, ToolResult) and part.media:
        plain["media"] = [_part_fields(item) for item in part.media]
    return [_NAMES[type(part)], plain]


def _part(name: str, plain: _Plain) -> Part:
    kind = _KINDS[name]
    known: _Plain = {
        # a field without a default must be there, or the constructor says that it is missing
        field: plain.get(field)
        for field, default in _DEFAULTS[kind]
        if field in plain or default is None
    }
    if "media" in known:
        known["media"] = tuple(_part(*item) for item in known["media"])
    if kind is ToolCall and type(known.get("name")) is str:
        known["name"] = sys.intern(known["name"])  # of thousands of calls a few names
    return kind(**known)


def _pack(plain: _Plain) -> bytes:
    try:
        data = msgspec.msgpack.encode(plain)
    except UnicodeEncodeError:
        # rare, so the walk over all texts is made only then
        data = msgspec.msgpack.encode(_each_text(plain, _as_extension))
    return _deflated(data)


def _extension(code: int, data: memoryview) -> str:
    if code != _HALF_SURROGATES:
        raise ValueError(f"unknown extension {code}")
    return bytes(data).decode("utf-8", "surrogatepass")


_UNPACKER = msgspec.msgpack.Decoder(_Plain, ext_hook=_extension)


def _each_text(value: object, change: Callable[[str], object]) -> object:
    """The same value with ``change`` applied to each text that holds half surrogates."""
    match value:
        case str():
            return value if _is_unicode(value) else change(value)
        case dict():
            return {key: _each_text(item, change) for key, item in cast("dict[str, object]", value).items()}
        case list() | tuple():
            return [_each_text(item, change) for item in cast("list[object]", value)]
        case _:
            return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_extension(text: str) -> object:
    data = text.encode("utf-8", "surrogatepass")
    return msgspec.msgpack.Ext(_HALF_SURROGATES, data)


def _deflated(data: bytes) -> bytes:
    if len(data) >= _WORTH_DEFLATING:
        deflate = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
        shorter = deflate.compress(data) + deflate.flush()
        # base64 and small texts grow
        if len(shorter) < len(data):
            return _DEFLATED + shorter
    return _PLAIN + data


def _inflated(body: bytes) -> bytes:
    form, data = body[:1], body[1:]
    if form == _DEFLATED:
        return zlib.decompress(data, wbits=-zlib.MAX_WBITS)
    if form == _PLAIN:
        return data
    raise ValueError(f"unknown form {form!r}")
