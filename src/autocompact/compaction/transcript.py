"""The append-only log, and the context folded from it.

    context = view(log, active compaction)

`view` is the definition. `View` is the same fold kept up to date: appending a message and asking for the context
costs O(new), however long the conversation is, because nothing that was settled is looked at again. A property
test holds the two equal. Only two things make it start over: another compaction, and a message that replaces
earlier ones.

The list of a context is never changed in place once handed out, so a context can be kept and compared later.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import overload

from msgspec import structs

from autocompact.compaction.record import Compaction, Mask
from autocompact.compaction.repair import Repairer
from autocompact.core.lookup import WITH_TOOLS, Lookup
from autocompact.core.messages import Message, Part, Role, Text, ToolResult
from autocompact.core.redacted import Reader, Redactor, redacted
from autocompact.core.redaction import KnownSecrets
from autocompact.core.tokens import Cost, Counter, message_cost
from autocompact.core.validity import noted
from autocompact.ledger.summary import frame


class Transcript:
    """The log of one conversation: messages by ``seq``, their cost, and which of them an edit replaced.

    Append-only. ``counter`` measures each message once, when its cost is first asked for. A long log need not be in memory
    whole: ``first`` says where the messages held here begin, ``earlier`` brings the few older ones that a context
    still shows, ``prompt`` tells which of them (by ``seq``) are the system prompt, ``prefix`` is the hash of
    everything before ``first``. ``lookup`` says how the model opens what left the context. ``secrets`` are those that
    compactions of this process met. ``read`` redacts a message that a compaction meets.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        counter: Counter,
        first: int = 1,
        earlier: Iterable[Message] = (),
        prompt: Iterable[int] = (),
        prefix: str = "",
        lookup: Lookup = WITH_TOOLS,
        read: Reader = redacted,
    ) -> None:
        self.counter = counter
        self._read = read
        self.lookup = lookup
        self.first = first
        self.secrets = KnownSecrets()
        self.replacements = 0
        self._earlier = {message.seq: message for message in earlier}
        self._messages: list[Message] = []
        self._costs: list[Cost | None] = []
        self._replaced: set[int] = set()
        # of each prefix its hash, one after the other: as so many texts they would be the largest thing beside the messages
        self._hashes = bytearray()
        self._before = prefix
        self._prompt = sorted(prompt)
        # shared with snapshots: tells a copy of this log from one of another log with the same numbers
        self._origin = object()
        # the system prompt ends with the first other message; a log that begins in the middle has it behind it
        self._begun = None if first == 1 or self._prompt[-1:] == [first - 1] else 0
        self.extend(messages)

    def __len__(self) -> int:
        """The ``seq`` of the last message."""
        return self.first - 1 + len(self._messages)

    def __getitem__(self, seq: int) -> Message:
        if self.first <= seq <= len(self):
            return self._messages[seq - self.first]
        if seq in self._earlier:
            return self._earlier[seq]
        raise IndexError(f"message {seq} is not held here: the log holds {self.first}..{len(self)}")

    def holds(self, seq: int) -> bool:
        """True if message ``seq`` can be read here."""
        return self.first <= seq <= len(self) or seq in self._earlier

    def append(self, message: Message, *, cost: Cost | None = None) -> None:
        """Add the next message.

        Args:
            message: with the next number.
            cost: what it weighs, where that was measured before.

        Raises:
            ValueError: its ``seq`` is not the next number, or it replaces a message that is not held before it.
        """
        if message.seq != len(self) + 1:
            raise ValueError(f"message has seq {message.seq}, the next one is {len(self) + 1}")
        if message.replaces is not None:
            self._replace(message.replaces, before=message.seq)
        if self._begun is None:
            if message.role == "system":
                self._prompt.append(message.seq)
            else:
                self._begun = message.seq
        self._messages.append(message)
        self._costs.append(cost)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages in order."""
        for message in messages:
            self.append(message)

    def _replace(self, first: int, *, before: int) -> None:
        if not self.first <= first < before:
            raise ValueError(
                f"message {before} cannot replace {first}: {self.first}..{before - 1} are held here"
            )
        self._replaced.update(range(first, before))
        self.replacements += 1
        self._prompt = [seq for seq in self._prompt if seq < first]
        if self._begun is not None and self._begun >= first:
            self._begun = None
        # a hash covers all before it, so only those from the replaced message on are void
        del self._hashes[(first - self.first) * _HASH :]

    @property
    def prompt(self) -> tuple[Message, ...]:
        """The system prompt: the system messages that the log, as far as it was not replaced, begins with."""
        return tuple(self[seq] for seq in self._prompt)

    def is_replaced(self, seq: int) -> bool:
        """True if an edit or a regenerated answer took the place of message ``seq``."""
        return seq in self._replaced

    def live(self, from_seq: int = 1, through_seq: int | None = None) -> Iterator[Message]:
        """The messages held here, in order, that no later one replaced."""
        end = len(self) if through_seq is None else min(through_seq, len(self))
        if from_seq < self.first:
            yield from (self._earlier[seq] for seq in sorted(self._earlier) if from_seq <= seq <= end)
        for seq in range(max(self.first, from_seq), end + 1):
            if seq not in self._replaced:
                yield self._messages[seq - self.first]

    def cost(self, seq: int) -> Cost:
        """Weight of message ``seq``, as it came."""
        if seq < self.first:
            return message_cost(self[seq], self.counter)
        cost = self._costs[seq - self.first]
        # measured at first use: a log that is only exported is never counted
        if cost is None:
            cost = self._costs[seq - self.first] = message_cost(self[seq], self.counter)
        return cost

    def prefix(self, through_seq: int) -> str:
        """A hash of the live messages through ``through_seq``: equal only if all of them are.

        Computed once per message; a replaced message counts as absent.
        """
        if through_seq < self.first:
            return self._before
        # continues where the last call ended, so a growing log costs O(new)
        known = self.first + len(self._hashes) // _HASH
        before = self._hash(known - 1)
        for seq in range(known, through_seq + 1):
            if seq not in self._replaced:
                before = _chain(before, self[seq])
            # nothing but replaced messages so far: zeros stand for the hash that the log began with
            self._hashes += bytes(_HASH) if before == self._before else bytes.fromhex(before)
        return self._hash(through_seq)

    def _hash(self, seq: int) -> str:
        """The hash that is known of the prefix through ``seq``."""
        if seq < self.first:
            return self._before
        end = (seq - self.first + 1) * _HASH
        hashed = self._hashes[end - _HASH : end]
        return hashed.hex() if any(hashed) else self._before  # only replaced messages so far

    def admits(self, compaction: Compaction) -> bool:
        """True if the log still begins with what ``compaction`` was made from."""
        if compaction.through_seq > len(self):
            return False
        # older records have no hash, and what lies before this log's part
        # cannot be hashed here: the store checked it
        if not compaction.prefix or compaction.through_seq < self.first - 1:
            return True
        return self.prefix(compaction.through_seq) == compaction.prefix

    def learn(self, copy: Transcript) -> None:
        """Take over what a `snapshot` of this log has worked out since: hashes of prefixes, costs.

        What was replaced since has other hashes, so then they are worked out anew. A copy of another log, such as the
        one that was held before this one was loaded, teaches nothing: a record made from it would be compared with
        itself.
        """
        if copy._origin is not self._origin:
            return
        # the copy was read by a thread for seconds; what it worked out need not be worked out again on the loop
        if copy.replacements == self.replacements and len(copy._hashes) > len(self._hashes):
            self._hashes = bytearray(copy._hashes)
        self._costs[: len(copy._costs)] = copy._costs

    def continues(self, earlier: Transcript) -> bool:
        """True if every message that both logs hold is the same one, and this log is no shorter than ``earlier``.

        Which of them were replaced since does not matter. O(messages that both hold).
        """
        first = max(self.first, earlier.first)
        ours, theirs = self._messages[first - self.first :], earlier._messages[first - earlier.first :]
        return len(self) >= len(earlier) and all(map(_same, ours, theirs))

    def redactor(self) -> Redactor:
        """A redactor that knows the secrets of this log, and has read nothing yet."""
        return Redactor(self.secrets, read=self._read)

    def snapshot(self) -> Transcript:
        """A copy that stays as it is while this one grows. O(messages held), no message is measured again."""
        copy = Transcript(
            counter=self.counter,
            first=self.first,
            prefix=self._before,
            lookup=self.lookup,
            read=self._read,
        )
        copy._origin, copy.secrets = self._origin, self.secrets
        copy.replacements, copy._begun = self.replacements, self._begun
        copy._prompt, copy._earlier = list(self._prompt), dict(self._earlier)
        # shallow: messages are frozen
        copy._messages, copy._costs = list(self._messages), list(self._costs)
        copy._replaced, copy._hashes = set(self._replaced), bytearray(self._hashes)
        return copy

    def after(self, compaction: Compaction) -> Transcript:
        """The part of this log that a context under ``compaction`` needs: the rest can leave memory."""
        first = compaction.through_seq + 1
        if first <= self.first:
            return self
        # what the context still shows of the folded part
        needed = (seq for seq in sorted({*self._prompt, *compaction.needed}) if seq < first)
        rest = Transcript(
            counter=self.counter,
            first=first,
            earlier=[self[seq] for seq in needed if seq not in self._replaced],
            prefix=self.prefix(compaction.through_seq),
            lookup=self.lookup,
            read=self._read,
        )
        rest.secrets = self.secrets
        held = slice(first - self.first, None)
        rest._prompt, rest._begun = list(self._prompt), self._begun
        rest._messages, rest._costs = self._messages[held], self._costs[held]
        rest._replaced = {seq for seq in self._replaced if seq >= first or seq in compaction.needed}
        return rest


_HASH = 16
"""Bytes of a hash."""


def _chain(before: str, message: Message) -> str:
    return hashlib.blake2b(before.encode() + content_bytes(message), digest_size=_HASH).hexdigest()


def _same(one: Message, other: Message) -> bool:
    # identity first: a reloaded cache hands out the same objects
    if one is other or one.raw != other.raw:
        return one is other
    return one.raw is not None or (one.role, one.parts) == (other.role, other.parts)


def content_bytes(message: Message) -> bytes:
    """Bytes that identify a message: the JSON it came as, else role and parts."""
    return message.raw if message.raw is not None else repr((message.role, message.parts)).encode()


class Messages(Sequence[Message]):
    """A read-only run of messages: the settled ones, and a few that only stand at the end of this context."""

    __slots__ = ("_length", "_settled", "_tail")

    def __init__(self, settled: list[Message], *, tail: tuple[Message, ...] = ()) -> None:
        self._settled = settled
        # the list may be appended to later; this run ends where it ended when it was made
        self._length = len(settled)
        self._tail = tail

    def __len__(self) -> int:
        return self._length + len(self._tail)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return (*self._settled[: self._length], *self._tail)[index]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return self._settled[position] if position < self._length else self._tail[position - self._length]

    def __iter__(self) -> Iterator[Message]:
        yield from islice(self._settled, self._length)
        yield from self._tail

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)  # pyright: ignore[reportUnknownArgumentType] - any sequence may be compared

    __hash__ = None  # pyright: ignore[reportAssignmentType] - compared by content, like a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The messages sent to the model, and how they came about.

    Attributes:
        messages: valid for every API: each call answered right after it, no orphans.
        cost: tokens, bytes on the wire and images of them.
        compaction: the record it was folded with.
        standing: so many of the last messages are the last ones of the log, as they came.
    """

    messages: Sequence[Message]
    cost: Cost
    compaction: Compaction | None = None
    standing: int = 0


