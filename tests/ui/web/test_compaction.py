"""Compaction as a person sees it: the notice, the divider, the meter, and the way back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.ui.web.harness import Speaker, Visit, shot

FACT = "The harbour master's number is 4711 and the pilot boat is called Vesta. "


def told(visit: Visit, times: int = 4) -> None:
    """A conversation that is worth a compaction."""
    for n in range(times):
        visit.ask(f"{n}: {FACT}" + f"Item {n} of the long list, with words that fill the window. " * 20)


@pytest.mark.requirement("A9")
def test_while_the_context_is_compressed_the_input_is_off_and_a_spinner_turns(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    told(visit)
    gate = speaker.gate("<summary>They spoke of the harbour. [m1]</summary>")
    visit.say("/compact the harbour")
    gate.wait()
    expect(page.locator(".compressing")).to_have_text("Compressing context…")
    expect(page.locator(".compressing .icon")).to_be_visible()
    expect(page.locator("#field")).to_be_disabled()
    expect(page.locator("#send")).to_be_disabled()
    gate.open()
    expect(page.locator(".compressing")).to_be_hidden()
    expect(page.locator("#field")).to_be_enabled()
    expect(page.locator("#send")).to_be_enabled()
    expect(page.locator(".divider.active .line")).to_contain_text("compacted through m")


@pytest.mark.requirement("A1", "A9")
def test_a_compaction_on_the_path_of_a_turn_holds_the_input_until_the_answer_goes_on(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    for _ in range(2):
        visit.ask("word " * 13_000)
    gate = speaker.gate("<summary>They said many words. [m1]</summary>")
    visit.say("And more: " + "word " * 17_000)
    gate.wait()
    expect(page.locator(".compressing")).to_be_visible()
    expect(page.locator("#announcer")).to_have_text("Compressing context.")
    expect(page.locator("#field")).to_be_disabled()
    speaker.will_say("Many words indeed.")
    gate.open()
    expect(page.locator(".message.assistant .prose").last).to_have_text("Many words indeed.")
    expect(page.locator(".divider.active")).to_have_count(1)
    expect(page.locator(".compressing")).to_be_hidden()
    expect(page.locator("#field")).to_be_enabled()
    expect(page.locator(".said")).to_have_count(0)


@pytest.mark.requirement("A9")
def test_after_a_compaction_by_command_the_input_has_the_focus_again(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    told(visit)
    gate = speaker.gate("<summary>They spoke of the harbour. [m1]</summary>")
    visit.say("/compact the harbour")
    gate.wait()
    expect(page.locator("#field")).to_be_disabled()
    gate.open()
    expect(page.locator(".divider.active .line")).to_contain_text("compacted through m")
    expect(page.locator("#field")).to_be_focused()
    page.keyboard.type("And now?")
    expect(page.locator("#field")).to_have_value("And now?")


@pytest.mark.requirement("A9")
def test_after_a_compaction_from_its_preview_the_input_has_the_focus(quiet: Visit) -> None:
    page = quiet.page
    told(quiet)
    page.locator("header details.menu summary, .head details.menu summary").first.click()
    page.get_by_role("button", name="Compact the context…").click()
    used = int(page.locator(".gauge").get_attribute("data-used") or 0)
    expect(page.get_by_role("dialog")).to_contain_text(f"{used:,} → about")
    page.get_by_role("dialog").get_by_role("button", name="Compact now").click()
    expect(page.locator(".divider.active .line")).to_contain_text("compacted through m")
    expect(page.locator(".divider.active .line")).to_contain_text(f"{used:,}")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#field")).to_be_focused()


@pytest.mark.requirement("A9")
def test_who_went_elsewhere_while_the_context_was_compressed_stays_there(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    told(visit)
    gate = speaker.gate("<summary>They spoke of the harbour. [m1]</summary>")
    visit.say("/compact the harbour")
    gate.wait()
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()
    gate.open()
    expect(page.locator(".divider.active .line")).to_contain_text("compacted through m")
    expect(page.locator("#field")).to_be_enabled()
    expect(page.locator("#query")).to_be_focused()


@pytest.mark.requirement("A9")
def test_a_compaction_that_fails_is_told_and_the_input_comes_back(visit: Visit) -> None:
    page = visit.page
    visit.say("/compact")
    expect(page.locator(".said.error").or_(page.locator(".said.reply")).first).to_be_visible()
    expect(page.locator("#field")).to_be_enabled()
    expect(page.locator(".compressing")).to_be_hidden()


@pytest.mark.requirement("A4", "E2")
def test_the_divider_shows_summary_ledger_receipt_and_what_left_and_takes_it_back(quiet: Visit) -> None:
    page = quiet.page
    told(quiet)
    before = page.locator(".gauge .figure").inner_text()
    quiet.say("/compact")
    line = page.locator(".divider .line")
    expect(line).to_have_attribute("aria-expanded", "false")
    expect(line).to_contain_text("tokens")
    expect(page.locator(".bubble")).to_have_count(4)
    expect(page.locator(".gauge .figure")).not_to_have_text(before)

    line.press("Enter")
    expect(line).to_have_attribute("aria-expanded", "true")
    content = page.locator(".opened .content")
    expect(content).to_contain_text("4711")
    page.get_by_role("button", name="Ledger").click()
    expect(content.locator("h3").first).to_contain_text("Requests")
    page.get_by_role("button", name="Receipt").click()
    expect(content).to_contain_text(re.compile(r"[\d,]+ → [\d,]+ \(\d+% less\)"))
    expect(content).to_contain_text("offline")
    expect(content.locator("time")).to_have_text(re.compile(r"^\d\d:\d\d"))
    page.get_by_role("button", name="Messages").click()
    expect(content.locator("li").first).to_contain_text("m1")

    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator(".divider.past .line")).to_contain_text("undone")
    expect(page.get_by_role("button", name="Activate again")).to_be_focused()
    expect(content.locator("li").first).to_contain_text("m1")
    expect(page.locator(".gauge .figure")).to_have_text(before)
    page.get_by_role("button", name="Activate again").click()
    expect(page.locator(".divider.active")).to_have_count(1)


@pytest.mark.requirement("E2")
def test_two_compactions_can_be_compared(quiet: Visit) -> None:
    page = quiet.page
    told(quiet)
    quiet.say("/compact")
    expect(page.locator(".divider")).to_have_count(1)
    told(quiet, 3)
    quiet.say("/compact")
    expect(page.locator(".divider")).to_have_count(2)
    page.locator(".divider .line").last.click()
    expect(page.locator(".opened").last).to_be_in_viewport(ratio=0.9)
    page.get_by_role("button", name="Compare…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".choices button").first).to_have_attribute("aria-pressed", "true")
    expect(dialog.locator(".comparison thead th")).to_contain_text(["earlier", "active"])
    expect(dialog.locator(".diff .added").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.requirement("E3")
def test_a_reference_in_a_summary_leads_to_the_original(quiet: Visit) -> None:
    page = quiet.page
    told(quiet)
    quiet.say("/compact")
    page.locator(".divider .line").click()
    page.locator(".opened .reference", has_text=re.compile("^m1$")).first.click()
    target = page.locator("#m1")
    expect(target).to_be_in_viewport()
    expect(target).to_be_focused()
    expect(target).to_have_class(re.compile("revealed"))


@pytest.mark.requirement("A8")
def test_the_meter_tells_what_fills_the_context_to_pointer_and_keyboard(quiet: Visit) -> None:
    page = quiet.page
    told(quiet, 1)
    breakdown = page.locator(".breakdown")
    expect(breakdown).to_be_hidden()
    page.locator(".meter").hover()
    expect(breakdown).to_contain_text("your messages")
    expect(breakdown).to_contain_text("Compaction at")
    expect(page.locator(".gauge .threshold")).to_be_visible()
    page.mouse.move(0, 700)
    expect(breakdown).to_be_hidden()
    page.locator(".gauge").focus()
    expect(breakdown).to_be_visible()
    used = int(page.locator(".gauge").get_attribute("data-used") or 0)
    assert f"{used:,}" in (page.locator(".gauge").text_content() or "")


@pytest.mark.requirement("A1", "E4")
def test_a_compaction_is_prepared_visibly_and_activated_by_itself_and_every_message_stays(
    quiet: Visit,
) -> None:
    page = quiet.page
    ready, divider = page.locator(".gauge .ready"), page.locator(".divider")
    for n in range(30):
        # once one is due, few words: many would activate it before anybody has seen that it is prepared
        near = page.locator(".gauge.near").count()
        quiet.ask(
            f"{n}: {FACT}"
            + f"Item {n} of the long list, with words that fill the window. " * (1 if near else 40)
        )
        if ready.count() or divider.count():
            break
    expect(ready).to_be_visible()
    expect(page.locator(".gauge")).to_have_accessible_name(re.compile("A compaction is prepared"))
    expect(divider).to_have_count(0)
    for n in range(30):
        quiet.ask(f"{n}: {FACT}" + f"Item {n} of another list, with words that fill the window. " * 40)
        if divider.count():
            break
    expect(page.locator(".divider.active")).to_have_count(1)
    expect(ready).to_have_count(0)
    expect(page.locator(".bubble").first).to_contain_text("0: The harbour")
    page.locator(".divider .line").click()
    page.get_by_role("button", name="Receipt").click()
    expect(page.locator(".opened .content")).to_contain_text("prepared")


def test_usage_and_receipts_are_drawn(quiet: Visit) -> None:
    page = quiet.page
    told(quiet)
    quiet.say("/compact")
    expect(page.locator(".divider")).to_have_count(1)
    page.locator("header summary").click()
    page.get_by_role("button", name="Usage and receipts").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("svg.chart[role=img]")).to_be_visible()
    expect(dialog.locator("svg .mark")).to_have_count(1)
    expect(dialog.locator(".receipts tbody tr")).to_have_count(1)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_usage_that_the_provider_reported_is_drawn_for_each_answer(visit: Visit) -> None:
    page = visit.page
    told(visit, 2)
    page.locator("header summary").click()
    page.get_by_role("button", name="Usage and receipts").click()
    expect(page.get_by_role("dialog").locator("svg circle")).to_have_count(3)


def test_a_pinned_message_is_marked_and_can_be_let_go(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Good day.")
    page.locator(".message.user").hover()
    page.locator("[data-action=pin]").first.click()
    expect(page.locator(".message.user.pinned .facts")).to_contain_text("pinned")
    page.locator("[data-action=unpin]").click()
    expect(page.locator(".pinned")).to_have_count(0)


def test_rules_are_listed_written_and_changed_and_the_meter_explains_its_threshold(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    visit.ask("Never push without my approval.")
    expect(page.locator(".breakdown")).to_contain_text(
        "Compaction at 43,200 tokens (68%): 80% of the window are 51,200 tokens, less 8,000 reserved for the reply."
    )
    page.locator("header summary").click()
    page.get_by_role("button", name="Rules of this conversation…").click()
    dialog = page.get_by_role("dialog", name="Rules of this conversation")
    expect(dialog.locator("li .words")).to_have_text("m1 Never push without my approval.")
    new, rule = dialog.get_by_label("New rule"), dialog.get_by_label("Rule", exact=True)
    expect(new).to_be_focused()
    new.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("nothing to pin")
    new.fill("Call me <b>Ada</b>.")
    new.press("Enter")
    expect(rule).to_have_value("Call me <b>Ada</b>.")
    expect(new).to_have_value("")
    rule.fill("Call me Ada Lovelace.")
    rule.press("Enter")
    expect(dialog.get_by_role("button", name="Save the change of: Call me Ada Lovelace.")).to_be_visible()
    expect(rule).to_have_count(1)
    dialog.get_by_role("button", name="Write down: Never push without my approval.").click()
    expect(rule).to_have_count(2)
    shot(page, "rules")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    visit.ask("Good day.")
    system = str(speaker.provider.requests[-1].messages[0]["content"])
    assert system.endswith("- Call me Ada Lovelace.\n- Never push without my approval.")
