"""What every runner shares: one history, one way to time it, one form of result. Standard library only.

A runner is `python -m benchmarks.peers.NAME --sizes 100,1000`, run by `benchmarks/speed.py` with the interpreter that
has that peer installed. It prints one JSON object.

A case makes a `Session` over the peer's own message objects, which are built beforehand and not timed. Two figures
come of it for each size n: the median time of one turn when the conversation has n messages, and what all the n
turns of a conversation took together. Where that would take too long, turns at even distances are timed and stand
for those between them (``sampled``), the median of three in a row each. Ours is never sampled.

Time is CPU time of the process: nothing here waits or uses threads, and what else runs on the machine counts less.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol

Role = Literal["user", "call", "result", "answer"]
Count = Callable[[str], int]

CHARACTERS = 540
"""Of each message's text."""

POINTS = 32
"""Places of a session at which turns are timed where not all are: three in a row, of which the median counts."""

WORDS = """
the of and to in is that it for was on are as with be this have from or not but what all were when we there can an
which their if will each about how up out them then many some so these would other into has more two like him see
time could no make than first been its who now people my made over did down only way find use may water long little
very after words called just where most know read file test function return value error line path class import
config request response server client token context message summary window model list index query result user
session store log commit branch build deploy cache timeout retry 404 500 v1.2.3 src/app/main.py tests/test_api.py
parse_config HttpClient get_user() None True assert expected actual TypeError: traceback {"id": 17} == != += //
"""
"""What the texts are made of; tokenized at about four characters a token, like the prose and code of an agent."""

WARM_SECONDS = 1.5
WARM_TURNS = 200
LONGEST_SESSION = 60.0
"""Seconds; a session expected to take longer is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of the history: of four, one asks, one calls a tool, one holds its result, one answers."""

    number: int
    role: Role
    text: str

    @property
    def call_id(self) -> str:
        return f"call_{self.number // 4}"


class Session(Protocol):
    """A conversation in the hands of a peer."""

    def add(self, index: int) -> None:
        """Take message ``index`` of the history; nothing is asked."""

    def turn(self, index: int) -> None:
        """Take message ``index`` and do what comes before a model call."""

    def settle(self) -> None:
        """What a turn left to be done between turns, e.g. a compaction; timed by itself."""


class Stateless:
    """A peer that looks at the whole history each time, and has nothing to do between turns."""

    def __init__(self, messages: Sequence[Any], ask: Callable[[list[Any]], object]) -> None:
        self.messages, self.ask = messages, ask
        self.taken: list[Any] = []

    def add(self, index: int) -> None:
        self.taken.append(self.messages[index])

    def turn(self, index: int) -> None:
        self.taken.append(self.messages[index])
        self.ask(self.taken)

    def settle(self) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One operation of a peer.

    Attributes:
        operation: its name, as the table shows it.
        make: a session over this history, counting with that.
        sampled: it keeps nothing from turn to turn, so that some turns can stand for all.
        once: it belongs to a compaction, not to a turn: there is no figure for a session.
        counters: the counters that it is measured with.
        largest: messages up to which it is measured.
    """

    operation: str
    make: Callable[[Sequence[Said], Count], Session]
    sampled: bool = True
    once: bool = False
    counters: tuple[str, ...] = ("chars/4", "o200k_base")
    largest: int = 100_000


def history(messages: int) -> list[Said]:
    """The same history every time: about 540 characters a message, one tool call with its result in four."""
    chance = random.Random(1)
    words = WORDS.split()
    bodies = [" ".join(chance.choices(words, k=CHARACTERS // 3))[: CHARACTERS - 8] for _ in range(997)]
    roles: tuple[Role, ...] = ("user", "call", "result", "answer")
    return [
        Said(number=number, role=roles[number % 4], text=f"{number:07d} {bodies[number % len(bodies)]}")
        for number in range(messages)
    ]


def quarter(text: str) -> int:
    return len(text) // 4


def counter(name: str) -> Count:
    """The counter of that name; the exact one is the same object for all peers."""
    if name == "chars/4":
        return quarter
    sys.path.append(str(Path(__file__).resolve().parents[2] / "src"))
    from autocompact.models.vocabulary import load_counter

    return load_counter().count


def turn_seconds(session: Session, start: int, *, turns: int) -> float:
    """The median of warm turns."""
    spent: list[float] = []
    begin = time.process_time()
    for index in range(start, start + turns):
        before = time.process_time()
        session.turn(index)
        after = time.process_time()
        spent.append(after - before)
        session.settle()
        if after - begin > WARM_SECONDS and len(spent) >= 3:
            break
    return statistics.median(spent)


def session_seconds(session: Session, messages: int, *, sampled: bool) -> tuple[float, float]:
    """What all turns of a conversation of that many messages take, and what is done between them."""
    if sampled and messages > 3 * POINTS:
        return messages * statistics.mean(sampled_turns(session, messages)), 0.0
    turns = between = 0.0
    for index in range(messages):
        before = time.process_time()
        session.turn(index)
        after = time.process_time()
        session.settle()
        turns += after - before
        between += time.process_time() - after
    return turns, between


def sampled_turns(session: Session, messages: int) -> Iterator[float]:
    """The seconds of a turn at even distances."""
    stride = messages // POINTS
    taken = 0
    for place in range(stride // 2, messages - 2, stride):
        for index in range(taken, place):
            session.add(index)
        taken = place + 3
        yield turn_seconds(session, place, turns=3)


def measure(case: Case, said: Sequence[Said], *, messages: int, count: Count) -> dict[str, object]:
    """Both figures of a case at one size."""
    session = case.make(said, count)
    for index in range(messages):
        session.add(index)
    turn = turn_seconds(session, messages, turns=WARM_TURNS)
    expected = turn * (3 / 2 * POINTS if case.sampled else messages)
    total = between = None
    if not case.once and expected < LONGEST_SESSION:
        total, between = session_seconds(case.make(said, count), messages, sampled=case.sampled)
    return {
        "operation": case.operation,
        "messages": messages,
        "turn_seconds": turn,
        "session_seconds": total,
        "between_seconds": between,
        "sampled": case.sampled and messages > 3 * POINTS,
    }


def rows(cases: Sequence[Case], sizes: Sequence[int]) -> Iterator[dict[str, object]]:
    said = history(max(sizes) + WARM_TURNS + 1)
    for name in ("chars/4", "o200k_base"):
        count = counter(name)
        for case in cases:
            for messages in sizes:
                if name in case.counters and messages <= case.largest:
                    yield {"counter": name, **measure(case, said, messages=messages, count=count)}


def peak_megabytes() -> float:
    """The most memory that this process ever held.

    ``ru_maxrss`` of a child begins with what its parent had on Linux, so there the kernel's figure is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main(package: str, cases: Sequence[Case]) -> None:
    """Run the cases and print their rows as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="100,1000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    found = list(rows(cases, sizes))
    print(json.dumps({"package": package, "version": version(package), "rows": found}))