class View:
    """The context of a log under one compaction, kept up to date. A compaction the log does not admit is ignored."""

    def __init__(self, transcript: Transcript, compaction: Compaction | None = None) -> None:
        self.transcript = transcript
        self._wanted = compaction
        self._start()

    @property
    def compaction(self) -> Compaction | None:
        """The compaction in force."""
        return self._compaction

    def activate(self, compaction: Compaction | None) -> None:
        """Fold with another compaction (None: the whole log) from now on."""
        self._wanted = compaction
        self._start()

    def context(self, *, closed: bool = False) -> Context:
        """The context now.

        Args:
            closed: the conversation rests here (export, or before a summary instruction): it must not end on a
                tool result, so the model's "Understood." follows one.
        """
        self._catch_up()
        if closed:
            return self._context(self._repairer.closing())
        # asked several times a turn, built once per message
        if self._current is None:
            self._current = self._context(self._repairer.pending())
        return self._current

    def _context(self, tail: tuple[Message, ...]) -> Context:
        cost = self._cost
        for message in tail:
            cost = cost + message_cost(message, self.transcript.counter)
        settled = self._repairer.messages
        # a made result at the end means that the last message of the log is not the last one sent
        at_end = bool(settled) and not tail and settled[-1].seq == len(self.transcript)
        return Context(
            messages=Messages(settled, tail=tail),
            cost=cost,
            compaction=self._compaction,
            standing=self._standing[-1] if at_end else 0,
        )

    def _start(self) -> None:
        log, wanted = self.transcript, self._wanted
        self._compaction = wanted if wanted is not None and log.admits(wanted) else None
        self._replacements = log.replacements
        self._repairer = Repairer()
        self._cost = Cost()
        self._costs: list[Cost] = []
        self._standing = array("L")  # numbers of a long log take ten times as much in a list
        self._masks: dict[int, list[Mask]] = {}
        self._next = 1
        self._current: Context | None = None
        if self._compaction is not None:
            for mask in self._compaction.masks:
                self._masks.setdefault(mask.seq, []).append(mask)
            for message in _head(log, self._compaction):
                self._push(message)
            self._next = self._compaction.through_seq + 1

    def _catch_up(self) -> None:
        # a replaced message cannot be taken out of a history that was repaired since: fold anew
        if self._replacements != self.transcript.replacements:
            self._start()
        for message in self.transcript.live(self._next):
            self._push(message)
        self._next = len(self.transcript) + 1

    def _push(self, message: Message) -> None:
        self._current = None
        # a message shown in part (instructions that stay) has other part numbers than the masks name
        is_whole = message.seq > 0 and message is self.transcript[message.seq]
        masks = self._masks.get(message.seq) if is_whole else None  # what is shown in part was masked before
        if message.unknown_role:
            message = noted(message)
        first = self._repairer.push(
            masked(message, masks, lookup=self.transcript.lookup) if masks else message
        )
        # repair revised from here on: what was added for it comes off again
        for cost in self._costs[first:]:
            self._cost = self._cost - cost
        del self._costs[first:], self._standing[first:]
        messages = self._repairer.messages
        for index in range(first, len(messages)):
            cost = self._settle(messages[index], after=messages[index - 1] if index else None)
            self._costs.append(cost)
            self._cost = self._cost + cost

    def _settle(self, message: Message, *, after: Message | None) -> Cost:
        """Weigh the next message, and notes how many up to it stand unchanged and in sequence."""
        log = self.transcript
        if message.seq <= 0 or log[message.seq] is not message:
            self._standing.append(0)
            return message_cost(message, log.counter)
        goes_on = after is not None and after.seq == message.seq - 1
        self._standing.append(self._standing[-1] + 1 if goes_on else 1)
        return log.cost(message.seq)


