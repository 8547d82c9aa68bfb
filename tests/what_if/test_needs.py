"""What counts as an identifier that a call uses."""

from __future__ import annotations

import pytest

from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult
from autocompact.what_if.needs import argument_text, content, mixed, names, vocabulary


def called(arguments: str, *, name: str = "Read") -> ToolCall:
    return ToolCall(id="1", name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at src/pump/valve.py now", {"valve.py"}),
        ("the commit 9fceb02 and v1.2.3", {"9fceb02", "v1.2.3"}),
        ("set_pressure, openValve and HTTPServer", {"set_pressure", "openValve", "HTTPServer"}),
        ("plain words, and a-hyphen", set[str]()),
        ("port 8443 of web-01", {"8443", "web-01"}),
    ],
)
def test_names_are_what_a_model_cannot_guess(text: str, found: set[str]) -> None:
    assert names(text) == found


def test_of_a_path_only_the_last_part_is_its_name() -> None:
    assert mixed("src/pump/valve.py") == {"src/pump/valve.py"}
    assert names("src/pump/valve.py ./valve.py") == {"valve.py"}


def test_arguments_are_read_as_json_or_as_they_stand() -> None:
    assert (
        argument_text(called('{"path": "a.py", "lines": [1, 2], "deep": {"x": true, "y": "b"}}'))
        == "a.py\n1\n2\nb"
    )
    assert argument_text(called("*** Update File: a.py")) == "*** Update File: a.py"


def test_the_words_of_the_tools_are_no_names() -> None:
    calls = [
        called('{"todos": [{"status": "in_progress", "content": "x_y"}]}', name="TodoWrite"),
        called("no json"),
    ]
    assert vocabulary(calls) == {"TodoWrite", "todos", "status", "content", "in_progress", "Read"}


def test_all_that_a_message_says_counts() -> None:
    parts = (
        Text(text="one"),
        Reasoning(text="two"),
        called('{"path": "three"}'),
        ToolResult(call_id="1", text="four"),
    )
    assert content(Message(seq=1, role="assistant", parts=parts)) == "one\ntwo\nthree\nfour"
