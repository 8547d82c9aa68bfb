"""Two tabs stay in step, a server that ended loses nothing, and a long conversation is read in pages."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import BrowserContext, expect

from autocompact.chat import ChatConfig, opened
from autocompact.core.messages import text_message
from tests.ui.web.harness import Server, Speaker, Visit, serving, visiting


def test_two_tabs_on_one_conversation_stay_in_step(
    context: BrowserContext, server: Server, visit: Visit, speaker: Speaker
) -> None:
    one = visit.page
    with visiting(context, server.url) as other:
        visit.ask("Good day.")
        other.open(one.url.removeprefix(server.url))
        two = other.page
        expect(two.locator(".bubble")).to_have_text("Good day.")

        speaker.will_say("one two three four five six seven eight nine ten")
        speaker.stall()
        visit.say("Count.")
        for page in (one, two):
            expect(page.locator(".bubble").last).to_have_text("Count.")
            expect(page.locator(".live .prose")).to_contain_text("one")
            expect(page.locator("#stop")).to_be_visible()
        two.locator("#stop").click()
        for page in (one, two):
            expect(page.locator(".cut")).to_be_visible()
            expect(page.locator("#send")).to_be_visible()

        one.locator("[data-action=pin]").first.click()
        expect(two.locator("#m1.pinned")).to_have_count(1)
        other.say("/title In step")
        expect(one.locator("h1.title")).to_have_text("In step")


def test_a_server_that_ends_in_mid_turn_loses_nothing_and_the_half_answer_is_marked(
    context: BrowserContext, tmp_path: Path, speaker: Speaker
) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"wiki": {"command": "/no/such/program"}}}')
    with serving(tmp_path, speaker, mcp="mcp.json") as server, visiting(context, server.url) as visit:
        page = visit.page
        visit.new()
        visit.ask("Good day.")
        expect(page.locator(".said.error")).to_contain_text("The MCP server wiki was left out: ")
        speaker.will_say("one two three four five six seven eight nine ten")
        speaker.stall()
        visit.say("Count to ten.")
        expect(page.locator(".live .prose")).to_contain_text("one two")
        field = page.locator("#field")
        field.fill("what I was about to say")
        silent = page.locator("#silent")
        page.evaluate("window.here = true")
        with server.hanging():
            expect(silent).to_have_text("The server does not answer.Waiting for it…")
            expect(silent).to_be_visible()
        expect(silent).to_be_hidden()
        assert page.evaluate("window.here"), "it was loaded anew"
        server.kill()
        expect(page.get_by_role("status").filter(has_text="Connection lost")).to_be_visible()
        expect(silent).to_be_hidden()
        # NiceGUI's own 2.5 seconds are longer than a person wonders
        expect(page.locator("#popup")).to_have_css("transition-delay", "0.8s, 0.8s")
        server.start()
        expect(page.locator(".cut")).to_contain_text("Interrupted")
        expect(page.locator("#popup")).to_be_hidden()
        expect(page.locator(".message.assistant .prose").last).to_contain_text("one")
        expect(page.locator(".bubble")).to_have_text(["Good day.", "Count to ten."])
        expect(field).to_have_value("what I was about to say")
        visit.say("Go on.")
        expect(page.locator(".message.assistant .prose").last).to_have_text("ok")


LONG = 5_000
GROW = "document.querySelector('.live').style.paddingBottom = '300px'"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A server with a conversation of 5,000 messages."""
    folder = tmp_path_factory.mktemp("long")
    with start_blocking_portal() as portal:
        portal.call(_fill, folder / "chats.db")
    with serving(folder, window=1_000_000) as server:
        yield server


async def _fill(path: Path) -> None:
    async with opened(path, config=ChatConfig(), environ={}) as service:
        session = await service.create("Long")
        messages = [
            text_message(seq, "user" if seq % 2 else "assistant", f"Message {seq}: " + "some **words** " * 20)
            for seq in range(1, LONG + 1)
        ]
        await service.store.append(session.key, messages, after=0)


def test_a_conversation_of_5000_messages_opens_at_its_end_and_goes_back_page_by_page(
    context: BrowserContext, library: Server
) -> None:
    with visiting(context, library.url) as visit:
        page = visit.page
        visit.open()
        messages = page.locator(".message")
        expect(messages.last).to_be_in_viewport()
        expect(messages.last).to_contain_text("Message 5000")
        before = messages.count()
        assert before <= 60
        marked = page.locator("#m4951")
        marked.evaluate("(element) => element.scrollIntoView({block: 'center'})")
        place = marked.bounding_box()
        expect(messages).not_to_have_count(before)
        assert marked.bounding_box() == place  # what was read stays where it was
        page.evaluate(GROW)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert marked.bounding_box() == place
        assert page.locator(".message").first.get_attribute("id") == "m4901"


def test_a_reference_to_a_message_far_away_shows_it_with_what_is_around_it(
    context: BrowserContext, library: Server
) -> None:
    with visiting(context, library.url) as visit:
        page = visit.page
        visit.open()
        visit.say("/open m3")
        page.locator(".said").wait_for()
        page.evaluate(
            "document.querySelector('.said p').insertAdjacentHTML('beforeend', '<a data-action=jump data-seq=1234>m1234</a>')"
        )
        page.get_by_text("m1234", exact=True).first.click()
        expect(page.locator("#m1234")).to_be_focused()
        assert page.locator(".message").count() <= 120
        page.get_by_role("button", name="Later messages").click()
        expect(page.locator("#m1260")).to_be_attached()
        visit.ask("And now?")
        expect(page.locator("#m5001")).to_be_in_viewport()
