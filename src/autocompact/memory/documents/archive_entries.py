"""CONTEXT_ARCHIVE.md read back: what is known of the compactions of the past.

A fact that is missing or written otherwise is simply not known, so that entries of older versions, and those that
somebody edited, are still counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autocompact.core.patterns import LazyPattern

_HEADING = LazyPattern(r"## (\d{4}-\d\d-\d\dT\S+|undated)[ \t]+(\S+)\s*\Z")
# The form that people know from elsewhere: "## Session [2026-04-04 14:00]", facts in bold, the summary between tags.
_SESSION_HEADING = LazyPattern(r"## Session \[(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d))?\]\s*\Z")
_BOLD = LazyPattern(r"\*\*([A-Z][\w ]{2,30}):\*\*\s*([^|]+)")
_ROUGH = LazyPattern(r"(\d[\d,]*(?:\.\d+)?)\s?([KkMm]?)\b")
_LISTED = LazyPattern(r"[-*] (?!Next\b)(.+?)\s*(?:([✓✔✅])\ufe0f?\s*(?:\((.+)\))?)?\s*\Z")
_ANY_HEADING = LazyPattern(r"#{1,6}[ \t]")
_NAMESPACE = LazyPattern(r"`(.+)`")
_SUMMARY = "summary:"
_FACT = LazyPattern(r"[-*] ([A-Z][\w ]{2,30}): (.+)")
_FIGURE = LazyPattern(r"\d[\d,]*(?:\.\d+)?")
_DAY = LazyPattern(r"\b\d{4}-\d\d-\d\d\b")
_CONVERSATION = LazyPattern(r"`(.+)`(?:, messages (\d+) to (\d{1,18})\b(?: of (\d{1,18})\b)?)?")
_MADE_BY = LazyPattern(r"(.+), step (\w+), because of (\w+)")
_TASK = LazyPattern(r"[-*] (.+?)(?: \[m\d+\])?\s*\Z")
_ENDED = r"done|complete|finished|fixed|merged|shipped|released|passed|success|fail|partly|partial|abandoned|aborted|cancel"
_OUTCOME = LazyPattern(
    rf"(.+) \(((?:{_ENDED}|superseded|withdrawn|reverted|open|unknown|blocked|pending|in progress)[^()]*)\)\Z",
    re.IGNORECASE,
)
_IS_ENDED = LazyPattern(rf"(?:{_ENDED})", re.IGNORECASE)
_MOST_DIGITS = 18
NO_TASKS = "none found"
_EXAMPLE, _OF_EXAMPLE = "example", "tide_table.py"
"""The name of the chat's example, and what its entries name, and hardly those of another conversation of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTask:
    """A task as an entry lists it: what it was, and how it ended ("" if nobody said)."""

    text: str
    outcome: str = ""

    @property
    def is_ended(self) -> bool:
        """True if it came to an end, good or bad."""
        return _IS_ENDED.match(self.outcome) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An entry. A number is None, a text is "" where the entry does not say.

    Attributes:
        time: when the compaction was made, ISO 8601; "" if nobody knew.
        id: of the compaction.
        conversation: the session's name.
        through_seq: last message that it covers.
        log_messages: how many messages the session had.
        seconds: how long it took.
        tokens_before: of the context before.
        tokens_after: of the context after.
        peak: the most tokens since the compaction before.
        stated: entries of the ledger that the new context says in words.
        referenced: those that it only points to.
        missing: those that it does not have; recall finds them.
        model: who wrote the summary.
        trigger: why it was made.
        tasks: of the session.
        noted: its tasks stand in DONE.md already.
        namespace: of the conversation, "" if the entry does not say.
        facts_end: the line after its last fact, where a further one goes.
        ended: the day on which the session ended, "" if the entry does not say.
        original: where the original messages are.
        is_example: it is about the chat's example, which older versions archived.
        start: line of its heading.
        end: the line after its last. What somebody wrote below the summary is no part of it.
    """

    time: str
    id: str
    conversation: str = ""
    through_seq: int | None = None
    log_messages: int | None = None
    seconds: float | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    peak: int | None = None
    stated: int | None = None
    referenced: int | None = None
    missing: int | None = None
    model: str = ""
    trigger: str = ""
    tasks: tuple[ArchivedTask, ...] = ()
    noted: bool = False
    namespace: str = ""
    facts_end: int = 0
    ended: str = ""
    original: str = field(default="", compare=False)
    is_example: bool = field(default=False, compare=False)
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    @property
    def day(self) -> str:
        """The day of the session, else that of the compaction; ISO 8601, "" if nobody knows either."""
        return self.ended or self.time[:10]

    @property
    def recovered(self) -> int:
        """Tokens that the context became smaller by; 0 where that is not known."""
        if self.tokens_before is None or self.tokens_after is None:
            return 0
        return self.tokens_before - self.tokens_after


def entries_in(texts: Sequence[str]) -> list[Archived]:
    """The entries of the file, given as lines without their ends, in their order."""
    starts = [line for line, text in enumerate(texts) if _HEADING.match(text) or _SESSION_HEADING.match(text)]
    ends = [*starts[1:], len(texts)]
    return [
        _session_entry(texts, start, end=end, heading=heading)
        if (heading := _SESSION_HEADING.match(texts[start]))
        else _entry(texts, start, end=end)
        for start, end in zip(starts, ends, strict=False)
    ]


def _entry(texts: Sequence[str], start: int, *, end: int) -> Archived:
    heading = _HEADING.match(texts[start])
    time, id = heading.groups() if heading else ("", "")
    facts: dict[str, str] = {}
    facts_end = start + 1
    for line in range(start + 1, end):
        match = _FACT.match(texts[line])
        if match:
            facts.setdefault(match[1].lower(), match[2].strip())
            facts_end = line + 1
        elif texts[line].strip():
            break
    name, through, messages = _named(facts.get("conversation", ""))
    before, after = _figures(facts.get("tokens", ""), 2)
    stated, referenced, missing = _checked(facts.get("checked", ""))
    last = _end(texts, start, end=end)
    made = _MADE_BY.match(facts.get("made by", ""))
    (peak,) = _figures(facts.get("peak", ""), 1)
    return Archived(
        time="" if time == "undated" else time,
        id=id,
        conversation=name,
        through_seq=through,
        log_messages=messages,
        seconds=_seconds(facts.get("duration", "")),
        tokens_before=before,
        tokens_after=after,
        peak=peak,
        stated=stated,
        referenced=referenced,
        missing=missing,
        model=made[1] if made else "",
        trigger=made[3] if made else "",
        tasks=tuple(_tasks(texts[facts_end:end])),
        noted="tasks noted" in facts,
        namespace=_namespace(facts.get("namespace", "")),
        ended=max(_DAY.findall(facts.get("session", "")), default=""),
        original=facts.get("original", ""),
        is_example=name == _EXAMPLE and any(_OF_EXAMPLE in text for text in texts[start:last]),
        start=start,
        facts_end=facts_end,
        end=last,
    )


def _session_entry(texts: Sequence[str], start: int, *, end: int, heading: re.Match[str]) -> Archived:
    """An entry of somebody else's; its tasks are theirs to note, and what was left of the tokens is not known."""
    last = _end(texts, start, end=end)
    lines = texts[start + 1 : last]
    facts = {name.lower(): value.strip() for text in lines for name, value in _BOLD.findall(text)}
    original = facts.get("original transcript", "")
    rough = _ROUGH.search(facts.get("tokens", ""))
    tokens = _number(rough[1]) if rough else None
    scale = {"k": 1_000, "m": 1_000_000}.get(rough[2].lower(), 1) if rough else 1
    stem = original.rpartition("/")[2].removesuffix(".jsonl")
    return Archived(
        time=f"{heading[1]}T{heading[2] or '00:00'}",
        id="session",
        conversation=stem or f"Session {heading[1]} {heading[2] or ''}".strip(),
        # nothing in it refers to a message of ours
        through_seq=0,
        tokens_before=round(tokens * scale) if tokens else None,
        tasks=tuple(_listed_tasks(lines)),
        noted=True,
        facts_end=start + 1,
        ended=heading[1],
        original=original,
        start=start,
        end=last,
    )


