"""Memory tools: search and expansion of the conversation, notes in the memory files, the task list."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec

from autocompact.chat.task_list import TaskList
from autocompact.chat.tools.box import AskPermission, Tool, ToolError, tool
from autocompact.chat.views import Task, TaskState
from autocompact.core.plurals import plural
from autocompact.history.recall import Recall
from autocompact.memory.observing import observe
from autocompact.ports import Clock

MOST_TASKS = 100
_SIGNS: Mapping[TaskState, str] = {"open": " ", "doing": "~", "done": "x"}


class TaskArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=500, description="What is to be done")]
    state: Annotated[TaskState, msgspec.Meta(description="/".join(get_args(TaskState)))] = "open"


class TasksArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keep a task list for work of several steps; the person sees it. Give the whole list each time it changes.

    Without arguments it shows the list as it is.
    """

    tasks: Annotated[
        Annotated[tuple[TaskArgument, ...], msgspec.Meta(max_length=MOST_TASKS)] | None,
        msgspec.Meta(description="All tasks, in order"),
    ] = None


class RememberArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Note something for later conversations: a preference, a decision, a lesson. One thing, in one sentence."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000, description="What to remember")]


def remember_tool(folder: Path, clock: Clock) -> Tool:
    """``remember``: an observation in the memory folder, or the confirmation of one."""

    async def run(asked: RememberArguments, _asking: AskPermission) -> str:
        observed = await asyncio.to_thread(observe, folder, asked.text, clock=clock)
        confirmed = f" (confirmed {plural(observed.confirmations, 'time')})" if observed.confirmations else ""
        return f"Stands in {observed.file}: {observed.text}{confirmed}"

    return tool("remember", RememberArguments, run=run)


def memory_tools(recall: Recall, task_list: TaskList) -> list[Tool]:
    """``memory_search``, ``memory_expand`` and ``tasks``."""

    async def tasks(asked: TasksArguments, _asking: AskPermission) -> str:
        if asked.tasks is not None:
            await task_list.replace(tuple(Task(text=each.text, state=each.state) for each in asked.tasks))
        lines = (f"[{_SIGNS[task.state]}] {task.text}" for task in task_list.tasks)
        return "\n".join(lines) or "The list is empty."

    recalling = (_recall_tool(recall, schema) for schema in recall.tools("anthropic"))
    return [*recalling, tool("tasks", TasksArguments, run=tasks)]


def _recall_tool(recall: Recall, schema: Mapping[str, Any]) -> Tool:
    async def run(given: Mapping[str, Any], _asking: AskPermission) -> str:
        answer = await recall.call(schema["name"], given)
        if answer.startswith("Error: "):
            raise ToolError(answer.removeprefix("Error: "))
        return answer

    return Tool(
        name=schema["name"],
        description=schema["description"],
        parameters=schema["input_schema"],
        run=run,
    )
