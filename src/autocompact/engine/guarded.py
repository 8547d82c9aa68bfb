"""A model whose every failure is a `ModelError`, whoever wrote it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable

from autocompact.core.messages import Message
from autocompact.core.redaction import redact
from autocompact.errors import ModelError
from autocompact.ports import Model, ModelReply

_MOST_CHARS = 300
"""Of a foreign error's message, after it was redacted."""


class GuardedModel:
    """Implements `Model` over one that may raise anything, or answer with something that is no reply.

    What it raises besides `ModelError` becomes one, ``from`` the original; a cancellation and the end of the program
    pass through. So a model of the user's own fails as one of ours does.

    Args:
        model: who is asked.
    """

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        """See `Model.complete`."""
        reply = await self._guarded(
            lambda: self._model.complete(messages, max_tokens=max_tokens, tools=tools)
        )
        if isinstance(reply, ModelReply) and _is_text(reply.text):
            return reply
        raise ModelError(
            f"the model {self.name!r} answered with {_kind(reply)}: `complete` must return a ModelReply with text"
        )

    async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
        """See `Model.count`."""
        tokens = await self._guarded(lambda: self._model.count(messages, tools=tools))
        if isinstance(tokens, int) and tokens > 0:
            return tokens
        raise ModelError(
            f"the model {self.name!r} counted {tokens!r}: `count` must return a number of tokens"
        )

    async def aclose(self) -> None:
        """See `Model.aclose`."""
        await self._guarded(self._model.aclose)

    async def _guarded(self, ask: Callable[[], Awaitable[object]]) -> object:
        try:
            answer = ask()
            return await answer if isawaitable(answer) else answer
        except ModelError:
            raise
        except Exception as error:
            said = redact(str(error))
            cut = said if len(said) <= _MOST_CHARS else f"{said[:_MOST_CHARS]}…"
            raise ModelError(f"the model {self.name!r} failed: {type(error).__name__}: {cut}") from error


def _is_text(text: object) -> bool:
    return isinstance(text, str)


def _kind(reply: object) -> str:
    if isinstance(reply, ModelReply):
        return f"a ModelReply whose text is {type(reply.text).__name__}"
    return type(reply).__name__
