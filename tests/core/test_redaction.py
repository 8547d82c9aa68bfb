from __future__ import annotations

import base64
import hashlib
import random
import re
import string
import struct
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autocompact.core.redaction import RULES, find_secrets, redact, redact_parts
from autocompact.core.redaction.rules import Token
from autocompact.core.redaction.tokens import UNKNOWN
from autocompact.core.redaction.values import has_symbol, random_looking
from tests.lengths import some

# What fills the examples is made up at import, so that no file of this repository looks like it holds a credential.
_RANDOM = random.Random(7)
_ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "a": _ALNUM,
    "b": _ALNUM + "+/",
    "d": string.digits,
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": _ALNUM + "-_",
}
_START = {"a": "a1B", "b": "a1B", "l": "a1b", "u": "A1B", "w": "a1B", "h": "a1b", "d": "123"}
_BLANK = re.compile(r"<([abdhluw])(\d+)>")


def _made(kind: str, size: int) -> str:
    if size < 8:
        return "".join(_RANDOM.choice(_ALPHABETS[kind]) for _ in range(size))
    inner = "".join(_RANDOM.choice(_ALPHABETS[kind]) for _ in range(size - 4))
    return _START[kind] + inner + _START[kind][1]


def _filled(template: str) -> tuple[str, str]:
    """The text of an example, and the secret in it."""
    text = _BLANK.sub(lambda match: _made(match[1], int(match[2])), template)
    before, mark, rest = text.partition("«")
    secret, _, after = rest.partition("»")
    return (before + secret + after, secret) if mark else (text, text)


A20, A24, A36, A48, A100 = (_made("a", size) for size in (20, 24, 36, 48, 100))
PEM = "\n".join(_made("b", 64) for _ in range(6))

EXAMPLES = [(*_filled(text), row.kind) for row in RULES for text in row.examples]
COUNTER_EXAMPLES = [_filled(text)[0] for row in RULES for text in row.others]
KNOWN_TOKENS = [
    _filled(text)[1]
    for row in RULES
    if isinstance(row, Token) and row is not UNKNOWN
    for text in row.examples
]
TOKEN_EXAMPLES = [*KNOWN_TOKENS, *(_filled(text)[1] for text in UNKNOWN.examples)]
SURROUNDINGS = [
    "export X={}",
    "X={} make",
    "key: {}",
    "'{}'",
    '"{}"',
    '{{"x": "{}"}}',
    r"{{\"x\": \"{}\"}}",
    r"first line\n{}\nlast line",
    "\x1b[32m{}\x1b[0m",
    r"\u001b[1;32m{}\u001b[0m",
    "x%3D{}%26y%3D1",
    "prefix_{}",
    "  12→{}",
    "use {} for now",
    "({})",
    "<x>{}</x>",
    "a,{},b",
    "see `{}`.",
    "https://h/?x={}&y=1",
]

