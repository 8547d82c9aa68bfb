"""From the lines of a Claude Code session, in file order, to messages and compactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct, field

from autocompact.compaction.record import Compaction, Mask, Receipt, Rung
from autocompact.core.messages import Message, Part, Role, ToolCall, ToolResult, Usage
from autocompact.core.redacted import EMPTY, own
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Ledger

# What Claude Code shows the model in place of a tool output that a micro-compaction cleared.
CLEARED: Final = "[Old tool result content cleared]"


class Record(Struct, frozen=True, kw_only=True):
    """The part of a message that one line adds to the log; lines with the same ``key`` are one message."""

    number: int
    uuid: str
    role: Role
    parts: tuple[Part, ...]
    key: str = ""
    synthetic: bool = False
    time: str = ""
    model: str = ""
    usage: Usage | None = None
    queued: bool = False


class Boundary(Struct, kw_only=True):
    """A compaction: the ``segment`` (first and last uuid) or the ``kept`` uuids stayed verbatim.

    One that autocompact wrote says it in ``through_seq``, ``kept_seqs`` and ``masks`` (None: it is not one).
    """

    number: int
    uuid: str
    summary: str = ""
    tokens: int = 0
    tokens_after: int = 0
    time: str = ""
    segment: tuple[str, str] = ("", "")
    kept: tuple[str, ...] = ()
    through_seq: int | None = None
    kept_seqs: tuple[int, ...] = ()
    masks: tuple[Mask, ...] = ()
    author: str = "claude_code"


class Micro(Struct, frozen=True, kw_only=True):
    """A micro-compaction: the outputs of these calls were cleared."""

    number: int
    uuid: str
    tokens: int = 0
    time: str = ""
    call_ids: frozenset[str] = frozenset()


Event: TypeAlias = Record | Boundary | Micro


class Log(Struct, kw_only=True):
    """Messages with the line and the uuids each comes from, compactions, boundaries that have no summary."""

    messages: list[Message] = field(default_factory=list[Message])
    lines: list[int] = field(default_factory=list[int])
    uuids: list[list[str]] = field(default_factory=list[list[str]])
    compactions: list[Compaction] = field(default_factory=list[Compaction])
    unsummarised: list[Boundary] = field(default_factory=list[Boundary])


def assemble(events: Iterable[Event], *, left: frozenset[str] = frozenset()) -> Log:
    """Build the log; compactions whose uuid is in ``left`` were undone by going back before them."""
    assembly = _Assembly(list(events), left=left)
    return assembly.log


class _Assembly:
    def __init__(self, events: list[Event], *, left: frozenset[str]) -> None:
        self.log = Log()
        self._left = left
        self._index: dict[str, int] = {}
        self._seqs: dict[str, int] = {}
        self._results: dict[str, tuple[int, int]] = {}
        self._unanswered: set[str] = set()
        self._held: list[Record] = []
        self._groups: dict[str, list[Record]] = {}
        for event in events:
            # an answer is written in several lines, with other lines between
            # them: all are needed when the first one comes
            if isinstance(event, Record) and event.key:
                self._groups.setdefault(event.key, []).append(event)
        for event in events:
            self._add(event)
        self._release()

    def _add(self, event: Event) -> None:
        if isinstance(event, Record):
            self._record(event)
            return
        self._release()
        if isinstance(event, Micro):
            self._micro(event)
        elif event.summary:
            self._boundary(event)
        else:
            self.log.unsummarised.append(event)

    def _record(self, record: Record) -> None:
        if record.key in self._index:
            self._locate(record, self._index[record.key])
        # typed while a tool ran: the API wants the results first, and that
        # is also the order in which the model saw them
        elif record.queued and self._unanswered:
            self._held.append(record)
        else:
            # something else came: results that are missing now will not come any more
            if record.role != "tool":
                self._release()
            self._append(record)
            if not self._unanswered:
                self._release()

    def _append(self, record: Record) -> None:
        group = self._groups.get(record.key) or [record]
        message = _message(len(self.log.messages) + 1, group)
        self.log.messages.append(message)
        self.log.lines.append(record.number)
        self.log.uuids.append([])
        if record.key:
            self._index[record.key] = message.seq - 1
            self._unanswered = {call.id for call in message.calls}
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                self._unanswered.discard(part.call_id)
                self._results[part.call_id] = message.seq, place
        self._locate(record, message.seq - 1)

    def _locate(self, record: Record, index: int) -> None:
        if record.uuid:
            self.log.uuids[index].append(record.uuid)
            self._seqs[record.uuid] = index + 1

    def _release(self) -> None:
        """Append the prompts that waited for the results of the calls before them."""
        held, self._held = self._held, []
        for record in held:
            self._append(record)

    def _boundary(self, boundary: Boundary) -> None:
        last = self._in_force()
        # what an earlier compaction masked stays masked where the message is kept
        through, keep = len(self.log.messages), self._kept(boundary)
        masks = tuple(mask for mask in (last.masks if last else ()) if mask.seq in keep)
        if boundary.through_seq is not None:
            # a boundary of ours says exactly what it covers; others cover everything before them
            through, masks = min(boundary.through_seq, through), boundary.masks
        self.log.compactions.append(
            Compaction(
                id=boundary.uuid,
                from_seq=min(last.through_seq if last else 0, through) + 1,
                through_seq=through,
                summary=redact(boundary.summary),
                ledger=Ledger(),
                masks=masks,
                keep=keep,
                status="undone" if boundary.uuid in self._left else "active",
                receipt=_receipt(
                    boundary, rung="summarise", tokens_after=boundary.tokens_after, author=boundary.author
                ),
            )
        )

    def _micro(self, micro: Micro) -> None:
        # calls of a branch that was left, or of a session that was forked
        known = micro.call_ids & self._results.keys()
        if not known:
            return
        last = self._in_force()
        earlier = (mask.located(self.log.messages[mask.seq - 1]) for mask in (last.masks if last else ()))
        masks = {(mask.seq, mask.part): mask for mask in earlier if mask is not None}
        for seq, part in sorted(self._results[call_id] for call_id in known):
            masks[seq, part] = Mask(seq=seq, part=part, stub=own(CLEARED))
        self.log.compactions.append(
            Compaction(
                id=micro.uuid,
                from_seq=last.from_seq if last else 1,
                through_seq=last.through_seq if last else 0,
                summary=last.summary if last else EMPTY,
                ledger=Ledger(),
                masks=tuple(masks.values()),
                keep=last.keep if last else (),
                status="undone" if micro.uuid in self._left else "active",
                receipt=_receipt(micro, rung="mask", masked=len(masks)),
            )
        )

    def _in_force(self) -> Compaction | None:
        active = (
            compaction for compaction in reversed(self.log.compactions) if compaction.status == "active"
        )
        return next(active, None)

    def _kept(self, boundary: Boundary) -> tuple[int, ...]:
        """The messages that stayed: those named, or everything from the first to the last of the segment."""
        if boundary.through_seq is not None:
            return tuple(seq for seq in boundary.kept_seqs if 0 < seq <= len(self.log.messages))
        named = {self._seqs[uuid] for uuid in boundary.kept if uuid in self._seqs}
        first, last = (self._seqs.get(uuid, 0) for uuid in boundary.segment)
        if not named and first and last:
            named = set(range(first, last + 1))
        return tuple(sorted(named))


def _receipt(
    event: Boundary | Micro,
    *,
    rung: Rung,
    tokens_after: int = 0,
    masked: int = 0,
    author: str = "claude_code",
) -> Receipt:
    return Receipt(
        tokens_before=event.tokens,
        tokens_after=tokens_after,
        bytes_before=0,
        bytes_after=0,
        rung=rung,
        masked=masked,
        counter=author,
        model=author,
        trigger="import",
        time=event.time,
    )


def _message(seq: int, group: list[Record]) -> Message:
    first = group[0]
    usages = [record.usage for record in group if record.usage is not None]
    return Message(
        seq=seq,
        role=first.role,
        parts=_parts(group),
        synthetic=first.synthetic,
        id=first.key or first.uuid,
        time=first.time,
        model=first.model,
        # each line repeats the usage as it was then; the last one is complete, and has the largest
        usage=max(usages, key=lambda usage: usage.completion) if usages else None,
    )


def _parts(group: list[Record]) -> tuple[Part, ...]:
    if len(group) == 1:
        return group[0].parts
    parts: list[Part] = []
    calls: set[str] = set()
    for part in (part for record in group for part in record.parts):
        if isinstance(part, ToolCall):
            # a line that was written twice, as after a resume
            if part.id in calls:
                continue
            calls.add(part.id)
        parts.append(part)
    return tuple(parts)
