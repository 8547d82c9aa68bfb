"""A session under several policies: what each request holds, reads and costs, and what compactions take."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import structs

from autocompact.compaction.record import Mask
from autocompact.core.messages import Text
from autocompact.core.redacted import own
from autocompact.core.redaction import redact
from autocompact.errors import InvalidInput
from autocompact.sessions import Session
from autocompact.settings.values import Engine
from autocompact.what_if.billing import Pricing
from autocompact.what_if.contexts import LONGEST_WAIT
from autocompact.what_if.figures import Together, figures_of, summed, winners
from autocompact.what_if.losses import Gone, Kept
from autocompact.what_if.policies import Kind, WhatIf, at_threshold, default_policies, read_policies
from autocompact.what_if.simulation import OVER, Outcome, simulate
from tests.what_if.recordings import course, made, prices, work

pytestmark = pytest.mark.anyio

RULE = "Never push to main without my approval."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def under(
    recorded: Session,
    kind: Kind = "engine",
    *,
    window: int = 20_000,
    fixed: int = 0,
    policy: WhatIf | None = None,
    pricing: Pricing | None = None,
) -> Outcome:
    chosen = policy or WhatIf(name=kind, kind=kind)
    return await simulate(course(recorded, window=window, fixed=fixed), chosen, pricing=pricing or prices())


@pytest.mark.requirement("E10")
async def test_without_compaction_requests_fail_once_the_window_is_full() -> None:
    outcome = await under(work(60), "none")
    assert outcome.failed > OVER
    assert outcome.requests + outcome.failed == 120
    assert 18_000 < outcome.peak <= 20_000
    sent = [point for point in outcome.points if not point.failed]
    assert [point.failed for point in outcome.points] == [False] * len(sent) + [True] * outcome.failed
    assert outcome.bill.prompt == sum(point.layers.total for point in sent)
    assert outcome.compactions == 0


async def test_between_compactions_the_cache_serves_all_of_the_request_before() -> None:
    outcome = await under(work(8), "none", fixed=5_000)
    assert outcome.points[0].read == 0
    assert [(b.read, a.layers.total) for a, b in pairwise(outcome.points)] == [
        (a.layers.total, a.layers.total) for a, _ in pairwise(outcome.points)
    ]
    assert outcome.points[0].layers.total > 5_000


async def test_a_pause_longer_than_the_cache_lives_makes_the_provider_read_it_all_anew() -> None:
    outcome = await under(work(4, minutes=40), "none", fixed=5_000)
    assert outcome.bill.read == 0
    assert outcome.dollars == pytest.approx((outcome.bill.prompt * 6.25 + outcome.bill.output * 25) / 1e6)


async def test_what_is_too_short_for_the_providers_cache_costs_the_input_price() -> None:
    outcome = await under(work(4), "none")  # 4,096 tokens is the least of this model's cache
    sent = [point.layers.total for point in outcome.points]
    assert sent[-2] < 4_096
    assert outcome.bill.read == 0
    held = sum(total for total in sent if total >= 4_096)
    dollars = held * 6.25 + (outcome.bill.prompt - held) * 5 + outcome.bill.output * 25
    assert outcome.dollars == pytest.approx(dollars / 1e6)


@pytest.mark.requirement("E10")
async def test_autocompact_keeps_every_request_within_the_window() -> None:
    outcome = await under(work(60), fixed=2_000, pricing=prices("claude-sonnet-4-5"))
    assert outcome.failed == 0
    assert outcome.requests == 120
    assert outcome.peak <= 17_500
    assert outcome.compactions == len(outcome.losses) >= 3
    assert outcome.breaks == outcome.compactions
    for loss in outcome.losses:
        point = outcome.points[loss.request - 1]
        assert point.layers.total == loss.after < loss.before
        assert point.layers.new == 0
        assert 2_000 <= point.read < 3_000  # system prompt and tools alone: Anthropic's marks
        assert loss.left > 0


async def test_a_cache_that_serves_any_beginning_reads_what_masks_left_alone() -> None:
    marked = await under(work(60), "masks")
    automatic = await under(work(60), "masks", pricing=prices("gpt-5.2"))
    assert marked.compactions == automatic.compactions > 1
    again = automatic.losses[1].request - 1
    assert automatic.points[again].read > marked.points[again].read


async def test_masks_alone_show_old_outputs_as_stubs_and_then_fail() -> None:
    outcome = await under(work(200), "masks")
    assert outcome.compactions > 1
    assert outcome.failed > 0
    last = outcome.points[-1].layers
    assert last.masked > 0
    assert last.summary == 0
    assert outcome.losses[0].rung == "mask"


async def test_the_recordings_own_compactions_come_when_they_were_made() -> None:
    recorded = work(12, compactions=[made(21, minutes=5.1), made(33, minutes=8.1, keep=(2,))])
    outcome = await under(recorded, "recorded")
    assert [loss.seq for loss in outcome.losses] == [22, 34]
    assert outcome.requests == 24 + 2  # each summary was asked for with the whole context
    assert outcome.seconds == pytest.approx(12.0, abs=0.1)
    assert outcome.points[10].layers.summary > 0
    first = outcome.losses[0]
    # of 21 messages the system prompt stays
    assert (first.left, outcome.losses[1].left) == (20, 11)


@pytest.mark.parametrize("minutes", [1.0, 5.0 + 2 * LONGEST_WAIT / 60])
async def test_a_wait_that_the_times_do_not_tell_is_not_guessed(minutes: float) -> None:
    recorded = work(12, compactions=[made(21, minutes=minutes)])
    timeless = replace(recorded, messages=tuple(structs.replace(each, time="") for each in recorded.messages))
    assert (await under(timeless, "recorded")).seconds is None


async def test_recorded_masks_and_undone_compactions_are_told_apart() -> None:
    mask = Mask(seq=4, part=0, stub=own("[cleared]"))
    cleared = made(0, text="", masks=(mask,), rung="mask", minutes=1.1)
    undone = replace(made(9, minutes=2.1), status="undone")
    outcome = await under(work(6, compactions=[undone, cleared]), "recorded")
    assert [loss.rung for loss in outcome.losses] == ["mask"]
    assert (outcome.requests, outcome.seconds) == (12, 0.0)


@pytest.mark.requirement("E10")
async def test_a_recorded_summary_that_is_put_right_keeps_the_rule_that_it_lost() -> None:
    recorded = work(60, compactions=[made(161, minutes=40.1)])
    ruled = (structs.replace(recorded.messages[1], parts=(Text(text=RULE),)), *recorded.messages[2:])
    recorded = replace(recorded, messages=(recorded.messages[0], *ruled))
    as_it_was, repaired = [await under(recorded, kind, window=100_000) for kind in ("recorded", "summaries")]
    assert as_it_was.rules == Kept(needed=1, kept=0)
    assert as_it_was.losses[0].unstated == (RULE,)
    assert repaired.rules == Kept(needed=1, kept=1)
    assert repaired.requests == as_it_was.requests


async def test_what_the_next_calls_use_is_needed_and_counts_as_kept_where_the_summary_has_it() -> None:
    told = made(81, minutes=20.1, text="We read file_0.py and file_1.py.")
    outcome = await under(work(40, files=20, compactions=[told]), "recorded", window=200_000)
    (loss,) = outcome.losses
    assert loss.needs == Kept(needed=19, kept=1)  # file_0.py was asked for again, so it stands in the context
    assert (
        dict(zip(loss.missing, loss.missed, strict=True))[redact("file_10.py")] == 61
    )  # the first of the 31st turn
    assert len(loss.missing) == 8


async def test_files_read_again_are_told_apart_by_whether_the_context_had_them() -> None:
    recorded = work(40, files=20, compactions=[made(81, minutes=20.1)])
    lost = await under(recorded, "recorded", window=200_000)
    held = await under(recorded, "none", window=200_000)
    assert (lost.reads_again, lost.reads_spared) == (20, 0)
    assert (held.reads_again, held.reads_spared) == (0, 20)
    assert lost.files[redact("file_3.py")] == 1
    assert lost.reads_again_tokens > 10_000


async def test_the_same_session_gives_the_same_figures() -> None:
    one, two = [figures_of(await under(work(40))) for _ in range(2)]
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


async def test_a_session_of_an_unknown_model_has_no_cost() -> None:
    outcome = await under(work(4), pricing=prices("nobody-1"))
    assert outcome.dollars is None
    assert outcome.points[-1].dollars is None


async def test_settings_say_when_the_engine_compacts() -> None:
    early = WhatIf(name="early", settings=at_threshold(6_000, engine=Engine(background=False)))
    late = WhatIf(name="late", settings=at_threshold(15_000, engine=Engine(background=False)))
    ended = [await under(work(60), policy=policy) for policy in (early, late)]
    assert ended[0].compactions > ended[1].compactions
    assert ended[0].peak < ended[1].peak


async def test_a_window_that_holds_not_even_the_prompt_fails_for_good() -> None:
    outcome = await under(work(20), policy=WhatIf(name="small", window=4_000), fixed=8_000)
    assert (outcome.requests, outcome.failed) == (0, 40)
    assert outcome.dollars == 0


def test_gone_is_what_is_covered_and_not_kept_or_shown_as_a_stub() -> None:
    gone = Gone(made(10, keep=(3,), masks=(Mask(seq=12, part=0, stub=own("x")),)))
    assert [seq for seq in range(1, 15) if seq not in gone] == [3, 11, 13, 14]
    assert gone.count(14) == 10
    assert gone.all_of([1, 12], last=14)
    assert not gone.all_of([1, 3], last=14)
    assert not gone.all_of([1, 13], last=14)
    assert gone.all_of([1, 13], last=12)
    assert not gone.all_of([], last=14)


async def test_figures_add_up_and_the_best_of_each_column_is_found() -> None:
    recorded = work(60)
    small = [figures_of(await under(recorded, kind)) for kind in ("none", "engine")]
    large = [figures_of(await under(recorded, kind, window=200_000)) for kind in ("none", "masks", "engine")]
    total = summed([small, large])
    assert [each.name for each in total] == ["none", "engine"]
    assert total[1].tokens == small[1].tokens + large[2].tokens
    assert total[0].peak == large[0].peak
    assert summed([small, large[2:]])[0].name == "engine"
    assert summed([]) == ()
    together = Together.of([small, large])
    assert (together.sessions, together.figures, together.partial) == (2, total, {"masks": 1})
    assert "every session was replayed under it: 'masks' (1 of 2). Which" in together.note
    assert Together.of([small, small]).note == ""
    best = winners([*large, small[1]])
    assert best["cost"] == min(each.cost or 0 for each in (*large, small[1]))
    assert "reads_again" not in best  # all are alike
    assert winners([small[0]]) == {}  # it failed


def test_the_usual_policies_fit_the_window() -> None:
    names = [each.name for each in default_policies(window=128_000, has_records=False, has_summaries=False)]
    assert names == [
        "no compaction",
        "masks only",
        "autocompact",
        "at 50k",
        "at 100k",
        "100k, unprepared",
        "window 32k",
        "window 200k",
        "window 1M",
    ]
    small = [each.name for each in default_policies(window=64_000, has_records=False, has_summaries=False)]
    assert small[3:5] == ["at 50k", "50k, unprepared"]
    more = [each.name for each in default_policies(window=1_000_000, has_records=True, has_summaries=True)]
    assert {"as recorded", "recorded summaries", "at 200k"} < set(more)
    assert "window 1M" not in more


@pytest.mark.requirement("E10")
def test_policies_are_read_from_a_file_as_settings_are(tmp_path: Path) -> None:
    path = tmp_path / "policies.json"
    path.write_text(
        """{"policies": [
        {"name": "mine", "window": 64000, "settings": {"engine": {"ratio": 0.7}}}, // early
        {"name": "theirs", "kind": "recorded"},
        ]}"""
    )
    mine, theirs = read_policies(path)
    assert (mine.kind, mine.window, mine.settings.engine.ratio) == ("engine", 64_000, 0.7)
    assert theirs.kind == "recorded"
    for text, told in (
        (
            '{"policies": [{"name": "a", "settings": {"engine": {"ration": 1}}}]}',
            "$.policies[0].settings.engine",
        ),
        ('{"policies": [{"name": "a", "kind": "magic"}]}', "$.policies[0].kind"),
        ('{"policies": [{"name": "a"}, {"name": "a"}]}', "$.policies[1].name"),
        ('{"policies": []}', "$.policies"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput) as refused:
            read_policies(path)
        assert told in str(refused.value)
