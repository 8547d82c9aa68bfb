"""JSON documents of ``autocompact what-if --json``, by the contract of ``what-if.schema.json``."""

from __future__ import annotations

from typing import Any

import msgspec

from autocompact.what_if.billing import Pricing
from autocompact.what_if.figures import Figures, Together, figures_of
from autocompact.what_if.losses import Loss
from autocompact.what_if.recommending import Recommendation
from autocompact.what_if.replays import Replayed
from autocompact.what_if.simulation import Outcome


def document_of(result: Replayed) -> dict[str, Any]:
    """Make the document of one session under all policies."""
    return {
        "session": result.name,
        "format": result.format,
        "model": result.model,
        "messages": result.messages,
        "requests": result.requests,
        "window": result.window,
        "fixed": result.fixed,
        "factor": round(result.factor, 4),
        "prices": prices_of(result.outcomes[0].pricing) if result.outcomes else None,
        "notes": list(result.notes),
        "policies": [_policy(outcome) for outcome in result.outcomes],
    }


def prices_of(pricing: Pricing) -> dict[str, Any] | None:
    """The prices that were used, in US dollars for a million tokens."""
    price, rates = pricing.price, pricing.rates
    if price is None:
        return None
    return {
        "family": pricing.family,
        # as fractions: kept results have no whole numbers here, and the output is to be the same
        "input": float(price.input),
        "cached": None if price.cached is None else float(price.cached),
        "write": price.input * rates.write if rates else None,
        "output": float(price.output),
        "source": pricing.source,
        "date": pricing.date,
    }


def _policy(outcome: Outcome) -> dict[str, Any]:
    return {**_figures(figures_of(outcome)), "losses": [_loss(loss) for loss in outcome.losses]}


def _figures(figures: Figures) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(figures)
    for name, digits in (("cost", 6), ("seconds", 3)):
        if fields[name] is not None:
            fields[name] = round(fields[name], digits)
    return fields


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "request": loss.request,
        "seq": loss.seq,
        "rung": loss.rung,
        "before": loss.before,
        "after": loss.after,
        "summary": loss.summary,
        "left": loss.left,
        "needs": loss.needs.needed,
        "needs_kept": loss.needs.kept,
        "rules": loss.rules.needed,
        "rules_kept": loss.rules.kept,
        "missing": list(loss.missing),
        "missed": list(loss.missed),
        "unstated": list(loss.unstated),
    }


def together_document(together: Together) -> dict[str, Any]:
    """Make the document of the sums over several sessions: the line after theirs."""
    return {
        "together": {
            "sessions": together.sessions,
            "unpriced": together.unpriced,
            "policies": [_figures(each) for each in together.figures],
            "left_out": [{"name": name, "sessions": count} for name, count in together.partial.items()],
        }
    }


def recommendation_document(found: Recommendation | None) -> dict[str, Any]:
    """Make the document of the recommendation: the last line of ``--recommend --json``."""
    if found is None:
        return {"recommended": None}
    return {"recommended": {"name": found.policy.name, "reason": found.reason, "settings": found.changes}}
