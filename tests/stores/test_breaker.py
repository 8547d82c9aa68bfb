"""Nobody waits for a server that did not answer, until it does."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from autocompact.stores.breaker import Breaker, in_a_thread

pytestmark = pytest.mark.requirement("E9")


class Server:
    """One that is away, hangs, or is there; counts who asks."""

    def __init__(self) -> None:
        self.is_there = False
        self.asked = 0
        self.lets_go = threading.Event()
        self.lets_go.set()

    def reach(self) -> None:
        self.asked += 1
        self.lets_go.wait()
        if not self.is_there:
            raise ConnectionError("refused")


def test_a_server_that_never_failed_is_not_asked_first() -> None:
    server = Server()
    guarded = Breaker("db", server.reach, fails=ConnectionError)
    assert guarded.admits()
    assert (server.asked, guarded.is_open) == (0, False)


def test_after_a_failure_one_attempt_at_intervals_finds_out_whether_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    guarded = Breaker("db", server.reach, fails=ConnectionError, attention_seconds=100, pause_seconds=0.2)
    for _ in range(2):
        guarded.trip("no connection in 5 s")
    while server.asked < 3:
        assert not guarded.admits()
    server.is_there = True
    while not guarded.admits():
        pass
    assert not guarded.is_open
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said == [
        ("ERROR", "the server of the store does not answer: nothing waits for it until it does"),
        ("WARNING", "the server of the store answers again"),
    ]


def test_during_the_pause_after_an_attempt_there_is_no_other() -> None:
    server = Server()
    server.lets_go.clear()
    guarded = Breaker("db", server.reach, fails=ConnectionError, attention_seconds=0.5, pause_seconds=100)
    guarded.trip("no connection in 5 s")
    assert not guarded.admits()
    server.lets_go.set()
    assert [guarded.admits() for _ in range(200)] == [False] * 200
    assert server.asked == 1


def test_an_attempt_that_hangs_is_the_only_one_and_holds_nobody_up() -> None:
    server = Server()
    server.lets_go.clear()
    guarded = Breaker("db", server.reach, fails=ConnectionError, attention_seconds=0.01)
    guarded.trip("no connection in 5 s")
    assert [guarded.admits() for _ in range(50)] == [False] * 50
    assert server.asked == 1
    server.is_there = True
    server.lets_go.set()
    while not guarded.admits():
        pass
    assert server.asked == 1


def test_who_asks_while_a_quick_attempt_runs_gets_its_result() -> None:
    server = Server()
    server.is_there = True
    guarded = Breaker("db", server.reach, fails=ConnectionError, attention_seconds=100)
    guarded.trip("no connection in 5 s")
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(guarded.admits())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8
    assert server.asked == 1


def test_where_no_thread_can_be_had_the_server_is_away_until_one_can() -> None:
    server, threads = Server(), [RuntimeError("can't start new thread")]
    server.is_there = True

    def start(work: Callable[[], object]) -> None:
        if threads:
            raise threads.pop()
        in_a_thread(work)

    breaker = Breaker("db", server.reach, fails=ConnectionError, pause_seconds=0.0, start=start)
    breaker.trip("refused")
    assert not breaker.admits()
    assert breaker.admits()
