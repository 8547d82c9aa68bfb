"""The options of ``autocompact compact``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from autocompact.cli.model_options import Asked
from autocompact.cli.store_options import Where

Format: TypeAlias = Literal["markdown", "openai", "anthropic", "claude-code", "json"]
"""Form of a compacted context."""


class Sizes(TypedDict):
    """The options of a compaction that are numbers, as `autocompact.history.recorded.Options` has them."""

    window: int | None
    to: int | None
    summary_tokens: int | None
    tail_tokens: int | None
    through: int | None


class CompactOptions(Sizes, Asked, Where):
    """All of them."""

    summary: Path | None
    pin: tuple[str, ...]
    focus: str
    format: Format
    out: Path | None
    preview: bool
    fallback: str | None
