from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autocompact.core.redaction import find_secrets, redact, redact_parts

# Made up at import, so that no file of this repository looks like it holds a credential.
_RANDOM = random.Random(7)


def _made(alphabet: str, size: int) -> str:
    return "a1B" + "".join(_RANDOM.choice(alphabet) for _ in range(size - 3))


_ALNUM = string.ascii_letters + string.digits
A20, A24, A36, A48, A100 = (_made(_ALNUM, size) for size in (20, 24, 36, 48, 100))
UPPER16 = "A1B2" + "".join(_RANDOM.choice(string.ascii_uppercase + string.digits) for _ in range(12))
PEM = "\n".join(_made(_ALNUM + "+/", 64) for _ in range(6))
JWT = f"eyJ{_made(_ALNUM, 20)}.eyJ{_made(_ALNUM, 40)}.{_made(_ALNUM, 43)}"

# (text, the secret in it, kind)
TOKENS = [
    (f"export OPENAI=sk-{A48}", f"sk-{A48}", "API key"),
    (f"key sk-proj-{A24}_{A36}-{A20}.", f"sk-proj-{A24}_{A36}-{A20}", "API key"),
    (f"'sk-ant-api03-{A48}-{A20}'", f"sk-ant-api03-{A48}-{A20}", "API key"),
    (f"ghp_{A36}", f"ghp_{A36}", "GitHub token"),
    (f"https://ghs_{A36}@github.com/o/r", f"ghs_{A36}", "GitHub token"),
    (f"github_pat_{A20}_{A48}", f"github_pat_{A20}_{A48}", "GitHub token"),
    (f"id AKIA{UPPER16},", f"AKIA{UPPER16}", "AWS key id"),
    (f"id ASIA{UPPER16} x", f"ASIA{UPPER16}", "AWS key id"),
    (f"maps?key=AIza{A36[:35]}&v=3", f"AIza{A36[:35]}", "Google key"),
    (f"ya29.{A48}", f"ya29.{A48}", "Google token"),
    (f"GOCSPX-{A24}", f"GOCSPX-{A24}", "Google key"),
    (f"xoxb-123456789012-{A24}", f"xoxb-123456789012-{A24}", "Slack token"),
    (f"xapp-1-A0123456-{A36}", f"xapp-1-A0123456-{A36}", "Slack token"),
    (
        f"https://hooks.slack.com/services/T0123ABCD/B0123ABCD/{A24}",
        f"T0123ABCD/B0123ABCD/{A24}",
        "Slack webhook",
    ),
    (f"sk_live_{A24}", f"sk_live_{A24}", "Stripe key"),
    (f"rk_test_{A24}", f"rk_test_{A24}", "Stripe key"),
    (f"whsec_{A36}", f"whsec_{A36}", "webhook key"),
    (f"glpat-{A20}", f"glpat-{A20}", "GitLab token"),
    (f"//registry.npmjs.org/:_authToken=npm_{A36}", f"npm_{A36}", "npm token"),
    (f"pypi-AgEIcHlwaS5vcmc{A100}", f"pypi-AgEIcHlwaS5vcmc{A100}", "PyPI token"),
    (f"hf_{A36[:34]}", f"hf_{A36[:34]}", "Hugging Face token"),
    (f"cookie: session={JWT}; path=/", JWT, "JWT"),
    (f"Authorization: Bearer {A36}", A36, "token"),
    (f'"authorization": "token {A36}"', A36, "credentials"),
    ("authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA==", "credentials"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "credentials"),
    ("Authorization: Bearer 0a1b2c3d4e5f6a7b8c9d", "0a1b2c3d4e5f6a7b8c9d", "token"),
    ("postgres://app:hunter2@db:5432/x", "hunter2", "password"),
    ("redis://:p4@ss@cache:6379/0", "p4@ss", "password"),
    ("https://user:tr0ub4dor@[::1]/", "tr0ub4dor", "password"),
    ("curl -s -u admin:hunter2 https://h/", "hunter2", "password"),
    ("curl --user 'admin:letmein' https://h/", "letmein", "password"),
    ('password = "hunter2"', "hunter2", "password"),
    ("DB_PASSWORD=hunter2", "hunter2", "password"),
    ("dbPasswd: 'Tr0ub4dor&3'", "Tr0ub4dor&3", "password"),
    ('os.environ["DB_PASSWORD"] = "hunter2x"', "hunter2x", "password"),
    (r"{\"password\": \"hunter2\"}", "hunter2", "password"),
    ('password: str = "hunter2"', "hunter2", "password"),
    ("Log in with the password=hunter2horse9 please", "hunter2horse9", "password"),
    ("host=db password=x7horse9 user=a", "x7horse9", "password"),
    ("mysql --password hunter22", "hunter22", "password"),
    ("mysql --password=hunter22!", "hunter22!", "password"),
    ("<password>hunter2!</password>", "hunter2!", "password"),
    ("passphrase: 'x9-Kq!!z'", "x9-Kq!!z", "password"),
    ("password: ab1cdef!:more=x", "ab1cdef!:more=x", "password"),
    ('SECRET_KEY: "django-insecure-8&x1%kd9@2lq"', "django-insecure-8&x1%kd9@2lq", "secret value"),
    (f"aws_secret_access_key = {A36}/x+Z", f"{A36}/x+Z", "secret value"),
    (f"JWT_SECRET_PROD={A24}==", f"{A24}==", "secret value"),
    (f"clientSecret: '{A24}'", A24, "secret value"),
    (f"?api_key={A24}&q=1", A24, "API key"),
    (f'apiKey: "{A24}"', A24, "API key"),
    (f"X-Api-Key: {A24}", A24, "API key"),
    (f"AccountName=a;AccountKey={A48}==;X=1", f"{A48}==", "API key"),
    (f"CI_JOB_TOKEN={A24}", A24, "token"),
    (f'"access_token": "{A36}"', A36, "token"),
    (f"İ password='{A24}'", A24, "password"),
    ('password="hunter2', "hunter2", "password"),
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
    "password=retry2",
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
    'pattern = "-----BEGIN RSA PRIVATE KEY-----"',
    "-----BEGIN PUBLIC KEY-----\n" + PEM + "\n-----END PUBLIC KEY-----",
    "tokenizer: o200k_base_with_a_long_name_1",
    "page_token = next_page_token_from_the_reply",
    "TOKEN_TYPE=refresh_token_1234567890",
    "Promise<Token>1",
    "password=",
    "secret::std::module1",
]


