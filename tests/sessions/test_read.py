from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.errors import UnreadableSession
from autocompact.sessions import Format, claude_code, read_session
from tests.sessions.claude_lines import Claude, Line, call, jsonl, result, text

pytestmark = pytest.mark.requirement("E8")

TALK = '{"role": "user", "content": "Öffne das Ventil."}\n' * 300
STAMP = "2026-03-01T10:00:00Z"
MESSAGES: list[Line | bytes] = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}]
GEMINI = {"sessionId": "s", "messages": [{"type": "user", "content": "go"}]}
GEMINI_LINES = (
    b'{"sessionId":"s","projectHash":"9c56","startTime":"2026-11-24T20:18:54.202Z","kind":"main"}\n'
    b'{"id":"m1","type":"user","content":[{"text":"go"}]}\n'
)
SESSIONS: list[tuple[Format, bytes]] = [
    (
        "claude_code",
        jsonl(
            [
                {"type": "summary", "summary": "x", "leafUuid": "y"},
                {
                    "type": "user",
                    "uuid": "a",
                    "parentUuid": None,
                    "message": {"role": "user", "content": "go"},
                },
            ]
        ),
    ),
    (
        "codex",
        jsonl(
            [
                {"type": "session_meta", "timestamp": STAMP, "payload": {"id": "s"}},
                {
                    "type": "response_item",
                    "payload": {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "go"}],
                    },
                },
            ]
        ),
    ),
    (
        "copilot_cli",
        jsonl([{"type": "user.message", "data": {"content": "go"}, "id": "a", "timestamp": STAMP}]),
    ),
    (
        "pi",
        jsonl(
            [
                {"type": "session", "id": "s", "cwd": "/", "timestamp": STAMP},
                {"type": "message", "timestamp": STAMP, "message": {"role": "user", "content": "go"}},
            ]
        ),
    ),
    (
        "openhands",
        jsonl(
            [
                {
                    "kind": "MessageEvent",
                    "source": "user",
                    "timestamp": STAMP,
                    "llm_message": {"role": "user", "content": [{"type": "text", "text": "go"}]},
                }
            ]
        ),
    ),
    ("gemini_cli", json.dumps(GEMINI).encode()),
    ("gemini_cli", json.dumps(GEMINI, indent=2).encode()),
    ("gemini_cli", GEMINI_LINES),
    ("openai", json.dumps(MESSAGES).encode()),
    ("openai", b"\xef\xbb\xbf\n" + json.dumps(MESSAGES, indent=1).encode()),
    ("openai", json.dumps({"messages": MESSAGES}).encode()),
    ("openai", json.dumps({"messages": MESSAGES}, indent=2).encode().replace(b"go", b"g\xffo")),
    ("openai", jsonl(MESSAGES)),
    ("openai", b'{"half": \n' + jsonl(MESSAGES)),
    ("anthropic", json.dumps({"system": "rules", "messages": MESSAGES}).encode()),
]


