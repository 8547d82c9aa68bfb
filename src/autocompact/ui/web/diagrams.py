"""Diagrams that a model wrote in mermaid's language, drawn where they can do no harm.

Who wrote the text of a diagram is not known, and mermaid makes HTML and styles of it. So it runs in a frame of its own
(`assets/diagrams`), which is sandboxed: it has no origin, so neither cookies nor the page, may load nothing but
mermaid, and cannot go elsewhere. What it draws comes back as text, which the page (`assets/diagrams.js`) shows as an image:
in an image a browser runs no script, follows no link and loads nothing.

A frame without an origin brings no cookie and asks for modules as a foreign page does. Its files are therefore served to
whoever knows their folder, whose name is a secret that only the page holds.
"""

from __future__ import annotations

import hmac
from pathlib import Path

import nicegui
from fastapi import FastAPI

from autocompact.ui.web.static import ASSETS, KeptFiles

_MERMAID = Path(nicegui.__file__).parent / "elements" / "mermaid" / "dist"
"""The mermaid that NiceGUI brings for its own element."""


def frame_folder(token: str, *, version: str) -> str:
    """The path that the frame's files are served under; it begins and ends with ``/``.

    Args:
        token: the secret of the page.
        version: of the page's assets.
    """
    name = f"the frame of diagrams {version} {nicegui.__version__}"
    return f"/diagrams/{hmac.digest(token.encode(), name.encode(), 'sha256').hex()[:32]}/"


def serve_frame(app: FastAPI, *, folder: str) -> str:
    """Serve the frame's files in ``folder``.

    Returns:
        HTML for the head of a page that shows diagrams; "" where NiceGUI brings no mermaid, so that they stay as they are
        written.
    """
    if not (_MERMAID / "index.js").is_file():
        return ""
    app.mount(f"{folder}mermaid", KeptFiles(directory=_MERMAID))
    app.mount(folder.removesuffix("/"), KeptFiles(directory=ASSETS / "diagrams"))
    return f'<meta name="diagrams" content="{folder}">'
