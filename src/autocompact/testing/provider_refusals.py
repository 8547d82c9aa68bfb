"""The errors that the real APIs answer with, as values: status, body, headers.

Wordings are those of the providers as users report them (GitHub issues of openai-python, anthropic-sdk-python,
claude-code, vLLM, llama.cpp, 2024 to 2026); a client that looks at them sees what it would see in earnest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, assert_never

from autocompact.core.messages import Dialect
from autocompact.testing.provider_script import Json

Flavour: TypeAlias = Literal["openai", "anthropic", "vllm", "llama_cpp", "gemini", "ollama"]
"""Whose overflow error a server of OpenAI's API answers with. The Messages API always answers with Anthropic's.

Ollama itself drops the beginning of a chat that is too long without a word; this is its error where it may not.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error response."""

    status: int
    body: Json | list[Json]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def openai_error(
    message: str,
    *,
    status: int = 400,
    type: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
) -> Refusal:
    """An error of OpenAI's."""
    error = {"message": message, "type": type, "param": param, "code": code}
    return Refusal(status=status, body={"error": error})


def anthropic_error(message: str, *, status: int = 400, type: str = "invalid_request_error") -> Refusal:
    """An error of Anthropic's."""
    error = {"type": type, "message": message}
    return Refusal(
        status=status,
        body={"type": "error", "error": error, "request_id": "req_fake"},
        headers={"request-id": "req_fake"},
    )


def error(dialect: Dialect, message: str, *, status: int, types: tuple[str, str]) -> Refusal:
    """An error in the form of the API; ``types`` are OpenAI's and Anthropic's word for it."""
    if dialect == "anthropic":
        return anthropic_error(message, status=status, type=types[1])
    return openai_error(message, status=status, type=types[0])


def not_json(dialect: Dialect) -> Refusal:
    """The body is not JSON, or not an object."""
    if dialect == "anthropic":
        return anthropic_error("The request body is not valid JSON: expected value at line 1 column 1")
    return openai_error(
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
        "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
    )


def unauthorised(dialect: Dialect, *, missing: bool) -> Refusal:
    """Refuse a request for a missing or wrong key."""
    if dialect == "anthropic":
        message = "x-api-key header is required" if missing else "invalid x-api-key"
        return anthropic_error(message, status=401, type="authentication_error")
    if missing:
        return openai_error(
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
            "auth (i.e. Authorization: Bearer YOUR_KEY).",
            status=401,
        )
    return openai_error(
        "Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys.",
        status=401,
        code="invalid_api_key",
    )


def unknown_model(dialect: Dialect, model: str) -> Refusal:
    """There is no such model."""
    if dialect == "anthropic":
        return anthropic_error(f"model: {model}", status=404, type="not_found_error")
    return openai_error(
        f"The model `{model}` does not exist or you do not have access to it.",
        status=404,
        code="model_not_found",
    )


def too_many_bytes(dialect: Dialect) -> Refusal:
    """The body is larger than the server takes."""
    if dialect == "anthropic":
        return anthropic_error("Request exceeds the maximum size", status=413, type="request_too_large")
    return openai_error("Request body is too large.", status=413)


def refused_member(dialect: Dialect, name: str) -> Refusal:
    """A member of the request that this server or this model does not take."""
    if dialect == "anthropic":
        return anthropic_error(f"{name}: Extra inputs are not permitted")
    hint = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(name)
    use = f" Use '{hint}' instead." if hint else ""
    return openai_error(
        f"Unsupported parameter: '{name}' is not supported with this model.{use}",
        param=name,
        code="unsupported_parameter",
    )


def overflow(dialect: Dialect, flavour: Flavour, *, window: int, prompt: int, output: int) -> Refusal | None:
    """The error for a request that needs more than ``window`` tokens; None if it fits, or nobody minds.

    Args:
        dialect: the API.
        flavour: whose server it is.
        window: tokens that the model takes, its answer included.
        prompt: tokens of the request.
        output: tokens that were asked for, 0 if no number was given.
    """
    if prompt + output <= window:
        return None
    if dialect == "anthropic" or flavour == "anthropic":
        return _anthropic_overflow(window, prompt=prompt, output=output)
    if dialect == "openai_responses" and flavour == "openai":
        return openai_error(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            param="input",
            code="context_length_exceeded",
        )
    return _server_overflow(flavour, window=window, prompt=prompt, output=output)


def _anthropic_overflow(window: int, *, prompt: int, output: int) -> Refusal:
    if prompt > window:
        return anthropic_error(f"prompt is too long: {prompt} tokens > {window} maximum")
    return anthropic_error(
        f"input length and `max_tokens` exceed context limit: {prompt} + {output} > {window}, "
        "decrease input length or `max_tokens` and try again"
    )


def _server_overflow(
    flavour: Literal["openai", "vllm", "llama_cpp", "gemini", "ollama"],
    *,
    window: int,
    prompt: int,
    output: int,
) -> Refusal | None:
    match flavour:
        case "openai":
            return _openai_overflow(window, prompt=prompt, output=output)
        case "vllm":
            return _vllm_overflow(window, prompt=prompt, output=output)
        case "llama_cpp" if prompt >= window:
            error: dict[str, Any] = {
                "code": 400,
                "message": f"request ({prompt} tokens) exceeds the available context size ({window} tokens), "
                "try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": prompt,
                "n_ctx": window,
            }
            return Refusal(status=400, body={"error": error})
        case "gemini" if prompt > window:
            message = (
                f"The input token count ({prompt}) exceeds the maximum number of tokens allowed ({window})."
            )
            return Refusal(
                status=400, body=[{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]
            )
        case "ollama" if prompt > window:
            return openai_error("the input length exceeds the context length", type="api_error")
        case "llama_cpp" | "gemini" | "ollama":
            return None  # they answer, and stop where the window ends
        case _:
            assert_never(flavour)


def _openai_overflow(window: int, *, prompt: int, output: int) -> Refusal:
    if prompt > window:
        asked, remedy = f"your messages resulted in {prompt} tokens", "messages"
    else:
        asked = (
            f"you requested {prompt + output} tokens ({prompt} in the messages, {output} in the completion)"
        )
        remedy = "messages or completion"
    return openai_error(
        f"This model's maximum context length is {window} tokens. However, {asked}. "
        f"Please reduce the length of the {remedy}.",
        param="messages",
        code="context_length_exceeded",
    )


def _vllm_overflow(window: int, *, prompt: int, output: int) -> Refusal:
    message = (
        f"This model's maximum context length is {window} tokens. However, you requested {output} output tokens and your "
        f"prompt contains at least {prompt} input tokens, for a total of at least {prompt + output} tokens. Please reduce "
        "the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, "
        f"value={prompt})"
    )
    error = {"message": message, "type": "BadRequestError", "param": "input_tokens", "code": 400}
    return Refusal(status=400, body={"error": error})
