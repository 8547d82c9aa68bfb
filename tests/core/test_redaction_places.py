"""Secrets that only their place gives away: an argument, a column, a line among settings, a sentence in another language."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from autocompact.core.redaction import find_secrets, redact
from autocompact.core.redaction.outputs import is_basic
from autocompact.core.redaction.words import is_passphrase

SECRETS = [
    ("password: quiet.river7\n", "quiet.river7"),
    ("password = 'admin.Sommer3'", "admin.Sommer3"),
    ("client_secret: 'harbor.Lantern4'", "harbor.Lantern4"),
    ('ConvertTo-SecureString "Winter.Fjord6" -AsPlainText', "Winter.Fjord6"),
    ("[mail]\npassword = stapler-quartz-banjo\nport = 25\n", "stapler-quartz-banjo"),
    ("vault kv put secret/db password=amber-turnip-lagoon", "amber-turnip-lagoon"),
    (
        'requests.get(url, headers={"key": "9096007022ed4eb7d3abe6a97cebaf88"})',
        "9096007022ed4eb7d3abe6a97cebaf88",
    ),
    ("[geo]\nkey = kT9wLf2L23XD6tiGLYEuzxoG\n", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("the mapbee key is kT9wLf2L23XD6tiGLYEuzxoG", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("sign in w/ bob@acme.dev + Coral.Reef91", "Coral.Reef91"),
    ("login   password\nbob   kT9xvL2qWz8\n\nmoon   light9\n", "kT9xvL2qWz8"),
    ("login   password\nbob   kT9xvL2qWz8\nalone\nx   y   z   9\neve   Lq83#vbNw2x\n", "Lq83#vbNw2x"),
    ('What is the password of the server? It is "moon light 9 pq"', "moon light 9 pq"),
    ("the password of the router? It's kT9#xvL2q now", "kT9#xvL2q"),
    ('password = "k|7&dW* z0^)Rq+H{2u Vn>~"', "k|7&dW* z0^)Rq+H{2u Vn>~"),
    ("secrets:\n  shop: 3f2b8c1e-9d4a-4f6b-8a7c-1e2d3f4a5b6c\n", "3f2b8c1e-9d4a-4f6b-8a7c-1e2d3f4a5b6c"),
    ('"secrets": {"a": {"b": "kT9xvL2qWz8pQ"}, "c": "Lq83vbNw2xZ7m", ', "Lq83vbNw2xZ7m"),
    ("db_password = moonlight\n", "moonlight"),
    ("# the shop\ndb_user = svc\ndb_password = moonlight\ndb_port = 5432\n", "moonlight"),
    ("TF_VAR_db_password=moonlight terraform apply", "moonlight"),
    ("ansible-playbook site.yml -e ansible_become_pass=moonlight", "moonlight"),
    ('psql "host=db user=svc password=moonlight"', "moonlight"),
    ('<add connectionString="Server=db;Password=moonlight" />', "moonlight"),
    ("users: static:bob:moonlight", "moonlight"),
    ("Login with bob / moonlight", "moonlight"),
    ("用户名 root 密码 xiangrikui77", "xiangrikui77"),
    ("пароль — podsolnuh77", "podsolnuh77"),
    ("das Passwort ist Wolkenbruch9, bitte nicht weitergeben", "Wolkenbruch9"),
    ("name,url,username,password\nShop,https://x.example,bob,moonlight", "moonlight"),
    ("name,password\npassport,sunshine7\nbypass,moonlight\npass,starlight9\n", "moonlight"),
    ('"user";"password"\n"bob";"it""s moon light"\n', 'it""s moon light'),
    ("INSERT INTO users (name, password)\nVALUES ('bob', 'moonlight'), ('eve', 'sunshine7')", "sunshine7"),
    ("user,pass\nbob,moonlight\n", "moonlight"),
    ("login,pass\nbob,moonlight\n", "moonlight"),
    ("name,user_pass,mail\nbob,moonlight,b@x.example\n", "moonlight"),
    ("name,password\nJoe's Shop,moonlight\n", "moonlight"),
    ("name,password\nJoe's Shop,sunshine7\neve,moonlight\n", "moonlight"),
    ("name,password\nbob,kT9(x)vL2q\neve,starlight9\n", "kT9(x)vL2q"),
    ('name,password\nbob,kT9"x;vL2q\neve,starlight9\n', 'kT9"x;vL2q'),
    ("name,password\nbob,'unfinished\n", "'unfinished"),
    ("name\tnote\tpassword\nbob\t\tmoonlight\n", "moonlight"),
    ("name,password\nbob,a,b\neve,moonlight\n", "moonlight"),
    ("INSERT INTO users (name, at, password) VALUES ('bob', NOW(), 'moonlight')", "moonlight"),
    ("INSERT INTO users (name, password) VALUES ('O\\'Neil', 'moonlight')", "moonlight"),
    ("INSERT INTO users (name, password) VALUES ('C:\\', 'moonlight')", "moonlight"),
    ("INSERT INTO users (name, password) VALUES (f(g(1)), 'x'), ('eve', 'moonlight')", "moonlight"),
    ("INSERT INTO users (name, password) VALUES ('bob'), ('eve', 'moonlight')", "moonlight"),
    ('name,note,password\nbob,"two\nlines",sunshine7\neve,x,moonlight\n', "moonlight"),
    ('name,password\nbob,"sunshine7\neve,moonlight\n', "moonlight"),
    ("a,b\nname,password\nx,y,z\nurl,note,password\nx,y,moonlight\n", "moonlight"),
    ("user | password\n-----+---------\n bob | moonlight7\n", "moonlight7"),
    ("jdbc:mysql://db/x?user=app&password=Moon_light55&useSSL=true", "Moon_light55"),
    ("12:01 DEBUG login user=bob password=Moon!light ip=10.0.0.1", "Moon!light"),
    ("Authorization: Basic \\\n  YWRtaW46bW9vbmxpZ2h0Nzc=", "YWRtaW46bW9vbmxpZ2h0Nzc="),
    ("Connecte-toi avec l'utilisateur bob et le mot de passe Clair-lune9", "Clair-lune9"),
    ("usa la contraseña Luz_luna77 para entrar", "Luz_luna77"),
    ("\x1b[90m12:01 \x1b[35mBearer kT9wLf2L23XD6tiGLYEuzxoG\x1b[0m", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ('["mysqladmin", "ping", "-uroot", "-pkT9wLf2L23XD6tiG"]', "kT9wLf2L23XD6tiG"),
    ("subprocess.run(['sshpass', '-p', 'moon77light', 'ssh', 'h'])", "moon77light"),
    ('["serve", "--password", "moon77light"]', "moon77light"),
    ('- "--password"\n- "moon77light"', "moon77light"),
    ('password = """moon77!light"""', "moon77!light"),
    ("By.NAME, 'password').send_keys('moon77light')", "moon77light"),
    ('cy.get("input[name=password]").type("moon77-light")', "moon77-light"),
    ('fill_in "Password", with: "moon77light"', "moon77light"),
    ('let secret: &str = "kT9wLf2L23XD6tiGLYEu";', "kT9wLf2L23XD6tiGLYEu"),
    ('password <- "moon77-light"', "moon77-light"),
    ("A temporary password is generated for root@localhost: kT9wLf2L23XD", "kT9wLf2L23XD"),
    (
        "Please use the following password to proceed to installation:\n\nc53a4ce01fae1e28\n",
        "c53a4ce01fae1e28",
    ),
    ("$ op read op://prod/db/password\nkT9wLf2L23XD\n", "kT9wLf2L23XD"),
    ("bob@mac ~ % bw get password gitlab\nkT9wLf2L23XD", "kT9wLf2L23XD"),
    ("Client ID\nabc\n\nClient secret\nkT9wLf2L23XD6tiGLYEuzxoG\n", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ('"db_password":{"sensitive":true,"type":"string","value":"moon77-light"}', "moon77-light"),
    ('"Name": "/db/password",\n"Type": "SecureString",\n"Value": "moon77-light"', "moon77-light"),
    ("routing_key: kT9wLf2L23XD6tiGLYEuzxoGkT9wLf2L", "kT9wLf2L23XD6tiGLYEuzxoGkT9wLf2L"),
    ("VAULT_SECRET_ID=kT9wLf2L23XD6tiGLYEuzxoG", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("the key is kT9wLf2L23XD6tiGLYEuzxoG", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("virustotal_token: kT9wLf2L23XD6tiGLYEuzxoG", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("keystore.password=tundra_violin_marble4\nport=1\n", "tundra_violin_marble4"),
    ("packer build -var ssh_password=tundra_raven_cinder8 x.json", "tundra_raven_cinder8"),
    ("$ pulumi config set --secret dbPassword cinder_cactus_timber5", "cinder_cactus_timber5"),
    ("$ consul kv put db/password cinder_tundra_harvest8", "cinder_tundra_harvest8"),
    ("hasło do bazy: lagoonTundra42", "lagoonTundra42"),
    ("pass\x1b[1mword\x1b[0m: moonlight77", "moonlight77"),
    ("\\u001b[31mdb_\\u001b[0mpassword\\u001b[0m=moon77light", "moon77light"),
    ("Username\nbob\nPassword\nmoonlight\nURL\nhttps://wiki.acme.dev", "moonlight"),
    ("账号\nbob\n密码\nmoon.light.21", "moon.light.21"),
    ("Mot de passe\nMoonLight61!", "MoonLight61!"),
    ("Line Channel Access Token\n\n    kT9wLf2L23XD6tiG/LYEuzxoG\n\nRotate it.", "kT9wLf2L23XD6tiG/LYEuzxoG"),
    ("Codecov Token\n\n  3f2b8c1e-9d4a-4f6b-8a7c-1e2d3f4a5b6c\n", "3f2b8c1e-9d4a-4f6b-8a7c-1e2d3f4a5b6c"),
    ("  168  sudo su\n  661  45Moon_Light\n  971  clear  # typed my password there", "45Moon_Light"),
    ("rootのパスワードをmoon.light.33に変更しました。", "moon.light.33"),
    ("para arrancar: DB_SECRET_KEY, te la dejo aquí: kT9wLf2L23XD6tiGLYEuzxoG", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("acme.api.key=eb56dffb898ae0883b011f586ff35835e49b0b33", "eb56dffb898ae0883b011f586ff35835e49b0b33"),
    ("X-Query-Key: eb56dffb898ae0883b011f586ff35835", "eb56dffb898ae0883b011f586ff35835"),
    ('password = "Maple_river!"', "Maple_river!"),
    ("API key created!\nYou won't see it again:\nkT9wLf2L23XD6tiGLYEuzxoG\n", "kT9wLf2L23XD6tiGLYEuzxoG"),
    ("# recovery-codes.txt\n6caa7-a5214\nb84ef-2e326", "6caa7-a5214\nb84ef-2e326"),
    ("Le code d'accès du coffre est le 347662", "347662"),
]

LOOKALIKES = [
    '"node_modules/js-tokens": {"integrity": "sha512-2abKwR7mQfuAq/yR3/Rz1JJx0wjaNXoGmohO2yHE8aCFBEfC209Q=="}',
    '{"tokens": {"a": "sha512-2abKwR7mQfuAq/yR3/Rz1JJx0wjaNXoGmohO2yHE8aCFBEfC209Q=="}}',
    '<li key="4j0wNMX5u7TtsVH9WSPDD" data-testid="row">Row</li>',
    "  169  Merge-Branch2\n  170  change the password page",
    "R2D2unit\nreset the password template",
    "password for 00:1B:44:11:3A:B7 was reset",
    "Password\nMinimum8Characters",
    "eyJwYXNzd29yZCI6ICJyZXF1aXJlZCJ9",
    "steamcmd +login anonymous +app_update 740",
    "Status: 0xC000006D, an account failed to log on",
    "Closes acme/datahub#4079 (password field loses focus)",
    "vault token revoke -accessor XRz0mEseD6xxptkRhQalbYdf",
    "device key-reader-7 0a:0d:f3:dc:3d:38 joined",
    "passwordless-auth upgraded to 8.12.8-rc.2+build.51",
    "Token mint: 4tMyUJni1VExu7stfjcMGsBdTEWZAK3cKvZawTTQUSKw, decimals 9",
    "auth server listening on [9719:c788:a9af:fc2a:c067:faed:70aa:fc4c]:443",
    "the password of\nthe Garden_house2",
    "password\nDB_USER=Moon9light\n",
    "the password ..,",
    "DB_USER\nthe password\nMoonLight61",
    "X-Idempotency-Key: eb56dffb898ae0883b011f586ff35835",
    "iXBhc3N3b3JkPf/+/f////+AgYI=",
    "password: forms.login.title2",
    '"password": "forms.login.Title2"',
    "password=request.Form2",
    "PASSWORD = auth.Validators2",
    "secret = 'conf.Value2'",
    "PASSWORD=to-be-provided",
    "password = not-yet-set",
    "SECRET_BACKEND=hashicorp-vault-2",
    "Der Schlüssel ist user_id_2024",
    "clave de partición: fecha_2024_11",
    "chiave di cache: 9096007022ed4eb7d3abe6a97cebaf88",
    "key: 9096007022ed4eb7d3abe6a97cebaf88  # cache of the api",
    '{"key": "9096007022ed4eb7d3abe6a97cebaf88"}',
    "the cache key is kT9wLf2L23XD6tiGLYEuzxoG",
    "oauth: enabled-for-all-2024",
    "err := login(ctx, 10*time.Second)",
    r"{\"login\":\"bob\",\"labels\":[{\"id\":\"LA_kwDOQRbenM8AAAACchKRTw\"}]}",
    'SessionID: "def-5678-session", // sign in',
    "field   password\nlabel   moonlight\n",
    "if password = moonlight then",
    "DB_PASSWORD: ${DB_PASSWORD:?error}",
    '["docker", "run", "-p", "8080:80", "nginx"]',
    "$ git log -S password --oneline\nkT9wLf2L23XD6tiGLYEuzxoG2",
    'input_tokens: 12, "id": "kT9wLf2L23XD6tiGLYEuzxoG"',
    'a token, "id": "kT9wLf2L23XD6tiGLYEuzxoG"',
    "the token of msg_01kT9wLf2L23XD6tiGLYEu",
    "a random token to avoid collisions:\n   `results/v1/sync-2026-06-24T01-29-52Z-<rand6>`",
    "Using a password on the command line interface can be insecure.",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "set the user_password_policy to something2",
    "page_token: kT9wLf2L23XD6tiGLYEuzxoG",
    "self.password = tundra_violin_marble4\n",
    "sort_key: kT9wLf2L23XD6tiGLYEuzxoG",
    "db_password = moonlight\nconnect(db_password)\n",
    "def f(db_password):\n    db_password = moonlight\n",
    "x = f(\n    db_password = moonlight\n)\n",
    "db_password = moonlight + 1",
    "if db_password = moonlight then",
    "db_password='moonlight_of_' terraform",
    "print db_password=moonlight or none",
    "then db_password=moonlight terraform",
    "set db_password = moonlight\n",
    "db_password = moonlight\n{ return 1; }\n",
    "name,password\n",
    "name,password\nbob\n",
    "name,password\nbob,,x,y\n",
    "name,password\nbob,hashed(value)\n",
    "id,title,pass,fail\n1,moonlight,starlight,sunshine\n",
    "name,first pass,login\nbob,moonlight,starlight\n",
    "from shop import user, password\nshown = open(door, moonlight)\n",
    "name,password\na,b,c\na,b,c\na,b,c\neve,moonlight\n",
    "INSERT INTO users (name, password) VALUES ('a'), ('b'), ('c'), ('eve', 'moonlight')",
    "test_login_with_password_returns_200",
    "| name | secret | text |\n|---|---|---|\n| api | moonlight | the key of the door |\n",
    "#define A(password) \\\n  do_it(password, 12)",
    "user, password |\nbob | moonlight\n",
    "password,string,required\nemail,string,optional\n",
    "note: a pass, then a word\n",
    "INSERT INTO users (name, password) SELECT name, passwd FROM old",
    "INSERT INTO users (name, password) VALUES ('bob', hashed)",
    "INSERT INTO users (name, password) VALUES ('bob')",
    "INSERT INTO counts (kind, passed) VALUES ('bobs', 'eight')",
    "x" * 2_100 + "name,password\nbob,moonlight\n",
    "name,password," + "a," * 1_100 + "\nbob,moonlight\n",
    "Log in with google / facebook",
    "La clave del problema es rendimiento",
]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_that_its_place_gives_away_is_replaced(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_is_no_value_at_such_a_place_stays(text: str) -> None:
    assert redact(text) == text


def test_a_section_of_secrets_ends_where_its_lines_stand_further_left() -> None:
    text = "services:\n  secrets:\n    first: Zk3jQ9xLw2PfT7vB\n  web:\n    build: Hq7mN2bVc9Xz4LkP\n"
    assert redact(text) == text.replace("Zk3jQ9xLw2PfT7vB", "[secret: secret value]")


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("value, is_login", [("Ym9iOmtUOXh2TDJx", True), ("Ym9i", False), ("####", False)])
def test_a_login_in_base64_is_a_name_and_a_password(value: str, is_login: bool) -> None:
    assert is_basic(value) == is_login


@pytest.mark.parametrize(
    "words, is_phrase",
    [
        ("correct horse battery staple", True),
        ("correct horse user_name staple", False),
        ("the horse and staple", False),
    ],
)
def test_a_passphrase_is_made_of_words_that_make_no_sentence(words: str, is_phrase: bool) -> None:
    assert is_passphrase(words) == is_phrase


def test_words_that_repeat_are_no_seed_phrase() -> None:
    assert redact("seed: " + "word " * 12) == "seed: " + "word " * 12


def test_a_secret_that_a_search_coloured_in_part_is_replaced_whole() -> None:
    secret = "ghp_" + "rS7rL3jpYz8KhD0Dh8pG" + "pYz8KhD0Dh8pGq4F"
    coloured = f"config:\x1b[01;31m\x1b[K{secret[:9]}\x1b[m\x1b[K{secret[9:]} is it"

    assert redact(coloured) == "config:\x1b[01;31m\x1b[K[secret: GitHub token] is it"


_HOSTILE: dict[str, Callable[[int], str]] = {
    "rows that do not fit": lambda n: "name,password\n" + "a,b,c\n" * n,
    "tables that end at once": lambda n: "name,password\nx,y,z\nx,y,z\nx,y,z\n" * n,
    "heads without rows": lambda n: "name,password\n" * n,
    "quotes that stay open": lambda n: "name,password\n" + '"a,pass\n' * n,
    "one quote that stays open": lambda n: 'name,password\n"' + "a,pass\n" * n,
    "doubled quotes": lambda n: "name,password\n" + ('"a,' + '""b,' * 9 + "\n") * n,
    "a row without end": lambda n: "name,password\n" + "pass," * n,
    "values that do not fit": lambda n: (
        "INSERT INTO users (name, password) VALUES " + "('a','bcde'), ('pass'), " * n
    ),
    "values that are no cells": lambda n: (
        "INSERT INTO users (name, password) VALUES " + "(f(g(1)),)\n,\n" * n
    ),
    "inserts that stay open": lambda n: "INSERT INTO users (name, password) VALUES (" * n,
    "signatures that are encoded": lambda n: "signature%3d" * n,
    "commands without output": lambda n: "$ pass show\n" * n,
    "lists of options": lambda n: '["-p", ' * n,
    "lists that stay open": lambda n: '["-p"' + ', "-p"' * n,
    "objects that stay open": lambda n: '"secret": {"a": "b", ' * n,
    "subjects without end": lambda n: "password for a b c d " * n,
    "marks of tokens": lambda n: "live_" * n,
    "seeds": lambda n: "seed phrase: ab abc " * n,
    "names without values": lambda n: ("INSERT INTO users (password, " + "pass, " * 9) * n,
}


def _calls(text: str) -> int:
    """How many calls it takes, of Python's functions and of `re`'s, to redact the text."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        find_secrets(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.uncovered
