"""Calls that an agent writes as text, and the messages that bring their results."""

from __future__ import annotations

import json

import pytest

from autocompact.core.messages import Image, Message, Text, ToolCall, text_message
from autocompact.core.text_calls import with_calls

STATUS = "\n\n(Open file: {})\n(Current directory: /repo)\nbash-$"


def said(*texts: str, program: bool = False) -> list[Message]:
    """User and assistant by turns; ``program`` marks what follows an assistant as nobody's words, as a reader does."""
    return [
        text_message(
            seq, "user" if seq % 2 else "assistant", text, synthetic=program and seq > 1 and bool(seq % 2)
        )
        for seq, text in enumerate(texts, start=1)
    ]


def calls(messages: list[Message]) -> list[tuple[str, object]]:
    return [
        (call.name, json.loads(call.arguments)) for message in with_calls(messages) for call in message.calls
    ]


OPENHANDS = (
    "Let me look.\n<function=terminal>\n<parameter=command>\nls -la\n</parameter>\n"
    "<parameter=security_risk>LOW</parameter>\n</function>"
)
CLINE = (
    "<thinking>Fix it.</thinking>\n<replace_in_file>\n<path>pump.py</path>\n<diff>\n------- SEARCH\nold = 1\n=======\n"
    "new = 2\n+++++++ REPLACE\n</diff>\n</replace_in_file>"
)


FORMS: list[tuple[str, str, object, str, str]] = [
        (
            OPENHANDS, "EXECUTION RESULT of [terminal]:\npump.py",
            ("terminal", {"command": "ls -la", "security_risk": "LOW"}), "Let me look.", "pump.py",
        ),
        (
            "<function=terminal>\n<parameter=command>ls", "EXECUTION RESULT of [terminal]:\npump.py",
            ("terminal", {"command": "ls"}), "", "pump.py",
        ),
        (
            CLINE, "[replace_in_file for 'pump.py'] Result:\nsaved",
            ("replace_in_file", {"path": "pump.py", "edits": [{"old_string": "old = 1", "new_string": "new = 2"}]}),
            "<thinking>Fix it.</thinking>", "saved",
        ),
        (
            "<read_file><path>SEARCH.md</path></read_file>", "[read_file for 'SEARCH.md'] Result:\n# Notes",
            ("read_file", {"path": "SEARCH.md"}), "", "# Notes",
        ),
        (
            'I search.<tool_call>\n{"name": "grep", "arguments": {"pattern": "x"}}\n</tool_call>',
            "<tool_response>\na.py\n</tool_response>",
            ("grep", {"pattern": "x"}), "I search.", "<tool_response>\na.py\n</tool_response>",
        ),
        (
            '<invoke name="bash"><parameter name="command">ls</parameter></invoke>',
            "<function_results>a.py</function_results>",
            ("bash", {"command": "ls"}), "", "<function_results>a.py</function_results>",
        ),
        (
            'Thought: where?\nAction: find\nAction Input: {"path": "."}\n', "Observation:\na.py",
            ("find", {"path": "."}), "Thought: where?", "a.py",
        ),
        (
            "Thought: where?\nAction: find\nAction Input: the pump\nObservation: guessed", "Observation:\na.py",
            ("find", {"input": "the pump"}), "Thought: where?", "a.py",
        ),
        ("First a look.\n\n```bash\nls\n```", "<returncode>0</returncode>\n<output>\na</output>",
         ("bash", {"command": "ls"}), "First a look.", "<returncode>0</returncode>\n<output>\na</output>"),
        ("Compute.\n```py\n2 + 2\n```\n", "Execution logs:\n4", ("python", {"code": "2 + 2"}), "Compute.", "4"),
            ("Compute.\n```py\n2 + 2\n```<end_code>", "Observation:\nExecution logs:\n4", ("python", {"code": "2 + 2"}),
         "Compute.", "Execution logs:\n4"),
        ("Compute.\n<code>\n2 + 2\n</code>", "Observation:\nLast output from code snippet:\n4",
         ("python", {"code": "2 + 2"}), "Compute.", "Last output from code snippet:\n4"),
        ("```bash\nls\n```", "<exception>timed out</exception>\n<returncode>-1</returncode>", ("bash", {"command": "ls"}), "",
         "<exception>timed out</exception>\n<returncode>-1</returncode>"),
    ("See\n```json\n{}\n```\nthen\n```\nsubmit\n```", "OBSERVATION:\nok", ("submit", {}),
         "See\n```json\n{}\n```\nthen", "ok"),
    ]  # fmt: skip


