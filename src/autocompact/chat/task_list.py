"""The agent's task list, kept beside the log."""

from __future__ import annotations

from autocompact.chat.events import Emit, TasksChanged
from autocompact.chat.notes import Notes, Tasked, TaskItem
from autocompact.chat.views import Task


class TaskList:
    """The task list of one conversation.

    Args:
        conversation_id: of the conversation.
        notes: keeps it.
        emit: takes `TasksChanged`.
    """

    def __init__(self, conversation_id: str, *, notes: Notes, emit: Emit) -> None:
        self._id = conversation_id
        self._notes = notes
        self._emit = emit

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, in order."""
        return self._notes.tasks

    async def replace(self, tasks: tuple[Task, ...]) -> None:
        """Store ``tasks`` in place of the list.

        Raises:
            StoreError: it could not be stored.
        """
        items = tuple(TaskItem(text=task.text, state=task.state) for task in tasks)
        await self._notes.add(Tasked(tasks=items))
        self._emit(TasksChanged(conversation_id=self._id, tasks=tasks))
