"""A conversation as one JSON document from which nothing is missing: for a backup, or to move it elsewhere.

    {"format": "autocompact", "version": 1, "name": "…", "active": "c2", "state": "…",
     "messages": [{"seq": 1, "role": "user", "parts": [{"type": "text", "text": "…"}], "raw": "…"}, …],
     "compactions": [{"id": "c1", …}, …]}

Fields that have their default are left out. ``raw`` is the JSON that a message or a part came as, character by
character; bytes that are no UTF-8 stand as ``{"base64": "…"}``. Fields that a newer program added are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import structs

from autocompact.compaction.record import Compaction
from autocompact.core import messages as core
from autocompact.core.plurals import plural
from autocompact.engine.state import EngineState
from autocompact.errors import StoreCorrupt, UnreadableSession
from autocompact.ports import NO_MESSAGES, Key, Store
from autocompact.sessions.jsonl import BOM

FORMAT = "autocompact"
VERSION = 1
BEGINNING = 128
"""Bytes of a file that `is_archive` needs to see."""

_SIGN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"autocompact"')


class _Base64(msgspec.Struct, frozen=True):
    base64: bytes


_Raw: TypeAlias = str | _Base64 | None


class _Part(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="type"):
    raw: _Raw = None


class _Text(_Part, tag="text"):
    text: str


class _Reasoning(_Part, tag="reasoning"):
    text: str = ""


class _ToolCall(_Part, tag="call"):
    id: str
    name: str
    arguments: str = ""


class _Image(_Part, tag="image"):
    media_type: str = ""
    data: str = ""
    url: str = ""
    width: int | None = None
    height: int | None = None


class _Document(_Part, tag="document"):
    media_type: str = ""
    name: str = ""
    data: str = ""
    url: str = ""
    text: str = ""


class _ToolResult(_Part, tag="result"):
    call_id: str
    text: str = ""
    is_error: bool = False
    media: tuple[_Image | _Document, ...] = ()


class _Opaque(_Part, tag="opaque"):
    kind: str


_AnyPart: TypeAlias = _Text | _Reasoning | _ToolCall | _Image | _Document | _ToolResult | _Opaque

_FORMS: Mapping[type[core.Part], type[_AnyPart]] = {
    core.Text: _Text,
    core.Reasoning: _Reasoning,
    core.ToolCall: _ToolCall,
    core.Image: _Image,
    core.Document: _Document,
    core.ToolResult: _ToolResult,
    core.Opaque: _Opaque,
}
_KINDS = {form: kind for kind, form in _FORMS.items()}


class _Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    seq: int
    role: core.Role
    time: str = ""
    model: str = ""
    id: str = ""
    synthetic: bool = False
    replaces: int | None = None
    changed: bool = False
    usage: core.Usage | None = None
    unknown_role: str = ""
    parts: tuple[_AnyPart, ...]
    dialect: core.Dialect | None = None
    raw: _Raw = None


class _File(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    version: int
    name: str
    active: str | None = None
    state: str = ""
    messages: tuple[_Message, ...]
    compactions: tuple[Compaction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A whole conversation.

    Attributes:
        name: what it is called.
        messages: the log, replaced messages included.
        compactions: every record, oldest first.
        active: id of the active one.
        state: what the engine keeps beside the log, b"" if nothing.
    """

    name: str
    messages: tuple[core.Message, ...]
    compactions: tuple[Compaction, ...] = ()
    active: str | None = None
    state: bytes = b""


async def whole_archive(store: Store, key: Key) -> Archive:
    """Read a conversation as an archive, from which nothing is missing."""
    snapshot = await store.load(key, after=NO_MESSAGES)
    return Archive(
        name=key.conversation,
        messages=await store.read(key),
        compactions=await store.compactions(key),
        active=snapshot.active.id if snapshot.active else None,
        state=snapshot.state,
    )


def is_archive(beginning: bytes) -> bool:
    """True if a file that begins like this says that it is one: its format stands first."""
    return _SIGN.match(beginning) is not None


