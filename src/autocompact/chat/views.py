"""What a user interface shows, as frozen values: lines of the list, pages of history, the meter, a running turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message

Visibility: TypeAlias = Literal["sent", "summarised", "masked", "replaced"]
"""Whether the model sees a message as it is, through the summary, with stubs for its tool outputs, or not at all."""

Cut: TypeAlias = Literal["", "cancelled", "failed", "interrupted", "length"]
"""Why an answer is only half of one: the person stopped it, the provider failed, the program ended, or the tokens that
an answer may take did."""

TaskState: TypeAlias = Literal["open", "doing", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLine:
    """One line of the list of conversations.

    Attributes:
        id: names it; give it to `ChatService.open`.
        title: given by the person, else the first words of the first request, else "New conversation".
        messages: in its log.
        created: ISO 8601 stamp (UTC).
        updated: ISO 8601 stamp (UTC).
        compacted: whether a compaction is in force.
        running: whether a turn is running in this process.
    """

    id: str
    title: str
    messages: int
    created: str
    updated: str
    compacted: bool = False
    running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message of the log as the history shows it.

    Attributes:
        message: its parts, ``seq``, role, time, model. Tool results are messages of their own; `ToolResult.call_id`
            says which call they answer.
        visibility: what the model sees of it.
        cut: why it is only half an answer, "" if it is whole.
        seconds: how long the tool took whose result it is, None where nobody measured.
        pinned: it stays verbatim through every compaction.
        failure: why the turn ended after it without an answer, "" if it did not. Asking again takes it away.
    """

    message: Message
    visibility: Visibility = "sent"
    cut: Cut = ""
    seconds: float | None = None
    pinned: bool = False
    failure: str = ""

    @property
    def seq(self) -> int:
        """Its number in the log."""
        return self.message.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Divider:
    """A compaction in the history: it stands after message ``after_seq``.

    Attributes:
        record: summary, ledger, receipt, status and what it covers (``from_seq`` to ``through_seq``).
        active: it is the active compaction: the model sees its summary instead of everything above.
        left: numbers of the messages that left the context with it, the first and the last; None if it only showed
            tool outputs as stubs.
    """

    record: Compaction
    active: bool
    left: tuple[int, int] | None

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
        last_seq: number of messages of the whole log.
    """

    entries: tuple[Entry, ...]
    dividers: tuple[Divider, ...]
    earlier: int | None
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """How full the context is; all figures in tokens.

    Attributes:
        used: of the next request; meter and trigger go by this one.
        window: of the model.
        reserve: kept for the reply.
        threshold: at which a compaction takes effect; 0 if nothing is compacted automatically.
        prepare: from which one is prepared; 0 likewise.
        breakdown: by what fills the context ("system", "tools", "summary", …), by our own count.
        prepared: a compaction is made ahead and waits for the threshold.
        preparing: one is being made.
        reported: of ``used``, what the provider reported; the rest is estimated.
        note: why nothing is compacted although the threshold is reached, "" else.
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

    @property
    def ratio(self) -> float:
        """Share of the window that the next request takes, the reserve for the reply included."""
        return (self.used + self.reserve) / self.window


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An item of the agent's task list."""

    text: str
    state: TaskState = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """Something that the person said while a turn was running: it is sent when that has ended.

    Attributes:
        id: names it; give it to `ChatSession.withdraw`.
        text: what was said.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """A tool call of the running turn. ``seconds`` is None until it has ended, and ``result`` what it answered.

    ``index`` is its place among the calls of its answer, since an ``id`` may repeat; None where nobody knows it.
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
    """The agent wants to do something that needs a yes: `ChatSession.answer` gives it.

    Attributes:
        id: names it.
        tool: what would be used.
        text: what would be done, e.g. the command.
    """

    id: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTurn:
    """What of a running turn is not in the log yet, and its calls.

    Attributes:
        text: of the answer so far.
        reasoning: so far.
        calls: tool calls of the last answer.
        questions: that wait for the person.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[RunningCall, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session at one moment; the events that follow continue it.

    Attributes:
        id: of the conversation.
        title: of it.
        model: that answers, see `ModelChoice.name`.
        last_seq: messages in the log; `ChatSession.history` has them.
        turn: what is running, None if nothing is.
        compacting: a compaction is being made on the turn's path or by hand: nothing can be sent now.
        meter: how full the context is.
        tasks: the agent's task list.
        pending: requests that wait for the end of the running turn, the next one first. With no turn running they
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
    """One model call in the course of a conversation.

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
