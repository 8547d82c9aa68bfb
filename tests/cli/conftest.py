from __future__ import annotations

import pytest

from tests.cli.program import Program


@pytest.fixture
def program(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("COLUMNS", "80")
    return Program(capfdbinary)
