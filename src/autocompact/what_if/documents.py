"""JSON documents of ``autocompact what-if --json``, by the contract of ``what-if.schema.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from autocompact.what_if.billing import Pricing
from autocompact.what_if.course import Course, usage_notes
from autocompact.what_if.figures import figures_of
from autocompact.what_if.losses import Loss
from autocompact.what_if.recommending import Recommendation
from autocompact.what_if.simulation import Outcome


def document_of(course: Course, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Make the document of one session under all policies."""
    return {
        "session": course.name,
        "format": course.session.format,
        "model": course.model,
        "messages": len(course.session.messages),
        "requests": len(course.requests),
        "window": course.window,
        "fixed": course.usage.fixed,
        "factor": round(course.usage.factor, 4),
        "prices": prices_of(outcomes[0].pricing) if outcomes else None,
        "notes": list(notes_of(course, outcomes)),
        "policies": [_policy(outcome) for outcome in outcomes],
    }


def notes_of(course: Course, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Notes on what is missing, a sentence each."""
    notes = list(usage_notes(course))
    pricing = outcomes[0].pricing if outcomes else None
    if pricing is not None and pricing.price is None:
        notes.append(
            f"the price of {course.model!r} is not known: --prices FILE or --priced-as NAME says it"
            if course.model
            else "the session names no model, so it has no price: --priced-as NAME says which"
        )
    if pricing is not None and pricing.rates is None:
        notes.append("nothing is known of the provider's prompt cache: every request is paid for in full")
    return tuple(notes)


def prices_of(pricing: Pricing) -> dict[str, Any] | None:
    """The prices that were used, in US dollars for a million tokens."""
    price, rates = pricing.price, pricing.rates
    if price is None:
        return None
    return {
        "family": pricing.family,
        "input": price.input,
        "cached": price.cached,
        "write": price.input * rates.write if rates else None,
        "output": price.output,
        "source": pricing.source,
        "date": pricing.date,
    }


def _policy(outcome: Outcome) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(figures_of(outcome))
    for name, digits in (("cost", 6), ("seconds", 3)):
        if fields[name] is not None:
            fields[name] = round(fields[name], digits)
    return {**fields, "losses": [_loss(loss) for loss in outcome.losses]}


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "request": loss.request,
        "seq": loss.seq,
        "rung": loss.rung,
        "before": loss.before,
        "after": loss.after,
        "left": loss.left,
        "needs": loss.needs.needed,
        "needs_kept": loss.needs.kept,
        "rules": loss.rules.needed,
        "rules_kept": loss.rules.kept,
        "missing": list(loss.missing),
        "unstated": list(loss.unstated),
    }


def recommendation_document(found: Recommendation | None) -> dict[str, Any]:
    """Make the document of the recommendation: the last line of ``--recommend --json``."""
    if found is None:
        return {"recommended": None}
    return {"recommended": {"name": found.policy.name, "reason": found.reason, "settings": found.changes}}
