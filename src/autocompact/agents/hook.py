"""What the hooks of a plugin run: ``autocompact-hook``, with the event as JSON on stdin.

A hook must never break or hold up the session that calls it. Whatever happens, the exit code is 0 and stderr stays empty; a
failure is noted in ``agents/hook.log`` in the data folder, without a word of the conversation. What takes longer is done by a
process of its own (``work``), which writes the texts that the next hooks only have to print, so this module imports nothing
that is slow to load unless it has to do that work itself.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from autocompact.agents.hook_files import BLIND, GIVEN, GROWN, PENDING, state_folder

WORK = "work"
"""First argument of the process that does what takes longer."""

NO_ARCHIVE, WITH_TOOLS, AGENT = "--no-archive", "--with-tools", "--agent="
UNREAD = ("codex",)
"""Agents whose summary nobody can read: what is given beside it is all that is known."""

SWITCH = "AUTOCOMPACT_HOOKS"
"""The variable that turns the hooks off: ``off``."""

TAIL = 262_144
"""Bytes at the end of a transcript in which the summary of its compaction is looked for."""

MOST_READ = 8_000_000
"""Bytes of a transcript that is read while the agent waits, about two seconds. A larger one is read beside it, and what was
found comes with the next prompt, where the agent has a hook for that; else what was found before the compaction is all."""

_SUMMARY = re.compile(rb'"isCompactSummary":\s*true')
_MOST_LOG = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer the event on stdin; 0 whatever happens."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from autocompact.history.paths import data_folder

        content = sys.stdin.buffer.read()
        if os.environ.get(SWITCH) != "off" and (told := _reply(content, given, data=data_folder())):
            sys.stdout.write(json.dumps(told))
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - whatever fails here must not break the agent's session
        with suppress(Exception):
            _note(error)
        with suppress(Exception):
            sys.stdout = None  # a pipe that nobody reads any more would fail once more when Python ends
    return 0


def _reply(content: bytes, given: Sequence[str], *, data: Path) -> Mapping[str, object]:
    """What is answered; {} for nothing."""
    if asked := _extension(_agent(given)):
        archives, work = NO_ARCHIVE not in given, WORK in given
        told = asked(content, folder=data, archives=archives, work=work)
        if archives and not work:
            _beside(content, given)
        return told
    event = json.loads(content)
    text = answered(event, given, data=data)
    told = {"hookEventName": str(event["hook_event_name"]), "additionalContext": text}
    return {"hookSpecificOutput": told} if text else {}


def _extension(agent: str) -> Callable[..., Mapping[str, object]] | None:
    """What answers an agent whose extension asks, in a form of our own; None for one with hooks like Claude Code's."""
    match agent:
        case "pi":
            from autocompact.agents.pi import answer
        case "opencode":
            from autocompact.agents.opencode import answer
        case _:
            return None
    return answer


def _agent(given: Sequence[str]) -> str:
    """Whose event it is."""
    named = [each.removeprefix(AGENT) for each in given if each.startswith(AGENT)]
    return named[0] if named else "claude-code"


def answered(event: Mapping[str, object], given: Sequence[str], *, data: Path) -> str:
    """What is put into the context; "" for nothing.

    Args:
        event: what the agent says.
        given: arguments of the command.
        data: autocompact's folder among the user's data.

    Raises:
        Exception: whatever fails.
    """
    state = state_folder(data, agent=_agent(given), session_id=str(event["session_id"]))
    if WORK in given:
        _work(event, given, state=state)
        return ""
    match event["hook_event_name"]:
        case "PreCompact" | "PostCompact":
            _compacting(event, given, state=state)
            return ""
        case "SessionStart" if event.get("source") == "compact":
            return _given(event, given, state=state)
        case "SessionStart" | "UserPromptSubmit":
            return _taken(state / PENDING)
        case _:
            return ""


