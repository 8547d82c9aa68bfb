"""Runs the replay of ``autocompact replay`` through the live engine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from autocompact.cli import defaults, tape
from autocompact.cli.sources import deliver
from autocompact.compaction.modes import MODES, Mode, at_preset
from autocompact.core.budget import PRESETS
from autocompact.engine import Compactor
from autocompact.errors import InvalidInput
from autocompact.models.vocabulary import default_counter
from autocompact.ports import Model
from autocompact.sessions import Session
from autocompact.settings import mode_of
from autocompact.stores.memory import MemoryStore
from autocompact.stores.naming import StorePlace
from autocompact.stores.opening import open_store
from autocompact.ui.terminal.output import display, tell, width
from autocompact.what_if.replay import Step, replay

_SHARE = re.compile(r"(\d+(?:\.\d+)?)%|(0?\.\d+)")
_TOKENS = re.compile(r"(\d+)(k?)")


def compactor_for(
    session: Session, *, db: StorePlace | None, window: int | None, mode: Mode, model: Model | None
) -> Compactor:
    """The compactor of a replay; without ``db`` it keeps nothing. What its mode does not go with is told."""
    for note in mode.policy.notes:
        tell(note)
    return Compactor(
        open_store(db) if db else MemoryStore(),
        summary_model=model,
        mode=mode,
        window=defaults.window(window, session),
        counter=default_counter(session.model),
    )


def chosen_mode(name: str | None, threshold: str | None) -> Mode:
    """The mode of that name, else that of the settings, with another threshold if one is given.

    Raises:
        InvalidInput: there is no such mode, or the threshold is none.
    """
    mode = _mode(name)
    if threshold is None:
        return mode
    if threshold in PRESETS:
        return at_preset(mode, threshold)
    if found := _SHARE.fullmatch(threshold):
        share = float(found[1]) / 100 if found[1] else float(found[2])
        return replace(mode, policy=replace(mode.policy, ratio=share, tokens=None))
    found = _TOKENS.fullmatch(threshold)
    if found is None:
        raise InvalidInput(
            f"--threshold {threshold!r} is none: give a share (0.8 or 80%), a number of tokens (100000 or 100k), "
            f"or one of {', '.join(PRESETS)}"
        )
    tokens = int(found[1]) * (1000 if found[2] else 1)
    return replace(mode, policy=replace(mode.policy, tokens=tokens))


def _mode(name: str | None) -> Mode:
    if name is None:
        return mode_of(defaults.settings())
    if name not in MODES:
        raise InvalidInput(f"there is no mode {name!r}: choose one of {', '.join(MODES)}")
    return MODES[name]


def writer(session: Session, compactor: Compactor, *, name: str, as_json: bool) -> Callable[[Step], None]:
    """Make the function that shows a step on stdout; the heading is shown at once."""
    if as_json:
        return lambda step: deliver([tape.document(step)], None)
    columns = width(sys.stdout)
    shown = tape.Tape(window=compactor.budget.window, width=columns)
    display(tape.heading(session, compactor, name=name, width=columns))

    def show(step: Step) -> None:
        for line in shown.lines(step):
            display(line)

    return show


async def play(
    session: Session, compactor: Compactor, *, name: str, namespace: str, show: Callable[[Step], None]
) -> None:
    """Replay ``session`` as the conversation ``name``, and show each step."""
    async with compactor, aclosing(replay(session, compactor, name=name, namespace=namespace)) as steps:
        async for step in steps:
            show(step)
