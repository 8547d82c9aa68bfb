"""What each tool does with the conversation that it is given."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autocompact.agents.pinned import pin, pinned_in, unpin
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.actions import interpret
from autocompact.core.messages import Message
from autocompact.core.redacted import RedactedCall, Redactor, all_without_secrets
from autocompact.core.redaction import redact
from autocompact.core.references import parse_reference, reference
from autocompact.core.tokens import Counter, Estimator, truncated
from autocompact.errors import InvalidInput
from autocompact.history.recall import Found, doubt
from autocompact.history.recorded import Options, compact_session
from autocompact.history.recorded.checking import CheckedSummary, check_last_summary, check_summary
from autocompact.ledger import entries as ledger
from autocompact.ledger.rendering import told_alone
from autocompact.ledger.verification import Verification
from autocompact.mcp import answers
from autocompact.mcp.conversations import Conversations, Opened
from autocompact.models.vocabulary import default_counter
from autocompact.ports import SystemClock
from autocompact.runtime.off_loop import off_loop
from autocompact.sessions import render_markdown

MOST_TOKENS = 8_000
"""Tokens that any answer may take; calls may ask for less."""

REPAIR_TOKENS = 1_500
_REQUEST_TOKENS, _SAID_TOKENS = 120, 80
_ENTRY_TOKENS = 20
_FILES, _LEAVING = 10, 10
_FIRST = ("rule", "request", "error", "todo", "step", "running", "finding", "change")
"""What is told first of what a summary does not state."""


class Tools:
    """The tools, over the conversations that calls name.

    Args:
        conversations: where they are found.
        pins: folder of what is pinned in recorded sessions.
    """

    def __init__(self, conversations: Conversations, *, pins: Path) -> None:
        self.conversations = conversations
        self._pins = pins
        self._counter = Estimator()

    async def search(self, query: str, *, conversation: str, k: int, max_tokens: int) -> answers.Hits:
        """The likeliest places in a conversation, as many as fit."""
        of = await self.conversations.open(conversation)
        found = await (await of.recall()).search(query, k, scope="conversation")
        hits = _hits_that_fit(found, max_tokens, counter=self._counter)
        notes = [
            doubt(query, found) if found else "Nothing found. Try fewer, other or rarer words, or a name."
        ]
        if left_out := len(found) - len(hits):
            notes.append(f"{left_out} more did not fit in {max_tokens} tokens: ask with more max_tokens.")
        return answers.Hits(conversation=of.name, results=hits, note=" ".join(filter(None, notes)))

    async def expand(
        self, ref: str, *, conversation: str, around: int, offset: int, max_tokens: int
    ) -> answers.Original:
        """The original that a reference names."""
        of = await self.conversations.open(conversation)
        shown = await (await of.recall()).expand(ref, around=around, offset=offset, max_tokens=max_tokens)
        return answers.Original(
            conversation=of.name,
            reference=shown.reference,
            text=shown.text,
            next_offset=shown.next_offset,
            rest=shown.rest,
        )

    async def timeline(self, *, conversation: str, before: str, max_tokens: int) -> answers.Timeline:
        """The requests of a conversation with what was done for each; the last ones where not all fit."""
        end = parse_reference(before) if before else None
        of = await self.conversations.open(conversation)
        return await off_loop(lambda: self._timeline(of, before=end, max_tokens=max_tokens))

    def _timeline(self, of: Opened, *, before: int | None, max_tokens: int) -> answers.Timeline:
        asked = [turn for turn in _turns(of.session.messages) if before is None or turn[0].seq < before]
        shown: list[answers.Turn] = []
        redactor = Redactor(of.secrets)
        left = max_tokens
        for turn in reversed(asked):
            told = _turn(turn, counter=self._counter, redactor=redactor)
            left -= self._counter.count(told.model_dump_json()) + 1
            if left < 0 and shown:
                break
            shown.insert(0, told)
        return answers.Timeline(
            conversation=of.name,
            agent=of.agent,
            messages=len(of.session.messages),
            turns=shown,
            compactions=compactions(of),
            earlier=len(asked) - len(shown),
        )

    async def ledger(self, *, conversation: str, kinds: Sequence[str], max_tokens: int) -> answers.Entries:
        """What must survive of a conversation."""
        of = await self.conversations.open(conversation)
        found = (await off_loop(lambda: of.ledger)).entries
        # the rules first, whatever else is needed more: where not all fits, they must not be what is missing
        wanted = sorted(
            (entry for entry in found if not kinds or entry.kind in kinds),
            key=lambda entry: entry.kind != "rule",
        )
        shown = _fitting(wanted, max_tokens, counter=self._counter)
        return answers.Entries(
            conversation=of.name,
            entries=shown,
            counts=dict(Tally(entry.kind for entry in found)),
            left_out=len(wanted) - len(shown),
        )

    async def verify(
        self, summary: str, *, transcript: str, through: str, max_tokens: int
    ) -> answers.Checked:
        """What a summary says of a conversation; without one the last summary of the agent's own compaction."""
        end = parse_reference(through) if through else None
        of = await self.conversations.open(transcript)
        checked = await self.checked(of, summary, through=end)
        return self._told(of, checked, max_tokens=max_tokens)

    async def checked(self, of: Opened, summary: str = "", *, through: int | None = None) -> CheckedSummary:
        """The check of ``summary``, or of the agent's own last summary, with what is pinned before the repair."""
        session, counter = of.session, self._counter
        if summary.strip():
            return await off_loop(
                lambda: check_summary(
                    session, summary, through=through, budget=REPAIR_TOKENS, counter=counter
                )
            )
        if through is not None:
            raise InvalidInput("through is for a summary that is given: give its text, or leave through out")
        return await off_loop(lambda: check_last_summary(session, budget=REPAIR_TOKENS, counter=counter))

    def _told(self, of: Opened, checked: CheckedSummary, *, max_tokens: int) -> answers.Checked:
        found = checked.verification
        unstated = _most_needed((*found.missing, *found.referenced))
        repair = truncated(checked.repair, max_tokens, counter=self._counter)
        shown = _fitting(unstated, max_tokens - self._counter.count(repair), counter=self._counter)
        return answers.Checked(
            conversation=of.name,
            through=reference(checked.through_seq),
            kinds=_standings(found),
            missing=shown,
            left_out=len(unstated) - len(shown),
            contradictions=[each.text for each in found.contradictions],
            repair=repair,
            missing_after_repair=len(checked.repaired.missing),
        )

    async def compact(
        self, *, conversation: str, to: int | None, focus: str, max_tokens: int
    ) -> answers.Preview:
        """What a compaction would do, made without a model."""
        of = await self.conversations.open(conversation)
        pins = await self._pinned(of)
        options = Options(to=to, focus=focus, pins=tuple(pins))
        return await off_loop(lambda: self._preview(of, options, max_tokens=max_tokens))

    def _preview(self, of: Opened, options: Options, *, max_tokens: int) -> answers.Preview:
        made = compact_session(
            of.session, options, counter=default_counter(of.session.model), clock=SystemClock()
        )
        receipt = made.receipt
        return answers.Preview(
            conversation=of.name,
            tokens_before=made.usage.used,
            tokens_after=made.usage.metered(made.after.cost.tokens),
            outside=made.usage.outside,
            window=made.window,
            through=reference(made.record.through_seq) if made.record and made.record.through_seq else "",
            rung=receipt.rung,
            stated=receipt.stated,
            referenced=receipt.referenced,
            missing=receipt.missing,
            leaving=[
                f"[{reference(each.seq)}] {each.what} ({each.tokens:,} tokens)"
                for each in made.leaving(_LEAVING)
            ],
            summary=truncated(
                told_alone(made.summary, made.ledger.entries), max_tokens, counter=self._counter
            )
            if made.record
            else "",
            note="" if made.record else "There is nothing to gain: the context is small enough.",
        )

    async def pin(self, text: str, *, conversation: str, remove: bool) -> answers.Pinned:
        """Keep a text in every later summary, or no longer; without a text what is pinned."""
        of = await self.conversations.open(conversation)
        if not text.strip() and remove:
            raise InvalidInput("say which text to unpin")
        if of.path is None:
            return await self._pin_own(of, text, remove=remove)
        path = of.path
        if text.strip():
            change = unpin if remove else pin
            pinned = await off_loop(lambda: change(path, text, folder=self._pins))
        else:
            pinned = await off_loop(lambda: pinned_in(path, folder=self._pins))
        note = (
            "The plugin of autocompact puts these beside the agent's own summary after each of its compactions "
            "(`autocompact status` says whether it is installed); compact previews count them."
        )
        return answers.Pinned(conversation=of.name, pinned=list(pinned), note=note)

    async def _pin_own(self, of: Opened, text: str, *, remove: bool) -> answers.Pinned:
        async with self.conversations.library() as library:
            notes = await library.note(of.name, text, remove=remove, counter=self._counter)
        note = "These stand in every later summary of this conversation."
        return answers.Pinned(conversation=of.name, pinned=[redact(each) for each in notes], note=note)

    async def _pinned(self, of: Opened) -> Sequence[str]:
        path = of.path
        return await off_loop(lambda: pinned_in(path, folder=self._pins)) if path is not None else ()

    async def undo(self, *, conversation: str) -> answers.Undone:
        """Take the active compaction of one of our own conversations back."""
        of = await self.conversations.open(conversation)
        if of.path is not None:
            raise InvalidInput(
                f"{of.name!r} is a session of {of.agent}, whose compactions only {of.agent} can take back. Nothing is "
                "lost: memory_search finds what left the context, and memory_expand shows it."
            )
        async with self.conversations.library() as library:
            undone = await library.undo(of.name, counter=default_counter(of.session.model))
        return answers.Undone(
            conversation=of.name,
            compaction=undone.record.id,
            tokens_before=undone.tokens_before,
            tokens_after=undone.tokens_after,
            note="What was said since is still there.",
        )


