"""What derived texts may know of a message: nothing that the redactor takes for a secret."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import autocompact
from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    decoded,
)
from autocompact.core.redacted import (
    RedactedCall,
    RedactedMedia,
    RedactedResult,
    Redactor,
    cut,
    edited,
    filled,
    joined,
    one_line,
    own,
    pieces,
    redacted,
    redacted_call,
    without_secrets,
)
from autocompact.core.redaction import redact
from tests.core import strategies

TOKEN = "ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A"
LINES = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" + "abcdEFGH0123" + str(row) for row in range(12)
]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "-----END PRIVATE KEY-----"])


def message(*parts: Part) -> Message:
    return Message(seq=3, role="user", parts=parts)


def test_every_part_is_redacted_at_its_place():
    raw = message(
        Text(text=f"use {TOKEN}"),
        Reasoning(text=f"I use {TOKEN}"),
        ToolCall(id="a", name="bash", arguments=json.dumps({"command": f"login {TOKEN}"})),
        ToolResult(call_id="a", text=KEY, is_error=True, media=(Document(name=f"{TOKEN}.pdf"),)),
        Document(name=f"{TOKEN}.txt", text=f"it is {TOKEN}"),
        Image(media_type="image/png"),
        Opaque(kind="audio", raw=b"{}"),
    )

    clean = redacted(raw)

    assert [type(part).__name__ for part in clean.parts] == [
        "RedactedText",
        "RedactedReasoning",
        "RedactedCall",
        "RedactedResult",
        "RedactedMedia",
        "RedactedMedia",
        "RedactedMedia",
    ]
    assert TOKEN not in repr(clean)
    assert not any(line in repr(clean) for line in LINES)
    assert (clean.seq, clean.role, clean.is_request, clean.synthetic) == (3, "user", True, False)
    assert clean.text == "use [secret: GitHub token]"
    result, image = clean.parts[3], clean.parts[5]
    assert isinstance(result, RedactedResult)
    assert result.is_error
    assert isinstance(image, RedactedMedia)
    assert image.label == "image image/png"


@pytest.mark.parametrize("at", [40, 200, 400])
def test_a_key_that_goes_over_two_parts_is_in_neither(at: int):
    clean = redacted(message(Text(text=f"here:\n{KEY[:at]}"), Text(text=KEY[at:])))

    assert not any(line in clean.text for line in LINES)


def test_an_argument_is_redacted_for_its_name_and_for_what_it_is():
    call = redacted_call(
        ToolCall(
            id="a",
            name="bash",
            arguments=json.dumps(
                {
                    "password": "hunter2horse9",
                    "env": [{"line": f"a=1\n{TOKEN}"}],
                    "count": 3,
                    "deep": {"none": None},
                }
            ),
        )
    )

    assert call.values == {
        "password": "[secret: password]",
        "env": [{"line": "a=1\n[secret: GitHub token]"}],
        "count": 3,
        "deep": {"none": None},
    }
    assert TOKEN not in call.arguments
    assert decoded(call.arguments) == call.values


def test_arguments_that_are_no_json_any_more_are_redacted_one_by_one():
    arguments = r'{"a": "export DB_PASSWORD=hunter2horse9\\", "b": "x"}'
    call = redacted_call(ToolCall(id="a", name="bash", arguments=arguments))

    assert isinstance(call, RedactedCall)
    assert set(call.values) == {"a", "b"}
    assert "hunter2horse9" not in repr(call)


def test_what_only_shows_in_the_value_itself_is_gone_from_the_arguments_too():
    arguments = json.dumps({"note": "password:\n  hunter2horse9x"})  # the line break is escaped there
    call = redacted_call(ToolCall(id="a", name="write", arguments=arguments))
    assert call.values == {"note": "password:\n  [secret: password]"}
    assert decoded(call.arguments) == call.values


def test_arguments_that_are_no_object_have_no_values():
    call = redacted_call(ToolCall(id="a", name="bash", arguments=f"curl -H {TOKEN}"))

    assert (dict(call.values), call.arguments) == ({}, "curl -H [secret: GitHub token]")
    assert decoded("{" * 100_000) == {}


def test_a_message_is_redacted_once():
    redactor, one = Redactor(), message(Text(text="a"))

    assert redactor(one) is redactor(one)
    assert redactor(message(Text(text="b"))).text == "b"


def test_what_is_made_of_redacted_texts_is_what_the_same_would_make_of_any():
    text = redact("  one\n two {} ")

    assert cut(text, 2, end=5) == "one"
    assert one_line(text) == "one two {}"
    assert edited(text, str.strip) == "one\n two {}"
    assert list(pieces(text, str.split)) == ["one", "two", "{}"]
    assert joined(", ", (own("a"), text)) == "a,   one\n two {} "
    assert filled("{:02}: {}", 7, text) == "07:   one\n two {} "


def test_a_message_is_shown_without_secrets_and_else_as_it_is():
    raw = message(
        Text(text=f"use {TOKEN}", raw=b"{}"),
        Reasoning(text="I think"),
        ToolCall(id="a", name="bash", arguments=json.dumps({"command": f"login {TOKEN}"})),
        ToolResult(
            call_id="a", text=KEY, media=(Document(name=f"{TOKEN}.pdf"), Image(media_type="image/png"))
        ),
        Document(name="a.txt", text=f"it is {TOKEN}"),
        Image(url=f"https://example.com/?t={TOKEN}"),
        Opaque(kind="audio", raw=b"{}"),
    )

    shown = without_secrets(raw)

    assert TOKEN not in repr(shown)
    assert not any(line in repr(shown) for line in LINES)
    assert [type(part) for part in shown.parts] == [type(part) for part in raw.parts]
    assert shown.parts[1] == raw.parts[1]
    assert shown.parts[6] == raw.parts[6]
    assert shown.raw is None


def test_a_message_without_secrets_is_shown_as_it_is():
    plain = Message(
        seq=1,
        role="user",
        parts=(Text(text="a", raw=b"{}"), ToolResult(call_id="a", text="b", media=(Image(raw=b"{}"),))),
        raw=b'{"role": "user"}',
    )

    assert without_secrets(plain) is plain
    assert without_secrets(replace(plain, raw=f'{{"x": "{TOKEN}"}}'.encode())).raw is None
    opaque = without_secrets(message(Opaque(kind="note", raw=TOKEN.encode()))).parts[0]
    assert opaque == Opaque(kind="note", raw=b"[secret: GitHub token]")


@given(strategies.histories())
def test_any_message_has_a_redacted_part_for_each_of_its_parts(history: list[Message]):
    assert all(len(redacted(raw).parts) == len(raw.parts) for raw in history)


@given(st.text(), st.text())
def test_a_secret_anywhere_in_a_text_is_gone(before: str, after: str):
    clean = redacted(message(Text(text=f"{before} {TOKEN} {after}")))

    assert TOKEN not in clean.text


MADE = {
    "ledger/account.py": 1,
    "core/actions.py": 2,
    "ledger/changes.py": 3,
    "ledger/checkout.py": 1,
    "ledger/condensing.py": 1,
    "ledger/deeds.py": 1,
    "ledger/facts.py": 2,
    "ledger/findings.py": 3,
    "ledger/rendering.py": 2,
    "ledger/rules.py": 3,
    "ledger/sightings.py": 1,
    "ledger/habits.py": 1,
    "ledger/step.py": 2,
    "core/redacted.py": 8,
    "ledger/shortening.py": 1,
}
"""How often each module says that a text is redacted. Anywhere else a text is redacted, not declared to be."""


def test_few_places_say_that_a_text_is_redacted():
    source = Path(autocompact.__file__).parent
    found = {
        path.relative_to(source).as_posix(): len(
            re.findall(r"\bRedacted\(|\bmap\(Redacted\b", path.read_text("utf-8"))
        )
        for path in source.rglob("*.py")
        if "redaction" not in path.relative_to(source).as_posix()
    }

    assert {path: count for path, count in found.items() if count} == MADE


def test_a_text_that_was_not_redacted_does_not_type_check_where_one_is_expected(tmp_path: Path):
    """The types are what keeps secrets out of ledgers and summaries: a `str` must not pass for `Redacted`."""
    forgets = tmp_path / "forgets.py"
    lines = [
        "from autocompact.compaction.record import Mask",
        "from autocompact.core.messages import text_message",
        "from autocompact.core.redacted import RedactedText, filled, joined, own, redacted",
        "from autocompact.core.redaction import redact",
        "from autocompact.ledger.entries import Entry",
        'message = text_message(1, "user", "Hello")',
        "RedactedText(text=redact(message.text))",
        'Entry(kind="request", text=redacted(message).text, seq=1, key=own("a"))',
        "Mask(seq=1, part=0, stub=redact(message.text))",
        "RedactedText(text=message.text)",
        'Entry(kind="request", text=message.text, seq=1, key=own("a"))',
        "Mask(seq=1, part=0, stub=message.text)",
        'joined(" ", [message.text])',
        'filled("said: {}", message.text)',
    ]
    forgets.write_text("\n".join(lines))
    root = Path(autocompact.__file__).parents[2]
    checker = (sys.executable, "-m", "basedpyright", "--outputjson", str(forgets))

    told = subprocess.run(checker, cwd=root, capture_output=True, text=True, check=False)

    errors = [each for each in json.loads(told.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    assert {each["range"]["start"]["line"] for each in errors} == {9, 10, 11, 12, 13}, told.stdout
    assert all("Redacted" in each["message"] for each in errors), told.stdout


def test_a_secret_that_json_escapes_hide_in_an_argument_is_found_in_its_value() -> None:
    call = redacted_call(
        ToolCall(id="c", name="run", arguments='{"command": "use \\u0041KIAQ7RTL2XNVP4KWZ3M"}')
    )
    assert call.values == {"command": "use [secret: AWS key id]"}
    assert call.arguments == '{"command": "use [secret: AWS key id]"}'
