"""Flips single bits in a store file and says what becomes of each: ``python -m tests.stores.bit_flips [PLACES]``.

The file has messages with edits, compactions, an engine's state and the search index. For each place one bit is flipped in
a copy, then everything is read: lists, logs, contexts, records, searches.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import structs

from autocompact.core.messages import Message, text_message
from autocompact.errors import StoreError
from autocompact.ports import Key
from autocompact.stores.doctor import examine
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndex
from autocompact.testing.records import compaction
from autocompact.wire.request import parse_message

Outcome: TypeAlias = Literal[
    "refused when read", "found by doctor", "read as written", "only the search differs", "SILENT"
]
KEYS = [Key(conversation=f"talk-{number}", namespace=name) for number in range(12) for name in ("a", "b")]
QUERIES = ("valve", "pump 7", "what did the gauge say", "nothing-of-it")
_WORDS = "valve pump gauge pressure leak seal bolt torque flange gasket inlet outlet".split()


def _log(key: Key, *, length: int) -> list[Message]:
    dice = random.Random(key.conversation)
    log = [text_message(1, "system", "You mend pumps.")]
    for seq in range(2, length + 1):
        words = " ".join(dice.choices(_WORDS, k=dice.choice((5, 30, 200))))
        if seq % 3:
            log.append(text_message(seq, "user" if seq % 2 else "assistant", f"{words} {seq}", id=f"m{seq}"))
        else:
            raw = b'{"role": "assistant", "content": "pump %d: %b"}' % (seq, words.encode())
            log.append(parse_message(raw, seq=seq, dialect="openai_chat"))
        if seq % 11 == 0:
            log[-1] = structs.replace(log[-1], replaces=seq - 1)
    return log


async def write(path: Path, *, keys: Sequence[Key] = KEYS) -> None:
    """The file, folded into one: no write-ahead log is left."""
    async with SqliteStore(path) as store:
        for key in keys:
            await store.append(key, _log(key, length=40), after=0)
            summary = "The pump leaks at the valve. " * 60
            for number, through in enumerate((10, 25)):
                record = replace(compaction(f"c{number}", through), summary=summary, keep=(3, 5))
                expected = f"c{number - 1}" if number else None
                await store.commit(
                    key,
                    records=[record],
                    active=record.id,
                    expected=expected,
                    fence=0,
                    state=b'{"made":2}' + b" " * 180,
                )
            prepared = replace(compaction("p", 30), status="prepared")
            await store.commit(key, records=[prepared], active="c1", expected="c1", fence=0)


async def read(path: Path) -> tuple[list[object], list[object]]:
    """All that the file says, and what searches find in it.

    Raises:
        StoreError: a part of it cannot be read.
    """
    said: list[object] = []
    async with SqliteStore(path) as store:
        index = SqliteIndex(store)
        for namespace in await store.namespaces():
            said.append(await store.conversations(namespace))
        for key in KEYS:
            said += [await store.load(key), await store.read(key), await store.compactions(key)]
        try:
            found: list[object] = [await index.search(name, query, k=5) for name in "ab" for query in QUERIES]
        except StoreError as error:
            found = [str(error)]
    return said, found


def _flipped(whole: bytes, flip: int, *, folder: Path) -> Path:
    path = folder / "flipped.db"
    for old in folder.glob("flipped.db*"):
        old.unlink()
    spoilt = bytearray(whole)
    spoilt[flip // 8] ^= 1 << flip % 8
    path.write_bytes(spoilt)
    path.chmod(0o600)
    return path


def _is_healthy(path: Path) -> bool:
    try:
        return not examine(path).problems
    except StoreError:
        return False


async def outcome(
    whole: bytes, flip: int, *, folder: Path, expected: tuple[list[object], list[object]]
) -> Outcome:
    """What becomes of the file with bit ``flip`` (of all its bits) flipped."""
    path = _flipped(whole, flip, folder=folder)
    healthy = _is_healthy(path)
    try:
        said, found = await read(path)
    except StoreError:
        return "refused when read"
    if said == expected[0] and found == expected[1]:
        return "read as written"
    if not healthy:
        return "found by doctor"
    return "only the search differs" if said == expected[0] else "SILENT"


async def experiment(places: int, *, seed: int = 7) -> Mapping[Outcome, int]:
    """Flip one bit at each of so many places, spread over the whole file."""
    dice = random.Random(seed)
    counts: Counter[Outcome] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        original = folder / "whole.db"
        await write(original)
        whole, expected = original.read_bytes(), await read(original)
        step = len(whole) / places
        for place in range(places):
            byte = min(int(place * step + dice.random() * step), len(whole) - 1)
            flip = byte * 8 + dice.randrange(8)
            came = await outcome(whole, flip, folder=folder, expected=expected)
            if came == "SILENT":
                print(f"silent: byte {flip // 8} of {len(whole)}, bit {flip % 8}", file=sys.stderr)  # noqa: T201 - a script
            counts[came] += 1
    return counts


if __name__ == "__main__":
    for came, times in asyncio.run(experiment(int((*sys.argv[1:], 400)[0]))).items():
        print(f"{times:5}  {came}")  # noqa: T201 - a script
