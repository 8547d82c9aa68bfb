"""Secrets that were given away once are known wherever they stand."""

from __future__ import annotations

import pytest

from autocompact.core.actions import interpret
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.redacted import RedactedCall, Redactor, all_without_secrets
from autocompact.core.redaction import KnownSecrets, find_secrets, hide, redact
from autocompact.core.redaction.known import MOST_VALUES, is_unique
from autocompact.core.redaction.spans import Span

VALUE = "kX9vTq2LmZ8wR4pB"


def known(*texts: str) -> KnownSecrets:
    secrets = KnownSecrets()
    for text in texts:
        secrets.learn(text, find_secrets(text))
    return secrets


@pytest.mark.parametrize(
    "value", [VALUE, "Sommer2024!x", "harbor.Lantern4", "tr0ub4dor&3", "3f2b8c1e9d4a4f6b8a7c", "Qw3rTyUi9p"]
)
def test_what_looks_made_up_is_known_again(value: str) -> None:
    assert is_unique(value)


@pytest.mark.parametrize(
    "value",
    [
        *("moonlight", "hunter2", "correct-horse-battery", "moon light 9 pq", "12345678901", "postgres"),
        *("${DB_PASSWORD1}", "/srv/app/key1.pem", "x" * 9 + "1" * 600),
    ],
)
def test_words_numbers_paths_and_what_is_too_short_or_long_are_not(value: str) -> None:
    assert not is_unique(value)


def test_a_value_is_found_alone_and_not_within_a_longer_one() -> None:
    secrets = known(f"PUMP_API_KEY={VALUE}")
    assert hide(redact(f'used {VALUE}, "{VALUE}" and x{VALUE}y'), secrets) == (
        f'used [secret: API key], "[secret: API key]" and x{VALUE}y'
    )
    assert [(span.start, span.kind) for span in find_secrets(f"with {VALUE}", secrets)] == [(5, "API key")]
    assert find_secrets("nothing here", secrets) == ()


def test_nothing_is_known_of_a_text_without_secrets() -> None:
    secrets = known("all is well", "password = moonlight\n")
    assert not secrets
    assert secrets.find(VALUE) == ()


@pytest.mark.uncovered
def test_the_last_values_are_kept_where_there_are_many() -> None:
    values = [f"kX9vTq2LmZ8wR{number:03}pB" for number in range(MOST_VALUES + 10)]
    secrets = known(*(f"API_KEY={value}" for value in values))
    assert len(secrets) == MOST_VALUES
    assert not secrets.find(values[0])
    assert secrets.find(values[-1])


def _message(seq: int, *parts: Text | ToolCall | ToolResult) -> Message:
    role = "tool" if isinstance(parts[0], ToolResult) else "assistant"
    return Message(seq=seq, role=role, parts=parts)


def test_what_a_later_message_gives_away_is_hidden_in_an_earlier_one() -> None:
    asked = ToolCall(
        id="c",
        name="bash",
        arguments=f'{{"command": "pumpctl {VALUE}", "tries": [2, {{"with": "{VALUE}"}}]}}',
    )
    messages = [
        _message(1, Text(text=f"I try {VALUE}."), asked, ToolCall(id="d", name="ls", arguments="{}")),
        _message(2, ToolResult(call_id="c", text=f"PUMP_API_KEY={VALUE}")),
        _message(3, Text(text="It works.")),
    ]
    redactor = Redactor()
    redactor.learn(messages)
    first = redactor(messages[0])
    assert first.text == "I try [secret: API key]."
    call, other = first.parts[1:]
    assert isinstance(call, RedactedCall)
    assert isinstance(other, RedactedCall)
    assert VALUE not in repr(call)
    assert dict(call.values) == {
        "command": "pumpctl [secret: API key]",
        "tries": [2, {"with": "[secret: API key]"}],
    }
    assert dict(other.values) == {}
    assert redactor(messages[0]) is first
    shown = all_without_secrets(messages)
    assert VALUE not in repr(shown)
    assert shown[2] is messages[2]


