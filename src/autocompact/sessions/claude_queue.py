"""Messages that the person typed while Claude Code worked.

Such text is queued. When the turn is over it is taken out (``dequeue``) and becomes an ordinary user line. When it is
handed to the model within the turn it is taken out with ``remove``, and older programs write no other line for it.
``popAll`` puts it back into the input field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Prompts that are taken out at the end of a turn become user lines one after the other: this many are looked through.
_BATCH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Queued text; ``number`` is the line at which it left the queue, ``typed`` the one at which it came."""

    text: str
    typed: int
    number: int
    time: str
    joined: bool = False


class Queue:
    """Follows the queue, and tells which prompts no user line repeats."""

    def __init__(self) -> None:
        self._waiting: list[Prompt] = []
        self._taken: list[Prompt] = []
        self._said: list[tuple[int, str]] = []

    def feed(self, operation: str, *, number: int, text: str, time: str) -> None:
        """Read a ``queue-operation`` line."""
        if operation == "enqueue" and text.strip():
            self._waiting.append(Prompt(text=text, typed=number, number=number, time=time))
        elif operation == "popAll":
            self._waiting.clear()
        elif operation in ("remove", "dequeue") and self._waiting:
            prompt = next((prompt for prompt in self._waiting if prompt.text == text), self._waiting[0])
            self._waiting.remove(prompt)
            self._taken.append(replace(prompt, number=number, joined=operation == "dequeue"))

    def said(self, number: int, text: str) -> None:
        """A user line, which may be a queued prompt that was delivered."""
        self._said.append((number, text.strip()))

    def undelivered(self) -> list[Prompt]:
        """The prompts that no user line soon after repeats, those never taken out included, in order."""
        spare = list(self._said)
        prompts: list[Prompt] = []
        for prompt in self._taken + self._waiting:
            delivery = next((said for said in _window(spare, prompt) if _delivers(said[1], prompt)), None)
            if delivery is None:
                prompts.append(prompt)
            elif not prompt.joined:
                spare.remove(delivery)
        return prompts


def _window(said: list[tuple[int, str]], prompt: Prompt) -> list[tuple[int, str]]:
    """The user lines that can be this prompt: those while it was queued, and the next ones after it left.

    Later ones with the same words ("continue") were typed anew.
    """
    during = [line for line in said if prompt.typed <= line[0] < prompt.number]
    after = [line for line in said if line[0] >= prompt.number]
    return during + after[: _BATCH if prompt.joined else 1]


def _delivers(text: str, prompt: Prompt) -> bool:
    wanted = prompt.text.strip()
    # Prompts taken out together are joined to one user line.
    return text == wanted or (prompt.joined and wanted in text)
