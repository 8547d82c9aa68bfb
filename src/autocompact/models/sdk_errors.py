"""Recognising in an exception that a request was larger than the model's window, whichever library raised it.

The SDKs of OpenAI, Anthropic, Google and AWS keep status and body of the response at different places; frameworks wrap
them, or have a class of their own for it. Nothing is imported from any of them: names and attributes tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeGuard, cast

import msgspec

from autocompact.errors import ModelOverflow
from autocompact.models import overflow
from autocompact.models.overflow import Overflow

_CLASSES: Final = frozenset(
    {
        "ContextOverflowError",
        "ContextWindowExceededError",
        "ContextWindowOverflowException",
        "LLMContextWindowExceedError",
        "ModelContextWindowExceededError",
        "RequestTooLargeError",
    }
)
"""LangChain; LiteLLM; Strands; OpenHands; pydantic-ai; Anthropic (413)."""

_MOST_CAUSES = 12


def is_overflow(error: BaseException) -> Overflow | None:
    """Read from an SDK's exception by how much a request was too large; None if the error is another one.

    Causes, contexts and groups are looked at as well. An exception that carries no response of a provider counts only
    where its class is one that says it: the words of a tool's error are no overflow.

    Args:
        error: what the call of a model raised.
    """
    return next(filter(None, map(_of, _related(error))), None)


def _related(error: BaseException) -> Iterator[BaseException]:
    """The error, those in its groups, and those that it was raised from."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _MOST_CAUSES:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", each).exceptions
        waiting += filter(None, (each.__cause__, each.__context__))


def _of(error: BaseException) -> Overflow | None:
    status, body = _status(error), _body(error)
    # an exception that keeps no status is of an error all the same
    found = None if body is None else overflow.is_overflow(400 if status is None else status, body)
    named = isinstance(error, ModelOverflow) or any(each.__name__ in _CLASSES for each in type(error).__mro__)
    if found is None and named:
        said = " ".join(str(error).split())[:300]
        return overflow.is_overflow(400, said.encode(errors="replace")) or Overflow(message=said)
    return found


def _status(error: BaseException) -> int | None:
    """The status of the response, by the names under which the libraries keep it."""
    response: Any = getattr(error, "response", None)
    if _is_object(response):  # botocore
        metadata = response.get("ResponseMetadata")
        return metadata.get("HTTPStatusCode") if _is_object(metadata) else None
    places = ((error, "status_code"), (response, "status_code"), (error, "code"), (error, "status"))
    values: list[Any] = [getattr(owner, name, None) for owner, name in places]
    return next((value for value in values if isinstance(value, int)), None)


def _body(error: BaseException) -> bytes | None:
    """The body of the response, in the form of the providers; None where the exception has none."""
    response: Any = getattr(error, "response", None)
    values: tuple[Any, ...] = (getattr(error, "body", None), getattr(error, "details", None), response)
    for value in values:
        if isinstance(value, str) and value:
            return value.encode(errors="replace")
        if _is_object(value) or isinstance(value, list):
            return msgspec.json.encode({"error": _lowered(value)}, enc_hook=str)
    text: Any = getattr(response, "text", None)
    return text.encode(errors="replace") if isinstance(text, str) and text else None


def _lowered(value: Any) -> Any:
    """The body with the names of its error's members in lower case: AWS has them with capitals."""
    if not _is_object(value):
        return value
    return {str(name).lower(): _lowered(each) for name, each in value.items()}


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)
