"""Runs the program in this process, and as its users do."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from autocompact.cli import main
from tests.warm import command

ROOT = Path(__file__).parents[2]
SESSIONS = ROOT / "examples" / "sessions"
CODING = SESSIONS / "fix-invoice-rounding.jsonl"
OPENAI = SESSIONS / "chat-openai.json"
ANTHROPIC = SESSIONS / "chat-anthropic.json"
EXAMPLES = (CODING, OPENAI, ANTHROPIC)
DATA = ROOT.parent / "shared" / "data"
_SECONDS = re.compile(r"\d+\.\d\d s\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run of the program ended."""

    code: int
    out: bytes
    err: str

    @property
    def told(self) -> str:
        """What went to stdout, where all went well."""
        assert (self.code, self.err) == (0, "")
        return self.out.decode()

    @property
    def report(self) -> str:
        """What it said on stderr, the seconds masked."""
        return _SECONDS.sub("0.00 s", self.err)


class Program:
    """``program("compact", path, …)`` runs it in this process."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | Path | int) -> Ended:
        code = main([str(each) for each in arguments])
        out, err = self._capture.readouterr()
        return Ended(code=code, out=out, err=err.decode())


def started(
    *arguments: str | Path,
    stdin: IO[bytes] | None = None,
    input: bytes | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """``autocompact …`` in a process of its own; without a terminal, 80 columns wide."""
    whole = [*command(), *map(str, arguments)]
    env = env or environment()
    if input is not None:
        return subprocess.run(whole, input=input, stdout=stdout, stderr=stderr, env=env, check=False)
    return subprocess.run(whole, stdin=stdin, stdout=stdout, stderr=stderr, env=env, check=False)


def environment(**more: str) -> dict[str, str]:
    """This process' environment with 80 columns."""
    return {**os.environ, "COLUMNS": "80", **more}
