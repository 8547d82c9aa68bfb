"""Makes the engine's values from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec

from autocompact.compaction.modes import MODES, Mode
from autocompact.core.budget import Policy, preset
from autocompact.core.windows import window_for
from autocompact.settings.trust import OFFLINE
from autocompact.settings.values import Models, Settings

_OF_POLICY = ("target", "tail_tokens", "on_overflow")
_OF_MODE = ("summary_tokens", "working_set_tokens", "cap_tokens", "output_tokens", "placement", "background")


PRICED: Mapping[str, Any] = MappingProxyType({"enough": 60_000, "cold": 0.75})
"""The gateway's rhythm, by the prices of a prompt cache (`autocompact.compaction.pricing`).

A token in the context costs its reading with every request, a compaction the writing of what it leaves. With Claude's
prices, 1,200 tokens a request and 25,000 to write again, cost is least with a compaction each 26,000 tokens (OpenAI's:
23,000), 6 % above that each 50,000 and 15 % each 70,000, and each forgets something: summary and tail beside that, 60,000
tokens are enough. After five minutes without a request Claude's cache is empty, and a compaction makes nothing dearer.
Measured: ``python -m benchmarks.cost``.
"""

_PREPARE_WITH_MODEL = 0.9
"""Share of the threshold from which the gateway prepares: late, since what is said until it takes effect stays verbatim.

Without a model it never prepares: that takes a tenth of a second.
"""


def policy_of(settings: Settings) -> Policy:
    """Make the policy: that of the named mode, with what the settings change."""
    session = settings.compaction.triggers.session_tokens
    policy = MODES[settings.engine.mode].policy
    changes = _set(settings, _OF_POLICY)
    if settings.engine.ratio is not None:
        changes |= {"ratio": settings.engine.ratio, "tokens": None}
    if session.threshold is not None:
        changes["tokens"] = threshold_of(session.threshold)
    enabled = policy.enabled and settings.compaction.enabled and session.enabled
    return replace(policy, enabled=enabled, **changes)


def mode_of(settings: Settings) -> Mode:
    """Make the mode: the named one, with what the settings change."""
    changes = _set(settings, _OF_MODE)
    if settings.compaction.summary_prompt is not None:
        changes["skill"] = settings.compaction.summary_prompt
    return replace(MODES[settings.engine.mode], policy=policy_of(settings), **changes)


def gateway_mode_of(settings: Settings) -> Mode:
    """Make the gateway's mode: at `PRICED` where the settings name neither a mode nor a threshold."""
    named = (
        settings.engine.ratio is not None or settings.compaction.triggers.session_tokens.threshold is not None
    )
    mode = mode_of(settings)
    if named or settings.engine.mode != "default":
        return mode
    offline = settings.compaction.summary_model in (None, OFFLINE)
    prepare = 1.0 if offline else _PREPARE_WITH_MODEL
    return replace(mode, policy=replace(mode.policy, prepare=prepare, **PRICED))


def session_mode_of(settings: Settings) -> Mode:
    """Make the mode that closes a session: that of the session layer unless another one is named, with what is changed."""
    if settings.engine.mode != "default":
        return mode_of(settings)
    engine = msgspec.structs.replace(settings.engine, mode="session-layer")
    return mode_of(msgspec.structs.replace(settings, engine=engine))


def threshold_of(threshold: int | str) -> int:
    """The tokens of a threshold: a figure, or a preset ("50k", "never"); 0 is never."""
    if isinstance(threshold, int):
        return threshold
    return preset(threshold if threshold == "never" else f"session-{threshold}").tokens or 0


def _set(settings: Settings, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(settings.engine, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def window_of(models: Models, *, model: str, recorded: int | None = None) -> int | None:
    """Tokens of the window of ``model``; None where nobody knows.

    Args:
        models: the settings, which come first where they say something of their own.
        model: its name.
        recorded: what a recorded session says; it comes before the table of known models.
    """
    known = window_for(model)
    of_settings = models.window or window_for(model, overrides=models.windows)
    return of_settings if of_settings and of_settings != known else recorded or known
