"""Events of a session, as frozen values, for any number of listeners.

The course of a turn:

    MessageAdded (the request)  TurnStarted
      CompactionStarted … CompactionCompleted          where one is due before a model call
      ReasoningDelta* TextDelta* MessageAdded          one answer of the model
      ToolStarted* QuestionAsked? QuestionAnswered? ToolFinished* MessageAdded*    its tools, at the same time
      … again, until an answer calls no tool
    TurnEnded

The text of the deltas belongs to the next `MessageAdded` of role ``assistant``, which replaces it. The events of
`autocompact.events` are passed on unchanged.

Parts of a session emit `SessionEvent`: these events, and two that end at the session itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.chat.views import Entry, MeterReading, PendingRequest, Question, Task
from autocompact.events import Event

Outcome: TypeAlias = Literal["finished", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """A turn of the agent started."""

    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A turn of the agent ended; ``message`` says why it failed, and what to do."""

    conversation_id: str
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAdded:
    """A message was appended to the log."""

    conversation_id: str
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesReplaced:
    """Messages ``from_seq`` to ``through_seq`` were replaced by an edit; the one after them takes their place."""

    conversation_id: str
    from_seq: int
    through_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More text of the answer."""

    conversation_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """More of the model's reasoning."""

    conversation_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRestarted:
    """The deltas of this answer so far are void: the model is asked again."""

    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool call started; ``arguments`` is JSON, ``index`` the position among the calls of its answer."""

    conversation_id: str
    call_id: str
    name: str
    arguments: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool call ended after ``seconds``; ``index`` is the position among the calls of its answer."""

    conversation_id: str
    call_id: str
    name: str
    text: str
    is_error: bool
    seconds: float
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """The agent asks for permission: answer with `ChatSession.answer`."""

    conversation_id: str
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered:
    """A question was answered, or its turn ended without an answer."""

    conversation_id: str
    question_id: str
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterChanged:
    """The size of the context changed."""

    conversation_id: str
    meter: MeterReading


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksChanged:
    """The agent's task list changed."""

    conversation_id: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChanged:
    """The requests that wait for the end of the running turn changed."""

    conversation_id: str
    pending: tuple[PendingRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationChanged:
    """The list of conversations changed: one was created or deleted, or has another title or model, or a turn began or ended.

    Attributes:
        conversation_id: which one.
        title: of it; "" if it did not change.
        model: that answers in it; "" if it did not change.
        deleted: True if it was deleted.
    """

    conversation_id: str
    title: str = ""
    model: str = ""
    deleted: bool = False


ChatEvent: TypeAlias = (
    TurnStarted
    | TurnEnded
    | MessageAdded
    | MessagesReplaced
    | TextDelta
    | ReasoningDelta
    | AnswerRestarted
    | ToolStarted
    | ToolFinished
    | QuestionAsked
    | QuestionAnswered
    | MeterChanged
    | TasksChanged
    | PendingChanged
    | ConversationChanged
    | Event
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextChanged:
    """The size of the context may have changed; the session answers with `MeterChanged` if anybody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningChanged:
    """A turn began or ended; the session passes it on to the list of conversations only."""


SessionEvent: TypeAlias = ChatEvent | ContextChanged | RunningChanged
"""Events that parts of a session emit."""

Emit: TypeAlias = Callable[[SessionEvent], None]
