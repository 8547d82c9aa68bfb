"""Connects models and changes settings while the chat runs: what the page's first card and its settings do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from autocompact.chat.from_settings import ChatSetup, chat_setup
from autocompact.chat.keys import Keys
from autocompact.chat.keys import Place as KeyPlace
from autocompact.chat.model_choices import (
    LOCAL,
    PROBE_SECONDS,
    Kept,
    Local,
    choice_of,
    compatible_url,
    hosted_url,
    local_url,
    offered,
)
from autocompact.chat.model_lists import model_names, try_model
from autocompact.chat.service import ChatService, opened
from autocompact.errors import InvalidInput, ModelError
from autocompact.models.environment import OF_OPENAI
from autocompact.models.openai_compatible import OPENAI_URL
from autocompact.runtime.files import replace_file
from autocompact.settings import Loaded
from autocompact.settings.editing import change_settings

Hosted: TypeAlias = Literal["anthropic", "openai", "compatible"]
"""Providers that are reached with a pasted key."""

ANSWER_SECONDS = 20.0
"""Seconds that a provider has to answer to a test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A server that answers on this machine.

    Attributes:
        provider: which program it usually is.
        base_url: of its API.
        models: that it lists.
    """

    provider: Local
    base_url: str
    models: tuple[str, ...]


class Setup:
    """The settings and keys behind a chat that `opened` opens.

    Attributes:
        dismissed: the person wants no model for now.

    Args:
        load: the settings as they hold now.
        folder: where the chat was started.
        keys: the kept keys.
    """

    def __init__(self, *, load: Callable[[], Loaded], folder: Path, keys: Keys | None = None) -> None:
        self._load = load
        self._folder = folder
        self._keys = keys or Keys()
        self._service: ChatService | None = None
        self._changing = asyncio.Lock()
        self.dismissed = False

    @property
    def service(self) -> ChatService:
        """The chat that is set up."""
        if self._service is None:
            raise LookupError("the chat is not open")
        return self._service

    def loaded(self) -> Loaded:
        """The settings with their origins. It reads files.

        Raises:
            InvalidInput: a file cannot be used.
        """
        return self._load()

    def chat(self) -> ChatSetup:
        """What the settings mean to the chat.

        Raises:
            InvalidInput: a file cannot be used, or values do not go together.
        """
        settings = self._load().settings
        chat = chat_setup(settings, folder=self._folder)
        # who chats on the page has a list of conversations to find one in
        return replace(chat, config=replace(chat.config, titles=settings.chat.titles))

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[ChatService]:
        """The service, as set up.

        Raises:
            InvalidInput: settings that cannot be used.
            StoreError: the database cannot be used.
        """
        place = self.chat()
        await asyncio.to_thread(self._keys.load_or_warn)
        async with opened(place.db, config=place.config, keys=self._keys.known) as service:
            self._service = service
            yield service

    # Models

    async def is_connected(self) -> bool:
        """True if any model but the offline one is offered."""
        return any(not choice.is_offline for choice in await self.service.models())

    def kept_in(self, place: KeyPlace | None) -> str:
        """A line of Markdown on where a key is kept; "" where there was none."""
        if place == "file":
            advice = f" `{self._keys.advice}` keeps the next one in its keyring." if self._keys.advice else ""
            return f"The key is in `{self._keys.file}`, which only you can read on this system.{advice}"
        return "The key is in the keyring of this system." if place else ""

    async def local_servers(self) -> tuple[LocalServer, ...]:
        """The servers of models that answer on this machine."""
        found = await asyncio.gather(*map(self._local_server, LOCAL))
        return tuple(server for server in found if server is not None)

    async def _local_server(self, provider: Local) -> LocalServer | None:
        url = local_url(provider)
        try:
            names = await model_names(url, key="", seconds=PROBE_SECONDS)
        except ModelError:
            return None
        return LocalServer(provider=provider, base_url=url, models=names)

    async def models_of(self, provider: Hosted, *, key: str, address: str = "") -> tuple[str, ...]:
        """The models that a provider offers for a key, which tests both.

        Args:
            provider: whose.
            key: pasted by the person; for a compatible server it may be "".
            address: of a compatible server.

        Raises:
            ModelError: nobody answers, or the key is not accepted.
            InvalidInput: no address.
        """
        url = _base_url(provider, address)
        anthropic = provider == "anthropic"
        names = await model_names(
            url if anthropic else compatible_url(url),
            key=key.strip(),
            seconds=ANSWER_SECONDS,
            api="anthropic" if anthropic else "openai",
        )
        if url == OPENAI_URL:
            # the others embed, speak, draw
            return tuple(sorted(name for name in names if name.startswith(OF_OPENAI)))
        return names

    async def connect(
        self, provider: Hosted | Local, model: str, *, key: str = "", address: str = ""
    ) -> KeyPlace | None:
        """Use ``model`` for new conversations from now on; returns where the key is kept, None without one.

        Args:
            provider: whose.
            model: as the provider names it.
            key: as for `models_of`; it is tried once more where a list of models is no proof of it.
            address: of a compatible server.

        Raises:
            ModelError: nobody answers, or the key is not accepted.
            InvalidInput: what was given cannot be used, or kept; nothing changed.
        """
        changes: dict[str, object] = {"chat.model": choice_of(f"{provider}:{model}").name}
        hosted = next((each for each in get_args(Hosted) if each == provider), None)
        place: KeyPlace | None = None
        if hosted is not None:
            url = _base_url(hosted, address)
            if hosted == "compatible":
                await try_model(url, model, key=key.strip(), seconds=ANSWER_SECONDS)
                changes["chat.baseUrl"] = url
            if key.strip():
                place = await asyncio.to_thread(self._keys.put, url, key)
        await self.change(changes)
        return place

    # Settings

    async def change(self, changes: dict[str, object]) -> None:
        """Write settings into the user's file, and hold conversations by them from now on.

        Args:
            changes: as for `autocompact.settings.editing.change_settings`.

        Raises:
            InvalidInput: what was given cannot be used: the file is as it was.
        """
        async with self._changing:
            file = self._load().files[-1]
            before = await asyncio.to_thread(_written, file, changes)
            try:
                place = await asyncio.to_thread(self.chat)
                await self.service.reconfigure(place.config, keys=self._keys.known)
            except InvalidInput:
                await asyncio.to_thread(_restore, file, before)
                raise

    def unset(self) -> Mapping[str, tuple[str, str]]:
        """What holds where a setting is null, and a sentence on where that comes from, by the setting's path."""
        config, kept = self.service.config, Kept(keys=self._keys.known, base_url=self.service.config.base_url)
        model, url = offered(kept=kept)[0], os.environ.get("OPENAI_BASE_URL", "")
        given = "Nothing is connected." if model.is_offline else "By the keys and variables that there are."
        return {
            "chat.model": (model.name, given),
            "chat.baseUrl": (url, "From the environment, OPENAI_BASE_URL." if url else "Default."),
            "chat.workspace": (str(config.workspace or "no folder"), "Default."),
            "chat.memoryFolder": (str(config.memory_folder or "no folder"), "Default."),
        }


def _written(file: Path, changes: dict[str, object]) -> bytes | None:
    """Write changes; returns what was in the file, None if there was none."""
    workspace = changes.get("chat.workspace")
    if workspace and not (file.parent / Path(str(workspace)).expanduser()).is_dir():
        raise InvalidInput(f"{workspace}: there is no such folder: make it first, or choose another one")
    before = file.read_bytes() if file.exists() else None
    change_settings(file, changes)
    return before


def _restore(file: Path, before: bytes | None) -> None:
    if before is None:
        file.unlink()
    else:
        replace_file(file, before)


def _base_url(provider: Hosted, address: str) -> str:
    if provider != "compatible":
        return hosted_url(provider)
    if not address.strip().startswith(("http://", "https://")):
        raise InvalidInput("the address of the server begins with http:// or https://")
    return compatible_url(address)