LOOKALIKES = [
    hashlib.sha1(b"commit").hexdigest(),
    f"sha256:{hashlib.sha256(b'x').hexdigest()}",
    f"sha512-{base64.b64encode(hashlib.sha512(b'x').digest()).decode()}",
    f"commit {hashlib.sha1(b'y').hexdigest()[:12]} (HEAD -> main)",
    str(uuid.UUID(int=_RANDOM.getrandbits(128))),
    f"id: {uuid.UUID(int=_RANDOM.getrandbits(128))}",
    "/usr/lib/python3.11/site-packages/secrets.py",
    "password_hash = bcrypt.hashpw(raw, salt1)",
    'password_hash: "9f86d081884c7d659a2feaa0c55ad015"',
    "token_count = 5",
    '"input_tokens": 123456789012345678',
    "max_tokens=4096000000000000000",
    'os.environ["API_KEY"]',
    "api_key = os.environ.get('API_KEY2')",
    "api_key=process.env.OPENAI_API_KEY1",
    "password = get_password(user1)",
    "password=password1",
    "connect(password=userinput2, api_key=oauth2key)",
    "token = request.headers.token2",
    "def login(user: str, password: str, token: str | None = None) -> Token1:",
    'if token == "identifier4":',
    'password: "Enter your password 2 times"',
    "DB_PASSWORD=${DB_PASSWORD1}",
    "DB_PASSWORD=$(cat /run/secrets/db1)",
    "postgres://user:password@localhost/db",
    "postgres://${USER}:${PASS}@host/db",
    "https://user:<pass>@host",
    "https://user:***@host",
    "http://localhost:8080/path@1",
    "http://localhost:8080?x=a@b.c",
    "https://example.com:443,user@example.com",
    "git@github.com:owner/repo.git",
    "ssh://git@github.com:22/owner/repo",
    "git push -u origin fix:main",
    "curl -u $USER:$PASS https://h",
    "curl https://h/x:y1",
    "docker run -u 1000:1000 image",
    'password = "********"',
    'api_key = "your-api-key-123"',
    'api_key = "test-key-1"',
    "api_key: sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    'secret = "my-app-secret-v2"',
    "secret: /run/secrets/db_password_1",
    "secret: ./secrets/file1.txt",
    "secretKeyRef: {name: db-secret-1, key: password1}",
    "the token: a unit of text, about 4 characters",
    "password reset2 mail was sent",
    "--password-file secrets1.txt",
    "--token -v1",
    "password: -1a2b3c4d",
    "sk-loading-spinner-container-large",
    "task-sk-1234567890abcdef1234",
    "hf_hub_download(repo_id='a/b', filename='config.json')",
    "npm_config_registry_is_a_long_name_indeed",
    "pypi-attestations-are-a-python-package-for-pep-740",
    "xoxo-hugs-and-kisses-to-all-of-you",
    "ghp_short",
    "AKIA is a prefix; AKIABCDEFGHIJKLMNOPQRSTUVWX is too long",
    "eyJhbGciOiJIUzI1NiJ9 alone",
    "Authorization: Bearer <token>",
    "Authorization: Bearer authentication-is-required-here",
    "Authorization: Basic authentication",
    "basic understanding of Bearer tokens1",
    '"cache-key: build1#linux@main"',
    '"partition-key: tenant1#order42@eu-west-1"',
    "'token: user42@host-name.org'",
    "'password: user42@host-name.org'",
    'print("key: Item42*price^2+c")',
    'print("hot-key: x1*y2^3+z3%w4")',
    "'Key: Ctrl+Shift+F12&Alt'",
    "'hot-key: Ctrl+Shift+F12&Alt'",
    "authorization: see RFC7235#section-4.2",
    "Authorization: user42@host-name.org",
    "'x-api-key: $(cat key1.txt)'",
    "'token: 请输入6位验证码!然后点击#确认'",
    "'X-Api-Key: {{apiKey1}}#{{b}}@c'",
    '"Authorization": "Bearer {token1}#{x}"',
    "'Authorization: Bearer ' + f(token1)#x",
    'pattern = "-----BEGIN RSA PRIVATE KEY-----"',
    "-----BEGIN PUBLIC KEY-----\n" + PEM + "\n-----END PUBLIC KEY-----",
    "tokenizer: o200k_base_with_a_long_name_1",
    "page_token = next_page_token_from_the_reply",
    "TOKEN_TYPE=refresh_token_1234567890",
    "Promise<Token>1",
    "password=",
    "secret::std::module1",
]


def _found(text: str) -> list[str]:
    return [text[span.start : span.end] for span in find_secrets(text)]


@pytest.mark.parametrize(("text", "secret", "kind"), EXAMPLES)
def test_a_secret_is_replaced_by_what_it_is_and_nothing_around_it_changes(
    text: str, secret: str, kind: str
) -> None:
    assert _found(text) == [secret]
    start = text.rindex(secret)
    found = find_secrets(text)[0].kind
    assert redact(text) == f"{text[:start]}[secret: {found}]{text[start + len(secret) :]}"
    if text == secret:
        assert found == kind


@pytest.mark.parametrize("around", SURROUNDINGS)
def test_a_token_is_found_whatever_stands_around_it(around: str) -> None:
    # of a provider that no table knows nobody can say where its words begin
    tokens = KNOWN_TOKENS if around == "prefix_{}" else TOKEN_EXAMPLES
    missed = {token: _found(around.format(token)) for token in tokens}
    assert {token: found for token, found in missed.items() if found != [token]} == {}


