"""A whole conversation in other forms than its compacted context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

import msgspec

from autocompact.compaction.repair import repair
from autocompact.core.messages import Message
from autocompact.engine.following import current
from autocompact.history.archive import Archive, write_archive
from autocompact.history.export_format import ExportFormat
from autocompact.sessions import render_chat_json, render_markdown
from autocompact.wire import export_messages


def render(archive: Archive, format: ExportFormat) -> Iterable[bytes]:
    """The conversation, in pieces; compactions change nothing of it.

    - ``json``: an archive, from which nothing is missing.
    - ``openai``, ``anthropic``: the ``messages`` of a request, valid to send. A message that came in this dialect keeps
      its bytes. Replaced messages are left out, and a call that nobody answered gets its answer.
    - ``jsonl``: the same in OpenAI's form, one message on each line.
    - ``markdown``: for people; replaced messages included.
    """
    match format:
        case "json":
            return (write_archive(archive),)
        case "jsonl":
            return _lines(archive)
        case "openai":
            return (render_chat_json(valid(archive.messages), dialect="openai_chat"),)
        case "anthropic":
            return (render_chat_json(valid(archive.messages), dialect="anthropic"),)
        case "markdown":
            return (render_markdown(archive.messages, title=archive.name).encode("utf-8", "replace"),)
    assert_never(format)


def valid(messages: Iterable[Message]) -> list[Message]:
    """The messages that no later one replaced, as an API takes them."""
    return repair(current(messages))


def _lines(archive: Archive) -> Iterator[bytes]:
    exported = export_messages(valid(archive.messages), dialect="openai_chat")
    for message in exported.messages:
        # one message a line, whatever breaks the client wrote into its JSON
        yield (msgspec.json.format(message, indent=-1) if b"\n" in message else message) + b"\n"
