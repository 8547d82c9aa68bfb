"""Every entry that is worth keeping, from one reading of the messages, merged with an earlier ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property

from autocompact.core.language import WORDS, detect
from autocompact.core.messages import Message
from autocompact.core.redacted import EMPTY, Redactor, one_line
from autocompact.core.redaction import Redacted
from autocompact.ledger.bounds import carried
from autocompact.ledger.changes import changed_again, edits_of, find_changes
from autocompact.ledger.deeds import find_commands, find_files, find_running, find_todos
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.facts import find_facts
from autocompact.ledger.failures import find_errors
from autocompact.ledger.findings import find_findings, intents
from autocompact.ledger.lines import find_identifiers, is_code
from autocompact.ledger.obstacles import MOST, Obstacle, find_obstacles, without_settled
from autocompact.ledger.paths import spellings
from autocompact.ledger.requests import find_requests
from autocompact.ledger.rules import find_rules, find_standing
from autocompact.ledger.scan import Said, Scan, scan
from autocompact.ledger.step import find_step
from autocompact.ledger.stretches import FINDINGS_LAST, stretches
from autocompact.ledger.weights import LEARNED, Weights

FADING, LASTING_FADE = 0.5, 0.8
"""What is left of a need where new messages do not speak of it: a name is soon forgotten, what was found or told stays true."""

FADING_KINDS: frozenset[Kind] = frozenset({"file", "command", "identifier", "finding", "fact"})

PROGRAM = 1_000
"""Characters of code, a quarter of the whole, that people do not write in a chat."""

CHAT = 5
"""Requests for each tool call from which on a conversation is a chat: what people say in it are facts."""


def extract(
    messages: Iterable[Message],
    *,
    previous: Ledger | None = None,
    through: int | None = None,
    weights: Weights = LEARNED,
) -> Ledger:
    """All entries of these messages, merged with the ledger of an earlier compaction.

    Args:
        messages: in order; a system prompt among them is left out.
        previous: what an earlier compaction kept: what these messages do not say anew fades, and goes
            on as far as it is needed (`autocompact.ledger.bounds`).
        through: the last message that will leave the context. Later ones are evidence (a request that was finished
            there is not open, a name that stands there need not be kept), but give no entries.
        weights: how the need for a name is foreseen.
    """
    return Reading(scan(messages), previous=previous, weights=weights).ledger(through)


def rules_of(messages: Iterable[Message], *, redactor: Redactor | None = None) -> Ledger:
    """The rules that `extract` finds in these messages, for a fraction of the work.

    Args:
        messages: in order; a system prompt among them is left out.
        redactor: gives each message without secrets; others may share it.
    """
    found = scan(messages, redactor=redactor, with_names=False)
    rules = {rule.key: rule for rule in map(_plain, find_rules(found.said))}
    return Ledger(entries=_in_order(rules.values()))


def read_in_stretches(
    messages: Sequence[Message],
    *,
    previous: Ledger | None,
    tokens: Callable[[Message], int],
    least: int,
    redactor: Redactor,
    passing: Callable[[], Redactor],
) -> Reading:
    """The last stretch of ``messages``, read with what is known from those before it.

    Names of earlier stretches but the one before fade until none is left, so they are not looked for; nor are findings
    before the last `FINDINGS_LAST` of them.

    Args:
        messages: in order.
        previous: what an earlier compaction kept.
        tokens: of a message.
        least: tokens of a stretch.
        redactor: gives each message of the last stretch without secrets.
        passing: makes a redactor for a stretch before, whose memory of what it read is let go with it.
    """
    *before, last = stretches(messages, tokens=tokens, least=least)
    for left, stretch in zip(range(len(before), 0, -1), before, strict=True):
        # names are the larger part of the work, and those of older stretches would have faded to nothing
        found = scan(stretch, redactor=passing(), with_names=left == 1)
        previous = Reading(found, previous=previous, with_findings=left <= FINDINGS_LAST).ledger().unfaded
    return Reading(scan(last, redactor=redactor), previous=previous)


class Reading:
    """Messages that were read once, and the ledgers of the heads that a ladder tries among them.

    Args:
        found: the reading.
        previous: what an earlier compaction kept.
        weights: how the need for a name is foreseen.
        with_findings: look for findings and for where the work stands; they would have faded where the messages are long past.
    """

    def __init__(
        self,
        found: Scan,
        *,
        previous: Ledger | None = None,
        weights: Weights = LEARNED,
        with_findings: bool = True,
    ) -> None:
        self._found, self._weights, self._with_findings = found, weights, with_findings
        self._earlier = carried(previous) if previous else ()

    def ledger(self, through: int | None = None) -> Ledger:
        """All entries up to message ``through``, by default all."""
        found, earlier = self._found, self._earlier
        end = found.last_seq if through is None else through
        calls = [call for call in found.calls if call.seq <= end]
        touched = (path for call in calls for path, _ in call.action.files)
        known_paths = (entry.key for kind in ("file", "change") for entry in _of_kind(earlier, kind))
        # agents write one file in several ways (absolute, from the project, from a folder within): all are one entry
        same = spellings((*touched, *known_paths))
        names = find_identifiers(found.sightings, through=end, weights=self._weights)
        needs = {str(entry.key): entry.need for entry in names}
        entries = [
            *self._before_changes,
            *find_changes(calls, words=self._words, same=same, said=self._intents),
            *find_files(calls, words=self._words, same=same, needs=needs),
            *self._after_changes,
        ]
        clean = [_plain(entry) for entry in entries if entry.seq <= end]
        files = {entry.key for entry in (*clean, *earlier) if entry.kind in ("file", "change")}
        identifiers = [_placed(entry, same.get(entry.where, entry.where), files=files) for entry in names]
        found_now = [*_weighed(clean, identifiers), *identifiers]
        return Ledger(entries=_in_order(_merged(found_now, earlier, same=same)))

    @cached_property
    def _requests(self) -> list[Entry]:
        return find_requests(self._found, earlier=_of_kind(self._earlier, "request"))

    @cached_property
    def _words(self) -> Mapping[str, Redacted]:
        return WORDS[detect(entry.text for entry in self._requests)]

    @cached_property
    def _intents(self) -> dict[int, str]:
        acting = {call.seq for call in self._found.calls if any(edits_of(call.action))}
        return intents(words for words in self._found.spoken if words.seq in acting)

    @cached_property
    def _errors(self) -> list[Entry]:
        found = find_errors(self._found.calls, earlier=_faded(_of_kind(self._earlier, "error")))
        return without_settled(found, self._obstacles)

    @cached_property
    def _obstacles(self) -> list[Obstacle]:
        return find_obstacles(self._found.calls, words=self._words)

    @cached_property
    def _before_changes(self) -> tuple[Entry, ...]:
        found, earlier = self._found, self._earlier
        return (
            *find_standing(found.said, earlier=(*_of_kind(earlier, "rule"), *_of_kind(earlier, "wish"))),
            *self._requests,
            *self._errors,
            *find_todos(found.calls, earlier=_of_kind(earlier, "todo")),
            *find_running(found.calls, found.ended, earlier=_of_kind(earlier, "running")),
        )

    @cached_property
    def _after_changes(self) -> tuple[Entry, ...]:
        found = self._found
        return (
            *find_commands(found.calls, words=self._words, errors=self._errors),
            *(obstacle.entry for obstacle in self._obstacles[-MOST:]),
            # of what is long past nobody asks how it stood
            *(find_step(found.spoken, found.calls) if self._with_findings else ()),
            *_account(found, with_findings=self._with_findings),
        )


def _in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What is needed most first, of that the latest."""
    return tuple(sorted(entries, key=lambda entry: (-entry.need, -entry.seq, entry.key)))


