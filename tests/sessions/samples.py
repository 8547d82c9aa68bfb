"""One small session of each format that is read as a document or a text, made as its program writes it.

Each is the same talk: a request, thinking where the format has it, a call with its result, a second call that failed,
and a last word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from autocompact.sessions import Format

REQUEST = "Why does the pump leak?"
FIRST = "I will look."
LAST = "The seal is worn."
FOUND = "seal: worn"
FAILED = "no such file"
COMMAND = {"command": "cat pump.txt"}
SECOND = {"command": "cat valve.txt"}
CALLS = [("run", COMMAND, FOUND, False), ("run", SECOND, FAILED, True)]
"""Tool, arguments, result, whether it failed."""

STAMP_MS = 1_772_359_200_000  # 2026-03-01T10:00:00Z
STAMP = "2026-03-01T10:00:00+00:00"


def _opencode() -> object:
    def tool(number: int) -> object:
        name, asked, answer, failed = CALLS[number]
        state = {"status": "error", "error": answer} if failed else {"status": "completed", "output": answer}
        return {"type": "tool", "tool": name, "callID": f"c{number}", "state": state | {"input": asked}}

    def message(role: str, *parts: object, **info: object) -> object:
        made = {"role": role, "time": {"created": STAMP_MS}, "id": f"msg_{role}"} | info
        return {"info": made, "parts": list(parts)}

    tokens = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 80, "write": 10}}
    return {
        "info": {"id": "ses_1", "directory": "/srv/pump", "title": "The pump"},
        "messages": [
            message("user", {"type": "text", "text": REQUEST}),
            message(
                "assistant",
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": FIRST},
                tool(0),
                tool(1),
                modelID="model-x",
                tokens=tokens,
            ),
            message("assistant", {"type": "text", "text": LAST}, modelID="model-x"),
        ],
    }


def _kimi() -> list[object]:
    def record(kind: str, **more: object) -> object:
        return {"type": kind, "agentId": "main", "time": STAMP_MS} | more

    def event(kind: str, **more: object) -> object:
        return record("context.append_loop_event", event={"type": kind} | more)

    def message(text: str, kind: str) -> object:
        said = {"role": "user", "content": [{"type": "text", "text": text}], "origin": {"kind": kind}}
        return record("context.append_message", message=said)

    usage = {"inputOther": 10, "output": 6, "inputCacheRead": 80, "inputCacheCreation": 10}
    calls = (
        event("tool.call", toolCallId=f"c{number}", name=name, args=asked)
        for number, (name, asked, _, _) in enumerate(CALLS)
    )
    results = (
        event(
            "tool.result",
            toolCallId=f"c{number}",
            result={"output": text} | ({"isError": True} if failed else {}),
        )
        for number, (_, _, text, failed) in enumerate(CALLS)
    )
    return [
        {"type": "metadata", "protocol_version": "1.5", "created_at": STAMP_MS},
        record("profile.bind", systemPrompt="", environmentDisclosure={"cwd": "/srv/pump"}),
        message(REQUEST, "user"),
        record("llm.request", model="model-x"),
        event("step.begin", step=1),
        event("content.part", part={"type": "think", "think": "hm"}),
        event("content.part", part={"type": "text", "text": FIRST}),
        *calls,
        *results,
        event("step.end", usage=usage, finishReason="tool_use"),
        event("step.begin", step=2),
        event("content.part", part={"type": "text", "text": LAST}),
        event("step.end", finishReason="completed"),
    ]


def _qwen() -> list[object]:
    def line(number: int, kind: str, **more: object) -> object:
        parent = str(number - 1) if number else None
        known = {"uuid": str(number), "parentUuid": parent, "sessionId": "s", "cwd": "/srv/pump"}
        return known | {"timestamp": STAMP, "type": kind} | more

    def said(role: str, *parts: object) -> object:
        return {"role": role, "parts": list(parts)}

    def call(number: int) -> object:
        name, asked, _, _ = CALLS[number]
        return {"functionCall": {"id": f"c{number}", "name": name, "args": asked}}

    def answer(number: int) -> object:
        name, _, text, failed = CALLS[number]
        return {
            "functionResponse": {
                "id": f"c{number}",
                "name": name,
                "response": {"error" if failed else "output": text},
            }
        }

    usage = {"promptTokenCount": 100, "candidatesTokenCount": 5, "thoughtsTokenCount": 1}
    return [
        line(0, "user", message=said("user", {"text": REQUEST}), provenance="real_user"),
        line(1, "system", subtype="ui_telemetry", systemPayload={"uiEvent": {}}),
        line(
            2,
            "assistant",
            message=said("model", {"text": "hm", "thought": True}, {"text": FIRST}, call(0), call(1)),
            model="model-x",
            usageMetadata=usage,
            contextWindowSize=1_000_000,
        ),
        line(3, "tool_result", message=said("user", answer(0), answer(1)), provenance="tool_result"),
        line(4, "assistant", message=said("model", {"text": LAST}), model="model-x"),
        line(
            5,
            "system",
            subtype="custom_title",
            systemPayload={"customTitle": "The pump", "titleSource": "auto"},
        ),
    ]


def _goose() -> list[Mapping[str, object]]:
    def message(role: str, *content: object) -> Mapping[str, object]:
        return {"role": role, "created": STAMP_MS // 1000, "content": list(content)}

    def call(number: int) -> object:
        name, asked, _, _ = CALLS[number]
        return {
            "type": "toolRequest",
            "id": f"c{number}",
            "toolCall": {"status": "success", "value": {"name": name, "arguments": asked}},
        }

    done = {"status": "success", "value": [{"type": "text", "text": FOUND}]}
    return [
        message("user", {"type": "text", "text": REQUEST}),
        message(
            "assistant",
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": FIRST},
            call(0),
            call(1),
        ),
        message(
            "user",
            {"type": "toolResponse", "id": "c0", "toolResult": done},
            {"type": "toolResponse", "id": "c1", "toolResult": {"status": "error", "error": FAILED}},
        ),
        message("assistant", {"type": "text", "text": LAST}),
    ]


def _cline() -> Any:
    def call(number: int) -> object:
        return {"type": "tool_use", "id": f"c{number}", "name": CALLS[number][0], "input": CALLS[number][1]}

    results = [
        {
            "type": "tool_result",
            "tool_use_id": "c0",
            "content": [{"query": "cat pump.txt", "result": FOUND, "success": True}],
        },
        {"type": "tool_result", "tool_use_id": "c1", "content": FAILED, "is_error": True},
    ]
    thought = {"type": "thinking", "thinking": "hm"}
    return {
        "version": 1,
        "sessionId": "s",
        "messages": [
            {"role": "user", "content": f'<user_input mode="act">{REQUEST}</user_input>', "ts": STAMP_MS},
            {
                "role": "assistant",
                "content": [thought, {"type": "text", "text": FIRST}, call(0), call(1)],
                "ts": STAMP_MS,
                "modelInfo": {"id": "model-x"},
                "metrics": {"inputTokens": 100, "outputTokens": 6},
            },
            {"role": "user", "content": results, "ts": STAMP_MS},
            {"role": "assistant", "content": LAST, "ts": STAMP_MS},
        ],
    }


def _continue() -> Any:
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(asked)}}
        for number, (name, asked, _, _) in enumerate(CALLS)
    ]
    states = [
        {"toolCallId": "c0", "status": "done", "output": [{"name": "Terminal", "content": FOUND}]},
        {"toolCallId": "c1", "status": "errored", "output": [{"name": "Terminal", "content": FAILED}]},
    ]
    return {
        "sessionId": "s",
        "title": "The pump",
        "workspaceDirectory": "file:///srv/pump",
        "history": [
            {"message": {"role": "user", "content": REQUEST}, "contextItems": list[Any]()},
            {"message": {"role": "thinking", "content": "hm"}, "contextItems": list[Any]()},
            {
                "message": {"role": "assistant", "content": FIRST, "toolCalls": calls},
                "contextItems": list[Any](),
                "toolCallStates": states,
            },
            {"message": {"role": "tool", "content": FOUND, "toolCallId": "c0"}},
            {"message": {"role": "assistant", "content": [{"type": "text", "text": LAST}]}},
        ],
        "chatModelTitle": "model-x",
    }


def _chatgpt() -> Any:
    said: list[tuple[str, dict[str, object]]] = [
        ("user", {"content_type": "text", "parts": [REQUEST]}),
        ("assistant", {"content_type": "thoughts", "thoughts": [{"summary": "hm", "content": "hm"}]}),
        ("assistant", {"content_type": "text", "parts": [FIRST]}),
        ("assistant to run", {"content_type": "code", "text": json.dumps(COMMAND)}),
        ("tool", {"content_type": "execution_output", "text": FOUND}),
        ("assistant", {"content_type": "text", "parts": [LAST]}),
    ]
    mapping: dict[str, object] = {"root": {"id": "root", "parent": None, "message": None}}
    for number, (speaker, content) in enumerate(said):
        role, _, recipient = speaker.partition(" to ")
        message = {
            "id": f"m{number}",
            "author": {"role": role, "name": "run" if role == "tool" else None},
            "create_time": STAMP_MS / 1000,
            "content": content,
            "recipient": recipient or "all",
            "metadata": {"model_slug": "model-x"},
        }
        mapping[f"n{number}"] = {"parent": f"n{number - 1}" if number else "root", "message": message}
    last = f"n{len(said) - 1}"
    return {"title": "The pump", "update_time": 2.0, "mapping": mapping, "current_node": last}


def _claude_ai() -> Any:
    blocks: list[object] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": FIRST}]
    for name, asked, answer, failed in CALLS:
        content = [{"type": "text", "text": answer}]
        blocks += [{"type": "tool_use", "name": name, "input": asked}]
        blocks += [{"type": "tool_result", "name": name, "content": content, "is_error": failed}]
    blocks += [{"type": "text", "text": LAST}]
    return {
        "uuid": "u",
        "name": "The pump",
        "updated_at": "2026-03-01T10:00:00Z",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": REQUEST, "content": list[Any](), "created_at": STAMP},
            {"uuid": "m2", "sender": "assistant", "text": "", "content": blocks, "created_at": STAMP},
        ],
    }


def _gemini() -> Any:
    calls = [{"functionCall": {"name": name, "args": asked}} for name, asked, _, _ in CALLS]
    answers = [
        {"functionResponse": {"name": name, "response": {"error" if failed else "output": answer}}}
        for name, _, answer, failed in CALLS
    ]
    return {
        "system_instruction": {"parts": [{"text": "Be short."}]},
        "contents": [
            {"role": "user", "parts": [{"text": REQUEST}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": FIRST}, *calls]},
            {"role": "user", "parts": answers},
            {"role": "model", "parts": [{"text": LAST}]},
        ],
    }


def langchain_messages() -> list[tuple[str, dict[str, object]]]:
    """Kind and members of each message."""
    calls = [
        {"name": name, "args": asked, "id": f"c{n}", "type": "tool_call"}
        for n, (name, asked, _, _) in enumerate(CALLS)
    ]
    usage = {"input_tokens": 100, "output_tokens": 6}
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": FIRST}]
    return [
        ("human", {"content": REQUEST}),
        (
            "ai",
            {
                "content": content,
                "tool_calls": calls,
                "usage_metadata": usage,
                "response_metadata": {"model_name": "model-x"},
            },
        ),
        ("tool", {"content": FOUND, "tool_call_id": "c0", "status": "success"}),
        ("tool", {"content": FAILED, "tool_call_id": "c1", "status": "error"}),
        ("ai", {"content": LAST}),
    ]


def _vercel() -> Any:
    def tool(number: int) -> object:
        name, asked, answer, failed = CALLS[number]
        known = {"type": f"tool-{name}", "toolCallId": f"c{number}", "input": asked}
        if failed:
            return known | {"state": "output-error", "errorText": answer}
        return known | {"state": "output-available", "output": answer}

    return [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": REQUEST}]},
        {
            "id": "2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": FIRST},
                tool(0),
                tool(1),
            ],
        },
        {"id": "3", "role": "assistant", "parts": [{"type": "text", "text": LAST}]},
    ]


def pydantic_ai_messages() -> list[object]:
    def call(number: int) -> object:
        name, asked, _, _ = CALLS[number]
        return {"part_kind": "tool-call", "tool_name": name, "tool_call_id": f"c{number}", "args": asked}

    def answer(number: int) -> object:
        name, _, answer, failed = CALLS[number]
        kind = {"part_kind": "retry-prompt"} if failed else {"part_kind": "tool-return", "outcome": "success"}
        return kind | {"tool_name": name, "tool_call_id": f"c{number}", "content": answer, "timestamp": STAMP}

    def message(kind: str, *parts: object, **known: object) -> object:
        return {"kind": kind, "parts": list(parts), "timestamp": STAMP} | known

    used = {"input_tokens": 100, "output_tokens": 6}
    return [
        message("request", {"part_kind": "user-prompt", "content": REQUEST, "timestamp": STAMP}),
        message(
            "response",
            {"part_kind": "thinking", "content": "hm"},
            {"part_kind": "text", "content": FIRST},
            call(0),
            call(1),
            usage=used,
            model_name="model-x",
        ),
        message("request", answer(0), answer(1)),
        message("response", {"part_kind": "text", "content": LAST}, model_name="model-x"),
    ]


def _responses() -> object:
    items: list[object] = [
        {"role": "user", "content": REQUEST},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": FIRST}]},
    ]
    for number, (name, asked, _, _) in enumerate(CALLS):
        arguments = json.dumps(asked)
        items.append({"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": arguments})
    for number, (_, _, answer, _) in enumerate(CALLS):
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": answer})
    last = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LAST}]}
    return {"model": "model-x", "instructions": "Be short.", "input": [*items, last]}


AIDER = f"""
# aider chat started at 2026-03-01 10:00:00

