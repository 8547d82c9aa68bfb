"""``python -m autocompact`` is the ``autocompact`` program."""

from __future__ import annotations

import sys

from autocompact.cli import run

if __name__ == "__main__":
    sys.exit(run())
