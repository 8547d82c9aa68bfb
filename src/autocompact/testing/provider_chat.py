"""OpenAI Chat Completions as `FakeProvider` speaks it: the rules for requests, and replies whole and streamed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from autocompact.core.messages import Dialect
from autocompact.testing.provider_prompt import MESSAGE_TOKENS, Figures, Segment, segment, tool_segments
from autocompact.testing.provider_refusals import Refusal, openai_error
from autocompact.testing.provider_script import Answer, Json, Received, is_array, is_object, pieces

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "refusal": "stop"}


class Chat:
    """``/v1/chat/completions``."""

    dialect: Dialect = "openai_chat"

    def check(self, body: Json, *, counting: bool) -> Iterator[Refusal]:
        """Every rule of the API that the request breaks, the first one first."""
        del counting  # there is no endpoint that only counts
        messages = body.get("messages")
        if messages is None:
            yield _missing("messages")
        elif not is_array(messages):
            yield openai_error(
                "Invalid type for 'messages': expected an array of objects.",
                param="messages",
                code="invalid_type",
            )
        elif not messages:
            yield _empty_array("messages")
        else:
            yield from self._messages(messages)
        yield from _settings(body)

    def _messages(self, messages: Sequence[Any]) -> Iterator[Refusal]:
        calls: list[str] = []
        unanswered: list[str] = []
        for place, message in enumerate(messages):
            if not is_object(message):
                yield openai_error(
                    f"Invalid type for 'messages[{place}]': expected an object.",
                    param=f"messages[{place}]",
                    code="invalid_type",
                )
                return
            yield from _role(message, place)
            if message.get("role") == "tool":
                yield from _answers(message, place, calls=calls)
                unanswered = [each for each in unanswered if each != message.get("tool_call_id")]
                continue
            if unanswered:
                yield _unanswered(unanswered, place)
            yield from _call_rules(message, place)
            yield from _content(message, place)
            calls = [call.get("id", "") for call in _calls(message)]
            unanswered = list(calls)
        if unanswered:
            yield _unanswered(unanswered, len(messages))

    def segments(self, body: Json) -> list[Segment]:
        """The prompt, for counting and caching."""
        tools = tool_segments(body.get("tools"))
        return [*tools, *(segment(message, fixed=MESSAGE_TOKENS) for message in body["messages"])]

    def usage(self, figures: Figures, answer: Answer) -> Json:
        """The ``usage`` of a reply."""
        completion = answer.tokens or 0
        return {
            "prompt_tokens": figures.prompt,
            "completion_tokens": completion,
            "total_tokens": figures.prompt + completion,
            "prompt_tokens_details": {"cached_tokens": figures.read, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }

    def whole(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> bytes:
        """The reply in one piece."""
        message: Json = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.stop_reason == "refusal":
            message |= {"content": None, "refusal": answer.text}
        elif not answer.calls:
            message["content"] = answer.text
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = _wire_calls(answer)
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _FINISH[answer.stop_reason],
        }
        head = _head(asked, number, kind="chat.completion")
        return msgspec.json.encode({**head, "choices": [choice], "usage": self.usage(figures, answer)})

    def events(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        head = _head(asked, number, kind="chat.completion.chunk")
        options = asked.body.get("stream_options")
        with_usage = is_object(options) and options.get("include_usage") is True
        rest: Json = {"usage": None} if with_usage else {}

        def chunk(delta: Json, finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return data({**head, "choices": [choice], **rest})

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        yield b": keep-alive\n\n"
        for delta in _deltas(answer):
            yield chunk(delta)
        yield chunk({}, _FINISH[answer.stop_reason])
        if with_usage:
            yield data({**head, "choices": [], "usage": self.usage(figures, answer)})
        yield b"data: [DONE]\n\n"

    def stream_error(self) -> bytes:
        """Bytes that the server sends when it fails in the midst of a stream."""
        error = {"message": "The server had an error while processing your request. Sorry about that!"}
        return data({"error": error | {"type": "server_error", "param": None, "code": None}})


def data(value: Any) -> bytes:
    """Encode an event without a name."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _head(asked: Received, number: int, *, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": 1_700_000_000 + number,
        "model": asked.model,
        "system_fingerprint": "fp_fake",
    }


def _wire_calls(answer: Answer) -> list[Json]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]


