"""Time and memory of an offline compaction of 150,000 tokens, and of one compaction after the other.

    python -m benchmarks.compaction [--data DIR] [--profile]

The sessions are all the recorded ones of ../shared/data that hold 150,000 tokens, read before the clock starts; where
that folder is missing, the example session, repeated. Three ways: the whole compaction as it is
(median of five, each on a log of its own), its phases called one by one, and its peak memory in a process that
does nothing else, reading included. Of one compaction after the other the calls of functions are counted as well, since
milliseconds scatter where the machine is shared. Time is CPU time of the process, which neither waits nor uses threads.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import climb_offline
from autocompact.compaction.masking import mask_old_results
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Message, Part, ToolCall, ToolResult
from autocompact.core.tokens import Counter
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import offline_summary
from autocompact.ledger.verification import verify
from autocompact.models.vocabulary import load_counter
from autocompact.sessions import read_session
from autocompact.stores.encoding import encode_record
from benchmarks.peers.bench import peak_megabytes
from benchmarks.speed import verdict

Made = TypeVar("Made")

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data"
EXAMPLE = HERE.parent / "examples" / "sessions" / "fix-invoice-rounding.jsonl"
TOKENS = 150_000
ROUNDS = 20
GOAL = Goal(limit=184_000, target=100_000, summary_tokens=4_000, tail_tokens=20_000, first_rung="summarise")
FLOOR = replace(GOAL, limit=30_000, target=1_000)
"""A target that only the floor comes near, so that every rung is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A session, cut where it has reached 150,000 tokens."""

    name: str
    messages: tuple[Message, ...]

    def log(self, counter: Counter) -> Transcript:
        """The log with every message counted."""
        log = Transcript(self.messages, counter=counter)
        for message in self.messages:
            log.cost(message.seq)
        return log


def beginning(messages: tuple[Message, ...], counter: Counter) -> tuple[Message, ...]:
    """The messages up to 150,000 tokens; () if there are not so many."""
    log, tokens = Transcript(counter=counter), 0
    for message in messages:
        log.append(message)
        tokens += log.cost(message.seq).tokens
        if tokens >= TOKENS:
            return messages[: message.seq]
    return ()


def recorded(folder: Path, counter: Counter) -> Iterator[Source]:
    files = (*(folder / "claude_code").glob("*.jsonl"), *(folder / "pi").glob("*.jsonl"))
    for file in sorted(files, key=lambda file: file.name):
        if messages := beginning(tuple(read_session(file).messages), counter):
            yield Source(name=file.stem[:24], messages=messages)


def made(counter: Counter) -> Source:
    """The example session again and again, each time with call ids of its own."""
    once = tuple(read_session(EXAMPLE).messages)
    messages: list[Message] = []
    while not (cut := beginning(tuple(messages), counter)):
        start = len(messages) + 1
        messages += [numbered(message, seq, turn=start) for seq, message in enumerate(once, start)]
    return Source(name="example, repeated", messages=cut)


def numbered(message: Message, seq: int, *, turn: int) -> Message:
    """``message`` at another place of the log; its call ids are those of that repetition."""
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolCall():
                parts.append(structs.replace(part, id=f"{part.id}_{turn}"))
            case ToolResult():
                parts.append(structs.replace(part, call_id=f"{part.call_id}_{turn}"))
            case _:
                parts.append(part)
    return structs.replace(message, seq=seq, id=f"{message.id}_{turn}", parts=tuple(parts))


def milliseconds(work: Callable[[], object], *, times: int = 5) -> float:
    spent: list[float] = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return statistics.median(spent) * 1e3


def counted_calls(work: Callable[[], Made]) -> tuple[int, Made]:
    """How many functions ``work`` calls, which is the same on a quiet and on a busy machine; and what it returns."""
    profiler = cProfile.Profile()
    result = profiler.runcall(work)
    entries = profiler.getstats()
    return sum(entry.callcount for entry in entries), result


def compaction(source: Source, counter: Counter, *, goal: Goal) -> tuple[float, Compaction]:
    """The median over five logs; hashes and the like are kept by a log, so that each has its own."""
    spent: list[float] = []
    record: Compaction | None = None
    for _ in range(5):
        log = source.log(counter)
        start = time.process_time()
        record = climb_offline(log, goal)
        spent.append(time.process_time() - start)
    assert record is not None
    return statistics.median(spent) * 1e3, record


def phases(source: Source, counter: Counter, *, record: Compaction) -> dict[str, float]:
    """Milliseconds of each part of the compaction that led to ``record``, called alone."""
    log = source.log(counter)
    head = tuple(log.live(through_seq=record.through_seq))
    ledger = extract(head)
    context = view(log, record)
    text = "\n".join(message.text for message in context.messages)
    tokens = [log.cost(seq).tokens for seq in range(1, len(log) + 1)]
    counting = milliseconds(lambda: source.log(counter))
    return {
        "count (once per message, when it is appended)": counting,
        "extract the ledger": milliseconds(lambda: extract(head)),
        "offline summary": milliseconds(
            lambda: offline_summary(ledger, budget=GOAL.summary_tokens, counter=counter)
        ),
        "fold the context": milliseconds(lambda: view(log, record)),
        "verify it": milliseconds(lambda: verify(text, ledger)),
        "hash the log": milliseconds(lambda: source.log(counter).prefix(len(log))) - counting,
        "mask old outputs (only if asked for)": milliseconds(
            lambda: mask_old_results(list(log.live()), tokens, counter=counter)
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One compaction of many: milliseconds and calls of functions, what is left of the context, how large its ledger and record are."""

    milliseconds: float
    calls: int
    tokens: int
    entries: int
    bytes: int


