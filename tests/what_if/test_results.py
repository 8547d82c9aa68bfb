"""What was replayed once is kept by content, and no more than so much of it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import anyio

from autocompact.what_if.policies import WhatIf
from autocompact.what_if.replays import Replayed, replayed
from autocompact.what_if.results import MOST_KEPT, Results
from autocompact.what_if.simulation import simulate
from tests.what_if.recordings import course, made, prices, work


def result() -> Replayed:
    ready = course(work(40, files=10, compactions=[made(41, minutes=10.1)]), window=12_000)
    policies = (WhatIf(name="all", kind="recorded"), WhatIf(name="ours"))
    return replayed(ready, [anyio.run(partial(simulate, ready, each, pricing=prices())) for each in policies])


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = Results(tmp_path / "cache", depends=[b"options"])
    replay = result()
    assert replay.outcomes[0].losses
    assert replay.outcomes[0].files
    session = tmp_path / "session"
    session.write_bytes(b"{}")
    key = kept.key(session)
    assert kept.find(key) is None
    kept.keep(key, replay)
    assert kept.find(key) == replay
    assert Results(tmp_path / "cache", depends=[b"others"]).key(session) != key


def test_what_cannot_be_read_or_written_is_as_if_nothing_was_kept(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    kept = Results(tmp_path / "cache", depends=[])
    assert kept.key(tmp_path / "missing") == ""
    kept.keep("", result())
    kept.keep("a", result())
    assert kept.find("a") is None


def test_the_longest_unused_results_go(tmp_path: Path) -> None:
    for number in range(MOST_KEPT + 2):
        path = tmp_path / f"{number}.replay"
        path.touch()
        os.utime(path, (number, number))
    Results(tmp_path, depends=[]).keep("new", result())
    left = {path.stem for path in tmp_path.iterdir()}
    assert len(left) == MOST_KEPT
    assert "new" in left
    assert not {"0", "1", "2"} & left