def view(transcript: Transcript, compaction: Compaction | None = None, *, closed: bool = False) -> Context:
    """The context of a log under a compaction: the definition of what the model is sent."""
    return View(transcript, compaction).context(closed=closed)


def masked(message: Message, masks: Iterable[Mask], *, lookup: Lookup = WITH_TOOLS) -> Message:
    """A message of the log with the parts that ``masks`` name shown as their stubs, worded by ``lookup``."""
    stubs = {
        mask.part: lookup.stub(mask.stub, seq=mask.seq)
        for each in masks
        if (mask := each.located(message)) is not None
    }
    parts: list[Part] = []
    for index, part in enumerate(message.parts):
        # without `raw` the part is rendered anew: its old bytes would bring the content back
        if index in stubs and isinstance(part, ToolResult):
            parts.append(structs.replace(part, text=stubs[index], media=(), raw=None))
        elif index in stubs and isinstance(part, Text):
            parts.append(structs.replace(part, text=stubs[index], raw=None))
        else:
            parts.append(part)
    return message.with_parts(parts)


def located_masks(log: Transcript, active: Compaction | None) -> Compaction | None:
    """``active`` with masks that name their place, also where an older version named them by the id of the call."""
    if active is None or not active.masks:
        return active
    masks = (mask.located(log[mask.seq]) for mask in active.masks if log.holds(mask.seq))
    return replace(active, masks=tuple(mask for mask in masks if mask is not None))


