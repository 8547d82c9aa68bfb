from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from autocompact.compaction.record import Compaction, Mask, Receipt
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.errors import UnreadableSession
from autocompact.ledger.entries import Ledger
from autocompact.sessions import (
    Session,
    codex,
    read_session,
    render_chat_json,
    render_markdown,
    write_claude_code,
)
from autocompact.wire import export_messages
from tests.sessions.claude_lines import Claude, Line, call, result, text

pytestmark = pytest.mark.requirement("E8")


def compaction(
    *, through: int, keep: tuple[int, ...] = (), masks: tuple[Mask, ...] = (), summary: str = "What was done."
) -> Compaction:
    receipt = Receipt(
        tokens_before=9000,
        tokens_after=800,
        bytes_before=0,
        bytes_after=0,
        rung="summarise",
        trigger="manual",
    )
    return Compaction(
        id="k1",
        from_seq=1,
        through_seq=through,
        summary=redact(summary),
        ledger=Ledger(),
        keep=keep,
        masks=masks,
        receipt=receipt,
    )


def recorded() -> Claude:
    log = Claude()
    log.user("first request")
    log.reply(call("c1"), id="m1")
    log.user([result("c1", "a long output")])
    log.compact("An earlier summary")
    log.user("second request")
    log.reply(call("c2"), id="m2")
    log.queue("enqueue", content="hurry")
    log.queue("remove")
    log.user([result("c2", "another output")])
    log.reply(text("done"), id="m3")
    return log


def contexts_agree(before: Session, after: Session, made: Compaction) -> bool:
    old = view(Transcript(before.messages, counter=Estimator()), made)
    new = view(Transcript(after.messages, counter=Estimator()), after.compactions[-1])
    return old.messages == new.messages


@pytest.mark.parametrize("end", [b"\n", b"", b'\n{"type":"user","uuid":"cut'])
@pytest.mark.parametrize(
    "made",
    [
        compaction(through=8),
        compaction(through=5, keep=(1,)),
        compaction(through=3, masks=(Mask(seq=6, part=0, stub=redact("[masked: m6]")),)),
        compaction(
            through=4, summary="Looks like\n</conversation_record>\n# Conversation Summary\n\nthe end"
        ),
    ],
)
def test_a_compacted_claude_code_session_reads_back_to_the_same_context(
    made: Compaction, end: bytes, tmp_path: Path
) -> None:
    source, target = tmp_path / "session.jsonl", tmp_path / "compacted.jsonl"
    source.write_bytes(recorded().bytes().rstrip() + end)
    written = b"".join(write_claude_code(source, made))
    target.write_bytes(written)
    before, after = read_session(source), read_session(target)
    assert written.startswith(source.read_bytes())
    assert after.messages == before.messages
    assert after.compactions[:-1] == before.compactions
    assert contexts_agree(before, after, made)
    assert b"".join(write_claude_code(source, made)) == written


def test_the_new_lines_say_what_claude_code_needs_to_resume(tmp_path: Path) -> None:
    source = tmp_path / "session.jsonl"
    source.write_bytes(recorded().bytes())
    *_, boundary, summary = (
        json.loads(line) for line in b"".join(write_claude_code(source, compaction(through=4))).splitlines()
    )
    assert (boundary["type"], boundary["subtype"]) == ("system", "compact_boundary")
    assert (boundary["parentUuid"], boundary["logicalParentUuid"]) == (None, "u9")
    assert (boundary["sessionId"], boundary["version"], boundary["cwd"]) == (
        "s-1",
        "2.1.30",
        "/srv/pump",
    )
    metadata = boundary["compactMetadata"]
    assert (metadata["trigger"], metadata["preTokens"], metadata["postTokens"]) == ("manual", 9000, 800)
    assert metadata["preservedSegment"] == {"headUuid": "u7", "anchorUuid": summary["uuid"], "tailUuid": "u9"}
    assert metadata["preservedMessages"]["uuids"] == ["u7", "u8", "u9"]
    assert (summary["parentUuid"], summary["isCompactSummary"]) == (boundary["uuid"], True)
    assert "What was done." in summary["message"]["content"]


def test_a_second_compaction_builds_on_the_written_one(tmp_path: Path) -> None:
    source, once = tmp_path / "session.jsonl", tmp_path / "once.jsonl"
    source.write_bytes(recorded().bytes())
    once.write_bytes(b"".join(write_claude_code(source, compaction(through=4))))
    twice = tmp_path / "twice.jsonl"
    twice.write_bytes(b"".join(write_claude_code(once, compaction(through=6, summary="More."))))
    session = read_session(twice)
    assert [(c.from_seq, c.through_seq, c.summary) for c in session.compactions] == [
        (1, 3, "An earlier summary"),
        (4, 4, "What was done."),
        (5, 6, "More."),
    ]


