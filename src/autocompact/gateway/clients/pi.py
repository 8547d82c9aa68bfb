"""pi: an extension for this run that gives its providers another address; it reads no variable for that."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from autocompact.gateway.clients.launch import Launch, Where

_NAME = "autocompact-gateway.js"
_NOTE = "pi's providers anthropic and openai go through the gateway; others of models.json stay as they are"


class Pi:
    """The entry of the table."""

    title = "pi"
    programs = ("pi",)
    packages = ("@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent")

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        addresses = {"anthropic": where.address, "openai": where.versioned}
        calls = "".join(
            f"  pi.registerProvider({_text(name)}, {{ baseUrl: {_text(url)} }});\n"
            for name, url in addresses.items()
        )
        added = ("-e", str(where.folder / _NAME))
        return replace(
            launch,
            command=(*launch.command[:at], *added, *launch.command[at:]),
            files={_NAME: f"export default function (pi) {{\n{calls}}}\n".encode()},
            notes=(_NOTE,),
        )


def _text(value: str) -> str:
    return msgspec.json.encode(value).decode()
