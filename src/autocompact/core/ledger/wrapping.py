"""What client programs wrap around the words of a user or a tool: told from the words, and taken off.

Everything here is linear in the text: an opening tag that nothing closes is looked up once, not once for each time it
stands there. Text comes from tools and models, so it can hold any number of them.
"""

from __future__ import annotations

import re

_NOTES = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|local-command-stdout|local-command-stderr"
    r"|local-command-caveat|environment_context|user_instructions|task-notification)\b[^>]{0,300}>"
)
_REMINDER = re.compile(r"<(system-reminder)>")
_COMMAND = re.compile(
    r"<command-name>(.{0,200}?)</command-name>(?:.{0,400}?<command-args>(.{0,5000}?)</command-args>)?",
    re.DOTALL,
)
_CLIENT = frozenset(
    "/exit /quit /clear /compact /mcp /ide /model /help /config /login /logout /status /cost /resume /memory".split()
)
_TAG = re.compile(r"</?(?:command-\w{1,40}|bash-\w{1,40}|user_query|user-prompt)>")
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]{0,100}\]")
_EDITOR = re.compile(r"\s*# (?:Context from my IDE setup|Files mentioned by the user):\n")
_ASKED = "\n## My request for Codex:\n"
_ARROWS = re.compile(r"^ *\d+→", re.MULTILINE)
_NUMBERED = re.compile(r"^ *\d+(?:\t|\. )", re.MULTILINE)
_TASK = re.compile(r"<task-id>([^<]{1,100})</task-id>")
_STATUS = re.compile(r"<status>([^<]{1,100})</status>")


def spoken(text: str) -> str:
    """The user's own words in a user message: without what the client wraps around them."""
    if _ASKED in text and _EDITOR.match(text):
        text = text.partition(_ASKED)[2]
    if "<" in text:
        text = _COMMAND.sub(_slash_command, _without(_NOTES, text))
        text = _TAG.sub("", text)
    return _INTERRUPTED.sub("", text).strip()


def unnumbered(text: str) -> str:
    """A tool's output without line numbers (``12→``), which are no identifiers, and without the client's notes."""
    if "<system-reminder>" in text:
        text = _without(_REMINDER, text)
    if "→" in text:
        text = _ARROWS.sub("", text)
    return _NUMBERED.sub("", text) if _NUMBERED.match(text) else text


def task_notices(text: str) -> list[tuple[str, str]]:
    """The tasks that a client reports on, each with its status."""
    found: list[tuple[str, str]] = []
    for notice in text.split("<task-notification>")[1:]:
        task = _TASK.search(notice)
        status = _STATUS.search(notice, task.end()) if task else None
        if task and status:
            found.append((task[1].strip(), status[1].strip()))
    return found


def _without(opening: re.Pattern[str], text: str) -> str:
    """``text`` without the elements that ``opening`` begins; its first group is the tag. One never closed stays."""
    pieces: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for tag in opening.finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        closing = f"</{tag[1]}>"
        end = text.find(closing, tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        pieces.append(text[at : tag.start()])
        at = end + len(closing)
    return "".join((*pieces, text[at:]))


def _slash_command(match: re.Match[str]) -> str:
    name, arguments = match[1].strip(), (match[2] or "").strip()
    return "" if name in _CLIENT else f"{name} {arguments}".strip() + "\n"