@pytest.mark.parametrize("text", COUNTER_EXAMPLES)
def test_a_counter_example_of_a_rule_stays(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert find_secrets(text) == ()
    assert redact(text) is text


_LAYOUTS = {
    "plain": "{line}",
    "indented": "    {line}",
    "added in a diff": "+{line}",
    "removed in a diff": "-{line}",
    "quoted": "> {line}",
    "cat -n": "{number:6}\t{line}",
    "numbered with an arrow": "{number:5}→{line}",
    "numbered with a bar": "{number:3}| {line}",
    "numbered with a colon": "{number}:{line}",
    "grep": "deploy.key:{number}:{line}",
    "docker compose": "web_1  | {line}",
    "a list of strings": '  "{line}",',
    "windows": "{line}\r",
}


def _block(name: str, layout: str) -> list[str]:
    lines = [f"-----BEGIN {name}-----", *PEM.split("\n"), "a1b=", f"-----END {name}-----"]
    return [_LAYOUTS[layout].format(number=number, line=line) for number, line in enumerate(lines, 8)]


def _leaked(text: str) -> list[str]:
    """The lines of the key of which anything still stands in ``text``."""
    return [line for line in PEM.split("\n") if any(line[at : at + 8] in text for at in range(0, 56, 8))]


@pytest.mark.parametrize(
    "name", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PRIVATE KEY"]
)
@pytest.mark.parametrize("layout", _LAYOUTS)
def test_a_private_key_goes_whole_however_a_tool_printed_it(name: str, layout: str) -> None:
    redacted = redact("\n".join(["before", *_block(name, layout), "after"]))
    assert redacted.startswith("before\n")
    assert redacted.endswith("\nafter")
    assert redacted.count("[secret: private key]") == 1
    assert "a1b=" not in redacted
    assert _leaked(redacted) == []


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("kept", ["beginning", "end"])
def test_of_a_private_key_that_was_cut_off_the_rest_goes_as_well(layout: str, kept: str) -> None:
    lines = _block("EC PRIVATE KEY", layout)
    cut = lines[:5] if kept == "beginning" else lines[2:]
    redacted = redact("\n".join(["before", *cut, "after the key"]))
    assert redacted.startswith("before\n")
    assert redacted.endswith("\nafter the key")
    assert _leaked(redacted) == []


@pytest.mark.parametrize("line_break", [r"\n", r"\\n", r"\r\n", "%0A", " "])
def test_a_private_key_on_one_line_goes_whole(line_break: str) -> None:
    lines = _block("PRIVATE KEY", "plain")
    del lines[-2]
    redacted = redact('{"key": "' + line_break.join(lines) + '", "x": 1}')
    assert redacted == '{"key": "[secret: private key]", "x": 1}'


def test_a_private_key_that_was_cut_within_a_line_goes_with_what_is_left_of_the_line() -> None:
    lines = PEM.split("\n")
    assert (
        redact(f"-----BEGIN PRIVATE KEY-----\n{lines[0]}\n{lines[1]}\n{lines[2][:9]}")
        == "[secret: private key]"
    )
    assert (
        redact(f"-----BEGIN PRIVATE KEY-----\n{lines[0]}\nend of the key")
        == "[secret: private key]\nend of the key"
    )
    assert redact(f"{lines[0][50:]}\n{lines[1]}\n-----END PRIVATE KEY-----") == "[secret: private key]"
    assert (
        redact(f"See here:\n\n{lines[1]}\n-----END PRIVATE KEY-----") == "See here:\n\n[secret: private key]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "a line\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY----- is how the file that you are looking for begins",
        "-----BEGIN PRIVATE KEY-----\n\n\n",
        "BEGIN = '-----BEGIN PRIVATE KEY-----'\nEND = '-----END PRIVATE KEY-----'",
        "-----BEGIN PRIVATE KEY-----" + "the words of a document " * 1200 + "-----END PRIVATE KEY-----",
        "Private-MAC: 0011",
        "the private key",
    ],
)
def test_the_marks_of_a_private_key_without_one_stay(text: str) -> None:
    assert redact(text) == text


def test_a_private_key_that_a_limit_cut_off_goes_as_far_as_it_reaches() -> None:
    block = "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + PEM
    assert redact(f"{block}\n[output truncated]") == "[secret: private key]\n[output truncated]"


def test_words_before_a_cut_private_key_stay() -> None:
    lines = PEM.split("\n")
    words = "see abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
    text = "\n".join([words, *lines[:3], "-----END PRIVATE KEY-----"])
    assert redact(text) == f"{words}\n[secret: private key]"


def test_an_armoured_pgp_key_goes_with_its_checksum() -> None:
    block = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{PEM}\n=aB1x\n-----END PGP PRIVATE KEY BLOCK-----"
    assert redact(f"{block}.") == "[secret: private key]."


