"""Light and dark, a narrow screen, the keyboard, and what a screen reader is told."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from autocompact.testing import Answer
from tests.ui.web.harness import Server, Speaker, Visit, call, visiting
from tests.ui.web.test_compaction import told

UNNAMED = """() => [...document.querySelectorAll("button, a[href], input, textarea, select, summary, [role=button]")]
    .filter((each) => !(each.getAttribute("aria-label") || each.textContent || each.placeholder || each.title ||
        [...(each.labels || [])].map((label) => label.textContent).join("") || "").trim())
    .map((each) => each.outerHTML.slice(0, 200))"""
GROUND = "() => getComputedStyle(document.body).backgroundColor"
LOW_CONTRAST = """() => {
    const parse = (colour) => {
        const all = colour.match(/[\\d.]+/g).map(Number), scale = colour.startsWith("color(") ? 255 : 1;
        return [...all.slice(0, 3).map((each) => each * scale), all[3] ?? 1];
    };
    const over = (top, ground) => [0, 1, 2].map((n) => top[n] * top[3] + ground[n] * (1 - top[3]));
    const linear = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const up = (element) => element ? [element, ...up(element.parentElement)] : [];
    const found = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement, all = up(element), style = getComputedStyle(element);
        const opacity = all.reduce((product, each) => product * getComputedStyle(each).opacity, 1);
        const seen = element.getBoundingClientRect().width > 1 && style.visibility !== "hidden" && opacity > 0.1;
        if (!seen || !texts.currentNode.textContent.trim()) continue;
        const grounds = all.map((each) => parse(getComputedStyle(each).backgroundColor));
        const ground = grounds.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
        const ink = parse(style.color);
        const [low, high] = [ground, over([...ink.slice(0, 3), ink[3] * opacity], ground)].map(light).sort((a, b) => a - b);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < 4.5) found.add(`${ratio.toFixed(2)} ${element.className} "${texts.currentNode.textContent.trim().slice(0, 30)}"`);
    }
    return [...found];
}"""
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
    expect(page.locator(".gauge")).to_have_accessible_name(
        re.compile(r"k . 64k.*Context: .* of 64,000 tokens")
    )
    assert page.evaluate("document.querySelectorAll('.conversations > [role]').length") == 0
    expect(page.get_by_role("progressbar")).to_have_count(0)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_against_its_ground(
    browser: Browser, server: Server, speaker: Speaker, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    with visiting(context, server.url) as visit:
        page = visit.page
        visit.new()
        code = "```python\n# why\ndef f(x: int) -> str:\n    return 'a' + str(x + 1)\n```"
        calls = (call("read_file", path="tides.txt"), call("read_file", "call_2", path="none"))
        tasks = call("tasks", "call_3", tasks=[{"text": "Read", "state": "done"}, {"text": "Tell"}])
        speaker.will_say(
            Answer(reasoning="Hm.", calls=(*calls, tasks)),
            f"See `this` at [m1] and [there](https://x.example).\n\n> so\n\n{code}\n\n| a |\n|---|\n| 1 |",
        )
        visit.ask("Look.")
        for summary in page.locator(".message .fold summary").all():
            summary.click()
        assert page.evaluate(LOW_CONTRAST) == []
        told(visit)
        speaker.will_say("<summary>They looked at `it`. [m1]</summary>")
        visit.say("/compact the tides")
        page.locator(".divider .line").click()
        visit.say("/nonsense")
        expect(page.locator(".said.error")).to_be_visible()
        for section in ("Ledger", "Receipt", "Messages", "Summary"):
            page.get_by_role("button", name=section).click()
            expect(page.locator(".opened .content")).not_to_be_empty()
            assert page.evaluate(LOW_CONTRAST) == []
        page.locator(".gauge").focus()
        assert page.evaluate(LOW_CONTRAST) == []
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
        page.locator("header summary").click()
        page.get_by_role("button", name="Usage and receipts").click()
        panel = page.get_by_role("dialog").locator(".panel")
        expect(panel.locator("svg.chart")).to_be_visible()
        assert not panel.evaluate("(panel) => panel.scrollWidth > panel.clientWidth")
        page.keyboard.press("Escape")
        field = page.locator("#field")
        assert field.evaluate("(field) => field.scrollHeight <= field.clientHeight"), "its hint is cut"
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
    assert {"m1", "m2", "search", "model", "new", "filter"} <= seen
    assert not {"copy", "edit", "retry", "pin"} & seen, "a message is one tab stop"


FOCUS = "() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"


def test_an_item_is_one_tab_stop_and_arrows_lead_to_its_buttons(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("One.")
    quiet.ask("Two.")
    page.locator("#m3").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUS) == "m4"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(FOCUS) == "m2"
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate(FOCUS) == "Copy (message 2)"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(FOCUS) == "m2"
    page.locator(".conversations .current a.title").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(FOCUS) == "More for One."
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUS) == "Rename…"
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Rename")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".conversations .current summary")).to_be_focused()


def test_what_is_drawn_anew_keeps_the_focus(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("One.")
    page.locator("#m1").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.evaluate(FOCUS) == "Keep through compactions (message 1)"
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Unpin (message 1)")).to_be_focused()


def test_the_page_begins_with_a_way_to_the_field_and_lists_its_shortcuts(quiet: Visit) -> None:
    page = quiet.page
    skip = page.locator(".skip")
    skip.focus()
    expect(skip).to_be_in_viewport()
    skip.press("Enter")
    expect(page.locator("#field")).to_be_focused()
    page.locator("h1.title").click()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Alt L")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_the_list_is_hidden_and_stays_so_until_it_is_wanted(quiet: Visit) -> None:
    page = quiet.page
    page.get_by_role("button", name="Hide the list").click()
    expect(page.locator("#sidebar")).to_be_hidden()
    expect(page.locator("#menu")).to_be_focused()
    page.reload()
    quiet.ready()
    expect(page.locator("#sidebar")).to_be_hidden()
    page.keyboard.press("Alt+l")
    expect(page.locator("#sidebar")).to_be_visible()
    page.reload()
    quiet.ready()
    expect(page.locator("#sidebar")).to_be_visible()
