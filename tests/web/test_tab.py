"""A tab that goes away while it opens a conversation; in a process of its own, since NiceGUI has one page in each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, sys
from pathlib import Path

from fastapi import FastAPI
from nicegui import Client, ui

from autocompact.chat import ChatConfig, opened
from autocompact.web.tab import Tab

def following():
    return [task for task in asyncio.all_tasks() if task.get_coro().__qualname__ == "Tab._follow"]

async def main(path):
    async with opened(path, config=ChatConfig(model="offline"), environ={}) as service:
        session = await service.create()
        await session.send("hello")
        await session.wait()
        with Client(ui.page("/tab"), request=None) as client:
            tab = Tab(service, client)
            opening = asyncio.create_task(tab.open(session))
            while not session.in_use:
                await asyncio.sleep(0)
            print(opening.done(), len(following()), session.in_use)
            tab.close()
            await opening
            print(len(following()), session.in_use)
            await tab.open(session)  # as by a click that was on its way
            print(len(following()), session.in_use)

app = FastAPI()
ui.run_with(app)

async def run():
    async with app.router.lifespan_context(app):
        await main(Path(sys.argv[1]))

asyncio.run(run())
"""


def test_a_tab_that_is_closed_while_it_opens_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "chats.db")],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "src", "NICEGUI_STORAGE_PATH": str(tmp_path)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False 0 True", "0 False", "0 False"]
