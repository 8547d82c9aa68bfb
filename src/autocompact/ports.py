"""The seams: what the engine asks of the world around it, as Protocols of at most eight methods."""

from __future__ import annotations

from autocompact.core.tokens import Counter

TokenCounter = Counter