def compactions(of: Opened) -> list[answers.CompactionLine]:
    """The compactions of a conversation that were not undone, oldest first."""
    active = of.active
    return [
        _compaction(each, active=each is active) for each in of.session.compactions if each.status == "active"
    ]


def _compaction(record: Compaction, *, active: bool) -> answers.CompactionLine:
    return answers.CompactionLine(
        id=record.id,
        through=reference(record.through_seq) if record.through_seq else "",
        author=record.receipt.model,
        time=record.receipt.time,
        tokens_before=record.receipt.tokens_before,
        tokens_after=record.receipt.tokens_after,
        active=active,
    )


def _turns(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """The messages from each request to the next; those before the first request are no turn."""
    turn: list[Message] = []
    for message in messages:
        if message.is_request:
            if turn:
                yield turn
            turn = [message]
        elif turn:
            turn.append(message)
    if turn:
        yield turn


def _turn(turn: Sequence[Message], *, counter: Counter, redactor: Redactor) -> answers.Turn:
    calls: Tally[str] = Tally()
    changed: dict[str, None] = {}
    for message in turn[1:]:
        for part in redactor(message).parts if message.calls else ():
            if isinstance(part, RedactedCall):
                action = interpret(part)
                calls[action.name] += 1
                changed |= {path: None for path, effect in action.files if effect != "read"}
    said = next((each for each in reversed(turn) if each.role == "assistant" and each.text.strip()), None)
    return answers.Turn(
        reference=reference(turn[0].seq),
        time=turn[0].time,
        request=truncated(redactor(turn[0]).text, _REQUEST_TOKENS, counter=counter),
        messages=len(turn),
        calls=dict(calls),
        changed=list(changed)[:_FILES],
        said=truncated(redactor(said).text, _SAID_TOKENS, counter=counter) if said else "",
    )


def _entry(entry: ledger.Entry) -> answers.Entry:
    subject = entry.key if entry.kind in ("file", "change", "command", "identifier") else ""
    return answers.Entry(
        kind=entry.kind, text=entry.text, reference=reference(entry.seq), state=entry.state, subject=subject
    )


def _fitting(entries: Iterable[ledger.Entry], max_tokens: int, *, counter: Counter) -> list[answers.Entry]:
    """The entries that fit, in order: a long one does not keep the shorter ones after it out."""
    shown: list[answers.Entry] = []
    for entry in entries:
        tokens = counter.count(f"{entry.text} {entry.key}") + _ENTRY_TOKENS
        if tokens <= max_tokens:
            max_tokens -= tokens
            shown.append(_entry(entry))
        if max_tokens <= _ENTRY_TOKENS:
            break
    return shown


def _hits_that_fit(found: Sequence[Found], max_tokens: int, *, counter: Counter) -> list[answers.Hit]:
    """The first results that fit; the first one always, without what stands beside it and cut where it must be."""
    hits: list[answers.Hit] = []
    for one in found:
        hit = _hit(one)
        tokens = counter.count(hit.model_dump_json())
        if tokens > max_tokens and not hits:
            bare = hit.model_copy(update={"beside": "", "excerpt": ""})
            room = max(max_tokens - counter.count(bare.model_dump_json()), 0)
            hit = bare.model_copy(update={"excerpt": truncated(one.excerpt, room, counter=counter)})
        elif tokens > max_tokens:
            break
        hits.append(hit)
        max_tokens -= tokens
    return hits


def _hit(one: Found) -> answers.Hit:
    return answers.Hit(
        reference=one.reference,
        source=one.source,
        excerpt=one.excerpt,
        time=one.time,
        match=round(one.match, 2),
        beside=one.beside,
        note=one.note,
    )


def _most_needed(entries: Iterable[ledger.Entry]) -> list[ledger.Entry]:
    order = {kind: place for place, kind in enumerate(_FIRST)}
    return sorted(
        entries, key=lambda entry: (order.get(entry.kind, len(order)), entry.state == "done", -entry.need)
    )


def _standings(found: Verification) -> dict[str, answers.Standing]:
    groups = {"stated": found.stated, "referenced": found.referenced, "missing": found.missing}
    counts = {name: Tally(entry.kind for entry in entries) for name, entries in groups.items()}
    kinds = sorted({kind for each in counts.values() for kind in each})
    return {kind: answers.Standing(**{name: each[kind] for name, each in counts.items()}) for kind in kinds}


def context_of(of: Opened) -> str:
    """What the model of the conversation sees, as Markdown, without secrets."""
    log = Transcript(of.session.messages, counter=Estimator())
    shown = view(log, of.active, closed=True)
    messages = all_without_secrets(shown.messages, known=of.secrets)
    return render_markdown(messages, compaction=shown.compaction, title=of.name)
