"""A tab between what it reads and what it is told; in a process of its own, since NiceGUI has one page in each."""

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
from autocompact.chat.attachments import Uploads
from autocompact.ui.web.search import Search
from autocompact.ui.web.tab import Tab
from autocompact.ui.web.thread import Thread

async def main(path):
    async with opened(path, config=ChatConfig(model="offline"), environ={}) as service:
        session = await service.create()
        await session.send("hello")
        await session.wait()
        with Client(ui.page("/tab"), request=None) as client:
            await watched(service, session, client)

%s

app = FastAPI()
ui.run_with(app)

async def run():
    async with app.router.lifespan_context(app):
        await main(Path(sys.argv[1]))

asyncio.run(run())
"""

CLOSED_WHILE_IT_OPENS = """
def following():
    return [task for task in asyncio.all_tasks() if task.get_coro().__qualname__ == "Tab._follow"]

async def watched(service, session, client):
    tab = Tab(service, client, uploads=Uploads())
    opening = asyncio.create_task(tab.open(session))
    while not session.in_use:
        await asyncio.sleep(0)
    print(opening.done(), len(following()), session.in_use)
    tab.close()
    await opening
    print(len(following()), session.in_use)
    await tab.open(session)  # as by a click that was on its way
    print(len(following()), session.in_use)
"""

ANSWERED_WHILE_IT_REFRESHES = """
async def watched(service, session, client):
    thread = Thread(show_divider=None)
    await thread.open(session)
    await session.send("and now?")
    await session.wait()
    await thread.refresh()  # the events of the messages are still on their way
    page = await session.history()
    for entry in page.entries[2:]:
        await thread.add(entry)
    print([entry.seq for chunk in thread._chunks for entry in chunk.entries], thread.at_end)
"""

ANSWERED_WHILE_IT_READS = """
class SlowLog:
    # the session, whose pages of the history arrive when `go` is set
    def __init__(self, session):
        self.session, self.read, self.go = session, asyncio.Event(), asyncio.Event()
        self.id = session.id

    async def history(self, **given):
        page = await self.session.history(**given)
        self.read.set()
        await self.go.wait()
        return page

async def watched(service, session, client):
    thread, slow = Thread(show_divider=None), SlowLog(session)
    opening = asyncio.create_task(thread.open(slow))
    await slow.read.wait()
    await session.send("and now?")
    await session.wait()
    page = await session.history()
    adding = asyncio.gather(*(thread.add(entry) for entry in page.entries[2:]))
    await asyncio.sleep(0)
    slow.go.set()
    await asyncio.gather(opening, adding)
    print([entry.seq for chunk in thread._chunks for entry in chunk.entries], thread.at_end)
"""


FOUND_TOO_LATE = """
class SlowSearch:
    # the session, whose search in all conversations ends when `go` is set
    def __init__(self, session):
        self.session, self.asked, self.go = session, asyncio.Event(), asyncio.Event()
        self.id = session.id

    async def search(self, query, *, k, scope):
        if scope == "all":
            self.asked.set()
            await self.go.wait()
            return ()
        return await self.session.search(query, k=k, scope=scope)

async def watched(service, session, client):
    slow = SlowSearch(session)
    search = Search(session=lambda: slow, conversations=service.conversations, jump=None, show=None)
    search._everywhere = True  # as by its button
    everywhere = asyncio.create_task(search.find("hello"))
    await slow.asked.wait()
    search._everywhere = False
    await search.find("hello")
    slow.go.set()
    await everywhere
    print(any("m1" in each.content for each in search._results.descendants() if isinstance(each, ui.html)))
"""

JUMPED_TO_WHAT_IS_GONE = """
async def watched(service, session, client):
    tab = Tab(service, client, uploads=Uploads())
    await tab.open(session)
    with client:
        await tab._jump("2026-01-01-gone:m1")
    shown = [each.content for each in tab.notices._all.descendants() if isinstance(each, ui.html)]
    print(len(shown) == 2, "gone" in "".join(shown))
    tab.close()
"""


def _watched(program: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % program, str(folder / "chats.db")],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "src", "NICEGUI_STORAGE_PATH": str(folder)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_tab_that_is_closed_while_it_opens_leaves_nothing_behind(tmp_path: Path) -> None:
    assert _watched(CLOSED_WHILE_IT_OPENS, tmp_path) == ["False 0 True", "0 False", "0 False"]


def test_an_answer_that_comes_while_the_thread_is_refreshed_is_shown(tmp_path: Path) -> None:
    assert _watched(ANSWERED_WHILE_IT_REFRESHES, tmp_path) == ["[1, 2, 3, 4] True"]


def test_an_answer_that_comes_while_the_thread_is_read_is_shown(tmp_path: Path) -> None:
    assert _watched(ANSWERED_WHILE_IT_READS, tmp_path) == ["[1, 2, 3, 4] True"]


def test_a_search_that_ends_late_does_not_take_the_place_of_a_later_one(tmp_path: Path) -> None:
    assert _watched(FOUND_TOO_LATE, tmp_path) == ["True"]


def test_a_result_of_a_conversation_that_is_gone_says_so(tmp_path: Path) -> None:
    assert _watched(JUMPED_TO_WHAT_IS_GONE, tmp_path) == ["True True"]
