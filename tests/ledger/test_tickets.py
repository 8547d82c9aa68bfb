"""What is asked of an agent in a tracker, not in the conversation."""

from __future__ import annotations

import json

import pytest

from autocompact.core.actions import interpret
from autocompact.core.messages import ToolCall
from autocompact.core.redacted import redacted_call
from autocompact.ledger.tickets import begins, closed, described, shown
from tests.core.talk import Talk

TICKET = """○ web-12 · Show the debug data of each row   [P1 · OPEN]
Owner: Ana · Type: task

## Architecture constraints
- Keep the state in the server, because the page is drawn again with each event.
- Do not replace `highlight.js`.

## Definition of done
- The tests of `row_live` cover the toggle, and both pages show the same.
"""


NONE: set[str] = set()


def _asked(talk: Talk) -> list[str]:
    return [entry.text for entry in talk.entries("finding") if "asked for in" in entry.text]


def _action(name: str, arguments: object):
    return interpret(redacted_call(ToolCall(id="1", name=name, arguments=json.dumps(arguments))))


@pytest.mark.requirement("F6")
def test_what_a_ticket_asks_for_is_told_with_its_name() -> None:
    talk = Talk().user("Work on web-12.").runs("bd show web-12 2>&1", TICKET).agent("I begin in `row.ex`.")
    told = "\n".join(_asked(talk))
    assert "asked for in web-12, Architecture constraints: Keep the state in the server" in told
    assert "asked for in web-12, Definition of done: The tests of `row_live` cover the toggle" in told


def test_a_ticket_that_is_closed_or_read_again_counts_for_little() -> None:
    read = Talk().user("Go.").runs("bd show web-12", TICKET)
    need = max(entry.need for entry in read.entries("finding"))
    done = Talk().user("Go.").runs("bd show web-12", TICKET).runs("bd close web-12 --reason done", "ok")
    assert max(entry.need for entry in done.entries("finding")) < need / 3
    anew = TICKET.replace("Keep the state in", "The state may leave").replace("The tests of", "All tests of")
    again = Talk().user("Go.").runs("bd show web-12", TICKET).runs("gh issue view web-12", anew)
    assert max(again.entries("finding"), key=lambda entry: entry.need).seq == 5


def test_each_ticket_of_one_answer_is_told_by_its_own_name() -> None:
    other = (
        "○ web-13 · Sort the rows   [P2 · OPEN]\n\n## Specs\n- Rows are sorted by `time`, since users read them so.\n"
        * 2
    )
    talk = Talk().user("Go.").runs("bd show web-12; bd show web-13", f"{TICKET}===\n{other}")
    told = _asked(talk)
    assert any("asked for in web-12, " in text and "`highlight.js`" in text for text in told)
    assert any("asked for in web-13, " in text and "`time`" in text for text in told)


@pytest.mark.parametrize(
    ("words", "path", "is_told"),
    [
        ("Pick up from docs/row-handoff.md, please.", "/repo/docs/row-handoff.md", True),
        ("Do phase 2 of PLAN.md", "PLAN.md", True),
        ("Pick up where we were.", "/repo/docs/row-handoff.md", False),
        ("Update README.md", "README.md", False),
        ("Mend plan.py", "plan.py", False),
    ],
)
def test_a_document_that_the_user_names_and_that_says_what_to_do_is_told(
    words: str, path: str, *, is_told: bool
) -> None:
    talk = Talk().user(words).calls("Read", {"file_path": path}).gets(TICKET).agent("I begin in `row.ex`.")
    assert bool(_asked(talk)) is is_told
    assert not is_told or all(f"asked for in {path.rpartition('/')[2]}" in text for text in _asked(talk))


def test_where_tickets_begin_is_told_by_their_names_at_the_beginning_of_lines() -> None:
    assert begins("a-1 one\nb\na-2 two", frozenset({"a-1", "a-2"})) == [(0, "a-1"), (10, "a-2")]
    assert begins("of a-12 and a-1.5", frozenset({"a-1"})) == [(0, "a-1")]
    assert begins("both a-1 and a-2", frozenset({"a-1", "a-2"})) == [(0, "a-1, a-2")]
    assert begins("nothing", frozenset({"7"})) == [(0, "7")]


def test_an_answer_that_asks_for_nothing_is_none() -> None:
    talk = (
        Talk().user("Go.").runs("bd show web-12", "not found").runs("gh issue view 7", TICKET, is_error=True)
    )
    assert _asked(talk) == []


@pytest.mark.parametrize(
    ("name", "arguments", "ids"),
    [
        ("Bash", {"command": "cd x && gh issue view https://github.com/o/r/issues/31 --json body"}, {"31"}),
        ("Bash", {"command": "gh issue view --repo o/r '#31' --comments | cat"}, {"31"}),
        ("Bash", {"command": "jira issue view WEB-7; acli jira workitem view WEB-8"}, {"WEB-7", "WEB-8"}),
        ("Bash", {"command": "tea issues 4"}, {"4"}),
        ("Bash", {"command": "gh issue list; git show 12; gh pr view 3"}, NONE),
        ("Bash", {"command": "bd show $id 2>/dev/null"}, NONE),
        ("mcp__github__get_issue", {"owner": "o", "repo": "r", "issue_number": 31}, {"31"}),
        ("mcp__github__issue_read", {"issue_number": 31, "method": "get"}, {"31"}),
        ("getJiraIssue", {"cloudId": "c", "issueIdOrKey": "WEB-7"}, {"WEB-7"}),
        ("mcp__linear__get_issue", {"id": ""}, NONE),
        ("mcp__linear__get_issue", {"query": "x"}, NONE),
        ("mcp__linear__list_issues", {"id": "7"}, NONE),
        ("get_issue_comments", {"issue_number": 31}, NONE),
        ("Read", {"file_path": "issue"}, NONE),
    ],
)
def test_tickets_are_read_by_commands_and_tools(name: str, arguments: object, ids: set[str]) -> None:
    action = _action(name, arguments)
    assert shown(action) == ids
    assert closed(action) == frozenset()


def test_tickets_are_closed_by_commands() -> None:
    close = _action("Bash", {"command": "git push && bd close web-12 web-13 --reason='all done'"})
    assert closed(close) == {"web-12", "web-13"}
    assert closed(_action("mcp__github__get_issue", {"issue_number": 3})) == frozenset()


def test_of_json_the_fields_that_people_write_are_read() -> None:
    assert (
        described('{"number": 3, "title": "Rows", "body": "Keep them.", "url": "x"}') == "Rows\n\nKeep them."
    )
    assert described('{"fields": {"summary": "Rows", "description": "Keep them."}}') == "Rows\n\nKeep them."
    assert described('{"number": 3, "body": " "}') == ""
    assert described('[{"title": "a"}]') == ""
    assert described("  Rows.  ") == "Rows."
