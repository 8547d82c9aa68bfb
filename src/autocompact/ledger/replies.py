"""What a user says inside the result of a tool: answers to the agent's questions, and why a call was refused.

Each agent writes that down in its own way. The forms are those of Claude Code (up to 2.1.330), OpenCode, Qwen Code, Copilot CLI,
Codex and Gemini CLI, read in recorded sessions and in what these programs ship.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec

from autocompact.core.patterns import LazyPattern

_REFUSED = LazyPattern(
    r"\s*(?:<tool_use_error>)?(?:The (?:user doesn't want to|tool use was rejected)|Permission for this tool use was denied)"
    r".{0,600}?\b[Tt]he user said:\s*",
    re.DOTALL,
)
_ANSWERS = LazyPattern(
    r"\s*(?:(?:The )?[Uu]ser has answered your questions?\b|Your questions have been answered:|The user answered:"
    r"|The user asked for more questions before|No response after \d)"
)
"""Begins a list of questions with their answers; the last two are of a user who asked back, and of one who went away."""

_QUESTION = LazyPattern(r"(?<=[:,] )\"((?:(?!\", \")[^\n]){3,400}?)\"=(?=[\"(])")
_ANSWER_END = LazyPattern(
    r"\"(?=,?\s*\Z| selected preview:| notes:|\.\s*(?:\Z|Read the answers|You can now|They also wrote|Call \w))"
)
_NOTES = LazyPattern(
    r" notes: (?P<notes>.{1,1000}?)(?=,?\s*\Z|\. (?:Read the answers|You can now|They also wrote|Call \w))",
    re.DOTALL,
)
_ALSO = LazyPattern(r" They also wrote: \"(.{1,1000}?)\"\. Call ", re.DOTALL)
_CLARIFIES = LazyPattern(r"The user wants to clarify these questions\.")
_ASKED = LazyPattern(
    r"^- \"(?P<question>[^\n]{1,1000})\"\n +(?:\(No answer provided\)|Answer: (?P<answer>[^\n]{1,1000}))"
    r"(?:\n +User notes: (?P<notes>[^\n]{1,1000}))?",
    re.MULTILINE,
)
"""Claude Code's list of the questions that it had asked: nobody typed what stands around answers and notes."""

_HEADED = LazyPattern(r"\s*User has provided the following answers:\s+(?=\*\*)")
_HEADER = LazyPattern(r"^\*\*(?P<question>[^\n]{1,200}?)\*\*: (?P<answer>[^\n]{1,2000})", re.MULTILINE)
_SINGLE = LazyPattern(
    r"\s*(?:The user responded|User (?:responded|selected)): (?P<answer>.{1,2000})", re.DOTALL
)
_ASKS = LazyPattern(r"(?<![a-z])ask|question|user_?input|wait_for_notification", re.IGNORECASE)
_JSON = LazyPattern(r"\s*\{\s*\"(?:answers\"\s*:|status\"\s*:\s*\"answered\")")
_BREAK = LazyPattern(r"\s*\{\s*\"status\"\s*:\s*\"interrupted_by_user\"")
"""Claude Science: the user wrote while the agent waited."""


_UNANSWERED = "Unanswered"
"""What OpenCode writes in the place of an answer that was not given."""

_BEGINNING = 4_000
"""Characters of a result in which answers are looked for."""


def asks(tool: str) -> bool:
    """True for a tool that asks the user, by its name: ``ask_user``, ``AskUserQuestion``, ``request_user_input``.

    While Claude Science waits (``wait_for_notification``), the user may write as well.
    """
    return _ASKS.search(tool) is not None


def replied(output: str, *, asked: bool = False, question: str = "") -> str:
    """What the user said inside the result of a tool: why a call was refused, or the answers to questions.

    A tool could write the same, so these words are told as what a result reports, and allow nothing.

    Args:
        output: of the tool.
        asked: the tool `asks`: only then forms count in which any tool could have written down something else.
        question: what the call asked, for forms that give the answer alone.
    """
    beginning = output[:_BEGINNING]
    if refused := _REFUSED.match(beginning):
        said = output[refused.end() :].strip()
        return _clarified(said) if _CLARIFIES.match(said) else said
    if _ANSWERS.match(beginning):
        return "\n".join(_answered(beginning))
    if headed := _HEADED.match(beginning):
        found = _HEADER.finditer(beginning, headed.end())
        return "\n".join(_told(each["question"], each["answer"]) for each in found)
    if not asked:
        return ""
    if _BREAK.match(beginning):
        return _message(output)
    if single := _SINGLE.match(beginning):
        return _told(question, single["answer"])
    return "\n".join(_of_json(output, question)) if _JSON.match(beginning) else ""


def _told(question: str, answer: str, *, notes: str = "") -> str:
    words = "; ".join(part.strip() for part in (answer, notes) if part.strip())
    return f"{question} → {words}" if question else words


def _answered(text: str) -> Iterator[str]:
    """``"question"="answer"``, one after the other, maybe with what was shown beside the answer and notes on it."""
    found = [*_QUESTION.finditer(text)]
    for at, each in enumerate(found, start=1):
        end = found[at].start() if at < len(found) else len(text)
        rest = text[each.end() : end].rstrip(", ")
        close = _ANSWER_END.search(rest, 1) if rest.startswith('"') else None
        notes = _NOTES.search(rest, close.end() if close else 0)
        # an answer longer than what is read has no end
        answer = rest[1 : close.start() if close else None] if rest.startswith('"') else ""
        if answer == _UNANSWERED:
            answer = ""
        if answer or notes:
            yield _told(each[1], answer, notes=notes["notes"] if notes else "")
    if also := _ALSO.search(text):
        yield also[1]


def _clarified(said: str) -> str:
    """What a user answered of questions that they want to talk about first; "" for nothing."""
    return "\n".join(
        _told(asked["question"], asked["answer"] or "", notes=asked["notes"] or "")
        for asked in _ASKED.finditer(said)
        if asked["answer"] or asked["notes"]
    )


def _message(output: str) -> str:
    try:
        return msgspec.json.decode(output, type=_Message).message
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""


class _Message(msgspec.Struct):
    message: str = ""


def _of_json(output: str, question: str) -> Iterator[str]:
    """The answers of Codex, Gemini CLI and Claude Science.

    ``{"answers": {ID: {"answers": [...]}}}``, ``{"answers": {NUMBER: ...}}``, and with the question in the ID's place.
    """
    try:
        answers = msgspec.json.decode(output, type=_Answers).answers
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    for name, given in answers.items():
        nested = cast("Mapping[str, object]", given).get("answers") if isinstance(given, dict) else given
        listed = cast("list[object]", nested) if isinstance(nested, list) else [nested]
        if words := ", ".join(each for each in listed if isinstance(each, str)):
            yield _told(
                question if question and len(answers) == 1 else "" if name.isdecimal() else name, words
            )


class _Answers(msgspec.Struct):
    answers: dict[str, object]
