"""Recognising that a request was larger than the model's window, whoever says so and in whichever words.

There is no common code: OpenAI, Groq and some others send ``context_length_exceeded``, most send a sentence. So there
is a table of sentences, each with the providers that were seen to use it, and the figures that it names. It was
gathered from the providers' documentation and from bodies that users report in the issues of vLLM, llama.cpp, LM
Studio, sglang, gemini-cli, opencode, cline, litellm, vscode, claude-code (2023 to November 2026).

A rate limit can speak of tokens, and so can a wrong ``max_tokens``; neither is an overflow: compacting would not help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, cast

import msgspec

_N = r"(\d[\d,]*)"
_COMPLETION = re.compile(rf"\(\d[^()]{{0,80}}? {_N} (?:in|for) the (?:completion|output)\)", re.IGNORECASE)
"""What OpenAI, and those who took over its words, add to the first of the sentences below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """A request did not fit.

    Attributes:
        message: what the provider said, on one line, at most 300 characters.
        limit: tokens that fit, None where it did not say.
        requested: tokens that were asked for, the answer included where it counts that in; None likewise.
        output: tokens of these that are the answer's, where it says so: it counts them in.
    """

    message: str
    limit: int | None = None
    requested: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """One wording of the overflow error. The groups of ``pattern`` are named by ``figures``; ``output`` is added to ``input``."""

    source: str
    pattern: re.Pattern[str]
    figures: tuple[str, ...] = ()


def _says(source: str, pattern: str, *figures: str) -> _Sentence:
    return _Sentence(source=source, pattern=re.compile(pattern, re.IGNORECASE), figures=figures)


_CONTEXT = rf"maximum (?:context|prompt) length(?: of this model)? is {_N}(?: tokens)?"