def test_two_rules_that_hit_the_same_place_give_one_span() -> None:
    text = f"https://user:ghp_{A36}-x@github.com"
    assert redact(text) == "https://user:[secret: password]@github.com"
    assert redact(f"TOKEN=ghp_{A36}+tail") == "TOKEN=[secret: token]"
    assert redact(f"sk-{A20}-eyJ{A20}.eyJ{A20}") == f"[secret: API key].eyJ{A20}"
    # The one that begins first names it, the one that reaches further ends it.
    assert redact(f"Bearer token={A24}:more") == "Bearer [secret: token]"
    assert redact(f"curl -u a:-----BEGIN PRIVATE KEY-----\n{PEM}") == "curl -u a:[secret: private key]"


@pytest.mark.parametrize("odd", ["İ", "\udc80", "🔑", "ÿß", "密"])
def test_a_character_that_one_byte_cannot_write_shifts_nothing(odd: str) -> None:
    assert redact(f"{odd * 3} password='{A24}' {odd}") == f"{odd * 3} password='[secret: password]' {odd}"


_PIECES = st.sampled_from(
    [
        *TOKEN_EXAMPLES,
        *(
            "password",
            "PASSWORD=",
            "token:",
            "secret",
            "=",
            ":",
            '"',
            "'",
            " ",
            "\n",
            "://u:",
            "@h",
            "-",
            "_",
        ),
        *("[secret: ", "]", "--token ", "Bearer ", "curl -u a:", "-----BEGIN PRIVATE KEY-----\n"),
        *(
            "-----END PRIVATE KEY-----",
            "[",
            "\\n",
            "%3D",
            "…",
            "...",
            "the password is ",
            "密码是",
            "hunter2",
        ),
    ]
)


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=12).map("".join)))
@example(f"password={A24}=password={A24}")
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
    assert find_secrets(once) == ()


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_spans_are_in_order_and_do_not_overlap(text: str) -> None:
    ends = [edge for span in find_secrets(text) for edge in (span.start, span.end)]
    assert ends == sorted(ends)
    assert all(span.end > span.start for span in find_secrets(text))


def test_a_secret_that_is_split_over_parts_is_replaced_in_each_of_them() -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", *PEM.split("\n"), "-----END PRIVATE KEY-----"]
    parts = ("Here it is:\n" + "\n".join(lines[:3]), "\n".join(lines[3:]) + "\nThat was it.")
    assert redact_parts(parts) == (
        "Here it is:\n[secret: private key]",
        "[secret: private key]\nThat was it.",
    )
    assert redact_parts((f"use ghp_{A36[:9]}", f"{A36[9:]} now")) == (
        "use [secret: GitHub token]",
        "[secret: GitHub token] now",
    )


def test_parts_without_a_common_secret_are_redacted_one_by_one() -> None:
    texts = ("one", f"ghp_{A36}", "", "three")
    assert redact_parts(texts) == ("one", "[secret: GitHub token]", "", "three")
    assert redact_parts(()) == ()


def test_a_key_of_three_parts_goes_from_all_of_them() -> None:
    lines = _block("RSA PRIVATE KEY", "cat -n")
    parts = ("\n".join(lines[:3]), "\n".join(lines[3:5]), "\n".join(lines[5:]) + "\nafter")
    redacted = redact_parts(parts)
    assert _leaked("".join(redacted)) == []
    assert redacted[2].endswith("\nafter")


@given(st.lists(st.lists(_PIECES, max_size=4).map("".join), max_size=4))
def test_parts_keep_their_number_and_hold_no_secret(parts: list[str]) -> None:
    redacted = redact_parts(parts)
    assert len(redacted) == len(parts)
    assert all(find_secrets(part) == () for part in redacted)
    assert redact_parts(redacted) == redacted


@given(st.sampled_from(TOKEN_EXAMPLES), st.text(st.sampled_from("ab .,\n()<>"), max_size=20))
def test_nothing_but_the_secret_changes(token: str, words: str) -> None:
    text = f"{words} {token} {words}"
    assert re.sub(r"\[secret: [^\]]+\]", lambda _: token, redact(text)) == text


