"""Another process that runs the engine on a SQLite file: ``python -m tests.engine.child COMMAND PATH ...``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path

from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Policy
from autocompact.core.messages import Message, Text
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.ports import Clock, ModelReply
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.clock import FakeClock
from tests.engine.support import SUMMARY, TalkingModel, work

MODE = replace(DEFAULT, policy=Policy(tail_tokens=0), background=False)


def engine(
    path: Path,
    *,
    failpoint: Callable[[str], object] = str,
    model: TalkingModel | None = None,
    clock: Clock | None = None,
) -> Compactor:
    """The same engine in parent and child."""
    store = SqliteStore(path, failpoint=failpoint, busy_seconds=30, clock=clock or FakeClock())
    return Compactor(store, model=model, mode=MODE, window=8_000, reserve=800, counter=Estimator())


class Reaper:
    """Kills the process at a step of a store's work, e.g. "commit:written" the second time."""

    def __init__(self, step: str) -> None:
        self.step, _, nth = step.partition(" ")
        self.nth = int(nth or 1)
        self.armed = False
        self.seen = Counter[str]()

    def __call__(self, reached: str) -> None:
        self.seen[reached] += self.armed
        if self.seen[self.step] == self.nth:
            os.kill(os.getpid(), signal.SIGKILL)


async def die_at(path: str, what: str, step: str) -> None:
    """Do ``what`` with the conversation, until the step at which the process is killed."""
    reaper = Reaper(step)

    class Model(TalkingModel):
        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            reaper("asked")
            return ModelReply(text=SUMMARY, stop_reason="stop")

    conversation = await engine(Path(path), failpoint=reaper, model=Model()).open("task")
    reaper.armed = True
    match what:
        case "compact":
            await conversation.compact()
        case "prepare":
            conversation.internals.preparation.start(conversation.internals.decisions.manual_goal())
            await conversation.internals.background.wait_idle()
        case "undo":
            await conversation.records.undo()
        case _:
            edit = Message(seq=0, role="user", parts=(Text(text="Other words."),), replaces=3)
            await conversation.append(edit)


async def compete(path: str, name: str) -> None:
    """For each line: say something, then try to be the one who compacts."""
    async with engine(Path(path)) as shared:
        conversation = await shared.open("task")
        while line := await asyncio.to_thread(sys.stdin.readline):
            await conversation.internals.replica.sync()
            await conversation.say(f"{line.strip()} by {name}: " + "more details, " * 40)
            await work(conversation, 2)
            _say("said")
            await asyncio.to_thread(sys.stdin.readline)
            result = await conversation.compact()
            _say("won" if result.success else "lost")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


COMMANDS: dict[str, Callable[..., Coroutine[object, object, None]]] = {"die_at": die_at, "compete": compete}

if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    asyncio.run(COMMANDS[command](*arguments))
