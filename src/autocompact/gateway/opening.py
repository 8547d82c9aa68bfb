"""The beginning of a stream: does it tell of an answer, or of a failure?

A provider that finds a request too large when its stream is already open says so in the first event. Not quite in the
first one in OpenAI's Responses: there ``response.created`` and ``response.in_progress`` go before ``response.failed``.
These say nothing yet, so they are held back for the event after them; comments are not, they keep clients waiting.
"""

from __future__ import annotations

import msgspec

from autocompact.wire.sse import Payloads

_SILENT = frozenset({"response.created", "response.in_progress", "response.queued"})


class _Event(msgspec.Struct):
    type: str = ""


_KIND = msgspec.json.Decoder(_Event)


def first_word(text: bytes) -> bytes | None:
    """What a stream that begins with ``text`` says first; None if it may still be anything.

    The data of the first event that is not silent; b"" after comments alone; what is no stream of events as it is.
    """
    said = Payloads().feed(text)
    if said:
        return next((data for data in said if not _is_silent(data)), None)
    if text.startswith(b":"):
        return b""
    return None if text.startswith((b"data:", b"event:", b"id:", b"retry:")) else text


def _is_silent(data: bytes) -> bool:
    try:
        return _KIND.decode(data).type in _SILENT
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
