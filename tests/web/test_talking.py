"""Talking to the agent, as a person sees it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from autocompact.testing import Answer
from tests.web.harness import Speaker, Visit, call


def test_an_answer_comes_in_as_it_is_written_and_is_announced_politely(
    visit: Visit, speaker: Speaker
) -> None:
    speaker.will_say("one two three four five six seven eight nine ten")
    speaker.stall()
    visit.say("Count to ten.")
    live = visit.page.locator(".live [aria-live=polite]")
    expect(live).to_contain_text("one two")
    expect(live).to_have_attribute("aria-busy", "true")
    expect(visit.page.locator("#stop")).to_be_visible()
    visit.page.keyboard.press("Escape")
    visit.idle()


def test_a_cancelled_answer_stays_as_a_half_one_that_says_so_and_can_be_asked_for_again(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say("one two three four five six seven eight nine ten", "All ten.")
    speaker.stall()
    visit.say("Count to ten.")
    expect(page.locator(".live .prose")).to_contain_text("one")
    page.locator("#stop").click()
    expect(page.locator(".message.assistant .cut")).to_contain_text("Stopped")
    page.locator("[data-action=retry]").last.click()
    expect(page.locator(".message.assistant .prose").last).to_have_text("All ten.")
    visit.idle()


def test_thinking_and_tools_are_folded_with_results_and_durations_also_parallel_ones(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    calls = (call("read_file", path="tides.txt"), call("read_file", "call_2", path="none.txt"))
    speaker.will_say(
        Answer(text="Let me look.", reasoning="The file says it.", calls=calls), Answer(text="At 06:12.")
    )
    visit.ask("When is high water in Bergen?")
    expect(page.locator(".message.assistant .prose").last).to_have_text("At 06:12.")
    thought = page.locator(".fold.reasoning")
    expect(thought.locator(".prose")).to_be_hidden()
    thought.locator("summary").press("Enter")
    expect(thought.locator(".prose")).to_contain_text("The file says it.")
    tools = page.locator(".fold.tool")
    expect(tools).to_have_count(2)
    expect(tools.first.locator(".took")).to_contain_text("s")
    assert tools.first.locator(".took").inner_text().endswith((" ms", " s"))
    expect(tools.first).to_have_class("fold tool done")
    expect(tools.last.locator(".took")).to_contain_text("failed")
    expect(tools.first.locator("pre").last).to_be_hidden()
    summary = tools.first.locator("summary")
    place = summary.bounding_box()
    summary.click()
    expect(tools.first.locator("pre").last).to_contain_text("Bergen 06:12")
    assert summary.bounding_box() == place


def test_what_was_opened_stays_open_while_the_turn_goes_on(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say(
        Answer(calls=(call("read_file", path="tides.txt"), call("run_command", "c2", command="true")))
    )
    visit.say("Look.")
    expect(page.locator(".question")).to_contain_text("run_command")
    first = page.locator(".fold.tool").first
    expect(first).to_have_class("fold tool done")
    first.locator("summary").click()
    page.get_by_role("button", name="Allow").click()
    expect(page.locator(".fold.tool").last).to_have_class("fold tool done")
    visit.idle()
    expect(page.locator(".fold.tool").first.locator("pre").last).to_be_visible()


@pytest.mark.parametrize("allow", [True, False])
def test_a_command_waits_for_the_persons_yes_or_no(visit: Visit, speaker: Speaker, allow: bool) -> None:
    page = visit.page
    speaker.will_say(Answer(calls=(call("run_command", command="echo it $((40 + 2)) ran"),)), "Done.")
    visit.say("Run it.")
    question = page.get_by_role("alertdialog")
    expect(question).to_contain_text("echo it $((40 + 2)) ran")
    question.get_by_role("button", name="Allow" if allow else "Refuse").click()
    expect(question).to_have_count(0)
    visit.idle()
    tool = page.locator(".fold.tool")
    tool.locator("summary").click()
    expect(tool.locator("pre").last).to_contain_text("it 42 ran" if allow else "said no")


def test_a_failure_is_shown_and_the_request_can_be_sent_again(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say("one two three four five six seven eight nine ten")
    speaker.fail()
    visit.say("Good day.")
    failure = page.get_by_role("alert")
    expect(failure).to_contain_text("127.0.0.1")
    expect(page.locator(".message.assistant .cut")).to_contain_text("The model failed")
    expect(page.locator("#field")).to_be_enabled()
    speaker.will_say("Good day to you.")
    failure.get_by_role("button", name="Try again").click()
    expect(page.locator(".message.assistant .prose")).to_have_text("Good day to you.")
    expect(failure).to_be_hidden()


@pytest.mark.requirement("A14")
def test_an_edited_message_takes_the_place_of_what_came_after_which_is_shown_on_request(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say("Blue.", "Red.")
    visit.ask("A cold colour?")
    page.locator(".message.user").hover()
    page.get_by_role("button", name="Edit and ask again").click()
    expect(page.locator("#field")).to_have_value("A cold colour?")
    expect(page.locator(".editing")).to_be_visible()
    visit.say("A warm colour?")
    expect(page.locator(".message.assistant .prose")).to_have_text("Red.")
    expect(page.locator(".bubble")).to_have_text("A warm colour?")
    expect(page.locator(".editing")).to_be_hidden()

    page.locator("header summary").click()
    page.get_by_role("button", name="Show replaced messages").click()
    expect(page.locator(".message.replaced")).to_have_count(2)
    expect(page.locator(".message.replaced .bubble")).to_have_text("A cold colour?")


def test_editing_can_be_given_up_with_escape(visit: Visit) -> None:
    page = visit.page
    visit.ask("Good day.")
    page.locator("#field").press("ArrowUp")
    expect(page.locator(".editing")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".editing")).to_be_hidden()
    expect(page.locator("#field")).to_have_value("")


def test_an_answer_that_is_no_good_is_replaced_by_another_one(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say("Blue.", "Green.")
    visit.ask("A colour?")
    page.locator("[data-action=retry]").click()
    expect(page.locator(".message.assistant .prose")).to_have_text("Green.")


def test_shift_enter_begins_a_line_and_what_is_written_is_still_there_after_a_reload(visit: Visit) -> None:
    field = visit.page.locator("#field")
    field.press_sequentially("first")
    field.press("Shift+Enter")
    field.press_sequentially("second")
    expect(field).to_have_value("first\nsecond")
    visit.page.reload()
    visit.ready()
    expect(field).to_have_value("first\nsecond")
