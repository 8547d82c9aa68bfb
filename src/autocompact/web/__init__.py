"""The chat as a web page on this computer.

`page_app` is an ASGI application: the conversations of a `ChatService`, for a browser. It loads nothing from anywhere
else, and answers nobody but its own pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.web.app import page_app

__all__ = ["page_app"]


def __getattr__(name: str) -> object:
    if name != "page_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from autocompact.web.app import page_app
    except ImportError as error:
        if (error.name or "").startswith("autocompact"):
            raise
        raise ImportError(
            f'the page is not installed: pip install "autocompact[chat,gateway]" ({error.name})'
        ) from error
    return page_app
