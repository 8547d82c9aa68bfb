"""Light and dark, a narrow screen, the keyboard, and what a screen reader is told."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from autocompact.testing import Answer
from tests.web.harness import Server, Speaker, Visit, call, visiting

UNNAMED = """() => [...document.querySelectorAll("button, a[href], input, textarea, select, summary, [role=button]")]
    .filter((each) => !(each.getAttribute("aria-label") || each.textContent || each.placeholder || each.title || "").trim())
    .map((each) => each.outerHTML.slice(0, 200))"""
GROUND = "() => getComputedStyle(document.body).backgroundColor"
TOO_WIDE = "() => document.documentElement.scrollWidth > innerWidth"


def test_everything_that_can_be_used_has_a_name(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say(
        Answer(reasoning="Hm.", calls=(call("read_file", path="tides.txt"),)), "```py\nx = 1\n```"
    )
    visit.ask("Look.")
    page.locator("#search").click()
    expect(page.locator("#query")).to_be_visible()
    assert page.evaluate(UNNAMED) == []
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.lang") == "en-US"
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("navigation")).to_have_count(1)
    expect(page.get_by_role("article", name="You, message 1")).to_be_visible()


def test_the_colours_follow_the_system_and_a_choice_stays(browser: Browser, server: Server) -> None:
    context = browser.new_context(color_scheme="dark")
    with visiting(context, server.url) as visit:
        page = visit.page
        visit.open()
        expect(page.locator("body.body--dark")).to_be_visible()
        dark = page.evaluate(GROUND)
        page.locator("header summary").click()
        page.get_by_role("button", name="Light", exact=True).click()
        expect(page.locator("body.body--light")).to_be_visible()
        light = page.evaluate(GROUND)
        page.reload()
        visit.ready()
        expect(page.locator("body.body--light")).to_be_visible()
        assert page.evaluate(GROUND) == light != dark
    context.close()


def test_it_can_be_used_at_a_width_of_400_pixels(browser: Browser, offline: Server) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True)
    with visiting(context, offline.url) as visit:
        page = visit.page
        visit.open()
        expect(page.get_by_role("navigation")).to_be_hidden()
        page.locator("#menu").click()
        expect(page.get_by_role("navigation")).to_be_visible()
        page.locator("#new").click()
        expect(page.get_by_role("navigation")).to_be_hidden()
        visit.ask("A" * 300 + " and `" + "b" * 300 + "`")
        assert not page.evaluate(TOO_WIDE)
        page.locator(".gauge").click()
        box = page.locator(".breakdown").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
        for id in ("#field", "#send", "#search", "#model"):
            inside = page.locator(id).bounding_box()
            assert inside is not None
            assert 0 <= inside["x"] < inside["x"] + inside["width"] <= 400, id
    context.close()


def test_a_conversation_is_held_without_a_mouse(quiet: Visit) -> None:
    page = quiet.page
    page.keyboard.type("Good day.")
    page.keyboard.press("Enter")
    expect(page.locator(".message.assistant")).to_have_count(1)
    quiet.idle()
    page.locator("body").press("Escape")
    page.locator(".gauge").focus()
    page.keyboard.press("/")
    expect(page.locator("#field")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#field")).to_have_value("Good day.")
    page.keyboard.press("Escape")
    seen: set[str] = set()
    for _ in range(200):
        page.keyboard.press("Shift+Tab")
        seen.add(
            page.evaluate(
                "document.activeElement.dataset.action || document.activeElement.id || document.activeElement.className"
            )
        )
        if "new" in seen:
            break
    assert {"copy", "edit", "retry", "pin", "search", "model", "new", "filter"} <= seen