> Aider v0.86.2{"  "}
> Model: model-x with diff edit format{"  "}

#### /ask {REQUEST}{"  "}

<thinking-content-7bbeb8e1>
hm
</thinking-content-7bbeb8e1>

{FIRST}

> This is a quotation of the agent's.

> Tokens: 1.9k sent, 638 received.{"  "}
> Run shell command? (Y)es/(N)o [Yes]: y{"  "}

#### /run cat pump.txt{"  "}
> {FOUND}{"  "}

{LAST}
"""

CURSOR = f"""# The pump
_Exported on 3/1/2026 at 10:00:00 GMT+1 from Cursor (3.2.11)_

---

**User**

{REQUEST}

---

**Cursor**

{FIRST}

---

A rule of the agent's own, then: {LAST}

---
"""

SPECSTORY = f"""<!-- Generated by SpecStory, Markdown v2.1.0 -->

<!-- vscode Session 0b1f5a3e-6a0a-4f57-9d0e-2b8f6c1d7a44 (2026-03-01 10:00Z) -->

# The pump (2026-03-01 10:00Z)

_**User (2026-03-01 10:00Z)**_

{REQUEST}

---

_**Agent (model model-x, mode Agent)**_

<think><details><summary>Thought Process</summary>
hm</details></think>

---

