"""Keeps a session in our own store of conversations before its agent compacts it."""

from __future__ import annotations

import asyncio

from autocompact import history
from autocompact.sessions import Session


def archive(session: Session, *, name: str) -> None:
    """Take ``session`` into the store of the user, as ``name``; one that is there goes on.

    Raises:
        StoreError: the store cannot be written.
    """
    asyncio.run(_archived(session, name=name))


async def _archived(session: Session, *, name: str) -> None:
    # the package loads the stores only here: a hook that archives nothing does without, while its agent waits
    from autocompact.history.incoming import from_session

    async with history.opened(make=True) as library:
        await library.take_in(from_session(session), name=name)
