"""The layers are walls: a copy of the package with forbidden imports in it does not pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT

_LAYERS = "upper layers may import lower ones, never the other way"
_PURE = "what decides is pure: no event loop, network, disk, process, clock or log"


def _broken_contracts(folder: Path) -> list[str]:
    """The contracts that do not hold for the package in ``folder``."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    verdicts = [line for line in lines if line.endswith((" KEPT", " BROKEN"))]
    assert len(verdicts) == 2, done.stdout + done.stderr
    return [line.removesuffix(" BROKEN") for line in verdicts if line.endswith(" BROKEN")]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return shutil.copytree(
        ROOT / "src" / "autocompact", tmp_path / "autocompact", ignore=shutil.ignore_patterns("__pycache__")
    )


@pytest.mark.parametrize(
    ("module", "source", "contract"),
    [
        ("core/added.py", "import time\n", _PURE),
        ("wire/added.py", "from autocompact.sessions import session\n", _LAYERS),
        ("without_a_layer.py", "", _LAYERS),
    ],
)
def test_one_wrong_module_breaks_its_contract_and_no_other(
    package: Path, module: str, source: str, contract: str
) -> None:
    (package / module).write_text(source)
    assert _broken_contracts(package.parent) == [contract]
