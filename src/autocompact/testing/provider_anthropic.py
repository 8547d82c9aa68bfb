"""Anthropic Messages as `FakeProvider` speaks it: the rules for requests, and replies whole and streamed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from autocompact.core.messages import Dialect
from autocompact.testing.provider_compaction import (
    begins_with_block,
    check_blocks,
    readable_block,
    seen_messages,
)
from autocompact.testing.provider_prompt import MESSAGE_TOKENS, Figures, Segment, segment, tool_segments
from autocompact.testing.provider_refusals import Refusal, anthropic_error
from autocompact.testing.provider_script import Answer, Json, Received, is_array, is_object, pieces

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_STOP = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "refusal",
    "compaction": "compaction",
}
_SIGNED = "fake:"
_MARKS = 4


class Messages:
    """``/v1/messages`` and ``/v1/messages/count_tokens``."""

    dialect: Dialect = "anthropic"

    def check(self, body: Json, *, counting: bool) -> Iterator[Refusal]:
        """Every rule of the API that the request breaks, the first one first."""
        if not counting and not isinstance(body.get("max_tokens"), int):
            yield anthropic_error("max_tokens: Field required")
        messages = body.get("messages")
        if not is_array(messages):
            yield anthropic_error(
                "messages: Field required" if messages is None else "messages: Input should be a valid list"
            )
        elif not messages:
            yield anthropic_error("messages: at least one message is required")
        else:
            yield from self._messages(messages)
        yield from _system(body.get("system"))
        if body.get("tool_choice") is not None and not body.get("tools"):
            yield anthropic_error("tool_choice: tool_choice may only be specified while providing tools")
        if (marks := _marks(body)) > _MARKS:
            yield anthropic_error(
                f"A maximum of {_MARKS} blocks with cache_control may be provided. Found {marks}."
            )

    def _messages(self, messages: Sequence[Any]) -> Iterator[Refusal]:
        yield from check_blocks(messages)
        messages = seen_messages(messages)
        for place, message in enumerate(messages):
            yield from _message(message, place, last=place == len(messages) - 1)
        if all(is_object(message) for message in messages):
            if messages[0].get("role") == "assistant" and not begins_with_block(messages[0]):
                yield anthropic_error('messages: first message must use the "user" role')
            yield from _system_places([message.get("role") for message in messages])
            yield from _pairs(messages)
            yield from _ending(messages[-1])

    def segments(self, body: Json) -> list[Segment]:
        """The prompt, for counting and caching."""
        found = [*tool_segments(body.get("tools")), *map(segment, _blocks(body.get("system")))]
        for message in seen_messages(body["messages"]):
            blocks = [segment(block) for block in _blocks(message.get("content"))]
            framing = Segment(text=str(message.get("role")), fixed=MESSAGE_TOKENS - 1)
            found += [framing, *blocks]
        if body.get("cache_control"):
            found[-1] = Segment(text=found[-1].text, fixed=found[-1].fixed, marked=True)
        return found

    def usage(self, figures: Figures, answer: Answer) -> Json:
        """The ``usage`` of a reply."""
        return {
            "input_tokens": figures.prompt - figures.read - figures.written,
            "cache_creation_input_tokens": figures.written,
            "cache_read_input_tokens": figures.read,
            "output_tokens": answer.tokens or 0,
            "service_tier": "standard",
        }

    def whole(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> bytes:
        """The reply in one piece."""
        reply = self._reply(asked, number) | {
            "content": _answer_blocks(answer),
            "stop_reason": _STOP[answer.stop_reason],
            "usage": self.usage(figures, answer),
        }
        return msgspec.json.encode(reply)

    def _reply(self, asked: Received, number: int) -> Json:
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def events(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        begun = self.usage(figures, answer) | {"output_tokens": 1}
        yield event("message_start", message=self._reply(asked, number) | {"usage": begun})
        yield event("ping")
        for index, block in enumerate(_answer_blocks(answer)):
            empty, deltas = _opened(block)
            yield event("content_block_start", index=index, content_block=empty)
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        yield event(
            "message_delta",
            delta={"stop_reason": _STOP[answer.stop_reason], "stop_sequence": None},
            usage={"output_tokens": answer.tokens or 0},
        )
        yield event("message_stop")

    def stream_error(self) -> bytes:
        """Bytes that the server sends when it fails in the midst of a stream."""
        return event("error", error={"type": "overloaded_error", "message": "Overloaded"})


def event(kind: str, **members: Any) -> bytes:
    """Encode an event with its name."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **members}))


