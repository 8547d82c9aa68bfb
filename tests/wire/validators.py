"""What each API demands of a list of messages, written down apart from the code under test.

`check` raises `Refused` with the rule that was broken, as the API would answer 400. It looks only at decoded JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from autocompact.core.messages import Dialect

Json = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Refused(AssertionError):
    """The API would refuse this list."""


def check(messages: Sequence[bytes], *, dialect: Dialect, system: bytes | None = None) -> None:
    """Raise `Refused` if the API would not take these messages."""
    _RULES[dialect]([json.loads(message) for message in messages], json.loads(system or b"null"))


def _need(held: object, rule: str, *, where: object = "") -> None:
    if not held:
        raise Refused(f"{rule}: {where!r}"[:400])


def _listed(value: Any, *, where: object) -> list[Json]:
    held = isinstance(value, list) and bool(cast(list[Json], value))
    _need(held, "a list that is not empty", where=where)
    return cast(list[Json], value)


def check_chat(messages: list[Json], system: object = None) -> None:
    """Chat Completions: every call is answered by a tool message right after, every tool message answers a call."""
    _need(system is None, "chat has no system prompt outside of the list")
    open_calls: list[str] = []
    for message in messages:
        role = message.get("role")
        _need(role in ("system", "developer", "user", "assistant", "tool"), "role", where=message)
        if role == "tool":
            _need(message.get("tool_call_id") in open_calls, "a tool message follows its call", where=message)
            open_calls.remove(message["tool_call_id"])
            _chat_content(message, ("text",))
            continue
        _need(not open_calls, "calls are answered before anything else", where=message)
        if role == "assistant":
            open_calls = _chat_assistant(message)
        else:
            _chat_content(
                message, ("text", "image_url", "input_audio", "file") if role == "user" else ("text",)
            )
    _need(not open_calls, "every call is answered", where=open_calls)


def _chat_assistant(message: Json) -> list[str]:
    calls = message.get("tool_calls")
    _need(calls is None or calls, "tool_calls is not empty", where=message)
    if message.get("content") is None:
        says = calls or message.get("function_call") or message.get("refusal") or message.get("audio")
        _need(says, "an assistant message says something", where=message)
    else:
        _chat_content(message, ("text", "refusal"))
    for call in calls or ():
        kind = call["type"]
        _need(kind in ("function", "custom") and _NAME.fullmatch(call[kind]["name"]), "tool call", where=call)
        _need(isinstance(call[kind].get("arguments", ""), str), "arguments are a string", where=call)
    ids = [call["id"] for call in calls or ()]
    _need(len(set(ids)) == len(ids) and all(ids), "call ids are unique within a message", where=ids)
    return ids


def _chat_content(message: Json, kinds: Sequence[str]) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    for block in _listed(content, where=message):
        _need(block.get("type") in kinds, f"a block is one of {kinds}", where=block)
        _need(block["type"] in block, "a block holds what its type says", where=block)


def check_anthropic(messages: list[Json], system: object = None) -> None:
    """Messages: roles alternate, the user begins, results come first in the message right after their calls."""
    if system is not None and not isinstance(system, str):
        for block in _listed(system, where=system):
            _need(block.get("type") == "text" and block["text"].strip(), "system holds texts", where=block)
    _need(messages, "there is a message")
    _need(messages[0]["role"] == "user", "the first message is the user's", where=messages[0])
    open_calls: set[str] = set()
    seen: set[str] = set()
    for place, message in enumerate(messages):
        _need(message["role"] == ("user", "assistant")[place % 2], "roles alternate", where=message)
        _need(set(message) <= {"role", "content"}, "no other members", where=message)
        blocks = _blocks(message)
        answered = _results(blocks)
        _need(set(answered) == open_calls, "results answer the calls before", where=(answered, open_calls))
        _need(len(set(answered)) == len(answered), "one result per call", where=answered)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        _need(not calls or message["role"] == "assistant", "only the assistant calls", where=message)
        _need(len(set(calls)) == len(calls) and seen.isdisjoint(calls), "ids are unique", where=calls)
        seen.update(calls)
        open_calls = set(calls)
    _need(not open_calls, "every call is answered", where=open_calls)


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    _need(blocks, "content is not empty", where=message)
    for block in blocks:
        _block(block, message["role"])
    kinds = [block["type"] for block in blocks]
    thinks = [kind in ("thinking", "redacted_thinking") for kind in kinds]
    _need(thinks[0] or not any(thinks), "a message that thinks begins with it", where=kinds)
    return blocks


def _block(block: Json, role: str) -> None:
    match block["type"]:
        case "text":
            _need(block["text"].strip(), "no empty text", where=block)
        case "tool_use":
            _need(_ID.fullmatch(block["id"]) and _NAME.fullmatch(block["name"]), "tool_use", where=block)
            _need(isinstance(block["input"], dict), "input is an object", where=block)
        case "thinking":
            _need(block["signature"] and role == "assistant", "thinking is signed", where=block)
        case "tool_result":
            _need(role == "user", "results are in user messages", where=block)
            inner = block.get("content", "")
            for part in () if isinstance(inner, str) else cast(list[Json], inner):
                _block(part, role)
        case "image" | "document":
            _need(role == "user" and block["source"]["type"], "media are the user's", where=block)
        case _:
            pass


def _results(blocks: list[Json]) -> list[str]:
    kinds = [block["type"] == "tool_result" for block in blocks]
    _need(kinds == sorted(kinds, reverse=True), "results come first", where=kinds)
    return [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


def check_responses(items: list[Json], system: object = None) -> None:
    """Responses: every call item is answered once, later, by the output item of its kind."""
    _need(system is None or isinstance(system, str), "instructions are a string", where=system)
    open_calls: dict[str, str] = {}
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            _message_item(item)
        elif kind.endswith("_output"):
            call_id = item.get("call_id") or item["id"]
            _need(open_calls.pop(call_id, None) == kind, "an output answers a call of its kind", where=item)
        elif item.get("call_id"):
            _need(item["call_id"] not in open_calls, "ids of open calls are unique", where=item)
            open_calls[item["call_id"]] = kind.replace("search_call", "search") + "_output"
            if kind == "function_call":
                _need(_NAME.fullmatch(item["name"]), "a function has a name", where=item)
                _need(isinstance(item["arguments"], str), "arguments are a string", where=item)
    _need(not open_calls, "every call is answered", where=open_calls)


def _message_item(item: Json) -> None:
    role, content = item["role"], item["content"]
    _need(role in ("system", "developer", "user", "assistant"), "role", where=item)
    if isinstance(content, str):
        return
    kinds = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file")
    for block in _listed(content, where=item):
        _need(block.get("type") in kinds, f"a block is one of {kinds}", where=block)


_RULES: Mapping[Dialect, Callable[[list[Json], object], None]] = {
    "openai_chat": check_chat,
    "anthropic": check_anthropic,
    "openai_responses": check_responses,
}
