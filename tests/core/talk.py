"""Short made-up conversations for the ledger's tests."""

from __future__ import annotations

import json
from typing import Self

from autocompact.core.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.extraction import extract


class Words:
    """Counts words: enough to test budgets."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


class Talk:
    """A conversation said line by line; ``seq`` of the last message is ``len(talk.messages)``."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def add(self, role: Role, *parts: Part, synthetic: bool = False) -> Self:
        seq = len(self.messages) + 1
        self.messages.append(Message(seq=seq, role=role, parts=parts, synthetic=synthetic))
        return self

    def user(self, text: str) -> Self:
        return self.add("user", Text(text=text))

    def program(self, text: str) -> Self:
        return self.add("user", Text(text=text), synthetic=True)

    def agent(self, text: str) -> Self:
        return self.add("assistant", Text(text=text))

    def thinks(self, text: str) -> Self:
        return self.add("assistant", Reasoning(text=text))

    def calls(self, name: str, arguments: object, *, id: str = "") -> Self:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return self.add(
            "assistant", ToolCall(id=id or f"c{len(self.messages) + 1}", name=name, arguments=text)
        )

    def gets(self, output: str, *, is_error: bool = False, id: str = "") -> Self:
        call = id or f"c{len(self.messages)}"
        return self.add("tool", ToolResult(call_id=call, text=output, is_error=is_error))

    def runs(self, command: str, output: str, *, is_error: bool = False) -> Self:
        return self.calls("Bash", {"command": command}).gets(output, is_error=is_error)

    @property
    def ledger(self) -> Ledger:
        return extract(self.messages)

    def entries(self, kind: Kind) -> list[Entry]:
        """The entries of a kind in the order of the conversation."""
        return sorted(
            (e for e in self.ledger.entries if e.kind == kind),
            key=lambda e: (e.seq, e.key if kind == "todo" else ""),
        )
