"""Values that a user interface shows, all frozen: the list of conversations, pages of history, meter, running turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message

Visibility: TypeAlias = Literal["sent", "summarised", "masked", "replaced"]
"""How the model sees a message: as it is, through the summary, with stubs for its tool outputs, or not at all."""

Cut: TypeAlias = Literal["", "cancelled", "failed", "interrupted", "length"]
"""Why an answer is incomplete: the person stopped it, the provider failed, the program ended, or the answer reached its
token limit."""

TaskState: TypeAlias = Literal["open", "doing", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLine:
    """A line of the list of conversations.

    Attributes:
        id: for `ChatService.open`.
        title: given by the person, else the first words of the first request, else "New conversation".
        messages: in its log.
        created: ISO 8601 stamp (UTC).
        updated: ISO 8601 stamp (UTC).
        compacted: True if a compaction is active.
        running: True while a turn runs in this process.
        pinned: the person wants it at the beginning of the list.
        tags: that the person gave it.
    """

    id: str
    title: str
    messages: int
    created: str
    updated: str
    compacted: bool = False
    running: bool = False
    pinned: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of a request or an answer: `ChatSession.history` shows it, as the log was with it.

    Attributes:
        seq: of the request that it begins with.
        through: number of messages that the log had with it; 0 for what is part of the conversation now.
    """

    seq: int
    through: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The versions of a request or an answer, of which one is shown.

    Attributes:
        number: of the one shown, from 1.
        count: of all, at least 2.
        before: the one before it, None for the first.
        after: the one after it, None for the last.
    """

    number: int
    count: int
    before: Version | None
    after: Version | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message of the log as the history shows it.

    Attributes:
        message: its parts, ``seq``, role, time, model. Tool results are messages of their own; `ToolResult.call_id`
            says which call they answer.
        visibility: what the model sees of it.
        cut: why the answer is incomplete, "" if it is complete.
        seconds: run time of the tool whose result it is; of an answer, how long the model thought before it wrote. None if
            it was not measured.
        pinned: it stays verbatim through every compaction.
        failure: why the turn ended after it without an answer, "" if it did not; a retry clears it.
        versions: of a request that was edited, or of an answer that was asked for again; only in a `HistoryPage`.
    """

    message: Message
    visibility: Visibility = "sent"
    cut: Cut = ""
    seconds: float | None = None
    pinned: bool = False
    failure: str = ""
    versions: Versions | None = None

    @property
    def seq(self) -> int:
        """Number of the message in the log."""
        return self.message.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRule:
    """A rule of the conversation.

    Attributes:
        kind: "own", written by the person; "pinned", a message that they pinned; "found", in their words.
        text: of the rule; of a long message its beginning.
        seq: of the message, 0 for one that the person wrote.
    """

    kind: Literal["own", "pinned", "found"]
    text: str
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Divider:
    """A compaction in the history: it stands after message ``after_seq``.

    Attributes:
        record: summary, ledger, receipt, status and what it covers (``from_seq`` to ``through_seq``).
        active: it is the active compaction: the model sees its summary instead of everything above.
        left: first and last ``seq`` of the messages that left the context; None if only tool outputs became stubs.
        metered: what the meter showed before and after it, in tokens; None if that is not known. The receipt counts all
            compactions alike, whatever providers reported.
    """

    record: Compaction
    active: bool
    left: tuple[int, int] | None
    metered: tuple[int, int] | None = None

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of the context before and after: as the meter showed them, else as the receipt counts them.

        A provider that reports less than it was sent (without tools, or what its cache had) has the meter rise at a
        compaction, after which there is only an estimate: two figures of different kinds say nothing beside each other.
        """
        if self.metered and self.metered[0] > self.metered[1]:
            return self.metered
        return self.record.receipt.tokens_before, self.record.receipt.tokens_after

    @property
    def after_seq(self) -> int:
        """The message under which the divider is drawn."""
        record = self.record
        return record.through_seq or max((mask.seq for mask in record.masks), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Some of the history, in order.

    Attributes:
        entries: the messages; replaced ones only where asked for.
        dividers: compactions that stand after one of the ``seq`` numbers of this page.
        earlier: give it as ``before_seq`` for the page before, None at the beginning.
        last_seq: number of messages in the log.
    """

    entries: tuple[Entry, ...]
    dividers: tuple[Divider, ...]
    earlier: int | None
    last_seq: int

    def dividers_after(self, seq: int) -> Iterator[Divider]:
        """The compactions that stand after message ``seq``; several where one was undone and done again."""
        return (divider for divider in self.dividers if divider.after_seq == seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """The size of the context; all figures in tokens.

    Attributes:
        used: by the next request; meter and trigger use this figure.
        window: of the model.
        reserve: for the reply.
        threshold: at which a compaction takes effect; 0 if nothing is compacted automatically.
        prepare: from which one is prepared; 0 likewise.
        breakdown: estimated tokens by part of the context ("system prompt", "tools", "summary", …).
        prepared: a compaction is prepared, and is activated at the threshold.
        preparing: a compaction is being prepared in the background.
        reported: of ``used``, what the provider reported; the rest is estimated.
        note: why nothing is compacted although the threshold is reached, "" otherwise.
        why: how the threshold comes about, in words.
        cheap: why a compaction would cost little now, in words; "" if it would not, or there is little to gain.
    """

    used: int
    window: int
    reserve: int
    threshold: int
    prepare: int
    breakdown: Mapping[str, int]
    prepared: bool = False
    preparing: bool = False
    reported: int = 0
    note: str = ""
    why: str = ""
    cheap: str = ""

    @property
    def ratio(self) -> float:
        """Share of the window that the next request takes, without the reserve for the reply."""
        return self.used / self.window

    @property
    def threshold_words(self) -> str:
        """The threshold and how it comes about, in a sentence."""
        if not self.threshold:
            return "Automatic compaction is off."
        why = f": {self.why}" if self.why else ""
        return f"Compaction at {self.threshold:,} tokens ({self.threshold / self.window:.0%}){why}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An item of the agent's task list."""

    text: str
    state: TaskState = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A request that was made while a turn ran: it is sent when the turn has ended.

    Attributes:
        id: for `ChatSession.withdraw`.
        text: of the request.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """A tool call of the running turn; ``seconds`` is None until it has ended.

    ``index`` is its position among the calls of its answer, since an ``id`` may repeat; None if it is unknown.
    """

    id: str
    name: str
    arguments: str
    result: str = ""
    is_error: bool = False
    seconds: float | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The agent asks for permission; `ChatSession.answer` answers.

    Attributes:
        id: of the question.
        tool: that would be used.
        text: action that would be taken, e.g. the command.
        diff: what would change in a file, as a unified diff; "" if nothing would, or it cannot be shown.
        subject: what a standing answer would be about, "" where none is offered.
        folder: the workspace that a standing answer would hold in, "" without one.
        note: what else there is to know, e.g. whether a command runs in a sandbox; "" if nothing.
    """

    id: str
    tool: str
    text: str
    diff: str = ""
    subject: str = ""
    folder: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTurn:
    """The parts of a running turn that are not in the log yet, and its calls.

    Attributes:
        text: of the answer so far.
        reasoning: so far.
        calls: tool calls of the last answer.
        questions: open ones.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[RunningCall, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """Snapshot of a session; the events that follow continue it.

    Attributes:
        id: of the conversation.
        title: of it.
        model: that answers, see `ModelChoice.name`.
        last_seq: messages in the log; `ChatSession.history` has them.
        turn: the running turn, None if none runs.
        compacting: a compaction is running that a turn or the user waits for: nothing can be sent now.
        meter: how full the context is.
        tasks: the agent's task list.
        pending: requests that wait for the end of the running turn, the next one first. Without a running turn they
            wait for the person: the last turn failed, was cancelled, or ended with the program.
    """

    id: str
    title: str
    model: str
    last_seq: int
    turn: RunningTurn | None
    compacting: bool
    meter: MeterReading
    tasks: tuple[Task, ...]
    pending: tuple[PendingRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsagePoint:
    """Usage at one model call of a conversation.

    Attributes:
        seq: of the answer.
        time: ISO 8601 stamp.
        prompt: tokens that the provider reported for the request.
        completion: and for the answer.
        model: that answered.
    """

    seq: int
    time: str
    prompt: int
    completion: int
    model: str
