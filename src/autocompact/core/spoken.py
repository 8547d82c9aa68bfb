"""The user's own words in a message of the user's role, without what client programs put around and beside them.

Everything here is linear in the text: an opening tag that nothing closes is looked up once, not once for each time it
stands there. Text comes from tools and models, so it can hold any number of them.
"""

from __future__ import annotations

import re

_NOTES = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|local-command-stdout|local-command-stderr"
    r"|local-command-caveat|environment_context|user_instructions|task-notification)\b[^>]{0,300}>"
)
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
_BLANKS = re.compile(r"\s*")
_BEGINNINGS = "<["
"""First characters of what a client writes."""


def spoken(text: str) -> str:
    """The user's own words in a user message: without what the client wraps around them."""
    if _ASKED in text and _EDITOR.match(text):
        text = text.partition(_ASKED)[2]
    if "<" in text:
        text = _COMMAND.sub(_slash_command, without_elements(text, opening=_NOTES))
        text = _TAG.sub("", text)
    return _INTERRUPTED.sub("", text).strip()


def is_spoken(text: str) -> bool:
    """True if there are words of the user in ``text``; a long text or note costs no more than its beginning and end.

    Of a text that begins with the user's words, or with a client's note and then those words, the rest is not read.
    """
    at = _after_blanks(text, 0)
    while (opening := _NOTES.match(text, at)) is not None:
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            return True
        at = _after_blanks(text, end + len(closing))
    rest = text[at : at + 1]
    return bool(spoken(text[at:])) if rest and rest in _BEGINNINGS else bool(rest)


def without_elements(text: str, *, opening: re.Pattern[str]) -> str:
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


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    assert blanks is not None, "no blanks are blanks as well"
    return blanks.end()


def _slash_command(match: re.Match[str]) -> str:
    name, arguments = match[1].strip(), (match[2] or "").strip()
    return "" if name in _CLIENT else f"{name} {arguments}".strip() + "\n"
