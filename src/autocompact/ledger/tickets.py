"""Tickets that an agent reads: what is asked of it stands in a tracker, not in the conversation.

"Work on issue 12" says nothing; the issue does, in the result of a call. So its words are told like those of the agent, as
what the ticket asks for, until it is closed or read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from autocompact.core.actions import Action
from autocompact.core.messages import decoded
from autocompact.core.patterns import LazyPattern
from autocompact.ledger.paths import DOCUMENTS

_COMMAND = r"(?:^|[;&|(]\s{0,9})(?:(?:bd|gh issue|glab issue|jira issue|acli jira workitem|linear issue|tea issues?) (?:%s)|%s)\s{1,9}(?P<told>[^;&|\n]{1,300})"
_SHOWS = LazyPattern(_COMMAND % ("show|view", "tea issues?"), re.MULTILINE)
_CLOSES = LazyPattern(_COMMAND % ("close", "bd done"), re.MULTILINE)
_ID = LazyPattern(r"(?:https?://\S{1,200}/)?#?(?P<id>[\w.-]{0,80}\w)")
_NOUNS = frozenset("issue ticket workitem item card story task bug".split())
_VERBS = frozenset("get read view fetch show retrieve load".split())
_OTHERS = frozenset("comment comments list search create update events labels status todo".split())
_NAMES = "issue_number issue_id_or_key issue_key issue_id ticket_id issue key number id".split()
_WORD = LazyPattern(r"[A-Z]?[a-z]+")
_TOLD = ("title", "summary", "body", "description", "acceptance_criteria", "design", "notes")

_BRIEF = LazyPattern(
    r"plan|spec(?!ial)|hand-?off|hand-?over|task|todo|brief|prd|require|issue|proposal|review|audit|feedback|roadmap|ticket|pasted|assignment"
    r"|story|stories|rfc|milestone|phase",
    re.IGNORECASE,
)
"""In the name of a document that says what to do; a README that is to be mended says nothing of that."""

SHORTEST = 120
"""Characters below which the answer of a tracker asks for nothing."""


def shown(action: Action) -> frozenset[str]:
    """The tickets that a call reads, by their ids; none of a call that reads none."""
    if action.command:
        return _ids(_SHOWS, action.command)
    words = {word.lower() for word in _WORD.findall(action.name)}
    if not (words & _NOUNS and words & _VERBS) or words & _OTHERS:
        return frozenset()
    value = next((action.arguments[name] for name in _NAMES if name in action.arguments), None)
    return frozenset([str(value)]) if isinstance(value, str | int) and value != "" else frozenset()


def pointed_to(action: Action, asked: Iterable[str]) -> frozenset[str]:
    """The document that a call reads and a user named, by its name: "pick up from docs/handoff.md" asks for what it says."""
    if action.verb != "read" or len(action.files) != 1:
        return frozenset()
    path = action.files[0][0]
    name = path.rpartition("/")[2]
    is_brief = name.endswith(DOCUMENTS) and _BRIEF.search(name) is not None
    return frozenset([name]) if is_brief and any(name in text for text in asked) else frozenset()


def closed(action: Action) -> frozenset[str]:
    """The tickets that a command closes, by their ids."""
    return _ids(_CLOSES, action.command) if action.command else frozenset()


def described(result: str) -> str:
    """What a ticket says; of JSON the fields that people write."""
    text = result.strip()
    if not text.startswith("{"):
        return "" if text.startswith("[") else text
    return "\n\n".join(_written(decoded(text)))


def begins(text: str, ids: frozenset[str]) -> list[tuple[int, str]]:
    """Where each ticket begins in a text that holds several, in order; one place for all where that does not show."""
    places = {name: place for name in ids if (place := _line_of(text, name)) >= 0}
    if len(set(places.values())) < len(ids):
        return [(0, ", ".join(sorted(ids)))]
    return sorted((place, name) for name, place in places.items())


def _line_of(text: str, name: str) -> int:
    """Where the first line begins that has ``name`` near its beginning; -1 if none has."""
    found = re.search(rf"^[^\n]{{0,40}}?(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text, re.MULTILINE)
    return -1 if found is None else found.start()


def _written(fields: Mapping[str, object]) -> list[str]:
    nested = fields.get("fields", fields.get("issue"))
    told = [value for name in _TOLD if isinstance(value := fields.get(name), str) and value.strip()]
    return told or (_written(cast("dict[str, object]", nested)) if isinstance(nested, dict) else [])


def _ids(pattern: LazyPattern, command: str) -> frozenset[str]:
    """The ids among the words that a tracker's command is told: those with a number, or of several words."""
    words = (word.strip("'\"") for run in pattern.compiled.finditer(command) for word in run["told"].split())
    found = (id["id"] for word in words if not word.startswith("-") and (id := _ID.fullmatch(word)))
    return frozenset(id for id in found if "-" in id or any(map(str.isdigit, id)))
