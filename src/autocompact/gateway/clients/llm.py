"""llm: ``OPENAI_BASE_URL``; its plug-in for Anthropic takes ``ANTHROPIC_BASE_URL``."""

from __future__ import annotations

from autocompact.gateway.clients.variables_only import VariablesOnly

LLM = VariablesOnly(title="llm", programs=("llm",), packages=("llm",))
