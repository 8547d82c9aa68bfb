"""Configuration of a chat, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from autocompact.compaction.modes import DEFAULT, Mode
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput
from autocompact.models.vocabulary import default_counter

Approval: TypeAlias = Literal["ask", "allow"]

OFFLINE_WINDOW = 16_000
"""Tokens of the offline model's window, so that a compaction can be seen without an account."""

ANSWER_SILENCE = 600.0
"""Seconds; a model that thinks for long before it writes may send nothing for minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """Rules for the commands that the agent may run in the workspace.

    A rule is a pattern of words: ``git status`` allows ``git status`` and ``git status src``, ``git status --short`` the
    option as well; ``*`` stands for any one word or part of one, ``-*`` for every option. A command that a rule of
    ``deny`` matches is never run. One that ``allow`` covers (see `autocompact.chat.tools.command.verdict`) runs at once,
    any other only after the person said yes.

    Attributes:
        enabled: False offers no such tool; it needs a POSIX system.
        allow: patterns of commands that need no question.
        deny: patterns of commands that are refused; they go before ``allow``.
        seconds: how long a command may run.
        output_bytes: of its output that the model is shown, its beginning and its end.
        sandbox: run commands under bubblewrap where the system has it (`autocompact.chat.tools.sandbox`).
    """

    enabled: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    seconds: float = 60.0
    output_bytes: int = 30_000
    sandbox: bool = True

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.output_bytes < 1:
            raise InvalidInput(
                f"seconds is {self.seconds!r} and output_bytes {self.output_bytes!r}: both must be positive"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConfig:
    """Configuration of one service.

    Attributes:
        model: what new conversations talk to, as `ModelChoice.name` has it ("anthropic:claude-haiku-4-5", "offline");
            None is the first that the environment offers, else the offline model.
        base_url: address of the server behind "compatible" models; None is ``OPENAI_BASE_URL``.
        summary_model: another model for summaries, named likewise; None is the conversation's own.
        mode: when and how to compact.
        window: tokens of the model's window; None goes by the model.
        windows: windows of models by the beginning of their names; they go before the table of known models.
        reserve: tokens reserved for the reply; None takes a share of the context window.
        silence: seconds without data from the model after which a request is given up; None is `ANSWER_SILENCE`, for
            summaries as `autocompact.models.http.Patience` has it.
        workspace: the folder that file tools and commands work in and cannot leave; None offers no such tools.
        memory_folder: the folder of the memory files; None offers no ``remember`` and reads none.
        keep_metrics: keep the figures of each compaction with its entry in CONTEXT_ARCHIVE.md.
        skill_folders: folders that hold skills, each a folder with a ``SKILL.md``; of equal names the last one counts.
        mcp_file: a JSON file with ``mcpServers``.
        commands: rules for commands of the agent.
        titles: ask the model for a title after the first answer of a conversation that has none.
        approval: "ask" puts a question to the person before a file is written or a tool of an MCP server is used, unless
            they gave a standing answer; "allow" does not. Files that may hold secrets are asked for in any case.
        approvals_file: keeps the standing answers; None keeps them in memory.
        instructions: what the system prompt says besides its own words.
        steps: model calls that one turn may take.
        watch_seconds: how often to look for what other programs added to an open conversation; it reads only what is
            new.
        idle_sessions: number of idle conversations kept in memory: nobody listens and nothing runs in them.
        namespace: whose conversations (a tenant).
        extra: further members of each model request, e.g. ``{"reasoning_effort": "low"}``.
        counter_for: the counter of tokens for a model, by its name.
    """

    model: str | None = None
    base_url: str | None = None
    summary_model: str | None = None
    mode: Mode = DEFAULT
    window: int | None = None
    windows: Mapping[str, int] = field(default_factory=dict[str, int])
    reserve: int | None = None
    silence: float | None = None
    workspace: Path | None = None
    memory_folder: Path | None = None
    keep_metrics: bool = True
    skill_folders: tuple[Path, ...] = ()
    mcp_file: Path | None = None
    commands: CommandRules = field(default_factory=CommandRules)
    titles: bool = False
    approval: Approval = "ask"
    approvals_file: Path | None = None
    instructions: str = ""
    steps: int = 100
    watch_seconds: float = 2.0
    idle_sessions: int = 32
    namespace: str = "default"
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    counter_for: Callable[[str], Counter] = default_counter

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InvalidInput(f"steps is {self.steps!r}: a turn takes one model call at least")
        if self.silence is not None and self.silence <= 0:
            raise InvalidInput(f"silence is {self.silence!r}: it must be positive")
        if self.watch_seconds <= 0:
            raise InvalidInput(f"watch_seconds is {self.watch_seconds!r}: it must be positive")
        if self.idle_sessions < 0:
            raise InvalidInput(f"idle_sessions is {self.idle_sessions!r}: it must be 0 or more")
