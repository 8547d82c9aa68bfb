"""What happens in a session, as frozen values, to any number of listeners.

The course of a turn:

    MessageAdded (the request)  TurnStarted
      CompactionStarted … CompactionCompleted          where one is due before a model call
      ReasoningDelta* TextDelta* MessageAdded          one answer of the model
      ToolStarted* QuestionAsked? QuestionAnswered? ToolFinished* MessageAdded*    its tools, at the same time
      … again, until an answer calls no tool
    TurnEnded

What deltas said so far belongs to the next `MessageAdded` of role ``assistant``, which takes its place. The events of
`autocompact.events` come as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.chat.views import Entry, MeterReading, Question, Task, WaitingRequest
from autocompact.events import Event

Outcome: TypeAlias = Literal["finished", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The agent begins to work."""

    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The agent has ended; ``message`` says why it failed, and what to do."""

    conversation_id: str
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAdded:
    """A message stands in the log."""

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
    """More words of the answer."""

    conversation_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """More of the model's thinking."""

    conversation_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRestarted:
    """What deltas said so far of this answer is void: the model is asked again."""

    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool begins to work; ``arguments`` is JSON, ``index`` the place among the calls of its answer."""

    conversation_id: str
    call_id: str
    name: str
    arguments: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool has ended after ``seconds``; ``index`` is the place among the calls of its answer."""

    conversation_id: str
    call_id: str
    name: str
    text: str
    is_error: bool
    seconds: float
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """The agent waits for a yes or a no: `ChatSession.answer`."""

    conversation_id: str
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered:
    """Somebody answered, or the turn ended without an answer."""

    conversation_id: str
    question_id: str
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterChanged:
    """The context weighs something else now."""

    conversation_id: str
    meter: MeterReading


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksChanged:
    """The agent's task list is another one."""

    conversation_id: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingChanged:
    """Other requests wait for the end of the running turn now."""

    conversation_id: str
    waiting: tuple[WaitingRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationChanged:
    """The list of conversations is to be read again: one was made or deleted, or another title, model or turn began.

    Attributes:
        conversation_id: which one.
        title: of it; "" says nothing of it.
        model: that answers in it; "" says nothing of it.
        deleted: it is gone.
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
    | WaitingChanged
    | ConversationChanged
    | Event
)
