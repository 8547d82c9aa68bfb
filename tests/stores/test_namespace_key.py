"""The key of a store's namespaces: made once, whole, and the same for all who ask at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from autocompact.errors import InvalidInput
from autocompact.stores.namespace_key import KEY_BYTES, key_of

PROGRAMS, ROUNDS = 8, 50


def test_programs_that_begin_at_once_get_one_key(tmp_path: Path) -> None:
    """The file was there before the key stood in it: who came between was told that it is none."""
    begin = Barrier(PROGRAMS)

    def asked(place: Path) -> bytes:
        begin.wait()
        return key_of(place)

    with ThreadPoolExecutor(PROGRAMS) as programs:
        for number in range(ROUNDS):
            place = tmp_path / f"{number}.db"
            keys = set(programs.map(asked, [place] * PROGRAMS))
            assert [len(key) for key in keys] == [KEY_BYTES]
            assert keys == {key_of(place)}
    assert {path.suffix for path in tmp_path.iterdir()} == {".key"}
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


def test_a_file_that_is_no_key_is_refused_and_stays(tmp_path: Path) -> None:
    place = tmp_path / "gateway.db.key"
    place.write_bytes(b"half a key")
    with pytest.raises(InvalidInput, match="is no namespace key: it must have 32 bytes"):
        key_of(tmp_path / "gateway.db")
    assert place.read_bytes() == b"half a key"
