"""The formats that are known: what each is called, how it is recognised and who reads it.

This table is the only place that lists them: error messages, ``--help``, reports, README and the documents are made
from it or checked against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec

from autocompact.sessions import (
    aider,
    chat_json,
    chatgpt,
    claude_ai,
    claude_code,
    cline,
    codex,
    continue_dev,
    copilot_cli,
    cursor,
    gemini_cli,
    gemini_contents,
    goose,
    kimi_code,
    langchain,
    opencode,
    openhands,
    pi,
    pydantic_ai,
    qwen_code,
    responses_json,
    specstory,
    vercel_ai,
)
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


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a format, and how it is recognised by the fields of an object."""

    matches: Matches
    read: Read


LINES: tuple[Reader, ...] = (
    Reader(codex.matches, codex.read),
    Reader(qwen_code.matches, qwen_code.read),
    Reader(claude_code.matches, claude_code.read),
    Reader(kimi_code.matches, kimi_code.read),
    Reader(copilot_cli.matches, copilot_cli.read),
    Reader(pi.matches, pi.read),
    Reader(openhands.matches, openhands.read),
    Reader(goose.matches, goose.read),
    Reader(gemini_cli.matches_line, gemini_cli.read_lines),
)
"""JSON lines, the first that matches a line."""


def _read_object(lines: Iterable[bytes]) -> Session:
    return chat_json.read_object(b"".join(lines))


def _read_list(lines: Iterable[bytes]) -> Session:
    return chat_json.read_list(b"".join(lines))


DOCUMENTS: tuple[Reader, ...] = (
    Reader(gemini_cli.matches, gemini_cli.read),
    Reader(cline.matches, cline.read),
    Reader(continue_dev.matches, continue_dev.read),
    Reader(opencode.matches, opencode.read),
    Reader(goose.matches, goose.read),
    Reader(chatgpt.matches, chatgpt.read),
    Reader(claude_ai.matches, claude_ai.read),
    Reader(pydantic_ai.matches, pydantic_ai.read),
    Reader(gemini_contents.matches, gemini_contents.read),
    Reader(langchain.matches, langchain.read),
    Reader(vercel_ai.matches, vercel_ai.read),
    Reader(responses_json.matches, responses_json.read),
)
"""One JSON object, the first that matches it."""

CHAT_LINES = Reader(chat_json.matches, chat_json.read)
CHAT_OBJECT = Reader(chat_json.matches, _read_object)


@dataclass(frozen=True, slots=True)
class ListReader:
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


LISTS: tuple[ListReader, ...] = (
    ListReader(partial(_first, chatgpt.matches), chatgpt.read),
    ListReader(partial(_first, claude_ai.matches), claude_ai.read),
    ListReader(partial(_first, pydantic_ai.matches), pydantic_ai.read),
    ListReader(partial(_first, gemini_contents.is_content), gemini_contents.read),
    ListReader(partial(_first, langchain.matches), langchain.read),
    ListReader(vercel_ai.is_list, vercel_ai.read),
    ListReader(responses_json.is_list, responses_json.read),
    ListReader(chat_json.is_list, _read_list),
)
"""One JSON array, the first that matches it."""

TEXTS: tuple[tuple[Callable[[str], bool], Read], ...] = (
    (aider.matches, aider.read),
    (cursor.matches, cursor.read),
    (specstory.matches, specstory.read),
)
"""Texts that are no JSON, by how they begin."""


def readers(fields: Fields, *, alone: bool = False) -> Iterator[Read]:
    """Yield the readers for a file with such a line, best first.

    Args:
        fields: of the line's object.
        alone: the line is the only one, so it may be a whole document.
    """
    for reader in (*LINES, *(DOCUMENTS if alone else ()), CHAT_LINES):
        if reader.matches(fields):
            yield reader.read
