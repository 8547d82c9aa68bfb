"""Learn what a model's own tokenizer makes of one token of o200k_base, by family; see `autocompact.core.factors`.

    python -m benchmarks.token_factors [--ctok SITE_PACKAGES]

*By reported usage*: stretches of recorded sessions in which the context grew by 1,500 tokens and more. Each factor is tried
on sessions that it was not learned from (by session), and on those of another client (by format). *By vocabulary*: the words
of the sessions, counted with the vocabularies of the extras that are installed (`autocompact.models.published`), and with
ctok's reconstruction of Claude's where that is at hand, which needs Python 3.12; nothing is downloaded. ctok is slow: for this
it counts a sample. The stretches of Claude's sessions it counts whole.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, cast

from autocompact.core.factors import first_factor
from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult
from autocompact.core.tokens import Counter, message_cost
from autocompact.models.published import PUBLISHED
from autocompact.models.vocabulary import Name, load_counter
from autocompact.sessions import Session
from benchmarks.estimates import DATA, MASKED, p90, sessions

FOLDERS = ("claude_code", "codex", "pi")
STRETCHES = (1_500, 5_000, 20_000)
KINDS = ("reads", "calls", "rest")
PRIOR_TOKENS = 2_000
SAMPLE, PIECE = 200_000, 2_000
"""Characters of each session that a vocabulary counts, in pieces; ctok a twentieth of them."""

_NUMBERED = re.compile(r" *\d+(?:→|\t)")


Count: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Growth of a context between two reports: our tokens by kind of text, and what was reported."""

    kinds: Mapping[str, int]
    reported: int

    @property
    def tokens(self) -> int:
        return sum(self.kinds.values())


@dataclass(slots=True, kw_only=True)
class Recording:
    """A session: the kinds and the report at each of its requests."""

    format: str
    model: str
    requests: list[tuple[dict[str, int], int]] = field(default_factory=list[tuple[dict[str, int], int]])

    def stretches(self, least: int) -> Iterator[Stretch]:
        """Those of at least so many tokens; where something left the context, a new one begins."""
        if not self.requests:
            return
        (start, reported), before = self.requests[0], self.requests[0][1]
        for kinds, now in self.requests[1:]:
            if now < before:
                start, reported = kinds, now
            before = now
            grown = Stretch(
                kinds={each: kinds[each] - start[each] for each in KINDS}, reported=now - reported
            )
            if grown.tokens >= least:
                if 0.5 < grown.reported / grown.tokens < 2.5:
                    yield grown
                start, reported = kinds, now


def kinds_of(message: Message, tokens: int, *, count: Count) -> dict[str, int]:
    """The tokens of a message by kind: numbered file reads, arguments of calls, the rest with all framing."""
    reads = sum(
        count(part.text)
        for part in message.parts
        if isinstance(part, ToolResult) and _NUMBERED.match(part.text)
    )
    calls = sum(count(part.arguments) for part in message.parts if isinstance(part, ToolCall))
    return {"reads": reads, "calls": calls, "rest": max(0, tokens - reads - calls)}


def recording(session: Session, name: str, *, counter: Counter | None = None) -> Recording:
    """What is known until the client's first compaction, counted in tokens of ours by default."""
    counter, found = counter or load_counter(), Recording(format=name, model=session.model)
    sums: dict[str, int] = dict.fromkeys(KINDS, 0)
    end = min((record.through_seq for record in session.compactions if record.through_seq), default=None)
    for message in session.messages[:end]:
        if message.role == "assistant" and message.usage is not None and message.usage.prompt:
            found.requests.append((dict(sums), message.usage.prompt))
        added = kinds_of(message, message_cost(message, counter).tokens, count=counter.count)
        sums = {each: sums[each] + added[each] for each in KINDS}
    return found


def one_factor(recordings: Sequence[Recording]) -> float:
    found = [each for one in recordings for each in one.stretches(STRETCHES[0])]
    return sum(each.reported for each in found) / sum(each.tokens for each in found)


def by_kind(recordings: Sequence[Recording]) -> list[float]:
    """A factor for each kind: least squares of the relative errors, drawn towards the one factor."""
    whole, size = one_factor(recordings), len(KINDS)
    matrix = [[PRIOR_TOKENS * (row == column) for column in range(size)] for row in range(size)]
    right = [PRIOR_TOKENS * whole] * size
    rows: list[list[float]] = [[float(each) for each in row] for row in matrix]
    for each in (stretch for one in recordings for stretch in one.stretches(STRETCHES[0])):
        values = [each.kinds[kind] for kind in KINDS]
        for row, value in enumerate(values):
            right[row] += value * each.reported / each.tokens
            for column, other in enumerate(values):
                rows[row][column] += value * other / each.tokens
    for pivot in range(size):
        for row in range(pivot + 1, size):
            share = rows[row][pivot] / rows[pivot][pivot]
            right[row] -= share * right[pivot]
            rows[row] = [a - share * b for a, b in zip(rows[row], rows[pivot], strict=True)]
    found = [0.0] * size
    for row in reversed(range(size)):
        known = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (right[row] - known) / rows[row][row]
    return found


def errors(
    tried: Sequence[Recording], factors: Callable[[Recording], Sequence[float]], *, least: int
) -> list[float]:
    """Relative errors of the stretches, each by the factors that its recording is given."""
    found: list[float] = []
    for one in tried:
        weights = factors(one)
        for each in one.stretches(least):
            guess = sum(weight * each.kinds[kind] for kind, weight in zip(KINDS, weights, strict=True))
            found.append(guess / each.reported - 1)
    return found


