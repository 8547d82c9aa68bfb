"""OpenAI Responses as `FakeProvider` speaks it: the rules for requests, and replies whole and streamed.

Nothing is stored: every request brings its whole input, as agents send it with ``store: false``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from autocompact.core.messages import Dialect
from autocompact.testing.provider_anthropic import event
from autocompact.testing.provider_compaction import check_items, sealed_item, seen_items
from autocompact.testing.provider_prompt import MESSAGE_TOKENS, Figures, Segment, segment, tool_segments
from autocompact.testing.provider_refusals import Refusal, openai_error
from autocompact.testing.provider_script import Answer, Json, Received, is_array, is_object, pieces

LEAST_OUTPUT = 16

_INPUT = ("input_text", "input_image", "input_file", "input_audio")
_OUTPUT = ("output_text", "refusal")
_ROLES = ("assistant", "system", "developer", "user")


class Responses:
    """``/v1/responses``, ``/v1/responses/compact`` and ``/v1/responses/input_tokens``."""

    dialect: Dialect = "openai_responses"

    def check(self, body: Json, *, counting: bool) -> Iterator[Refusal]:
        """Every rule of the API that the request breaks, the first one first."""
        del counting  # the same rules hold for both
        earlier = body.get("previous_response_id")
        if earlier is not None:
            yield openai_error(
                f"Previous response with id '{earlier}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        given = body.get("input")
        if given is None:
            yield openai_error(
                "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
                param="input",
                code="missing_required_parameter",
            )
        elif is_array(given):
            yield from check_items(given)
            yield from _items(seen_items(given))
        elif not isinstance(given, str):
            yield openai_error(
                "Invalid type for 'input': expected one of a string or array of input items.",
                param="input",
                code="invalid_type",
            )
        limit = body.get("max_output_tokens")
        if isinstance(limit, int) and limit < LEAST_OUTPUT:
            yield openai_error(
                f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LEAST_OUTPUT}, but got "
                f"{limit} instead.",
                param="max_output_tokens",
                code="integer_below_min_value",
            )

    def segments(self, body: Json) -> list[Segment]:
        """The prompt, for counting and caching."""
        found = list(tool_segments(body.get("tools")))
        if body.get("instructions"):
            found.append(segment(body["instructions"], fixed=MESSAGE_TOKENS))
        given = seen_items(_listed(body["input"]))
        return [*found, *(segment(item, fixed=MESSAGE_TOKENS) for item in given)]

    def usage(self, figures: Figures, answer: Answer) -> Json:
        """The ``usage`` of a reply."""
        output = answer.tokens or 0
        return {
            "input_tokens": figures.prompt,
            "input_tokens_details": {"cached_tokens": figures.read},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": figures.prompt + output,
        }

    def whole(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> bytes:
        """The reply in one piece."""
        return msgspec.json.encode(self._finished(answer, asked, figures=figures, number=number))

    def _begun(self, asked: Received, number: int) -> Json:
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1_700_000_000 + number,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": asked.model,
            "output": [],
            "parallel_tool_calls": True,
            "store": False,
            "usage": None,
        }

    def _finished(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> Json:
        if asked.path.endswith("/compact"):
            return self._compacted(answer, asked, figures=figures, number=number)
        cut = answer.stop_reason == "length"
        return self._begun(asked, number) | {
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": _output(answer, asked, number=number),
            "usage": self.usage(figures, answer),
        }

    def _compacted(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> Json:
        """The answer of ``/v1/responses/compact``: what the user said, and the compaction."""
        said = [item for item in asked.messages if item.get("role") == "user"]
        return {
            "id": f"resp_{number}",
            "object": "response.compaction",
            "created_at": 1_700_000_000 + number,
            "output": [*said, sealed_item(answer.compaction, number)],
            "usage": self.usage(figures, answer),
        }

    def events(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        begun = self._begun(asked, number)
        finished = self._finished(answer, asked, figures=figures, number=number)
        told: list[tuple[str, Json]] = [
            ("created", {"response": begun}),
            ("in_progress", {"response": begun}),
        ]
        for index, item in enumerate(finished["output"]):
            place = {"output_index": index}
            told.append(("output_item.added", {**place, "item": _empty(item)}))
            told += [(kind, {"item_id": item["id"], **place, **members}) for kind, members in _growth(item)]
            told.append(("output_item.done", {**place, "item": item}))
        told.append((finished["status"], {"response": finished}))
        for number_, (kind, members) in enumerate(told):
            yield event(f"response.{kind}", sequence_number=number_, **members)

    def stream_error(self) -> bytes:
        """Bytes that the server sends when it fails in the midst of a stream."""
        message = "The server had an error while processing your request. Sorry about that!"
        return event("error", code="server_error", message=message, param=None)


def _listed(given: Any) -> list[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _output(answer: Answer, asked: Received, *, number: int) -> list[Json]:
    items: list[Json] = [sealed_item(answer.compaction, number)] if answer.compaction else []
    if answer.stop_reason == "compaction":
        return items
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": summary})
    if answer.text or not answer.calls:
        block: Json = {"type": "output_text", "text": answer.text, "annotations": []}
        if answer.stop_reason == "refusal":
            block = {"type": "refusal", "refusal": answer.text}
        items.append(
            {
                "id": f"msg_{number}",
                "type": "message",
                "status": "incomplete" if answer.stop_reason == "length" else "completed",
                "role": "assistant",
                "content": [block],
            }
        )
    tools = {tool.get("name"): (tool, namespace) for tool, namespace in listed_tools(asked.body)}
    for index, call in enumerate(answer.calls):
        tool, namespace = tools.get(call.name, ({}, ""))
        custom = tool.get("type") == "custom"
        item: Json = {
            "id": f"{'ctc' if custom else 'fc'}_{number}_{index}",
            "type": "custom_tool_call" if custom else "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "input" if custom else "arguments": call.arguments,
        }
        items.append(item | ({"namespace": namespace} if namespace else {}))
    return items


def listed_tools(body: Json) -> Iterator[tuple[Json, str]]:
    """Each tool that the request offers, with its namespace or "": in ``tools`` or in an item ``additional_tools``."""
    lists = [body.get("tools")]
    given = body.get("input")
    lists += [
        item.get("tools")
        for item in (given if is_array(given) else ())
        if is_object(item) and item.get("type") == "additional_tools"
    ]
    for tool in (tool for tools in lists if is_array(tools) for tool in tools if is_object(tool)):
        members = tool.get("tools")
        if tool.get("type") == "namespace" and is_array(members):
            yield from ((each, str(tool.get("name"))) for each in members if is_object(each))
        else:
            yield tool, ""


def _empty(item: Json) -> Json:
    """An item as it begins."""
    empty: Json = {
        "reasoning": {"summary": []},
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "custom_tool_call": {"input": ""},
    }
    if item["type"] == "compaction":
        return item
    return item | empty[item["type"]] | ({} if item["type"] == "reasoning" else {"status": "in_progress"})


def _growth(item: Json) -> Iterator[tuple[str, Json]]:
    """Yield the events between the beginning and the end of an item."""
    match item["type"]:
        case "function_call":
            for piece in pieces(item["arguments"]):
                yield "function_call_arguments.delta", {"delta": piece}
            yield "function_call_arguments.done", {"arguments": item["arguments"]}
        case "custom_tool_call":
            for piece in pieces(item["input"]):
                yield "custom_tool_call_input.delta", {"delta": piece}
            yield "custom_tool_call_input.done", {"input": item["input"]}
        case "compaction":
            return
        case "reasoning":
            yield from _texts(item["summary"][0], "reasoning_summary", place="summary_index", key="text")
        case _:
            block = item["content"][0]
            key = "text" if block["type"] == "output_text" else "refusal"
            yield from _texts(block, "content", place="content_index", key=key)


def _texts(block: Json, part: str, *, place: str, key: str) -> Iterator[tuple[str, Json]]:
    at = {place: 0}
    kind = "reasoning_summary_text" if part == "reasoning_summary" else block["type"]
    yield f"{part}_part.added", {**at, "part": block | {key: ""}}
    for piece in pieces(block[key]):
        yield f"{kind}.delta", {**at, "delta": piece}
    yield f"{kind}.done", {**at, key: block[key]}
    yield f"{part}_part.done", {**at, "part": block}


def _items(items: Sequence[Any]) -> Iterator[Refusal]:
    listed = list(filter(is_object, items))
    if len(listed) < len(items):
        yield openai_error(
            "Invalid type for 'input': expected an array of objects.", param="input", code="invalid_type"
        )
        return
    for place, item in enumerate(listed):
        match item.get("type", "message"):
            case "message":
                yield from _message(item, place)
            case "reasoning":
                yield from _reasoning(item, listed[place + 1 : place + 2])
            case "function_call" | "custom_tool_call":
                yield from _call(item, place)
            case _:
                pass
    yield from _pairs(listed)


def _pairs(items: Sequence[Json]) -> Iterator[Refusal]:
    """Calls and outputs, wherever they stand, the call first."""
    unanswered: dict[str, bool] = {}
    for item in items:
        call_id = str(item.get("call_id"))
        match item.get("type"):
            case "function_call" | "custom_tool_call":
                unanswered[call_id] = True
            case "function_call_output" | "custom_tool_call_output" as kind:
                if call_id not in unanswered:
                    called = "custom tool call" if kind.startswith("custom") else "function call"
                    yield _refused(f"No tool call found for {called} output with call_id {call_id}.")
                unanswered[call_id] = False
            case _:
                pass
    for call_id in (call_id for call_id, waits in unanswered.items() if waits):
        yield _refused(f"No tool output found for function call {call_id}.")


def _refused(message: str) -> Refusal:
    return openai_error(message, param="input")


def _message(item: Json, place: int) -> Iterator[Refusal]:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        listed = ", ".join(f"'{each}'" for each in _ROLES[:-1])
        yield _invalid_value(role, f"{listed}, and '{_ROLES[-1]}'", path=f"input[{place}].role")
    if content is None:
        yield openai_error(
            f"Missing required parameter: 'input[{place}].content'.",
            param=f"input[{place}].content",
            code="missing_required_parameter",
        )
    allowed = _OUTPUT if role == "assistant" else _INPUT
    for index, block in enumerate(content if is_array(content) else ()):
        kind = block.get("type") if is_object(block) else None
        if kind not in allowed:
            listed = ", ".join(f"'{each}'" for each in allowed[:-1])
            yield _invalid_value(
                kind, f"{listed} and '{allowed[-1]}'", path=f"input[{place}].content[{index}].type"
            )


def _invalid_value(value: Any, supported: str, *, path: str) -> Refusal:
    return openai_error(
        f"Invalid value: '{value}'. Supported values are: {supported}.", param=path, code="invalid_value"
    )


def _reasoning(item: Json, following: Sequence[Json]) -> Iterator[Refusal]:
    after = following[0] if following else {}
    of_model: bool = after.get("role") == "assistant" or str(after.get("type", "")).endswith(
        ("_call", "reasoning")
    )
    if not of_model:
        yield _refused(
            f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
        )


def _call(item: Json, place: int) -> Iterator[Refusal]:
    for name in ("call_id", "name"):
        if not item.get(name):
            path = f"input[{place}].{name}"
            yield openai_error(
                f"Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty string "
                "instead.",
                param=path,
                code="empty_string",
            )
