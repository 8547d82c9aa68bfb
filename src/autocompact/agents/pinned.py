"""Texts that a user or an agent pinned in a recorded session, which has no place of its own for them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from autocompact.core.redaction import Redacted, redact
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput, StoreCorrupt
from autocompact.runtime.files import make_folder, replace_file

MOST_TOKENS = 500
"""Tokens of all pinned texts of a session: they stand in each repair after a compaction."""

_texts = msgspec.json.Decoder(list[str]).decode


def pinned_in(session: Path, *, folder: Path) -> tuple[Redacted, ...]:
    """The texts pinned in the session, the first one first.

    Args:
        session: its file.
        folder: where pins are kept.

    Raises:
        StoreCorrupt: the file of the pins cannot be read.
    """
    file = _file(session, folder)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return ()
    try:
        return tuple(map(redact, _texts(content)))
    except msgspec.DecodeError as error:
        raise StoreCorrupt(f"the pins in {str(file)!r} cannot be read: {error}. Remove the file.") from error


def pin(session: Path, text: str, *, folder: Path) -> tuple[Redacted, ...]:
    """Pin a text; all that are pinned now. A text that is pinned already stays where it is.

    Raises:
        InvalidInput: it is empty, or all together would take more than `MOST_TOKENS`.
        StoreCorrupt: see `pinned_in`.
    """
    new = redact(" ".join(text.split()))
    if not new:
        raise InvalidInput("there is nothing to pin in an empty text")
    known = pinned_in(session, folder=folder)
    pinned = known if new in known else (*known, new)
    tokens = sum(map(Estimator().count, pinned))
    if tokens > MOST_TOKENS:
        raise InvalidInput(
            f"the pins would take {tokens:,} tokens, at most {MOST_TOKENS:,} may be pinned: unpin one, or say it shorter"
        )
    _write(session, pinned, folder=folder)
    return pinned


def unpin(session: Path, text: str, *, folder: Path) -> tuple[Redacted, ...]:
    """Remove a pinned text; what is pinned still.

    Raises:
        InvalidInput: it is not pinned.
        StoreCorrupt: see `pinned_in`.
    """
    known = pinned_in(session, folder=folder)
    old = redact(" ".join(text.split()))
    if old not in known:
        raise InvalidInput(f"{old!r} is not pinned; pinned are: {list(known)}")
    left = tuple(each for each in known if each != old)
    _write(session, left, folder=folder)
    return left


def _write(session: Path, texts: Sequence[str], *, folder: Path) -> None:
    file = _file(session, folder)
    if not texts:
        file.unlink(missing_ok=True)
        return
    make_folder(folder)
    replace_file(file, msgspec.json.encode(texts))


def _file(session: Path, folder: Path) -> Path:
    digest = hashlib.sha256(str(session.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return folder / f"{session.stem}-{digest}.json"
