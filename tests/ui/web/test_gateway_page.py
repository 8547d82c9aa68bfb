"""The gateway's own page in a browser: conversations of a key, what became of them, and what nobody may see."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import BrowserContext, Page, Route, expect

from autocompact.core.messages import text_message
from autocompact.gateway import AccessToken
from autocompact.ports import ConversationStore, Key
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from autocompact.testing.records import talk
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import WINDOW, big, send
from tests.ui.web.harness import shot, visiting
from tests.ui.web.test_axe import check

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)<script>\"'&amp; %2e 100% ?q#h \u202ecod.exe"
TITLE = "<img src=x onerror=alert(3)></td></table><script>alert(4)</script>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The page over a gateway of its own."""

    page: Page
    url: str
    portal: BlockingPortal

    def send(self, messages: list[Any], *, key: str = "k") -> str:
        """The name of the conversation in which an agent sent them."""
        headers, _ = self.portal.call(send, self.url, messages, key)
        return headers["x-autocompact-conversation"]

    def show(self, key: str) -> None:
        self.page.get_by_label("Key that the agent sends").fill(key)
        self.page.get_by_role("button", name="Show", exact=True).click()

    def open(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        expect(self.page.locator("#name")).to_have_text(name)
        expect(self.page.locator("#name")).to_be_focused()

    def search(self, words: str) -> None:
        self.page.get_by_label("Words, a name or a question").fill(words)
        self.page.get_by_role("button", name="Search").click()


@contextmanager
def opened(context: BrowserContext, store: ConversationStore, **settings: Any) -> Generator[Opened]:
    with start_blocking_portal() as portal:
        provider = FakeProvider("Fine.", window=WINDOW)
        with portal.wrap_async_context_manager(provider):
            gateway = gateway_before(provider, window=WINDOW, store=store, keep_from=0.0, **settings)
            with portal.wrap_async_context_manager(gateway) as url, visiting(context, url) as visit:
                visit.page.goto(url)
                yield Opened(page=visit.page, url=url, portal=portal)


def test_a_conversation_is_opened_with_its_receipt_its_summary_and_its_search(
    context: BrowserContext, tmp_path: Path
) -> None:
    with opened(context, SqliteStore(tmp_path / "gw.db")) as here:
        page, found = here.page, list[str]()
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        expect(page.locator("#state")).to_have_text("Ready, for anthropic and openai.")
        expect(page.locator("#openai")).to_have_text(f"{here.url}/v1")
        expect(page.locator("#wrap")).to_contain_text("autocompact wrap -- claude")
        expect(page.locator("#count")).to_have_text(
            "There is none under this key yet: short ones are not kept."
        )
        name = here.send(
            [{"role": "user", "content": "Build it. Never touch /srv/harbour.toml."}, *big(50)[1:]]
        )
        other = here.send(big(2, first="Something short"))
        here.show(" k ")
        expect(page.locator("#count")).to_have_text("2 conversations.")
        here.open(name)
        cells = page.locator("#compactions tbody td").all_inner_texts()
        before, after = (int(cell.replace(",", "")) for cell in cells[1:3])
        assert re.fullmatch(r"m1–m\d+", cells[0])
        assert before > after > 0
        assert cells[6:8] == ["no model (offline)", "active"]
        expect(page.locator("#heading")).to_have_text(f"What the model reads in place of {cells[0]}")
        expect(page.locator("#summary")).to_contain_text("Never touch /srv/harbour.toml")
        here.search("harbour.toml")
        expect(page.locator("#hits tbody tr").first).to_contain_text("Never touch /srv/harbour.toml")
        shot(page, "gateway-page")
        check(page, "gateway page", found)
        here.search("zeppelin")
        expect(page.locator("#outcome")).to_have_text("Nothing fits these words.")
        expect(page.locator("#hits")).to_be_hidden()
        here.open(other)
        expect(page.locator("#uncompacted")).to_be_visible()
        expect(page.locator("#told")).to_be_hidden()
        expect(page.locator("#outcome")).to_be_empty()
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        check(page, "gateway page, narrow", found)
        assert found == []


def test_a_wrong_key_is_told_and_what_the_right_one_showed_is_gone(context: BrowserContext) -> None:
    keys = {"openai": "sk-upstream", "anthropic": "sk-upstream"}
    with opened(context, MemoryStore(), upstream_keys=keys, access_tokens=(AccessToken.of("ours"),)) as here:
        page, problem = here.page, here.page.get_by_role("alert")
        expect(problem).to_contain_text("this gateway asks for an access token of its own")
        name = here.send(big(3, first="What nobody else may read"), key="ours")
        here.show("ours")
        here.open(name)
        here.search("read")
        expect(problem).to_contain_text("this gateway keeps no search index")
        for wrong, message in (
            ("theirs", "asks for an access token"),
            ("two words, Grüße", "A key is one word"),
        ):
            here.show(wrong)
            expect(problem).to_contain_text(message)
            expect(page.get_by_role("table")).to_have_count(1)  # how to point an agent here
            expect(page.locator("#one")).to_be_hidden()
        here.show("ours")
        expect(page.locator("#count")).to_have_text("1 conversation.")
        expect(problem).to_be_empty()


def test_names_and_titles_are_text_and_a_name_that_fits_no_address_is_told(context: BrowserContext) -> None:
    store = MemoryStore()
    with opened(context, store) as here:
        page = here.page
        for name, title in ((HOSTILE, TITLE), ("a/b", "x" * 500), ("..", "Dots")):
            key = Key(conversation=name, namespace="anonymous")
            here.portal.call(partial(store.append, key, [text_message(1, "user", title)], after=0))
        here.show("")
        expect(page.locator("#count")).to_have_text("3 conversations.")
        here.open(HOSTILE)
        expect(page.locator("#uncompacted")).to_be_visible()
        expect(page.locator("#list button")).to_have_count(1)
        expect(page.get_by_role("cell", name="<img src=x onerror=alert(3)>")).to_be_visible()
        expect(page.get_by_role("cell", name="a/b (its name fits no address")).to_be_visible()
        assert page.locator("main img, main script").count() == 0


def test_older_conversations_are_a_click_away(context: BrowserContext) -> None:
    store = MemoryStore()
    with opened(context, store, expire_after_days=30) as here:
        page = here.page
        for number in range(103):
            key = Key(conversation=f"talk {number}", namespace="anonymous")
            here.portal.call(partial(store.append, key, talk("user"), after=0))
        here.show("")
        days = "They are removed 30 days after their last use."
        expect(page.locator("#count")).to_have_text(f"The last 100. {days}")
        page.get_by_role("button", name="Show older ones").click()
        expect(page.locator("#count")).to_have_text(f"103 conversations. {days}")
        expect(page.locator("#older")).to_be_hidden()
        names = page.locator("#list button").all_inner_texts()
        assert sorted(names) == sorted(f"talk {number}" for number in range(103))


def test_who_clicks_again_sees_the_last_that_was_clicked(context: BrowserContext) -> None:
    store, waiting = MemoryStore(), list[Route]()
    with opened(context, store) as here:
        page = here.page
        for name in ("slow", "quick"):
            key = Key(conversation=name, namespace="anonymous")
            here.portal.call(partial(store.append, key, talk("user"), after=0))
        here.show("")
        page.route("**/conversations/slow", lambda route: waiting.append(route))
        page.get_by_role("button", name="slow").click()
        here.open("quick")
        with page.expect_response("**/conversations/slow"):
            waiting[0].continue_()
        page.evaluate("() => new Promise((done) => setTimeout(done))")
        expect(page.locator("#name")).to_have_text("quick")
        expect(page.get_by_role("alert")).to_be_empty()


def test_a_gateway_that_has_ended_is_told(context: BrowserContext) -> None:
    with opened(context, MemoryStore()) as here:
        here.page.route("**/autocompact/conversations", lambda route: route.abort())
        here.show("k")
        expect(here.page.get_by_role("alert")).to_have_text(
            "The gateway does not answer: is it still running?"
        )
        here.page.route(
            "**/autocompact/conversations", lambda route: route.fulfill(status=502, body="<html>")
        )
        here.show("k")
        expect(here.page.get_by_role("alert")).to_contain_text("What answered with status 502 is not")
