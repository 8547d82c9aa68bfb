"""Recommends a policy for one's own sessions, with the reason and the settings to paste.

Only what autocompact can be set to is considered: not the window, which the model has, nor what another program did. Of the
policies under which no request failed and that keep as many rules as the best of them, the cheapest is taken; one that costs
at most `WORTH` more and compacts less often goes before it, since each compaction forgets something.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import msgspec

from autocompact.core.plurals import plural
from autocompact.settings import Settings
from autocompact.what_if.figures import Figures, Together
from autocompact.what_if.policies import WhatIf

WORTH = 0.05
"""Share of the cost that a policy with fewer compactions may cost more than the cheapest."""


NO_ADVICE = (
    "Nothing can be recommended: under every policy that can be set some request fails. A larger window, fewer tools or a "
    "shorter system prompt would help; the table says where."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A recommended policy, with the reason.

    Attributes:
        policy: which one.
        figures: what it came to.
        reason: a sentence.
        changes: members of ``settings.json`` to set; none where they come so.
    """

    policy: WhatIf
    figures: Figures
    reason: str
    changes: dict[str, object]

    @property
    def settings(self) -> str:
        """``settings.json`` to paste."""
        return json.dumps(self.changes, indent=2)


def recommended(policies: Sequence[WhatIf], together: Together) -> Recommendation | None:
    """The policy to take; None if requests fail under all that can be set.

    Args:
        policies: that were compared.
        together: their sums over all sessions; a policy without any is left out.
    """
    by_name = {each.name: each for each in together.figures}
    settable = [
        (policy, by_name[policy.name])
        for policy in policies
        if policy.kind == "engine" and policy.window is None and policy.name in by_name
    ]
    whole = [(policy, each) for policy, each in settable if not each.failed]
    if not whole:
        return None
    most = max(_rules(each) for _, each in whole)
    ruled = [(policy, each) for policy, each in whole if _rules(each) == most]
    least = min(_price(each) for _, each in ruled)
    good = [(policy, each) for policy, each in ruled if _price(each) <= least * (1 + WORTH)]
    policy, chosen = min(good, key=lambda pair: (pair[1].compactions, _price(pair[1])))
    return Recommendation(
        policy=policy,
        figures=chosen,
        reason=_reason(chosen, together=together, others=[each for _, each in ruled if each is not chosen]),
        changes=changed(policy.settings),
    )


def changed(settings: Settings) -> dict[str, object]:
    """The members of ``settings`` that are not as they come, by the names of ``settings.json``."""
    return _difference(msgspec.to_builtins(settings), msgspec.to_builtins(Settings()))


def _difference(values: dict[str, object], usual: dict[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in values.items():
        before = usual[name]
        if value == before:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            found[name] = _difference(cast("dict[str, object]", value), cast("dict[str, object]", before))
        else:
            found[name] = value
    return found


def _rules(figures: Figures) -> float:
    """The share of rules that is kept; all, where none had left."""
    return 1.0 if figures.rules_share is None else figures.rules_share


def _price(figures: Figures) -> float:
    """Cost of a policy; in tokens where there are no prices."""
    return figures.tokens if figures.cost is None else figures.cost


def _reason(chosen: Figures, *, together: Together, others: Sequence[Figures]) -> str:
    """Compared with what was recorded, else with the dearest under which nothing failed; ``others`` could be taken as well."""
    figures = together.figures
    other = next((each for each in figures if each.name == "as recorded"), None)
    other = other if other is not None and not other.failed and other.compactions else None
    dearest = max((each for each in figures if not each.failed), key=_price)
    name, compared = ("what was recorded", other) if other else (repr(dearest.name), dearest)
    priced = f" (by {together.priced})" if together.priced else ""
    measure = "tokens" if chosen.cost is None else f"dollars{priced}"
    share = _share(chosen, compared)
    rules = f", {_rules(chosen):.0%} of the rules stay" if chosen.rules else ""
    return (
        f"{chosen.name!r} takes {share:.0%} of the {measure} of {name} over {plural(chosen.requests, 'request')}, "
        f"no request fails{rules}, and {_choice(chosen, others=others, compared=compared)}."
    )


def _share(figures: Figures, compared: Figures) -> float:
    return _price(figures) / _price(compared) if _price(compared) else 1.0


def _choice(chosen: Figures, *, others: Sequence[Figures], compared: Figures) -> str:
    """Why this one of those that could be taken, and what the next would cost."""
    made = plural(chosen.compactions, "compaction")
    if not others:
        return f"with {made} it is the only one of which that is so"
    following = min(others, key=_price)
    if _price(following) <= _price(chosen) * (1 + WORTH):
        return f"with {made} it forgets least among the policies that cost about as little"
    return (
        f"its {made} cost least: {following.name!r} comes next with {_share(following, compared):.0%} and "
        f"{plural(following.compactions, 'compaction')}"
    )