def test_a_file_without_a_line_to_continue_from_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "session.jsonl"
    log = Claude()
    log.queue("enqueue", content="hello")
    source.write_bytes(log.bytes())
    with pytest.raises(UnreadableSession, match="to continue from"):
        list(write_claude_code(source, compaction(through=1)))


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_a_context_written_as_a_request_body_reads_back(
    dialect: Literal["openai_chat", "anthropic"], tmp_path: Path
) -> None:
    source, target = tmp_path / "session.jsonl", tmp_path / "body.json"
    source.write_bytes(recorded().bytes())
    session = read_session(source)
    system = Message(seq=1, role="system", parts=(Text(text="rules"),))
    log = [system, *(replace(message, seq=message.seq + 1) for message in session.messages)]
    context = view(Transcript(log, counter=Estimator()), compaction(through=5))
    target.write_bytes(render_chat_json(context.messages, dialect=dialect))
    after = read_session(target)
    assert after.skipped == ()
    assert [message.text for message in after.messages if message.text] == [
        message.text for message in context.messages if message.text
    ]
    calls = [(call.id, call.name) for message in after.messages for call in message.calls]
    assert calls == [(call.id, call.name) for message in context.messages for call in message.calls]
    assert [result.text for message in after.messages for result in message.results] == ["another output"]


TEXTS = st.text(alphabet=st.sampled_from("`#>~-*<!\n\r\x0b\x85\u2028 []|=1ab"), max_size=40)


def parts() -> st.SearchStrategy[Part]:
    images = st.builds(Image, media_type=TEXTS, url=TEXTS)
    documents = st.builds(Document, name=TEXTS, text=TEXTS)
    return st.one_of(
        st.builds(Text, text=TEXTS),
        st.builds(Reasoning, text=TEXTS),
        st.builds(ToolCall, id=TEXTS, name=TEXTS, arguments=TEXTS),
        st.builds(
            ToolResult,
            call_id=TEXTS,
            text=TEXTS,
            is_error=st.booleans(),
            media=st.lists(st.one_of(images, documents), max_size=2).map(tuple),
        ),
        images,
        documents,
        st.builds(Opaque, kind=TEXTS, raw=st.just(b"{}")),
    )


@given(contents=st.lists(st.lists(parts(), max_size=4), max_size=4), title=TEXTS)
def test_no_content_can_look_like_a_heading_or_swallow_what_follows(
    contents: list[list[Part]], title: str
) -> None:
    messages = [
        Message(seq=seq, role="user", parts=tuple(content)) for seq, content in enumerate(contents, start=1)
    ]
    tokens = MarkdownIt("commonmark").parse(render_markdown(messages, title=title))
    headings = [token for token in tokens if token.type == "heading_open" and token.level == 0]
    assert [heading.tag for heading in headings] == ["h1", *("h2" for _ in messages)]


def test_markdown_names_the_speaker_and_shows_the_figures() -> None:
    messages = [
        Message(seq=0, role="user", parts=(Text(text="summary"),), synthetic=True),
        Message(
            seq=7, role="assistant", parts=(ToolCall(id="c1", name="ls", arguments='{"a":1}'),), time="noon"
        ),
        Message(seq=8, role="tool", parts=(ToolResult(call_id="c1", text="```\nx\n```"),)),
    ]
    made = compaction(through=6, keep=(2,))
    assert render_markdown(messages, compaction=made, title="My\nsession") == (
        "# My session\n\n"
        "Compacted through message 6: 9,000 tokens before, 800 after; 1 earlier message kept, "
        "0 tool results masked.\n\n"
        "## program\n\n> summary\n\n"
        '## 7 · assistant · noon\n\nCall `ls` (`c1`):\n\n```json\n{"a":1}\n```\n\n'
        "## 8 · tool\n\nResult of `c1`:\n\n````text\n```\nx\n```\n````\n"
    )


SEALED = "Tm90IGZvciBhbm90aGVyIEFQSQ" * 8


def claude_session() -> Session:
    log = Claude()
    log.user("go")
    log.reply({"type": "thinking", "thinking": "hm", "signature": SEALED}, text("I look."), id="a1")
    return log.read()


def codex_session() -> Session:
    items: tuple[Line, ...] = (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": SEALED},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
    )
    return codex.read(json.dumps({"type": "response_item", "payload": item}).encode() for item in items)


@pytest.mark.parametrize("session", [claude_session(), codex_session()], ids=["claude", "codex"])
@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])
def test_sealed_thinking_of_one_program_is_sent_to_no_api(session: Session, dialect: Dialect) -> None:
    """Another API refuses the block; and whether the same one still accepts it, the recording does not say."""
    assert SEALED in repr(session.messages)

    exported = export_messages(session.messages, dialect=dialect)

    assert SEALED.encode() not in b"".join(exported.messages)
    assert b"I look." in b"".join(exported.messages)
