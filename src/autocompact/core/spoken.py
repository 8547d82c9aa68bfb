"""The user's own words in a message of the user's role, without what client programs put around and beside them.

Everything here is linear in the text: an opening tag that nothing closes is looked up once, not once for each time it
stands there. Text comes from tools and models, so it can hold any number of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_INSTRUCTIONS = (
    r"system-reminder|environment_context|user_instructions|(?:permissions|skills|apps|plugins|developer)[ _]instructions"
    r"|collaboration_mode"
)
"""Tags of what a client resends with each request as instructions."""

_REMARKS = (
    r"ide_opened_file|ide_selection|ide_diagnostics|local-command-stdout|local-command-stderr|local-command-caveat"
    r"|task-notification|environment_details"
)
"""Tags of what a client remarks once."""

_STANDING = re.compile(rf"<({_INSTRUCTIONS})\b[^>]{{0,300}}>")
_NOTES = re.compile(rf"<({_INSTRUCTIONS}|{_REMARKS})\b[^>]{{0,300}}>")
_TAGS = re.compile(rf"</?(?:{_INSTRUCTIONS}|{_REMARKS})\b[^>]{{0,300}}>")
_DOCUMENT = re.compile(r"# (?:AGENTS|CLAUDE|GEMINI|QWEN)\.md\b[^\n]{0,300}\s+<(INSTRUCTIONS)>")
_SETUP = re.compile(r"This is (?:the )?[A-Z][\w ]{1,40}\. We are setting up the context for our chat\.")
"""The first message of Gemini CLI and Qwen Code: date, system and folders."""

_FILES = re.compile(r"Here are some READ ONLY files, provided for your reference\.\n")
"""aider's message with the files that ``--read`` names: conventions, mostly."""

_EXAMPLE = re.compile(
    r"Here(?:'s a running example of how to perform a task\b| is a demonstration of how to correctly accomplish this task\b)"
)
"""The worked example that OpenHands puts before a task, SWE-agent in a message of its own, for models without tools."""

_TASK = "NEW TASK DESCRIPTION ---------------------\n"
_TASK_END = "\n--------------------- END OF NEW TASK DESCRIPTION"

RESULT = re.compile(
    r"EXECUTION RESULT of \[[^\]\n]{1,80}\]:\n?"  # OpenHands
    r"|Observation:\s{1,9}(?=Execution logs:|Last output from code snippet:)"  # smolagents
    r"|(?=(?:<exception>[^<]{0,2000}</exception>\s{0,3})?<returncode>)"  # mini-swe-agent
    r"|(?=<(?:function_results?|tool_response|tool_result|observation)>)"  # Hermes, Qwen
    r"|\[[a-z]{1,30}(?:_[a-z]{1,30}){1,5}(?: for '[^\n]{0,2000}')?\] Result:\n?"  # Cline, Roo Code
    r"|Tool output for tool call [^\n]{1,100}:\n"  # Continue
)
"""What the result of a call begins with that an agent wrote as text (`autocompact.core.text_calls`), and nobody types."""

_MAY_RESULT = "EO<[T"
"""First characters of what `RESULT` matches."""

_PLAN_END = "\n\nIf you need specific details from before exiting plan mode"
"""Begins what Claude Code writes behind a plan that the user accepted."""

_FEEDBACK = re.compile(r"<(user_message|feedback|answer)>")
"""Tags of what a person says beside a result."""

_LINE = re.compile(r"\s*([^\n<]{0,80})")
_DIGITS = re.compile(r"\d+")
_COMMAND = re.compile(
    r"<command-name>(.{0,200}?)</command-name>(?:.{0,400}?<command-args>(.{0,5000}?)</command-args>)?",
    re.DOTALL,
)
_CLIENT = frozenset(
    "/exit /quit /clear /compact /mcp /ide /model /help /config /login /logout /status /cost /resume /memory".split()
)
_MESSAGE = re.compile(r"<(command-message)>")
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

FIGURE = "figure of the moment"
"""Name of a block with nothing but the number of tokens that are left: no instruction, and outdated by the next answer."""

_FIGURE = re.compile(r"\s*<total_tokens>[^<]{0,100}</total_tokens>\s*")


def standing_words(text: str) -> tuple[int, tuple[str, ...]]:
    """The end of the instruction blocks that ``text`` begins with, and each block; 0 and none without.

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
    if _EXAMPLE.match(text, at):
        task = text.find(_TASK, at)
        return (task + len(_TASK) if task >= 0 else len(text)), ("example",)
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
    if opening[1] == REMINDER and _FIGURE.fullmatch(text, opening.end(), end):
        return end + len(closing), FIGURE
    if opening[1] in (REMINDER, "INSTRUCTIONS"):
        start = at if opening[1] == "INSTRUCTIONS" else opening.end()
        return end + len(closing), f"{opening[1]} {heading(text, start)}"
    return end + len(closing), opening[1]


def heading(text: str, at: int = 0) -> str:
    """The first words from ``at`` on, numbers left out: what two versions of the same text have in common."""
    line = _LINE.match(text, at)
    assert line is not None, "it matches anything"
    return _DIGITS.sub("#", line[1])


def untagged(text: str) -> str:
    """A client's note without its tags, whose names say nothing."""
    return _TAGS.sub("", text)


def spoken(text: str) -> str:
    """The user's own words in a user message: without what the client wraps around them."""
    if _ASKED in text and _EDITOR.match(text):
        text = text.partition(_ASKED)[2]
    if is_result(text):
        return feedback(text)
    text = text[standing_words(text)[0] :].partition(_TASK_END)[0].partition(_PLAN_END)[0]
    if "<" in text:
        if "<command-name>" in text:
            text = without_elements(text, opening=_MESSAGE)
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


def is_result(text: str) -> bool:
    """True for the result of a call that an agent wrote as text, in a message of the user's role."""
    return text[:1] in _MAY_RESULT and RESULT.match(text) is not None


def feedback(result: str) -> str:
    """Words of a person in the result of a call."""
    return "\n".join(result[tag.end() : end].strip() for tag, end in _elements(result, _FEEDBACK)).strip()


def is_example(text: str) -> bool:
    """True for a worked example that a client puts before the task: nothing in it happened."""
    return text.startswith("Here") and _EXAMPLE.match(text) is not None


def _begins_otherwise(text: str, characters: str) -> bool:
    """True if ``text`` begins with a character that is neither blank nor one of these, as nearly every text does."""
    first = text[:1]
    return first != "" and first not in characters and not first.isspace()


def without_elements(text: str, *, opening: re.Pattern[str]) -> str:
    """``text`` without the elements that ``opening`` begins; its first group is the tag. One never closed stays."""
    pieces: list[str] = []
    at = 0
    for tag, end in _elements(text, opening):
        pieces.append(text[at : tag.start()])
        at = end + len(tag[1]) + len("</>")
    return "".join((*pieces, text[at:]))


def _elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
    """The opening tag, and where the contents end, of each element that is closed and in no other one."""
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
        yield tag, end
        at = end + len(closing)


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    assert blanks is not None, "no blanks are blanks as well"
    return blanks.end()


def _slash_command(match: re.Match[str]) -> str:
    name, arguments = match[1].strip(), (match[2] or "").strip()
    return "" if name in _CLIENT else f"{name} {arguments}".strip() + "\n"
