"""What the program's own texts say where the model does not have the memory tools.

Summaries, masks and cut requests name ``memory_search`` and ``memory_expand``. A model that lacks them would try to call
them, or look for them: there, the texts say that the original is archived, and under which reference.
"""

from __future__ import annotations

import re
from dataclasses import replace

from autocompact.core.messages import Message, Part, Text, ToolResult
from autocompact.ledger.summary import HEADING, NOTE

_SEARCH = "memory_search finds them, memory_expand opens a reference such as [m123]."
_ARCHIVED = "a reference such as [m123] names one of them."
_HEAD = f"{HEADING}\n\n{NOTE}"
_EXPAND = re.compile(r"memory_expand\(\"m([1-9][0-9]*)\"\) shows (all of )?it\]")
_NAME = "memory_expand"


def without_tools(message: Message) -> Message:
    """The message with no word of the memory tools in what the program wrote; the same object if there is none.

    A mask names the message that it is in, and a summary has its heading: a client's own text with such words stays.
    """
    parts = tuple(_plain(part, message.seq) for part in message.parts)
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else message.with_parts(parts)


def _plain(part: Part, seq: int) -> Part:
    if not isinstance(part, Text | ToolResult) or _NAME not in part.text:
        return part
    is_summary = isinstance(part, Text) and _HEAD in part.text

    def reference(match: re.Match[str]) -> str:
        if not is_summary and int(match[1]) != seq:
            return match[0]
        return f"{'all of it is ' if match[2] else ''}archived as m{match[1]}]"

    text = _EXPAND.sub(reference, part.text)
    if is_summary:
        text = text.replace(_HEAD, _HEAD.replace(_SEARCH, _ARCHIVED), 1)
    return part if text == part.text else replace(part, text=text)