_BEGINNINGS = (
    *("a", " ", "token:", "password ", "password='", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n", "a.a."),
    *(
        "-----END PRIVATE KEY-----\n",
        "://",
        "sk-",
        "glpat-",
        "cookie: a=",
        "curl -u ",
        "key-",
        "key: \n",
        "eyJhbGciOi.",
        "密码",
    ),
)


@pytest.mark.parametrize("unit", _BEGINNINGS)
def test_a_text_that_repeats_the_beginning_of_a_secret_is_read_once(unit: str) -> None:
    # The growth is measured in benchmarks/redaction.py; this takes minutes where it is quadratic.
    text = unit * (15_000 // len(unit))
    assert find_secrets(text) == ()


def test_a_key_is_found_among_many_lines_that_name_one_and_have_none() -> None:
    named = "key: \n" * 600
    assert _found(f"{named}api_key: {A36}\n{named}") == [A36]
    assert _found(named) == []


def test_a_token_is_found_after_what_only_looks_like_its_beginning() -> None:
    assert redact(f"sk-your-key sk-{A48}") == "sk-your-key [secret: API key]"
    assert redact(f"/ghp_short/ghp_{A36}") == "/ghp_short/[secret: GitHub token]"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("token=ghp_a1B2c3D4e5F6…", "ghp_a1B2c3D4e5F6"),
        ("see ghp_a1B2c3D4e5F6g7... there", "ghp_a1B2c3D4e5F6g7"),
        ('password = "Tr0ub4dor3x…"', "Tr0ub4dor3x"),
        ("password: Tr0ub4dor3x...", "Tr0ub4dor3x"),
        ('"api_key": "a1B2c3D4e5F6g7H8...', "a1B2c3D4e5F6g7H8"),
    ],
)
def test_what_is_left_of_a_shortened_secret_goes(text: str, secret: str) -> None:
    assert _found(text) == [secret]


@pytest.mark.parametrize("value", ["sk-...", "ghp_…", "...", "…", "ghp_xxxx...", "ghp_abc123..."])
def test_a_shortened_placeholder_stays(value: str) -> None:
    assert _found(f"token: {value}") == []


@pytest.mark.parametrize(
    "text",
    [
        "password: 2024-01-01",
        "secret: /a/b/c/some/where/else1",
        'password = "Ab!?"',
        "password: hmmm!!",
        "密密 and nothing else",
        "x_" * 40 + "password=hunter2x",
        "x = (password) hunter2x",
        'getenv(password, "hunter2x")',
        "what?? is it",
        "contrasting=colours99",
        "api_key || default1234567890",
        "x\n\n\nblob0\nblob1\n-----END PRIVATE KEY-----",
        f"M{'x' * 24}.abcdef.{'x' * 27}",
        "password: !vault |",
    ],
)
def test_what_is_too_short_or_too_plain_for_a_secret_stays(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    "value",
    [
        "aB3$dE6#fG9(hJ2)kL5@mN8",
        "xK9{vQ2#pL7<wR4!mN8>tB6^yH3",
        "aB3$kAtE6#fG9&k6t=kL5@mN8",
        "mcp:m4xC8Gd+siYxC73AB&k6t=jL3n!QK%Q!2g",
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "curl -H 'X-Api-Key: {}' https://h",
        'curl -H "X-Auth-Token: {}" https://h',
        "curl -H 'apikey: {}'",
        "curl -H 'X-Api-Key: {} ' https://h",
        "curl -H 'Authorization: Bearer {}' https://h",
        'curl -H "Authorization: {}" https://h',
        '{{"Authorization": "Bearer {}"}}',
        r'{{"cmd": "curl -H \"Authorization: Bearer {}\" https://h"}}',
        r"{{\"Authorization\": \"Bearer {}\"}}",
        r"{{\\\"headers\\\":{{\\\"authorization\\\":\\\"Bearer {}\\\"}}}}",
        "headers={{'Authorization': 'Bearer {}'}}",
        "headers={{'X-Proxy': 'Bearer {}'}}",
        r'"Authorization: Bearer {}\r\n"',
        '-H "Authorization: Bearer {}',
    ],
)
def test_a_token_in_quotes_goes_up_to_the_closing_one_whatever_signs_it_has(around: str, value: str) -> None:
    assert _found(around.format(value)) == [value]


