"""Gemini CLI: it speaks Google's own API only, which the gateway does not serve."""

from __future__ import annotations

from dataclasses import replace

from autocompact.gateway.clients.launch import Launch, Where


class GeminiCli:
    """The entry of the table."""

    title = "Gemini CLI"
    programs = ("gemini",)
    packages = ("@google/gemini-cli",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del where, at
        reason = "Gemini CLI speaks Google's API, which the gateway does not serve"
        return replace(launch, obstacle=f"{reason}: start it without wrap, or use Qwen Code, its sister")
