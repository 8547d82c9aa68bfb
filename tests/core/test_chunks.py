import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.chunks import chunks, document
from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator

COUNTER = Estimator()


def shown(*messages: Message, output_tokens: int = 50) -> str:
    return "\n".join(document(messages, output_tokens=output_tokens, counter=COUNTER))


def test_a_paragraph_says_who_where_and_what():
    assert shown(text_message(3, "user", "Round the total.")) == "User [m3]: Round the total."
    assert shown(text_message(4, "assistant", "Done.")) == "Assistant [m4]: Done."


def test_words_of_the_program_are_not_shown_as_the_users():
    assert (
        shown(text_message(0, "user", "An earlier summary.", synthetic=True))
        == "Program: An earlier summary."
    )


def test_calls_results_and_their_failure_are_shown():
    call = Message(
        seq=1, role="assistant", parts=(ToolCall(id="a", name="Bash", arguments='{"command":"ls"}'),)
    )
    good = Message(seq=2, role="tool", parts=(ToolResult(call_id="a", text="a.py"),))
    bad = Message(seq=3, role="tool", parts=(ToolResult(call_id="b", text="no such file", is_error=True),))
    text = shown(call, good, bad)
    assert 'calls Bash {"command":"ls"}' in text
    assert "returned: a.py" in text
    assert "failed: no such file" in text


def test_media_and_unknown_parts_are_named():
    parts = (
        Reasoning(text="think"),
        Image(media_type="image/png"),
        Document(name="plan.pdf"),
        Document(media_type="text/plain", text="the plan"),
        Opaque(kind="web_search_call", raw=b"{}"),
        ToolResult(call_id="a", media=(Image(),)),
        Text(text=""),
    )
    text = shown(Message(seq=1, role="user", parts=parts))
    for expected in (
        "think",
        "[image image/png]",
        "[document plan.pdf]",
        "the plan",
        "[web_search_call]",
        "[image]",
    ):
        assert expected in text


@pytest.mark.requirement("A12")
def test_a_long_tool_output_is_cut_to_the_configured_length():
    output = "\n".join(f"line {number} of the build log" for number in range(2_000))
    text = shown(
        Message(seq=1, role="tool", parts=(ToolResult(call_id="a", text=output),)), output_tokens=100
    )
    assert COUNTER.count(text) < 160
    assert "line 0 " in text
    assert "line 1999" in text


def test_secrets_do_not_go_to_the_summariser():
    key = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2n" * 5
    assert key not in shown(text_message(1, "user", f"use {key} for it"))


def test_a_chunk_needs_room():
    with pytest.raises(ValueError, match="room"):
        chunks([redact("text")], room=0, counter=COUNTER)


@given(st.lists(st.text(alphabet="ab \n", max_size=300), max_size=12), st.integers(5, 60))
def test_chunks_hold_everything_in_order_and_fit(paragraphs: list[str], room: int):
    texts = chunks([redact(each) for each in paragraphs], room=room, counter=COUNTER)
    assert "".join("".join(texts).split()) == "".join("".join(paragraphs).split())
    assert all(COUNTER.count(text) <= room + 2 for text in texts)


@pytest.mark.parametrize("unit", ["word and word\n", "word ", "x1y2"])
def test_a_message_larger_than_a_chunk_is_split_at_lines_or_blanks_where_there_are_some(unit: str):
    text = unit * 200
    texts = chunks([redact(text)], room=40, counter=COUNTER)
    assert len(texts) > 1
    assert "".join("".join(texts).split()) == "".join(text.split())
    assert all(COUNTER.count(piece) <= 42 for piece in texts)
