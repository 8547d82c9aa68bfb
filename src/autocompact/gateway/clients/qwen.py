"""Qwen Code: ``OPENAI_BASE_URL``, if it signs in with a key."""

from __future__ import annotations

from dataclasses import replace

from autocompact.gateway.clients.launch import Launch, Where, option_of

_OPTION = "--openai-base-url"


class QwenCode:
    """The entry of the table."""

    title = "Qwen Code"
    programs = ("qwen",)
    packages = ("@qwen-code/qwen-code",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        if option_of(launch.command[at:], _OPTION):
            reason = f"the command gives {_OPTION}: leave it out, and give that server to wrap as --upstream openai=URL"
            return replace(launch, obstacle=reason)
        if where.environment.get("OPENAI_API_KEY"):
            return launch
        note = "without OPENAI_API_KEY Qwen Code uses the sign-in that you chose in it; only a key's goes through the gateway"
        return replace(launch, notes=(note,))
