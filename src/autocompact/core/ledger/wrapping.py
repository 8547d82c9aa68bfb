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

_LEAD = re.compile(r"\s*<(teammate-message|cross-session-message)\b[^>]{0,500}>")
_HOOK = re.compile(r"\s*(?:Stop|SubagentStop|UserPromptSubmit|PreToolUse|PostToolUse) hook feedback:\s*")
_IDLE = re.compile(r"\s*\{\s*\"type\"\s*:")
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>)?The (?:user doesn't want to|tool use was rejected).{0,600}?\bthe user said:\s*",
    re.DOTALL,
)
_ANSWERS = re.compile(r"\s*(?:The )?[Uu]ser has answered your questions?\b")
_ANSWERED = re.compile(r"\"([^\"\n]{3,300})\"=\"([^\"\n]{1,200})\"")
_BEGINNING = 4_000


def ordered(text: str) -> str:
    """The orders of a lead agent or of a hook in ``text``, without what the client wraps around them; "" for none.

    A lead's notice in JSON (that it is idle, say) is no order.
    """
    if _HOOK.match(text):
        return _HOOK.sub("", text, count=1).strip()
    if not _LEAD.match(text):
        return ""
    orders: list[str] = []
    at = 0
    while opening := _LEAD.match(text, at):
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        inside = text[opening.end() : end if end >= 0 else len(text)].strip()
        if inside and not _IDLE.match(inside):
            orders.append(inside)
        if end < 0:
            break
        at = end + len(closing)
    return "\n\n".join(orders)


def replied(output: str) -> str:
    """What the user said inside the result of a tool: why a call was refused, or the answers to questions.

    A tool could write the same, so these words are told as what a result reports, and allow nothing.
    """
    beginning = output[:_BEGINNING]
    if refused := _REFUSED.match(beginning):
        return output[refused.end() :].strip()
    if _ANSWERS.match(beginning):
        return "\n".join(f"{question} → {answer}" for question, answer in _ANSWERED.findall(beginning))
    return ""


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