@pytest.mark.parametrize(("text", "secret", "kind"), TOKENS)
def test_a_secret_is_replaced_by_what_it_is_and_nothing_around_it_changes(
    text: str, secret: str, kind: str
) -> None:
    start = text.rindex(secret)
    spans = find_secrets(text)
    assert [(text[span.start : span.end], span.kind) for span in spans] == [(secret, kind)]
    assert redact(text) == f"{text[:start]}[secret: {kind}]{text[start + len(secret) :]}"


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert find_secrets(text) == ()
    assert redact(text) is text


@pytest.mark.parametrize("name", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY"])
@pytest.mark.parametrize("layout", ["plain", "indented", "diff", "numbered", "json", "short last line"])
def test_a_private_key_goes_whole_however_a_tool_printed_it(name: str, layout: str) -> None:
    lines = [f"-----BEGIN {name}-----", *PEM.split("\n"), f"-----END {name}-----"]
    match layout:
        case "indented":
            block = "\n    ".join(lines)
        case "diff":
            block = "\n+".join(lines)
        case "numbered":
            block = "\n".join(f"    {number}→{line}" for number, line in enumerate(lines, 1)).strip()
        case "json":
            block = r"\n".join(lines)
        case "short last line":
            block = "\n".join((*lines[:-1], "a1b=", lines[-1]))
        case _:
            block = "\n".join(lines)
    redacted = redact(f"before\n{block}\nafter")
    assert redacted.endswith("[secret: private key]\nafter")
    assert not any(line[:20] in redacted for line in PEM.split("\n"))


def test_a_private_key_that_a_limit_cut_off_goes_as_far_as_it_reaches() -> None:
    block = "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + PEM
    assert redact(f"{block}\n[output truncated]") == "[secret: private key][output truncated]"


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


def test_lower_case_has_the_length_of_the_text_but_for_one_character() -> None:
    assert [chr(code) for code in range(0x110000) if len(chr(code).lower()) != 1] == ["İ"]


_PIECES = st.sampled_from(
    [secret for _, secret, _ in TOKENS]
    + [
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
        "[secret: ",
        "]",
    ]
    + [
        "--token ",
        "Bearer ",
        "curl -u a:",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----",
        "[",
        "\\n",
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
