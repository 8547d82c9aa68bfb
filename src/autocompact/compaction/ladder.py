"""The ladder: from a context that is too large to one that fits, in steps that never fail silently.

    mask        old tool outputs become one-line stubs
    summarise   the head becomes summary + ledger, a recent tail stays verbatim
    tighten     smaller tail, smaller ledger; the summary's text is not asked for again
    floor       system prompt, pins, last request, and as much ledger as fits
    refuse      `IncompressibleContext`, with what fills the window

(Repair is not a step: every context is folded through `autocompact.compaction.repair`.) Each step's result is accepted
if it fits the target and is strictly smaller than the context before. The first accepted one wins, but for masks that
cost more than a summary would, counting what the provider's cache must write again and the requests that follow
(`autocompact.compaction.pricing`): those are skipped.

Nothing here does I/O. `plan` goes as far as it can without a summary: it returns the record, or `SummaryNeeded` with the
question to a model. `finish` goes on from there with the answer, or with None for "make it without a model".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from msgspec import Struct

from autocompact.compaction.cuts import DEFAULT, LogOrder, Rule, Unseen, legal_cuts, tail_cut
from autocompact.compaction.goal import SMALLEST_LEDGER, Goal
from autocompact.compaction.instructions import Instructions, find_instructions
from autocompact.compaction.last_request import (
    LEAST_REQUEST,
    CutRequest,
    beside_request,
    can_be_quoted,
    cut_request,
    quoted_request,
    without_request,
)
from autocompact.compaction.masking import cut_results, mask_old_results, merged_masks
from autocompact.compaction.pins import PINNED, Kept, kept_steps
from autocompact.compaction.pricing import masks_pay
from autocompact.compaction.receipts import Check, checked, weigh
from autocompact.compaction.record import Compaction, Mask, Receipt, Rung, Standing
from autocompact.compaction.transcript import Context, Transcript, located_masks, masked, view
from autocompact.compaction.working_set import with_working_set
from autocompact.core.language import WORDS
from autocompact.core.messages import Document, Message, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.core.redacted import EMPTY, edited, filled, joined, own
from autocompact.core.redaction import Redacted, hide
from autocompact.core.references import false_references, without_references
from autocompact.core.tokens import Cost, message_cost
from autocompact.errors import IncompressibleContext
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.extraction import Reading, read_in_stretches
from autocompact.ledger.rendering import language_of, render
from autocompact.ledger.rules import rules_section
from autocompact.ledger.shortening import shortened_requests, shortened_text
from autocompact.ledger.stretches import STRETCH_TOKENS
from autocompact.ledger.summary import carried_by, frame, offline_summary, with_carried
from autocompact.ledger.summary_repair import repair_summary
from autocompact.ledger.verification import Verification, unknown_names, verify

RULES: tuple[Rule, ...] = (*DEFAULT, LogOrder())
WITHOUT_UNSEEN: tuple[Rule, ...] = (*RULES, Unseen())

MOST_CONTRADICTIONS = 8
OPEN_SHARE = 0.25
"""Share of a summary that the open requests may take where a model is told of them."""

RULES_LEAST, RULES_SHARE = 200, 0.35
"""Tokens that rules may take whole: so many, or this share of a larger summary."""

STANDING_SHARE = 4
"""System messages in the midst of a conversation take at most one in so many tokens of the target."""

FRAMING = 12
"""Tokens of the message around a summary, and what its text takes more than its parts do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """Asks for the summary of ``messages``: a prefix of the live context, so a provider's cache can serve it.

    Attributes:
        messages: what is to be summarised, an earlier summary included, as it was sent before.
        previous: the earlier summary's text, "" if none.
        focus: what to concentrate on.
        tokens: size that the summary may have.
        replaced_tokens: tokens of what it stands for: a larger summary is of no use.
        in_force: rules and open requests of the ledger, which must stand in what follows.
    """

    messages: Sequence[Message]
    previous: Redacted
    focus: Redacted
    tokens: int
    replaced_tokens: int
    in_force: Redacted = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReply:
    """A summary from wherever it came. With empty ``text`` the offline one is used and ``problem`` says why.

    ``notes`` say what of it is not as it was asked for.
    """

    text: Redacted
    model: str
    problem: Redacted = EMPTY
    cost: float | None = None
    notes: tuple[Redacted, ...] = ()


