"""Lazy responder: the packages of a model, which take seconds to import, are loaded in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import aclosing, suppress
from functools import partial
from importlib.util import find_spec

from autocompact.chat.loading import LOADING
from autocompact.chat.model_choices import Access
from autocompact.chat.responder import ModelRequest, Piece, Responder
from autocompact.runtime.extras import install_command


class LazyResponder:
    """Implements `autocompact.chat.responder.Responder`: loads `autocompact.chat.remote` in a thread, from now on.

    Args:
        found: where the model is.
        extra: further members of each request.
        silence: see `autocompact.chat.remote.RemoteResponder`.

    Raises:
        ImportError: the extra ``chat`` is not installed.
    """

    def __init__(self, found: Access, *, extra: Mapping[str, object], silence: float) -> None:
        sdk = "anthropic" if found.choice.provider == "anthropic" else "openai"
        if find_spec("pydantic_ai") is None or find_spec(sdk) is None:
            raise ImportError(f"talking to models needs further packages: {install_command('chat')}")
        self._loaded: Future[Responder] = Future()
        # a daemon: a program that is left at once does not wait for it
        loading = threading.Thread(
            target=partial(_load, self._loaded, found, extra=extra, silence=silence),
            name="autocompact-load",
            daemon=True,
        )
        loading.start()

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """See `Responder.answer`.

        Raises:
            ImportError: one of the packages cannot be loaded.
        """
        responder = await asyncio.shield(asyncio.wrap_future(self._loaded))
        async with aclosing(responder.answer(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        """Close what was opened. What is being loaded still is not waited for: it is closed once it is there."""
        if not self._loaded.cancel() and self._loaded.exception() is None:
            await self._loaded.result().aclose()


def _load(loaded: Future[Responder], found: Access, *, extra: Mapping[str, object], silence: float) -> None:
    try:
        with LOADING:
            from autocompact.chat.remote import RemoteResponder

            responder = RemoteResponder(found, extra=extra, silence=silence)
    except BaseException as error:  # noqa: BLE001 - whoever waits is told
        with suppress(InvalidStateError):  # nobody waits any more
            loaded.set_exception(error)
        return
    try:
        loaded.set_result(responder)
    except InvalidStateError:  # it was closed meanwhile, and nobody else has it
        asyncio.run(responder.aclose())
