"""Pages and drawings that load nothing: one HTML document with its style, light and dark, and shapes as SVG.

Shapes take their colours from classes of the page (``with``, ``without``, ``mark``, ``missing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5b6470; --line: #d9dee5; --paper: #fff;
  --with: #1f6feb; --without: #c5d5ee; --mark: #d97706; --missing: #b42318; --inside: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a2abb8; --line: #343b45; --paper: #15181d;
  --with: #6ea8fe; --without: #34486a; --mark: #f0a94a; --missing: #f0776b; --inside: #10131a } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 3rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem }
p { margin: .5rem 0; max-width: 44rem; overflow-wrap: anywhere }
.note { color: var(--soft) }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: .75rem 1.25rem; margin: 1.25rem 0 }
dl div { border-top: 1px solid var(--line); padding-top: .4rem }
dt { color: var(--soft); font-size: .85rem }
dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .75rem 0 }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--soft); font-weight: 500 }
td.name { white-space: normal; overflow-wrap: anywhere; min-width: 8rem }
summary { color: var(--soft); cursor: pointer; margin-top: .5rem }
.figures th + th, .figures td + td { text-align: right }
ul { padding-left: 1.2rem; overflow-wrap: anywhere }
figure { margin: .75rem 0; max-width: 44rem }
svg { display: block; width: 100%; height: auto }
svg text { font: 9px system-ui, sans-serif; fill: var(--soft) }
svg .inside { fill: var(--inside); font-weight: 600 }
.with { fill: var(--with); background: var(--with) }
.without { fill: var(--without); background: var(--without) }
.mark { fill: var(--mark); background: var(--mark) }
.missing { fill: var(--missing); background: var(--missing) }
.grid { stroke: var(--line); stroke-width: .7 }
figcaption { display: flex; flex-wrap: wrap; gap: .25rem 1rem; color: var(--soft); font-size: .85rem }
figcaption i { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .4em }
"""


def document(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """An HTML document that loads nothing from elsewhere, with ``body`` in its middle.

    Args:
        title: of the window.
        body: HTML.
        style: further CSS.
        script: JavaScript that runs at the end; without it the page may run none.
    """
    may_run = "; script-src 'unsafe-inline'; img-src data: blob:" if script else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'{may_run}\">\n"
        f"<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"{f'<script>{script}</script>' if script else ''}</body>\n</html>\n"
    )


def short(value: float) -> str:
    """A figure in few characters: ``950``, ``84k``, ``1.2M``."""
    for limit, divisor, unit in ((1_000, 1, ""), (1_000_000, 1_000, "k"), (10**9, 10**6, "M")):
        if value < limit * 0.9995:
            shown = value / divisor
            return f"{shown:.0f}{unit}" if shown >= 10 or not unit else f"{shown:.1f}{unit}"
    return f"{value / 10**9:.1f}G"


def rect(x: float, y: float, *, width: float, height: float, kind: str) -> str:
    """A rectangle of a class."""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}"/>'
    )


def label(x: float, y: float, *, text: str, anchor: str = "start") -> str:
    """Words in a drawing."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def svg(
    shapes: Sequence[str], *, label: str, legend: Sequence[tuple[str, str]], size: tuple[int, int]
) -> str:
    """A figure with its legend.

    Args:
        shapes: SVG elements.
        label: what it shows, for those who do not see it.
        legend: classes with what they mean.
        size: width and height.
    """
    keys = "".join(f'<span><i class="{kind}"></i>{escape(text)}</span>' for kind, text in legend)
    return (
        f'<figure><svg viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'
        f"<figcaption>{keys}</figcaption></figure>"
    )
