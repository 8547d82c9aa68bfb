"""The sessions that coding agents record on this computer: where they are, and which one is meant."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from autocompact.errors import InvalidInput
from autocompact.sessions.places import (
    claude_code_folder,
    cline_folder,
    codex_folder,
    copilot_folder,
    gemini_folder,
    kimi_folder,
    pi_folder,
    qwen_folder,
    ran_in,
)

Agent: TypeAlias = Literal["claude-code", "codex", "pi", "qwen", "kimi", "gemini", "copilot", "cline"]
CURRENT = "current"
"""Stands for the session of the current folder that went on last."""

_FILES: Mapping[Agent, str] = {
    "claude-code": "*/*.jsonl",
    "codex": "**/rollout-*.jsonl",
    "pi": "*/*.jsonl",
    "qwen": "*/chats/*.jsonl",
    "kimi": "*/*/agents/main/wire.jsonl",
    "gemini": "*/chats/session-*.json*",
    "copilot": "*/events.jsonl",
    "cline": "*/*.messages.json",
}
"""The sessions in the folder of each agent."""

_NAMING: Mapping[Agent, int] = {"copilot": 0, "cline": 0, "kimi": 2}
"""Which folder above the file is called as its session, from the nearest on, where the file is not."""

_SUBAGENT = "agent-"
_NEAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A recorded session.

    Attributes:
        agent: which agent wrote it.
        path: its file.
        changed: second of its last change.
    """

    agent: Agent
    path: Path
    changed: float

    @property
    def name(self) -> str:
        """The name of its file or folder, which agents make of the session's id."""
        folder = _NAMING.get(self.agent)
        return self.path.stem if folder is None else self.path.parents[folder].name


def _environment() -> Mapping[str, str]:
    return dict(os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcripts:
    """The recorded sessions of this computer's user.

    Attributes:
        project: the folder whose sessions `current` chooses from.
        home: the user's home folder.
        environment: for CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, QWEN_HOME, KIMI_CODE_HOME,
            GEMINI_CLI_HOME, CLINE_DIR and CLINE_DATA_DIR.
    """

    project: Path
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=_environment)

    def folders(self) -> Mapping[Agent, Path]:
        """Where each agent keeps its sessions; a folder need not exist."""
        return {
            "claude-code": claude_code_folder(self.environment, home=self.home),
            "codex": codex_folder(self.environment, home=self.home),
            "pi": pi_folder(self.environment, home=self.home),
            "qwen": qwen_folder(self.environment, home=self.home),
            "kimi": kimi_folder(self.environment, home=self.home),
            "gemini": gemini_folder(self.environment, home=self.home),
            "copilot": copilot_folder(home=self.home),
            "cline": cline_folder(self.environment, home=self.home),
        }

    def all(self) -> list[Transcript]:
        """All of them, the last changed first."""
        found = [each for agent, folder in self.folders().items() for each in _listed(agent, folder)]
        return sorted(found, key=lambda each: (-each.changed, each.name))

    def find(self, name: str) -> Transcript | None:
        """The session with this id, a beginning of its id, or its path; None if there is none.

        Raises:
            InvalidInput: several begin like this.
        """
        found = self.all()
        asked = Path(name).expanduser().absolute() if os.sep in name else None
        exact = [each for each in found if each.name == name or each.path == asked]
        if exact:  # Gemini CLI goes on with a session of an older release in another file of the same name
            return exact[0]
        begun = [each for each in found if name and name in (each.name[: len(name)], _id(each)[: len(name)])]
        if len(begun) > 1:
            listed = ", ".join(repr(each.name) for each in begun[:_NEAR])
            raise InvalidInput(f"{name!r} begins several sessions: {listed}. Give more of the one you mean.")
        return begun[0] if begun else None

    def current(self) -> Transcript:
        """The session of the project that changed last.

        Raises:
            InvalidInput: there is none.
        """
        project = self.project.resolve()
        for each in self.all():
            if ran_in(each.path, project):
                return each
        folders = ", ".join(repr(str(folder)) for folder in self.folders().values())
        raise InvalidInput(
            f"no agent has recorded a session in {str(project)!r} (looked into {folders}): name a conversation"
        )

    def near(self, name: str) -> Sequence[str]:
        """Ids that look like ``name``; the newest where none does."""
        names = [each.name for each in self.all()]
        return difflib.get_close_matches(name, names, n=_NEAR) or names[:_NEAR]


def _listed(agent: Agent, folder: Path) -> Iterator[Transcript]:
    for path in folder.glob(_FILES[agent]):
        try:
            changed = path.stat().st_mtime
        except OSError:
            continue  # removed meanwhile
        if not path.name.startswith(_SUBAGENT):
            yield Transcript(agent=agent, path=path.absolute(), changed=changed)


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def _id(transcript: Transcript) -> str:
    """The session's id at the end of the file's name, where that says more (Codex, pi)."""
    match = _UUID.search(transcript.name)
    return match[0] if match else transcript.name
