"""What the engine keeps beside the log of a conversation, so that it survives a restart."""

from __future__ import annotations

import msgspec

from autocompact.core.budget import Breaker
from autocompact.core.tokens import Cost
from autocompact.core.usage import Calibration
from autocompact.errors import StoreCorrupt


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The context as it was when the compaction in force took effect: growth is measured from here.

    Attributes:
        context: id of that compaction, "" if an undo brought the whole log back.
        last_seq: end of the log then; what was reported for earlier messages was reported for another context.
        cost: what the context weighed by our own count, overhead included.
    """

    context: str
    last_seq: int
    cost: Cost


class EngineState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Plain values, stored as JSON with the conversation.

    Attributes:
        breaker: failures of automatic compactions.
        calibration: what was learned about each model's tokenizer.
        unseen: tokens that every request carries unseen by us, as the gauge knew them at the last compaction.
        pins: messages (``seq``) that stay verbatim.
        notes: texts that stay verbatim in every summary.
        peak: the most tokens the context took since the last compaction.
        settled: the context when the compaction in force took effect; None if there never was one.
        request: ``seq`` of the user's last request, which may be folded; 0 if there is none.
        made: number of the last record.
    """

    breaker: Breaker = Breaker()
    calibration: Calibration = Calibration()
    unseen: int | None = None
    pins: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    peak: int = 0
    settled: Settled | None = None
    request: int = 0
    made: int = 0

    def encode(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> EngineState:
        """From JSON; a state that was never written is the initial one.

        Raises:
            StoreCorrupt: it is not what `encode` wrote.
        """
        if not data:
            return cls()
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise StoreCorrupt(f"the engine's state of a conversation cannot be read: {error}") from error
