"""The formats that are known: what each is called, how it is recognised and who reads it.

This table is the only place that lists them: error messages, ``--help``, reports, README and the documents are made
from it or checked against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from autocompact.sessions.session import Format, Session

Fields: TypeAlias = Mapping[str, msgspec.Raw]
Read: TypeAlias = Callable[[Iterable[bytes]], Session]
Matches: TypeAlias = Callable[[Fields], bool]

LABELS: Mapping[Format, str] = {
    "claude_code": "Claude Code",
    "codex": "Codex",
    "copilot_cli": "Copilot CLI",
    "gemini_cli": "Gemini CLI",
    "opencode": "OpenCode",
    "pi": "pi",
    "qwen_code": "Qwen Code",
    "kimi_code": "Kimi Code",
    "goose": "goose",
    "aider": "aider",
    "cline": "Cline",
    "cursor": "Cursor",
    "specstory": "SpecStory",
    "continue": "Continue",
    "openhands": "OpenHands",
    "swe_agent": "SWE-agent",
    "tau_bench": "tau-bench",
    "chatgpt": "ChatGPT export",
    "claude_ai": "Claude.ai export",
    "openai": "OpenAI messages",
    "openai_responses": "OpenAI Responses items",
    "anthropic": "Anthropic messages",
    "gemini": "Gemini contents",
    "langchain": "LangChain messages",
    "vercel_ai": "Vercel AI SDK messages",
    "pydantic_ai": "Pydantic AI messages",
}
"""Each format's name for people."""

KNOWN = (
    "sessions of Claude Code, Codex, Copilot CLI, Gemini CLI, OpenCode, pi, Qwen Code, Kimi Code, goose, aider, Cline, "
    "Cursor, Continue, OpenHands, SWE-agent and tau-bench; histories of SpecStory (Cursor, Copilot and others); exports of "
    "ChatGPT and Claude.ai; as JSON, messages for OpenAI (Chat "
    "Completions, Responses), Anthropic or Gemini, and of LangChain, Pydantic AI and the Vercel AI SDK; all "
    "of these as JSON lines, too"
)
"""What can be read, in a part of a sentence."""

KNOWN_ARE = f"Known are {KNOWN}."
"""What can be read, as the end of an error."""


class Reader(Struct, frozen=True):
    """The reader of a format, and how it is recognised by the fields of an object.

    Attributes:
        module: its module in this package.
        matches: True for the fields of an object of this format.
        read: reads the lines of a file.
    """

    module: str
    matches: Matches
    read: Read


def _called(module: str, function: str) -> Callable[[Any], Any]:
    """A function of a module of this package, which is imported at the first call: a session needs three of twenty."""

    def call(argument: object) -> object:
        return getattr(import_module(f"autocompact.sessions.{module}"), function)(argument)

    return call


def _reader(module: str, *, matches: str = "matches", read: str = "read") -> Reader:
    return Reader(module, _called(module, matches), _called(module, read))


LINES: tuple[Reader, ...] = (
    _reader("codex"),
    _reader("qwen_code"),
    _reader("claude_code"),
    _reader("kimi_code"),
    _reader("copilot_cli"),
    _reader("pi"),
    _reader("openhands"),
    _reader("goose"),
    _reader("cursor_transcript"),
    _reader("gemini_cli", matches="matches_line", read="read_lines"),
)
"""JSON lines, the first that matches a line."""

DOCUMENTS: tuple[Reader, ...] = (
    _reader("gemini_cli"),
    _reader("cline"),
    _reader("continue_dev"),
    _reader("opencode"),
    _reader("goose"),
    _reader("chatgpt"),
    _reader("claude_ai"),
    _reader("pydantic_ai"),
    _reader("gemini_contents"),
    _reader("langchain"),
    _reader("vercel_ai"),
    _reader("responses_json"),
)
"""One JSON object, the first that matches it."""

CHAT_LINES = _reader("chat_json")
CHAT_OBJECT = _reader("chat_json", read="read_object")


class ListReader(Struct, frozen=True):
    """The reader of a format that is a JSON array, and how it is recognised."""

    matches: Callable[[bytes], bool]
    read: Read


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _first(matches: Matches, document: bytes) -> bool:
    """True if the first item of an array is an object that matches."""
    for item in _items(document)[:1]:
        return bytes(item).startswith(b"{") and matches(_fields(item))
    return False


def _of_items(module: str, *, matches: str = "matches") -> ListReader:
    return ListReader(partial(_first, _called(module, matches)), _called(module, "read"))


def _of_list(module: str, *, read: str = "read") -> ListReader:
    return ListReader(_called(module, "is_list"), _called(module, read))


LISTS: tuple[ListReader, ...] = (
    _of_items("chatgpt"),
    _of_items("claude_ai"),
    _of_items("pydantic_ai"),
    _of_items("gemini_contents", matches="is_content"),
    _of_items("langchain"),
    _of_list("vercel_ai"),
    _of_list("responses_json"),
    _of_list("chat_json", read="read_list"),
)
"""One JSON array, the first that matches it."""

TEXTS: tuple[tuple[Callable[[str], bool], Read], ...] = tuple(
    (_called(module, "matches"), _called(module, "read")) for module in ("aider", "cursor", "specstory")
)
"""Texts that are no JSON, by how they begin."""


def readers(fields: Fields, *, alone: bool = False) -> Iterator[Reader]:
    """Yield the readers for a file with such a line, best first.

    Args:
        fields: of the line's object.
        alone: the line is the only one, so it may be a whole document.
    """
    for reader in (*LINES, *(DOCUMENTS if alone else ()), CHAT_LINES):
        if reader.matches(fields):
            yield reader