def _signature(thinking: str) -> str:
    return _SIGNED + blake2b(thinking.encode(), digest_size=16).hexdigest()


def _answer_blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = [readable_block(answer.compaction)] if answer.compaction else []
    if answer.reasoning:
        signature = _signature(answer.reasoning)
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": signature})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        given = msgspec.json.decode(call.arguments or "{}")
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
    return blocks


def _opened(block: Json) -> tuple[Json, Iterator[Json]]:
    """A block as it begins, and what then comes."""
    match block["type"]:
        case "text":
            deltas = ({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))
            return block | {"text": ""}, deltas
        case "thinking":
            return block | {"thinking": "", "signature": ""}, _thinking(block)
        case "compaction":
            return block | {"content": None}, iter(
                ({"type": "compaction_delta", "content": block["content"]},)
            )
        case _:
            text = msgspec.json.encode(block["input"]).decode()
            inputs = ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(text)))
            return block | {"input": {}}, inputs


def _thinking(block: Json) -> Iterator[Json]:
    for piece in pieces(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _blocks(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[Any] = content if is_array(content) else []
    return [block for block in blocks if is_object(block)]


def _marks(body: Json) -> int:
    tools = body.get("tools")
    listed: list[Any] = [*(tools if is_array(tools) else ()), *_blocks(body.get("system"))]
    messages = body.get("messages")
    for message in messages if is_array(messages) else ():
        listed += _blocks(message.get("content")) if is_object(message) else []
    return sum(is_object(each) and bool(each.get("cache_control")) for each in listed)


def _system(system: Any) -> Iterator[Refusal]:
    if system is not None and not isinstance(system, str | list):
        yield anthropic_error("system: Input should be a valid list")
    if is_array(system) and any(not block.get("text") for block in _blocks(system)):
        yield anthropic_error("system: text content blocks must be non-empty")


def _message(message: Any, place: int, *, last: bool) -> Iterator[Refusal]:
    if not is_object(message):
        yield anthropic_error(f"messages.{place}: Input should be a valid dictionary or object")
        return
    role, content = message.get("role"), message.get("content")
    if role == "system" and not place:
        yield anthropic_error(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
            "as an input message role."
        )
    elif role not in ("user", "assistant", "system"):
        yield anthropic_error(f"messages.{place}.role: Input should be 'user' or 'assistant'")
    for name in message.keys() - {"role", "content"}:
        yield anthropic_error(f"messages.{place}.{name}: Extra inputs are not permitted")
    if not isinstance(content, str | list):
        yield anthropic_error(f"messages.{place}.content: Field required")
    elif not content and not (last and role == "assistant"):
        yield anthropic_error(
            f"messages.{place}: all messages must have non-empty content except for the optional final assistant "
            "message"
        )
    for index, block in enumerate(_blocks(content)):
        yield from _block(block, role=str(role), path=f"messages.{place}.content.{index}")


def _system_places(roles: Sequence[Any]) -> Iterator[Refusal]:
    """A system message in the midst stands after a user message, at the end or before one of the model."""
    for place, (before, role, after) in enumerate(zip(roles, roles[1:], [*roles[2:], None], strict=False), 1):
        if role != "system":
            continue
        if before != "user":
            yield anthropic_error(f"messages.{place}: role 'system' must follow a 'user' message")
        if after not in (None, "assistant"):
            yield anthropic_error(
                f"messages.{place}: role 'system' must be the last message or be followed by an 'assistant' message"
            )


def _block(block: Json, *, role: str, path: str) -> Iterator[Refusal]:
    match block.get("type"):
        case "text":
            text = block.get("text")
            if not text:
                yield anthropic_error("messages: text content blocks must be non-empty")
            elif not str(text).strip():
                yield anthropic_error("messages: text content blocks must contain non-whitespace text")
        case "tool_use":
            yield from _tool_use(block, role=role, path=path)
        case "tool_result" if role != "user":
            yield anthropic_error(f"{path}: `tool_result` blocks can only be in `user` messages")
        case "thinking":
            yield from _thought(block, path=path)
        case None:
            yield anthropic_error(f"{path}.type: Field required")
        case _:
            pass


def _tool_use(block: Json, *, role: str, path: str) -> Iterator[Refusal]:
    if role != "assistant":
        yield anthropic_error(f"{path}: `tool_use` blocks can only be in `assistant` messages")
    if not _ID.fullmatch(str(block.get("id", ""))):
        yield anthropic_error(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not _ID.fullmatch(str(block.get("name", ""))):
        yield anthropic_error(f"{path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    if not isinstance(block.get("input"), dict):
        yield anthropic_error(f"{path}.tool_use.input: Input should be a valid dictionary")


def _thought(block: Json, *, path: str) -> Iterator[Refusal]:
    signature = block.get("signature")
    if not isinstance(signature, str):
        yield anthropic_error(f"{path}.thinking.signature: Field required")
    elif signature.startswith(_SIGNED) and signature != _signature(str(block.get("thinking"))):
        yield anthropic_error(f"{path}: Invalid `signature` in `thinking` block")


def _pairs(messages: Sequence[Json]) -> Iterator[Refusal]:
    """Calls and results: each result right after its call, before anything else, once."""
    seen: set[str] = set()
    turns = _turns(messages)
    for number, (place, role, blocks) in enumerate(turns):
        calls = [block.get("id", "") for block in blocks if block.get("type") == "tool_use"]
        following = turns[number + 1][2] if number + 1 < len(turns) else []
        answered = _leading_results(following)
        if unanswered := [call for call in calls if call not in answered]:
            yield anthropic_error(
                f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        if not seen.isdisjoint(calls) or len(set(calls)) < len(calls):
            yield anthropic_error("messages: `tool_use` ids must be unique")
        seen.update(calls)
        if role == "user":
            before = turns[number - 1][2] if number else []
            yield from _results(blocks, before, place=place)


def _turns(messages: Sequence[Json]) -> list[tuple[int, str, list[Json]]]:
    """Messages in a row of the same role are one turn; each with the place of its first message."""
    turns: list[tuple[int, str, list[Json]]] = []
    for place, message in enumerate(messages):
        blocks = _blocks(message.get("content"))
        if turns and turns[-1][1] == message.get("role"):
            turns[-1][2].extend(blocks)
        else:
            turns.append((place, str(message.get("role")), blocks))
    return turns


def _leading_results(blocks: Sequence[Json]) -> list[str]:
    found: list[str] = []
    for block in blocks:
        if block.get("type") != "tool_result":
            break
        found.append(str(block.get("tool_use_id")))
    return found


def _results(blocks: Sequence[Json], before: Sequence[Json], *, place: int) -> Iterator[Refusal]:
    calls = {block.get("id") for block in before if block.get("type") == "tool_use"}
    answered: set[str] = set()
    for index, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            continue
        path, call_id = f"messages.{place}.content.{index}", str(block.get("tool_use_id"))
        if call_id not in calls:
            yield anthropic_error(
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message."
            )
        elif call_id in answered:
            yield anthropic_error(
                f"{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                f"{call_id}"
            )
        answered.add(call_id)


def _ending(message: Json) -> Iterator[Refusal]:
    blocks = _blocks(message.get("content"))
    if message.get("role") == "assistant" and blocks and blocks[-1].get("type") == "text":
        text = str(blocks[-1].get("text"))
        if text != text.rstrip():
            yield anthropic_error("messages: final assistant content cannot end with trailing whitespace")
