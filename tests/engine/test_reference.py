"""What documents say of settings and events is what the program says."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Mapping
from typing import cast

import pytest

from autocompact.compaction.modes import MODES
from tests.house.source import ROOT


@pytest.mark.parametrize("name", ["settings.md", "events.md"])
def test_the_reference_is_written_from_the_program(name: str) -> None:
    made = runpy.run_path(str(ROOT / "tools" / "documents" / "generate_engine_reference.py"))
    page = cast("Mapping[str, Callable[[], str]]", made["PAGES"])[name]
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert written == page(), "write it anew: make docs"


def test_the_guide_knows_every_mode() -> None:
    guide = (ROOT / "docs" / "guides" / "use-the-library.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", guide, re.MULTILINE)) == set(MODES)


def test_the_guide_shows_the_example_that_runs() -> None:
    guide = (ROOT / "docs" / "guides" / "use-the-library.md").read_text(encoding="utf-8")
    assert f"```python\n{(ROOT / 'examples' / 'ten_lines.py').read_text('utf-8')}```" in guide
