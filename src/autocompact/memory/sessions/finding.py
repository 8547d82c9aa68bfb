"""Finds the session that is meant: a file, a conversation of ours, or the newest of all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from autocompact.core.stamps import instant_of
from autocompact.errors import InvalidInput, UnreadableSession
from autocompact.sessions import Session, read_session
from autocompact.sessions.places import claude_code_folder, codex_folder, ran_in
from autocompact.stores.companions import hidden_names
from autocompact.stores.naming import StorePlace, is_there
from autocompact.stores.opening import open_store

_SUBAGENT = "agent-"


def _environment() -> Mapping[str, str]:
    return dict(os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The places where sessions are looked for.

    Attributes:
        database: where our conversations are kept; None is none.
        project: only recorded sessions that ran in this folder or below are taken by themselves; None takes all.
        home: the user's home folder.
        environment: for CLAUDE_CONFIG_DIR and CODEX_HOME.
    """

    database: StorePlace | None = None
    project: Path | None = None
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=_environment)

    @property
    def claude_code(self) -> Path:
        """The folder in which Claude Code keeps a folder for each project."""
        return claude_code_folder(self.environment, home=self.home)

    @property
    def codex(self) -> Path:
        """The folder in which Codex keeps its sessions by day."""
        return codex_folder(self.environment, home=self.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A recorded session and its file."""

    path: Path
    session: Session

    @property
    def name(self) -> str:
        """Name of the session: that of its file, which agents make of the session's id."""
        return self.path.stem


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A conversation of ours."""

    name: str


async def find_session(wanted: str | None, places: Places) -> Recorded | Kept:
    """The session called ``wanted``, or the newest.

    Args:
        wanted: a file, or the name of a conversation of ours.
        places: where to look.

    Raises:
        InvalidInput: there is none.
        UnreadableSession: the file is no session.
    """
    if wanted is not None:
        return await _given(wanted, places)
    if newest := await newest_session(places):
        return newest
    where = f" that ran in {str(places.project)!r}" if places.project else ""
    raise InvalidInput(
        f"there is no session{where}: looked in {str(places.claude_code)!r}, {str(places.codex)!r} and "
        f"{str(places.database)!r}. Name one: --session-now FILE"
    )


async def newest_session(places: Places) -> Recorded | Kept | None:
    """The session that went on last, None if there is none.

    Args:
        places: where to look.
    """
    ours = await _newest_kept(places)
    for changed, path in _recorded(places):
        if ours is not None and ours[0] >= changed:
            break
        try:
            return read_recorded(path)
        except UnreadableSession:
            continue  # nothing was said in it yet
    return Kept(name=ours[1]) if ours is not None else None


async def _given(wanted: str, places: Places) -> Recorded | Kept:
    if _is_file(wanted):
        return read_recorded(Path(wanted))
    names = [name for _, name in await _kept(places)]
    begun = [name for name in names if wanted and name.startswith(wanted)]
    if wanted in names or len(begun) == 1:
        return Kept(name=wanted if wanted in names else begun[0])
    if begun:
        raise InvalidInput(
            f"{wanted!r} begins the names of {len(begun):,} conversations: give more of the one you mean"
        )
    raise InvalidInput(
        f"{wanted!r} is neither a file nor a conversation in {str(places.database)!r}; `autocompact list` shows those"
    )


def read_recorded(path: Path) -> Recorded:
    """The session in a file.

    Raises:
        UnreadableSession: it is none.
    """
    return Recorded(path=path.absolute(), session=read_session(path))


def _is_file(wanted: str) -> bool:
    return bool(wanted) and Path(wanted).exists()


async def _kept(places: Places) -> list[tuple[str, str]]:
    """Stamp and name of our conversations, the newest first; the store is not made where it is missing."""
    if places.database is None or not is_there(places.database):
        return []
    async with open_store(places.database) as store:
        hidden = await hidden_names(store, "default")
        return [
            (info.updated, info.key.conversation)
            for info in await store.conversations("default")
            if info.last_seq and info.key.conversation not in hidden
        ]


async def _newest_kept(places: Places) -> tuple[float, str] | None:
    for stamp, name in await _kept(places):
        return datetime.fromisoformat(stamp).timestamp(), name
    return None


def _recorded(places: Places) -> Iterator[tuple[float, Path]]:
    """Files of recorded sessions with the second of their last change, the newest first."""
    files = [*places.claude_code.glob("*/*.jsonl"), *places.codex.glob("**/rollout-*.jsonl")]
    dated = sorted(_dated(path for path in files if not path.name.startswith(_SUBAGENT)), reverse=True)
    project = places.project and places.project.resolve()
    for changed, path in dated:
        if project is None or ran_in(path, project):
            yield changed, path


def _dated(files: Iterable[Path]) -> Iterator[tuple[float, Path]]:
    for path in files:
        try:
            yield path.stat().st_mtime, path
        except OSError:
            continue  # removed meanwhile


def lasted(session: Session) -> str:
    """From when to when a session was, "" if no message has a time that can be read."""
    times = [known for message in session.messages if (known := instant_of(message.time))]
    if not times:
        return ""
    first, last = (instant.astimezone(UTC) for instant in (min(times), max(times)))
    minutes = round((last - first).total_seconds() / 60)
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC ({minutes // 60} h {minutes % 60} min)"
