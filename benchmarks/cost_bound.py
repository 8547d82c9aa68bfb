"""What the cheapest times to compact would have cost, known afterwards: the bound for any rhythm of `benchmarks.cost`.

    python -m benchmarks.cost_bound --model gpt-5.2 --client claude_code
    python -m benchmarks.cost_bound --hour

Of all ways to compact a session before some of its requests the cheapest is taken, for each number of compactions: same
prices, same cache, same prompt and tools. A compaction leaves what the engine's left beside prompt and tools on the average
of that session, whatever the moment. So what is missing to the bound is what the engine does not know: when the session
ends, and what is read next.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from autocompact.core.prices import CacheRates, Price, cache_rates, price_for
from autocompact.settings import Settings, gateway_mode_of
from autocompact.what_if.course import requests
from benchmarks.cost import (
    CLAUDE_FACTOR,
    LEAST_FIXED,
    Session,
    Weights,
    by_client,
    by_gateway,
    recorded,
    scripted,
)

MOST = 8
"""Compactions that are tried in a session."""

ROOM = 184_000
"""Tokens of a context: the window less the reserve."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """The requests of a session: tokens of the log before each, and whether the cache still holds the one before.

    Attributes:
        session: whose.
        rates: of the cache.
        price: of the model.
        weights: counts messages.
        left: tokens beside prompt and tools in the request after a compaction.
    """

    session: Session
    rates: CacheRates
    price: Price
    weights: Weights
    left: int

    @cached_property
    def logged(self) -> Sequence[int]:
        sums = [0]
        for message in self.session.messages:
            sums.append(sums[-1] + self.weights.of(message)[1])
        return [sums[index] for index, _ in requests(self.session.messages)]

    @cached_property
    def live(self) -> Sequence[bool]:
        times = [at for _, at in requests(self.session.messages)]
        pauses = ((later - at).total_seconds() for at, later in pairwise(times))
        return [False, *(pause <= self.rates.seconds for pause in pauses)]

    @cached_property
    def replies(self) -> float:
        """Dollars for what the model writes."""
        places = [index for index, _ in requests(self.session.messages)]
        tokens = sum(self.weights.of(self.session.messages[index])[1] for index in places)
        return tokens * self.price.output / 1e6

    def tokens(self, begun: int, request: int) -> int:
        """Tokens of a request, with a compaction before request ``begun``; -1 for none."""
        if begun < 0:
            return self.session.fixed + self.logged[request]
        return self.session.fixed + self.left + self.logged[request] - self.logged[begun]

    def stretch(self, begun: int, *, first: bool) -> Iterator[tuple[int, float]]:
        """Each request up to which one context may last, and dollars until then; the number of requests is the end.

        With the first compaction the memory tools come, so that prompt and tools are written again.
        """
        spent = 0.0
        for request in range(max(begun, 0), len(self.logged)):
            yield request, spent
            total = self.tokens(begun, request)
            if total > ROOM:
                return
            if request == begun:
                read = 0 if first else self.session.fixed
            else:
                read = self.tokens(begun, request - 1) if request else 0
            read *= self.live[request]
            spent += (read * self.rates.read + (total - read) * self.rates.write) * self.price.input / 1e6
        yield len(self.logged), spent

    def cheapest(self) -> list[float]:
        """Dollars of the session by the number of compactions, 0 to `MOST`; infinite where they are too few to fit."""
        end = len(self.logged)
        reached = {request: spent for request, spent in self.stretch(-1, first=False) if request}
        found = [reached.get(end, math.inf)]
        for number in range(1, MOST + 1):
            following: dict[int, float] = {}
            for begun, before in reached.items():
                if begun == end:
                    continue
                for request, spent in self.stretch(begun, first=number == 1):
                    if request > begun:
                        following[request] = min(following.get(request, math.inf), before + spent)
            reached = following
            found.append(reached.get(end, math.inf))
        return [spent + self.replies for spent in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--model", default="claude-opus-4-5")
    parser.add_argument("--hour", action="store_true", help="the client's marks ask for an hour")
    parser.add_argument("--client", choices=sorted(LEAST_FIXED), default="claude_code")
    options = parser.parse_args()
    rates, priced = cache_rates(options.model), price_for(options.model)
    if rates is None or priced is None:
        raise SystemExit(f"the prices of {options.model!r} are not known")
    rates = rates.for_an_hour if options.hour and rates.marked else rates
    weights = Weights(CLAUDE_FACTOR if "claude" in options.model else 1.0)
    sessions = [
        scripted(options.turns),
        *recorded(options.sessions, turns=options.turns, client=options.client),
    ]
    mode, sums = gateway_mode_of(Settings()), [0.0] * 5
    print("| session | breaks | gateway | as many, known afterwards | at most 4 | any number |")
    print("|---|---|---|---|---|---|")
    for session in (each.of(weights.factor) for each in sessions):
        own = by_client(session, rates=rates, weights=weights).dollars(priced.price, rates.write)
        bill = asyncio.run(by_gateway(session, model=options.model, mode=mode, rates=rates, weights=weights))
        beside = [floor - session.fixed for floor in bill.floors]
        left = sum(beside) // max(1, len(beside))
        course = Course(session=session, rates=rates, price=priced.price, weights=weights, left=left)
        best = course.cheapest()
        ways = [
            bill.dollars(priced.price, rates.write),
            best[min(MOST, len(beside))],
            min(best[:5]),
            min(best),
        ]
        shares = " | ".join(f"{dollars / own:.0%}" for dollars in ways)
        print(f"| {session.name} | {bill.breaks} | {shares} |", flush=True)
        sums = [before + more for before, more in zip(sums, [own, *ways], strict=True)]
    print(f"| all | | {' | '.join(f'{each / sums[0]:.1%}' for each in sums[1:])} |")


if __name__ == "__main__":
    main()
