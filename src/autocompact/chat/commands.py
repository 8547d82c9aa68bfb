"""The slash commands, the same in the page, the terminal and the notebook."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.chat.service import ChatService
from autocompact.chat.session import ChatSession
from autocompact.core.references import parse_reference, reference
from autocompact.core.search import parse_query
from autocompact.errors import AutocompactError, InvalidInput
from autocompact.history.recall import doubt

Kind: TypeAlias = Literal["text", "error", "found", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReply:
    """The reply of a slash command.

    Attributes:
        kind: "text"; "error"; "found", search results; "turn", the agent works now.
        text: Markdown for the person; it is no part of the conversation.
    """

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command: its name with the slash, what follows it, and what it does."""

    name: str
    arguments: str
    help: str


_NAME = re.compile(r"/[A-Za-z][\w-]*")
# any blank but the end of a line: input methods of Chinese and Japanese write a wide one
_BLANK = re.compile(r"[^\S\n]+")

COMMANDS: tuple[Command, ...] = (
    Command(name="/help", arguments="", help="Show the commands."),
    Command(name="/compact", arguments="[FOCUS]", help="Compact now; say what to concentrate on."),
    Command(name="/undo", arguments="", help="Undo the last compaction."),
    Command(name="/search", arguments="WORDS", help="Search this conversation and the memory files."),
    Command(
        name="/open", arguments="REFERENCE", help="Show the original that a reference such as m12 names."
    ),
    Command(name="/pin", arguments="REFERENCE or TEXT", help="Keep a message or a text through compactions."),
    Command(name="/unpin", arguments="REFERENCE or TEXT", help="Remove a pin."),
    Command(name="/context", arguments="", help="Show what fills the context."),
    Command(name="/tasks", arguments="", help="Show the agent's task list."),
    Command(name="/model", arguments="[NAME]", help="Show the models, or choose another one."),
    Command(name="/title", arguments="TEXT", help="Give the conversation a title."),
    Command(name="/retry", arguments="", help="Ask for the last answer again."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A command with what follows its name, and where it is run."""

    rest: str
    session: ChatSession
    service: ChatService


def is_command(text: str) -> bool:
    """True if ``text`` is a slash command, known or not; False for a message that begins with a path, or of several lines."""
    name, _ = command_parts(text)
    named = text.startswith("/") and _NAME.fullmatch(name) is not None
    return named and ("\n" not in text.strip() or name in _RUNS)


def command_parts(line: str) -> tuple[str, str]:
    """The name of a command, with its slash, and what follows it."""
    name, *rest = _BLANK.split(line.strip(), maxsplit=1)
    return name, "".join(rest)


async def run_command(line: str, *, session: ChatSession, service: ChatService) -> CommandReply:
    """Run a line that `is_command`; an error is returned as the reply.

    Args:
        line: as it was typed.
        session: of the conversation that it is about.
        service: that has this session.
    """
    name, rest = command_parts(line)
    run = _RUNS.get(name)
    if run is None:
        names = ", ".join(command.name for command in COMMANDS)
        return CommandReply(kind="error", text=f"There is no command {name!r}. The commands are: {names}.")
    try:
        return await run(_Call(rest=rest, session=session, service=service))
    except AutocompactError as error:
        return CommandReply(kind="error", text=str(error))


def _text(text: str) -> CommandReply:
    return CommandReply(kind="text", text=text)


async def _help(_call: _Call) -> CommandReply:
    rows = (f"| `{each.name} {each.arguments}`".rstrip("` ") + f"` | {each.help} |" for each in COMMANDS)
    return _text("\n".join(["| command | what it does |", "|---|---|", *rows]))


async def _compact(call: _Call) -> CommandReply:
    result = await call.session.compact(call.rest)
    return CommandReply(kind="text" if result.success else "error", text=result.message)


async def _undo(call: _Call) -> CommandReply:
    restored = await call.session.undo()
    now = f"compaction {restored.id} is active again" if restored else "the model is sent the whole log again"
    return _text(f"Undone: {now}.")


async def _search(call: _Call) -> CommandReply:
    found = await call.session.search(call.rest)
    if not found:
        return CommandReply(kind="found", text=f"Nothing found for {call.rest!r}.")
    wanted = parse_query(call.rest).terms
    shown = (one.render(wanted) for one in found)
    return CommandReply(kind="found", text="\n\n".join(filter(None, (doubt(call.rest, found), *shown))))


async def _open(call: _Call) -> CommandReply:
    return CommandReply(kind="found", text=(await call.session.expand(call.rest)).render())


async def _pin(call: _Call) -> CommandReply:
    pinned = _pinned(call.rest)
    await call.session.pin(pinned)
    return _text(f"Pinned {reference(pinned) if isinstance(pinned, int) else repr(pinned)}.")


async def _unpin(call: _Call) -> CommandReply:
    pinned = _pinned(call.rest)
    await call.session.unpin(pinned)
    return _text(f"Unpinned {reference(pinned) if isinstance(pinned, int) else repr(pinned)}.")


def _pinned(rest: str) -> int | str:
    if not rest:
        raise InvalidInput("say what to pin or unpin: a reference such as m12, or a text")
    try:
        return parse_reference(rest)
    except InvalidInput:
        return rest


async def _context(call: _Call) -> CommandReply:
    meter = call.session.meter()
    rows = (f"| {name} | {tokens:,} |" for name, tokens in meter.breakdown.items() if tokens)
    head = f"{meter.used:,} of {meter.window:,} tokens ({meter.ratio:.0%}). {meter.threshold_words}"
    left_out = [
        f"\nThe MCP server {name!r} was left out: {why}. It is started again with the program."
        for name, why in call.service.server_problems.items()
    ]
    note = [meter.note] if meter.note else []
    return _text("\n".join([head, "", "| part | tokens |", "|---|--:|", *rows, *note, *left_out]))


async def _tasks(call: _Call) -> CommandReply:
    signs = {"open": " ", "doing": "~", "done": "x"}
    return _text(
        "\n".join(f"- [{signs[task.state]}] {task.text}" for task in call.session.tasks) or "No tasks."
    )


async def _model(call: _Call) -> CommandReply:
    if call.rest:
        await call.session.choose_model(call.rest)
        return _text(f"The model is {call.session.model} now.")
    choices = await call.service.models(probe=True)
    rows = (
        f"- `{choice.name}`{' (now)' if choice.name == call.session.model else ''}: {choice.label}"
        for choice in choices
    )
    return _text("\n".join(rows))


async def _title(call: _Call) -> CommandReply:
    await call.service.rename(call.session.id, title=call.rest)
    return _text(f"The title is {call.session.title!r} now.")


async def _retry(call: _Call) -> CommandReply:
    await call.session.retry()
    return CommandReply(kind="turn", text="")


_RUNS: dict[str, Callable[[_Call], Awaitable[CommandReply]]] = {
    "/help": _help,
    "/compact": _compact,
    "/undo": _undo,
    "/search": _search,
    "/open": _open,
    "/pin": _pin,
    "/unpin": _unpin,
    "/context": _context,
    "/tasks": _tasks,
    "/model": _model,
    "/title": _title,
    "/retry": _retry,
}