@pytest.mark.parametrize(("written", "result", "expected", "words", "output"), FORMS)
def test_what_agents_write_is_a_call_with_its_result(
    written: str, result: str, expected: object, words: str, output: str
) -> None:
    log = said("Fix the pump.", written, result)
    assert [message.is_request for message in log[:2]] == [True, False]
    assert calls(log) == [expected]
    asked, calling, answering = with_calls(log)
    assert asked == log[0]
    assert calling.text == words
    assert answering.role == "tool"
    assert [(one.call_id, one.text) for one in answering.results] == [(calling.calls[0].id, output)]


@pytest.mark.parametrize(
    "heading", ["OBSERVATION:", "Observation:", "Execution logs:", "exitcode: 1 (execution failed)"]
)
def test_what_a_person_may_head_their_words_with_is_a_result_only_after_a_call(heading: str) -> None:
    observed = f"{heading}\nthe pump leaks"
    assert all(message.is_request for message in said(observed, "I see.", observed) if message.role == "user")
    log = said("Look.", "I look.\n```\nls\n```", observed)
    assert [one.text for message in with_calls(log) for one in message.results] == ["the pump leaks"]
    talk = said("Look.", "How are you?", observed)
    assert [*with_calls(talk)] == talk


@pytest.mark.parametrize("result", [form[1] for form in FORMS if form[1].startswith(("EXECUTION", "<", "["))])
def test_what_nobody_types_is_no_request(result: str) -> None:
    assert not text_message(1, "user", result).is_request


def test_the_editor_of_swe_agent_names_the_file_that_its_edits_leave_out() -> None:
    log = said(
        "Fix it.",
        "I make a script.\n```\ncreate run.py\n```",
        "[File: run.py (1 lines total)]\n1:" + STATUS.format("/repo/run.py"),
        "Now its text.\n```\nedit 1:1\nprint(1)\nend_of_edit\n```",
        "File updated." + STATUS.format("/repo/run.py"),
        "Once more.\n```\nedit 1:1\nprint(2)\n```",
        "no prompt this time",
        "Away with it.\n```\nrm run.py\n```",
        "" + STATUS.format("n/a"),
        "What now?\n```\nedit 1:1\nprint(3)\nend_of_edit\n```",
        "No file open." + STATUS.format("n/a"),
        program=True,
    )
    assert calls(log) == [
        ("create", {"path": "run.py"}),
        ("edit", {"path": "/repo/run.py", "lines": "1:1", "new_string": "print(1)"}),
        ("edit", {"path": "/repo/run.py", "lines": "1:1", "new_string": "print(2)"}),
        ("bash", {"command": "rm run.py"}),
        ("bash", {"command": "edit 1:1\nprint(3)\nend_of_edit"}),
    ]
    outputs = [one.text for message in with_calls(log) for one in message.results]
    assert outputs == [
        "[File: run.py (1 lines total)]\n1:",
        "File updated.",
        "no prompt this time",
        "",
        "No file open.",
    ]


def test_a_block_of_an_agent_that_calls_tools_by_its_api_is_for_a_person_to_read() -> None:
    """The notice behind it, "/exit" was typed, is not its result."""
    offered = [
        text_message(3, "assistant", "We could print:\n```\nFiles changed since the checkpoint\n```"),
        text_message(4, "user", "<command-name>/exit</command-name>", synthetic=True),
    ]
    assert calls([text_message(1, "user", "Fix it."), *offered]) == [
        ("bash", {"command": "Files changed since the checkpoint"})
    ]
    log = [
        text_message(1, "user", "Fix it."),
        Message(seq=2, role="assistant", parts=(ToolCall(id="1", name="Bash", arguments="{}"),)),
        *offered,
    ]
    assert [call.name for message in with_calls(log) for call in message.calls] == ["Bash"]


def test_edits_in_the_text_are_calls_where_aider_says_what_came_of_them() -> None:
    block = "<<<<<<< SEARCH\n{0} = 1\n=======\n{0} = 2\n>>>>>>> REPLACE"
    reply = f"So:\n\nsrc/pump.py\n```\n{block.format('seal')}\n{block.format('bolt')}\n```"
    edits = [
        ("edit", {"file_path": "src/pump.py", "old_string": f"{name} = 1", "new_string": f"{name} = 2"})
        for name in ("seal", "bolt")
    ]
    committed = "I committed the changes with git hash 5eb50b4 & commit msg: fix: the seal"
    failed = f"# 1 SEARCH/REPLACE block failed to match!\n\n## In src/pump.py\n{block.format(' bolt')}\n"
    for told, came in (
        (committed, [False, False]),
        ("I updated the files.", [False, False]),
        (failed, [False, True]),
    ):
        log = said("Mend it.", reply, told)
        assert calls(log) == edits
        _, calling, answering = with_calls(log)
        assert calling.text == "So:"
        assert [result.is_error for result in answering.results] == came
        assert answering.role == "tool"
        assert answering.results[0].text == told.partition("\n")[0]
    assert calls(said("Mend it.", reply, "Thanks.")) == calls(said("Mend it.", reply)) == []
    assert calls(said("Mend it.", "None.", committed)) == []
    assert calls(said("Mend it.", reply.replace("src/pump.py", "For the pump:"), committed)) == []


