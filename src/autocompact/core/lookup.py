"""Ways in which a model opens what left its context: the memory tools, a command, or none.

Summaries, masks and cut requests name references such as m123. What the model can do with one depends on who sends the
request, so these texts are worded when the context is rendered. A record keeps the words for a model with the tools.
"""

from __future__ import annotations

import re

from msgspec import Struct

OPENS = 'memory_expand("m{}") shows it]'
"""Ends a stub, in the words of a record; the field is the ``seq`` of the message."""

OPENS_ALL = 'memory_expand("m{}") shows all of it]'
"""Ends a note on a text of which a part is shown."""

CUT = "characters left out: "
"""Stands before `OPENS_ALL` where the middle of a request is left out."""

_ARCHIVED = "archived as m{}]"
_ARCHIVED_ALL = "all of it is archived as m{}]"
_CUT_REQUEST = re.compile(
    re.escape(CUT) + re.escape(OPENS_ALL).replace(r"\{\}", "([1-9][0-9]*)"), re.MULTILINE
)


class Lookup(Struct, frozen=True, kw_only=True):
    """The way in which the model of a conversation can open a reference.

    Attributes:
        tools: it has ``memory_search`` and ``memory_expand``.
        command: a shell command that shows ``m123``, for a model without the tools that can run commands; "" if there is none.
    """

    tools: bool = True
    command: str = ""

    @property
    def note(self) -> str:
        """The sentence of a summary's heading on how to open references."""
        if self.tools:
            return "The originals are archived: memory_search finds them, memory_expand opens a reference such as [m123]."
        named = "The originals are archived: a reference such as [m123] names one of them."
        if self.command:
            return f"{named} If you can run commands, `{self.command}` shows it."
        return f"{named} You cannot open it yourself: where a detail is missing, look at its source again, or ask."

    def stub(self, text: str, *, seq: int) -> str:
        """The stub ``text`` of message ``seq``, as a record has it, in words for this model."""
        if self.tools:
            return text
        for known, told in ((OPENS, _ARCHIVED), (OPENS_ALL, _ARCHIVED_ALL)):
            text = text.replace(known.format(seq), told.format(seq))
        return text

    def summary(self, text: str) -> str:
        """The summary ``text`` of a record in words for this model: it may quote a request that was cut."""
        if self.tools:
            return text
        return _CUT_REQUEST.sub(lambda match: CUT + _ARCHIVED_ALL.format(match[1]), text)


WITH_TOOLS = Lookup()
"""A model with the memory tools."""