@pytest.mark.parametrize("kind", _HOSTILE)
def test_a_hostile_table_costs_what_its_length_says(kind: str) -> None:
    one, two, four = (_calls(_HOSTILE[kind](size)) for size in (150, 300, 600))

    assert two < 2.2 * one
    assert four < 2.2 * two


@pytest.mark.parametrize(
    "text",
    [
        "Te paso la clave secreta de siempre; la contraseña del panel («Qz81!kLmW4») por si hace falta.",
        "hasło do drukarki: «Wy$9kL2mQx» (pokój 4)",
        "Passwort vom alten Archiv: „«gelbe kleine tassen klirren leise»“, mit Leerzeichen",
        "I rotated the wifi password, it is now «copper-lake-window-71». Cheers",
        "La password dell'archivio è «Sole.Vento44!»",
        "The vault password was changed from the old one to «Regen_krone5518» yesterday",
        "Als Mailpasswort hab ich überall «Hx4#pQ9!zL» eingetragen.",
        "pool props {user=shop, password=«kqRtWvBnZxCdMfG», ssl=true}",
        "tess: what is the smtp password?\nomar: sure, «Hx4#pQ9!zL»\nthanks",
        "who has the grafana login?\nops / «Hx4#pQ9!zL»\n",
    ],
)
def test_a_password_in_a_sentence_is_found_wherever_the_sentence_puts_it(text: str) -> None:
    plain = text.replace("«", "").replace("»", "")
    found = [plain[span.start : span.end] for span in find_secrets(plain)]
    assert found == re.findall("«(.*?)»", text)