@pytest.mark.parametrize(
    "unit", ["bearer:aaaaaaaaaaaaaaaa!", "bearer=aaaaaaaaaaaaaaaa#", "authorization:bearer=aaaaaaaa!"]
)
def test_a_header_without_a_token_is_not_read_again_up_to_the_end_of_the_text(unit: str) -> None:
    # The growth is measured in benchmarks/redaction.py; nothing of it is a token
    assert find_secrets(unit * (200_000 // len(unit))) == ()


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    "text",
    [
        "Passwort: «MyAutumn_Lantern64!»",
        "The password is «My-Old-Bridge-19».",
        "数据库密码是 «MyGreen_Falcon73!»",
        "Le mot de passe est «lizard-silver-38»",
        "La password del server è «4tWx#9mmq2rP»",
        "A senha do servidor é «Vento_Norte_51»",
        "log in with admin / «OiiitNwOGM9F»",
        "the pw was «cobalt-heron-6»",
        "use «Quartz!Lamp12» as the password",
        '<property name="connection.password">«maple-otter-52»</property>',
        '{"name": "APP_PASSWORD", "value": "«maple-otter-52»"}',
    ],
)
def test_words_with_a_digit_are_a_secret_where_somebody_states_that_they_are(text: str) -> None:
    before, secret, after = re.split("[«»]", text)
    assert redact(before + secret + after) == f"{before}[secret: password]{after}"


@pytest.mark.parametrize("value", ["Ab(3)x{9}Kq", "k9#mQ;2x&Lp", "aa<Bb>7&cc8", "x7Kq(2m", "mz;8Qw2x"])
@pytest.mark.parametrize("end", ["", "  ", ",", ";  "])
def test_a_value_with_signs_that_end_others_goes_to_the_end_of_its_line(value: str, end: str) -> None:
    for name in ("password=", "DB_PASSWORD=", "spring.datasource.password="):
        assert redact(f"{name}{value}{end}\nport=1") == f"{name}[secret: password]{end}\nport=1"


def test_six_digits_are_a_password_where_a_name_says_so() -> None:
    assert redact("password: 482910") == "password: [secret: password]"


@pytest.mark.parametrize(
    ("before", "secret"), [("DB_PASSWORD=", "mountaineer"), ("API_TOKEN=", "qwrtpsdfghjklzxcvbnmq")]
)
def test_letters_alone_are_a_secret_where_a_name_in_capitals_says_so(before: str, secret: str) -> None:
    assert _found(before + secret) == [secret]


def test_a_short_value_is_never_called_random() -> None:
    assert not random_looking("a1B2")
    assert has_symbol("a!b")


def _oddly_written(text: str) -> list[str]:
    """The text in letters and signs that a pattern takes and that what looks closer at the value may not expect."""
    odd = "lOI0\u212a\u0130\u017f\u0661\u00b2\ud800\0\u200b=.%"
    places = [_RANDOM.randrange(len(text)) for _ in odd]
    changed = [text[:at] + sign + text[at + 1 :] for at, sign in zip(places, odd, strict=True)]
    return some([text.swapcase(), text.upper(), text.lower(), *_RANDOM.sample(changed, 3)], gate=1)


@pytest.mark.parametrize(
    "text",
    [
        "wallet: 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLlyTJ",
        "network_secret: [114, 27, 203, 8, 91, 166, 44, 239, 12, 080, 77, 3, 158, 221, 65, 130]",
    ],
)
def test_a_value_that_is_not_of_its_kind_after_all_is_no_error(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def test_no_way_of_writing_an_example_is_an_error() -> None:
    for text, _, _ in EXAMPLES:
        for odd in _oddly_written(text):
            redact(odd)


@pytest.mark.parametrize("kind", [b"ssh-ed25519", b"ssh-rsa"])
def test_a_private_key_with_a_passphrase_goes_whole_though_its_public_half_stands_in_it(kind: bytes) -> None:
    def field(value: bytes) -> bytes:
        return struct.pack(">I", len(value)) + value

    seed = bytes(range(16))
    options = field(seed) + struct.pack(">I", 16)
    key = (
        b"openssh-key-v1\0" + field(b"aes256-ctr") + field(b"bcrypt") + field(options) + struct.pack(">I", 1)
    )
    key += field(field(kind) + field(seed * 2)) + field(seed * 9)
    body = base64.b64encode(key).decode()
    text = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----"
    assert redact(text) == "[secret: private key]"


@pytest.mark.parametrize(
    "text",
    [
        "password: AB5f4dcc3b5aa765d61d8327deb882cf99",
        "export API_SECRET=QX5f4dcc3b5aa765d61d8327deb882cf99",
        "password=1.5~hunTer2el9xyz",
    ],
)
def test_what_only_begins_like_a_version_or_a_records_number_goes(text: str) -> None:
    assert redact(text) != text
