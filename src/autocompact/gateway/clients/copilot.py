"""GitHub Copilot CLI: only with a provider of the user's own (``copilot help providers``); else it asks GitHub."""

from __future__ import annotations

from dataclasses import replace

from autocompact.gateway.clients.launch import Launch, Where

_BASE, _TYPE, _KEY = "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_API_KEY"
_TOKEN = "COPILOT_PROVIDER_BEARER_TOKEN"
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class CopilotCli:
    """The entry of the table."""

    title = "GitHub Copilot CLI"
    programs = ("copilot",)
    packages = ("@github/copilot",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del at
        environment = where.environment
        if environment.get(_BASE):
            reason = f"{_BASE} is set: unset it, and give that server to wrap as --upstream openai=URL"
            return replace(launch, obstacle=reason)
        kind = environment.get(_TYPE) or ("openai" if environment.get("OPENAI_API_KEY") else "anthropic")
        if kind not in _KEYS:
            return replace(launch, obstacle=f"{_TYPE} is {kind!r}: the gateway serves openai and anthropic")
        key = environment.get(_KEY) or environment.get(_KEYS[kind], "")
        if not key and not environment.get(_TOKEN):
            reason = "Copilot CLI asks GitHub's own servers, which no base URL changes, unless it has a key of a provider"
            return replace(
                launch, obstacle=f"{reason}: set OPENAI_API_KEY or ANTHROPIC_API_KEY, and COPILOT_MODEL"
            )
        address = where.versioned if kind == "openai" else where.address
        named = environment.get("COPILOT_MODEL") or "--model" in launch.command
        notes = (
            () if named else ("Copilot CLI needs the model's name with a provider: --model or COPILOT_MODEL",)
        )
        added = {_BASE: address, _TYPE: kind} | ({_KEY: key} if key else {})
        return replace(launch.with_variables(**added), notes=notes)
