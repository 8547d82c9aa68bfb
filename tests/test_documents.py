"""What documents show of the program is what the program says."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from tests.house.source import ROOT, read, repository_files

_REMEDY = "write it anew: make docs"


_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!`)\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^()\s]+)\)")
_FIGURE = re.compile(r"(\d+(?:\.\d+)?)(?:%| µs| ms| s\b)")
_HEADING = re.compile(r"^#+ (.+?)#*$", re.MULTILINE)


def _made(name: str, *, by: str = "generate_reference.py") -> str:
    made = runpy.run_path(str(ROOT / "tools" / "documents" / by))
    return cast("Callable[[], str]", made[name])()


def _documents() -> Iterator[Path]:
    return (path for path in repository_files() if path.suffix == ".md" and path.parts[0] != "tests")


def _anchors(path: Path) -> set[str]:
    """The places of a page as GitHub names them."""
    headings = _HEADING.findall(_FENCED.sub("", read(path)))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def _dead(path: Path) -> Iterator[str]:
    for target in _LINK.findall(_FENCED.sub("", read(path))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, place = unquote(target).partition("#")
        folder = Path() if path.parts[0] == "changelog.d" else path.parent  # it is read at the root
        there = folder / file if file else path
        there = (ROOT / there).resolve().relative_to(ROOT)
        if not (ROOT / there).exists() or (place and there.suffix == ".md" and place not in _anchors(there)):
            yield f"{path}: {target}"


def test_no_link_of_a_document_is_dead() -> None:
    assert [link for path in _documents() for link in _dead(path)] == []


def test_each_page_is_in_the_list_of_documents_or_in_that_of_its_folder() -> None:
    def linked(page: Path) -> set[Path]:
        links = _LINK.findall(read(page))
        return {(ROOT / page.parent / link.partition("#")[0]).resolve().relative_to(ROOT) for link in links}

    lists = [path for path in _documents() if path.parts[0] == "docs" and path.name == "README.md"]
    pages = {path for path in _documents() if path.parts[0] == "docs"} - {Path("docs/README.md")}
    assert pages - set().union(*map(linked, lists)) == set()


def test_the_api_reference_is_what_the_docstrings_say() -> None:
    assert read(Path("docs/reference/api.md")) == _made("page", by="api_reference.py"), _REMEDY


def test_the_reference_of_the_command_line_is_its_help() -> None:
    assert (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8") == _made("cli_reference"), (
        _REMEDY
    )


def test_each_figure_beside_a_peer_stands_in_the_benchmarks() -> None:
    measured = read(Path("docs/reference/benchmarks.md"))
    readme = read(Path("README.md")).partition("## Measured\n")[2].partition("\n## ")[0]
    compared = read(Path("docs/concepts/comparison.md")).partition("## Libraries and frameworks\n")[2]
    shown = set(_FIGURE.findall(readme + compared)) - {"100"}
    assert len(shown) >= 10
    assert [
        figure
        for figure in sorted(shown)
        if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.]*\d)", measured)
    ] == []


def test_the_readme_shows_the_example_that_runs() -> None:
    example = read(Path("examples/ten_lines.py"))
    assert f"```python\n{example}```" in read(Path("README.md"))


def test_the_overview_of_the_agents_is_the_table_of_the_program() -> None:
    assert read(Path("docs/guides/agents/overview.md")) == _made("agents"), _REMEDY
