"""What a user says inside the result of a tool, in the forms of the agents that people run."""

from __future__ import annotations

import pytest

from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.ledger.extraction import extract
from autocompact.ledger.replies import asks, replied

_REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was "
    "NOT written to the file). To tell you how to proceed, the user said:\n"
)
_READ = (
    "Read the answers carefully \u2014 they may request clarification, changes, or that you not proceed \u2014 and follow what "
    "they actually say."
)


@pytest.mark.parametrize(
    "output, said",
    [
        (f"{_REJECTED}use pnpm", "use pnpm"),
        (
            "Permission for this tool use was denied. The tool use was rejected (eg. if it was a file edit, the new_string was NOT "
            "written to the file). The user said:\nuse pnpm",
            "use pnpm",
        ),
        ('User has answered your questions: "Which one?"="the first"', "Which one? → the first"),
        (
            'Your questions have been answered: "Which one?"="The first (Recommended)" selected preview:\nGET "/x"="y"\nend, '
            '"Both?"="Yes". You can now continue with these answers in mind.',
            "Which one? → The first (Recommended)\nBoth? → Yes",
        ),
        (
            f'The user answered: "Who sees past events?"="Everyone", "What goes in?"="Tabs, "Load more" (client), all if possible". {_READ}',
            'Who sees past events? → Everyone\nWhat goes in? → Tabs, "Load more" (client), all if possible',
        ),
        (
            f'The user answered: "Which tap?"="tools" notes: but only on Linux, "Which token?"=(no option selected) notes: none of mine. {_READ}',
            "Which tap? → tools; but only on Linux\nWhich token? → none of mine",
        ),
        (
            'The user asked for more questions before you proceed. So far they answered: "Which tap?"="tools". They also wrote: '
            '"ask about Windows". Call AskUserQuestion again with follow-up questions',
            "Which tap? → tools\nask about Windows",
        ),
        (
            "No response after 60s \u2014 the user may be away from keyboard.\n\nBefore going idle the user had selected: "
            '"Which tap?"="tools".',
            "Which tap? → tools",
        ),
        ('User has answered your questions: "Which one?"=(no option selected)', ""),
        (
            'User has answered your questions: "Which tap?"="Unanswered", "Both?"="Yes, Later". You can now continue with the '
            "user's answers in mind.",
            "Both? → Yes, Later",
        ),
        (
            'User has answered your questions: "Which tap?"="Unanswered". You can now continue with the user\'s answers in mind.',
            "",
        ),
        (
            "User has provided the following answers:\n\n**Scope**: All of it\n**Tests**: pytest, no mocks",
            "Scope → All of it\nTests → pytest, no mocks",
        ),
        ("User responded: that is too heavy", "that is too heavy"),
        ("The user responded: that is too heavy", "that is too heavy"),
        ("User selected: Keep it (Recommended)", "Keep it (Recommended)"),
        ('{"answers": {"scope": {"answers": ["All", "user_note: soon"]}}}', "scope → All, user_note: soon"),
        ('{"answers": {"0": "All"}}', "All"),
        ('{"status": "answered", "answers": {"Which tap?": "tools"}}', "Which tap? → tools"),
        ('{"status": "interrupted_by_user", "message": "does it leak?"}', "does it leak?"),
        ('{"status": "interrupted_by_user", "message": 7}', ""),
        ('{"answers": {"0": 7, "1": {"answers": null}}}', ""),
        ('{"answers": [1]}', ""),
        ("No response after 60s \u2014 the user may be away from keyboard.", ""),
        ("Your questions have been answered: none", ""),
        (
            f'User has answered your questions: "What spec?"="{"y" * 5_000}". You can now',
            f"What spec? → {'y' * 3_952}",
        ),
        ("ok", ""),
        ("The user answered the phone", ""),
    ],
)
def test_what_the_user_said_inside_a_result_is_read(output: str, said: str) -> None:
    assert replied(output, asked=True) == said


def test_an_answer_that_stands_alone_is_told_with_the_question_of_its_call() -> None:
    assert replied("User selected: Keep it", asked=True, question="Merge?") == "Merge? → Keep it"
    assert replied('{"answers": {"0": "Keep it"}}', asked=True, question="Keep it?") == "Keep it? → Keep it"


def test_what_another_tool_prints_in_such_a_form_is_nothing_that_the_user_said() -> None:
    assert asks("request_user_input")
    assert asks("AskUserQuestion")
    assert not asks("Bash")
    assert not asks("TaskOutput")
    assert replied('{"answers": {"q1": "42"}}') == ""
    assert replied("User selected: row 7") == ""
    assert replied('{"status": "interrupted_by_user", "message": "push it"}') == ""


def test_of_questions_that_a_user_wants_to_talk_about_only_what_they_said_is_theirs() -> None:
    asked = (
        "The user wants to clarify these questions.\n    Start by asking them what they would like to clarify.\n\n"
        '    Questions asked:\n- "Build on the \'fly\'?"\n  (No answer provided)\n- "Which tap?"\n  Answer: tools\n'
        '- "Which token?"\n  (No answer provided)\n  User notes: none of mine'
    )
    assert replied(_REJECTED + asked) == "Which tap? → tools\nWhich token? → none of mine"
    assert replied(_REJECTED + asked.partition('- "Which')[0]) == ""


def test_the_answer_to_a_question_of_the_agent_is_a_request_in_the_ledger() -> None:
    asked = ToolCall(id="a", name="ask_user", arguments='{"question": "Keep auto-merge?"}')
    log = [
        Message(seq=1, role="user", parts=(Text(text="Simplify the design."),)),
        Message(seq=2, role="assistant", parts=(asked,)),
        Message(
            seq=3,
            role="tool",
            parts=(ToolResult(call_id="a", text="User responded: no, use a temporary branch"),),
        ),
    ]
    told = [str(entry.text) for entry in extract(log).entries if entry.kind == "request"]
    assert "Keep auto-merge? → no, use a temporary branch" in told


def test_many_quotation_marks_take_no_time() -> None:
    assert len(replied("The user answered: " + '"a"="' * 90_000)) < 9_000


@pytest.mark.parametrize("status", ["interrupted_by_user", "answered"])
def test_an_answer_nested_without_end_says_nothing(status: str) -> None:
    deep = '{"status":"' + status + '","answers":' + "[" * 5_000 + "]" * 5_000 + "}"
    assert replied(deep, asked=True) == ""
