from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from autocompact.core.messages import text_message
from autocompact.sessions import read_session
from tests.sessions.claude_lines import LAST, Claude
from tests.sessions.forms import FORMS, HEAD, Form

DOCUMENT = Path(__file__).parents[2] / "docs/reference/session-formats.md"
STAMP = "2026-03-01T10:00:00.000Z"


def _claude(form: Form) -> list[object]:
    log = Claude()
    log.user("what came before")
    log.reply({"type": "text", "text": "it is done"}, id="msg-1")
    origin = re.search(r"`origin.kind` (\S+)", form.place)
    more: dict[str, object] = {"isMeta": "isMeta" in form.place}
    if origin:
        more["origin"] = {"kind": origin[1]}
    if "queue-operation" in form.place:
        log.queue("enqueue", content=form.text)
        log.queue("remove")
    elif "attachment" in form.place:
        mode = re.search(r"`commandMode` (\S+)", form.place)
        attachment = {
            "type": "queued_command",
            "prompt": form.text,
            "commandMode": mode[1] if mode else "prompt",
        }
        log.add("attachment", attachment=attachment | more)
    else:
        message = {"role": "user", "content": form.text}
        log.add("user", parent=LAST, uuid="", message=message, **more)
    return list(log.lines)


def _codex(form: Form) -> list[object]:
    def said(role: str, text: str) -> object:
        kind = "output_text" if role == "assistant" else "input_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": STAMP, "type": "response_item", "payload": payload}

    role = form.place.split()[0]
    return [said("user", "what came before"), said("assistant", "it is done"), said(role, form.text)]


def _copilot(form: Form) -> list[object]:
    def event(type: str, **data: object) -> object:
        return {"type": type, "data": data, "id": type, "timestamp": STAMP}

    kind, source = form.place.split("`")[1], re.search(r"`source` (\S+)", form.place)
    more = {"source": source[1]} if source else {}
    before = [
        event("user.message", content="what came before"),
        event("assistant.message", content="it is done"),
    ]
    return [event("session.start"), *before, event(kind, content=form.text, **more)]


def _gemini(form: Form) -> list[object]:
    said = [("user", "what came before"), ("gemini", "it is done"), ("user", form.text)]
    messages = [{"id": str(n), "type": kind, "content": text} for n, (kind, text) in enumerate(said)]
    return [{"sessionId": "s-1", "messages": messages}]


def _pi(form: Form) -> list[object]:
    def entry(type: str, **fields: object) -> object:
        return {"type": type, "timestamp": STAMP, **fields}

    def said(role: str, text: str) -> object:
        return entry("message", message={"role": role, "content": text})

    before = [entry("session", cwd="/srv"), said("user", "what came before"), said("assistant", "it is done")]
    if "custom_message" in form.place:
        return [*before, entry("custom_message", content=form.text)]
    role = form.place.split()[-1]
    field = {"bashExecution": "command", "user": "content", "custom": "content"}.get(role, "summary")
    return [*before, entry("message", message={"role": role, field: form.text})]


def _chat(form: Form) -> list[object]:
    before = [{"role": "user", "content": "what came before"}, {"role": "assistant", "content": "it is done"}]
    return [*before, {"role": "user", "content": form.text}]


_WRITERS = {
    "Claude Code": _claude,
    "Codex": _codex,
    "Copilot CLI": _copilot,
    "Gemini CLI": _gemini,
    "pi": _pi,
    "any, calls as text": _chat,
}


def _name(form: Form) -> str:
    return f"{form.agent} {form.place} {form.text[:30]}"


@pytest.mark.parametrize("form", FORMS, ids=_name)
def test_only_what_a_person_typed_is_a_request(form: Form, tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    session.write_text("\n".join(json.dumps(line) for line in _WRITERS[form.agent](form)), "utf-8")
    read = read_session(session)
    last = read.messages[-1]
    assert form.text in last.text
    assert last.is_request is (form.speaker == "person")
    requests = [message.text for message in read.messages if message.is_request]
    assert requests == ["what came before", *([form.text] if form.speaker == "person" else [])]


def test_the_reference_lists_exactly_the_forms_that_are_tested() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert [line for line in text.splitlines() if line.startswith("| ") and "| `" in line] == [
        form.row for form in FORMS
    ]
    assert all(line in text for line in HEAD)


def test_words_queued_with_a_picture_are_not_lost(tmp_path: Path) -> None:
    log = Claude()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    log.queue("enqueue", content=[{"type": "text", "text": "like this"}, picture])
    log.queue("remove")
    assert [message.text for message in log.read().messages if message.is_request] == ["like this"]


TOLD_BY_TEXT = (
    "user line",
    "user message",
    "`user.message`",
    "chat message, role user",
    "`message`, role user",
)
"""Places of which no field tells who wrote what stands there."""


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.place in TOLD_BY_TEXT], ids=lambda form: form.text
)
def test_a_client_that_sends_it_says_it_no_more_than_one_that_records_it(form: Form) -> None:
    assert text_message(1, "user", form.text).is_request == (form.speaker != "program")
