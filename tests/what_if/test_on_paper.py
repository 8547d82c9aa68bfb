"""Ten requests whose tokens, cache, money and waits were worked out on paper: what a simulation says is held against that.

A word is a token and a message three more, so that a question takes 100 tokens, a reply 50 and the system prompt 20; tools take
1,000. There is a question each minute, but for a pause of ten minutes before the fifth. The provider is one of Anthropic's kind:
its cache serves what the last request had, for five minutes, and behind a change nothing but the system prompt.
Before the eighth request the recording program folded everything into a summary of 30 words, within 20 seconds.

    request   tokens   served   why
    1          1,120        0   the first: 1,000 + 20 + 100
    2          1,270    1,120   50 of the reply and 100 of the question are new
    3          1,420    1,270
    4          1,570    1,420
    5          1,720        0   ten minutes: the cache is gone
    6          1,870    1,720
    7          2,020    1,870
    summary    2,170    2,020   its request repeats the context before, and the question is there already
    8              P    1,020   system prompt and tools; the summary and the question are new
    9        P + 150        P
    10       P + 300  P + 150
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from autocompact.core.messages import Message, Role
from autocompact.core.prices import CacheRates, Price
from autocompact.core.tokens import MESSAGE_TOKENS
from autocompact.sessions import Session
from autocompact.what_if.billing import Pricing
from autocompact.what_if.course import Course, course_of
from autocompact.what_if.policies import Kind, WhatIf
from autocompact.what_if.simulation import Outcome, simulate
from tests.core.strategies import numbered, said
from tests.what_if.recordings import START, made

PRICING = Pricing(
    price=Price(input=10, output=50, cached=1),
    rates=CacheRates(read=0.1, write=1.25, seconds=300, marked=True),
)


class Words:
    """Counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def weighing(role: Role, tokens: int, number: int) -> Message:
    return said(role, " ".join([f"{role}{number}", *["word"] * (tokens - MESSAGE_TOKENS - 1)]))


def ten_requests() -> Course:
    log = [weighing("system", 20, 0)]
    for number in range(1, 11):
        log += [weighing("user", 100, number), weighing("assistant", 50, number)]
    timed: list[Message] = []
    for message in numbered(log):
        turn, is_reply = divmod(message.seq, 2)
        minutes = turn + (10 if turn >= 5 else 0)
        at = START + timedelta(minutes=minutes, seconds=10 if is_reply else 0)
        timed.append(replace(message, time=at.isoformat()))
    # 20 seconds after the seventh reply
    record = made(15, text=" ".join(["folded"] * 30), minutes=17 + 30 / 60)
    recorded = Session(format="openai", messages=tuple(timed), compactions=(record,), model="gpt-4.1")
    return course_of(recorded, name="ten", counter=Words(), window=100_000, fixed=1_000)


async def under(kind: Kind) -> Outcome:
    course = ten_requests()
    assert course.usage.factor == 1
    return await simulate(course, WhatIf(name=kind, kind=kind), pricing=PRICING)


def tokens_and_served(outcome: Outcome) -> list[tuple[int, int]]:
    return [(point.layers.total, point.read) for point in outcome.points]


@pytest.mark.anyio
@pytest.mark.requirement("E10")
async def test_ten_requests_without_compaction_are_as_worked_out_on_paper() -> None:
    outcome = await under("none")
    assert tokens_and_served(outcome) == [
        (1_120, 0), (1_270, 1_120), (1_420, 1_270), (1_570, 1_420), (1_720, 0),
        (1_870, 1_720), (2_020, 1_870), (2_170, 2_020), (2_320, 2_170), (2_470, 2_320),
    ]  # fmt: skip
    # served: 5,530 + 1,870 + 2,020 + 2,170 + 2,320; in all 17,950 tokens
    assert (outcome.bill.read, outcome.bill.written, outcome.bill.output) == (13_910, 4_040, 500)
    # 13,910 at 1 dollar a million, 4,040 at 12.50, 500 at 50
    assert outcome.dollars == pytest.approx(0.013910 + 0.050500 + 0.025000)
    assert (outcome.compactions, outcome.breaks, outcome.seconds, outcome.peak) == (0, 0, 0, 2_470)


@pytest.mark.anyio
@pytest.mark.requirement("E10")
async def test_ten_requests_with_the_recorded_summary_are_as_worked_out_on_paper() -> None:
    outcome = await under("recorded")
    summary = outcome.points[7].layers.summary
    assert 30 + MESSAGE_TOKENS <= summary < 300  # the 30 words, and the frame around them
    after = 1_000 + 20 + summary + 100
    assert tokens_and_served(outcome) == [
        (1_120, 0), (1_270, 1_120), (1_420, 1_270), (1_570, 1_420), (1_720, 0),
        (1_870, 1_720), (2_020, 1_870), (after, 1_020), (after + 150, after), (after + 300, after + 150),
    ]  # fmt: skip
    # 7,400 of the first seven, 2,020 of the summary's request, 1,020, and two that grow
    read = 7_400 + 2_020 + 1_020 + after + after + 150
    # 1,120, three times 150, 1,720, twice 150, 150 of the summary's, what is new in the eighth, twice 150
    written = 1_120 + 450 + 1_720 + 300 + 150 + (after - 1_020) + 300
    assert (outcome.bill.read, outcome.bill.written, outcome.bill.output) == (read, written, 530)
    assert outcome.dollars == pytest.approx((read * 1 + written * 12.5 + 530 * 50) / 1_000_000)
    assert (outcome.requests, outcome.compactions, outcome.breaks, outcome.seconds) == (11, 1, 1, 20)
    (loss,) = outcome.losses
    assert (loss.request, loss.before, loss.after, loss.left) == (8, 2_170, after, 14)
    assert outcome.peak == 2_170
