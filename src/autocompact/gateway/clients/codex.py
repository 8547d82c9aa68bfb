"""Codex: ``-c openai_base_url=…``; it does not read ``OPENAI_BASE_URL`` (0.169)."""

from __future__ import annotations

from dataclasses import replace

from autocompact.gateway.clients.launch import Launch, Where

_BASE = "openai_base_url"
_PROVIDER = "model_provider"


class Codex:
    """The entry of the table."""

    title = "Codex"
    programs = ("codex",)
    packages = ("@openai/codex",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        given = _overrides(launch.command[at:])
        if _BASE in given:
            reason = f"the command names {_BASE} itself: leave it out, and give the server to wrap as --upstream openai=URL"
            return replace(launch, obstacle=reason)
        if given.get(_PROVIDER, "openai").strip("\"'") != "openai" or "--oss" in launch.command[at:]:
            reason = "the command chooses another model provider, whose address wrap does not know"
            return replace(launch, obstacle=f"{reason}: give its base_url with -c, or leave the choice out")
        added = ("-c", f'{_BASE}="{where.versioned}"')
        return replace(launch, command=(*launch.command[:at], *added, *launch.command[at:]))


def _overrides(words: tuple[str, ...]) -> dict[str, str]:
    """The settings that ``-c`` and ``--config`` give."""
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        if word in ("-c", "--config") and place + 1 < len(words):
            name, _, value = words[place + 1].partition("=")
            found[name.strip()] = value.strip()
        elif word.startswith("--config="):
            name, _, value = word.removeprefix("--config=").partition("=")
            found[name.strip()] = value.strip()
    return found
