"""Every error that autocompact raises on purpose.

    AutocompactError
    ├── InvalidInput             what was handed in cannot be used
    │   ├── UnreadableSession    a recorded session cannot be read
    │   └── InvalidRequest       a request body is not what its API describes
    ├── IncompressibleContext    what must stay does not fit the window
    ├── CompactionRunning        this conversation is being compacted already
    ├── MemoryInUse              another run is at the memory folder
    ├── StoreError               the store could not do it
    │   ├── Conflict             somebody else changed the conversation meanwhile
    │   ├── StoreUnavailable     locked, read-only, or the disk is full
    │   │   └── StoreUnreachable its server did not answer just now, and is not waited for until it does
    │   ├── StoreCorrupt         the file is damaged, or no database
    │   └── StoreTooNew          the file was written by a newer autocompact
    └── ModelError               the model could not answer
        ├── ModelRefused         wrong key, no access, bad request: trying again is of no use
        ├── ModelOverflow        the request is larger than the model's window
        └── ModelUnavailable     rate limit, server error, timeout, connection: may work later

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
        unit: what both count where a provider's limit on ``bytes`` or ``images`` is the one that is exceeded.

    Args:
        advice: what to do next, a sentence; "" for the usual one.
    """

    def __init__(
        self, breakdown: Mapping[str, int], *, limit: int, unit: str = "tokens", advice: str = ""
    ) -> None:
        self.breakdown = dict(sorted(breakdown.items(), key=lambda item: -item[1]))
        self.limit = limit
        self.unit = unit
        figures = ", ".join(f"{name} {tokens:,}" for name, tokens in self.breakdown.items() if tokens)
        super().__init__(
            f"the context cannot be made smaller than {sum(self.breakdown.values()):,} {unit}, "
            f"but only {limit:,} fit. What fills it: {figures or 'nothing'}. "
            f"{advice or 'Shorten the largest of these, unpin something, or choose a larger target or window.'}"
        )


class CompactionRunning(AutocompactError):
    """The conversation is being compacted already; wait for it to end, a second one is refused, not queued."""


class MemoryInUse(AutocompactError):
    """Another run is at the memory folder; try again when it has ended."""


class StoreError(AutocompactError):
    """The store could not do what was asked; nothing was half written."""


class Conflict(StoreError):
    """Somebody else changed the conversation meanwhile; load it again and decide anew."""


class StoreUnavailable(StoreError):
    """The store cannot be used now: it is locked, read-only, or the disk is full."""


class StoreUnreachable(StoreUnavailable):
    """The store's server did not answer just now, and nothing waits for it until it does; try again when it is back."""


class StoreCorrupt(StoreError):
    """The file is damaged or is no database of ours; it was left untouched."""


class StoreTooNew(StoreError):
    """The file was written by a newer autocompact; it was left untouched. Upgrade autocompact to open it."""


class ModelError(AutocompactError):
    """The model could not answer.

    Attributes:
        status: HTTP status, None where there was no answer.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


class ModelRefused(ModelError):
    """The provider refuses the request (wrong key, no access, unknown model): trying again is of no use."""


class ModelOverflow(ModelError):
    """The request is larger than the model's window."""


class ModelUnavailable(ModelError):
    """Rate limit, server error, timeout or broken connection: it may work later."""


def log_data(error: BaseException) -> dict[str, str]:
    """Data of an error that may be logged: its kind, and a store's own message, which names its file and quotes nobody."""
    said = {"reason": type(error).__name__}
    return said | {"detail": str(error)} if isinstance(error, StoreError) else said
