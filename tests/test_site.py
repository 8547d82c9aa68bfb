"""The documentation site builds without the network, holds every page, and none of its links is dead."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.house.source import ROOT
from tests.ui.web.harness import browsing

_LINKS = {"a": "href", "img": "src", "script": "src", "link": "href", "iframe": "src"}


class Links(HTMLParser):
    """What a page refers to, and the names of its places."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[tuple[str, str]] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if target := given.get(_LINKS.get(tag, "")):
            self.targets.append((tag, target))
        self.places |= {value for name in ("id", "name") if (value := given.get(name))}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "zensical.toml").write_bytes((ROOT / "zensical.toml").read_bytes())
    command = [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    pages: dict[Path, Links] = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    return pages


def dead(pages: dict[Path, Links], site: Path) -> Iterator[str]:
    """Links between pages that lead nowhere."""
    for page, links in pages.items():
        for _, target in links.targets:
            url = urlsplit(target)
            if url.scheme or url.netloc or page.name == "404.html":
                continue
            there = (page.parent / unquote(url.path)).resolve() if url.path else page
            there = there / "index.html" if there.is_dir() else there
            known = pages.get(there)
            if not there.exists() or (url.fragment and known and unquote(url.fragment) not in known.places):
                yield f"{page.relative_to(site)}: {target}"


def test_every_page_of_the_documents_is_in_the_site(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert {path.with_stem("index") if path.stem == "README" else path for path in written} <= built


def test_no_link_of_the_site_is_dead(site: Path, pages: dict[Path, Links]) -> None:
    assert list(dead(pages, site)) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = Links()
    page.feed('<h2 id="here">x</h2><a href="#here">1</a><a href="#there">2</a><a href="gone.html">3</a>')
    (tmp_path / "page.html").touch()
    found = list(dead({tmp_path / "page.html": page}, tmp_path))
    assert found == ["page.html: #there", "page.html: gone.html"]


def test_a_page_asks_nobody_else_for_anything(site: Path) -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    asked: list[str] = []
    try:
        with browsing() as browser, browser.new_context() as context:
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            for path in (
                "index.html",
                "guides/chat-page.html",
                "reference/api.html",
                "concepts/how-it-works.html",
            ):
                page.goto(home + path, wait_until="networkidle")
    finally:
        server.shutdown()
        server.server_close()
    assert f"{home}index.html" in asked
    assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == []
