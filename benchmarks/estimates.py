"""How far the estimate of the next request is from what the provider then reports, on recorded sessions.

    python -m benchmarks.estimates [--unlearned]

Each session is followed until its client's first compaction, behind which nobody knows what it sent. *Next request*: the
gauge as it is used, with what was reported before. *Whole*: the same request with nothing reported for its context, as
after a compaction, by what was learned of the model until then; with the margin of 5 % that is on every estimate, and
without. Only contexts of 20,000 tokens and more count there.

``--unlearned`` takes the models' names away, so that no factor is used that was learned from these sessions: what is left is what
each session's own reports say.

Of five of Codex's recordings (`MASKED`) the words are not those that were counted; they have a row of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from autocompact.core.tokens import message_cost
from autocompact.core.usage import Gauge, Load
from autocompact.errors import AutocompactError
from autocompact.models.vocabulary import default_counter
from autocompact.sessions import Session, read_session
from benchmarks.speed import verdict

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
LEAST = 20_000
MASKED = "agentcmd__"
"""Recordings whose words were replaced by others of their length: the reports are of the words that were sent."""


@dataclass(slots=True, kw_only=True)
class Errors:
    """Relative errors, one a request."""

    next_request: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])
    without_margin: list[float] = field(default_factory=list[float])


def p90(errors: Sequence[float]) -> float:
    """90th percentile of their sizes."""
    return sorted(map(abs, errors))[int(0.9 * len(errors))] if errors else 0.0


def follow(session: Session, errors: Errors) -> None:
    """Add the errors of one session."""
    counter, gauge, tokens = default_counter(session.model), Gauge(), 0
    end = min((record.through_seq for record in session.compactions if record.through_seq), default=None)
    for message in session.messages[:end]:
        weight = message_cost(message, counter).tokens
        if message.role == "assistant" and message.usage is not None and message.usage.prompt:
            prompt, load = message.usage.prompt, Load(tokens=tokens, model=session.model)
            if gauge.anchor is not None:
                errors.next_request.append(gauge.read(load).used / prompt - 1)
            if gauge.anchor is not None and tokens > LEAST:
                known = tokens * gauge.calibration.factor(session.model) + (gauge.unseen or 0)
                errors.without_margin.append(known / prompt - 1)
                anew = Load(tokens=tokens, context="anew", model=session.model)
                errors.whole.append(gauge.rebased("anew").read(anew).used / prompt - 1)
            gauge = gauge.report(message.usage, sent=load, reply=weight)
        tokens += weight


def sessions(folder: Path, *, without: str = "\0") -> Iterator[Session]:
    """All that can be read, but those whose name begins with ``without``."""
    for path in sorted(each for each in folder.glob("*.jsonl") if not each.name.startswith(without)):
        try:
            yield read_session(path)
        except AutocompactError as error:
            print(f"{path.name}: {error}")


def main() -> None:
    unlearned = "--unlearned" in sys.argv[1:]
    print("| sessions of | requests | next request, p90 | whole, p90 | too low | without margin, p90 |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    rows = {name: list(sessions(DATA / name, without=MASKED)) for name in ("claude_code", "codex", "pi")}
    rows["codex, words replaced"] = [
        read_session(path) for path in sorted((DATA / "codex").glob(f"{MASKED}*"))
    ]
    for name, known in rows.items():
        errors = Errors()
        for session in known:
            follow(replace(session, model="") if unlearned else session, errors)
        low = sum(error < 0 for error in errors.whole) / max(1, len(errors.whole))
        figures = f"{p90(errors.next_request):.1%} | {p90(errors.whole):.1%} | {low:.0%}"
        print(f"| {name} | {len(errors.next_request):,} | {figures} | {p90(errors.without_margin):.1%} |")
        worst = max(worst, p90(errors.next_request) if "replaced" not in name else 0.0)
    verdict("of the next request, p90, the worst of those with the words that were sent", worst, most=0.05)


if __name__ == "__main__":
    main()
