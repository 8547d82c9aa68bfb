"""What notes look like in each kind of file: what the fields are called that say when, how often, why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("date", "noted", "noted on", "first seen", "first noted", "observed", "observed on"), "date"
    ),
    **dict.fromkeys(("recorded", "recorded on", "created", "added", "seen", "seen on"), "date"),
    **dict.fromkeys(
        ("confirmations", "confirmation", "confirmed", "confirmed on", "seen again"), "confirmed"
    ),
    **dict.fromkeys(("last confirmed", "last seen", "last confirmation"), "last"),
    **dict.fromkeys(("why", "reason", "because", "rationale"), "why"),
    "also noted": "also",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """What notes of one kind of file look like.

    Attributes:
        names: what each field is called, and what it is: ``date``, ``confirmed``, ``last``, ``why``, ``also``, or
            anything else, which comes along in `Note.fields`.
        numbered: a heading that begins with a number is a note.
        titled: a note begins with a name, which ends where somebody broke the line.
        grouped: a heading that is a date is when the notes below it were made.
    """

    names: Mapping[str, str]
    numbered: bool = False
    titled: bool = False
    grouped: bool = True


OF_OBSERVATIONS = Dialect(names=NAMES)
OF_ARCHIVE = Dialect(names=NAMES, grouped=False)
"""Its headings say when notes were archived."""
OF_RULES = Dialect(names=NAMES, numbered=True)
OF_TASKS = Dialect(
    names={
        **{name: kind for name, kind in NAMES.items() if kind == "date"},
        **dict.fromkeys(("completed", "completed on", "finished", "closed", "ended", "done on"), "ended"),
        **dict.fromkeys(("outcome", "status", "result", "state"), "outcome"),
        **dict.fromkeys(("files", "files changed", "changed files", "artifacts"), "files"),
        **dict.fromkeys(("tokens", "tokens used", "token usage"), "tokens"),
        **dict.fromkeys(("pattern", "patterns"), "pattern"),
        **dict.fromkeys(("duration", "time", "took", "time spent"), "duration"),
        **dict.fromkeys(("commit", "commits"), "commit"),
        **dict.fromkeys(("issue", "issues"), "issues"),
        **dict.fromkeys(("tests", "test results"), "tests"),
        **dict.fromkeys(("decision", "decisions", "decided"), "decision"),
        **dict.fromkeys(("id", "task", "task id"), "id"),
        "coverage": "coverage",
    },
    titled=True,
)
"""What tasks look like in DONE.md."""
