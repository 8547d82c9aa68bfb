"""Writes ``docs/reference/licences.md``: what autocompact installs, and under which licences (``make docs``).

The packages are those of ``uv.lock`` that the base and each extra need on Linux; the licence is what the installed package
says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "licences.md"
_HEAD = """\
# Licences of what it installs

<!-- Written from the installed packages (make docs). -->

autocompact is under the MIT licence. It contains [KaTeX](https://katex.org), which draws the formulas of the chat page (MIT), with
its mhchem for chemistry (MIT and Apache License 2.0) and its fonts (SIL Open Font License 1.1); `tools/katex.py` has their version
and hash. It installs these packages, none of which it contains; versions and hashes of all are in `uv.lock`. `make wheel` writes a
bill of materials (CycloneDX) beside the wheel.
"""
_NEWER = {"python_version": "3.12"}
"""What a framework of an extra may need, while autocompact itself runs on an older one."""

_NEWER_ONLY = {"ctok": "MIT"}
"""Licences of packages that the Python of this project's environment cannot install, as their wheels say (ctok 1.3.0)."""

_PREFIX = "License :: OSI Approved :: "


def page() -> str:
    """docs/reference/licences.md."""
    parts = [_HEAD]
    base = closure("autocompact", extra="")
    parts.append(_table("Always", base))
    for extra in sorted(distribution("autocompact").metadata.get_all("Provides-Extra") or []):
        more = closure("autocompact", extra=extra) - base
        parts.append(_table(f"With the extra `{extra}`, besides", more))
    return "\n".join(parts)


def closure(name: str, *, extra: str) -> set[str]:
    """The packages that a package needs with an extra, and all that these need."""
    found: set[str] = set()
    waiting = [(name, frozenset({extra} - {""}))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        if (asked := waiting.pop()) in seen:
            continue
        seen.add(asked)
        for needed in _needed(*asked):
            package = canonicalize_name(needed.name)
            found.add(package)
            waiting.append((package, frozenset(needed.extras)))
    return found


def _needed(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    try:
        texts = distribution(name).requires or []
    except PackageNotFoundError:
        return
    python = _NEWER if name == "autocompact" else {}
    for text in texts:
        needed = Requirement(text)
        if needed.marker is None or any(
            needed.marker.evaluate({**python, "extra": each}) for each in (*extras, "")
        ):
            yield needed


def _table(title: str, names: set[str]) -> str:
    rows = [f"| {name} | {_licence_of(name)} |" for name in sorted(names)]
    return "\n".join([f"## {title}", "", "| package | licence |", "|---|---|", *rows, ""])


def _licence_of(name: str) -> str:
    try:
        return licence(distribution(name))
    except PackageNotFoundError:
        if known := _NEWER_ONLY.get(name):
            return f"{known}; needs Python {_NEWER['python_version']}"
        return "not looked up: it cannot be installed beside the other extras"


def licence(package: Distribution) -> str:
    """What a package says of its licence: the expression, else the classifiers, else the first words of the field."""
    data: Any = package.metadata
    if expression := data.get("License-Expression"):
        return expression
    classifiers: list[str] = data.get_all("Classifier") or []
    named = [each for each in classifiers if each.startswith(_PREFIX)]
    if named:
        return ", ".join(each.removeprefix(_PREFIX) for each in named)
    first = (data.get("License") or "").strip().partition("\n")[0]
    return re.sub(r"[|`]", "", first) or "not stated"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
