"""The prompt of the chat in a terminal."""

from __future__ import annotations

import click

from autocompact.chat.views import MeterReading
from autocompact.ui.terminal.words import prompt

READING = MeterReading(
    used=5_000,
    window=20_000,
    reserve=4_000,
    threshold=12_000,
    prepare=0,
    breakdown={},
    why="80% of the window are 16,000 tokens, less 4,000 reserved for the reply",
)


def test_the_prompt_has_the_same_share_as_the_meter_of_the_page() -> None:
    assert click.unstyle(prompt("offline", READING)) == "offline ██░░░░░░░░ 25% > "


def test_the_threshold_is_said_with_its_reason() -> None:
    assert READING.threshold_words == (
        "Compaction at 12,000 tokens (60%): 80% of the window are 16,000 tokens, less 4,000 reserved for the reply."
    )
