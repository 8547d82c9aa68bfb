"""Finds the active branch of a Claude Code session.

Lines form a graph by ``parentUuid``, and it is an odd one: progress lines take part in it, results of parallel calls
are side branches, parents can be missing, and there can be several roots. So nothing is left out for standing off the
chain. A branch was left only where two requests of the person continue from the same point: of these, the one that
leads to the last line counts (else the last one); what descends from the others was left.
"""

from __future__ import annotations


class Tree:
    """The graph of lines, built in file order."""

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._anchors: dict[str, str | None] = {}
        self._requests: dict[str, list[str]] = {}
        self._last = ""

    def knows(self, uuid: str) -> bool:
        """True if a line with this uuid was there already."""
        return uuid in self._parents

    def link(self, uuid: str, parent: str | None) -> None:
        """Every line with a uuid, after `context` where it is one of the context."""
        self._parents[uuid] = parent
        # a progress line is no place to continue from, but leads to one
        if uuid not in self._anchors and parent is not None:
            self._anchors[uuid] = self._anchors.get(parent)

    def context(self, uuid: str, parent: str | None, *, anchor: bool, request: bool) -> None:
        """A line of the context.

        Args:
            uuid: the line.
            parent: the line it follows.
            anchor: a place the conversation can continue from: not a note of the program.
            request: the person asked something here.
        """
        self._last = uuid
        origin = self._anchors.get(parent) if parent is not None else None
        # two requests with the same origin are a fork: the person went back and asked anew
        if request and origin is not None:
            self._requests.setdefault(origin, []).append(uuid)
        if anchor:
            self._anchors[uuid] = uuid

    def left(self) -> frozenset[str]:
        """The uuids of all lines on branches that were left."""
        forks = [requests for requests in self._requests.values() if len(requests) > 1]
        if not forks:
            return frozenset()
        # the last line is where the conversation stands now
        active = self._ancestors(self._last)
        left: set[str] = set()
        for requests in forks:
            chosen = next((uuid for uuid in requests if uuid in active), requests[-1])
            left.update(uuid for uuid in requests if uuid != chosen)
        # file order: a parent stands before its children, so one pass follows whole branches
        for uuid, parent in self._parents.items():
            if parent in left and uuid not in active:
                left.add(uuid)
        return frozenset(left)

    def _ancestors(self, uuid: str) -> set[str]:
        found: set[str] = set()
        step: str | None = uuid
        # damaged files have circles
        while step is not None and step not in found:
            found.add(step)
            step = self._parents.get(step)
        return found