def again_and_again(found: Sequence[Source], counter: Counter) -> Iterator[Round]:
    """All sessions one after the other as one, compacted at every 100,000 tokens."""
    messages = [(turn, message) for turn, source in enumerate(found) for message in source.messages]
    log, active, goal = Transcript(counter=counter), None, replace(GOAL, target=40_000)
    for place, (turn, message) in enumerate(islice(cycle(messages), 12 * len(messages)), 1):
        log.append(numbered(message, place, turn=place // len(messages) * len(found) + turn))
        if place % 20 or view(log, active).cost.tokens < 100_000:
            continue
        spent = milliseconds(
            lambda log=log, active=active: climb_offline(log.snapshot(), goal, active=active)
        )
        calls, made = counted_calls(lambda log=log, active=active: climb_offline(log, goal, active=active))
        if made is None:
            return
        log, active = log.after(made), made
        yield Round(
            milliseconds=spent,
            calls=calls,
            tokens=made.receipt.tokens_after,
            entries=len(made.ledger.entries),
            bytes=len(encode_record(made)),
        )


def sources(folder: Path, counter: Counter) -> list[Source]:
    return list(recorded(folder, counter)) or [made(counter)]


def profile(source: Source, counter: Counter) -> None:
    log = source.log(counter)
    profiler = cProfile.Profile()
    profiler.runcall(climb_offline, log, GOAL)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def memory(folder: Path) -> None:
    """In the process that measures it: read one session, compact it, say what was held at most."""
    counter = load_counter()
    before = peak_megabytes()
    source = next(recorded(folder, counter), None) or made(counter)
    climb_offline(source.log(counter), GOAL)
    print(f"{before:.1f} {peak_megabytes():.1f}")


def report(folder: Path) -> None:
    counter = load_counter()
    found = sources(folder, counter)
    print("\n| session | messages | count, ms | compact, ms | through all rungs, ms |")
    print("|---|---:|---:|---:|---:|")
    totals: list[float] = []
    for source in found:
        counting = milliseconds(lambda source=source: source.log(counter))
        spent, record = compaction(source, counter, goal=GOAL)
        floor, _ = compaction(source, counter, goal=FLOOR)
        totals.append(counting + spent)
        print(f"| {source.name} | {len(source.messages)} | {counting:.0f} | {spent:.0f} | {floor:.0f} |")
    _, record = compaction(found[0], counter, goal=GOAL)
    print(f"\n| phase ({found[0].name}) | ms |\n|---|---:|")
    for name, spent in phases(found[0], counter, record=record).items():
        print(f"| {name} | {spent:.1f} |")
    print(
        "\n| compaction no. of one long session | ms | tokens left | entries in the ledger | bytes stored |"
    )
    print("|---:|---:|---:|---:|---:|")
    rounds: list[Round] = []
    for one in islice(again_and_again(found, counter), ROUNDS):
        rounds.append(one)
        print(
            f"| {len(rounds)} | {one.milliseconds:.0f} | {one.tokens:,} | {one.entries:,} | {one.bytes:,} |"
        )
    child = [sys.executable, "-m", "benchmarks.compaction", "--memory", "--data", str(folder)]
    done = subprocess.run(child, cwd=HERE.parent, capture_output=True, check=True, text=True)
    before, peak = map(float, done.stdout.split())
    print(
        f"\nPeak memory {peak:.0f} MB, of which {before:.0f} MB are Python and the vocabulary of the counter."
    )
    print(f"\nTargets, {TOKENS:,} tokens:")
    verdict("ms to count and compact, median session", statistics.median(totals), most=200)
    verdict("ms to count and compact, slowest session", max(totals), most=200)
    verdict("MB at most", peak, most=200)
    early, late = rounds[1:6], rounds[-5:]  # sessions differ, so five of each
    for name in ("milliseconds", "calls", "entries", "bytes"):
        ratio = statistics.median(getattr(one, name) for one in late) / statistics.median(
            getattr(one, name) for one in early
        )
        verdict(f"{name}, compactions {len(rounds) - 4} to {len(rounds)} against 2 to 6", ratio, most=1.2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder with recorded sessions")
    parser.add_argument("--profile", action="store_true", help="where the time goes, function by function")
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory(options.data)
    elif options.profile:
        counter = load_counter()
        profile(sources(options.data, counter)[0], counter)
    else:
        report(options.data)


if __name__ == "__main__":
    main()
