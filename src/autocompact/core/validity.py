"""Validity of messages: checked before they are stored, and repaired where an older version stored others.

A message that is not what `Message` says would be stored and then break everything that looks at it, in every process
that opens the conversation. So `check_message` stands at every door. What stands in a store all the same was put there
by a version that did not check: `mended` gives the nearest message that can be used, which still says what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT
from msgspec.structs import fields, replace

from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from autocompact.errors import InvalidInput

ROLES: tuple[Role, ...] = get_args(Role)
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
UNKNOWN_ROLE = "[This message was stored with the role {role!r}, which no API knows.]"
"""Stands before the words of such a message in a context: they are nobody's request."""

_Types: TypeAlias = tuple[type, ...]

_KINDS: tuple[type[Part], ...] = get_args(Part)
_ORDINARY_KINDS = (Text, Reasoning, ToolCall, ToolResult)


def _types_of(hint: object) -> _Types:
    """The runtime types of a field's annotation."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(kind for each in get_args(hint) for kind in _types_of(each))
    if get_origin(hint) is Literal:
        return (str,)
    return (get_origin(hint) or cast("type", hint),)


_FIELDS: Mapping[type, Mapping[str, _Types]] = {
    kind: {name: _types_of(hint) for name, hint in get_type_hints(kind).items()}
    for kind in (*_KINDS, Usage, Message)
}
_VALUES = {kind: attrgetter(*types) for kind, types in _FIELDS.items()}
_ORDINARY = 1_000
"""Combinations of field types to remember; all kinds of messages and parts together have some dozens."""


def check_message(message: object) -> None:
    """Check that ``message`` can be stored, and used once it is.

    Raises:
        InvalidInput: it cannot; the sentence says what of it, and what it must be.
    """
    if not isinstance(message, Message):
        raise InvalidInput(
            f"a {type(message).__name__} is no message and was not stored: give a Message; "
            "`say` takes plain words, `add` a message as a provider's API has it"
        )
    if fault := next(_faults(message), ""):
        raise InvalidInput(f"the message was not stored: {fault}")


def check_usage(usage: object) -> None:
    """Check what is reported as usage.

    Raises:
        InvalidInput: it is no `Usage`, or not one of whole numbers.
    """
    if not isinstance(usage, Usage):
        raise InvalidInput(
            f"the usage is of type {type(usage).__name__}: give a Usage, e.g. Usage(prompt=1_200, completion=80)"
        )
    if fault := next(_own_faults(usage, "usage"), ""):
        raise InvalidInput(fault)


def mended(message: Message) -> Message:
    """The nearest message that can be used; the very same object if it can.

    An unknown role becomes a note in the place of the user (`Message.unknown_role`), a field of a wrong type its text
    or its default, what is no part is left out, and so is usage that is no number.
    """
    if _is_ordinary(message) or not next(_faults(message), ""):
        return message
    given = message.parts if isinstance(message.parts, tuple) else ()  # pyright: ignore[reportUnnecessaryIsInstance] - that is what is mended
    parts = tuple(_mended(part, _FIELDS[type(part)]) for part in given if type(part) in _KINDS)
    message = _mended(replace(message, parts=parts), _FIELDS[Message])
    usage = message.usage
    if usage is not None and next(_own_faults(usage, "usage"), ""):
        message = replace(message, usage=None)
    if message.dialect not in (*DIALECTS, None):
        message = replace(message, dialect=None)
    if message.role in ROLES:
        return message
    return replace(message, role="user", synthetic=True, unknown_role=str(message.role))


def noted(message: Message) -> Message:
    """The message as a context shows it where its role is unknown: a note, with what it says."""
    note = Text(text=UNKNOWN_ROLE.format(role=message.unknown_role))
    return message.with_parts((note, *message.parts))


def _is_ordinary(message: Message) -> bool:
    """True for a message without faults whose parts hold no others, as nearly all: told without a generator for each part."""
    return (
        message.role in ROLES
        and message.dialect in (*DIALECTS, None)
        and message.usage is None
        and not _misfits_of(message)
        and all(type(part) in _ORDINARY_KINDS and not _misfits_of(part) for part in message.parts)
        and not any(isinstance(part, ToolResult) and part.media for part in message.parts)
    )


def _faults(message: Message) -> Iterator[str]:
    """Yield the faults of a message, one sentence each, in the order of its fields."""
    if message.role not in ROLES:
        yield f"role is {message.role!r}: choose one of {', '.join(map(repr, ROLES))}"
    if message.dialect not in (*DIALECTS, None):
        yield f"dialect is {message.dialect!r}: choose one of {', '.join(map(repr, DIALECTS))}, or None"
    yield from _own_faults(message, "")
    if message.usage is not None:
        yield from _own_faults(message.usage, "usage")
    for index, part in enumerate(message.parts if isinstance(message.parts, tuple) else ()):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
        yield from _part_faults(part, f"parts[{index}]")


def _part_faults(part: object, path: str) -> Iterator[str]:
    if type(part) not in _KINDS:
        yield f"{path} is a {type(part).__name__}: give a part, e.g. Text(text=...)"
    else:
        yield from _own_faults(part, path)
    media = cast("object", part.media if isinstance(part, ToolResult) else ())
    for index, item in enumerate(cast("tuple[object, ...]", media) if isinstance(media, tuple) else ()):
        if type(item) in (Image, Document):
            yield from _own_faults(item, f"{path}.media[{index}]")
        else:
            yield f"{path}.media[{index}] is a {type(item).__name__}: give an Image or a Document"


def _own_faults(value: object, path: str) -> Iterator[str]:
    """Fields of ``value`` whose type is another one than it says."""
    for name in _misfits_of(value):
        wanted = " or ".join(kind.__name__ for kind in _FIELDS[type(value)][name])
        given = type(getattr(value, name)).__name__
        yield f"{f'{path}.' if path else ''}{name} is of type {given}, it must be {wanted}"


def _misfits_of(value: object) -> tuple[str, ...]:
    """The names of the fields of ``value`` whose type is another one than they say."""
    # every message of a log passes here, and nearly all of them have the types of one before
    return _misfits(type(value), tuple(map(type, _VALUES[type(value)](value))))


@lru_cache(maxsize=_ORDINARY)
def _misfits(kind: type, given: tuple[type, ...]) -> tuple[str, ...]:
    """The names of the fields of ``kind`` that cannot have a value of the type ``given`` for them."""
    fields_given = zip(_FIELDS[kind].items(), given, strict=True)
    return tuple(name for (name, types), each in fields_given if not _is_of(each, types))


def _is_of(given: type, types: _Types) -> bool:
    return issubclass(given, types) and (bool in types or not issubclass(given, bool))


def _mended(value: Any, types: Mapping[str, _Types]) -> Any:
    """``value`` with each field of a wrong type as its text, where that is what it must be, else its default."""
    wrong = _misfits_of(value)
    changes = {
        field.name: _nearest(getattr(value, field.name), types[field.name], default=field.default)
        for field in fields(value)
        if field.name in wrong
    }
    if isinstance(value, ToolResult):
        media = cast("tuple[object, ...]", changes.get("media", value.media))
        changes["media"] = tuple(
            _mended(item, _FIELDS[type(item)]) for item in media if type(item) in (Image, Document)
        )
    return replace(value, **changes) if changes else value


def _nearest(given: object, types: _Types, *, default: object) -> object:
    if str in types:
        return "" if given is None else str(given)
    return default if default is not NODEFAULT else b""