def _listed_tasks(lines: Sequence[str]) -> Iterator[ArchivedTask]:
    """The list items between the tags of a summary; a tick says that a task is done."""
    is_summary = False
    for text in lines:
        if text.strip() in ("<summary>", "</summary>"):
            is_summary = text.strip() == "<summary>"
        elif is_summary and (match := _LISTED.match(text)):
            outcome = "; ".join(filter(None, ("done" if match[2] else "", match[3])))
            yield ArchivedTask(text=match[1], outcome=outcome)


def _namespace(value: str) -> str:
    match = _NAMESPACE.fullmatch(value)
    return match[1] if match else value


def _end(texts: Sequence[str], start: int, *, end: int) -> int:
    """The line after the last of an entry: before a heading, and before what follows the quoted summary."""
    last, is_summary = start, False
    for line in range(start + 1, end):
        text = texts[line].strip()
        if _ANY_HEADING.match(texts[line]) or (is_summary and text and not text.startswith(">")):
            break
        is_summary = is_summary or text.lower() == _SUMMARY
        last = line if text else last
    return last + 1


def _named(value: str) -> tuple[str, int | None, int | None]:
    """The name, the last message that is covered, and how many the session had."""
    match = _CONVERSATION.match(value)
    if match is None:
        return value, None, None
    through, messages = (int(figure) if figure else None for figure in match.group(3, 4))
    return match[1], through, messages


def _figures(value: str, count: int) -> list[int | None]:
    """The first ``count`` figures in ``value``, None for each if there are fewer."""
    found = [_number(figure) for figure in _FIGURE.findall(value)][:count]
    if len(found) != count:
        return [None] * count
    return [None if number is None else int(number) for number in found]


def _number(figure: str) -> float | None:
    """The number; None for more digits than anything has: somebody may have written thousands of them."""
    return float(figure.replace(",", "")) if len(figure) <= _MOST_DIGITS else None


def _checked(value: str) -> list[int | None]:
    """Entries stated, referenced and missing. Older versions wrote how many were "kept", "recoverable" and "lost"."""
    figures = _figures(value, 3)
    stated, second, third = figures
    if stated is None or "recoverable" not in value:
        return figures
    return [stated, 0, (second or 0) + (third or 0)]


def _seconds(value: str) -> float | None:
    match = re.match(r"(\d+(?:\.\d+)?) s\b", value)
    return _number(match[1]) if match else None


def _tasks(texts: Sequence[str]) -> Iterator[ArchivedTask]:
    is_list = False
    for text in texts:
        if text.strip().lower() in ("tasks:", _SUMMARY):
            is_list = text.strip().lower() == "tasks:"
        elif is_list and (match := _TASK.match(text)) and match[1] != NO_TASKS:
            told = _OUTCOME.match(match[1])
            yield ArchivedTask(text=told[1], outcome=told[2]) if told else ArchivedTask(text=match[1])
