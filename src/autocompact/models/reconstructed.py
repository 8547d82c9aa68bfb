"""Claude's vocabularies as ctok reconstructs them (extra ``ctok``, Python 3.12 or newer): used only where that is asked for.

Anthropic publishes none. ctok's is a program, not a file of ranks: its own code counts, in Python, at 0.13 to 0.31 MB/s. On recorded
sessions its first estimates were nearer in the middle and further off at the 90th percentile than o200k_base times the family's
factor (``docs/reference/benchmarks.md``), so no model is counted with it by default.
"""

from __future__ import annotations

import sys
from collections import Counter as Occurrences
from importlib import import_module
from typing import Protocol, cast

from autocompact.core.factors import CTOK, LATER_CTOK
from autocompact.core.strides import strides
from autocompact.errors import InvalidInput
from autocompact.runtime.extras import install_command

OLDEST_PYTHON = (3, 12)

VERSIONS = {CTOK: "4.6", LATER_CTOK: "4.7"}
"""What ctok calls the vocabularies: the first model of each, or the last."""

STRIDE = 16_384
"""Characters that are counted in one call: about a tenth of a second."""


class _Ctok(Protocol):
    def token_count(self, text: str, version: str, /) -> int: ...


class CtokCounter:
    """Counts the tokens that ctok says Claude's tokenizer makes of a text, without the frame of a message.

    It holds the interpreter's lock while it counts, as any Python does, and lets other threads work between two steps of it.
    """

    def __init__(self, name: str, ctok: _Ctok) -> None:
        self.name = name
        self._count = ctok.token_count
        self._version = VERSIONS[name]
        self._frame = ctok.token_count("a", self._version) - 1

    def count(self, text: str) -> int:
        """Tokens of ``text``; lone surrogates count as the replacement character."""
        if not text:
            return 0  # ctok has a mark stand for the missing word
        pieces = Occurrences(strides(text, most=STRIDE))
        return sum(self._tokens(piece) * times for piece, times in pieces.items())

    def _tokens(self, text: str) -> int:
        # line breaks at the end merge with the frame's own, at no cost
        return max(0, self._count(text, self._version) - self._frame)


def require_ctok() -> None:
    """Check that `load_ctok` can be used, before anything is counted.

    Raises:
        InvalidInput: it cannot.
    """
    try:
        load_ctok(CTOK)
    except ImportError as error:
        raise InvalidInput(f"models.ctok: {error}") from error


def load_ctok(name: str, *, python: tuple[int, ...] = sys.version_info[:3]) -> CtokCounter:
    """The counter of a reconstructed vocabulary.

    Args:
        name: a key of `VERSIONS`.
        python: the version of the interpreter.

    Raises:
        ImportError: ctok is not installed, or cannot be: this Python is too old for it.
    """
    if python < OLDEST_PYTHON:
        running = ".".join(map(str, python))
        raise ImportError(
            f"ctok needs Python 3.12 or newer, and this is Python {running}: install autocompact with a newer Python, "
            "or leave ctok out (o200k_base counts then)"
        )
    try:
        ctok = cast("_Ctok", import_module("ctok"))
    except ImportError as error:
        raise ImportError(
            f"the package ctok is not installed ({error}): {install_command('ctok')}"
        ) from error
    return CtokCounter(name, ctok)