def test_what_aider_prints_of_its_tokens_is_no_result() -> None:
    """A command that a reply ends with was proposed; the note behind it says whether it ran."""
    printed = "Tokens: 4.6k sent, 941 received.\nmake\nRun shell command? (Y)es/(N)o [Yes]: n"
    assert calls(said("Build.", "Run:\n```bash\nmake\n```", printed, program=True)) == []
    assert calls(said("Build.", "Run:\n```bash\nmake\n```", printed[8:], program=True)) != []


def test_several_calls_of_one_message_are_several_and_the_result_answers_the_last() -> None:
    log = said("Look.", f"{OPENHANDS}\nand\n{OPENHANDS}", "EXECUTION RESULT of [terminal]:\na.py")
    assert len(calls(log)) == 2
    _, calling, answering = with_calls(log)
    assert calling.text == "Let me look.\n\nand\nLet me look."
    assert answering.results[0].call_id == calling.calls[1].id


@pytest.mark.parametrize(
    "written",
    [
        "Run this:\n```bash\nmake\n```",
        "<b_c>never closed",
        "<b_c><d>never closed</d>",
        "<tool_call>{not json}</tool_call>",
        '<tool_call>{"name": 1, "arguments": {}}</tool_call>',
        '<tool_call>{"name": "x", "arguments": "y"}</tool_call>',
        "no call at all</p>",
    ],
)
def test_what_a_person_should_read_is_no_call(written: str) -> None:
    log = said("How?", written, "Thanks, and what is next?")
    assert [*with_calls(log)] == log


@pytest.mark.parametrize(
    "written",
    ["words alone", "```bash\n\n```", "```json\n{}\n```", "```bash\nls", "```bash\nls\n```\nand more words"],
)
def test_a_result_without_a_call_before_it_stays(written: str) -> None:
    log = said("How?", written, "Observation:\nit rains")
    assert [*with_calls(log)] == log


def test_a_call_named_inside_of_another_one_is_none() -> None:
    written = "<function=write><parameter=text>Use <function=ls></parameter></function>"
    log = said("Note it.", written, "EXECUTION RESULT of [write]:\nok")
    assert calls(log) == [("write", {"text": "Use <function=ls>"})]


def test_a_call_that_nobody_answered_yet_is_one_where_its_form_is_plain() -> None:
    assert calls(said("Look.", OPENHANDS)) == [("terminal", {"command": "ls -la", "security_risk": "LOW"})]
    assert calls(said("Look.", "```bash\nls\n```")) == []


def test_calls_of_the_api_stay_and_words_beside_parts_do_too() -> None:
    native = Message(seq=2, role="assistant", parts=(Text(text=OPENHANDS), ToolCall(id="c", name="ls")))
    assert [*with_calls([native])] == [native]
    thinking = Message(seq=2, role="assistant", parts=(Text(text=OPENHANDS), Image(url="u")))
    (calling,) = with_calls([thinking])
    assert [type(part) for part in calling.parts] == [Image, Text, ToolCall]


def test_what_a_person_says_beside_a_result_is_their_words() -> None:
    answer = Message(
        seq=3, role="user",
        parts=(
            Text(text="[attempt_completion] Result:"),
            Text(text="<user_message>\nNow the valve, please.\n</user_message><user_message>unclosed"),
            Text(text="<environment_details>\n# Time\n</environment_details>"),
        ),
    )  # fmt: skip
    screenshot = Message(seq=5, role="user", parts=(Text(text="[browser_action] Result:"), Image(url="u")))
    assert answer.is_request
    assert not screenshot.is_request


def test_many_marks_that_nothing_ends_cost_no_more_than_their_length() -> None:
    diff = "\n".join(["------- SEARCH", "======="] * 20_000)
    written = f"<replace_in_file><diff>{diff}</diff></replace_in_file>"
    assert calls(said("Go.", written)) == [("replace_in_file", {"diff": diff})]
    assert not text_message(1, "user", "EXECUTION RESULT of [ls]:\n" + "<answer>" * 50_000).is_request
    log = said("Go.", "```bash\nls\n```", "\n" * 50_000 + "(Open file: x", program=True)
    assert calls(log) == [("bash", {"command": "ls"})]
