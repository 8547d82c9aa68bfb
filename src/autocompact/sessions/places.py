"""Folders in which agents keep the sessions that they record, and the project folder of each session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

BEGINNING = 262_144
"""Bytes at the beginning of a recorded session in which its working directory is looked for."""

_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


def claude_code_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which Claude Code keeps a folder for each project."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"


def codex_home(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder of Codex's settings, hooks and sessions."""
    return Path(environment.get("CODEX_HOME") or home / ".codex")


def codex_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which Codex keeps its sessions by day."""
    return codex_home(environment, home=home) / "sessions"


def pi_agent_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder of pi's settings, extensions and sessions."""
    return Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")


def pi_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which pi keeps a folder for each project."""
    return pi_agent_folder(environment, home=home) / "sessions"


def opencode_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder of OpenCode's settings and plugins, which is the same on every system."""
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"


def qwen_home(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder of Qwen Code's settings, extensions and sessions."""
    return Path(environment.get("QWEN_HOME") or home / ".qwen")


def qwen_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which Qwen Code keeps a folder for each project."""
    return qwen_home(environment, home=home) / "projects"


def kimi_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which Kimi Code keeps a folder for each project."""
    return Path(environment.get("KIMI_CODE_HOME") or home / ".kimi-code") / "sessions"


def gemini_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which Gemini CLI keeps a folder for each project."""
    return Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"


def copilot_folder(*, home: Path) -> Path:
    """The folder in which Copilot CLI keeps a folder for each session."""
    return home / ".copilot" / "session-state"


def cline_folder(environment: Mapping[str, str], *, home: Path) -> Path:
    """The folder in which Cline keeps a folder for each session."""
    own = Path(environment.get("CLINE_DIR") or home / ".cline")
    return Path(environment.get("CLINE_DATA_DIR") or own / "data") / "sessions"


def ran_in(path: Path, project: Path) -> bool:
    """True if the session in a file began in ``project``, which is resolved, or below."""
    try:
        cwd = _cwd(path)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError):
        return False
    return bool(cwd) and Path(cwd).resolve().is_relative_to(project)


def _cwd(path: Path) -> str:
    """The working directory of a session; "" if nothing says it.

    What stands beside a session goes first: the sessions of Gemini CLI and Cline do not say it, but calls in them may.
    """
    marker = path.parent.parent / ".project_root"  # of Gemini CLI
    if path.parent.name == "chats" and marker.is_file():
        return marker.read_text(encoding="utf-8").strip()
    about = path.with_name(path.name.replace(".messages.json", ".json"))  # of Cline
    with about.open("rb") as file:
        match = _CWD.search(file.read(BEGINNING))
    return msgspec.json.decode(match[1], type=str) if match else ""
