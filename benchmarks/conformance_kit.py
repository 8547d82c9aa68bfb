"""autocompact as a compactor of the compaction conformance kit, a second opinion that we did not write.

    pip install --target KIT compaction-conformance-kit
    PYTHONPATH=KIT python -m compaction_kit.cli check benchmarks/conformance_kit.py:At700      # and At1000

The conversation goes on between the rounds: 28 further messages are said before each later compaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Protocol

from autocompact import MODES, Compactor, Conversation, MemoryStore
from autocompact.core.messages import Role

TURNS, WINDOW, TAIL = 14, 32_000, 100


class Turn(Protocol):
    """A turn of the kit's session."""

    role: Role
    text: str


class At1000:
    """A summary of 1,000 tokens, made offline."""

    name = "autocompact"
    tokens = 1_000

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._conversation: Conversation | None = None

    def compact(self, turns: Iterable[Turn], *, round_num: int = 1) -> SimpleNamespace:
        """The context after one more compaction; what an earlier round gave is in the conversation already."""
        text = self._runner.run(self._compacted(turns, later=round_num))
        return SimpleNamespace(text=text, compactor_name=self.name, round_num=round_num)

    async def _compacted(self, turns: Iterable[Turn], *, later: int) -> str:
        conversation = self._conversation
        if conversation is None:
            mode = next(iter(MODES.values()))
            policy = replace(mode.policy, tail_tokens=TAIL, enabled=False)
            compactor = Compactor(
                MemoryStore(), mode=replace(mode, summary_tokens=self.tokens, policy=policy), window=WINDOW
            )
            conversation = self._conversation = await compactor.open("kit")
            for turn in turns:
                await conversation.say(turn.text, role=turn.role)
        else:
            for part in range(TURNS):
                await conversation.say(f"Part {later}.{part} of the importer is done, look at the next one.")
                await conversation.say("Acknowledged. Continuing with the plan. " * 8, role="assistant")
        await conversation.compact()
        return "\n".join(message.text for message in conversation.context().messages)


class At700(At1000):
    """A summary of 700 tokens."""

    tokens = 700
