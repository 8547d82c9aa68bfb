"""Talking to the agent, as a person sees it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from autocompact.testing import Answer
from tests.ui.web.harness import Speaker, Visit, call, shot


def test_an_answer_comes_in_as_it_is_written_and_is_announced_once_it_is_whole(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    heard = page.locator("#announcer[role=status][aria-live=polite]")
    speaker.will_say("one two three four five six seven eight nine ten", "All ten.")
    speaker.stall()
    visit.say("Count to ten.")
    expect(page.locator(".live .prose")).to_contain_text("one two")
    expect(heard).to_have_text("The answer has started.")
    assert page.locator(".live [aria-live], .messages [aria-live]").count() == 0
    expect(page.locator("#stop")).to_be_visible()
    page.keyboard.press("Escape")
    visit.idle()
    expect(heard).to_have_text("Stopped.")
    visit.ask("Once more.")
    expect(heard).to_have_text("Answer: All ten.")


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
    expect(thought.locator("summary")).to_contain_text("Thought for")
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


def test_results_stand_with_their_own_calls_when_every_turn_counts_from_the_same_id(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say(Answer(calls=(call("read_file", "call_0", path="tides.txt"),)), "At 06:12.")
    visit.ask("When is high water in Bergen?")
    speaker.will_say(Answer(calls=(call("read_file", "call_0", path="none.txt"),)), "There is none.")
    visit.ask("And in the other file?")
    for _ in range(2):  # as it happened, and as it is read from the log
        tools = page.locator(".fold.tool")
        expect(tools).to_have_count(2)
        expect(tools.first).to_have_class("fold tool done")
        expect(tools.last).to_have_class("fold tool failed")
        expect(tools.first.locator("pre").last).to_contain_text("Bergen 06:12")
        expect(tools.last.locator("pre").last).to_contain_text("none.txt")
        page.reload()
        visit.ready()


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
    question = page.get_by_role("group", name="Question")
    expect(question).to_contain_text("echo it $((40 + 2)) ran")
    expect(page.locator("#announcer")).to_have_text("Allow run_command? echo it $((40 + 2)) ran")
    question.get_by_role("button", name="Allow" if allow else "Refuse").click()
    expect(question).to_have_count(0)
    expect(page.locator("#field")).to_be_focused()
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
    page.reload()
    visit.ready()
    expect(failure).to_contain_text("127.0.0.1")
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


@pytest.mark.requirement("A14")
def test_versions_of_an_answer_are_flipped_and_the_conversation_goes_on_from_the_one_that_is_shown(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    answer, versions = page.locator(".message.assistant .prose"), page.locator(".versions")
    speaker.will_say("Blue.", "Green.", "Because it is the sea.")
    visit.ask("A colour?")
    page.locator("[data-action=retry]").click()
    expect(answer).to_have_text("Green.")
    expect(versions).to_have_text("2/2")
    expect(page.get_by_role("button", name="Next version of this answer")).to_be_disabled()
    page.get_by_role("button", name="Previous version of this answer").press("Enter")
    expect(answer).to_have_text("Blue.")
    expect(page.get_by_role("button", name="Next version of this answer")).to_be_focused()
    expect(page.locator(".earlier")).to_contain_text("You see an earlier version.")
    shot(page, "version")
    page.get_by_role("button", name="Back to the latest").click()
    expect(answer).to_have_text("Green.")
    expect(page.locator(".earlier")).to_be_hidden()
    page.get_by_role("button", name="Previous version of this answer").click()
    expect(answer).to_have_text("Blue.")
    visit.say("Why?")
    expect(answer).to_have_text(["Blue.", "Because it is the sea."])
    visit.idle()
    expect(versions).to_have_text("1/2")
    page.reload()
    visit.ready()
    expect(versions).to_have_text("1/2")
    asked = speaker.provider.requests[-1].messages
    assert [message["content"] for message in asked if message["role"] == "assistant"] == ["Blue."]


def test_a_long_message_is_folded_to_its_beginning_and_unfolded_by_its_button(visit: Visit) -> None:
    page = visit.page
    visit.ask("A short one.")
    expect(page.locator(".unfold")).to_have_count(0)
    visit.ask("a line of many\n" * 40)
    text, button = page.locator(".long"), page.locator(".unfold")
    folded = text.bounding_box()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    whole = text.bounding_box()
    assert folded is not None
    assert whole is not None
    assert whole["height"] > 2 * folded["height"]
    visit.say("/pin m3")
    expect(page.locator("#m3.pinned .long:not(.folded)")).to_be_visible()
    button.click()
    expect(page.locator(".long.folded")).to_be_visible()


def test_shift_enter_begins_a_line_and_what_is_written_is_still_there_after_a_reload(visit: Visit) -> None:
    field = visit.page.locator("#field")
    field.press_sequentially("first")
    field.press("Shift+Enter")
    field.press_sequentially("second")
    expect(field).to_have_value("first\nsecond")
    visit.page.reload()
    visit.ready()
    expect(field).to_have_value("first\nsecond")


def test_the_agents_tasks_are_seen_above_the_field_and_follow_every_change(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    tasks = page.locator(".tasks")
    expect(tasks).to_be_hidden()
    first = call("tasks", tasks=[{"text": "Find <b>it</b>", "state": "doing"}, {"text": "Mend it"}])
    speaker.will_say(Answer(calls=(first,)), "Begun.")
    visit.ask("Find and mend it.")
    summary = tasks.locator("summary")
    expect(summary).to_contain_text("0 of 2 done")
    expect(summary).to_contain_text("Find <b>it</b>")
    summary.press("Enter")
    expect(tasks.locator("li")).to_have_text(["Find <b>it</b> (in progress)", "Mend it (to do)"])
    second = call("tasks", "call_2", tasks=[{"text": "Find it", "state": "done"}, {"text": "Mend it"}])
    speaker.will_say(Answer(calls=(second,)), "Found.")
    visit.ask("Go on.")
    expect(summary).to_contain_text("1 of 2 done")
    expect(tasks.locator("li.done")).to_have_text("Find it (done)")  # still open
    page.reload()
    visit.ready()
    expect(summary).to_contain_text("1 of 2 done")
    visit.new()
    expect(tasks).to_be_hidden()


def test_a_long_request_is_shown_by_its_beginning_and_whole_on_request(visit: Visit) -> None:
    page = visit.page
    visit.ask("word " * 4_000 + "the end")
    bubble = page.locator(".bubble")
    expect(bubble).to_contain_text("The first 12,000 of 20,007 characters.")
    expect(bubble).not_to_contain_text("the end")
    bubble.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("dialog")).to_contain_text("the end")


FILL = """(field, times) => {
    field.value = ("潮".repeat(70) + "\\n").repeat(times);
    field.dispatchEvent(new Event("input", {bubbles: true}));
}"""


def test_what_is_too_long_to_send_stays_in_the_field_and_it_says_so(visit: Visit) -> None:
    page = visit.page
    field, told = page.locator("#field"), page.locator("#toolong")
    field.evaluate(FILL, 20_000)
    expect(told).to_contain_text("1,420,000 characters")
    field.press("Enter")
    expect(field).not_to_have_value("")
    expect(page.locator(".bubble")).to_have_count(0)
    field.evaluate(FILL, 6_000)  # more than a million bytes
    expect(told).to_be_hidden()
    page.locator("#send").click()
    expect(page.locator(".bubble")).to_contain_text("of 426,000 characters")
    expect(field).to_have_value("")


def test_replies_of_commands_go_when_something_else_is_said(visit: Visit) -> None:
    page = visit.page
    visit.say("/help")
    expect(page.locator(".said")).to_contain_text("/compact")
    visit.say("/tasks")
    expect(page.locator(".said")).to_have_text(re.compile("No tasks"))
    visit.ask("Good day.")
    expect(page.locator(".said")).to_have_count(0)


def test_a_message_that_begins_with_a_path_is_no_command(visit: Visit) -> None:
    page = visit.page
    visit.ask("/usr/bin/env: python: not found")
    expect(page.locator(".bubble")).to_have_text("/usr/bin/env: python: not found")
    visit.say("/nonsense")
    expect(page.locator(".said.error")).to_contain_text("There is no command")


def test_a_button_leads_back_to_the_end(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say("\n\n".join(f"Line {n}." for n in range(100)))
    visit.ask("Tell me much.")
    button = page.locator("#to-end")
    expect(button).to_be_hidden()
    page.locator("#m1").scroll_into_view_if_needed()
    button.click()
    expect(page.get_by_text("Line 99.", exact=True)).to_be_in_viewport()
    expect(button).to_be_hidden()


def test_what_is_said_while_an_answer_runs_waits_in_sight_and_is_sent_after_it(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    waiting = page.locator(".waiting li")
    gate = speaker.gate("The first answer.")
    visit.say("One.")
    expect(page.locator("#stop")).to_be_visible()
    expect(page.locator("#send")).to_be_hidden()
    page.locator("#field").fill("Two.")
    page.locator("#send").click()
    expect(waiting).to_contain_text("Two.")
    visit.say("Three.")
    expect(waiting).to_have_count(2)
    waiting.last.get_by_role("button", name="Withdraw: Three.").click()
    expect(page.locator("#field")).to_have_value("Three.")
    page.locator("#field").fill("")
    page.reload()
    visit.ready()
    expect(waiting).to_have_count(1)
    gate.open()
    expect(page.locator(".message.assistant")).to_have_count(2)
    expect(page.locator(".bubble")).to_have_text(["One.", "Two."])
    expect(waiting).to_have_count(0)
    visit.idle()


def test_what_waits_for_an_answer_that_is_stopped_is_sent_when_the_person_says_so(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say("one two three four five six seven eight nine ten", "Two it is.")
    speaker.stall()
    visit.say("One.")
    expect(page.locator(".live .prose")).to_contain_text("one")
    visit.say("Two.")
    now = page.locator(".waiting").get_by_role("button", name="Send now")
    expect(page.locator(".waiting li")).to_have_count(1)
    expect(now).to_have_count(0)
    page.locator("#stop").click()
    now.click()
    expect(page.locator(".message.assistant .prose").last).to_have_text("Two it is.")
    expect(page.locator(".bubble")).to_have_text(["One.", "Two."])
    expect(page.locator(".waiting")).to_be_hidden()


ANSWER = r"""## The seal

