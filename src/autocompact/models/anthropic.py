"""Models behind Anthropic's Messages API, and behind servers that speak it too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from autocompact.core.messages import Dialect
from autocompact.models.failures import Secret
from autocompact.models.http import Patience, Retries, Transport, checked_url
from autocompact.models.remote import Call, RemoteModel
from autocompact.wire import export_messages, json

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"

DEFAULT_OUTPUT = 4_096
"""Tokens of an answer where nobody says: this API demands a figure."""


class Anthropic(RemoteModel):
    """A model of Anthropic's.

    Where tools come with the request, calling them is not forbidden at first: a changed ``tool_choice`` drops the
    cached messages (Anthropic, "Tool use with prompt caching"). Only a model that calls one instead of answering is
    asked again with calls forbidden.

    Args:
        name: the model's name.
        base_url: with or without ``/v1``.
        api_key: None or "" sends none.
        window: tokens that the model takes, its answer included; by default as far as the name is known.
        headers: further ones, e.g. ``{"anthropic-beta": …}``; they are not shown anywhere.
        extra: further members of each request; they win over ours.
        patience: when to give up.
        retries: when to try again.

    Raises:
        InvalidInput: the base URL or the key cannot be used.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = ANTHROPIC_URL,
        api_key: str | None = None,
        window: int | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, object] | None = None,
        patience: Patience | None = None,
        retries: Retries | None = None,
    ) -> None:
        transport = Transport(
            f"{checked_url(base_url).removesuffix('/v1')}/v1",
            model=name,
            secret=Secret(api_key),
            header=("x-api-key", "{}"),
            headers={"anthropic-version": VERSION, **(headers or {})},
            patience=patience,
            retries=retries,
        )
        super().__init__(name, api=_Messages(), transport=transport, window=window, extra=extra)

    @classmethod
    def from_environment(
        cls, name: str, *, window: int | None = None, environ: Mapping[str, str] | None = None
    ) -> Self:
        """The model with ``ANTHROPIC_API_KEY`` and, where it is set, ``ANTHROPIC_BASE_URL``, as they are now.

        Args:
            name: the model's name.
            window: tokens that it takes.
            environ: in place of the process's environment.
        """
        given = os.environ if environ is None else environ
        return cls(
            name,
            base_url=given.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL,
            api_key=given.get("ANTHROPIC_API_KEY"),
            window=window,
        )


class _Messages:
    """Messages."""

    dialect: Dialect = "anthropic"
    path = "/messages"
    count_path = "/messages/count_tokens"
    limits: tuple[str, ...] = ("max_tokens",)
    free_choice = False

    def request(self, call: Call) -> dict[str, object]:
        """The members of the request, but for the cap."""
        choice = {"tool_choice": {"type": "none"}} if call.no_calls else {}
        return {**self.counting(call), "stream": True, "max_tokens": DEFAULT_OUTPUT, **choice}

    def counting(self, call: Call) -> dict[str, object]:
        """The members of a request that is only to be counted."""
        exported = export_messages(call.messages, dialect=self.dialect)
        members: dict[str, object] = {
            "model": call.model,
            "messages": json.fragment(json.array(exported.messages)),
        }
        if exported.system is not None:
            members["system"] = json.fragment(exported.system)
        if call.tools is not None:
            members["tools"] = json.fragment(call.tools)
        return members