_ESCAPED = f"\\x{ord(VALUE[0]):02x}{VALUE[1:]}"
_IN_PIECES = f'{VALUE[:8]}"+"{VALUE[8:]}'


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("exec", f'const r = await tools.exec_command({{cmd:"pumpctl {_ESCAPED} on"}}); text(r.output)'),
        ("exec", f'tools.exec_command({{cmd:"pumpctl {_IN_PIECES} on"}})'),
        ("exec", f'tools.exec_command({{cmd:"pumpctl \\n{VALUE} on"}})'),
        ("exec", f'const v = `{VALUE}`; tools.exec_command({{cmd:"pumpctl " + v + " on"}})'),
        ("bash", f'{{"command": "pumpctl \\u{ord(VALUE[0]):04x}{VALUE[1:]} on"}}'),
        ("bash", f'{{"command": "pumpctl\\n{VALUE} on"}}'),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_known_value_is_hidden_however_a_call_spells_it(name: str, arguments: str, first: bool) -> None:
    said = _message(1, Text(text=f"export PUMP_API_KEY={VALUE}"))
    called = _message(2, ToolCall(id="c", name=name, arguments=arguments))
    redactor = Redactor()
    redactor.learn([said, called] if first else [called, said])
    call = redactor(called).parts[0]
    assert isinstance(call, RedactedCall)
    action = interpret(call)
    assert " ".join(action.command.split()) == "pumpctl [secret: API key] on"
    for part in (VALUE, _ESCAPED, _IN_PIECES):
        assert part not in repr((call.arguments, action))
    assert redactor(called) is redactor(called)
    assert VALUE not in repr(all_without_secrets([said, called])[1].parts[0])


def test_a_patch_of_a_script_hides_a_known_value_in_pieces() -> None:
    script = f"tools.apply_patch('*** Begin Patch\\n*** Add File: a.py\\n+{VALUE[:8]}' + '{VALUE[8:]}\\n*** End Patch')"
    redactor = Redactor(known(f"PUMP_API_KEY={VALUE}"))
    call = redactor(_message(1, ToolCall(id="c", name="exec", arguments=script))).parts[0]
    assert isinstance(call, RedactedCall)
    assert call.arguments == (
        'tools.apply_patch("*** Begin Patch\\n*** Add File: a.py\\n+[secret: API key]\\n*** End Patch")'
    )
    assert interpret(call).files == (("a.py", "created"),)


def test_what_a_script_gives_away_in_pieces_is_known_from_then_on() -> None:
    script = f'tools.exec_command({{cmd:"export PUMP_API_KEY={_IN_PIECES}"}})'
    messages = [_message(1, ToolCall(id="c", name="exec", arguments=script)), _message(2, Text(text=VALUE))]
    redactor = Redactor()
    redactor.learn(messages)
    call = redactor(messages[0]).parts[0]
    assert isinstance(call, RedactedCall)
    assert interpret(call).command == "export PUMP_API_KEY=[secret: API key]"
    assert VALUE[8:] not in call.arguments
    assert redactor(messages[1]).text == "[secret: API key]"


def test_a_value_that_only_its_constant_names_is_hidden_in_the_call() -> None:
    for value in (VALUE, f"{VALUE[:8]} {VALUE[8:]}", _ESCAPED):
        script = f'const password = "{value}"; tools.exec_command({{cmd: "login " + password}})'
        call = Redactor()(_message(1, ToolCall(id="c", name="exec", arguments=script))).parts[0]
        assert isinstance(call, RedactedCall)
        assert interpret(call).command.startswith("login [secret: password]")
        assert VALUE[8:] not in repr(call)
        assert call.arguments.startswith("const password = ")
    many = "".join(f'const token{n} = "{VALUE}{n}";' for n in range(200))
    call = Redactor()(
        _message(1, ToolCall(id="c", name="exec", arguments=f'{many}tools.exec({{cmd: "use " + token7}})'))
    ).parts[0]
    assert VALUE not in repr(call)


def test_a_value_that_is_met_later_is_hidden_from_then_on() -> None:
    redactor = Redactor()
    one = _message(1, Text(text=f"I try {VALUE}."))
    assert redactor(one).text == f"I try {VALUE}."
    asked = ToolCall(
        id="c", name="bash", arguments=f'{{"command": "export PUMP_API_KEY={VALUE}", "tries": [1]}}'
    )
    redactor(_message(2, asked))
    assert redactor(one).text == "I try [secret: API key]."


def test_of_a_name_with_its_value_the_value_is_known() -> None:
    secrets = KnownSecrets()
    text = f"API_KEY='{VALUE}' x=="
    secrets.learn(text, [Span(start=0, end=len(text) - 4, kind="API key")])
    assert hide(redact(f"used {VALUE} at once"), secrets) == "used [secret: API key] at once"


def test_what_is_stored_of_a_secret_is_where_it_was_said() -> None:
    said = [
        Message(seq=seq, role="user", parts=(Text(text=text),))
        for seq, text in (
            (3, f"API_KEY={VALUE}"),
            (4, "no secret"),
            (7, f"API_KEY={VALUE}"),
            (9, f"TOKEN={VALUE[::-1]}"),
        )
    ]
    redactor = Redactor()
    redactor.learn(said)
    assert redactor.known.seen_in == (3, 9)
    assert known(f"API_KEY={VALUE}").seen_in == ()
