"""A recorded session once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message

Format: TypeAlias = Literal[
    "claude_code",
    "codex",
    "copilot_cli",
    "gemini_cli",
    "opencode",
    "pi",
    "qwen_code",
    "kimi_code",
    "goose",
    "aider",
    "cline",
    "cursor",
    "specstory",
    "continue",
    "openhands",
    "swe_agent",
    "tau_bench",
    "chatgpt",
    "claude_ai",
    "openai",
    "openai_responses",
    "anthropic",
    "gemini",
    "langchain",
    "vercel_ai",
    "pydantic_ai",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A line (1-based; 0 for the whole file) that could not be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A recorded session as a log.

    Attributes:
        format: which program wrote it.
        messages: the whole active branch in order, ``seq`` from 1, the originals of earlier compactions included.
        compactions: what the recording program compacted itself, oldest first; the last one was in force at the end.
        sidechains: the messages of sub-agents, by their id: the main agent never saw them.
        abandoned: messages of branches that were left (rewind, edit).
        skipped: what could not be read.
        garbled: the lines (1-based) with bytes that are no UTF-8, which were read as U+FFFD.
        model: the last model named, "" if none.
        lines: the 1-based line of the file at which each message begins, index as in ``messages`` (all 1 where the
            whole file is one JSON document).
        cwd: the working directory it ran in, "" if unknown.
        title: what the program called it, "" if nothing.
        window: tokens of the model's window as the program last recorded it, 0 if it did not.
        hour_cache: the program asked Anthropic's cache to hold for an hour instead of five minutes.
    """

    format: Format
    messages: tuple[Message, ...]
    compactions: tuple[Compaction, ...] = ()
    sidechains: Mapping[str, tuple[Message, ...]] = field(default_factory=dict[str, tuple[Message, ...]])
    abandoned: tuple[Message, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    garbled: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    model: str = ""
    cwd: str = ""
    title: str = ""
    window: int = 0
    hour_cache: bool = False
