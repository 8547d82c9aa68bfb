"""The options of ``autocompact what-if`` that say what is assumed of the sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict


class WhatIfOptions(TypedDict):
    """The options that say what is assumed of the sessions."""

    policies: Path | None
    prices: Path | None
    priced_as: str
    window: int | None
    fixed: int | None
