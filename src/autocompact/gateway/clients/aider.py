"""aider: ``OPENAI_API_BASE`` and ``ANTHROPIC_API_BASE``, LiteLLM's variables, unless an option names an address."""

from __future__ import annotations

from dataclasses import replace

from autocompact.gateway.clients.launch import Launch, Where, option_of

_OPTION = "--openai-api-base"


class Aider:
    """The entry of the table."""

    title = "aider"
    programs = ("aider",)
    packages = ("aider-chat", "aider")

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del where
        if option_of(launch.command[at:], _OPTION):
            reason = f"the command gives {_OPTION}: leave it out, and give that server to wrap as --upstream openai=URL"
            return replace(launch, obstacle=reason)
        return launch
