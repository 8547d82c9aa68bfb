"""OpenCode: ``OPENCODE_CONFIG_CONTENT``, which is merged over every file, with a base URL for each provider.

Anthropic's needs ``/v1`` there: OpenCode appends ``/messages`` to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from autocompact.gateway.clients.launch import Launch, Where

_VARIABLE = "OPENCODE_CONFIG_CONTENT"


class OpenCode:
    """The entry of the table."""

    title = "OpenCode"
    programs = ("opencode",)
    packages = ("opencode-ai",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del at
        given = where.environment.get(_VARIABLE, "").strip() or "{}"
        try:
            config = msgspec.json.decode(given, type=dict[str, Any])
            providers = msgspec.convert(config.get("provider", {}), dict[str, dict[str, Any]])
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return replace(launch, obstacle=f"{_VARIABLE} cannot be read ({error}): mend it or unset it")
        for name in ("anthropic", "openai"):
            provider = providers.setdefault(name, {})
            options = provider.get("options")
            provider["options"] = {
                **(options if isinstance(options, dict) else {}),
                "baseURL": where.versioned,
            }
        text = msgspec.json.encode({**config, "provider": providers}).decode()
        return launch.with_variables(**{_VARIABLE: text})