def _account(found: Scan, *, with_findings: bool) -> list[Entry]:
    """What was said that a reader needs: of an agent its findings, of a chat the facts."""
    if len(found.calls) * CHAT > found.turns or _is_of_programs(found.said):
        asked = [words.text for words in found.said if words.by in ("user", "lead")]
        return find_findings(found.spoken, asked=asked) if with_findings else []
    return find_facts([words for words in found.said if words.by not in ("program", "client", "summary")])


def _is_of_programs(said: Iterable[Said]) -> bool:
    """True if most of what stands in the user's place is code or output: an agent whose calls are text."""
    lines = [line for words in said if words.by == "user" for line in words.text.splitlines()]
    code = sum(len(line) for line in lines if is_code(line))
    return code > PROGRAM and code > sum(map(len, lines)) / 4


def _of_kind(entries: Iterable[Entry], kind: Kind) -> list[Entry]:
    """In the order of the conversation; the items of a plan, which all come from one message, in theirs."""
    return sorted(
        (entry for entry in entries if entry.kind == kind),
        key=lambda entry: (entry.seq, entry.key) if kind != "todo" else (0, entry.key),
    )


def _faded(entries: Iterable[Entry]) -> list[Entry]:
    return [replace(entry, need=entry.need * FADING) for entry in entries]


def _fading(kind: Kind) -> float:
    return LASTING_FADE if kind in ("finding", "fact") else FADING


def _plain(entry: Entry) -> Entry:
    """All but a request in one line, so that no tool can make a heading or an item of it."""
    text, key = entry.text if entry.kind == "request" else one_line(entry.text), one_line(entry.key)
    return entry if (text, key) == (entry.text, entry.key) else replace(entry, text=text, key=key)


def _placed(entry: Entry, where: Redacted, *, files: Set[Redacted]) -> Entry:
    """The identifier with ``where`` as its file, if that is one of ``files``; else with none."""
    where = where if where in files else EMPTY
    return entry if where == entry.where else replace(entry, where=where)


def _weighed(entries: list[Entry], identifiers: list[Entry]) -> list[Entry]:
    """Files that were only read are as likely needed as their path is."""
    needs = {entry.key: entry.need for entry in identifiers}
    return [
        replace(entry, need=needs.get(entry.key, 0.01)) if entry.kind == "file" and not entry.state else entry
        for entry in entries
    ]


def _merged(
    entries: list[Entry], earlier: Iterable[Entry], *, same: Mapping[Redacted, Redacted]
) -> list[Entry]:
    """With what an earlier ledger has and these messages do not say anew.

    What fades may be dropped one day, a change never is: of a file that was changed again the earlier text is added.
    """
    # what these messages say goes before what an earlier ledger has
    known = {(entry.kind, entry.key): entry for entry in entries}
    changed = {entry.key for entry in entries if entry.kind == "change"}
    for entry in earlier:
        key = same.get(entry.key, entry.key)
        if entry.kind == "change":
            again = known.get(("change", key))
            known["change", key] = replace(entry, key=key) if again is None else changed_again(entry, again)
            changed.add(key)
        elif entry.kind in FADING_KINDS and (entry.kind, key) not in known:
            known[entry.kind, key] = replace(entry, key=key, need=entry.need * _fading(entry.kind))
    return [entry for entry in known.values() if entry.kind != "file" or entry.key not in changed]