SENTENCES: tuple[_Sentence, ...] = (
    _says(
        "OpenAI, Azure, DeepSeek, OpenRouter, llama-cpp-python: prompt and completion",
        rf"{_CONTEXT}[.,] however,? you requested (?:about )?{_N} tokens",
        "limit",
        "requested",
    ),
    _says(
        "OpenAI, Azure: prompt alone",
        rf"{_CONTEXT}[.,] however,? your messages resulted in {_N} tokens",
        "limit",
        "requested",
    ),
    _says(
        "OpenAI from gpt-5 on",
        rf"input tokens exceed the configured limit of {_N} tokens\. your messages resulted in {_N} tokens",
        "limit",
        "requested",
    ),
    _says("OpenAI Responses", r"(?:input|request) exceeds the context window of this model"),
    _says(
        "vLLM since 2026",
        rf"{_CONTEXT}[.,] however,? you requested {_N} output tokens and your prompt contains (?:at least )?{_N} "
        r"(?:input )?(?:tokens|characters)",
        "limit",
        "output",
        "input",
    ),
    _says(
        "vLLM 0.15",
        rf"{_CONTEXT}[.,] however,? your request has {_N} input tokens(?: plus {_N} 'max_tokens')?",
        "limit",
        "input",
        "output",
    ),
    _says(
        "vLLM 0.9 to 0.14",
        rf"is too large: {_N}\. this model's {_CONTEXT} and your request has {_N} input tokens",
        "output",
        "limit",
        "input",
    ),
    _says("vLLM before 0.6, room left for the answer", r"max_tokens must be at least 1, got -\d+"),
    _says(
        "vLLM",
        rf"(?:decoder )?prompt \(length {_N}\) is longer than the maximum model length of {_N}",
        "requested",
        "limit",
    ),
    _says(
        "xAI",
        rf"{_CONTEXT} but the request contains {_N} tokens",
        "limit",
        "requested",
    ),
    _says(
        "Anthropic, also through Bedrock", rf"prompt is too long: {_N} tokens > {_N}", "requested", "limit"
    ),
    _says(
        "Anthropic",
        rf"input length and `?max_tokens`? exceed context limit: {_N} \+ {_N} > {_N}",
        "input",
        "output",
        "limit",
    ),
    _says("Anthropic, bytes", r"too many total text bytes: \d+ > \d+"),
    _says("Anthropic", r"request exceeds the maximum size"),
    _says(
        "Google",
        rf"input token count \(?{_N}\)? exceeds the maximum number of tokens allowed \(?{_N}",
        "requested",
        "limit",
    ),
    _says("Vertex", rf"input token count is {_N} but model only supports up to {_N}", "requested", "limit"),
    _says(
        "llama.cpp since 2025-10",
        rf"request \({_N} tokens\) exceeds the available context size \({_N} tokens\)",
        "requested",
        "limit",
    ),
    _says("llama.cpp", r"exceeds the available context size"),
    _says(
        "llama-cpp-python", rf"requested tokens \({_N}\) exceed context window of {_N}", "requested", "limit"
    ),
    _says(
        "LM Studio",
        rf"trying to keep the first {_N} tokens when context the overflows\. however, the model is loaded with context "
        rf"length of only {_N} tokens",
        "requested",
        "limit",
    ),
    _says("LM Studio", r"tokens to keep from the initial prompt is greater than the context length"),
    _says("LM Studio", rf"reached context length of {_N} tokens with model", "limit"),
    _says("Ollama", r"input (?:length )?exceeds (?:the |maximum )*context length"),
    _says("Ollama's cloud", r"prompt too long; exceeded (?:max )?context length"),
    _says(
        "Mistral",
        rf"prompt contains {_N} tokens.{{0,40}}?too large for model with {_N} maximum context",
        "requested",
        "limit",
    ),
    _says(
        "Cerebras",
        rf"reduce the length of the messages or completion\. current length is {_N} while limit is {_N}",
        "requested",
        "limit",
    ),
    _says("Groq, Cerebras", r"please reduce the length of the messages or completion"),
    _says("GitHub Copilot", rf"prompt token count of {_N} exceeds the limit of {_N}", "requested", "limit"),
    _says("Bedrock", r"input is too long for requested model"),
    _says(
        "Bedrock",
        rf"too many input tokens\. max input tokens: {_N}, request input token count: {_N}",
        "limit",
        "requested",
    ),
    _says("Bedrock, Nova", r"number of input tokens exceeds maximum length"),
    _says(
        "sglang",
        rf"input length \({_N} tokens\) exceeds the maximum allowed length \({_N}",
        "requested",
        "limit",
    ),
    _says(
        "sglang",
        rf"input \({_N} tokens\) is longer than the model's context length \({_N}",
        "requested",
        "limit",
    ),
    _says(
        "sglang", rf"requested token count exceeds the model's maximum context length of {_N} tokens", "limit"
    ),
    _says(
        "Hugging Face TGI, Together",
        rf"`inputs` tokens \+ `max_new_tokens` must be <= {_N}\. given: {_N} `inputs` tokens and {_N}",
        "limit",
        "input",
        "output",
    ),
    _says(
        "Fireworks", rf"prompt is too long: {_N}, model maximum context length: {_N}", "requested", "limit"
    ),
    _says("oMLX", rf"prompt too long: {_N} tokens exceeds max context window of {_N}", "requested", "limit"),
    _says("mlx-serve", r"prompt exceeds maximum context length"),
    _says("Moonshot", rf"exceeded model token limit: {_N}(?: \(requested: {_N}\))?", "limit", "requested"),
    _says("MiniMax", r"context window exceeds limit"),
    _says("DashScope", rf"range of input length should be \[1, {_N}\]", "limit"),
    _says(
        "Cohere",
        rf"total number of tokens in the prompt cannot exceed {_N} - received {_N}",
        "limit",
        "requested",
    ),
    # in characters or messages, not in tokens: a compaction helps all the same
    _says("OpenAI", r"string too long\. expected a string with maximum length \d{6,}"),
    _says("OpenAI", r"invalid '(?:messages|input)': array too long"),
)

CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
        "contextwindowexceedederror",
    }
)
"""Values of ``code`` or ``type`` that say it, in lower case: OpenAI and Groq, llama.cpp, Copilot, Anthropic, LiteLLM."""

