"""The agent's task list above the field: one line that opens, and follows every change."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nicegui import ui

from autocompact.chat.views import Task, TaskState
from autocompact.ui.web.icons import Icon, icon

_ICONS: dict[TaskState, Icon] = {"open": "open", "doing": "wait", "done": "check"}
_WORDS: dict[TaskState, str] = {"open": "to do", "doing": "in progress", "done": "done"}


class TaskList:
    """The list; it takes no room while there are no tasks."""

    def __init__(self) -> None:
        self._html = ui.html("").classes("tasks")
        self.show(())

    def show(self, tasks: Sequence[Task]) -> None:
        """Show these tasks."""
        self._html.content = tasks_html(tasks)
        self._html.set_visibility(bool(tasks))


def tasks_html(tasks: Sequence[Task]) -> str:
    """A line that says how far it is, and the tasks below it."""
    done = sum(task.state == "done" for task in tasks)
    now = next((task.text for task in tasks if task.state == "doing"), "")
    items = "".join(
        f'<li class="{task.state}">{icon(_ICONS[task.state])}<span>{escape(task.text)}</span>'
        f'<span class="sr"> ({_WORDS[task.state]})</span></li>'
        for task in tasks
    )
    return (
        f'<details class="fold" data-key="tasks"><summary>{icon("list")}<span>Tasks: {done} of {len(tasks)} done</span>'
        f'<span class="brief">{escape(now)}</span>{icon("down")}</summary><ul>{items}</ul></details>'
    )
