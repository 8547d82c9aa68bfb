"""Server-sent events: from chunks of bytes, cut anywhere, to the data of each event."""

from __future__ import annotations


class Payloads:
    """Takes chunks and gives the ``data`` of the events that are complete.

    Lines end with LF, CRLF or CR; comments and other fields are passed over; several ``data`` lines of one event are
    joined with a newline (https://html.spec.whatwg.org/multipage/server-sent-events.html). Cost: O(bytes).
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that this chunk completes."""
        if not chunk:
            return []
        # a CRLF that two chunks share is one line end
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if not end:
            self._rest.append(chunk)
            return []
        lines = b"".join((*self._rest, chunk[:end])).splitlines()
        self._rest = [chunk[end:]]
        return [data for line in lines for data in self._line(line)]

    def _line(self, line: bytes) -> list[bytes]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data = b"\n".join(self._data)
            self._data = []
            return [data]
        return []
