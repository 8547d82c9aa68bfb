"""Takes the pictures of the page: ``make screenshots`` writes ``docs/images/chat-*.png``.

The server, its model and the browser are those of the tests; the conversation is the example of a first start.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from autocompact.testing import Answer
from tests.ui.web.harness import Speaker, browsing, call, serving, speaking, visiting

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDE: ViewportSize = {"width": 1200, "height": 800}
NARROW: ViewportSize = {"width": 400, "height": 800}


def _take(page: Page, name: str) -> None:
    page.evaluate("document.fonts.ready")
    page.screenshot(path=IMAGES / f"chat-{name}.png", animations="disabled")


def _example(browser: Browser, home: str) -> None:
    light = browser.new_context(viewport=WIDE)
    with visiting(light, home) as visit:
        visit.open("/c/example")
        page = visit.page
        expect(page.locator(".divider")).to_be_attached()
        page.locator(".meter").hover()
        _take(page, "light")
        line = page.locator(".divider .line")
        line.click()
        expect(page.locator(".opened .content")).not_to_be_empty()
        line.evaluate("(line) => line.scrollIntoView()")
        page.mouse.move(0, 0)
        _take(page, "divider")
        page.locator("header summary").click()
        page.get_by_role("button", name="Usage and receipts").click()
        expect(page.locator("svg.chart")).to_be_visible()
        _take(page, "charts")
    light.close()
    _other_looks(browser, home)


def _other_looks(browser: Browser, home: str) -> None:
    for name, context in (
        ("dark", browser.new_context(viewport=WIDE, color_scheme="dark")),
        ("narrow", browser.new_context(viewport=NARROW)),
    ):
        with visiting(context, home) as visit:
            visit.open("/c/example")
            _take(visit.page, name)
        context.close()


def _compressing(context: BrowserContext, home: str, *, speaker: Speaker) -> None:
    with visiting(context, home) as visit:
        visit.new()
        speaker.will_say(
            Answer(
                reasoning="The table is in the workspace.",
                calls=(call("list_files"), call("search_files", "call_2", pattern="Bergen")),
            ),
            "High water in Bergen is at **06:12** and at **18:31** today; `tides.txt` has the whole week.",
        )
        visit.ask("When is high water in Bergen?")
        rows = "\n".join(
            f"| {day} April | 0{day % 9}:{day + 20} | 1{day % 9}:{day + 31} |" for day in range(1, 29)
        )
        speaker.will_say(f"For the whole month:\n\n| day | morning | evening |\n|---|--:|--:|\n{rows}")
        visit.ask("And for the whole of April?")
        speaker.will_say("Before 06:12, so that the current still carries you in.")
        visit.ask("When should we be at the harbour on the first?")
        _preview(visit.page, speaker=speaker)
        gate = speaker.gate("<summary>They spoke of the tides in Bergen.</summary>")
        visit.say("/compact the times of high water")
        gate.wait()
        expect(visit.page.locator(".compressing")).to_be_visible()
        _take(visit.page, "compressing")
        gate.open()
        expect(visit.page.locator(".compressing")).to_be_hidden()


def _preview(page: Page, *, speaker: Speaker) -> None:
    speaker.will_say(
        "<summary>High water in Bergen is at 06:12 and 18:31, from `tides.txt` [m3]. They want to be at the harbour before "
        "06:12 on 1 April, so that the current carries them in [m9].</summary>"
    )
    page.locator("header summary").click()
    page.get_by_role("button", name="Compact the context…").click()
    expect(page.get_by_role("button", name="Compact now")).to_be_enabled()
    expect(page.locator(".preview .content")).not_to_be_empty()
    _take(page, "preview")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def main() -> None:
    """Take all of them."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, speaking() as speaker, browsing() as browser:
        folder = Path(name)
        (folder / "tides.txt").write_text("Bergen 06:12 18:31\n", encoding="utf-8")
        with serving(folder, example=True, name="example.db") as server:
            _example(browser, server.url)
        with serving(folder, speaker) as server:
            context = browser.new_context(viewport=WIDE)
            _compressing(context, server.url, speaker=speaker)
            context.close()


if __name__ == "__main__":
    main()
