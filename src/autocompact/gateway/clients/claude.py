"""Claude Code: ``ANTHROPIC_BASE_URL`` alone.

With an account's login it sends its token to that address as well, so a subscription works through the gateway.
"""

from __future__ import annotations

from dataclasses import replace

from autocompact.gateway.clients.launch import Launch, Where

_ELSEWHERE = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


class ClaudeCode:
    """The entry of the table."""

    title = "Claude Code"
    programs = ("claude",)
    packages = ("@anthropic-ai/claude-code",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del at
        used = [name for name in _ELSEWHERE if where.environment.get(name) not in (None, "", "0")]
        if used:
            reason = f"{used[0]} is set: Claude Code then asks a cloud provider, whatever its base URL is"
            return replace(launch, obstacle=f"{reason}; unset it, or start claude without wrap")
        return launch
