"""Reads the body of an answer as it comes: a stream of events, or JSON in one piece."""

from __future__ import annotations

from collections.abc import Callable

from autocompact.core.messages import Dialect
from autocompact.errors import InvalidInput
from autocompact.models.overflow import error_texts
from autocompact.wire import Reply, parse_reply
from autocompact.wire.deltas import StreamEvent
from autocompact.wire.sse import Payloads
from autocompact.wire.stream import StreamReader

_OK = 200


class BodySink:
    """Keeps the body."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> bytes | None:
        """Take a piece."""
        self._chunks.append(chunk)
        return None

    def body(self) -> bytes:
        """Read the whole answer."""
        return b"".join(self._chunks)


class ReplySink:
    """Puts a reply together, however the server sends it: some stream, some do not although they were asked to.

    Args:
        dialect: of the answer.
        emit: called with each event of a streamed answer.

    Attributes:
        emitted: whether an event was given away, so that the answer cannot begin anew.
    """

    def __init__(self, dialect: Dialect, *, emit: Callable[[StreamEvent], None] | None = None) -> None:
        self.emitted = False
        self._emit = emit
        self._dialect: Dialect = dialect
        self._body = BodySink()
        self._stream = StreamReader(dialect)
        self._payloads = Payloads()
        self._whole: bool | None = None

    def feed(self, chunk: bytes) -> bytes | None:
        """Take a piece; what the server said if this is an error."""
        if self._whole is None and chunk.strip():
            # by the body: what a compatible server says of its type need not be so
            self._whole = chunk.lstrip()[:1] in (b"{", b"[")
        if self._whole:
            return self._body.feed(chunk)
        for event in self._stream.feed(chunk):
            if self._emit is not None:
                self.emitted = True
                self._emit(event)
        # the bytes first: of thousands of events hardly one is an error, and each would be parsed twice
        errors = (data for data in self._payloads.feed(chunk) if b'"error"' in data)
        return next((data for data in errors if error_texts(_OK, data)), None)

    def error(self) -> bytes | None:
        """The server's words if the end of the answer, or all of it, is an error; else None."""
        if not self._whole:
            return self.feed(b"\n\n")
        body = self._body.body()
        return body if error_texts(_OK, body) else None

    def reply(self) -> Reply:
        """The reply; not ``complete`` where it broke off.

        Raises:
            InvalidInput: what came is no reply.
        """
        if self._whole:
            return parse_reply(self._body.body(), dialect=self._dialect)
        reply = self._stream.reply()
        if not reply.complete and not reply.messages and not reply.id:
            raise InvalidInput(f"not a reply of {self._dialect}")
        return reply
