"""Cline: a copy of its provider settings, with the gateway's address in it, for this run.

It reads the file that ``CLINE_PROVIDER_SETTINGS_PATH`` names in place of ``~/.cline/data/settings/providers.json``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from autocompact.gateway.clients.launch import Launch, Where, option_of

_VARIABLE = "CLINE_PROVIDER_SETTINGS_PATH"
_NAME = "providers.json"
_SERVED = ("anthropic", "openai-native", "openai", "openai-compatible")
_NOTE = "Cline uses a copy of its provider settings in this run: what you change in them is not kept"


class Cline:
    """The entry of the table."""

    title = "Cline"
    programs = ("cline",)
    packages = ("cline",)

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        words = launch.command[at:]
        path = _settings_path(where, data=option_of(words, "--data-dir"), config=option_of(words, "--config"))
        try:
            known = _read(path)
            chosen = option_of(words, "-P", "--provider") or str(known.get("lastUsedProvider", "cline"))
            pointed = _pointed(known, chosen, address=where.versioned)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
            return replace(launch, obstacle=f"Cline's settings {str(path)!r} cannot be read ({error})")
        if chosen not in _SERVED:
            reason = f"Cline's provider is {chosen!r}, whose requests go to its own server"
            return replace(launch, obstacle=f"{reason}: choose one of {', '.join(_SERVED)} with -P")
        file = where.folder / _NAME
        return replace(
            launch.with_variables(**{_VARIABLE: str(file)}),
            files={_NAME: msgspec.json.encode(pointed)},
            notes=(_NOTE,),
        )


def _settings_path(where: Where, *, data: str, config: str) -> Path:
    if given := where.environment.get(_VARIABLE):
        return Path(given)
    folder = data or where.environment.get("CLINE_DATA_DIR")
    base = config or where.environment.get("CLINE_DIR") or str(where.home / ".cline")
    return Path(folder or f"{base}/data") / "settings" / _NAME


def _read(path: Path) -> dict[str, Any]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) if path.exists() else {}


def _pointed(known: dict[str, Any], chosen: str, *, address: str) -> dict[str, Any]:
    """The settings with the gateway's address for the provider that is used."""
    providers = {**msgspec.convert(known.get("providers", {}), dict[str, Any])}
    entry = msgspec.convert(providers.get(chosen, {}), dict[str, Any])
    settings = msgspec.convert(entry.get("settings", {}), dict[str, Any])
    settings = {"provider": chosen, **settings, "baseUrl": address}
    stamps = {"updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    providers[chosen] = {**stamps, **entry, "settings": settings}
    empty: dict[str, Any] = {"version": 1, "modes": {}}
    return {**empty, "lastUsedProvider": chosen, **known, "providers": providers}
