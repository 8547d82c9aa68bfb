"""What documents show of the program is what the program says."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from typing import cast

from tests.house.source import ROOT

_SECONDS = re.compile(r"\d+\.\d\d s\b")
_REMEDY = "write it anew: make docs"


def _made(name: str) -> str:
    made = runpy.run_path(str(ROOT / "docs" / "generate_reference.py"))
    return cast("Callable[[], str]", made[name])()


def test_the_reference_of_the_command_line_is_its_help() -> None:
    assert (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8") == _made("cli_reference"), (
        _REMEDY
    )


def test_the_output_in_the_readme_is_that_of_make_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "compact examples/sessions/fix-invoice-rounding.jsonl --window" in readme
    assert _SECONDS.sub("0 s", readme) == _SECONDS.sub("0 s", _made("readme")), _REMEDY
