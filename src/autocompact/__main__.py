"""``python -m autocompact`` is the ``autocompact`` program."""

from __future__ import annotations

import sys

from autocompact.cli import main

if __name__ == "__main__":
    sys.exit(main())
