"""Crush: its catalogue of providers (Catwalk) has the addresses ``$OPENAI_API_ENDPOINT`` and ``$ANTHROPIC_API_ENDPOINT``."""

from __future__ import annotations

from autocompact.gateway.clients.launch import Launch, Where


class Crush:
    """The entry of the table."""

    title = "Crush"
    programs = ("crush",)
    packages = ("@charmland/crush",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del at
        return launch.with_variables(
            OPENAI_API_ENDPOINT=where.versioned, ANTHROPIC_API_ENDPOINT=where.address
        )
