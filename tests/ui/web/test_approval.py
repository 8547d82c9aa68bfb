"""The page asks before the agent writes a file: the change is seen, and an answer may stand."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from autocompact.testing import Answer
from tests.ui.web.harness import Server, Speaker, call, serving, shot, visiting
from tests.ui.web.test_looks import LOW_CONTRAST, TOO_WIDE


def question(page: Page) -> Locator:
    return page.get_by_role("group", name="Question")


CHANGE = call("edit_file", path="tides.txt", old="06:12", new="07:12")


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory, speaker: Speaker) -> Generator[Server]:
    folder = tmp_path_factory.mktemp("asking")
    (folder / "tides.txt").write_text("Bergen 06:12\nOslo 07:40\n")
    (folder / ".env").write_text("KEY=1\n")
    with serving(folder, speaker, memory="memory") as server:
        yield server


def test_the_change_is_shown_and_not_made_after_a_no(
    context: BrowserContext, asking: Server, speaker: Speaker
) -> None:
    with visiting(context, asking.url) as visit:
        page = visit.page
        visit.new()
        speaker.will_say(Answer(calls=(CHANGE,)), "No then.")
        visit.say("Mend it.")
        expect(question(page).locator(".diff .removed")).to_have_text("-Bergen 06:12\n")
        expect(question(page).locator(".diff .added")).to_have_text("+Bergen 07:12\n")
        shot(page, "approval")
        question(page).get_by_role("button", name="Refuse").click()
        expect(page.locator(".message.assistant").last).to_contain_text("No then.")
        assert "06:12" in (asking.folder / "tides.txt").read_text()


def test_an_answer_stands_for_the_workspace_but_not_for_secrets(
    browser: Browser, asking: Server, speaker: Speaker
) -> None:
    context = browser.new_context(color_scheme="dark", reduced_motion="reduce")
    with visiting(context, asking.url) as visit:
        page = visit.page
        visit.new()
        page.set_viewport_size({"width": 400, "height": 800})
        more = Answer(calls=(call("write_file", "call_2", path="new.txt", content="one\n"),))
        secret = Answer(calls=(call("read_file", "call_3", path=".env"),))
        speaker.will_say(Answer(calls=(CHANGE,)), more, secret, "Done.")
        visit.say("Do mend it.")
        always = question(page).get_by_role("button", name="Always here")
        expect(always).to_have_attribute("title", re.compile(re.escape(asking.folder.name)))
        assert page.evaluate(LOW_CONTRAST) == []
        assert not page.evaluate(TOO_WIDE)
        shot(page, "approval-dark")
        always.click()
        expect(question(page)).to_contain_text(".env, which may hold keys")
        expect(question(page).get_by_role("button")).to_have_text(["Allow", "Refuse"])
        question(page).get_by_role("button", name="Refuse").click()
        expect(page.locator(".message.assistant").last).to_contain_text("Done.")
        assert "07:12" in (asking.folder / "tides.txt").read_text()
        assert (asking.folder / "new.txt").read_text() == "one\n"
    context.close()