def _deltas(answer: Answer) -> Iterator[Json]:
    for piece in pieces(answer.reasoning):
        yield {"reasoning_content": piece}
    for piece in pieces(answer.text):
        yield {"refusal" if answer.stop_reason == "refusal" else "content": piece}
    for index, call in enumerate(_wire_calls(answer)):
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = ""
        yield {"tool_calls": [{"index": index, **call}]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _missing(name: str) -> Refusal:
    return openai_error(
        f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter"
    )


def _empty_array(name: str) -> Refusal:
    return openai_error(
        f"Invalid '{name}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        param=name,
        code="empty_array",
    )


def _role(message: Json, place: int) -> Iterator[Refusal]:
    role = message.get("role")
    if role is None:
        yield _missing(f"messages[{place}].role")
    elif role not in _ROLES:
        listed = ", ".join(f"'{each}'" for each in _ROLES[:-1])
        yield openai_error(
            f"Invalid value: '{role}'. Supported values are: {listed}, and '{_ROLES[-1]}'.",
            param=f"messages[{place}].role",
            code="invalid_value",
        )


def _answers(message: Json, place: int, *, calls: Sequence[str]) -> Iterator[Refusal]:
    call_id = message.get("tool_call_id")
    if call_id is None:
        yield _missing(f"messages[{place}].tool_call_id")
    elif not calls:
        yield openai_error(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            param=f"messages.[{place}].role",
        )
    elif call_id not in calls:
        yield openai_error(
            f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous message.",
            param=f"messages.[{place}].tool_call_id",
        )
    if message.get("content") is None:
        yield _no_content(place)


def _unanswered(calls: Sequence[str], place: int) -> Refusal:
    return openai_error(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(calls)}",
        param=f"messages.[{place}].role",
    )


def _no_content(place: int) -> Refusal:
    return openai_error(
        "Invalid value for 'content': expected a string, got null.", param=f"messages.[{place}].content"
    )


def _content(message: Json, place: int) -> Iterator[Refusal]:
    content = message.get("content")
    if content is None:
        says = message.get("tool_calls") or message.get("function_call") or message.get("refusal")
        if message.get("role") != "assistant" or not (says or message.get("audio")):
            yield _no_content(place)
    elif is_array(content):
        if not content:
            yield _empty_array(f"messages[{place}].content")
        for index, block in enumerate(content):
            if not is_object(block) or not isinstance(block.get("type"), str):
                yield _missing(f"messages[{place}].content[{index}].type")
    elif not isinstance(content, str):
        yield openai_error(
            f"Invalid type for 'messages[{place}].content': expected one of a string or array of objects.",
            param=f"messages[{place}].content",
            code="invalid_type",
        )


def _calls(message: Json) -> list[Json]:
    calls = message.get("tool_calls")
    return [call for call in calls if is_object(call)] if is_array(calls) else []


def _call_rules(message: Json, place: int) -> Iterator[Refusal]:
    if message.get("tool_calls") == []:
        yield _empty_array(f"messages[{place}].tool_calls")
    for index, call in enumerate(_calls(message)):
        path = f"messages[{place}].tool_calls[{index}]"
        for name in ("id", "type"):
            if not isinstance(call.get(name), str):
                yield _missing(f"{path}.{name}")
        if len(call.get("id") or "") > 40:
            yield openai_error(
                f"Invalid '{path}.id': string too long. Expected a string with maximum length 40, but got a string "
                f"with length {len(call['id'])} instead.",
                param=f"{path}.id",
                code="string_above_max_length",
            )
        if call.get("type") == "function":
            yield from _function(call.get("function"), path=f"{path}.function")


def _function(function: Any, *, path: str) -> Iterator[Refusal]:
    if not is_object(function):
        yield _missing(path)
        return
    if not isinstance(function.get("arguments"), str):
        yield openai_error(
            f"Invalid type for '{path}.arguments': expected a string.",
            param=f"{path}.arguments",
            code="invalid_type",
        )
    if not _NAME.fullmatch(str(function.get("name", ""))):
        yield openai_error(
            f"Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            param=f"{path}.name",
            code="invalid_value",
        )


def _settings(body: Json) -> Iterator[Refusal]:
    if body.get("tools") == []:
        yield _empty_array("tools")
    if body.get("tool_choice") is not None and not body.get("tools"):
        yield openai_error(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
            param="tool_choice",
        )
    if body.get("stream_options") is not None and body.get("stream") is not True:
        yield openai_error(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options"
        )
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        yield openai_error(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            param="max_tokens",
            code="invalid_parameter_combination",
        )
