"""axe finds nothing to complain of, light and dark, whatever is open on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from autocompact.testing import Answer
from tests.ui.web.harness import Speaker, Visit, call, shot
from tests.ui.web.test_compaction import told

WORDS = """\
# Tides

The file is [here](https://example.com), see `C:\\tmp`, [m1] and $x^2$.

$$\\frac{a}{b} + \\undefined$$

$$\\frac{a}{b}$$

| place | time |
|---|--:|
| Bergen | 06:12 |

- [x] looked
- [ ] written[^1]

```python
print("a rather long line of code", 1 + 1)  # with a comment
```

[^1]: Later.
"""
RUN = """async ([part, options]) => (await axe.run(part, { resultTypes: ["violations"], ...options })).violations
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`)"""
CONTRAST = {"runOnly": ["color-contrast"]}
OTHERS = {"rules": {"color-contrast": {"enabled": False}}}
PAGE, DIALOG = "html", ".q-dialog"
SETTLED = """() => document.getAnimations().every((each) => each.playState !== "running" || each.effect.getTiming().iterations === Infinity)"""

State: TypeAlias = Callable[[Page], None]


def complaints(page: Page, options: Mapping[str, object], *, part: str) -> list[str]:
    page.wait_for_function(SETTLED)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    return cast("list[Any]", page.evaluate(RUN, [part, options]))


def check(page: Page, name: str, found: list[str], *, part: str = PAGE) -> None:
    """All rules in light; in dark, where only colours differ, that of contrast.

    It takes most of the time, and is asked of the part that others have not looked at.
    """
    light = [*complaints(page, OTHERS, part=PAGE), *complaints(page, CONTRAST, part=part)]
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    shot(page, f"axe-{name}")
    dark = complaints(page, CONTRAST, part=part)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found += [f"{name}: {each}" for each in (*light, *dark)]


def dialog(name: str) -> State:
    """The dialog that an entry of the menu at the top opens."""

    def opened(page: Page) -> None:
        page.locator("header summary").click()
        page.locator("header .options").get_by_role("button", name=name).click()
        expect(page.get_by_role("dialog")).to_be_visible()

    return opened


def list_dialog(name: str) -> State:
    """The dialog that an entry of the menu of a conversation opens."""

    def opened(page: Page) -> None:
        options = page.locator(".conversations .options").get_by_role("button", name=name)
        if not options.is_visible():
            page.locator(".conversations .current summary").click()
        options.click()
        expect(page.get_by_role("dialog")).to_be_visible()

    return opened


def searched(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="All conversations").click()
    page.locator("#query").fill("harbour master")
    expect(page.locator(".result").first).to_be_visible()


def models(page: Page) -> None:
    page.locator("#model").click()
    expect(page.get_by_role("dialog")).to_be_visible()


DIALOGS: Mapping[str, State] = {
    "search": searched,
    "models": models,
    "preview": dialog("Compact the context…"),
    "charts": dialog("Usage and receipts"),
    "rules": dialog("Rules of this conversation…"),
    "shortcuts": dialog("Keyboard shortcuts"),
    "rename": list_dialog("Rename…"),
    "export": list_dialog("Export…"),
    "tags": list_dialog("Tags…"),
    "delete": list_dialog("Delete…"),
}


@pytest.fixture
def page(visit: Visit) -> Page:
    visit.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return visit.page


def test_messages_of_every_sort_versions_menus_and_the_meter(
    page: Page, visit: Visit, speaker: Speaker
) -> None:
    found: list[str] = []
    check(page, "empty", found)
    speaker.will_say(
        Answer(
            text="Let me look.", reasoning="Hm.\nIt is there.", calls=(call("read_file", path="tides.txt"),)
        ),
        WORDS,
        "Another answer.",
        WORDS,
    )
    visit.ask("When is high water?")
    page.locator("[data-action=retry]").click()
    visit.idle()
    page.locator("[data-which=previous]").click()
    expect(page.locator(".fold.tool")).to_be_visible()
    for fold in page.locator(".message summary").all():
        fold.click()
    check(page, "version", found)
    visit.ask("And a long one.\n" * 30)
    page.locator(".conversations .current summary").click()
    check(page, "menu", found)
    page.locator("header summary").click()
    check(page, "top-menu", found)
    page.keyboard.press("Escape")
    page.locator(".gauge").focus()
    expect(page.locator(".breakdown")).to_be_visible()
    check(page, "meter", found)
    page.locator("#field").fill("/")
    expect(page.locator("#completions")).to_be_visible()
    check(page, "commands", found)
    assert found == []


def test_dividers_dialogs_and_a_question(page: Page, visit: Visit, speaker: Speaker) -> None:
    found: list[str] = []
    told(visit)
    speaker.will_say("<summary>They spoke of the harbour. [m1]</summary>")
    visit.say("/compact")
    page.locator(".divider .line").click()
    for section in ("Summary", "Ledger", "Receipt", "Messages"):
        page.locator(".opened").get_by_role("button", name=section).click()
        check(page, f"divider-{section}", found)
    told(visit, 3)
    speaker.will_say("<summary>They spoke of the pilot boat. [m9]</summary>")
    visit.say("/compact")
    expect(page.locator(".divider")).to_have_count(2)
    page.get_by_role("button", name="Compare…").click()
    expect(page.locator(".comparison table")).to_be_visible()
    check(page, "compare", found, part=DIALOG)
    page.keyboard.press("Escape")
    for name, opened in DIALOGS.items():
        opened(page)
        check(page, name, found, part=DIALOG)
        page.keyboard.press("Escape")
        expect(page.locator(".q-dialog")).to_have_count(0)
    speaker.will_say(Answer(calls=(call("run_command", command="true"),)), "Done.")
    visit.say("Run it.")
    expect(page.locator(".question")).to_be_visible()
    check(page, "question", found)
    page.get_by_role("button", name="Refuse").click()
    visit.idle()
    assert found == []
