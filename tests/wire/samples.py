"""One request per dialect that holds every kind of message and block we know of, written for these tests."""

from __future__ import annotations

import json
from typing import Any

PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQK"

CHAT: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief.", "name": "house"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
            },
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            {"type": "hologram", "hologram": {"depth": 3}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Let me look.",
        "refusal": None,
        "tool_calls": [
            {
                "id": "call_a",
                "type": "function",
                "function": {"name": "read", "arguments": '{"path": "a.py"}'},
                "extra_content": {"google": {"thought_signature": "c2ln"}},
            },
            {"id": "call_b", "type": "custom", "custom": {"name": "patch", "input": "*** Begin Patch"}},
        ],
    },
    {"role": "tool", "tool_call_id": "call_b", "content": "Done!", "x_time": 3},
    {
        "role": "tool",
        "tool_call_id": "call_a",
        "content": [{"type": "text", "text": "line 1"}, {"type": "text", "text": "line 2"}],
    },
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "It is"}, {"type": "refusal", "refusal": "no."}],
    },
    {"role": "user", "content": "Say it."},
    {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": "", "refusal": "I will not."},
    {"role": "user", "content": ""},
]

ANTHROPIC_SYSTEM: list[dict[str, Any]] = [
    {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
    {"type": "text", "text": "Be kind."},
]

ANTHROPIC: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {
                "type": "document",
                "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                "citations": {"enabled": True},
            },
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
            {"type": "document", "source": {"type": "url", "url": "https://example.com/b.pdf"}},
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "c"}]}},
            {"type": "container_upload", "file_id": "file_2"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me look.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": "I look.", "citations": [{"type": "char_location", "cited_text": "x"}]},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "tool_use", "id": "toolu_a", "name": "read", "input": {"path": "a.py"}},
            {
                "type": "tool_use",
                "id": "toolu_b",
                "name": "run",
                "input": {},
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "tool_use", "id": "toolu_c", "name": "run", "input": {"n": 1.50}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_a",
                "content": "line 1",
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "tool_result", "tool_use_id": "toolu_b"},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_c",
                "is_error": True,
                "content": [
                    {"type": "text", "text": "it broke"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    {"type": "tool_reference", "tool_name": "grep"},
                ],
            },
        ],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_d", "name": "run", "input": {}}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_d", "content": "fine"},
            {"type": "text", "text": "and go on"},
        ],
    },
    {"role": "assistant", "content": "Done."},
]

RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
            {"type": "input_image", "file_id": "file-1"},
            {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
            {"type": "input_file", "file_url": "https://example.com/b.pdf"},
            {"type": "input_file", "file_id": "file-2"},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Let me look."}],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
        "encrypted_content": "Z0FBQUFB",
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_a",
        "name": "read",
        "arguments": '{"path":"a.py"}',
        "namespace": "fs",
    },
    {"type": "custom_tool_call", "call_id": "call_b", "name": "apply_patch", "input": "*** Begin Patch"},
    {"type": "function_call_output", "call_id": "call_a", "output": "line 1", "status": "completed"},
    {
        "type": "custom_tool_call_output",
        "call_id": "call_b",
        "output": [{"type": "input_text", "text": "Done!"}],
    },
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    },
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "o"},
    {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "t", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    {"type": "computer_call", "call_id": "call_c", "action": {"type": "screenshot"}, "status": "completed"},
    {
        "type": "computer_call_output",
        "call_id": "call_c",
        "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"},
    },
    {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_d", "action": {"command": ["ls"]}},
    {"type": "local_shell_call_output", "id": "call_d", "output": '{"stdout":"a.py"}'},
    {"type": "shell_call", "call_id": "call_e", "action": {"commands": ["ls"]}},
    {
        "type": "shell_call_output",
        "call_id": "call_e",
        "max_output_length": 100,
        "output": [
            {"type": "x", "stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        ],
    },
    {"type": "apply_patch_call", "call_id": "call_f", "operation": {"type": "delete_file", "path": "a.py"}},
    {"type": "apply_patch_call_output", "call_id": "call_f", "status": "completed", "output": "ok"},
    {"type": "tool_search_call", "call_id": "call_g", "arguments": {"query": "grep"}},
    {"type": "tool_search_output", "call_id": "call_g", "tools": [{"type": "function", "name": "grep"}]},
    {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
    {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
    {"type": "item_reference", "id": "msg_7"},
    {"id": "msg_8"},
    {"type": "compaction", "encrypted_content": "Z0FBQUFB"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {
                "type": "output_text",
                "text": "It is",
                "annotations": [{"type": "file_citation"}],
                "logprobs": [],
            },
            {"type": "refusal", "refusal": "no."},
        ],
    },
    {"role": "user", "content": "Say it."},
]


def body(dialect: str, **members: Any) -> bytes:
    """A whole request, with unknown members before and after the messages."""
    listed: dict[str, dict[str, Any]] = {
        "openai_chat": {"messages": CHAT, "max_completion_tokens": 100},
        "anthropic": {"system": ANTHROPIC_SYSTEM, "messages": ANTHROPIC, "max_tokens": 100},
        "openai_responses": {"instructions": "Be brief.", "input": RESPONSES, "max_output_tokens": 100},
    }
    before = {"model": "some-model", "x_before": {"messages": [1]}}
    after = {"stream": True, "tools": [{"name": "read"}], "x_after": "]}"}
    return json.dumps(before | listed[dialect] | after | members, indent=1).encode()
