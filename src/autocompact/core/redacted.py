"""Messages without secrets, and the operations that keep a redacted text redacted.

Whatever is made of a conversation - ledger, summary, stubs, what a summary model reads, archives, reports - is made of
`RedactedMessage`, never of `Message`: the whole text of a message is redacted once, before anything cuts it into lines
or shortens it, because half a secret has no shape that a later look could find.

`Redacted` is a type of its own, so that a text which was not redacted does not type-check where one is expected. It is
made by `redact` and `redact_parts`, by the functions here, and by the pure functions that put together nothing but
redacted texts and words of the program (`tests/core/test_redacted.py` lists their modules). The rule behind all of them: a
pure function that is given no other text cannot bring a secret back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import LiteralString, TypeAlias, assert_never, cast

import msgspec
from msgspec import structs

from autocompact.core.code_calls import code_call
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
    decoded,
)
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import KnownSecrets, Redacted, find_secrets, hide, redact, redact_parts

RedactedJson: TypeAlias = (
    "Redacted | int | float | bool | Sequence[RedactedJson] | Mapping[str, RedactedJson] | None"
)
"""A JSON value whose every text was redacted."""


class RedactedText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Words of the user, the model or the program around it."""

    text: Redacted


class RedactedReasoning(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The model's thinking, "" where it is sealed."""

    text: Redacted


class RedactedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call.

    Attributes:
        name: the tool's name.
        arguments: as they were sent.
        values: the decoded arguments, empty if these are no JSON object.
        inner: the call that the arguments amount to, if they are a script that calls tools; it has none itself.
    """

    name: Redacted
    arguments: Redacted
    values: Mapping[str, RedactedJson]
    inner: RedactedCall | None = None


class RedactedResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a call; ``media`` says what is attached to it."""

    text: Redacted
    is_error: bool
    media: tuple[Redacted, ...]


class RedactedMedia(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A picture, a document or a part of an unknown kind: what it is, and the plain text that came with it."""

    label: Redacted
    text: Redacted


RedactedPart: TypeAlias = RedactedText | RedactedReasoning | RedactedCall | RedactedResult | RedactedMedia


class RedactedMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message as texts about the conversation may quote it: its redacted parts, with the indices of the message."""

    seq: int
    role: Role
    synthetic: bool
    is_request: bool
    parts: tuple[RedactedPart, ...]

    @property
    def text(self) -> Redacted:
        """The plain words, parts joined by a newline."""
        return joined("\n", (part.text for part in self.parts if isinstance(part, RedactedText)))


def redacted(message: Message) -> RedactedMessage:
    """``message`` without secrets, also those that go over several of its parts of one kind."""
    parts: list[RedactedPart] = []
    # a secret may be split over two parts of one kind, as streams cut them
    runs = ((type(message.parts[0]), message.parts),) if len(message.parts) == 1 else _runs(message.parts)
    for kind, same in runs:
        if kind is ToolCall:
            parts += map(redacted_call, cast("Sequence[ToolCall]", same))
        else:
            texts = redact_parts([_text(part) for part in same])
            parts += (_part(part, text) for part, text in zip(same, texts, strict=True))
    return RedactedMessage(
        seq=message.seq,
        role=message.role,
        synthetic=message.synthetic,
        is_request=message.is_request,
        parts=tuple(parts),
    )


def _runs(parts: Iterable[Part]) -> Iterator[tuple[type[Part], Sequence[Part]]]:
    for kind, run in groupby(parts, key=type):
        yield kind, tuple(run)


def without_secrets(message: Message, *, redactor: Redactor | None = None) -> Message:
    """``message`` to be shown to somebody: its texts redacted, and as it is, with its JSON, where it has no secret.

    Args:
        message: as it was said.
        redactor: knows secrets that other messages gave away.
    """
    read = redacted(message) if redactor is None else redactor(message)
    pairs = zip(message.parts, read.parts, strict=True)
    parts = tuple(_shown(part, clean) for part, clean in pairs)
    raws = (message.raw, *(part.raw for part in message.parts))
    # the JSON may hold what the parts do not: unknown members are looked at as well
    if parts == _bare(message) and all(raw is None or _redacted_bytes(raw) == raw for raw in raws):
        return message
    return structs.replace(message, parts=parts, raw=None)


def all_without_secrets(
    messages: Iterable[Message], *, known: KnownSecrets | None = None
) -> tuple[Message, ...]:
    """`without_secrets` of each: what one of them gives away is hidden in all, like the ``known`` ones."""
    messages = tuple(messages)
    redactor = Redactor(known)
    # all of them first: a later message may name as a secret what an earlier one only quotes
    redactor.learn(messages)
    return tuple(without_secrets(message, redactor=redactor) for message in messages)


def _bare(message: Message) -> tuple[Part, ...]:
    return tuple(part if isinstance(part, Opaque) else _without_raw(part) for part in message.parts)


def _without_raw(part: Text | Reasoning | ToolCall | ToolResult | Image | Document) -> Part:
    media = (
        {"media": tuple(structs.replace(item, raw=None) for item in part.media)}
        if isinstance(part, ToolResult)
        else {}
    )
    return structs.replace(part, raw=None, **media)


def _redacted_bytes(raw: bytes) -> bytes:
    text = raw.decode("utf-8", "replace")
    clean = redact(text)
    return raw if clean == text else clean.encode("utf-8", "replace")


def _shown(part: Part, clean: RedactedPart) -> Part:
    match part:
        case ToolCall():
            assert isinstance(clean, RedactedCall), "a call stays a call"
            return structs.replace(part, name=clean.name, arguments=clean.arguments, raw=None)
        case ToolResult():
            clean_media = redacted(Message(seq=0, role="tool", parts=part.media)).parts
            media = map(_shown, part.media, clean_media)
            shown = tuple(item for item in media if isinstance(item, Image | Document))
            return structs.replace(part, text=_words(clean), media=shown, raw=None)
        case Document():
            name, url = redact(part.name), redact(part.url)
            return structs.replace(part, name=name, url=url, text=_words(clean), raw=None)
        case Image():
            return structs.replace(part, url=redact(part.url), raw=None)
        case Text() | Reasoning():
            return structs.replace(part, text=_words(clean), raw=None)
        case Opaque():
            return structs.replace(part, raw=_redacted_bytes(part.raw))
    assert_never(part)


def _words(part: RedactedPart) -> Redacted:
    assert not isinstance(part, RedactedCall), "a call stays a call"
    return part.text


Reader: TypeAlias = Callable[[Message], RedactedMessage]
"""Gives a message without the secrets that are found in it alone, as `redacted` does."""


class Redactor:
    """`redacted`, done once for each message, and without the secrets that other messages gave away.

    What a climb tries several times is read once.

    Args:
        known: the secrets of the conversation; what is read adds to them.
        read: reads a message for the first time.
    """

    def __init__(self, known: KnownSecrets | None = None, *, read: Reader = redacted) -> None:
        self.known = KnownSecrets() if known is None else known
        self._first_read = read
        self._read: dict[int, tuple[Message, RedactedMessage]] = {}
        self._hidden: dict[int, RedactedMessage] = {}
        self._version = self.known.version

    def learn(self, messages: Iterable[Message]) -> None:
        """Read all of these before anything is told of one of them: a later one may give away what stands in it."""
        for message in messages:
            self._reading(message)

    def __call__(self, message: Message) -> RedactedMessage:
        """``message`` without secrets."""
        read = self._reading(message)
        if not self.known:
            return read
        # a secret that was learned since may stand in what was cleaned before
        if self._version is not self.known.version:
            self._hidden.clear()
            self._version = self.known.version
        # by identity: hashing a message would read all of it
        hidden = self._hidden.get(id(message))
        if hidden is None:
            hidden = self._hidden[id(message)] = _hidden(read, self.known)
        return hidden

    def _reading(self, message: Message) -> RedactedMessage:
        # the message is held as well, so that no other one gets its id
        known = self._read.get(id(message))
        if known is None:
            known = self._read[id(message)] = message, self._first_read(message)
            # only messages in which something was found are searched for its value
            if any(map(_is_marked, known[1].parts)):
                for text in _texts(message):
                    self.known.learn(text, find_secrets(text), seq=message.seq)
        return known[1]


_MARK = "[secret: "


def _texts(message: Message) -> Iterator[str]:
    """Yield the texts of a message; the arguments of its calls both as they were sent and each by itself."""
    yield "\n".join(text for part in message.parts if (text := _text(part)))
    for call in message.calls:
        inner = _read(call.arguments)
        for arguments in (call.arguments, *([inner.arguments] if inner else [])):
            yield arguments
            yield from _strings(decoded(arguments))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, object]", value).values():
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in cast("Sequence[object]", value):
            yield from _strings(item)


def _is_marked(part: RedactedPart) -> bool:
    """True if a secret was found in the part, or somebody quotes the mark of one."""
    if isinstance(part, RedactedCall):
        return _MARK in part.arguments or _MARK in part.name
    return _MARK in part.text


def _hidden(message: RedactedMessage, known: KnownSecrets) -> RedactedMessage:
    parts = tuple(_hidden_part(part, known) for part in message.parts)
    return message if parts == message.parts else structs.replace(message, parts=parts)


def _hidden_part(part: RedactedPart, known: KnownSecrets) -> RedactedPart:
    if not isinstance(part, RedactedCall):
        return structs.replace(part, text=hide(part.text, known))
    call = _hidden_call(part, known)
    return call if call.inner is None else _with(_hidden_call(call.inner, known), call)


def _hidden_call(call: RedactedCall, known: KnownSecrets) -> RedactedCall:
    arguments = hide(call.arguments, known)
    if arguments == call.arguments and "\\" not in arguments:
        return call
    # an escape within a value, or before it, hides it from who looks at the JSON alone
    values = _hidden_values(call.values, known)
    if values != call.values and values != decoded(arguments):
        arguments = _as_json(values)
    return structs.replace(call, arguments=arguments, values=values)


def _hidden_values(values: Mapping[str, RedactedJson], known: KnownSecrets) -> Mapping[str, RedactedJson]:
    return {hide(_name(key), known): _hidden_value(value, known) for key, value in values.items()}


def _hidden_value(value: RedactedJson, known: KnownSecrets) -> RedactedJson:
    if isinstance(value, str):
        return hide(value, known)
    if isinstance(value, Mapping):
        return _hidden_values(value, known)
    if isinstance(value, Sequence):
        return [_hidden_value(item, known) for item in value]
    return value


_NAME = 120
"""Characters of what may come again and again: names of tools and arguments, paths."""

_known_name = lru_cache(maxsize=4_096)(redact)


def _name(text: str) -> Redacted:
    """`redact`, where the same short text is likely to come again."""
    # short texts are names that come thousands of times; long ones would fill the cache
    return _known_name(text) if len(text) <= _NAME else redact(text)


def _text(part: Part) -> str:
    return part.text if isinstance(part, (Text, Reasoning, ToolResult, Document)) else ""


def _part(part: Part, text: Redacted) -> RedactedPart:
    match part:
        case Text():
            return RedactedText(text=text)
        case Reasoning():
            return RedactedReasoning(text=text)
        case ToolResult():
            media = tuple(_label(item) for item in part.media)
            return RedactedResult(text=text, is_error=part.is_error, media=media)
        case _:
            return RedactedMedia(label=_label(part), text=text)


def _label(part: Part) -> Redacted:
    match part:
        case Image():
            return redact(" ".join(filter(None, ("image", part.media_type))))
        case Document():
            return redact(" ".join(filter(None, ("document", part.name or part.media_type))))
        case _:
            return redact(getattr(part, "kind", ""))


def redacted_call(call: ToolCall) -> RedactedCall:
    """A call whose arguments were redacted as a whole, where a name says what a value is, and each by itself as well.

    In JSON an escaped line break hides where a value begins; by itself a value may have no shape. A script can spell a value
    with escapes and in pieces: what it calls is redacted as well.
    """
    clean = _redacted_call(call)
    inner = None if clean.values else _read(call.arguments)
    if inner is None:
        return clean
    found = _redacted_call(inner)
    if clean.arguments != call.arguments and _shows(found.arguments, secrets_of=call.arguments):
        # what only the names around it in the script say to be a secret
        found = _redacted_call(_read(clean.arguments) or structs.replace(inner, arguments=""))
    return _with(found, clean)


def _redacted_call(call: ToolCall) -> RedactedCall:
    """The call by itself, whatever it has inside."""
    arguments = redact(call.arguments)
    # a secret that takes a quote along leaves no JSON: then each value by itself
    values = decoded(arguments) or decoded(call.arguments)
    clean = _redacted_values(values)
    if clean != values:
        # written anew as JSON, so that what the mark stands in still parses
        arguments = _as_json(clean)
    return RedactedCall(name=_name(call.name), arguments=arguments, values=clean)


def _as_json(values: Mapping[str, RedactedJson]) -> Redacted:
    return Redacted(json.dumps(values, ensure_ascii=False))


def _read(script: str) -> ToolCall | None:
    return code_call(script) if "tools." in script and not decoded(script) else None


_MOST_LOOKED_FOR = 100


def _shows(text: str, *, secrets_of: str) -> bool:
    """True if a secret of the text ``secrets_of`` may stand in ``text``: also if nobody can tell."""
    spans = find_secrets(secrets_of)
    values = {secrets_of[span.start : span.end] for span in spans}
    return len(values) > _MOST_LOOKED_FOR or any(_SPELLED.search(value) or value in text for value in values)


_SPELLED = LazyPattern(r"[\\\s'\"`]")
"""What a value in a script is not spelled with where it reads the same in what the script does."""


def _with(inner: RedactedCall, script: RedactedCall) -> RedactedCall:
    """``script`` with ``inner``, and written anew as that call if it amounts to another one, and thus shows more."""
    read = _read(script.arguments)
    if read is not None and _redacted_already(read, inner):
        return structs.replace(script, inner=inner)
    given = inner.arguments if inner.values else edited(inner.arguments, _in_quotes)
    return structs.replace(script, arguments=filled("tools.{}({})", inner.name, given), inner=inner)


def _in_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _redacted_already(read: ToolCall, inner: RedactedCall) -> bool:
    """True if ``read`` says no more than ``inner`` does."""
    return read.arguments == inner.arguments or (
        bool(inner.values) and decoded(read.arguments) == inner.values
    )


def _redacted_values(values: Mapping[str, object]) -> Mapping[str, RedactedJson]:
    return {_name(key): _redacted_value(value) for key, value in values.items()}


def _redacted_value(value: object) -> RedactedJson:
    if isinstance(value, str):
        return _name(value)
    if isinstance(value, Mapping):
        return _redacted_values(cast("Mapping[str, object]", value))
    if isinstance(value, Sequence):
        return [_redacted_value(item) for item in cast("Sequence[object]", value)]
    return cast("int | float | bool | None", value)


# Redacted texts stay redacted ---------------------------------------------------------------------------------


def own(words: LiteralString) -> Redacted:
    """Words of the program itself, which are literals in its source."""
    return Redacted(words)


EMPTY = own("")


def cut(text: Redacted, start: int = 0, *, end: int | None = None) -> Redacted:
    """``text[start:end]``."""
    return Redacted(text[start:end])


def joined(separator: LiteralString, texts: Iterable[Redacted]) -> Redacted:
    """The texts, one after the other."""
    return Redacted(separator.join(texts))


def filled(template: LiteralString, *values: Redacted | float) -> Redacted:
    """``template`` with each ``{}`` in it filled (`str.format`)."""
    return Redacted(template.format(*values))


def edited(text: Redacted, edit: Callable[[str], str]) -> Redacted:
    """Apply the pure function ``edit``, which sees no other text, to ``text``; the result counts as redacted."""
    return Redacted(edit(text))


def pieces(text: Redacted, take: Callable[[str], Iterable[str]]) -> Iterator[Redacted]:
    """Take pieces out of ``text`` with the pure function ``take``, which sees no other text; they count as redacted."""
    return map(Redacted, take(text))


def one_line(text: Redacted) -> Redacted:
    """``text`` with each run of white space as one blank."""
    return Redacted(" ".join(text.split()))
