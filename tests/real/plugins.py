"""What the tests of the plugins in real agents share: a model that forgets, and what an agent's next request holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from autocompact.agents.hook_state import HookState, Receipt
from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, Received
from tests.real.agents import Client
from tests.real.running_clients import client_ended
from tests.real.test_real_clients import installed

RULE = "Never push without my approval."
CAUSE = "The limit was wrong because the sensor reports kilopascal."
REQUEST = f"Read the parts of this project one after the other. {RULE}"
SUMMARY = "The user asked to read the parts."


class Forgetful:
    """A model that reads ``parts`` files and, asked for a summary, forgets almost everything.

    Args:
        client: whose tools it calls.
        parts: how many it reads.
        asks: whether a request asks for a summary.
        summary: what it then says.
    """

    def __init__(
        self, client: Client, parts: int, *, asks: Callable[[str], bool], summary: str = SUMMARY
    ) -> None:
        self._client = client
        self._parts = parts
        self._asks = asks
        self._summary = summary
        self.read: int = 0
        self.summaries: int = 0

    def __call__(self, asked: Received) -> Answer:
        if self._asks(json.dumps(asked.body)):
            self.summaries += 1
            return Answer(text=self._summary)
        if not asked.body.get("tools"):
            return Answer(text="{}")
        if self.read >= self._parts:
            return Answer(text="Done.")
        self.read += 1
        given = self._client.arguments(self.read)
        arguments = given if isinstance(given, str) else json.dumps(given)
        call = ToolCall(
            id=f"toolu_{self.read:03}", name=self._client.tool.rpartition(".")[2], arguments=arguments
        )
        return Answer(text=CAUSE if self.read == 1 else f"Reading part {self.read}.", calls=(call,))


def autocompact(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        (sys.executable, "-m", "autocompact", *arguments),
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def texts_of(value: object) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, object]", value).values():
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from texts_of(each)


def given_by_us(body: dict[str, Any]) -> list[str]:
    """The texts of a request's messages that are ours."""
    messages = body.get("messages") or body.get("input") or body.get("contents")
    return [text for text in texts_of(messages) if "A record of the earlier conversation" in text]


def data_folder(home: Path) -> Path:
    return home / ".local" / "share" / "autocompact"


def receipts(home: Path, agent: str) -> list[Receipt]:
    """What the hooks found, once the first of them has ended."""
    folder = data_folder(home) / "agents" / agent
    told = ""
    for _ in range(60):
        told = autocompact(home, "status", agent)
        sessions = folder.iterdir() if folder.is_dir() else ()
        found = [receipt for each in sessions for receipt in HookState(each).receipts()]
        if found:
            return found
    raise AssertionError(told)


def no_hook_failed(home: Path) -> bool:
    return not (data_folder(home) / "agents" / "hook.log").exists()


async def run(client: Client, home: Path, address: str) -> str:
    """What the client printed; it must end well."""
    code, said = await client_ended(client, home, programs=installed(client), address=address)
    assert code == 0, said
    return said
