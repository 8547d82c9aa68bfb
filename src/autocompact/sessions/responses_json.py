"""OpenAI Responses as JSON: a list of items, or a request with ``input``, with the reply's ``output`` after it.

Each item keeps its bytes: `autocompact.wire` parses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import Message
from autocompact.errors import InvalidRequest
from autocompact.sessions.building import kind_of, string
from autocompact.sessions.session import Session, Skipped
from autocompact.wire.request import parse_message

_ONLY_HERE = frozenset(
    "function_call function_call_output reasoning custom_tool_call custom_tool_call_output local_shell_call "
    "local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output computer_call "
    "computer_call_output web_search_call file_search_call code_interpreter_call image_generation_call mcp_call "
    "mcp_list_tools mcp_approval_request mcp_approval_response item_reference compaction".split()
)


class _Block(msgspec.Struct):
    type: str = ""


_blocks = msgspec.json.Decoder(list[_Block]).decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a request or a reply."""
    if string(fields.get("object", b"")) == "response":
        return "output" in fields
    raw = bytes(fields.get("input", b""))
    if "messages" in fields or not raw:
        return False
    is_asked = raw.startswith(b'"') and not fields.keys().isdisjoint(("instructions", "output", "tools"))
    return is_asked or (raw.startswith(b"[") and _are_items(raw))


def is_list(document: bytes) -> bool:
    """True if a JSON array holds items that only this API has."""
    return _are_items(document)


def _are_items(document: bytes) -> bool:
    try:
        items = [(kind_of(fields), fields) for fields in map(_fields, _items(document))]
    except msgspec.DecodeError:
        return False
    # new kinds of calls come with nearly every model, always named so
    known = all(
        kind in _ONLY_HERE or kind.endswith(("_call", "_output")) or "role" in fields
        for kind, fields in items
    )
    return known and any(kind in _ONLY_HERE or _has_typed_text(fields) for kind, fields in items)


def _has_typed_text(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a message's content has blocks as only this API has them: other APIs' replies have ``type`` message, too."""
    try:
        return any(
            block.type in ("input_text", "output_text", "refusal") for block in _blocks(fields["content"])
        )
    except (KeyError, msgspec.DecodeError):
        return False


def read(lines: Iterable[bytes]) -> Session:
    """Read a list of items, a request, or a reply.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = b"".join(lines)
    instructions, model = b"", ""
    raws: list[bytes] = []
    if document.lstrip().startswith(b"["):
        raws += map(bytes, _items(document))
    else:
        fields = _fields(document)
        instructions, model = bytes(fields.get("instructions", b"")), string(fields.get("model", b""))
        for name in ("input", "output"):
            value = bytes(fields.get(name, b""))
            if value.startswith(b"["):
                raws += map(bytes, _items(value))
            elif text := string(value):
                raws.append(msgspec.json.encode({"role": "user", "content": text}))
    messages: list[Message] = []
    skipped: list[Skipped] = []
    if instructions.startswith(b'"'):
        messages.append(parse_message(instructions, seq=1, dialect="openai_responses", role="system"))
    for index, raw in enumerate(raws):
        try:
            messages.append(parse_message(raw, seq=len(messages) + 1, dialect="openai_responses"))
        except (msgspec.DecodeError, InvalidRequest) as error:
            skipped.append(Skipped(line=0, reason=f"item {index} cannot be read: {error}"))
    return Session(
        format="openai_responses",
        messages=tuple(messages),
        skipped=tuple(skipped),
        lines=(1,) * len(messages),
        model=model,
    )