def write_archive(archive: Archive) -> bytes:
    """The document, with a line end."""
    file = _File(
        format=FORMAT,
        version=VERSION,
        name=archive.name,
        active=archive.active,
        state=archive.state.decode(),
        messages=tuple(_message_form(message) for message in archive.messages),
        compactions=archive.compactions,
    )
    return encode(file) + b"\n"


def read_archive(document: bytes, *, source: str) -> Archive:
    """The conversation in ``document``.

    Args:
        document: what `write_archive` gave.
        source: names the file in errors.

    Raises:
        UnreadableSession: it is none, it is damaged, or a newer program wrote it.
    """
    try:
        file = _decoded(document)
    except (ValueError, RecursionError) as error:
        raise UnreadableSession(f"{source!r} is an archive of autocompact, but damaged: {error}") from error
    if file.version > VERSION:
        raise UnreadableSession(
            f"{source!r} is an archive of version {file.version}, this autocompact knows {VERSION}: update autocompact"
        )
    problem = _problem(file)
    if problem:
        raise UnreadableSession(f"{source!r} is an archive of autocompact, but damaged: {problem}")
    return Archive(
        name=file.name,
        messages=tuple(_message_of(message) for message in file.messages),
        compactions=file.compactions,
        active=file.active,
        state=file.state.encode(),
    )


def message_document(message: core.Message) -> object:
    """The message as the archive holds it, for `encode`."""
    return _message_form(message)


def encode(value: object) -> bytes:
    """JSON of a document; half surrogates, which no UTF-8 can hold, are escaped."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()


def _decoded(document: bytes) -> _File:
    try:
        return msgspec.json.decode(document.removeprefix(BOM), type=_File)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # escapes of half surrogates, which msgspec refuses
        return msgspec.convert(json.loads(document), type=_File)


def _problem(file: _File) -> str:
    """The first inconsistency of the archive as a whole, "" if there is none."""
    last = len(file.messages)
    records = {record.id: record for record in file.compactions}
    if not last:
        return "it holds no message"
    for seq, message in enumerate(file.messages, start=1):
        replaces = message.replaces
        if message.seq != seq or (replaces is not None and not 1 <= replaces < seq):
            return f"message {seq} says that it is {message.seq} and replaces {replaces}"
    if len(records) < len(file.compactions) or any(record.through_seq > last for record in records.values()):
        return f"its compactions do not fit {plural(last, 'message')}"
    if file.active is not None and file.active not in records:
        return f"compaction {file.active!r} is active, but not in it"
    try:
        EngineState.decode(file.state.encode())
    except StoreCorrupt as error:
        return str(error)
    return ""


def _message_form(message: core.Message) -> _Message:
    known = _values(message)
    known["parts"] = tuple(_part_form(part) for part in message.parts)
    known["raw"] = _raw_form(message.raw)
    del known["places"]  # only messages of a context have them, none of a log
    return _Message(**known)


def _part_form(part: core.Part) -> _AnyPart:
    known = _values(part)
    known["raw"] = _raw_form(part.raw)
    if isinstance(part, core.ToolResult):
        known["media"] = tuple(_part_form(item) for item in part.media)
    return _FORMS[type(part)](**known)


def _message_of(form: _Message) -> core.Message:
    known = {name: getattr(form, name) for name in form.__struct_fields__}
    known["parts"] = _parts_of(form.parts)
    known["raw"] = _raw_of(form.raw)
    return core.Message(**known)


def _parts_of(forms: Sequence[_AnyPart]) -> tuple[core.Part, ...]:
    return tuple(_part_of(form) for form in forms)


def _part_of(form: _AnyPart) -> core.Part:
    known = {name: getattr(form, name) for name in form.__struct_fields__}
    known["raw"] = _raw_of(form.raw)
    if isinstance(form, _ToolResult):
        known["media"] = _parts_of(form.media)
    return _KINDS[type(form)](**known)


def _values(value: core.Message | core.Part) -> dict[str, Any]:
    return structs.asdict(value)


def _raw_form(raw: bytes | None) -> _Raw:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return _Base64(base64=cast("bytes", raw))


def _raw_of(form: _Raw) -> bytes | None:
    if isinstance(form, _Base64):
        return form.base64
    return None if form is None else form.encode()
