"""`autocompact serve` shows the page at the address of the gateway, with an example on the first start."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.ui.web.harness import free_port, plain_environment, visiting, wait_until
from tests.warm import command


@contextmanager
def _serve(folder: Path, *arguments: str) -> Generator[tuple[str, Path]]:
    """A server as a person starts it, in a project of its own: its address, and what it says."""
    (folder / ".git").mkdir(exist_ok=True)
    port, said = free_port(), folder / "said"
    environ = plain_environment() | {"XDG_DATA_HOME": str(folder / "data")}
    serving = [*command(), "serve", "--port", str(port), *arguments]
    with said.open("wb") as told, subprocess.Popen(serving, cwd=folder, env=environ, stderr=told) as process:
        try:
            wait_until(lambda: _status(f"http://127.0.0.1:{port}/autocompact/health") == 200)
            yield f"http://127.0.0.1:{port}", said
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _status(url: str, **headers: str) -> int:
    try:
        with urlopen(Request(url, headers=headers)) as response:
            return response.status
    except HTTPError as error:
        return error.code
    except (URLError, ConnectionError):
        return 0


def test_the_page_is_at_the_address_of_the_gateway_and_begins_with_an_example(
    context: BrowserContext, tmp_path: Path
) -> None:
    with _serve(tmp_path) as (address, said), visiting(context, address) as visit:
        page = visit.page
        visit.open()
        expect(page.locator("h1.title")).to_contain_text("Example")
        expect(page.locator(".divider.active")).to_have_count(1)
        visit.say("list")
        expect(page.locator(".fold.tool .name").last).to_have_text("list_files")
        assert f"Chat on {address}" in said.read_text()
        assert os.listdir(tmp_path / "data" / "autocompact")
        page.close()
    assert "Traceback" not in said.read_text()
    assert "Warning" not in said.read_text()


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--no-page"], "Listening on"),
        (["--host", "0.0.0.0"], "The chat page is only shown to this computer"),
    ],
)
def test_the_chat_is_left_away_on_request_and_where_others_could_open_it_and_the_gateways_own_page_is_there(
    tmp_path: Path, arguments: list[str], told: str
) -> None:
    with _serve(tmp_path, *arguments) as (address, said):
        with urlopen(address) as response:
            page = response.read()
        assert b"<h1>The gateway is running</h1>" in page
        assert b"NiceGUI" not in page
        assert _status(f"{address}/c/example") == 404
        assert told in said.read_text()
        assert "Chat on" not in said.read_text()


def test_a_name_that_clients_may_use_is_one_of_the_page_too_but_any_name_is_not(tmp_path: Path) -> None:
    with _serve(tmp_path, "--allow-host", "chat.test", "--allow-host", "*") as (address, _):
        assert _status(address, Host="chat.test") == 200
        assert _status(address, Host="evil.test") == 403


def test_with_a_key_only_who_knows_the_printed_address_opens_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    with _serve(tmp_path) as (address, _), urlopen(address) as response:
        cookie = response.headers["set-cookie"].partition(";")[0].partition("=")[2]
    with _serve(tmp_path, "--page-key") as (address, said):
        named = {"Cookie": f"autocompact_{address.rpartition(':')[2]}={cookie}"}
        for path in ("/", "/c/example", "/?key=", "/?key=wrong", "/?key=%ff", "/export/example/json"):
            assert _status(address + path) == 403
            assert _status(address + path, **named) == 403  # it was given while no key was asked for
        found = re.search(r"Chat on (\S+)", said.read_text())
        assert found is not None
        context = browser.new_context()
        with visiting(context, address) as visit:
            visit.open(found[1].removeprefix(address))
            expect(visit.page).to_have_url(f"{address}/")
            visit.say("list")
            expect(visit.page.locator(".fold.tool .name").last).to_have_text("list_files")
            visit.open("/c/example")  # with the cookie that the key brought
        context.close()
