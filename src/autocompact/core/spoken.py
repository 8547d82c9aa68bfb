"""The user's own words in a message of the user's role, without what client programs put around and beside them.

Everything here is linear in the text: an opening tag that nothing closes is looked up once, not once for each time it
stands there. Text comes from tools and models, so it can hold any number of them.
"""

from __future__ import annotations

import re

_INSTRUCTIONS = (
    r"system-reminder|environment_context|user_instructions|(?:permissions|skills|apps|plugins|developer)[ _]instructions"
    r"|collaboration_mode"
)
"""Tags of what a client resends with each request as instructions."""

_REMARKS = (
    r"ide_opened_file|ide_selection|ide_diagnostics|local-command-stdout|local-command-stderr|local-command-caveat"
    r"|task-notification"
)
"""Tags of what a client remarks once."""

_STANDING = re.compile(rf"<({_INSTRUCTIONS})\b[^>]{{0,300}}>")
_NOTES = re.compile(rf"<({_INSTRUCTIONS}|{_REMARKS})\b[^>]{{0,300}}>")
_DOCUMENT = re.compile(r"# (?:AGENTS|CLAUDE|GEMINI|QWEN)\.md\b[^\n]{0,300}\s+<(INSTRUCTIONS)>")
_SETUP = re.compile(r"This is (?:the )?[A-Z][\w ]{1,40}\. We are setting up the context for our chat\.")
"""The first message of Gemini CLI and Qwen Code: date, system and folders."""

_FILES = re.compile(r"Here are some READ ONLY files, provided for your reference\.\n")
"""aider's message with the files that ``--read`` names: conventions, mostly."""

_LINE = re.compile(r"\s*([^\n<]{0,80})")
_DIGITS = re.compile(r"\d+")
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

_MAY_STAND = "<#TH"
"""First characters of a block of instructions: of a tag, a document, `_SETUP`, `_FILES`."""

REMINDER = "system-reminder"
"""Tag of Claude Code's blocks: instructions at the beginning of a conversation, later mostly remarks of the moment."""


def standing_words(text: str) -> tuple[int, tuple[str, ...]]:
    """Where the blocks of instructions end that ``text`` begins with, and what each of them is; nothing without.

    A client resends such blocks with each request (CLAUDE.md, AGENTS.md, the environment, lists of skills). Two versions
    of the same block are named alike: by its tag and first words, numbers left out.
    """
    if _begins_otherwise(text, _MAY_STAND):
        return 0, ()
    at = _after_blanks(text, 0)
    if _SETUP.match(text, at):
        return len(text), ("setup",)
    if _FILES.match(text, at):
        return len(text), ("read-only files",)
    end, names = 0, list[str]()
    while (found := _standing_block(text, at)) is not None:
        end, name = found
        names.append(name)
        at = _after_blanks(text, end)
    return (at if at == len(text) else end), tuple(names)


def _standing_block(text: str, at: int) -> tuple[int, str] | None:
    """The end and the name of the block that begins at ``at``."""
    opening = _STANDING.match(text, at) or _DOCUMENT.match(text, at)
    if opening is None:
        return None
    closing = f"</{opening[1]}>"
    end = text.find(closing, opening.end())
    if end < 0:
        return None
    if opening[1] in (REMINDER, "INSTRUCTIONS"):
        start = at if opening[1] == "INSTRUCTIONS" else opening.end()
        return end + len(closing), f"{opening[1]} {heading(text, start)}"
    return end + len(closing), opening[1]


def heading(text: str, at: int = 0) -> str:
    """The first words from ``at`` on, numbers left out: what two versions of the same text have in common."""
    line = _LINE.match(text, at)
    assert line is not None, "it matches anything"
    return _DIGITS.sub("#", line[1])


def spoken(text: str) -> str:
    """The user's own words in a user message: without what the client wraps around them."""
    if _ASKED in text and _EDITOR.match(text):
        text = text.partition(_ASKED)[2]
    text = text[standing_words(text)[0] :]
    if "<" in text:
        text = _COMMAND.sub(_slash_command, without_elements(text, opening=_NOTES))
        text = _TAG.sub("", text)
    return _INTERRUPTED.sub("", text).strip()


def is_spoken(text: str) -> bool:
    """True if there are words of the user in ``text``; a long text or note costs no more than its beginning and end.

    Of a text that begins with the user's words, or with a client's note and then those words, the rest is not read.
    """
    if _begins_otherwise(text, _MAY_STAND + _BEGINNINGS):
        return True
    at = _after_blanks(text, standing_words(text)[0])
    while (opening := _NOTES.match(text, at)) is not None:
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            return True
        at = _after_blanks(text, end + len(closing))
    rest = text[at : at + 1]
    return bool(spoken(text[at:])) if rest and rest in _BEGINNINGS else bool(rest)


def _begins_otherwise(text: str, characters: str) -> bool:
    """True if ``text`` begins with a character that is neither blank nor one of these, as nearly every text does."""
    first = text[:1]
    return first != "" and first not in characters and not first.isspace()


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