{FIRST}

---

<tool-use data-tool-type="unknown" data-tool-name="run">
<details>
<summary>Tool use: **run**</summary>


Parameters:

```json
{{
  "command": "cat pump.txt"
}}
```
Result:

```json
{{
  "output": "{FOUND}"
}}
```
Status: **completed**


</details>
</tool-use>

---

<tool-use data-tool-type="unknown" data-tool-name="run">
<details>
<summary>Tool use: **run**</summary>


Parameters:

```json
{{
  "command": "cat valve.txt"
}}
```
Status: **error**

Error:

```json
{{
  "error": "{FAILED}"
}}
```

</details>
</tool-use>

---

A rule of the agent's own:

---

{LAST}
"""

SPECSTORY_CLI = f"""<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-03-01 10:00:00Z

<!-- Claude Code Session 0b1f5a3e-6a0a-4f57-9d0e-2b8f6c1d7a44 (2026-03-01 10:00:00Z) -->

_**User (2026-03-01 10:00:00Z)**_

{REQUEST}

---

_**Agent (model-x 2026-03-01 10:00:02Z)**_

<think><details><summary>Thought Process</summary>
hm
</details></think>

_**Agent (model-x 2026-03-01 10:00:03Z)**_

{FIRST}

_**Agent (model-x 2026-03-01 10:00:03Z)**_

