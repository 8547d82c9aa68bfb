"""Messages as the plain values that an API's client library takes and gives."""

from __future__ import annotations

import json as standard
from collections.abc import Iterable, Mapping
from typing import cast

import msgspec

from autocompact.core.messages import Dialect, Message
from autocompact.core.validity import DIALECTS
from autocompact.errors import InvalidInput, InvalidRequest
from autocompact.wire import json
from autocompact.wire.request import export_messages, parse_message

_ROLES = ("system", "user", "assistant", "tool")
_EXAMPLE = 'give e.g. {"role": "user", "content": "Hello."}'


def from_mapping(message: Mapping[str, object], *, dialect: Dialect) -> Message:
    """The message that ``message`` is in ``dialect``, with its JSON as ``raw`` and ``seq`` 1.

    Half surrogates are written as escapes, NaN and infinity, which JSON does not have, as null; nothing else is changed.

    Raises:
        InvalidInput: it is no message: no mapping, nothing that JSON can say, without a role that the API knows, or
            without content.
    """
    if dialect not in DIALECTS:
        raise InvalidInput(f"dialect is {dialect!r}: choose one of {', '.join(map(repr, DIALECTS))}")
    if not isinstance(message, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
        raise InvalidInput(f"a {type(message).__name__} is no message and was not stored: {_EXAMPLE}")
    roles = _ROLES if dialect == "openai_chat" else _ROLES[:-1]
    role = message.get("role")
    choose = f"and was not stored: choose the role {', '.join(roles[:-1])} or {roles[-1]} ({_EXAMPLE})"
    if role is None and (dialect != "openai_responses" or message.get("type") is None):
        raise InvalidRequest(f"message.role: the message has no role {choose}")
    parsed = parse_message(encoded(message), seq=1, dialect=dialect)
    if parsed.synthetic:
        raise InvalidRequest(f"message.role: the message has the role {role!r} {choose}")
    if not parsed.parts and parsed.role != "assistant":  # a model may answer with nothing
        raise InvalidRequest(f"message.content: the message has no content and was not stored: {_EXAMPLE}")
    return parsed


def plain_messages(messages: Iterable[Message], *, dialect: Dialect) -> list[dict[str, object]]:
    """The messages of a valid context as the API's client library takes them; see `autocompact.wire.json.plain`."""
    exported = export_messages(messages, dialect=dialect).messages
    return [cast("dict[str, object]", json.plain(raw)) for raw in exported]


def encoded(message: object, *, path: str = "the message") -> bytes:
    """The JSON of a message; half surrogates as escapes, NaN and infinity, which JSON does not have, as null.

    Objects of a provider's SDK, which may stand in it anywhere, are written as the SDK sends them.

    Raises:
        InvalidInput: it cannot be written as JSON; the sentence begins with ``path``.
    """
    try:
        return msgspec.json.encode(message, enc_hook=of_an_sdk)
    except UnicodeEncodeError:
        return _escaped(message, path=path)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise _unwritable(error, path=path) from error


def of_an_sdk(value: object) -> object:
    """The plain value of an object as the SDKs of OpenAI and Anthropic have them (models of pydantic).

    Raises:
        TypeError: it is none.
    """
    dump = getattr(value, "model_dump", None)
    if isinstance(value, type) or not callable(dump):
        raise TypeError(f"an object of type {type(value).__name__} has no JSON")
    return dump(mode="json", exclude_unset=True)


def _escaped(message: object, *, path: str) -> bytes:
    """The JSON with every character beyond ASCII escaped, half surrogates too, which UTF-8 cannot hold.

    NaN and infinity are null, as msgspec writes them.
    """
    try:
        # by way of the standard library, which alone escapes a half
        told = standard.dumps(msgspec.to_builtins(message, enc_hook=of_an_sdk))
        plain: object = standard.loads(told, parse_constant=lambda _: None)
        return standard.dumps(plain, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise _unwritable(error, path=path) from error


def _unwritable(error: Exception, *, path: str) -> InvalidInput:
    return InvalidInput(
        f"{path} cannot be written as JSON and was not stored: {error}. "
        "Give text, numbers, lists and mappings, not nested too deep"
    )
