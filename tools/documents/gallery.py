"""Writes the pictures of ``docs/guides/what-if-gallery.md`` from the example session: ``make docs``. A test holds them true."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from autocompact.models.vocabulary import load_counter
from autocompact.sessions import read_session
from autocompact.ui.pages import STYLE
from autocompact.what_if.billing import pricing_for
from autocompact.what_if.course import course_of
from autocompact.what_if.drawings import context_drawing, cost_drawing
from autocompact.what_if.policies import WhatIf
from autocompact.what_if.simulation import Outcome, simulate

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"
IMAGES = ROOT / "docs" / "images"
WINDOW, SCALE = 64_000, 80_000

POLICIES = (
    WhatIf(name="no compaction", kind="none"),
    WhatIf(name="masks only", kind="masks"),
    WhatIf(name="autocompact"),
    WhatIf(name="window 32k", window=32_000),
    WhatIf(name="window 200k", window=200_000),
)

# In a picture by itself the lines that a page chooses are chosen, and its paper is drawn.
_CHOSEN = re.compile(r'class="cost" data-policy="(\d)"')


@cache
def outcomes() -> tuple[Outcome, ...]:
    """The example session under each policy."""
    session = read_session(SESSION)
    course = course_of(session, name=SESSION.name, counter=load_counter(), window=WINDOW)
    pricing = pricing_for(course.model)
    return tuple(asyncio.run(simulate(course, policy, pricing=pricing)) for policy in POLICIES)


def pictures() -> Mapping[str, str]:
    """Each picture by its file name."""
    found = {
        f"what-if-{outcome.policy.name.replace(' ', '-')}.svg": _standalone(
            context_drawing(outcome, most=SCALE, window=outcome.policy.window or WINDOW)
        )
        for outcome in outcomes()
    }
    cost = _CHOSEN.sub(
        lambda match: f'class="cost {"chosen" if match[1] == "2" else "other"}"', cost_drawing(outcomes())
    )
    return {**found, "what-if-cost.svg": _standalone(cost)}


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