def _head(log: Transcript, compaction: Compaction) -> Iterator[Message]:
    """Yield what the context shows of the covered messages: system prompt, instructions, summary, and what was kept verbatim."""
    system = [message for message in log.prompt if message.seq <= compaction.through_seq]
    # a kept message that is part of the prompt is shown once, as the prompt
    prompt = {message.seq for message in system}
    kept = [log[seq] for seq in compaction.keep if seq not in prompt and not log.is_replaced(seq)]
    standing = {one.seq: one for one in compaction.standing if not log.is_replaced(one.seq)}
    if compaction.summary and compaction.placement == "system":
        yield from _with_section(system, frame(compaction.summary, placement="system", lookup=log.lookup))
    else:
        yield from system
    yield from filter(None, (one.shown(log[one.seq]) for one in standing.values()))
    # several APIs refuse a history that begins with the model
    if compaction.summary and compaction.placement == "assistant":
        yield _made("user", frame("", placement="assistant"))
    if compaction.summary and compaction.placement != "system":
        framed = frame(compaction.summary, placement=compaction.placement, lookup=log.lookup)
        yield _made(compaction.placement, framed)
    for message in kept:
        if message.seq not in standing:
            yield message
        else:
            masks = [mask for mask in compaction.masks if mask.seq == message.seq]
            yield from filter(None, (standing[message.seq].rest(masked(message, masks, lookup=log.lookup)),))


def _with_section(system: Sequence[Message], section: str) -> Iterator[Message]:
    """The system prompt with a section at the end of its last words; items without words stay as they are."""
    # appended at the end: the prompt before it stays byte-equal, and the cache serves it
    last = max((index for index, message in enumerate(system) if message.text), default=-1)
    for index, message in enumerate(system):
        added = (Text(text=section),) if index == last else ()
        yield message.with_parts((*message.parts, *added)) if added else message
    if last < 0:
        yield _made("system", section)


def _made(role: Role, text: str) -> Message:
    return Message(seq=0, role=role, parts=(Text(text=text),), synthetic=True)
