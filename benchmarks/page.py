"""How long the page of a long conversation takes to open, and to show an earlier page of it, in a real Chromium.

    python -m benchmarks.page [--messages 5000] [--runs 5]

"Cold" is a browser that never saw the page, "warm" one that has its files. The time runs from the address to the moment
at which the last message is in sight; an earlier page from the click to its first message.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from anyio.from_thread import start_blocking_portal
from playwright.sync_api import BrowserContext, Page

from autocompact.chat import ChatConfig, opened
from autocompact.core.messages import Message, text_message
from tests.ui.web.harness import browsing, serving

WORDS = "It is high water at six, says the harbour master, and the **pilot boat** leaves at `06:30`. " * 4
EARLIER = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name, start_blocking_portal() as portal:
        folder = Path(name)
        portal.call(_fill, folder / "chats.db", options.messages)
        with serving(folder, window=1_000_000) as server, browsing() as browser:
            cold: list[float] = []
            warm: list[float] = []
            back: list[float] = []
            for _ in range(options.runs):
                context = browser.new_context(viewport={"width": 1280, "height": 800})
                cold.append(_open(context, server.url, last=options.messages)[0])
                seconds, page = _open(context, server.url, last=options.messages)
                warm.append(seconds)
                back += [_back(page) for _ in range(EARLIER)]
                context.close()
    print(f"{options.messages:,} messages, {options.runs} runs, seconds (median, worst)\n")
    for what, times in (("open, cold", cold), ("open, warm", warm), ("an earlier page", back)):
        print(f"{what:16}{median(times):8.2f}{max(times):8.2f}")


async def _fill(path: Path, number: int) -> None:
    async with opened(path, config=ChatConfig(), environ={}) as service:
        session = await service.create("Long")
        await service.store.append(session.key, [_message(seq) for seq in range(1, number + 1)], after=0)


def _message(seq: int) -> Message:
    return text_message(seq, "user" if seq % 2 else "assistant", f"Message {seq}: {WORDS}")


def _open(context: BrowserContext, url: str, *, last: int) -> tuple[float, Page]:
    page = context.new_page()
    started = perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(f"#m{last}").wait_for(state="visible")
    return perf_counter() - started, page


def _back(page: Page) -> float:
    first = page.locator(".message").first.get_attribute("id")
    started = perf_counter()
    page.locator("[data-auto]").click()
    page.wait_for_function("(id) => document.querySelector('.message').id !== id", arg=first)
    return perf_counter() - started


if __name__ == "__main__":
    main()
