"""Configuration of a chat from ``settings.json``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autocompact.chat.approvals import FILE as APPROVALS
from autocompact.chat.config import ChatConfig, CommandRules
from autocompact.history.paths import data_folder
from autocompact.models.reconstructed import require_ctok
from autocompact.models.vocabulary import default_counter
from autocompact.settings import Settings, memory_folder_of, mode_of
from autocompact.stores.naming import StorePlace, is_server_url, store_place


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSetup:
    """Configuration and database of a chat.

    Attributes:
        config: of the service.
        db: where the conversations are; None is the file in the user's data folder.
    """

    config: ChatConfig
    db: StorePlace | None


def chat_setup(settings: Settings, *, folder: Path, namespace: str = "default") -> ChatSetup:
    """Configuration of a chat that is started in ``folder``.

    Raises:
        InvalidInput: values that do not go together.
    """
    if settings.models.ctok:
        require_ctok()
    chat, commands = settings.chat, settings.chat.commands
    workspace = _path(chat.workspace, folder) or _default_workspace(folder)
    config = ChatConfig(
        model=chat.model,
        base_url=chat.base_url,
        summary_model=settings.compaction.summary_model,
        mode=mode_of(settings),
        window=settings.models.window,
        windows=settings.models.windows,
        reserve=settings.models.reserve,
        counter_for=partial(default_counter, ctok=True) if settings.models.ctok else default_counter,
        silence=settings.models.silent_seconds,
        workspace=workspace,
        memory_folder=memory_folder_of(settings, folder=folder),
        keep_metrics=settings.compaction.preserve_token_metrics,
        skill_folders=tuple(folder / Path(each).expanduser() for each in chat.skill_folders),
        mcp_file=_path(chat.mcp_file, folder),
        commands=CommandRules(
            enabled=commands.enabled,
            allow=commands.allow,
            deny=commands.deny,
            seconds=commands.seconds,
            output_bytes=commands.output_bytes,
            sandbox=commands.sandbox,
        ),
        approval=chat.approval,
        approvals_file=data_folder() / APPROVALS,
        instructions=chat.instructions,
        steps=chat.steps,
        namespace=namespace,
    )
    return ChatSetup(config=config, db=_place(chat.db, folder))


def _default_workspace(folder: Path) -> Path | None:
    """The folder that a chat was started in, unless it is a home folder or holds one: that is more than one task."""
    return None if Path.home().resolve().is_relative_to(folder.resolve()) else folder


def _path(name: str | None, folder: Path) -> Path | None:
    return folder / Path(name).expanduser() if name else None


def _place(name: str | None, folder: Path) -> StorePlace | None:
    return store_place(name) if name and is_server_url(name) else _path(name, folder)
