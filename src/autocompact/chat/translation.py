"""Between our messages and those of pydantic-ai. To be imported only where the extra ``chat`` is installed.

Reasoning is kept as the block of the API that it came from, signature and all, and goes back only to the same model
of the same API: whole, or not at all.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, assert_never
from xml.sax.saxutils import quoteattr

import msgspec
from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)

_FIELDS = ("reasoning_content", "reasoning")
"""Members of a chat completion that hold reasoning; pydantic-ai names a thinking part after its member."""


def system_text(prompt: str, messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The system text of a request, and the messages that follow it.

    The text is the prompt, then the system messages that the context begins with, such as a summary that is placed
    there. They become one text because pydantic-ai sends system messages before its instructions, whatever order they
    are given in.

    Args:
        prompt: the system prompt, which is not part of the log; "" if there is none.
        messages: the context.
    """
    leading = list(takewhile(lambda message: message.role == "system", messages))
    texts = (prompt, *(message.text.strip("\n") for message in leading))
    return "\n\n".join(text for text in texts if text), messages[len(leading) :]


def to_pydantic(
    messages: Iterable[Message], *, dialect: Dialect, model: str, provider: str
) -> list[ModelMessage]:
    """A context as pydantic-ai takes it.

    Args:
        messages: valid: each call answered right after it.
        dialect: the API it goes to.
        model: the model it goes to.
        provider: pydantic-ai's name of who serves it.
    """
    names: dict[str, str] = {}
    converted: list[ModelMessage] = []
    for answers, group in groupby(messages, key=lambda message: message.role == "assistant"):
        run = list(group)
        if answers:
            names |= {call.id: call.name for message in run for call in message.calls}
            own = [message.dialect == dialect and message.model == model for message in run]
            parts = [
                part
                for message, mine in zip(run, own, strict=True)
                for part in _response_parts(message, provider=provider if mine else "")
            ]
            converted.append(ModelResponse(parts=parts, provider_name=provider))
        else:
            request = [part for message in run for part in _request_parts(message, names=names)]
            converted.append(ModelRequest(parts=request))
    return converted


def _response_parts(message: Message, *, provider: str) -> Iterator[ModelResponsePart]:
    for part in message.parts:
        match part:
            case Text():
                if part.text:
                    yield TextPart(part.text)
            case ToolCall():
                yield ToolCallPart(part.name, _arguments(part.arguments), part.id)
            case Reasoning():
                if provider and part.raw is not None:
                    yield from _thinking(part.raw, provider=provider)
            case Image() | Document() | Opaque() | ToolResult():
                pass  # no API takes these back as the model's own words
            case _:
                assert_never(part)


def _arguments(given: str) -> str:
    """The arguments of a call; what is no JSON object, as a call that was cut off, no API takes back as it is."""
    try:
        msgspec.json.decode(given or "{}", type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return msgspec.json.encode({"invalid": given}).decode()
    return given or "{}"


def _request_parts(message: Message, *, names: dict[str, str]) -> Iterator[ModelRequestPart]:
    for result in message.results:
        name = names.get(result.call_id, "tool")
        outcome = "failed" if result.is_error else "success"
        yield ToolReturnPart(name, _content(result.text, result.media), result.call_id, outcome=outcome)
    if message.role == "system":
        yield SystemPromptPart(message.text)
        return
    words = [item for part in message.parts for item in _user_content(part)]
    if words:
        yield UserPromptPart(words[0] if len(words) == 1 and isinstance(words[0], str) else words)


def _content(text: str, media: Sequence[Image | Document]) -> Any:
    shown = [item for part in media for item in _user_content(part)]
    return [text, *shown] if shown else text


def _user_content(part: Part) -> Iterator[UserContent]:
    match part:
        case Text() if part.text:
            yield part.text
        case Image() if part.url and not part.data:
            yield ImageUrl(part.url)
        case Document() if part.url and not part.data:
            yield DocumentUrl(part.url)
        case Image() | Document() if part.data:
            yield BinaryContent(b64decode(part.data), media_type=part.media_type)
        case Document() if part.text:
            yield f"<file name={quoteattr(part.name)}>\n{part.text}\n</file>" if part.name else part.text
        case _:
            pass


def from_pydantic(response: ModelResponse, *, dialect: Dialect, model: str) -> Message:
    """The model's answer as a message of the log."""
    parts = [converted for part in response.parts if (converted := _part(part, dialect)) is not None]
    usage = response.usage
    reported = usage.input_tokens + usage.output_tokens > 0
    return Message(
        seq=0,
        role="assistant",
        parts=tuple(parts),
        dialect=dialect,
        id=response.provider_response_id or "",
        model=model,
        usage=Usage(prompt=usage.input_tokens, completion=usage.output_tokens) if reported else None,
    )


def _part(part: ModelResponsePart, dialect: Dialect) -> Part | None:
    match part:
        case TextPart():
            return Text(text=part.content) if part.content else None
        case ToolCallPart():
            return ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=part.args_as_json_str())
        case ThinkingPart():
            return Reasoning(text=part.content, raw=_block(part, dialect))
        case _:
            return None  # what providers run themselves is not asked for


class _Summary(msgspec.Struct):
    text: str
    type: str = "summary_text"


class _Block(msgspec.Struct, omit_defaults=True):
    """A block of reasoning, in the JSON of the API that it came from."""

    type: str = ""
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    summary: list[_Summary] | None = None
    encrypted_content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


def _block(part: ThinkingPart, dialect: Dialect) -> bytes | None:
    """The part as its API has it; None if it cannot go back, since nothing vouches for it."""
    match dialect:
        case "anthropic":
            if part.signature is None:
                return None
            if part.id == "redacted_thinking":
                return msgspec.json.encode(_Block(type="redacted_thinking", data=part.signature))
            return msgspec.json.encode(
                _Block(type="thinking", thinking=part.content, signature=part.signature)
            )
        case "openai_responses":
            if not part.id:
                return None
            summary = [_Summary(text=part.content)] if part.content else []
            return msgspec.json.encode(
                _Block(type="reasoning", id=part.id, summary=summary, encrypted_content=part.signature)
            )
        case "openai_chat":
            return msgspec.json.encode({part.id: part.content}) if part.id in _FIELDS else None
        case _:
            assert_never(dialect)


def _thinking(raw: bytes, *, provider: str) -> Iterator[ThinkingPart]:
    block = msgspec.json.decode(raw, type=_Block)
    match block.type:
        case "thinking":
            yield ThinkingPart(block.thinking or "", signature=block.signature, provider_name=provider)
        case "redacted_thinking":
            yield ThinkingPart("", id=block.type, signature=block.data, provider_name=provider)
        case "reasoning":
            text = "\n\n".join(item.text for item in block.summary or ())
            yield ThinkingPart(text, id=block.id, signature=block.encrypted_content, provider_name=provider)
        case _:
            for name in _FIELDS:
                if (text := getattr(block, name)) is not None:
                    yield ThinkingPart(text, id=name, provider_name=provider)
