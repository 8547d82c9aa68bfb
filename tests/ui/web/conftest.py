from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.ui.web.harness import Server, Speaker, Visit, browsing, serving, speaking, visiting


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="package")
def context(browser: Browser) -> Generator[BrowserContext]:
    """One for all tests of a module: what a page loads is in its cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


@pytest.fixture(scope="package")
def speaker() -> Generator[Speaker]:
    with speaking() as speaker:
        yield speaker


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, speaker: Speaker) -> Generator[Server]:
    """A server whose model says what the test wants; commands may be asked for."""
    folder = tmp_path_factory.mktemp("web")
    (folder / "tides.txt").write_text("Bergen 06:12\n")
    with serving(folder, speaker, commands=True, window=64_000) as server:
        yield server


@pytest.fixture(scope="package")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A server without a model."""
    with serving(tmp_path_factory.mktemp("offline")) as server:
        yield server


@pytest.fixture
def visit(context: BrowserContext, server: Server) -> Generator[Visit]:
    """A new conversation with the model."""
    with visiting(context, server.url) as visit:
        visit.new()
        yield visit


@pytest.fixture
def quiet(context: BrowserContext, offline: Server) -> Generator[Visit]:
    """A new conversation without a model."""
    with visiting(context, offline.url) as visit:
        visit.new()
        yield visit
