"""The first start: ``autocompact serve`` without a key in the environment, a model connected on the page."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Literal

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from autocompact.testing import FakeProvider
from tests.ui.web.harness import Visit, free_port, plain_environment, shot, visiting, wait_until
from tests.ui.web.test_axe import PAGE, complaints
from tests.ui.web.test_looks import LOW_CONTRAST, TOO_WIDE, UNNAMED
from tests.warm import command

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
        serving = [*command(), "serve", "--port", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                serving, cwd=work, env=self._environ, stdout=log, stderr=subprocess.STDOUT
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


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, providers: dict[str, FakeProvider]) -> Generator[Serve]:
    host = providers["local"].url.removeprefix("http://")
    server = Serve(
        tmp_path_factory.mktemp("home"),
        environ={
            "LMSTUDIO_HOST": host,
            "AUTOCOMPACT_CHAT_STEPS": "9",
            "AUTOCOMPACT_ENGINE_MODE": "usage-driven",
        },
    )
    server.start()
    yield server
    server.stop()


@pytest.fixture
def first(context: BrowserContext, here: Serve) -> Generator[tuple[Serve, Visit]]:
    with visiting(context, here.url) as visit:
        visit.open()
        yield here, visit


def card(page: Page) -> Locator:
    return page.locator("section.start")


def test_a_server_on_this_computer_is_found_and_answers(first: tuple[Serve, Visit]) -> None:
    server, visit = first
    page = visit.page
    expect(card(page)).to_contain_text("LM Studio")
    expect(card(page)).to_contain_text("2 models")
    shot(page, "start")
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
    shot(page, "start-models")
    dialog.get_by_role("button", name="Use this model").click()
    expect(page.locator("#model")).to_have_text("Model: llama3")
    visit.new()
    visit.ask("Who are you?")
    expect(page.locator(".message.assistant")).to_contain_text("I am local.")
    assert '"model": "lmstudio:llama3"' in server.settings.read_text()


def test_a_pasted_key_is_tested_kept_for_its_owner_alone_and_never_shown(
    first: tuple[Serve, Visit], providers: dict[str, FakeProvider]
) -> None:
    server, visit = first
    server.stop()
    server.settings.unlink(missing_ok=True)
    server.start()
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
    shot(page, "start-refused")
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
    page.goto("about:blank")  # else the page loads itself anew once the server is back, amid what comes next
    server.stop()
    assert KEY not in server.log.read_text()
    for file in server.home.rglob("*"):
        assert file == server.keys or not file.is_file() or KEY.encode() not in file.read_bytes(), file

    server.start()
    visit.new()
    visit.ask("Still there?")
    expect(page.locator(".message.assistant")).to_contain_text("I am keyed.")


def field(page: Page, label: str) -> Locator:
    return page.get_by_role("dialog", name="Settings").get_by_label(label, exact=True)


def origin(page: Page, label: str) -> Locator:
    return field(page, label).locator("xpath=..").locator(".origin")


def opened(page: Page) -> Locator:
    page.locator("header summary").click()
    page.get_by_role("button", name="Settings…").click()
    return page.get_by_role("dialog", name="Settings")


REFUSED = (
    ("Threshold", "many", "Threshold"),
    ("Workspace", "/no/such/folder", "there is no such folder"),
    ("Model", "nonsense", "'nonsense' names no model"),
)


def test_settings_are_changed_in_the_page_and_hold_at_once(
    first: tuple[Serve, Visit], providers: dict[str, FakeProvider]
) -> None:
    server, visit = first
    page = visit.page
    server.settings.write_text(
        '{\n  // mine\n  "models": {"window": 64000},\n  "chat": {"model": "lmstudio:llama3", "titles": false} // the small one\n}\n'
    )
    other = server.home / "other"
    other.mkdir()

    dialog = opened(page)
    expect(origin(page, "Threshold")).to_have_text("Default.")
    expect(origin(page, "Mode")).to_contain_text("AUTOCOMPACT_ENGINE_MODE")
    expect(origin(page, "Model")).to_contain_text("settings.json:4")
    expect(field(page, "Workspace")).to_have_attribute("placeholder", str(server.home / "work"))
    shot(page, "settings")
    before = server.settings.read_text()
    for name, value, why in REFUSED:
        written = field(page, name).input_value()
        field(page, name).fill(value)
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.locator(".wrong")).to_contain_text(why)
        field(page, name).fill(written)
    assert server.settings.read_text() == before
    field(page, "Threshold").fill("20000")
    field(page, "Workspace").fill(str(other))
    field(page, "Instructions").fill("Speak like a sailor.\nAlways.")
    field(page, "Mode").select_option("coding-agent")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.locator(".told")).to_contain_text("Saved to")
    expect(origin(page, "Threshold")).to_contain_text("settings.json")
    shot(page, "settings-saved")
    page.keyboard.press("Escape")
    text = server.settings.read_text()
    assert "// mine" in text
    assert "// the small one" in text
    assert '"window": 64000' in text
    expect(page.locator(".gauge")).to_contain_text("Compaction at 20,000")
    visit.new()
    visit.ask("Who are you?")
    sent = providers["local"].requests[-1].body
    assert "Speak like a sailor." in str(sent)
    opened(page)
    expect(field(page, "Workspace")).to_have_value(str(other))
    field(page, "Threshold").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(origin(page, "Threshold")).to_have_text("Default.")
    assert "threshold" not in server.settings.read_text()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_card_and_the_settings_fit_a_narrow_screen(
    browser: Browser, here: Serve, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(
        viewport={"width": 400, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    with visiting(context, here.url) as visit:
        page = visit.page
        visit.open()
        page.locator("#model").click()
        page.locator("#connect").click()
        expect(page.get_by_role("dialog", name="Connect a model")).to_contain_text("LM Studio")
        assert not page.evaluate(TOO_WIDE)
        assert page.evaluate(LOW_CONTRAST) == []
        assert complaints(page, {}, part=PAGE) == []
        shot(page, f"connect-narrow-{scheme}")
        page.keyboard.press("Escape")
        page.locator("header summary").click()
        page.get_by_role("button", name="Settings…").click()
        panel = page.get_by_role("dialog", name="Settings").locator(".panel")
        expect(panel.get_by_label("Threshold")).to_be_visible()
        assert not panel.evaluate("(panel) => panel.scrollWidth > panel.clientWidth")
        assert page.evaluate(LOW_CONTRAST) == []
        assert page.evaluate(UNNAMED) == []
        assert complaints(page, {}, part=PAGE) == []
        shot(page, f"settings-narrow-{scheme}")
    context.close()
