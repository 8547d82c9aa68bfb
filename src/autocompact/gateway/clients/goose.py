"""goose: ``OPENAI_HOST`` and ``ANTHROPIC_HOST``."""

from __future__ import annotations

from autocompact.gateway.clients.variables_only import VariablesOnly

GOOSE = VariablesOnly(title="goose", programs=("goose",))