- [x] looked at, **worn**
- [ ] replaced

It leaks at $p > p_0$[^1]: see https://pumps.example/seal

| part | price |
|---|--:|
| seal | 42.35 |

[^1]: measured
"""


@pytest.mark.requirement("A1")
def test_an_answer_is_shown_as_a_document_and_copied_as_it_was_written(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    speaker.will_say(ANSWER)
    visit.ask("Why does it leak?")
    answer = page.locator(".message.assistant").last
    expect(answer.locator("input[type=checkbox]")).to_have_count(2)
    expect(answer.locator("input:checked")).to_have_count(1)
    expect(answer.locator("math msub")).to_have_count(1)
    expect(answer.locator("sup.footnote")).to_have_text("1")
    expect(answer.locator('a[href="https://pumps.example/seal"]')).to_be_visible()
    price = answer.locator("td.right")
    assert price.evaluate("cell => cell.getClientRects().length") == 1
    assert price.evaluate("cell => getComputedStyle(cell).overflowWrap") == "normal"
    answer.hover()
    answer.locator('[data-action="copy"]').click()
    expect(answer.locator('[data-action="copy"].copied')).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == ANSWER
    missing = page.request.get(f"{visit.home}/markdown{page.url.partition('/c')[2]}/99")
    assert (missing.status, "no message 99" in missing.text()) == (404, True)
    page.evaluate("navigator.clipboard.writeText('')")
    visit.open("/")  # the same conversation, at the address that one begins with
    answer.locator('[data-action="copy"]').click()
    expect(answer.locator('[data-action="copy"].copied')).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == ANSWER
