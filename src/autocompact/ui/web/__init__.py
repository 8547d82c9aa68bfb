"""The chat as a web page on this computer.

`page_app` is an ASGI application: the conversations of a `ChatService`, for a browser. It loads nothing from other
hosts, and answers only its own pages.

Raises:
    ImportError: an extra is not installed.
"""

from __future__ import annotations

from autocompact.runtime.extras import install_command

try:
    from autocompact.ui.web.app import page_app
except ImportError as error:
    # a fault of ours, which no installation mends
    if (error.name or "").startswith("autocompact"):
        raise
    raise ImportError(
        f"the page is not installed: {install_command('chat,gateway')} ({error.name})", name=error.name
    ) from error

__all__ = ["page_app"]
