"""What runs the adapters with other releases of their frameworks (``make test-adapters``)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import adapters

ROOT = Path(__file__).parents[2]


def test_the_interpreter_that_runs_it_is_taken_where_it_is_new_enough() -> None:
    assert adapters.interpreter(adapters.PYTHON) == Path(sys.executable)


def test_a_version_of_python_that_is_nowhere_is_named_with_what_installs_it() -> None:
    with pytest.raises(
        adapters.NoInterpreterError,
        match=re.escape("it needs Python 3.99 or newer, and there is none: install one"),
    ) as raised:
        adapters.interpreter("3.99")
    assert adapters.left_out(raised.value, in_ci=True) == 0


@pytest.mark.parametrize("ci, code", [("true", 1), ("", 0)])
def test_an_adapter_that_cannot_be_installed_fails_in_ci_and_is_left_out_with_the_reason_elsewhere(
    ci: str, code: int
) -> None:
    script = "import sys; from tools import adapters; sys.exit(adapters.check('none'))"
    env = os.environ | {"CI": ci}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert "the adapter none is not tested: " in done.stderr
