"""The JSON schema of ``settings.json``, made from the values."""

from __future__ import annotations

from typing import Any

import msgspec

from autocompact.settings.document import SCHEMA
from autocompact.settings.values import Settings

FILE = "settings.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def made_schema() -> bytes:
    """The schema as the values have it now."""
    schema: dict[str, Any] = msgspec.json.schema(Settings)
    definitions = schema.pop("$defs")
    root = definitions.pop("Settings")
    root["title"] = "autocompact settings.json"
    root["properties"] = {SCHEMA: {"type": "string", "description": "Of this schema, for editors."}} | root[
        "properties"
    ]
    whole = {"$schema": _DIALECT} | root | {"$defs": dict(sorted(definitions.items()))}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def schema() -> bytes:
    """The schema that comes along."""
    from importlib import resources  # 3 ms, of which a command that compacts has no use

    return (resources.files("autocompact.settings") / FILE).read_bytes()
