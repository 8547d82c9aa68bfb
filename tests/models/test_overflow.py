"""Error bodies, written after what the providers were seen to answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.models.overflow import SENTENCES, Overflow, is_overflow


def _openai(message: str, **members: Any) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", **members}}).encode()


def _anthropic(message: str, kind: str = "invalid_request_error") -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


def _plain(message: str, **members: Any) -> bytes:
    return json.dumps({"object": "error", "message": message, **members}).encode()


_VLLM = (
    "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt "
    "contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the "
    "input prompt or the number of requested output tokens. (parameter=input_tokens, value=134145)"
)
_GEMINI = "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."

BODIES = {
    "openai prompt": (
        400,
        _openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. "
            "Please reduce the length of the messages.",
            param="messages",
            code="context_length_exceeded",
        ),
        8_192,
        8_227,
    ),
    "openai prompt and completion": (
        400,
        _openai(
            "This model's maximum context length is 4097 tokens. However, you requested 4295 tokens (3245 in the "
            "messages, 1050 in the completion). Please reduce the length of the messages or completion.",
            code="context_length_exceeded",
        ),
        4_097,
        4_295,
    ),
    "openai old, with a comma": (
        400,
        _openai(
            "This model's maximum context length is 4097 tokens, however you requested 4116 tokens (1044 in your"
        ),
        4_097,
        4_116,
    ),
    "azure gpt-5": (
        400,
        _openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 334046 tokens. Please "
            "reduce the length of the messages.",
            code="context_length_exceeded",
        ),
        272_000,
        334_046,
    ),
    "openai responses": (
        400,
        _openai(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            param="input",
            code="context_length_exceeded",
        ),
        None,
        None,
    ),
    "openai, one string": (
        400,
        _openai(
            "Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a "
            "string with length 1540820 instead.",
            code="string_above_max_length",
        ),
        None,
        None,
    ),
    "openai, too many messages": (
        400,
        _openai(
            "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got 2050."
        ),
        None,
        None,
    ),
    "anthropic prompt": (
        400,
        _anthropic("prompt is too long: 200251 tokens > 200000 maximum"),
        200_000,
        200_251,
    ),
    "anthropic prompt and max_tokens": (
        400,
        _anthropic(
            "input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length or "
            "`max_tokens` and try again"
        ),
        200_000,
        219_211,
    ),
    "anthropic bytes": (
        413,
        _anthropic("Request exceeds the maximum size", kind="request_too_large"),
        None,
        None,
    ),
    "anthropic text bytes": (
        400,
        _anthropic("messages: too many total text bytes: 9060000 > 9000000"),
        None,
        None,
    ),
    "gemini": (
        400,
        json.dumps([{"error": {"code": 400, "message": _GEMINI, "status": "INVALID_ARGUMENT"}}]).encode(),
        1_048_576,
        1_200_293,
    ),
    "gemini, wrapped in a string": (
        400,
        _openai(json.dumps({"error": {"code": 400, "message": _GEMINI}}, indent=2), code=400),
        1_048_576,
        1_200_293,
    ),
    "gemini, in place of an answer": (
        200,
        json.dumps([{"error": {"code": 400, "message": _GEMINI}}]).encode(),
        1_048_576,
        1_200_293,
    ),
    "vertex": (
        400,
        _openai(
            "Unable to submit request because the input token count is 34000 but model only supports up to 32768."
        ),
        32_768,
        34_000,
    ),
    "vllm 2026": (400, _openai(_VLLM, code=400), 262_144, 262_145),
    "vllm 0.15": (
        400,
        _openai(
            "This model's maximum context length is 2048 tokens. However, your request has 2100 input tokens. Please "
            "reduce the length of the input messages. (parameter=input_tokens, value=2100)"
        ),
        2_048,
        2_100,
    ),
    "vllm 0.15 with the answer": (
        400,
        _openai(
            "This model's maximum context length is 2048 tokens. However, your request has 1900 input tokens plus 512 "
            "'max_tokens'. Please reduce one or the other."
        ),
        2_048,
        2_412,
    ),
    "vllm 0.9": (
        400,
        _plain(
            "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 2048 "
            "tokens and your request has 1900 input tokens (1000 > 2048 - 1900)."
        ),
        2_048,
        2_900,
    ),
    "vllm old": (400, _plain("max_tokens must be at least 1, got -186.", code=400), None, None),
    "llama.cpp 2025": (
        500,
        b'{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context '
        b'size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}',
        256,
        1_407,
    ),
    "llama.cpp 2026": (
        400,
        b'{"error":{"code":400,"message":"request (14429 tokens) exceeds the available context size (8192 tokens), try '
        b'increasing it","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}',
        8_192,
        14_429,
    ),
    "llama-cpp-python": (500, _openai("Requested tokens (2285) exceed context window of 2048"), 2_048, 2_285),
    "lm studio": (
        400,
        json.dumps(
            {
                "error": "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded "
                "with context length of only 7866 tokens, which is not enough."
            }
        ).encode(),
        7_866,
        10_136,
    ),
    "lm studio 0.4": (
        400,
        b'{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to '
        b'load the model with a larger context length, or provide a shorter input"}',
        None,
        None,
    ),
    "ollama": (
        400,
        b'{"error":{"message":"the input length exceeds the context length","type":"api_error"}}',
        None,
        None,
    ),
    "ollama cloud": (
        400,
        b'{"error":"prompt too long; exceeded max context length by 540451 tokens"}',
        None,
        None,
    ),
    "mistral": (
        400,
        _plain(
            "Prompt contains 36046 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
        ),
        32_768,
        36_046,
    ),
    "groq": (
        400,
        _openai("Please reduce the length of the messages or completion.", code="context_length_exceeded"),
        None,
        None,
    ),
    "cerebras": (
        400,
        _plain(
            "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000"
        ),
        40_000,
        42_328,
    ),
    "openrouter": (
        400,
        _openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 141980 tokens (133980 "
            "of text input, 8000 in the output). Please reduce the length of either one.",
            code=400,
        ),
        131_072,
        141_980,
    ),
    "openrouter, another's error inside": (
        502,
        json.dumps(
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 502,
                    "metadata": {"raw": _openai(_VLLM).decode()},
                }
            }
        ).encode(),
        262_144,
        262_145,
    ),
    "xai": (
        400,
        b'{"code":"400","error":"This model\'s maximum prompt length is 500000 but the request contains 907154 tokens."}',
        500_000,
        907_154,
    ),
    "copilot": (
        400,
        b'{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000",'
        b'"code":"model_max_prompt_tokens_exceeded"}}',
        64_000,
        138_898,
    ),
    "bedrock": (400, b'{"message":"Input is too long for requested model."}', None, None),
    "bedrock with figures": (
        400,
        b'{"message":"Too many input tokens. Max input tokens: 128000, request input token count: 150000 "}',
        128_000,
        150_000,
    ),
    "bedrock claude": (
        400,
        b'{"message":"The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum"}',
        200_000,
        200_049,
    ),
    "sglang": (
        400,
        _plain(
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input."
        ),
        59_862,
        160_062,
    ),
    "text generation inference": (
        422,
        b'{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` '
        b'tokens and 2047 `max_new_tokens`","error_type":"validation"}',
        8_192,
        8_251,
    ),
    "moonshot": (
        400,
        _openai("Invalid request: Your request exceeded model token limit: 131072 (requested: 141072)"),
        131_072,
        141_072,
    ),
    "dashscope": (
        400,
        b'{"code":"InvalidParameter","message":"Range of input length should be [1, 30720]"}',
        30_720,
        None,
    ),
    "litellm": (
        400,
        b'{"detail":"litellm.ContextWindowExceededError: AnthropicException - prompt is too long: 1,200,251 tokens > '
        b'1,000,000 maximum"}',
        1_000_000,
        1_200_251,
    ),
    "a proxy, by size": (413, b"<html><h1>413 Request Entity Too Large</h1></html>", None, None),
    "no body, by size": (413, b"", None, None),
    "an event in a stream, openai": (
        200,
        b": keep-alive\n\ndata: " + _openai("too much", code="context_length_exceeded") + b"\n\n",
        None,
        None,
    ),
    "an event in a stream, anthropic": (
        200,
        b"event: error\ndata: " + _anthropic("prompt is too long: 200251 tokens > 200000 maximum") + b"\n\n",
        200_000,
        200_251,
    ),
    "an event in a stream, responses": (
        200,
        b'data: {"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Your input '
        b'exceeds the context window of this model."}}}\n\n',
        None,
        None,
    ),
}

LOOK_ALIKES = {
    "tokens per minute": (
        429,
        _openai(
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 49000. The input or output "
            "tokens must be reduced in order to run successfully.",
            code="rate_limit_exceeded",
        ),
    ),
    "tokens per minute, groq's status": (
        413,
        _openai(
            "Request too large for model `llama-3` on tokens per minute (TPM): Limit 6000, Requested 14110, please "
            "reduce your message size and try again.",
            code="rate_limit_exceeded",
        ),
    ),
    "anthropic's rate": (
        429,
        _anthropic(
            "This request would exceed your organization's rate limit of 30,000 input tokens per minute"
        ),
    ),
    "bedrock's rate": (429, b'{"message":"Too many tokens, please wait before trying again."}'),
    "max_tokens above what the model can say": (
        400,
        _openai(
            "max_tokens is too large: 999999. This model supports at most 16384 completion tokens, whereas you provided "
            "999999.",
            code="invalid_value",
        ),
    ),
    "max_tokens, groq": (
        400,
        _openai(
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
            "`context_window` for this model"
        ),
    ),
    "max_tokens, deepseek": (
        400,
        _openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
    ),
    "max_tokens as large as the window": (
        400,
        _plain(
            "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 2048 "
            "tokens and your request has 10 input tokens (4000 > 2048 - 10)."
        ),
    ),
    "an id that is too long": (
        400,
        _openai(
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got "
            "a string with length 64 instead.",
            code="string_above_max_length",
        ),
    ),
    "too many tools": (
        400,
        _openai(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 140 instead."
        ),
    ),
    "an unknown model": (404, _openai("The model `gpt-9` does not exist", code="model_not_found")),
    "a wrong key that speaks of it": (401, _anthropic("prompt is too long: 5 tokens > 3 maximum")),
    "a request that is quoted": (
        422,
        json.dumps(
            {
                "detail": [
                    {
                        "type": "missing",
                        "msg": "Field required",
                        "input": {"messages": [{"content": "prompt is too long: 5 tokens > 3 maximum"}]},
                    }
                ]
            }
        ).encode(),
    ),
    "an answer that speaks of it": (
        200,
        b'data: {"choices":[{"delta":{"content":"prompt is too long: 5 tokens > 3 maximum"}}]}\n\n',
    ),
    "an answer in one piece that speaks of it": (
        200,
        b'{"choices":[{"message":{"content":"context_length_exceeded: prompt is too long: 5 tokens > 3"}}],"error":null}',
    ),
    "an answer that cannot be read": (200, b"prompt is too long: 5 tokens > 3 maximum"),
    "another error in a stream": (
        200,
        b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    ),
    "a server error": (500, _openai("The server had an error while processing your request.")),
    "nothing": (400, b""),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_request_that_was_too_large_is_recognised_with_the_figures_that_are_named(name: str) -> None:
    status, body, limit, requested = BODIES[name]
    found = is_overflow(status, body)
    assert found is not None
    assert (found.limit, found.requested) == (limit, requested)


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_like_it_is_not_taken_for_one(name: str) -> None:
    status, body = LOOK_ALIKES[name]
    assert is_overflow(status, body) is None


def test_the_message_is_the_providers_sentence_on_one_line() -> None:
    found = is_overflow(400, _openai("prompt is too long:\n 5 tokens > 3 maximum " + "x" * 1_000))
    assert found == is_overflow(400, _openai("prompt is too long: 5 tokens > 3 maximum " + "x" * 1_000))
    assert isinstance(found, Overflow)
    assert found.message.startswith("prompt is too long: 5 tokens > 3 maximum xxx")
    assert len(found.message) == 300


def test_every_sentence_names_each_of_its_figures_once() -> None:
    for sentence in SENTENCES:
        assert sentence.pattern.groups == len(sentence.figures), sentence.source
        assert len(set(sentence.figures)) == len(sentence.figures), sentence.source


@pytest.mark.parametrize(
    "said, output",
    [
        ("you requested 4295 tokens (3245 in the messages, 1050 in the completion).", 1_050),
        ("you requested 4116 tokens (1044 in your prompt; 3072 for the completion).", 3_072),
        ("you requested about 3000 tokens (2000 of text input, 1000 in the output).", 1_000),
        ("your messages resulted in 8227 tokens.", None),
    ],
)
def test_whether_the_answer_is_counted_in_is_read_from_the_words(said: str, output: int | None) -> None:
    message = f"This model's maximum context length is 4097 tokens. However, {said}"
    found = is_overflow(400, _openai(message, code="context_length_exceeded"))
    assert found is not None
    assert found.output == output


def test_anthropic_says_what_of_it_is_the_answer() -> None:
    found = is_overflow(
        400, _openai("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000")
    )
    assert found is not None
    assert (found.limit, found.requested, found.output) == (200_000, 222_000, 32_000)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    "body",
    [b"data:" * 5_000, b"[" * 900 + b"]" * 900, b'{"error":' * 900 + b"1" + b"}" * 900],
    ids=["events in events", "lists", "errors"],
)
def test_a_body_that_is_nested_without_end_is_an_error_like_another(body: bytes, status: int) -> None:
    assert is_overflow(status, body) is None
