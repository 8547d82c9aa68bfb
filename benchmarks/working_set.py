"""Whether a working set pays: readings spared after real compactions, by the tokens that it takes.

    python -m benchmarks.working_set [--data DIR] [--weights]

At each recorded compaction of the data pack the files that the agent will need next are foreseen from what was said
before, and stay in the context beside the summary, as `autocompact.compaction.working_set` does it. Then the agent's next
40 tool calls are looked at: a reading is *spared* if nine tenths of the lines that it shows stand in what stayed. It would
have taken its tokens again, and so a working set pays where it spares more tokens than it takes.

A *reference* is a line that names the file and where the archive has its latest version. To open it takes the tokens of the
reading again, so it spares none; it is counted if the archive has nine tenths of the lines.

The weights are learned on other sessions (`by session`: a fifth left out in turn) and on other programs (`by format`: each
left out in turn): each session is cut at its compactions and at 40, 55, 70 and 85 % of each segment. ``--weights``
prints those of all sessions, which the package has.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from msgspec import structs

from autocompact.compaction.transcript import Transcript
from autocompact.compaction.working_set import EXCERPT_TOKENS, wanted_terms, working_set
from autocompact.core.messages import Message
from autocompact.core.redacted import Redactor
from autocompact.core.tokens import Counter as Tokens
from autocompact.ledger.account import account
from autocompact.ledger.changes import edits_of
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import Reading
from autocompact.ledger.paths import spellings
from autocompact.ledger.scan import Call, Scan, scan
from autocompact.ledger.working_set import FACTS, FileNeed, Weights, foreseen
from autocompact.ledger.wrapping import unnumbered
from autocompact.models.vocabulary import load_counter
from autocompact.sessions import read_session
from benchmarks.learn_weights import solved
from benchmarks.retention_cases import CALLS, DATA

FILES = ("claude_code/*.jsonl", "codex/agentv__*.jsonl", "pi/*.jsonl")
SHARES = (0.4, 0.55, 0.7, 0.85)
BUDGETS = (1_000, 2_000, 4_000, 8_000, 16_000)
WHOLE = 1_000_000
COVERED = 0.9
LEAST_CALLS, LEAST_NEXT = 15, 5
REFERENCE_TOKENS = 25
ACCOUNT_TOKENS = 6_000
RIDGE, STEPS = 3.0, 6


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A session cut in two.

    Attributes:
        session: its file.
        format: of the session.
        is_real: its program compacted it there.
        head: the messages that leave the context.
        after: the messages that follow, up to the next compaction.
    """

    session: str
    format: str
    is_real: bool
    head: tuple[Message, ...]
    after: tuple[Message, ...]

    @cached_property
    def redactor(self) -> Redactor:
        """Gives the messages of the head without secrets, each once."""
        return Redactor()

    def log(self, counter: Tokens) -> Transcript:
        """The head as a log."""
        log = Transcript(counter=counter)
        for message in self.head:
            log.append(message)
        return log

    @cached_property
    def found(self) -> Scan:
        """What the head holds."""
        return scan(self.head, redactor=self.redactor)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the head."""
        return Reading(self.found).ledger()

    @cached_property
    def files(self) -> tuple[FileNeed, ...]:
        """What is known of each file."""
        return foreseen(self.found.calls, self.ledger.entries)

    @cached_property
    def next_calls(self) -> Sequence[Call]:
        """The agent's next calls."""
        return scan(self.after, with_names=False).calls[:CALLS]

    @cached_property
    def readings(self) -> tuple[tuple[str, frozenset[str], str], ...]:
        """Readings of files that the head touched: the file as the head names it, the lines, the text."""
        calls = [call for call in self.next_calls if not call.is_error]
        touched = [path for call in (*self.found.calls, *calls) for path, _ in call.action.files]
        same = spellings(touched)
        known = {same.get(path, path) for call in self.found.calls for path, _ in call.action.files}
        found = (
            (same.get(files[0][0], files[0][0]), frozenset(lines(call.output)), call.output)
            for call in calls
            if len(files := call.action.files) == 1
            and files[0][1] == "read"
            and call.action.verb in ("read", "run")
        )
        return tuple(each for each in found if each[0] in known and each[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """What a method spares, and what it takes."""

    readings: int = 0
    tokens: int = 0
    taken: int = 0

    def __add__(self, other: Spared) -> Spared:
        return Spared(
            readings=self.readings + other.readings,
            tokens=self.tokens + other.tokens,
            taken=self.taken + other.taken,
        )

    def row(self, name: str) -> str:
        """A line of the table."""
        share = 1_000 / self.taken if self.taken else 0.0
        return f"{name:34}{self.taken:9,}{self.readings:9}{self.readings * share:9.2f}{self.tokens:9,}{self.tokens * share / 1_000:9.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 where the data pack is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--weights", action="store_true", help="print the weights of all sessions, and no more"
    )
    options = parser.parse_args(arguments)
    if not (options.data / "compactions.jsonl").is_file():
        print(f"no data pack at {options.data}: pass --data", file=sys.stderr)
        return 2
    found = list(cuts(options.data))
    if options.weights:
        print(learned(found))
        return 0
    counter = load_counter()
    print_counts(found, counter=counter)
    for name, fold in FOLDS.items():
        print_fold(name, found, fold=fold, counter=counter)
    return 0


def cuts(data: Path) -> Iterator[Cut]:
    """The cuts of all sessions that tell enough before and after."""
    for path in sorted(path for pattern in FILES for path in data.glob(pattern)):
        session = read_session(path)
        made = {
            c.through_seq for c in session.compactions if c.status != "undone" and c.receipt.rung != "mask"
        }
        bounds = [0, *sorted(made), len(session.messages)]
        places = [
            (low, low + int((high - low) * share), high, False)
            for low, high in pairwise(bounds)
            for share in SHARES
        ]
        places += [(*three, True) for three in zip(bounds, bounds[1:], bounds[2:], strict=False)]
        for low, at, high, is_real in places:
            cut = Cut(
                session=path.stem,
                format=session.format,
                is_real=is_real,
                head=tuple(structs.replace(m, seq=m.seq - low) for m in session.messages[low:at]),
                after=session.messages[at:high],
            )
            if is_real or (len(cut.found.calls) >= LEAST_CALLS and len(cut.next_calls) >= LEAST_NEXT):
                yield cut


def learned(found: Iterable[Cut]) -> Weights:
    """The weights by which what is read again in these cuts is foreseen best."""
    rows: list[tuple[tuple[float, ...], bool]] = []
    for cut in found:
        again = {path for path, _, _ in cut.readings}
        rows += [((*file.facts, 1.0), file.path in again) for file in cut.files]
    *facts, bias = logistic(rows, size=len(FACTS) + 1)
    return Weights(facts=tuple(round(weight, 2) for weight in facts), bias=round(bias, 2))


def logistic(rows: Sequence[tuple[tuple[float, ...], bool]], *, size: int) -> list[float]:
    """Logistic regression with a ridge: `STEPS` steps of Newton's method from zero."""
    beta = [0.0] * size
    for _ in range(STEPS):
        hessian = [[RIDGE if row == column else 0.0 for column in range(size)] for row in range(size)]
        gradient = [-RIDGE * value for value in beta]
        for values, happened in rows:
            score = sum(weight * value for weight, value in zip(beta, values, strict=True))
            chance = 1 / (1 + math.exp(-score))
            for one, value in enumerate(values):
                gradient[one] += value * (happened - chance)
                for other, factor in enumerate(values):
                    hessian[one][other] += chance * (1 - chance) * value * factor
        beta = [value + step for value, step in zip(beta, solved(hessian, gradient), strict=True)]
    return beta


def lines(text: str) -> set[str]:
    """The lines of a text that say something."""
    return {line.strip() for line in unnumbered(text).splitlines() if len(line.strip()) > 3}


def shown_lines(calls: Iterable[Call], *, path: str, texts: Mapping[str, str]) -> set[str]:
    """The lines of the latest version of ``path`` as ``calls`` show it; ``texts`` are the outputs as they stay, by call."""
    known: set[str] = set()
    for call in calls:
        for changed, _, hunks in edits_of(call.action):
            if changed.rsplit("/", 1)[-1] == path.rsplit("/", 1)[-1]:
                for old, new in hunks:
                    gone = known if old is None else lines(old) - lines(new)
                    known = (known - gone) | lines(new)
        if any(effect == "read" for _, effect in call.action.files):
            known |= lines(texts.get(call.id, ""))
    return known


def spared(cut: Cut, shown: Mapping[str, set[str]], *, counter: Tokens, taken: int) -> Spared:
    """What ``shown`` (lines by file) spares of the readings that follow."""
    texts = [
        text
        for path, wanted, text in cut.readings
        if path in shown and len(wanted & shown[path]) >= COVERED * len(wanted)
    ]
    return Spared(readings=len(texts), tokens=sum(map(counter.count, texts)), taken=taken)


def kept(cut: Cut, *, weights: Weights, budget: int, excerpt_tokens: int, counter: Tokens) -> Spared:
    """What a working set spares at this cut."""
    log = cut.log(counter)
    files = foreseen(cut.found.calls, cut.ledger.entries, weights=weights)
    found = working_set(
        cut.head,
        files,
        log=log,
        through_seq=len(log),
        budget=budget,
        wanted=wanted_terms(cut.ledger.entries),
        redactor=cut.redactor,
        excerpt_tokens=excerpt_tokens,
        least_need=0.0,
    )
    masks = {mask.seq: mask.stub for mask in found.masks if "left the context" not in mask.stub}
    shown = {
        str(file.path): shown_lines(
            file.calls,
            path=file.path,
            texts={call.id: masks.get(call.answered, call.output) for call in file.calls},
        )
        for file in files
        if file.path in found.paths
    }
    return spared(cut, shown, counter=counter, taken=found.tokens)


def referred(cut: Cut, *, weights: Weights, budget: int, counter: Tokens) -> Spared:
    """What references would open: the archive has it, but its tokens are read again."""
    files = [file for file in foreseen(cut.found.calls, cut.ledger.entries, weights=weights) if file.calls]
    chosen = files[: budget // REFERENCE_TOKENS]
    shown = {str(file.path): _archived(file) for file in chosen}
    found = spared(cut, shown, counter=counter, taken=REFERENCE_TOKENS * len(chosen))
    return replace(found, tokens=0)


def _archived(file: FileNeed) -> set[str]:
    return shown_lines(file.calls, path=file.path, texts={call.id: call.output for call in file.calls})


def fold_of(cut: Cut) -> str:
    """One of five groups of sessions."""
    return str(zlib.crc32(cut.session.encode()) % 5)


FOLDS: Mapping[str, Callable[[Cut], str]] = {"session": fold_of, "format": lambda cut: cut.format}


def print_fold(name: str, found: Sequence[Cut], *, fold: Callable[[Cut], str], counter: Tokens) -> None:
    """Print what is spared with weights that saw no cut of the same fold."""
    print(
        f"\nleft out by {name:21}{'taken':>10}{'readings':>9}{'per 1k':>9}{'tokens':>9}{'spared/taken':>13}"
    )
    real = [cut for cut in found if cut.is_real]
    weights = {key: learned(cut for cut in found if fold(cut) != key) for key in {fold(cut) for cut in real}}
    for form, excerpt_tokens in (("whole", WHOLE), ("excerpts", EXCERPT_TOKENS)):
        for budget in BUDGETS:
            each = [
                kept(
                    cut,
                    weights=weights[fold(cut)],
                    budget=budget,
                    excerpt_tokens=excerpt_tokens,
                    counter=counter,
                )
                for cut in real
            ]
            print(sum(each, Spared()).row(f"{form}, {budget:,} tokens"), flush=True)
    for budget in (100, 250, 500):
        each = [referred(cut, weights=weights[fold(cut)], budget=budget, counter=counter) for cut in real]
        print(sum(each, Spared()).row(f"references, {budget:,} tokens"))


def print_counts(found: Sequence[Cut], *, counter: Tokens) -> None:
    """Print what there is to spare."""
    real = [cut for cut in found if cut.is_real]
    programs = Counter(cut.format for cut in real)
    again = [reading for cut in real for reading in cut.readings]
    print(
        f"{len(real)} real compactions ({dict(programs)}), {len(found) - len(real)} other cuts to learn from"
    )
    tokens = sum(counter.count(text) for _, _, text in again)
    print(f"readings of known files in the next {CALLS} calls: {len(again)}, {tokens:,} tokens")
    most = sum((all_shown(cut, counter=counter) for cut in real), Spared())
    print(
        f"of these the log has {most.readings}, {most.tokens:,} tokens, in readings and edits of {most.taken:,}"
    )
    named = [
        path.rsplit("/", 1)[-1] in told
        for cut in real
        for told in (told_of(cut, counter),)
        for path in again_of(cut)
    ]
    print(f"of {len(named)} files read again the account of {ACCOUNT_TOKENS:,} tokens names {sum(named)}")


def again_of(cut: Cut) -> set[str]:
    """The files that are read again."""
    return {path for path, _, _ in cut.readings}


def told_of(cut: Cut, counter: Tokens) -> str:
    """The account of the head."""
    return account(cut.ledger, budget=ACCOUNT_TOKENS, counter=counter)


def all_shown(cut: Cut, *, counter: Tokens) -> Spared:
    """What would be spared if each file that is read again stayed as far as the log has it, and nothing else."""
    again = again_of(cut)
    files = [file for file in cut.files if file.path in again]
    taken = sum(counter.count(call.output) for file in files for call in file.calls)
    return spared(cut, {str(file.path): _archived(file) for file in files}, counter=counter, taken=taken)


if __name__ == "__main__":
    sys.exit(main())
