"""Which policy is recommended, why, and that its settings are accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.settings import Settings
from autocompact.settings.document import read_document
from autocompact.settings.values import Engine
from autocompact.what_if.billing import pricing_for
from autocompact.what_if.figures import Figures, Together, figures_of
from autocompact.what_if.policies import WhatIf, at_threshold, default_policies
from autocompact.what_if.recommending import changed, recommended
from autocompact.what_if.simulation import Outcome

USUAL = default_policies(window=200_000, has_records=True, has_summaries=True)


def figures(name: str, *, cost: float | None, compactions: int = 1, **others: int) -> Figures:
    policy = next(each for each in USUAL if each.name == name)
    empty = figures_of(Outcome(policy=policy, pricing=pricing_for("claude-opus-4-5")))
    return replace(empty, cost=cost, compactions=compactions, requests=100, **others)


def summed(*found: Figures) -> Together:
    """The sum of one session."""
    return Together.of([found])


@pytest.mark.requirement("E10")
def test_of_the_cheapest_the_one_that_compacts_least_is_taken() -> None:
    chosen = recommended(
        USUAL,
        summed(
            figures("as recorded", cost=20.0, compactions=3),
            figures("at 50k", cost=10.0, compactions=20),
            figures("autocompact", cost=10.4, compactions=4),
            figures("at 150k", cost=14.0, compactions=2),
            figures("masks only", cost=1.0),
            figures("window 32k", cost=1.0),
        ),
    )
    assert chosen is not None
    assert chosen.policy.name == "autocompact"
    assert chosen.changes == {}
    assert chosen.reason == (
        "'autocompact' takes 52% of the dollars of what was recorded over 100 requests, no request fails, and with 4 "
        "compactions it forgets least among the policies that cost about as little."
    )


def test_a_policy_that_fails_or_loses_rules_is_not_taken() -> None:
    chosen = recommended(
        USUAL,
        summed(
            figures("at 50k", cost=1.0, failed=1),
            figures("at 100k", cost=2.0, rules=4, rules_kept=3),
            figures("at 150k", cost=9.0, rules=4, rules_kept=4),
            figures("window 1M", cost=30.0),
        ),
    )
    assert chosen is not None
    assert chosen.policy.name == "at 150k"
    assert "30% of the dollars of 'window 1M'" in chosen.reason
    assert chosen.reason.endswith(
        "100% of the rules stay, and with 1 compaction it is the only one of which that is so."
    )


def test_without_prices_tokens_stand_for_the_cost() -> None:
    chosen = recommended(
        USUAL,
        summed(
            figures("at 50k", cost=None, tokens=5_000, compactions=7),
            figures("at 100k", cost=None, tokens=10_000),
        ),
    )
    assert chosen is not None
    assert chosen.policy.name == "at 50k"
    assert "50% of the tokens of 'at 100k'" in chosen.reason
    # what is spared is paid for with what is forgotten: the reader decides
    assert chosen.reason.endswith(
        "and its 7 compactions cost least: 'at 100k' comes next with 100% and 1 compaction."
    )


def test_where_only_some_sessions_have_a_price_theirs_decides_and_that_is_said() -> None:
    priced = [figures("at 50k", cost=2.0, tokens=5_000), figures("at 100k", cost=1.0, tokens=9_000)]
    unpriced = [replace(each, cost=None) for each in priced]
    together = Together.of([unpriced, priced, unpriced])
    assert [each.cost for each in together.figures] == [2.0, 1.0]
    assert together.note.startswith("The cost is that of the 1 of 3 sessions that have a price;")
    chosen = recommended(USUAL, together)
    assert chosen is not None
    assert chosen.policy.name == "at 100k"
    assert "50% of the dollars (by the 1 of 3 sessions that have a price) of 'at 50k'" in chosen.reason
    assert Together.of([priced]).note == Together.of([unpriced]).note == ""


def test_where_all_fail_nothing_is_recommended() -> None:
    failing = summed(figures("at 50k", cost=1.0, failed=2), figures("masks only", cost=1.0))
    assert recommended(USUAL, failing) is None


@pytest.mark.requirement("E10")
@pytest.mark.parametrize(
    "policy", [each for each in USUAL if each.kind == "engine"], ids=lambda policy: policy.name
)
def test_the_settings_to_paste_are_accepted_and_mean_the_policy(policy: WhatIf, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(changed(policy.settings)))
    found = {name: given.value for name, given in read_document(path).items()}
    session = policy.settings.compaction.triggers.session_tokens
    wanted: dict[str, object] = {}
    if session.threshold is not None:
        wanted["compaction.triggers.sessionTokens.threshold"] = session.threshold
    if policy.settings.engine.background is not None:
        wanted["engine.background"] = policy.settings.engine.background
    assert found == wanted


def test_only_what_differs_is_to_be_set() -> None:
    assert changed(Settings()) == {}
    assert changed(at_threshold(80_000, engine=Engine(tail_tokens=5_000))) == {
        "compaction": {"triggers": {"sessionTokens": {"threshold": 80_000}}},
        "engine": {"tailTokens": 5_000},
    }
