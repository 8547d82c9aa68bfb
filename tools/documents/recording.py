"""Records the program for the README: ``make picture`` writes ``docs/images/first-minute.svg``.

The commands are run in a terminal of their own, in an empty folder with the example session, and what they write is what
the picture shows; only the pace is made up. It is one SVG that needs nothing else: each line of the whole dialogue is
text, CSS shows it at its time and moves the page up. Where animations are unwanted or unknown, it shows the end.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"
PICTURE = ROOT / "docs" / "images" / "first-minute.svg"

COMMANDS = (
    "autocompact compact session.jsonl --window 80k --to 12k --out compacted.md",
    "grep -A 3 'Rules in force' compacted.md",
    "autocompact import session.jsonl",
    "autocompact search 'why half up' -k 2",
)
COLUMNS, ROWS = 92, 24
_TALL = 300
_CHAR, _LINE, _EDGE = 8.4, 19, 14
_PROMPT = "$ "
# seconds: a typed character, a line that appears, the time to read what a command wrote
_TYPED, _SHOWN, _READ = 0.03, 0.05, 3.0
_COLOURS = {
    "default": "#d8dee9",
    "black": "#6b7485",
    "red": "#bf616a",
    "green": "#a3be8c",
    "brown": "#ebcb8b",
    "blue": "#81a1c1",
    "magenta": "#b48ead",
    "cyan": "#88c0d0",
    "white": "#eceff4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Characters of one line that look alike, from column ``column`` on."""

    column: int
    text: str
    colour: str = "default"
    bold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the dialogue, with the second at which it appears; a ``typed`` one appears character by character."""

    runs: tuple[Run, ...]
    at: float
    typed: bool = False

    @property
    def text(self) -> str:
        """What it says, without colours."""
        said = ""
        for run in self.runs:
            said = said.ljust(run.column) + run.text
        return said


def dialogue() -> list[Line]:
    """The commands and what they write, run now."""
    lines: list[Line] = []
    at = 0.5
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(SESSION, Path(folder) / "session.jsonl")
        for command in COMMANDS:
            lines.append(Line(runs=(Run(column=0, text=_PROMPT + command, bold=True),), at=at, typed=True))
            at += _TYPED * len(command) + 0.4
            for runs in _written(command, Path(folder)):
                lines.append(Line(runs=runs, at=at))
                at += _SHOWN
            lines.append(Line(runs=(), at=at))
            at += _READ
    return lines


def _written(command: str, folder: Path) -> list[tuple[Run, ...]]:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {
        "COLUMNS": str(COLUMNS),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "TERM": "xterm-256color",
        "XDG_DATA_HOME": str(folder),
    }
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        with subprocess.Popen(
            ["sh", "-c", command], cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            data = b"".join(_chunks(terminal.fileno()))
        if process.returncode:
            raise RuntimeError(f"{command!r} failed:\n{data.decode()}")
    screen = pyte.Screen(COLUMNS, _TALL)
    stream = pyte.ByteStream(screen)
    stream.feed(data)
    return [_runs(screen, row) for row in range(screen.cursor.y)]


def _chunks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 65_536)
        except OSError:  # Linux's way to say that the other end was closed
            return
        if not data:
            return
        yield data


def _runs(screen: pyte.Screen, row: int) -> tuple[Run, ...]:
    cells = [(column, screen.buffer[row][column]) for column in range(COLUMNS)]
    runs: list[Run] = []
    for (colour, bold), group in groupby(cells, key=lambda cell: (cell[1].fg, cell[1].bold)):
        alike = list(group)
        text = "".join(cell.data for _, cell in alike)
        if text.strip():
            start = len(text) - len(text.lstrip())
            known = colour if colour in _COLOURS else "default"
            runs.append(Run(column=alike[0][0] + start, text=text.strip(), colour=known, bold=bold))
    return tuple(runs)


def picture(lines: list[Line]) -> str:
    """The dialogue as an SVG that plays and begins again."""
    total = lines[-1].at + _READ
    width, height = round(COLUMNS * _CHAR + 2 * _EDGE), ROWS * _LINE + 2 * _EDGE
    scroll = max(0, len(lines) - ROWS)
    body = "\n".join(_line(place, line) for place, line in enumerate(lines))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>autocompact compacts a recorded session, checks the result, and searches what left the context</title>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }}
.b {{ font-weight: bold }}
.page {{ transform: translateY({-scroll * _LINE}px) }}
@media (prefers-reduced-motion: no-preference) {{
.page {{ animation: page {total:.2f}s step-end infinite }}
.line {{ animation: {total:.2f}s step-end infinite }}
.cover {{ animation-timing-function: linear }}
{_scrolling(lines, total)}
{_appearing(lines, total)}
}}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#242933"/>
<svg x="{_EDGE}" y="{_EDGE}" width="{width - 2 * _EDGE}" height="{height - 2 * _EDGE}"><g class="page">
{body}
</g></svg>
</svg>
"""


def _line(place: int, line: Line) -> str:
    """A line as text; every run is as wide as its characters, whatever the font."""
    y = (place + 1) * _LINE - 5
    spans = "".join(
        f'<tspan x="{run.column * _CHAR:.1f}" textLength="{len(run.text) * _CHAR:.1f}" fill="{_COLOURS[run.colour]}"'
        f"{' class=' + chr(34) + 'b' + chr(34) if run.bold else ''}>{escape(run.text)}</tspan>"
        for run in line.runs
    )
    return f'<text class="line" id="l{place}" y="{y}">{spans}</text>' if spans else ""


def _appearing(lines: list[Line], total: float) -> str:
    """Each line is hidden until its time; a typed one is uncovered from the left."""
    rules: list[str] = []
    for place, line in enumerate(lines):
        if not line.runs:
            continue
        start = 100 * line.at / total
        if line.typed:
            length = len(line.text)
            end = 100 * (line.at + _TYPED * length) / total
            hidden, shown = "clip-path: inset(0 100% 0 0)", "clip-path: inset(0 0 0 0)"
            steps = f"animation-timing-function: steps({length})"
            rules.append(
                f"@keyframes k{place} {{ 0% {{ {hidden} }} {start:.2f}% {{ {hidden}; {steps} }} "
                f"{end:.2f}% {{ {shown} }} 100% {{ {shown} }} }}"
            )
        else:
            rules.append(f"@keyframes k{place} {{ 0% {{ opacity: 0 }} {start:.2f}%, 100% {{ opacity: 1 }} }}")
        rules.append(f"#l{place} {{ animation-name: k{place} }}")
    return "\n".join(rules)


def _scrolling(lines: list[Line], total: float) -> str:
    """The page moves up as soon as a line appears below its edge."""
    tops = accumulate((max(0, place + 1 - ROWS) for place in range(len(lines))), max)
    moves = [
        f"{100 * line.at / total:.2f}% {{ transform: translateY({-top * _LINE}px) }}"
        for line, top in zip(lines, tops, strict=True)
        if top
    ]
    return "@keyframes page { 0% { transform: none } " + " ".join(moves) + " }"


if __name__ == "__main__":
    PICTURE.write_text(picture(dialogue()), encoding="utf-8")