class SummaryNeeded(Struct, frozen=True, kw_only=True):
    """A compaction that needs a summary to go on: hand the reply to `finish`.

    Attributes:
        attempt: the compaction so far.
        best: what masks alone can do; None if that is nothing.
    """

    attempt: _Attempt
    best: Compaction | None

    @property
    def request(self) -> SummaryRequest:
        """What to ask a model. Made when it is first read, since that reads the whole log for rules and requests."""
        return self.attempt.request


def plan(
    log: Transcript,
    goal: Goal,
    *,
    active: Compaction | None = None,
    context: Context | None = None,
    check: Check = checked,
) -> Compaction | SummaryNeeded | None:
    """Compact ``log``, which is shown under ``active`` so far, as far as that goes without a summary.

    Args:
        log: the conversation; it must not grow until the compaction is finished.
        goal: what to reach.
        active: the compaction that the context is folded with.
        context: `view(log, active)`, where the caller has it: to fold a long log takes a second.
        check: completes the receipt of the record.

    Returns:
        The record to activate, what is needed to make one, or None where no step would shrink it.

    Raises:
        IncompressibleContext: even the floor is larger than the limit.
    """
    planned = _planned(_Attempt(log, goal, active=active, context=context))
    return check(planned, log) if isinstance(planned, Compaction) else planned


def _planned(attempt: _Attempt) -> Compaction | SummaryNeeded | None:
    """The record that is activated, not checked yet, or what is needed to make one; see `plan`."""
    goal = attempt.goal
    best = attempt.mask_only() if goal.first_rung == "mask" and attempt.masks_may_do() else None
    # masks change bytes in the midst of the prefix, so on a cached provider a summary may be the cheaper one
    if best is not None and attempt.fits(best, tokens=attempt.target) and attempt.masks_pay(best):
        return best
    if attempt.rests():
        return attempt.request_cut_only()
    if next(attempt.tries(), None) is None:
        return attempt.floor(None, best)
    return SummaryNeeded(attempt=attempt, best=best)


def finish(needed: SummaryNeeded, reply: SummaryReply | None, *, check: Check = checked) -> Compaction | None:
    """The record of a compaction that needed a summary; None if no step would shrink the context.

    Args:
        needed: what `plan` returned.
        reply: the summary; None has it made without a model.
        check: completes the receipt of the record.

    Raises:
        IncompressibleContext: even the floor is larger than the limit.
    """
    record = _finished(needed, reply)
    return None if record is None else check(record, needed.attempt.log)


def _finished(needed: SummaryNeeded, reply: SummaryReply | None) -> Compaction | None:
    """The record that is activated, not checked yet; see `finish`."""
    attempt, best = needed.attempt, needed.best
    for rung, head, summary_tokens in attempt.tries():
        candidate = attempt.summarised(rung, head, reply=reply, tokens=summary_tokens)
        best = attempt.smaller(candidate, best)
        if best is candidate and attempt.fits(candidate, tokens=attempt.target):
            return attempt.with_files(candidate)
    return attempt.floor(reply, best)


def answer(
    planned: Compaction | SummaryNeeded | None, reply: SummaryReply | None, *, check: Check = checked
) -> Compaction | None:
    """The record of what `plan` returned, with ``reply`` as the summary where one is needed. See `finish`."""
    return finish(planned, reply, check=check) if isinstance(planned, SummaryNeeded) else planned


class _Head(Struct, frozen=True, kw_only=True):
    """The part of the context that a summary would stand for: messages before ``index``, without the prompt."""

    messages: tuple[Message, ...]
    index: int
    through_seq: int