def _compacting(event: Mapping[str, object], given: Sequence[str], *, state: Path) -> None:
    """Before or after a compaction: what takes longer is done beside the agent."""
    if event["hook_event_name"] == "PreCompact":
        for name in (GIVEN, PENDING, BLIND):
            (state / name).unlink(missing_ok=True)
    elif not (state / GIVEN).exists() and not _is_large(event):
        _work(event, given, state=state)  # the text that comes next is to know what is found now
        return
    _beside(json.dumps(dict(event)).encode(), given)


def _given(event: Mapping[str, object], given: Sequence[str], *, state: Path) -> str:
    """The text beside the summary of a compaction that has just been."""
    text = _taken(state / PENDING) or _blind(event, given, state=state)
    if text and _agent(given) in UNREAD:
        _beside(json.dumps(dict(event)).encode(), given)
    return text


def _taken(path: Path) -> str:
    """The text in a file, which is then gone; "" if there is none."""
    try:
        text = str(json.loads(path.read_bytes())["text"])
    except FileNotFoundError:
        return ""
    path.unlink()
    return text


def _blind(event: Mapping[str, object], given: Sequence[str], *, state: Path) -> str:
    """The text beside a summary that was not checked: the one that was made before it, if it is of this transcript."""
    transcript = Path(str(event["transcript_path"]))
    with suppress(FileNotFoundError):
        made = json.loads((state / BLIND).read_bytes())
        with transcript.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL))
            is_known = _SUMMARY.search(file.read()) is not None
        if not is_known and 0 <= size - int(made["size"]) <= GROWN:
            (state / BLIND).replace(state / GIVEN)
            return str(made["text"])
    if _is_large(event):
        return ""
    return _hook(event, given, state=state).block_now()


def _is_large(event: Mapping[str, object]) -> bool:
    with suppress(OSError):  # whoever reads it says why it cannot be read
        return Path(str(event["transcript_path"])).stat().st_size > MOST_READ
    return False


def _work(event: Mapping[str, object], given: Sequence[str], *, state: Path) -> None:
    hook = _hook(event, given, state=state)
    match event["hook_event_name"]:
        case "PreCompact":
            hook.prepare()
        case "SessionStart":
            hook.note()
        case _:
            hook.check()


class _Hook(Protocol):
    """What is used of `autocompact.agents.claude_code.Hook`, whose module is slow to load."""

    def prepare(self) -> None: ...
    def note(self) -> None: ...
    def check(self) -> None: ...
    def block_now(self) -> str: ...


def _hook(event: Mapping[str, object], given: Sequence[str], *, state: Path) -> _Hook:
    from autocompact.agents.claude_code import Hook

    return Hook(
        event,
        agent=_agent(given),
        state=state,
        pins=state.parents[2] / "pins",
        archives=NO_ARCHIVE not in given,
        tools=WITH_TOOLS in given,
    )


def _beside(content: bytes, given: Sequence[str]) -> None:
    """Do the work in a process of its own, which nobody waits for. Where none can be started, that is noted."""
    try:
        _start(content, given)
    except OSError as error:  # what the agent is to be told must not be lost for it
        with suppress(Exception):
            _note(error)


def _start(content: bytes, given: Sequence[str]) -> None:
    import subprocess

    process = subprocess.Popen(
        # -P: the folder that the agent works in may have modules of the names of ours, which are not to be run
        (sys.executable, "-P", "-m", "autocompact.agents.hook", WORK, *given),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # an agent may end a hook with all that it started
    )
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.close()
    process.returncode = 0  # else Python warns that it still runs


def _note(error: BaseException) -> None:
    from autocompact.history.paths import data_folder
    from autocompact.runtime.files import PRIVATE_FILE, make_folder

    log = data_folder() / "agents" / "hook.log"
    make_folder(log.parent)
    places = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{Path(place.filename).name}:{place.lineno}" for place in reversed(places))
    line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {type(error).__name__} at {where}\n"
    if log.exists() and log.stat().st_size > _MOST_LOG:
        log.unlink()
    log.touch(PRIVATE_FILE)
    with log.open("a", encoding="utf-8") as file:
        file.write(line)


if __name__ == "__main__":
    sys.exit(main())