@pytest.mark.parametrize(("format", "content"), SESSIONS)
def test_the_format_is_told_by_the_content(format: Format, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "session.of-no-known-name"
    path.write_bytes(content)
    session = read_session(path)
    assert session.format == format
    assert [message.seq for message in session.messages] == list(range(1, len(session.messages) + 1))
    assert len(session.lines) == len(session.messages)
    assert any(message.is_request for message in session.messages)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x89PNG\r\n\0\0\x1a", "is a binary file"),
        (b"Dear diary,\n", "is not JSON"),
        (b'{"a": 1}', "is JSON, but no session that is known"),
        (b'{"a": 1}\n{"b": 2}', "is JSON lines, but none of them belongs to a session"),
        (TALK.encode("utf-16"), "is text in UTF-16, not in UTF-8: save it as UTF-8"),
        (TALK.encode("utf-16-le"), "is text in UTF-16LE, not in UTF-8"),
        (TALK.encode("utf-16-be"), "is text in UTF-16BE, not in UTF-8"),
        (TALK.encode("utf-32"), "is text in UTF-32, not in UTF-8"),
        (b"\xff\xfe\x00\x00bin", "is a binary file"),
        (b"\xff\xfe" + b"\x00\xd8" * 3, "is a binary file"),
        (b'{"a":\n 1}', "is JSON, but no session"),
        (b"[1, 2]", "is JSON, but no session"),
        (b"[]", "is JSON, but no session"),
        (b"[[]]\n[]", "is JSON, but no session"),
        (b'{"sessionId": "s", "messages": [{"type": "info", "content": "x"}]}', "without a single message"),
        (b'{"sessionId": "s", "messages": [3]}', "message 0 has unexpected content"),
        (b'{"system": 3, "messages": [{"role": "user", "content": "go"}]}', "is JSON, but no session"),
        (b'{"sessionId": 3, "messages": [3]}', "is JSON, but no session"),
        (b'{"sessionId": 3,\n "messages": [3]}', "is JSON, but no session"),
        (b'{"type": "progress", "uuid": "a", "sessionId": "s"}', "without a single message"),
    ],
)
def test_what_is_no_session_is_one_clear_message(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    with pytest.raises(UnreadableSession) as caught:
        read_session(path)
    assert reason in str(caught.value)
    assert repr(str(path)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSession, match="there is no file"):
        read_session(tmp_path / "nowhere.jsonl")
    with pytest.raises(UnreadableSession, match="is a folder"):
        read_session(tmp_path)
    with pytest.raises(UnreadableSession, match="cannot be read"):
        read_session(tmp_path / ("x" * 300))


def conversation() -> list[bytes]:
    log = Claude()
    for turn in range(4):
        log.user(f"request {turn}")
        log.reply(text(f"reply {turn} → 🙂"), call(f"c{turn}"), id=f"m{turn}")
        log.user([result(f"c{turn}", f"output {turn}")])
    return [jsonl([line]) for line in log.lines]


LINES = conversation()


@given(
    damaged=st.dictionaries(
        st.integers(0, len(LINES) - 1),
        st.one_of(
            st.tuples(st.just("cut"), st.integers(0, 200)),
            st.tuples(st.just("flip"), st.integers(0, 200)),
            st.tuples(st.just("glue"), st.just(0)),
            st.tuples(st.just("junk"), st.integers(0, 255).filter(lambda byte: byte not in b",]}")),
        ),
        max_size=6,
    )
)
def test_damaged_lines_never_raise_and_never_cost_an_intact_one(damaged: dict[int, tuple[str, int]]) -> None:
    lines: list[bytes] = []
    for index, line in enumerate(LINES):
        kind, amount = damaged.get(index, ("", 0))
        if kind == "cut":
            line = line[: min(amount, len(line) - 2)]
        elif kind == "flip":
            at = amount % (len(line) - 1)
            line = line[:at] + bytes([line[at] ^ 0xA5]) + line[at + 1 :]
        elif kind == "glue":
            line = line[:-1]
        elif kind == "junk":
            line = bytes([amount]) * 9 + b"\n"
        lines.append(line)
    session = claude_code.read(b"".join(lines).splitlines(keepends=True))
    found = repr(session.messages) + repr(session.abandoned)
    for index in range(len(LINES)):
        if damaged.get(index, ("glue",))[0] == "glue":
            turn, step = divmod(index, 3)
            assert f"{('request', 'reply', 'output')[step]} {turn}" in found


@given(content=st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("any") / "session"
    path.write_bytes(content)
    with pytest.raises(UnreadableSession):
        read_session(path)


def test_messages_amid_the_lines_of_a_log_are_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(('INFO: "POST /v1" 200\n' * 5 + '{"role": "user", "content": "go", "cost": 1}\n') * 4)
    session = read_session(path)
    assert [message.text for message in session.messages] == ["go"] * 4
    assert len(session.skipped) == 20


def test_a_line_that_only_python_takes_for_json_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"type": "cost", "dollars": NaN}\n' + TALK)
    session = read_session(path)
    assert len(session.messages) == 300
    assert [each.line for each in session.skipped] == [1]