_NEVER = frozenset({401, 402, 403, 404, 405, 408, 429, 529})
_FIRST_ERROR = 400
_TOO_LARGE = 413
_RATE = re.compile(r"(?:tokens|requests) per (?:min|day|hour|second)|rate.?limit|\bTP[MD]\b", re.IGNORECASE)
_TELLING = frozenset({"message", "msg", "error", "detail", "code", "type", "raw", "reason", "title"})
_MOST_TEXT = 4_000
_NESTED = frozenset({"errors", "details", "response", "metadata", "innererror"})

_ANY: msgspec.json.Decoder[object] = msgspec.json.Decoder()
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_Json: TypeAlias = "dict[str, object]"


def is_overflow(status: int, body: bytes) -> Overflow | None:
    """Read from ``body`` by how much a request was too large; None if the error is another one.

    Args:
        status: of the response. 200 is for an answer that turned out to be an error: JSON, or the events of a stream.
        body: of the response; one event or the rest of a stream will do.
    """
    if status in _NEVER:
        return None
    texts = error_texts(status, body)
    text = " ".join(" | ".join(texts).split())
    if _RATE.search(text):
        return None
    found = _told(text)
    if found is None and (status == _TOO_LARGE or any(each.lower() in CODES for each in texts)):
        found = {}
    if found is None:
        return None
    found |= _members(body)
    requested = found.get("requested") or (found.get("input", 0) + found.get("output", 0)) or None
    limit = found.get("limit")
    if limit is not None and found.get("output", 0) >= limit:
        return None  # only the answer that was asked for is too long: no compaction makes room for it
    message = max(texts, key=len, default=f"HTTP {status}")
    return Overflow(
        message=" ".join(message.split())[:300],
        limit=limit,
        requested=requested,
        output=found.get("output") or None,
    )


def _told(text: str) -> dict[str, int] | None:
    """The figures of the first sentence that says it; None if none does."""
    for sentence in SENTENCES:
        match = sentence.pattern.search(text)
        if match is not None:
            completion = _COMPLETION.search(text)
            groups = [*zip(sentence.figures, match.groups(), strict=True)]
            groups += [("output", completion[1])] if completion else []
            return {name: int(value.replace(",", "")) for name, value in groups if value}
    return None


def _members(body: bytes) -> dict[str, int]:
    """The figures that llama.cpp sends as members."""
    names = {"n_ctx": "limit", "n_prompt_tokens": "requested"}
    return {
        names[match[1].decode()]: int(match[2])
        for match in re.finditer(rb'"(n_ctx|n_prompt_tokens)"\s*:\s*(\d+)', body[:_MOST_TEXT])
    }


def error_texts(status: int, body: bytes) -> list[str]:
    """Texts in which an error describes itself (message, type, code…), without what it quotes of the request.

    Args:
        status: of the response; of a body with 200 only what calls itself an error counts.
        body: JSON, the events of a stream, or plain text.
    """
    is_failure = status >= _FIRST_ERROR
    values = list(_values(body))
    if not values and is_failure:
        return [body[:_MOST_TEXT].decode(errors="replace")]
    said = (text for value in values if is_failure or _is_error(value) for text in _telling(value))
    return list(dict.fromkeys(said))


def _values(body: bytes) -> Iterator[object]:
    """The JSON of the body: one value, or those of a stream's events."""
    try:
        yield _ANY.decode(body)
    except _UNREADABLE:
        for line in body.splitlines():
            if line.startswith(b"data:"):
                with suppress(*_UNREADABLE):
                    yield _ANY.decode(line[5:])


# The two below keep a list of what is left to read instead of calling themselves: what is decoded may be nested almost
# as deeply as Python allows calls.


def _is_error(value: object) -> bool:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left += cast("list[object]", each)
        elif isinstance(each, dict):
            members = cast(_Json, each)
            if members.get("error") or members.get("type") == "error":
                return True
            left.append(members.get("response"))
    return False


def _telling(value: object) -> Iterator[str]:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield each[:_MOST_TEXT]
        elif isinstance(each, list):
            left += reversed(cast("list[object]", each))
        elif isinstance(each, dict):
            items = reversed(cast(_Json, each).items())
            left += (item for key, item in items if key in _TELLING or key in _NESTED)
