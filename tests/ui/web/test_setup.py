"""The first start: ``autocompact serve`` without a key in the environment, a model connected on the page."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import BrowserContext, Locator, Page, expect

from autocompact.testing import FakeProvider
from tests.ui.web.harness import Visit, free_port, plain_environment, visiting, wait_until

KEY = "sk-of-the-tests-0123456789"
NOBODY = "127.0.0.1:9"


class Serve:
    """``autocompact serve`` with a home of its own."""

    def __init__(self, home: Path, *, environ: Mapping[str, str]) -> None:
        self.home = home
        self.settings = home / "data" / "autocompact" / "settings.json"
        self.keys = home / "data" / "autocompact" / "keys.json"
        self.log = home / "log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environ = {
            **plain_environment(),
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            **{f"{name}_HOST": NOBODY for name in ("OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM")},
            **environ,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        work = self.home / "work"
        work.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "autocompact", "serve", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=work, env=self._environ, stdout=log, stderr=subprocess.STDOUT
            )
        wait_until(self._is_there)

    def _is_there(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        return b"Listening on" in self.log.read_bytes()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def providers() -> Generator[dict[str, FakeProvider]]:
    """A server as on this computer, and one that asks for a key."""
    with start_blocking_portal() as portal:
        local = FakeProvider("I am local.", models=["qwen3:8b", "llama3"])
        keyed = FakeProvider("I am keyed.", models=["large", "small"], api_key=KEY)
        with portal.wrap_async_context_manager(local), portal.wrap_async_context_manager(keyed):
            yield {"local": local, "keyed": keyed}


@pytest.fixture
def first(
    tmp_path: Path, context: BrowserContext, providers: dict[str, FakeProvider]
) -> Generator[tuple[Serve, Visit]]:
    host = providers["local"].url.removeprefix("http://")
    server = Serve(tmp_path, environ={"LMSTUDIO_HOST": host})
    server.start()
    try:
        with visiting(context, server.url) as visit:
            visit.open()
            yield server, visit
    finally:
        server.stop()


def card(page: Page) -> Locator:
    return page.locator("section.start")


def test_a_server_on_this_computer_is_found_and_answers(
    first: tuple[Serve, Visit], shots: Callable[[Page, str], None]
) -> None:
    server, visit = first
    page = visit.page
    expect(card(page)).to_contain_text("LM Studio")
    expect(card(page)).to_contain_text("2 models")
    shots(page, "start")
    card(page).get_by_role("button", name="Another server").click()
    card(page).get_by_label("Address").fill("here")
    card(page).get_by_role("button", name="Test it").click()
    expect(card(page).locator(".wrong")).to_contain_text("begins with http")
    card(page).get_by_label("Address").fill(f"http://{NOBODY}")
    card(page).get_by_role("button", name="Test it").click()
    expect(card(page).locator(".wrong")).to_contain_text(f"nobody answers at {NOBODY}")
    card(page).get_by_role("button", name="Look around without a model").click()
    expect(card(page)).to_be_hidden()
    page.locator("#model").click()
    page.locator("#connect").click()
    dialog = page.get_by_role("dialog", name="Connect a model")
    dialog.get_by_role("button", name="LM Studio").click()
    dialog.get_by_label("Model").select_option("llama3")
    shots(page, "start-models")
    dialog.get_by_role("button", name="Use this model").click()
    expect(page.locator("#model")).to_have_text("Model: llama3")
    visit.new()
    visit.ask("Who are you?")
    expect(page.locator(".message.assistant")).to_contain_text("I am local.")
    assert '"model": "lmstudio:llama3"' in server.settings.read_text()


def test_a_pasted_key_is_tested_kept_for_its_owner_alone_and_never_shown(
    first: tuple[Serve, Visit], providers: dict[str, FakeProvider], shots: Callable[[Page, str], None]
) -> None:
    server, visit = first
    page = visit.page
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(str(frame))))
    page.reload()
    visit.ready()
    card(page).get_by_role("button", name="Another server").click()
    expect(card(page).get_by_label("Address")).to_be_focused()
    card(page).get_by_label("Address").fill(providers["keyed"].url)
    card(page).get_by_label("Key").fill("sk-wrong-0123456789")
    card(page).get_by_label("Key").press("Enter")
    expect(card(page).locator(".wrong")).to_contain_text("Check the API key")
    shots(page, "start-refused")
    card(page).get_by_label("Key").fill(KEY)
    card(page).get_by_label("Key").press("Enter")
    card(page).get_by_label("Model").select_option("small")
    card(page).get_by_role("button", name="Use this model").click()
    expect(page.locator(".said.reply")).to_contain_text("which only you can read")
    visit.new()
    visit.ask("Who are you?")
    expect(page.locator(".message.assistant")).to_contain_text("I am keyed.")

    assert stat.S_IMODE(os.stat(server.keys).st_mode) == 0o600
    assert KEY in server.keys.read_text()
    assert KEY not in page.content()
    assert not any(KEY in frame for frame in sent)
    server.stop()
    assert KEY not in server.log.read_text()
    server.log.unlink()
    for file in server.home.rglob("*"):
        assert file == server.keys or not file.is_file() or KEY.encode() not in file.read_bytes(), file

    server.start()
    visit.new()
    visit.ask("Still there?")
    expect(page.locator(".message.assistant")).to_contain_text("I am keyed.")


@pytest.fixture
def shots() -> Callable[[Page, str], None]:
    """Pictures for a person to look at, where SHOTS names a folder."""
    folder = os.environ.get("SHOTS")

    def take(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=f"{folder}/{name}.png")

    return take
