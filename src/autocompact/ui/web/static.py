"""Files of the page that a browser keeps: their path has a hash of all of them, so that another version has another path."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any

from fastapi import Response
from fastapi.staticfiles import StaticFiles

ASSETS = Path(__file__).parent / "assets"


class KeptFiles(StaticFiles):
    """Files of a folder that never change under their address."""

    def file_response(self, full_path: str | PathLike[str], *args: Any, **options: Any) -> Response:
        """A file, which the browser need not ask for again."""
        response = super().file_response(full_path, *args, **options)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        if str(full_path).endswith(".woff2"):
            response.headers["content-type"] = "font/woff2"  # Python 3.13 does not know it yet
        return response


def assets_hash() -> str:
    """Twelve hex digits that change with any file of `ASSETS`."""
    whole = hashlib.sha256()
    for path in sorted(ASSETS.rglob("*")):
        if path.is_file():
            whole.update(path.relative_to(ASSETS).as_posix().encode())
            whole.update(path.read_bytes())
    return whole.hexdigest()[:12]