def learned_apart(known: Sequence[Recording], one: Recording, *, formats: bool) -> list[Recording]:
    return [each for each in known if (each.format != one.format if formats else each is not one)]


def report_family(name: str, known: Sequence[Recording]) -> None:
    kinds = ", ".join(f"{kind} {factor:.2f}" for kind, factor in zip(KINDS, by_kind(known), strict=True))
    print(f"{name}: {len(known)} sessions, one factor {one_factor(known):.3f}; by kind: {kinds}")
    ways: dict[str, Callable[[Recording], Sequence[float]]] = {
        "plain o200k_base": lambda _: [1.0] * 3,
        "as it is now": lambda one: [first_factor(one.model)] * 3,
        "one factor, by session": lambda one: [one_factor(learned_apart(known, one, formats=False))] * 3,
        "by kind, by session": lambda one: by_kind(learned_apart(known, one, formats=False)),
    }
    if len({one.format for one in known}) > 1:
        ways["one factor, by format"] = lambda one: [one_factor(learned_apart(known, one, formats=True))] * 3
        ways["by kind, by format"] = lambda one: by_kind(learned_apart(known, one, formats=True))
    for title, factors in ways.items():
        cells = [f"{p90(errors(known, factors, least=least)):.1%}" for least in STRETCHES]
        print(f"| {name} | {title} | {' | '.join(cells)} |")


def vocabularies(site: Path | None) -> Iterator[tuple[str, Count]]:
    """The counters of the extras that are installed, and of ctok if it is in this folder."""
    for name, source in PUBLISHED.items():
        if source.path is not None:
            yield name, load_counter(cast("Name", name)).count
    if site is not None:
        for version in ("4.6", "4.7"):
            yield f"claude, ctok {version}", _ctok(version)


def _ctok(version: str) -> Count:
    ctok: Any = __import__("ctok")
    frame = ctok.token_count("a", version) - 1
    return lambda text: ctok.token_count(text, version) - frame


class CtokCounter:
    """Counts as ctok does, each text once; how long that took."""

    name = "ctok"

    def __init__(self, version: str) -> None:
        self._count = lru_cache(maxsize=None)(_ctok(version))
        self.bytes = 0
        self.seconds = 0.0

    def count(self, text: str) -> int:
        """Tokens of ``text``; what is no Unicode counts as the replacement character."""
        whole = text.encode("utf-8", "replace")
        begun, misses = time.process_time(), self._count.cache_info().misses
        found = self._count(whole.decode())
        if self._count.cache_info().misses > misses:
            self.seconds += time.process_time() - begun
            self.bytes += len(whole)
        return max(0, found)


def report_ctok(read: Sequence[tuple[str, Session]]) -> None:
    """The stretches of Claude's sessions once more, with ctok's tokens in place of ours."""
    counter = CtokCounter("4.6")
    known = [recording(one, name, counter=counter) for name, one in read if "claude" in one.model]
    report_family("claude, ctok", [one for one in known if any(one.stretches(STRETCHES[0]))])
    print(f"ctok counted {counter.bytes / 1e6 / counter.seconds:.2f} MB/s of the processor's time")


def sample(session: Session, most: int) -> str:
    """About so many characters of what the session says, calls and outputs included, spread evenly over it."""
    texts = [
        part.arguments if isinstance(part, ToolCall) else part.text
        for each in session.messages
        for part in each.parts
        if isinstance(part, (Text, Reasoning, ToolCall, ToolResult))
    ]
    pieces = [text[at : at + PIECE] for text in texts for at in range(0, len(text), PIECE)]
    return "\n".join(pieces[:: 1 + len(pieces) * PIECE // most])


def report_vocabularies(site: Path | None, known: Sequence[Session]) -> None:
    plain = load_counter("o200k_base")
    for name, count in vocabularies(site):
        sums: list[tuple[int, int]] = []
        for session in known:
            text = sample(session, SAMPLE // 20 if name.startswith("claude") else SAMPLE)
            sums.append((count(text), plain.count(text)))
        own, ours = (sum(column) for column in zip(*sums, strict=True))
        apart = [(own - a) / (ours - b) * b / a - 1 for a, b in sums if a]
        alone = [b / a - 1 for a, b in sums if a]
        print(f"| {name} | {own / ours:.3f} | {p90(alone):.1%} | {p90(apart):.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ctok", type=Path, help="the site-packages where it is installed")
    site: Path | None = parser.parse_args().ctok
    if site is not None:
        sys.path.append(str(site))
    read = [(name, each) for name in FOLDERS for each in sessions(DATA / name, without=MASKED)]
    known = [recording(session, name) for name, session in read]
    print(
        f"| family | factors | {' | '.join(f'{least:,} tokens, p90' for least in STRETCHES)} |\n|---|---|---|---|---|"
    )
    for family in ("claude", "gpt"):
        report_family(
            family, [one for one in known if family in one.model and any(one.stretches(STRETCHES[0]))]
        )
    if site is not None:
        report_ctok(read)
    print(
        "| vocabulary | of one token | p90 without a factor | p90 with one, by session |\n|---|---|---|---|"
    )
    report_vocabularies(site, [session for _, session in read])


if __name__ == "__main__":
    main()