@pytest.mark.parametrize(
    "text",
    [
        "the second pass over the syntax tree: kx82$mQz9L (line 4)",
        "Elliptic curves with the One-Pass Unified Model (ECDH-1PU) are drafts",
        "did you reset the password?\nomar: no, see ticket-2031\n",
        "is the login there?\nhttps://acme.dev/login2\n",
        '{"token": "Zugangsschlüssel"}',
        "connect(user=u, password=dbPasswordOfService, ssl=True)",
        "the password of the panel (see the wiki) is old",
    ],
)
def test_a_sentence_about_a_password_stays(text: str) -> None:
    assert find_secrets(text) == ()


_BODY = "h05Q6/PW9cu2MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxpinPassw0"


@pytest.mark.parametrize("kind", ["PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE", "CERTIFICATE REQUEST"])
@pytest.mark.parametrize("line_end", ["\n", "\\n"])
def test_a_public_block_stays_and_what_stands_beside_it_does_not(kind: str, line_end: str) -> None:
    block = line_end.join((f"-----BEGIN {kind}-----", *[_BODY] * 6, f"-----END {kind}-----"))
    assert redact(f"{block}\npassword: Xk9!mmQz2p\n") == f"{block}\npassword: [secret: password]\n"


def test_words_between_the_marks_of_a_public_block_make_none() -> None:
    text = "-----BEGIN PUBLIC KEY-----\npassword Xk9mmQz2p\n-----END PUBLIC KEY-----"
    assert "Xk9mmQz2p" not in redact(text)
