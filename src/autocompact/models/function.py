"""A function as a model, or as a counter of tokens: for whoever has a client of their own, or wants to try one out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable, iscoroutinefunction, signature
from typing import TypeAlias, cast

from autocompact.core.messages import Message
from autocompact.core.tokens import Counter, Estimator, message_cost
from autocompact.errors import InvalidInput, ModelError
from autocompact.ports import ModelReply
from autocompact.wire import plain_messages

Answer: TypeAlias = str | ModelReply
Function: TypeAlias = Callable[[list[dict[str, object]]], Answer | Awaitable[Answer]]
"""Takes the messages as OpenAI's API has them, e.g. ``[{"role": "user", "content": "Hello."}]``; returns the reply."""

Count: TypeAlias = Callable[[str], int]
"""Takes a text; returns its tokens."""


class FunctionCounter:
    """Implements `autocompact.core.tokens.Counter` over a function. It is called from threads, too.

    Args:
        function: counts the tokens of a text.
    """

    def __init__(self, function: Count) -> None:
        self.name = f"function:{getattr(function, '__name__', type(function).__name__)}"
        self._function = function

    def count(self, text: str) -> int:
        """Tokens of ``text``.

        Raises:
            InvalidInput: the function did not return how many.
        """
        tokens = cast("object", self._function(text))
        if not isinstance(tokens, int) or tokens < 0:
            raise InvalidInput(
                f"the counter {self.name!r} returned {type(tokens).__name__} {str(tokens)[:40]!r}: return the number of tokens"
            )
        return tokens


class FunctionModel:
    """Implements `autocompact.ports.Model` over a function that takes messages and returns the reply's text.

    A plain function runs in a thread, so it may wait for a network; an ``async`` one runs on the event loop. What the
    function raises becomes a `ModelError`.

    Args:
        function: answers. It may return a `ModelReply` instead of text, to tell usage and the reason for the end.
        name: what receipts call it, and what window and tokenizer go by; None is ``function:`` and the function's name,
            which names no known model.
        window: tokens that it takes; None goes by ``name``.
        counter: counts for `count`; None estimates.

    Raises:
        InvalidInput: it cannot be called with the messages alone.
    """

    def __init__(
        self,
        function: Function,
        *,
        name: str | None = None,
        window: int | None = None,
        counter: Counter | None = None,
    ) -> None:
        self.name = name or f"function:{getattr(function, '__name__', type(function).__name__)}"
        self.window = window
        _check_takes_messages(function, name=self.name)
        self._function = function
        self._counter = counter or Estimator()

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        """Calls the function with the messages and returns its reply."""
        del max_tokens, tools  # the instruction names the size; a function that has tools knows them
        asked = plain_messages(messages, dialect="openai_chat")
        try:
            if iscoroutinefunction(self._function):
                answer = await self._function(asked)
            else:
                answer = await asyncio.to_thread(self._called, asked)
                answer = await answer if isawaitable(answer) else answer
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"the model {self.name!r} failed: {type(error).__name__}: {error}") from error
        if isinstance(answer, str):
            return ModelReply(text=answer, stop_reason="stop", model=self.name)
        if isinstance(answer, ModelReply):
            return answer
        raise ModelError(
            f"the model {self.name!r} answered with {type(answer).__name__}: return the reply's text, or a ModelReply"
        )

    def _called(self, asked: list[dict[str, object]]) -> Answer | Awaitable[Answer]:
        try:
            return self._function(asked)
        except StopIteration as error:  # none can leave a thread: whoever waits would wait for ever
            raise ModelError(f"the model {self.name!r} has no further answer: StopIteration") from error

    async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
        """Tokens of the request, by the counter."""
        tokens = sum(message_cost(message, self._counter).tokens for message in messages)
        return tokens + (self._counter.count(tools.decode(errors="replace")) if tools else 0)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def _check_takes_messages(function: Function, *, name: str) -> None:
    try:
        form = signature(function)
    except (TypeError, ValueError):  # some that are written in C do not say what they take
        return
    try:
        form.bind([])
    except TypeError as error:
        raise InvalidInput(
            f"the model {name!r} cannot be called with the messages ({error}): give a function of one argument, the "
            "list of messages, that returns the reply's text"
        ) from error