class _Attempt:
    """Values that the steps of one compaction share: the context before, its weights, and the ledger of each head."""

    def __init__(
        self, log: Transcript, goal: Goal, *, active: Compaction | None, context: Context | None = None
    ) -> None:
        self.log, self.goal = log, goal
        self.redactor = log.redactor()
        located = located_masks(log, active)
        self.context = context if context is not None and located == active else view(log, located)
        self.active = self.context.compaction
        self.before = self.context.cost + goal.overhead
        shown = next((m for m in reversed(self.context.messages) if m.is_request), None)
        self.last_request = max(filter(None, (shown, goal.request)), key=lambda m: m.seq, default=None)
        self._cut_request = self._cut_last_request()
        self.tokens = [self._tokens(message) for message in self.context.messages]
        self.prompt = self._prompt_end()
        self.rules = WITHOUT_UNSEEN if goal.tail_tokens else RULES
        self._legal: dict[tuple[Rule, ...], tuple[int, ...]] = {}
        self.unseen = self._cuts(self.rules)[-1]
        # results that the model has not seen cannot be folded, so their excess is added to the target: else no
        # rung reaches it, and all of them are tried on every turn
        extra = max(0, sum(self.tokens[self.unseen :]) - goal.tail_tokens)
        self.target = min(goal.limit, goal.target + extra)
        self._heads: dict[tuple[Rung, int], _Head | None] = {}
        self._ledgers: dict[int, Ledger] = {}
        self._resent_rules: dict[int, frozenset[Entry]] = {}
        self._instructions: dict[int, Instructions] = {}

    def _prompt_end(self) -> int:
        """Index of the first message that is neither system prompt nor instructions that stay."""
        standing = {one.seq for one in self.active.standing} if self.active else set[int]()
        for index, message in enumerate(self.context.messages):
            if message.role != "system" and message.seq not in standing:
                return index
        return len(self.context.messages)

    def _cuts(self, rules: tuple[Rule, ...]) -> tuple[int, ...]:
        """The cuts that ``rules`` allow, worked out once."""
        if rules not in self._legal:
            self._legal[rules] = legal_cuts(self.context.messages, rules=rules)
        return self._legal[rules]

    def _cut_last_request(self) -> CutRequest | None:
        """The last request as it is shown."""
        last = self.last_request
        if last is None:
            return None
        source = self.log[last.seq] if last.seq and self.log.holds(last.seq) else last
        return cut_request(source, self.goal.request_tokens, counter=self.log.counter, redactor=self.redactor)

    def _tokens(self, message: Message) -> int:
        cut = self._cut_request
        if cut is not None and cut.masks and message.seq == cut.message.seq and message.is_request:
            return message_cost(cut.message, self.log.counter).tokens
        whole = message.seq and not message.changed
        return (self.log.cost(message.seq) if whole else message_cost(message, self.log.counter)).tokens

    @cached_property
    def _quotes(self) -> bool:
        """True if the last request stands inside the summary message once it is folded."""
        last = self.last_request
        if last is None or not self.log.holds(last.seq):
            return last is not None
        return (
            self.goal.inline_request
            and self.log.cost(last.seq).tokens <= self.goal.limit
            and can_be_quoted(last)
        )

    @property
    def _covered(self) -> int:
        return self.active.through_seq if self.active else 0

    @property
    def _previous(self) -> Redacted:
        """The earlier summary, without the request that was the last one then."""
        return edited(self.active.summary, without_request) if self.active else EMPTY

    def fits(self, record: Compaction, *, tokens: int) -> bool:
        """True if the request under ``record`` keeps to so many tokens, and to the limits on bytes and images."""
        goal, receipt = self.goal, record.receipt
        after = Cost(tokens=receipt.tokens_after, bytes=receipt.bytes_after, images=receipt.images_after)
        return goal.allows(after, tokens=tokens)

    def rests(self) -> bool:
        """True if the tail that is asked for holds everything, and nothing presses for less."""
        enough = self.goal.allows(self.before, tokens=self.target)
        return enough and self.head(self.goal.tail_tokens) is None

    def smaller(self, candidate: Compaction | None, best: Compaction | None) -> Compaction | None:
        """``candidate`` if it is strictly smaller than the context before and than ``best``, else ``best``."""
        if candidate is None:
            return best
        bound = self.before.tokens if best is None else best.receipt.tokens_after
        # strictly smaller: invariant 4, without which compaction could go on for ever
        return candidate if candidate.receipt.tokens_after < bound else best

    def head(self, tail_tokens: int, *, rules: tuple[Rule, ...] | None = None) -> _Head | None:
        """The head that a summary would replace if ``tail_tokens`` stay verbatim; None if it holds nothing new."""
        messages = self.context.messages
        index = tail_cut(messages, self.tokens, tail_tokens=tail_tokens, cuts=self._cuts(rules or self.rules))
        # the request that the next reply answers stays outside of the summary, whatever the tail
        if index == len(messages) and messages and messages[-1].is_request:
            index -= 1
        folded = tuple(messages[min(self.prompt, index) : index])
        stays = None if self._quotes else self.last_request
        if not any(message.seq > self._covered for message in folded if message is not stays):
            return None
        return _Head(messages=folded, index=index, through_seq=max(message.seq for message in folded))

    @cached_property
    def request(self) -> SummaryRequest:
        """The one question to a model, whichever step is taken: the live context up to the first cut, as its cache holds it."""
        _, head, tokens = next(self.tries())
        return SummaryRequest(
            messages=self.context.messages[: head.index],
            previous=self._previous,
            focus=self.goal.focus,
            tokens=tokens,
            replaced_tokens=sum(self.tokens[: head.index]),
            in_force=self._in_force(head, tokens),
        )

    def _in_force(self, head: _Head, tokens: int) -> Redacted:
        """Rules and open requests, each in at most a part of ``tokens``; the last request stands verbatim anyway."""
        ledger = self.ledger(head.through_seq)
        last = self._cut_request.message.seq if self._cut_request else 0
        requests = [entry for entry in ledger.entries if entry.kind == "request" and entry.state == "open"]
        requests = sorted((entry for entry in requests if entry.seq != last), key=lambda entry: entry.seq)
        room = int(tokens * OPEN_SHARE)
        asked = render(shortened_requests(requests, room, counter=self.log.counter))
        return joined("\n\n", filter(None, (self._rules(head, tokens), asked)))

    def ledger(self, through_seq: int) -> Ledger:
        """Everything worth keeping through ``through_seq``, earlier ledgers merged in."""
        if through_seq not in self._ledgers:
            # the tail is evidence (what was done, settled, or stays verbatim), though it has no entries
            ledger = self._read.ledger(through_seq)
            stated, replaced = self._found_instructions(through_seq).rules(ledger, self.log)
            self._ledgers[through_seq] = ledger.without(replaced)
            self._resent_rules[through_seq] = stated
        return self._ledgers[through_seq]

    @cached_property
    def _pinned(self) -> Kept:
        """The pins with their whole steps."""
        return kept_steps(self.log, self.goal.pins)

    @cached_property
    def _read(self) -> Reading:
        """What is new, read with what an earlier compaction knew.

        The earlier ledger stands for everything it covers, so the 20th compaction costs what the 2nd does.
        """
        known = self.active.ledger.unfaded if self.active and self.active.ledger.entries else None
        return read_in_stretches(
            tuple(self.log.live(self._covered + 1 if known else 1)),
            previous=known,
            tokens=lambda message: self.log.cost(message.seq).tokens,
            # every head that is tried ends within the last one
            least=max(STRETCH_TOKENS, 4 * self.goal.tail_tokens),
            redactor=self.redactor,
            passing=self.log.redactor,
        )

    def masks_may_do(self) -> bool:
        """True if the context could fit the limit with no tool output in it at all: else masks alone never do."""
        outputs = sum(
            tokens
            for message, tokens in zip(self.context.messages, self.tokens, strict=True)
            if message.results
        )
        return self.before.tokens - outputs <= self.goal.limit

    def mask_only(self, masks: tuple[Mask, ...] | None = None) -> Compaction | None:
        """Old tool outputs as stubs, or ``masks``, and nothing summarised; None if that makes nothing smaller."""
        masks = self._masks(0, protect_tokens=self.goal.tail_tokens) if masks is None else masks
        if not masks:
            return None
        ledger = self.active.ledger if self.active else Ledger()
        summary = self.active.summary if self.active else EMPTY
        record = self._record("mask", through_seq=self._covered, summary=summary, ledger=ledger, masks=masks)
        return self.smaller(record, None)

    def masks_pay(self, record: Compaction) -> bool:
        """True if the requests after ``record``, which only masks, cost no more than after a summary."""
        goal, head = self.goal, self.head(self.goal.tail_tokens)
        if goal.pace is None or head is None:
            return True
        new = {mask.seq for mask in set(record.masks) - set(self.active.masks if self.active else ())}
        shown = self.context.messages
        return masks_pay(
            self.tokens,
            after=record.receipt.tokens_after,
            changed=next((index for index, message in enumerate(shown) if message.seq in new), len(shown)),
            prompt=self.prompt,
            cut=head.index,
            summary=goal.summary_tokens + FRAMING,
            overhead=goal.overhead.tokens,
            pace=goal.pace,
        )

    def request_cut_only(self) -> Compaction | None:
        """The last request cut as it was asked for and all else as it is; None if it stays whole."""
        return self.mask_only(self._cut_request.masks) if self._cut_request is not None else None

    def summarised(
        self, rung: Rung, head: _Head, *, reply: SummaryReply | None, tokens: int, cut: tuple[Mask, ...] = ()
    ) -> Compaction:
        """Summary and ledger of the head in ``tokens``; the tail stays, but for ``cut`` and old outputs from `tighten` on."""
        ledger = self.ledger(head.through_seq)
        rules, (line, note) = self._rules(head, tokens), self._line(head)
        beside = joined("\n\n", (rules, line)) if self._is_capped else rules
        room = max(SMALLEST_LEDGER, tokens - self.log.counter.count(beside))
        last = self._cut_request.message if self._cut_request else None
        stated = beside_request(ledger, last, said=line or (self.redactor(last).text if last else EMPTY))
        notes = (note,) if note else ()
        if reply is not None and reply.text:
            text, odd = self._usable(hide(reply.text, self.log.secrets), stated)
            checked = verify(text, stated)
            repaired = repair_summary(
                text, stated, verification=checked, budget=room, counter=self.log.counter
            )
            notes = (*odd, *self._against(text, checked), *repaired.notes, *notes)
            text = repaired.text
        else:
            replaced = sum(self.tokens[min(self.prompt, head.index) : head.index]) - self._standing_tokens(
                head
            )
            # an extract longer than half of what it replaces is not worth the loss of the original order
            text = self._offline(stated, head, tokens=min(room, max(SMALLEST_LEDGER, replaced // 2)))
        text = self._with_fixed_words(text, head, rules=rules)
        masks = merged_masks(self._tail_masks(rung, head), cut)
        record = self._record(
            rung, through_seq=head.through_seq, summary=text, ledger=ledger, masks=masks, reply=reply
        )
        return replace(record, receipt=replace(record.receipt, notes=(*record.receipt.notes, *notes)))

    @property
    def _is_capped(self) -> bool:
        """True if nothing in a summary is beyond its cap, the line of the last request included (requirement B2)."""
        return self.goal.cap_tokens >= self.goal.summary_tokens

    @cached_property
    def _quoted(self) -> tuple[Redacted, Redacted]:
        """The line of the last request, at most half of a cap that covers the whole summary, and a note if it was cut."""
        last, most = self._cut_request, self.goal.summary_tokens // 2 if self._is_capped else 0
        redactor, counter = self.redactor, self.log.counter
        return (
            quoted_request(last.message, most, counter=counter, redactor=redactor) if last else (EMPTY, EMPTY)
        )

    def _line(self, head: _Head) -> tuple[Redacted, Redacted]:
        """`_quoted` if the last request stands inside the summary of the head."""
        last = self.last_request
        inside = last is not None and last.seq <= head.through_seq and last.seq not in self._pinned.seqs
        return self._quoted if inside and self._quotes else (EMPTY, EMPTY)

    def _usable(self, summary: Redacted, ledger: Ledger) -> tuple[Redacted, tuple[Redacted, ...]]:
        """A model's summary without references to what is not there and cut to the cap, and notes on both."""
        wrong = false_references(summary, self._exists)
        text = edited(summary, partial(without_references, wrong=wrong)) if wrong else summary
        notes: list[Redacted] = []
        if wrong:
            # a reference to a message that does not exist sends the agent looking for something made up
            listed = joined(", ", (filled("m{}", seq) for seq in wrong))
            notes.append(filled("references to messages that do not exist: {}", listed))
        cap, tokens = self.goal.cap_tokens, self.log.counter.count(text)
        if cap and tokens > cap:
            text = shortened_text(text, cap, counter=self.log.counter, ledger=ledger).text
            note = "the summary had {:,} tokens where {:,} were asked for: it was shortened"
            notes.append(filled(note, tokens, cap))
        return text, tuple(notes)

    def _against(self, summary: Redacted, checked: Verification) -> Iterator[Redacted]:
        """Notes on what a model's summary says against the evidence, a sentence each."""
        yield from (against.text for against in checked.contradictions[:MOST_CONTRADICTIONS])
        names = unknown_names(summary, lambda name: any(name in text for text in self._words))
        if names:
            listed = joined(", ", names[:MOST_CONTRADICTIONS])
            yield filled("names in the summary that stand nowhere in the conversation: {}", listed)

    def _exists(self, seq: int) -> bool:
        """True if a reference to ``seq`` can be right: there is that message, or its name is used for something else."""
        return seq <= len(self.log) or any(f"m{seq}" in name for name in self._words)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        """Everything that the summary is made of, for names that look like references."""
        texts = (_spoken(part) for message in self.context.messages for part in message.parts)
        return (self._previous, *texts)

    def with_files(self, record: Compaction) -> Compaction:
        """``record`` with the files that will be needed next beside its summary, where the goal has a budget for them."""
        goal = replace(self.goal, target=self.target)
        return with_working_set(
            record, self.log, goal=goal, active=self.active, before=self.before, redactor=self.redactor
        )

    def tries(self) -> Iterator[tuple[Rung, _Head, int]]:
        """The steps that may do, each with what its summary stands for and the tokens of that.

        A step is left out that folds nothing new, or whose tail alone exceeds the target: a later one leaves less.
        """
        for rung, tail_tokens, tokens in self.goal.steps():
            if (rung, tail_tokens) not in self._heads:
                head = self.head(tail_tokens)
                does = head is not None and (not tail_tokens or self._may_reach(rung, head))
                self._heads[rung, tail_tokens] = head if does else None
            if (found := self._heads[rung, tail_tokens]) is not None:
                yield rung, found, tokens

    def _may_reach(self, rung: Rung, head: _Head) -> bool:
        """True if what this step leaves verbatim is below the target: the cheap question before the summary."""
        masks = self._tail_masks(rung, head)
        bare = self._shape(rung, through_seq=head.through_seq, summary=EMPTY, ledger=Ledger(), masks=masks)
        return self.goal.allows(view(self.log, bare).cost + self.goal.overhead, tokens=self.target)

    def _tail_masks(self, rung: Rung, head: _Head) -> tuple[Mask, ...]:
        return (
            () if rung == "summarise" else self._masks(head.index, protect_tokens=self.goal.tail_tokens // 4)
        )

    def _rules(self, head: _Head, tokens: int) -> Redacted:
        """The rules in force on every rung, but those that stand beside the summary in full.

        They are shortened where they would take most of a summary.
        """
        ledger = self.ledger(head.through_seq)
        resent = self._resent_rules[head.through_seq]
        budget = max(RULES_LEAST, int(tokens * RULES_SHARE))
        heading = WORDS[language_of(ledger.entries)]["rules"]
        last = self._cut_request
        whole = last.message.seq if last is not None and not last.masks else 0  # it stands verbatim anyway
        rules = (
            entry
            for entry in ledger.entries
            if entry.kind == "rule" and entry.seq != whole and entry not in resent
        )
        return rules_section(rules, budget=budget, counter=self.log.counter, heading=heading)

    def _offline(self, ledger: Ledger, head: _Head, *, tokens: int) -> Redacted:
        carried = carried_by(self.context.messages[: head.index], redactor=self.redactor)
        previous = with_carried(self._previous, carried)
        counter, focus = self.log.counter, self.goal.focus
        return offline_summary(ledger, budget=tokens, counter=counter, focus=focus, previous=previous)

    def floor(self, reply: SummaryReply | None, best: Compaction | None) -> Compaction | None:
        """System prompt, pins, last request and as much ledger as fits; or the best step that fits the limit.

        What the model has not seen yet stays whole where it can, else it is cut. It is folded if that does not do either.

        Raises:
            IncompressibleContext: not even that fits.
        """
        # from the gentlest to the harshest; lambdas, since each costs a fold and the first that fits ends it
        everything = self.head(0, rules=RULES)
        for candidate in (
            lambda: self._floored(self.head(0), reply),
            lambda: self._cut(reply),
            lambda: self._floored(everything, reply),
            self.request_cut_only,  # where it is all that there is, nothing can be folded
        ):
            best = self.smaller(candidate(), best)
            if best is not None and self.fits(best, tokens=self.goal.limit):
                return best
            # not needed to make the request fit: then unseen results are not cut for the target's sake
            if self.goal.allows(self.before, tokens=self.goal.limit):
                return None
        if (shorter := self._with_shorter_request(everything)) is not None:
            return shorter.floor(reply, best)
        raise IncompressibleContext(self._fixed(everything), limit=self.goal.limit)

    def _with_shorter_request(self, head: _Head | None) -> _Attempt | None:
        """The same attempt with the last request cut, if the model has seen it and it is what does not fit."""
        last, messages = self.last_request, self.context.messages
        answered = any(m.role == "assistant" and last is not None and m.seq > last.seq for m in messages)
        if last is None or self.goal.request_tokens or not answered:
            return None
        fixed = self._fixed(head)
        room = self.goal.limit - sum(fixed.values()) + fixed["last request"]
        if room < 2 * LEAST_REQUEST:
            return None
        goal = replace(self.goal, request_tokens=room // 2)
        return _Attempt(self.log, goal, active=self.active, context=self.context)

    def _floored(self, head: _Head | None, reply: SummaryReply | None) -> Compaction | None:
        """The head in a ledger as large as there is room for."""
        fixed = sum(self._fixed(head).values())
        room = self.goal.limit - fixed
        if head is None or room < 0:
            return None
        wanted = min(self.goal.summary_tokens, self.target - fixed + SMALLEST_LEDGER)
        tokens = min(SMALLEST_LEDGER + room, max(SMALLEST_LEDGER, wanted))
        return self.summarised("floor", head, reply=reply, tokens=tokens)

    def _cut(self, reply: SummaryReply | None) -> Compaction | None:
        """The results that the model has not seen yet cut so far that there is room for a summary and for work."""
        head = self.head(0)
        tokens = max(SMALLEST_LEDGER, self.goal.summary_tokens // 2)
        # to the middle between target and limit: cutting to the limit
        # itself would overflow again at the next result
        excess = sum(self._fixed(head).values()) - (self.goal.target + self.goal.limit) // 2
        messages = self.context.messages
        # a client puts notes into the message of a request as well
        asked = len(messages) - 1 if messages and messages[-1].is_request else len(messages)
        unseen = messages[min(self.unseen, asked) :]
        cut = cut_results(
            unseen,
            counter=self.log.counter,
            save_tokens=excess + tokens,
            pinned=self.goal.pins,
            redactor=self.redactor,
        )
        if not cut:
            return None
        if head is None:
            return self.mask_only(merged_masks(self.active.masks if self.active else (), cut))
        return self.summarised("floor", head, reply=reply, tokens=tokens, cut=cut)

    def _fixed(self, head: _Head | None) -> dict[str, int]:
        """Tokens by what the floor cannot give up."""
        index = head.index if head else self.prompt
        kept = {seq: self._kept_tokens(seq) for seq in self._keep(head.through_seq if head else 0)}
        for message, tokens in zip(self.context.messages[index:], self.tokens[index:], strict=True):
            kept[message.seq] = kept.get(message.seq, 0) + tokens
        rules = self._rules(head, SMALLEST_LEDGER) if head else EMPTY
        words = self.log.counter.count(self._with_fixed_words(EMPTY, head, rules=EMPTY)) if head else 0
        last = self.last_request.seq if self.last_request else 0
        summary = (
            self.log.counter.count(frame("", placement=self.goal.placement, lookup=self.log.lookup))
            + FRAMING
            + SMALLEST_LEDGER
        )
        return {
            "system prompt": sum(self.tokens[: self.prompt]) + (self._standing_tokens(head) if head else 0),
            "tools": self.goal.overhead.tokens,
            "last request": kept.pop(last, 0),
            "rules": self.log.counter.count(rules),
            "pins": words + sum(tokens for seq, tokens in kept.items() if seq in self.goal.pins),
            "what cannot be folded": sum(tokens for seq, tokens in kept.items() if seq not in self.goal.pins),
            "the smallest summary": summary if head else 0,
        }

    def _masks(self, start: int, *, protect_tokens: int) -> tuple[Mask, ...]:
        messages = self.context.messages[start:]
        new = mask_old_results(
            messages,
            self.tokens[start:],
            counter=self.log.counter,
            protect_tokens=protect_tokens,
            pinned=self.goal.pins,
            redactor=self.redactor,
        )
        return merged_masks(self.active.masks if self.active else (), new)

    def _found_instructions(self, through_seq: int) -> Instructions:
        """The instructions in what is covered."""
        if through_seq not in self._instructions:
            most = self.goal.target // STANDING_SHARE
            self._instructions[through_seq] = find_instructions(
                self.log,
                through_seq,
                active=self.active,
                keep=frozenset((*self._keep(through_seq), *self.goal.pins)),
                most_tokens=most,
            )
        return self._instructions[through_seq]

    def _standing(self, through_seq: int) -> tuple[Standing, ...]:
        """The instructions that stay of what is covered."""
        return self._found_instructions(through_seq).standing

    def _standing_tokens(self, head: _Head) -> int:
        """Tokens of the instructions that stay of what is covered, without those that the context shows separately already."""
        apart = {message.seq for message in self.context.messages[: self.prompt]}
        found = (one for one in self._standing(head.through_seq) if one.seq not in apart)
        shown = filter(None, (one.shown(self.log[one.seq]) for one in found))
        return sum(message_cost(message, self.log.counter).tokens for message in shown)

    def _keep(self, through_seq: int) -> tuple[int, ...]:
        """The covered messages that stay verbatim: pins with their whole step, and the last request.

        Under the same summary also the request that was the last one then: that summary does not state it.
        """
        seqs = {seq for seq in self._pinned.seqs if seq <= through_seq}
        if self.active is not None and through_seq == self.active.through_seq:
            seqs.update(seq for seq in self.active.keep if self.log[seq].is_request)
        last = self.last_request
        if last is not None and last.seq <= through_seq and not self._quotes:
            seqs.add(last.seq)
        return tuple(sorted(seqs))

    def _kept_tokens(self, seq: int) -> int:
        """Tokens of message ``seq`` where it stays beside the summary."""
        request = self._cut_request.masks if self._cut_request else ()
        masks = [mask for mask in (*self._pinned.masks, *request) if mask.seq == seq]
        return (
            message_cost(masked(self.log[seq], masks), self.log.counter).tokens
            if masks
            else self.log.cost(seq).tokens
        )

    def _with_fixed_words(self, text: Redacted, head: _Head, *, rules: Redacted) -> Redacted:
        """The summary with what must stand in it verbatim: rules first, then pins, and the last request at its end."""
        sections = [text] if text else []
        if self.goal.notes:
            pinned = joined("\n", (filled("- {}", note) for note in self.goal.notes))
            sections.insert(0, joined("", (own(PINNED), pinned)))
        if rules:
            sections.insert(0, rules)
        line, _ = self._line(head)
        return joined("\n\n", (*sections, line) if line else sections)

    def _record(
        self,
        rung: Rung,
        *,
        through_seq: int,
        summary: Redacted,
        ledger: Ledger,
        masks: tuple[Mask, ...],
        reply: SummaryReply | None = None,
    ) -> Compaction:
        """The record, weighed."""
        record = self._shape(rung, through_seq=through_seq, summary=summary, ledger=ledger, masks=masks)
        weighed = weigh(record, self.log, before=self.before, overhead=self.goal.overhead)
        return replace(
            weighed,
            receipt=replace(
                weighed.receipt,
                model=reply.model if reply is not None and reply.text else "offline",
                trigger=self.goal.trigger,
                cost=reply.cost if reply is not None else None,
                problem=reply.problem if reply is not None else EMPTY,
                notes=self._notes(reply),
            ),
        )

    def _notes(self, reply: SummaryReply | None) -> tuple[Redacted, ...]:
        """Notes on what could not be done as requested, whatever the step."""
        cut = (self._cut_request.note,) if self._cut_request and self._cut_request.note else ()
        return (*(reply.notes if reply is not None and reply.text else ()), *cut)

    def _shape(
        self, rung: Rung, *, through_seq: int, summary: Redacted, ledger: Ledger, masks: tuple[Mask, ...]
    ) -> Compaction:
        """The record before anybody weighed it."""
        keep = self._keep(through_seq)
        request = self._cut_request.masks if self._cut_request else ()
        masks = merged_masks(
            (mask for mask in masks if mask.seq not in self.goal.pins), (*self._pinned.masks, *request)
        )
        return Compaction(
            id=f"c{self._covered}-{through_seq}",
            from_seq=self._covered + 1,
            through_seq=through_seq,
            summary=summary,
            ledger=ledger,
            masks=tuple(mask for mask in masks if mask.seq > through_seq or mask.seq in keep),
            keep=keep,
            standing=self._standing(through_seq),
            placement=self.goal.placement,
            prefix=self.log.prefix(through_seq),
            focus=self.goal.focus,
            receipt=Receipt(tokens_before=0, tokens_after=0, bytes_before=0, bytes_after=0, rung=rung),
        )


def _spoken(part: Part) -> str:
    """Text of a part."""
    match part:
        case Text() | ToolResult() | Reasoning() | Document():
            return part.text
        case ToolCall():
            return part.arguments
        case _:
            return ""
