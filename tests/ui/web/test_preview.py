"""A compaction looked at before it is made."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.web.harness import Speaker, Visit
from tests.ui.web.test_compaction import told


def _open(page: Page) -> None:
    page.locator("header summary").click()
    page.get_by_role("button", name="Compact the context…").click()
    expect(page.get_by_role("dialog", name="Compact the context")).to_be_visible()


@pytest.mark.requirement("E2")
def test_what_a_compaction_would_do_is_seen_before_it_is_made_and_that_is_what_is_put_in_force(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    told(visit)
    gate = speaker.gate("<summary>They spoke of the harbour master. [m1]</summary>")
    _open(page)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("Making a preview")
    go = dialog.get_by_role("button", name="Compact now")
    expect(go).to_be_disabled()
    gate.open()
    figures = dialog.get_by_role("status")
    expect(figures).to_contain_text(re.compile(r"[\d,]+ → about [\d,]+ tokens \(\d+% less\)"))
    expect(figures).to_contain_text(re.compile(r"m1 to m\d leave the context"))
    expect(dialog.locator(".content")).to_contain_text("They spoke of the harbour master.")
    dialog.get_by_role("button", name="Messages").click()
    expect(dialog.locator(".content li").first).to_contain_text("m1")
    expect(page.locator(".divider")).to_have_count(0)

    go.click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".divider.active")).to_have_count(1)
    page.locator(".divider .line").click()
    expect(page.locator(".opened .content")).to_contain_text("They spoke of the harbour master.")


def test_a_preview_with_another_focus_is_made_again_and_none_changes_anything(quiet: Visit) -> None:
    page = quiet.page
    told(quiet)
    before = page.locator(".gauge .figure").inner_text()
    _open(page)
    dialog = page.get_by_role("dialog")
    focus = dialog.get_by_label("What to concentrate on")
    expect(focus).to_be_focused()
    expect(dialog.locator(".content")).not_to_be_empty()
    focus.fill("the pilot boat")
    focus.press("Enter")
    expect(dialog.locator(".content")).to_contain_text("Focus: the pilot boat")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator(".gauge .figure")).to_have_text(before)
    expect(page.locator(".divider")).to_have_count(0)
    _open(page)
    expect(focus).to_have_value("")
    dialog.get_by_role("button", name="Messages").click()
    dialog.locator(".content .reference").first.click()
    expect(dialog).to_be_hidden()
    expect(page.locator("#m1")).to_be_in_viewport()


def test_where_nothing_can_be_gained_the_preview_says_so(quiet: Visit) -> None:
    page = quiet.page
    _open(page)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("nothing to compact")
    expect(dialog.get_by_role("button", name="Compact now")).to_be_disabled()


def test_a_preview_that_fails_says_why(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    told(visit, 1)
    visit.say("word " * 150_000)
    expect(page.locator(".failure")).to_contain_text("cannot be made smaller")
    _open(page)
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("cannot be made smaller")
    page.keyboard.press("Escape")
    expect(page.locator(".said")).to_have_count(0)  # the failure says it, and says it once