<tool-use data-tool-type="shell" data-tool-name="run"><details>
<summary>Tool use: **run**</summary>

`cat pump.txt`

```text
{FOUND}
```
</details></tool-use>

_**Agent (model-x 2026-03-01 10:00:03Z)**_

<tool-use data-tool-type="generic" data-tool-name="run"><details>
<summary>Tool use: **run**</summary>

**Input:**

- command: `cat valve.txt`

**Error:**

```
{FAILED}
```
</details></tool-use>

_**Agent (model-x 2026-03-01 10:00:09Z)**_

{LAST}
"""


def encoded(document: object) -> bytes:
    """A document as its program writes it."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def lines(objects: list[object]) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in objects)


_GOOSE_HEAD = {"working_dir": "/srv/pump", "description": "The pump"}
SAMPLES: Mapping[str, tuple[Format, bytes]] = {
    "opencode": ("opencode", encoded(_opencode())),
    "qwen": ("qwen_code", lines(_qwen())),
    "kimi": ("kimi_code", lines(_kimi())),
    "goose": ("goose", lines([_GOOSE_HEAD | {"message_count": 4}, *_goose()])),
    "goose export": ("goose", encoded(_GOOSE_HEAD | {"id": "1", "conversation": _goose()})),
    "cline": ("cline", encoded(_cline())),
    "continue": ("continue", encoded(_continue())),
    "chatgpt": ("chatgpt", encoded([_chatgpt()])),
    "chatgpt alone": ("chatgpt", encoded(_chatgpt())),
    "claude.ai": ("claude_ai", encoded([_claude_ai()])),
    "gemini": ("gemini", encoded(_gemini())),
    "langchain": (
        "langchain",
        encoded([{"type": kind, "data": data} for kind, data in langchain_messages()]),
    ),
    "vercel": ("vercel_ai", encoded(_vercel())),
    "vercel in an object": ("vercel_ai", json.dumps({"id": "chat", "messages": _vercel()}).encode()),
    "pydantic-ai": ("pydantic_ai", encoded(pydantic_ai_messages())),
    "responses": ("openai_responses", encoded(_responses())),
    "aider": ("aider", AIDER.encode()),
    "cursor": ("cursor", CURSOR.encode()),
    "specstory": ("specstory", SPECSTORY.encode()),
    "specstory cli": ("specstory", SPECSTORY_CLI.encode()),
}
TEXTS = ("aider", "cursor", "specstory", "specstory cli")
WITHOUT_CALLS = ("aider", "cursor")
WITHOUT_THINKING = ("cursor",)
