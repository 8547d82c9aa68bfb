"""Layout of notes in each kind of file: the names of the fields for date, confirmations and reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_NAMES: Mapping[str, str] = {
    "date": "date|noted|noted on|first seen|first noted|observed|observed on|recorded|recorded on|created|added|seen|seen on"
    "|datum|notiert|notiert am|beobachtet|date de|noté le|observé le|fecha|anotado|observado|data|дата|日期|日付|날짜",
    "confirmed": "confirmations|confirmation|confirmed|confirmed on|seen again|bestätigungen|bestätigung|bestätigt"
    "|bestätigt am|confirmé|confirmée|confirmé le|confirmaciones|confirmación|confirmado|confirmações|conferme|confermato"
    "|подтверждения|подтверждено|确认|确认次数|確認|確認回数|확인",
    "last": "last confirmed|last seen|last confirmation|zuletzt|zuletzt gesehen|zuletzt bestätigt|vu la dernière fois"
    "|última vez|最后确认|最終確認",
    "why": "why|reason|because|rationale|warum|grund|begründung|weil|pourquoi|raison|motif|por qué|porque|razón|motivo"
    "|perché|por quê|razão|почему|причина|原因|理由|なぜ|이유",
    "also": "also noted",
}
NAMES: Mapping[str, str] = {name: kind for kind, names in _NAMES.items() for name in names.split("|")}
"""What each field of an observation may be called, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """Layout of the notes in one kind of file.

    Attributes:
        names: what each field is called, and what it is: ``date``, ``confirmed``, ``last``, ``why``, ``also``, or
            anything else, which comes along in `Note.fields`.
        numbered: a heading that begins with a number is a note.
        titled: a note begins with a name, which ends where somebody broke the line.
        grouped: a heading that is a date is when the notes below it were made.
        texts: names of the column of a table that says what was noted, the surest first.
        labelled: "Observation:" and "Pattern:" say what follows, also in front of a paragraph.
    """

    names: Mapping[str, str]
    numbered: bool = False
    titled: bool = False
    grouped: bool = True
    labelled: bool = False
    texts: tuple[str, ...] = ()


_TEXTS = tuple(
    "observation pattern what note finding insight statement description beobachtung muster observación patrón 观察 模式".split()
)
OF_OBSERVATIONS = Dialect(names=NAMES, labelled=True, texts=_TEXTS)
OF_ARCHIVE = Dialect(names=NAMES, grouped=False, labelled=True, texts=_TEXTS)
"""Its headings say when notes were archived."""
OF_RULES = Dialect(
    names=NAMES, numbered=True, labelled=True, texts=("rule", "regel", "règle", "regla", "规则", *_TEXTS)
)
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
    texts=tuple("title task name what description titel aufgabe tâche tarea".split()),
)
"""What tasks look like in DONE.md."""
