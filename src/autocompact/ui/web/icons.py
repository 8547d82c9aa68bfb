"""The icons of the page, drawn here: a few lines each, on a field of 24."""

from __future__ import annotations

from typing import Literal, TypeAlias

Icon: TypeAlias = Literal[
    "chart",
    "check",
    "clock",
    "close",
    "compress",
    "copy",
    "down",
    "edit",
    "file",
    "left",
    "list",
    "menu",
    "moon",
    "more",
    "open",
    "clip",
    "pin",
    "plus",
    "retry",
    "right",
    "search",
    "send",
    "stop",
    "tool",
    "wait",
]

_PATHS: dict[Icon, str] = {
    "chart": "M4 20V10M10 20V4M16 20v-7M21 20H3",
    "check": "M5 12.5l4.5 4.5L19 7.5",
    "clock": "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l2.5 2.5",
    "close": "M6 6l12 12M18 6L6 18",
    "compress": "M5 9h14M5 15h14M12 2v4.5m-2.5-2L12 7l2.5-2.5M12 22v-4.5m-2.5 2L12 17l2.5 2.5",
    "copy": "M9 9h10v11H9zM15 9V5H5v11h4",
    "down": "M6 9l6 6 6-6",
    "edit": "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
    "file": "M7 3h7l4 4v14H7zM14 3v4h4",
    "clip": "M20 11.5l-8 8a5 5 0 0 1-7-7l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7L10 17a1.6 1.6 0 0 1-2.3-2.3l7.5-7.4",
    "left": "M15 6l-6 6 6 6",
    "list": "M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01",
    "menu": "M4 7h16M4 12h16M4 17h16",
    "moon": "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z",
    "more": "M5 12h.01M12 12h.01M19 12h.01",
    "open": "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z",
    "pin": "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
    "plus": "M12 5v14M5 12h14",
    "retry": "M19 8a8 8 0 1 0 1 5M20 4v5h-5",
    "right": "M9 6l6 6-6 6",
    "search": "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
    "send": "M12 20V5M5.5 11.5L12 5l6.5 6.5",
    "stop": "M7 7h10v10H7z",
    "tool": "M14.5 6.5a4.5 4.5 0 0 1 5.6-1.9l-3 3 .3 1.9 1.9.3 3-3M14.5 6.5a4.5 4.5 0 0 0 .4 4L4 21.4",
    "wait": "M12 3a9 9 0 1 0 9 9",
}


def icon(name: Icon) -> str:
    """An icon in the colour of the text around it; screen readers pass it over."""
    width = 3 if name == "more" else 1.8
    return (
        '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" '
        f'stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round"><path d="{_PATHS[name]}"/></svg>'
    )
