"""Counts tokens as another counter does, and tells the person how far it is."""

from __future__ import annotations

from collections import Counter as Occurrences

from autocompact.core.strides import STRIDE, strides
from autocompact.core.tokens import Counter, size
from autocompact.sessions import Session
from autocompact.ui.terminal.output import Progress


class WatchedCounter:
    """A counter that tells ``work`` what it has counted.

    Counting is the longest stage of a large session, and one message can be all of it: so a long text is told stride by
    stride, in which the counters that are exact count it themselves.
    """

    def __init__(self, counter: Counter, work: Progress) -> None:
        self.name: str = counter.name
        self._counter, self._work = counter, work

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        if len(text) <= STRIDE:
            self._work.advance(len(text))
            return self._counter.count(text)
        tokens = 0
        # a stride that occurs again is counted once
        for stride, times in Occurrences(strides(text)).items():
            tokens += self._counter.count(stride) * times
            self._work.advance(len(stride) * times)
        return tokens


def watched(counter: Counter, session: Session, *, work: Progress) -> Counter:
    """The counter for the messages of ``session``, whose counting begins."""
    work.begin("counting tokens", whole=sum(map(size, session.messages)))
    return WatchedCounter(counter, work)
