"""Every error that autocompact raises on purpose.

    AutocompactError
    ├── InvalidInput             what was handed in cannot be used
    │   ├── UnreadableSession    a recorded session cannot be read
    │   └── InvalidRequest       a request body is not what its API describes
    └── IncompressibleContext    what must stay does not fit the window

The message says what is wrong, where, and what to do next. The command line turns each into exit code 2.
"""

from __future__ import annotations

from collections.abc import Mapping


class AutocompactError(Exception):
    """Base class: catch it to catch everything that autocompact raises on purpose."""


class InvalidInput(AutocompactError):
    """What was handed in cannot be used as it is."""


class UnreadableSession(InvalidInput):
    """A recorded session cannot be read: the message names the file and the reason."""


class InvalidRequest(InvalidInput):
    """A request body is not what its API describes: the message names the path inside the JSON."""


class IncompressibleContext(AutocompactError):
    """What must stay (system prompt, tools, pins, last request) does not fit the window.

    Attributes:
        breakdown: tokens by what fills the window, largest first, e.g. ``{"system": 9000, "last request": 800}``.
        limit: tokens that were available (window less output reserve, or the requested target).
    """

    def __init__(self, breakdown: Mapping[str, int], *, limit: int) -> None:
        self.breakdown = dict(sorted(breakdown.items(), key=lambda item: -item[1]))
        self.limit = limit
        figures = ", ".join(f"{name} {tokens:,}" for name, tokens in self.breakdown.items() if tokens)
        super().__init__(
            f"the context cannot be made smaller than {sum(self.breakdown.values()):,} tokens, "
            f"but only {limit:,} fit. What fills it: {figures or 'nothing'}. "
            "Shorten the largest of these, unpin something, or choose a larger window."
        )
