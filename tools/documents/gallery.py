"""Writes the pictures of ``docs/guides/what-if-gallery.md`` from three example sessions: ``make docs``. A test holds them true."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from autocompact.models.vocabulary import default_counter
from autocompact.sessions import read_session
from autocompact.ui.pages import STYLE
from autocompact.what_if.billing import pricing_for
from autocompact.what_if.course import course_of
from autocompact.what_if.drawings import context_drawing, cost_drawing
from autocompact.what_if.policies import WhatIf
from autocompact.what_if.simulation import Outcome, simulate

ROOT = Path(__file__).parents[2]
SESSIONS = ROOT / "examples" / "sessions"
IMAGES = ROOT / "docs" / "images"

NONE, MASKS, OURS = (
    WhatIf(name="no compaction", kind="none"),
    WhatIf(name="masks only", kind="masks"),
    WhatIf(name="autocompact"),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Example:
    """A session of the gallery.

    Attributes:
        file: its name.
        prefix: of the names of its pictures.
        window: tokens that the model is taken to have.
        scale: tokens at the top of its pictures.
        policies: that it is replayed under.
        drawn: names of those that have a picture.
        costs: a picture of what they cost as well, with the policy of this name chosen; "" for none.
    """

    file: str
    prefix: str
    window: int
    scale: int
    policies: tuple[WhatIf, ...]
    drawn: tuple[str, ...]
    costs: str = ""


EXAMPLES = (
    Example(
        file="fix-invoice-rounding.jsonl",
        prefix="what-if",
        window=64_000,
        scale=80_000,
        policies=(
            NONE,
            MASKS,
            OURS,
            WhatIf(name="window 32k", window=32_000),
            WhatIf(name="window 200k", window=200_000),
        ),
        drawn=("no compaction", "masks only", "autocompact", "window 32k", "window 200k"),
        costs="autocompact",
    ),
    Example(
        file="find-a-leak.json",
        prefix="what-if-leak",
        window=32_000,
        scale=32_000,
        policies=(NONE, MASKS, OURS),
        drawn=("masks only",),
    ),
    Example(
        file="plan-a-garden.json",
        prefix="what-if-garden",
        window=8_000,
        scale=8_000,
        policies=(NONE, MASKS, OURS),
        drawn=("masks only", "autocompact"),
    ),
)

# In a picture by itself the lines that a page chooses are chosen, and its paper is drawn.
_CHOSEN = re.compile(r'class="cost" data-policy="(\d)"')


@cache
def outcomes(example: Example) -> tuple[Outcome, ...]:
    """The session of ``example`` under each policy."""
    session = read_session(SESSIONS / example.file)
    counter = default_counter(session.model)
    course = course_of(session, name=example.file, counter=counter, window=example.window)
    pricing = pricing_for(course.model)
    return tuple(asyncio.run(simulate(course, policy, pricing=pricing)) for policy in example.policies)


def pictures() -> Mapping[str, str]:
    """Each picture by its file name."""
    found: dict[str, str] = {}
    for example in EXAMPLES:
        for outcome in outcomes(example):
            if (name := outcome.policy.name) in example.drawn:
                window = outcome.policy.window or example.window
                drawn = context_drawing(outcome, most=example.scale, window=window)
                found[f"{example.prefix}-{name.replace(' ', '-')}.svg"] = _standalone(drawn)
        if example.costs:
            found[f"{example.prefix}-cost.svg"] = _standalone(_costs(example))
    return found


def _costs(example: Example) -> str:
    chosen = [policy.name for policy in example.policies].index(example.costs)
    return _CHOSEN.sub(
        lambda match: f'class="cost {"chosen" if int(match[1]) == chosen else "other"}"',
        cost_drawing(outcomes(example)),
    )


def _standalone(figure: str) -> str:
    """The drawing of a figure with the style of the page, so that it can stand by itself, light and dark."""
    drawn = figure[figure.index("<svg") : figure.index("</svg>") + len("</svg>")]
    style = STYLE + files("autocompact.what_if").joinpath("page.css").read_text("utf-8")
    head, rest = drawn.split(">", 1)
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    paper = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    return f"{head}><style>{style.strip()}</style>{paper}{rest}\n"


def main() -> None:
    """Write all of them."""
    for name, picture in pictures().items():
        (IMAGES / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
