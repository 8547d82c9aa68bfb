"""Pending requests, above the field: sent when the running turn has ended, withdrawn with a button."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from html import escape

from nicegui import ui

from autocompact.chat.views import PendingRequest
from autocompact.ui.web.icons import icon

SHOWN = 300
"""Characters of a pending request that are shown."""


class PendingList:
    """The list of pending requests; hidden while there are none.

    Args:
        withdraw: removes the request with that id.
        send: sends the first one now.
    """

    def __init__(
        self, *, withdraw: Callable[[str], Awaitable[None]], send: Callable[[], Awaitable[None]]
    ) -> None:
        self._withdraw = withdraw
        self._send = send
        self._list = ui.element("ul").classes("waiting").props('aria-label="Waiting messages"')

    def show(self, requests: Sequence[PendingRequest], *, running: bool) -> None:
        """Show these requests, the next one first; without a running turn the first has a button that sends it."""
        self._list.clear()
        self._list.set_visibility(bool(requests))
        with self._list:
            for n, request in enumerate(requests):
                self._row(request, ready=not running and n == 0)

    def _row(self, request: PendingRequest, *, ready: bool) -> None:
        with ui.element("li"):
            ui.html(pending_html(request))
            if ready:
                with ui.element("button").classes("secondary").props("type=button") as now:
                    ui.html("Send now", sanitize=False, tag="span")
                now.on("click", self._send, args=[])
            with (
                ui.element("button").classes("back").props('type=button title="Withdraw"') as back,
            ):
                ui.html(icon("close"), sanitize=False, tag="span")
            back.props["aria-label"] = f"Withdraw: {request.text[:60]}"
            back.on("click", partial(self._withdraw, request.id), args=[])


def pending_html(request: PendingRequest) -> str:
    """A pending request, shortened."""
    more = "…" if len(request.text) > SHOWN else ""
    return (
        f"{icon('clock')}<span class='label'>Waiting</span>"
        f"<span class='words'>{escape(request.text[:SHOWN])}{more}</span>"
    )
