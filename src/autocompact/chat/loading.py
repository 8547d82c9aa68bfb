"""Packages of the extra ``chat`` are loaded in threads, one thread at a time.

Modules that import each other, as those of pydantic-ai do, fail with "partially initialized module" where two threads
load them at once: Python's locks on them would else wait for each other.
"""

from __future__ import annotations

import threading

LOADING = threading.Lock()
"""Held by the thread that loads."""
