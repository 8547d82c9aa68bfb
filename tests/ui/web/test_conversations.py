"""Several conversations: the list, titles, search, export, models, and the commands of the field."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.ui.web.harness import Speaker, Visit, shot, visiting


def test_conversations_are_listed_by_their_titles_and_opened_by_a_click_or_an_address(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Plan the trip to Oslo.")
    oslo = page.url
    expect(page.locator(".conversations .current .words")).to_have_text("Plan the trip to Oslo.")
    page.keyboard.press("Alt+n")
    expect(page.locator(".welcome")).to_be_visible()
    quiet.ask("Plan the trip to Rome.")
    assert page.url != oslo
    page.locator(".conversations a.title", has_text="Oslo").first.click()
    expect(page.locator(".bubble")).to_have_text("Plan the trip to Oslo.")
    expect(page).to_have_url(oslo)
    expect(page).to_have_title(re.compile("^Plan the trip to Oslo"))
    page.go_back()
    quiet.ready()
    expect(page.locator(".bubble")).to_have_text("Plan the trip to Rome.")


def test_the_list_is_filtered_by_title(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("About herons.")
    page.locator("#filter").fill("HERONS")
    expect(page.locator(".conversations li:visible")).to_have_count(1)
    page.locator("#filter").fill("")
    expect(page.locator(".conversations li:visible").nth(1)).to_be_visible()


def test_a_pinned_conversation_stays_at_the_beginning_of_the_list(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Keep the harbour in sight.")
    page.locator(".conversations .current summary").click()
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator(".conversations .group").first).to_have_text("Pinned")
    page.keyboard.press("Alt+n")
    expect(page.locator(".welcome")).to_be_visible()
    quiet.ask("Something newer.")
    first = page.locator(".conversations a.title").first
    expect(first).to_contain_text("Keep the harbour in sight.")
    page.reload()
    quiet.ready()
    expect(first).to_contain_text("Keep the harbour in sight.")
    expect(page.locator(".conversations .group h2")).to_have_text(["Pinned", "Today"])
    shot(page, "pinned")
    page.locator(".conversations summary").first.click()
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator(".conversations .group h2")).to_have_text(["Today"])


def test_conversations_are_tagged_and_found_by_their_tags_and_titles(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Measure the quay wall.")
    page.locator(".conversations .current summary").click()
    page.get_by_role("button", name="Tags…").click()
    field = page.get_by_role("dialog").get_by_label("Tags")
    expect(field).to_be_focused()
    field.fill("Harbour, #survey 2026")
    field.press("Enter")
    tag = page.get_by_role("group", name="Filter by tag").get_by_role("button", name="#survey 2026")
    expect(page.locator(".conversations .current .day")).to_contain_text("#harbour · #survey 2026")
    tag.click()
    expect(page.locator(".conversations li")).to_have_count(1)
    expect(tag).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#filter")).to_have_value("#survey 2026")
    shot(page, "tags")
    page.locator("#filter").fill("QUAY #harbour")
    expect(page.locator(".conversations mark")).to_have_text("quay")
    page.locator("#filter").fill("no such words")
    expect(page.locator(".conversations")).to_contain_text("Ctrl K searches what was said")
    page.locator("#filter").fill("")

    page.keyboard.press("Control+k")
    page.get_by_role("button", name="All conversations").click()
    page.locator("#query").fill("survey")
    first = page.locator(".result").first
    expect(first).to_contain_text("conversation · ")
    expect(first.locator(".words")).to_have_text("Measure the quay wall.")
    page.locator("#query").fill("quay wall")
    expect(page.locator(".result").first.locator("mark").first).to_have_text("quay")
    page.get_by_role("dialog").get_by_role("button", name="Answers", exact=True).click()
    expect(page.locator(".result").first).to_contain_text("the assistant")
    shot(page, "search-filters")
    page.get_by_role("dialog").get_by_role("button", name="You", exact=True).click()
    expect(page.locator(".result").first).to_contain_text("Measure the quay wall. · the user")


def test_a_conversation_is_renamed(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Good day.")
    page.locator(".conversations .current summary").click()
    page.get_by_role("button", name="Rename…").click()
    field = page.get_by_role("dialog").get_by_label("Title")
    expect(field).to_be_focused()
    field.fill("Greetings & more")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.locator("h1.title")).to_have_text("Greetings & more")
    expect(page.locator(".conversations .current .words")).to_have_text("Greetings & more")


def test_an_open_menu_stays_open_when_the_list_changes(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Wait for the tide.")
    with visiting(page.context, quiet.home) as other:
        other.open(page.url.removeprefix(quiet.home))
        page.locator(".conversations .current summary").click()
        other.ask("And now?")
    expect(page.locator(".conversations .current .day")).to_contain_text("4 messages")
    expect(page.get_by_role("button", name="Delete…")).to_be_visible()


def test_the_list_shows_which_other_conversation_is_being_answered(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    gate = speaker.gate("Here it is.")
    visit.say("Take your time.")
    gate.wait()
    page.keyboard.press("Alt+n")
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator(".conversations .busy")).to_have_count(1)
    gate.open()
    expect(page.locator(".conversations .busy")).to_have_count(0)
    expect(page.locator(".welcome")).to_be_visible()


def test_a_conversation_is_deleted_only_after_a_yes(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("To be forgotten.")
    address = page.url
    for answer in ("Cancel", "Delete"):
        page.locator(".conversations .current summary").click()
        page.get_by_role("button", name="Delete…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("cannot be undone")
        dialog.get_by_role("button", name=answer, exact=True).click()
        expect(dialog).to_be_hidden()
        if answer == "Cancel":
            expect(page.locator(".bubble")).to_have_text("To be forgotten.")
    expect(page.locator(".bubble", has_text="To be forgotten.")).to_have_count(0)
    expect(page).not_to_have_url(address)
    quiet.open(address.removeprefix(quiet.home))
    expect(page).not_to_have_url(address)


def test_a_conversation_is_exported_whole(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("Keep this.")
    for label, ending in (("Markdown", ".md"), ("Archive", ".json")):
        page.locator(".conversations .current summary").click()
        page.get_by_role("button", name="Export…").click()
        with page.expect_download() as downloading:
            page.get_by_role("link", name=label).click()
        path = downloading.value.path()
        assert downloading.value.suggested_filename.endswith(ending)
        text = Path(path).read_text(encoding="utf-8")
        assert "Keep this." in text
        if ending == ".json":
            json.loads(text)
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_search_finds_what_was_said_here_or_anywhere_and_leads_there(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("The lighthouse keeper is called Ingrid.")
    quiet.ask("Something else.")
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()
    page.locator("#query").fill("lighthouse keeper")
    result = page.locator(".result").first
    expect(result).to_contain_text("Ingrid")
    expect(result.locator(".beside")).to_contain_text("[m2] the assistant:")
    expect(page.get_by_role("dialog")).not_to_contain_text("No good match")
    page.locator("#query").fill("lighthouse kumquat zeppelin marzipan")
    expect(page.get_by_role("dialog")).to_contain_text("No good match")
    page.locator("#query").fill("lighthouse keeper")
    expect(page.get_by_role("dialog")).not_to_contain_text("No good match")
    result.click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#m1")).to_be_focused()

    page.keyboard.press("Alt+n")
    expect(page.locator(".welcome")).to_be_visible()
    page.keyboard.press("Control+k")
    page.locator("#query").fill("lighthouse keeper")
    expect(page.get_by_role("dialog")).to_contain_text("Nothing found")
    page.get_by_role("button", name="All conversations").click()
    page.locator(".result").first.click()
    expect(page.locator(".bubble").first).to_contain_text("The lighthouse keeper is called Ingrid.")


def test_the_offline_model_is_labelled_and_models_are_offered(quiet: Visit) -> None:
    page = quiet.page
    expect(page.locator(".badge")).to_have_text("no model connected")
    quiet.ask("Good day.")
    expect(page.locator(".message.assistant .prose")).to_contain_text("Offline model")
    page.locator("#model").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".choice[aria-pressed=true]")).to_contain_text("Offline")
    expect(dialog).to_contain_text("ANTHROPIC_API_KEY")


def test_another_model_can_be_talked_to(visit: Visit) -> None:
    page = visit.page
    expect(page.locator("#model")).to_contain_text("any")
    page.locator("#model").click()
    page.get_by_role("dialog").get_by_role("button", name="Offline").click()
    expect(page.locator(".badge")).to_be_visible()
    visit.ask("Who are you?")
    expect(page.locator(".message.assistant .prose")).to_contain_text("Offline model")
    visit.say("/model compatible:any")
    expect(page.locator(".badge")).to_have_count(0)


def test_commands_are_completed_by_keyboard(quiet: Visit) -> None:
    page = quiet.page
    field, options = page.locator("#field"), page.locator("#completions")
    field.press_sequentially("/")
    expect(options.locator("li")).to_have_count(len(json.loads(field.get_attribute("data-commands") or "")))
    field.press_sequentially("un")
    expect(options.locator("li")).to_have_count(2)
    expect(options.locator("[aria-selected=true]")).to_contain_text("/undo")
    expect(field).to_have_attribute("aria-activedescendant", "completion-0")
    field.press("ArrowDown")
    expect(options.locator("[aria-selected=true]")).to_contain_text("/unpin")
    field.press("Tab")
    expect(field).to_have_value("/unpin ")
    expect(options).to_be_hidden()
    field.fill("/he")
    field.press("Escape")
    expect(options).to_be_hidden()
    field.fill("/hel")
    field.press("Enter")
    expect(field).to_have_value("/help ")
    field.press("Enter")
    expect(page.locator(".said table")).to_contain_text("/compact")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".said")).to_have_count(0)


def test_commands_answer_beside_the_conversation(quiet: Visit) -> None:
    page = quiet.page
    quiet.ask("The tide is at six.")
    quiet.say("/search tide")
    expect(page.locator(".said")).to_contain_text("The tide is at six.")
    expect(page.locator(".said")).not_to_contain_text("No good match")
    page.locator(".said .reference").first.click()
    expect(page.locator("#m1")).to_be_focused()
    quiet.say("/pin m1")
    expect(page.locator("#m1.pinned")).to_be_visible()
    quiet.say("/undo")
    expect(page.locator(".said.error")).to_be_visible()
    quiet.say("/nonsense")
    expect(page.locator(".said.error")).to_contain_text("/help")
    expect(page.locator(".message")).to_have_count(2)
