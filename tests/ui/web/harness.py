"""What the tests of the page share: a server in a process of its own, a model that says what a test wants, a browser."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import Received
from tests.house.source import ROOT

FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SECONDS = 60.0
"""How long a condition may take to come about, on a busy computer."""

expect.set_options(timeout=SECONDS * 1000)


class Gate:
    """An answer that comes when the test says so."""

    def __init__(self, answer: str | Answer, portal: BlockingPortal) -> None:
        self._asked = threading.Event()
        self._answer = answer
        self._portal = portal
        self._go = portal.call(asyncio.Event)

    def wait(self) -> None:
        """The model is asked, and waits for the test."""
        assert self._asked.wait(SECONDS), "the model was not asked"

    async def answer(self) -> str | Answer:
        self._asked.set()
        await self._go.wait()
        return self._answer

    def open(self) -> None:
        self._portal.call(self._go.set)


class Speaker:
    """A provider whose next answers a test says beforehand; without any it says "ok"."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._next: deque[str | Answer | Gate] = deque()
        self.provider = FakeProvider(self._reply)

    async def _reply(self, _: Received) -> str | Answer:
        if not self._next:
            return "ok"
        reply = self._next.popleft()
        return await reply.answer() if isinstance(reply, Gate) else reply

    def will_say(self, *answers: str | Answer | Gate) -> None:
        self._next.extend(answers)

    def gate(self, answer: str | Answer = "ok") -> Gate:
        gate = Gate(answer, self._portal)
        self.will_say(gate)
        return gate

    def stall(self) -> None:
        """The next answer stops in the midst and never goes on."""
        self._portal.call(self.provider.fail, "stalled")

    def slow(self) -> None:
        """The next answer comes a few bytes at a time."""
        self._portal.call(self.provider.fail, "slow")

    def fail(self) -> None:
        """The next answer breaks off in the midst."""
        self._portal.call(self.provider.fail, "cut")


def call(tool: str, id: str = "call_1", /, **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=tool, arguments=msgspec.json.encode(arguments).decode())


@contextmanager
def speaking() -> Generator[Speaker]:
    with start_blocking_portal() as portal:
        speaker = Speaker(portal)
        with portal.wrap_async_context_manager(speaker.provider):
            yield speaker


class Server:
    """The page's server, in a process of its own."""

    def __init__(
        self, folder: Path, *, settings: Mapping[str, object], environ: Mapping[str, str], name: str
    ) -> None:
        self.folder = folder
        self.db = folder / name
        self.port = free_port()
        self._settings = msgspec.json.encode(settings).decode()
        self._environ = {**plain_environment(), **environ}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.ui.web.child", str(self.port), str(self.db), str(self.folder)]
        self._process = subprocess.Popen([*command, self._settings], cwd=ROOT, env=self._environ)
        wait_until(self._answers)
        with urlopen(self.url, timeout=2 * SECONDS):
            pass  # the first page also waits for the packages of its model

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server ended"
        try:
            with urlopen(f"{self.url}/favicon.ico") as response:
                return response.status == 200
        except (URLError, ConnectionError):
            return False

    @contextmanager
    def hanging(self) -> Generator[None]:
        """It has its connections open and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def plain_environment() -> dict[str, str]:
    """The environment without what would offer a model."""
    keys = ("API_KEY", "BASE_URL", "OLLAMA", "AUTOCOMPACT")
    return {name: value for name, value in os.environ.items() if not any(key in name for key in keys)}


@contextmanager
def serving(
    folder: Path, speaker: Speaker | None = None, *, name: str = "chats.db", **settings: object
) -> Generator[Server]:
    """A server whose models are those of ``speaker``; without one it is offline."""
    environ: dict[str, str] = {}
    if speaker is not None:
        environ = {"OPENAI_API_KEY": "sk-of-the-tests", "OPENAI_BASE_URL": speaker.provider.url}
        settings = {"model": "compatible:any", **settings}
    server = Server(folder, settings=settings, environ=environ, name=name)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(met: Callable[[], bool]) -> None:
    """Ask until it is so; the time limit only ends a test that has failed."""
    pause = threading.Event()
    for _ in range(int(SECONDS / 0.05)):
        if met():
            return
        pause.wait(0.05)
    raise AssertionError("it never came about")


@contextmanager
def browsing() -> Generator[Browser]:
    installed = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    chromium = os.environ.get("CHROMIUM") or installed
    assert chromium, "the tests of the page need Chromium: make browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


def shot(page: Page, name: str) -> None:
    """A picture for a person to look at, where the variable SHOTS names a folder."""
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png")


class Visit:
    """A page in a browser, with what went wrong in it and what it asked for elsewhere."""

    def __init__(self, page: Page, home: str) -> None:
        self.page = page
        self.home = home
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._asked(request.url))
        page.on("console", lambda message: self._said(message.type, message.text))

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith((self.home, self.home.replace("http", "ws"), "data:", "blob:")):
            self.wrong.append(f"request: {url}")

    def _said(self, kind: str, text: str) -> None:
        if kind == "error" and "Content Security Policy" in text:
            self.wrong.append(f"console: {text}")

    def open(self, path: str = "/") -> None:
        self.page.goto(self.home + path)
        self.ready()

    def ready(self) -> None:
        """The page talks to its server."""
        expect(self.page.locator("#field")).to_be_visible()
        self.page.wait_for_function("() => window.did_handshake")

    def new(self) -> None:
        """Another conversation, which no other test knows."""
        self.open()
        before = self.page.evaluate("location.pathname")
        self.page.locator("#new").click()
        self.page.wait_for_function("path => location.pathname !== path", arg=before)
        expect(self.page.locator(".welcome")).to_be_visible()

    def say(self, text: str) -> None:
        """Write something and send it."""
        field = self.page.locator("#field")
        # a dialog that is closing still takes the focus from whatever is behind it
        expect(self.page.locator(".q-dialog")).to_have_count(0)
        expect(field).to_be_enabled()
        field.fill(text)
        if text.startswith("/"):
            field.press("Escape")
        field.press("Enter")
        expect(field).to_have_value("")

    def ask(self, text: str) -> None:
        """Say something and wait for the whole answer."""
        before = self.page.locator(".message.assistant").count()
        self.say(text)
        expect(self.page.locator(".message.assistant footer")).not_to_have_count(before)
        self.idle()

    def idle(self) -> None:
        """No turn is running."""
        expect(self.page.locator(".working")).to_be_hidden()
        expect(self.page.locator("#send")).to_be_visible()


@contextmanager
def visiting(context: BrowserContext, home: str) -> Generator[Visit]:
    """A tab of its own; in the end nothing was wrong in it."""
    context.set_default_timeout(SECONDS * 1000)
    visit = Visit(context.new_page(), home)
    try:
        yield visit
    finally:
        visit.page.close()
    assert not visit.wrong, visit.wrong
