"""Secrets that their name gives away, as a table: an assignment in any syntax, an option, a cell, a sentence.

First the name is read to both sides of its word ("password"); a name that goes on to say something else
(`password_hash`, `token_count`) is left. Then what stands between name and value is looked for, and last the value must
look like a secret, the more so the less its place tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from autocompact.core.redaction.rules import Name
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import (
    Trust,
    has_symbol,
    is_key,
    is_password,
    is_word_password,
    mixed,
    random_looking,
    stripped,
)
from autocompact.core.redaction.words import is_word


def _name(
    kind: str,
    anchor: str,
    *,
    word: str,
    examples: tuple[str, ...],
    others: tuple[str, ...] = (),
    head: str = "",
    least: int = 0,
) -> Name:
    return Name(
        kind=kind,
        anchor=anchor,
        word=re.compile(word, re.IGNORECASE),
        head=re.compile(head, re.IGNORECASE) if head else None,
        examples=examples,
        others=others,
        least=least,
    )


def _foreign(anchor: str, word: str, *examples: str) -> Name:
    return _name("password", anchor, word=word, examples=examples)


_KEY_HEADS = tuple(
    "api apis access account secret private auth authentication encrypt encryption crypto crypt sign signing"
    " signature app application license licence service master admin shared subscription client storage function"
    " functions consumer webhook hmac jwt integration ingest write developer dev live prod sandbox secure wallet aes"
    " des rsa fernet preshared pre-shared data deploy project server security session recovery team org bot merchant"
    " partner openai anthropic stripe sendgrid mailgun mailchimp algolia datadog twilio google maps firebase gemini"
    " groq mistral cohere deepseek pagerduty okta heroku azure aws gcp github gitlab supabase pinecone weather"
    " openweather newrelic posthog segment mixpanel amplitude sentry rapidapi deepl".split()
)
"""What stands before "key" in the name of a secret."""

NAMES: tuple[Name, ...] = (
    _name(
        "password",
        "pass",
        word=r"pass(?:wor[dt]s?|wds?|phrase|code|wrd|e(?=\W))?",
        examples=(
            'password = "«hunter2»"',
            "DB_PASSWORD=«hunter2»",
            "dbPasswd: '«Tr0ub4dor&3»'",
            'os.environ["DB_PASSWORD"] = "«hunter2x»"',
            r"{\"password\": \"«hunter2»\"}",
            'password: str = "«hunter2»"',
            "Log in with the password=«hunter2horse9» please",
            "host=db password=«x7horse9» user=a",
            "mysql --password «hunter22»",
            "mysql --password=«hunter22!»",
            "<password>«hunter2!»</password>",
            "passphrase: '«x9-Kq!!z»'",
            "password: «ab1cdef!:more=x»",
            'password="«hunter2»',
            "SMTP_PASS=«<l12>»",
            "Server=db;User Id=sa;Password=«Str0ng!<a6>»;Encrypt=true",
            'add key="Password" value="«<a12>»"',
            "- name: DB_PASSWORD\n  value: «<a12>»",
            "Passwort: «<a10>»",
            "mot de passe : «<a10>»",
            "the password is «hunter22».",
            "Passwort: «My<l6>_<l6>81!»",
            "Le mot de passe est «<l6>-<l6>-45»",
            "La password del server è «<a11>»",
            "Password do servidor é «<l5>_<l6>#9»",
            "password for the vpn should be «<l6>-<l5>-2»",
            "I changed the password to «<a10>!x»",
            "the admin password's «<a10>»",
            "pass is «<a10>»",
            '<property name="connection.password">«<l6>-<l5>-45»</property>',
            '<entry key="db.password"><value>«<a12>»</value></entry>',
            "<key>Password</key>\n\t<string>«<a12>»</string>",
            '{"name": "DB_PASSWORD", "value": "«<a12>»"}',
            r"{\"name\": \"DB_PASSWORD\", \"value\": \"«<a12>»\"}",
            "12\t- name: DB_PASSWORD\n13\t  value: «<l6>-<l5>-45»",
            'the password is "«swordfish»"',
            "Das Passwort für den Server lautet «<a10>».",
            "le mot de passe est «<a10>».",
            "| password | «<a12>» |",
            "**Password:** `«<a10>»`",
            "Password:\n«hunter22»",
            "ENV DB_PASSWORD «<a12>»",
            "password=«<a12>…»".replace("…»", "»…"),
            "setPassword('«<a12>»')",
            "getenv('DB_PASSWORD', '«<a12>»')",
            "${DB_PASSWORD:-«<a12>»}",
            "password%3D«<a12>»%26user%3Dx",
            "DB_PASSWORD=«correct-horse-battery-staple»",
            'smtp_password: "«abcd efgh ijkl mnop»"',
        ),
        others=(
            "password_hash = bcrypt.hashpw(raw, salt1)",
            'password_hash: "9f86d081884c7d659a2feaa0c55ad015"',
            "password = get_password(user1)",
            "password=password1",
            "connect(password=userinput2, api_key=oauth2key)",
            'password: "Enter your password 2 times"',
            "DB_PASSWORD=${DB_PASSWORD1}",
            "DB_PASSWORD=$(cat /run/secrets/db1)",
            'password = "********"',
            "password reset2 mail was sent",
            "--password-file secrets1.txt",
            "password: -1a2b3c4d",
            "password=",
            "the password is required",
            "the password is wrong.",
            "the password is 8 characters long",
            "the password hash is a1b2c3d4e5f6",
            "the password manager is keepass2-x",
            "a link to reset the password was sent to bob42@example.com",
            "password: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1B2c3",
            "<password>__DB_PASSWORD_1__</password>",
            "<password>%DB_PASSWORD_2%</password>",
            "<password>DB_PASSWORD_1</password>",
            '<input name="password">text2023',
            '<label for="password">Field-no-12345</label>',
            "Pass them to `WriteCommitted`",
            "build the set once and pass it to `findBranch2`",
            "add the token to `request_headers_of_v2_2024`",
            "the second pass is `fold_constants`",
            "send the password to smtp-relay-2",
            "PASS: test_login_v2",
            "bypass=route66x",
            "compass: north4west",
            "passport_number: X1234567",
            'autocomplete="new-password" id="field2"',
            'if password != "": raise ValueError2',
            "DB_PASSWORD=<password>",
            "POSTGRES_PASSWORD=postgres",
            "password: required",
        ),
    ),
    _name(
        "password",
        "pw",
        word=r"pwd?",
        examples=("Pwd=«<a10>»;", "MYSQL_PWD=«hunter22»", "db_pw: «<a10>»"),
        others=("PWD=/home/user/project1", "pwd: src/main2", "hpw = 12345678"),
    ),
    _name(
        "password",
        "psk",
        word=r"psk",
        examples=('psk="«<a12>»"',),
        others=("task psk: none",),
        head=r"(?:^|[_-])$",
    ),
    _foreign("contrase", r"contrase(?:ñ|n|ny|nh)as?", "contraseña: «<a10>»", "La contraseña es «<a10>»."),
    _foreign("senha", r"senha", "senha: «<a10>»", "A senha é «<a10>»."),
    _foreign("wachtwoord", r"wachtwoord", "wachtwoord: «<a10>»", "Het wachtwoord is «<a10>»."),
    _foreign("kennwort", r"kennwort", "Kennwort: «<a10>»", "Das Kennwort ist «<a10>»."),
    _foreign(
        "密码",
        r"密码",
        "密码：«<a10>»",
        "数据库密码是«<a10>»。",
        "密码: «<a10>»",
        "root 的密码已改为 «<a10>»",
    ),
    _foreign("密碼", r"密碼", "密碼：«<a10>»"),
    _foreign("口令", r"口令", "口令：«<a10>»"),
    _foreign(
        "パスワード",
        r"パスワード",
        "パスワード：«<a10>»",
        "パスワードは «<a10>» です。",
        "パスワードは「«<a10>»」です",
    ),
    _foreign("暗証番号", r"暗証番号", "暗証番号は«<a10>»です"),
    _foreign("비밀번호", r"비밀번호", "비밀번호: «<a10>»", "비밀번호는 «<a10>» 입니다"),
    _foreign("ароль", r"(?<=[пП])ароль", "пароль: «<a10>»", "Пароль от сервера: «<a10>»", "Пароль — «<a10>»"),
    _name(
        "password",
        "mdp",
        word=r"mdp",
        head=r"(?:^|[_-])$",
        examples=("mdp: «<a10>»", "le mdp est «<a10>»"),
        others=("mdp oublié ?", "an mdp is a decision process"),
    ),
    _foreign("parola d", r"parola d['’]ordine", "parola d'ordine: «<a10>»"),
    _name(
        "secret value",
        "secret",
        word=r"secret",
        least=8,
        examples=(
            'SECRET_KEY: "«django-insecure-8&x1%kd9@2lq»"',
            "aws_secret_access_key = «<a36>/x+Z»",
            "JWT_SECRET_PROD=«<a24>==»",
            "clientSecret: '«<a24>»'",
            "otpauth://totp/acme:bob?secret=«<a32>»&issuer=acme",
        ),
        others=(
            'secret = "my-app-secret-v2"',
            "secret: /run/secrets/db_password_1",
            "secret: ./secrets/file1.txt",
            "secretKeyRef: {name: db-secret-1, key: password1}",
            "secret::std::module1",
            "secretName: my-tls-certificate-2024",
            "secretsmanager:us-east-1:123456789012",
        ),
    ),
    _name(
        "token",
        "token",
        word=r"token",
        least=16,
        examples=(
            "CI_JOB_TOKEN=«<a24>»",
            '"access_token": "«<a36>»"',
            "VAULT_TOKEN=«s.<a24>»",
            "X-Auth-Token: «<h32>»",
            "?token=«<a32>»&x=1",
            "--token «<a32>»",
        ),
        others=(
            "token_count = 5",
            '"input_tokens": 123456789012345678',
            "max_tokens=4096000000000000000",
            "token = request.headers.token2",
            "def login(user: str, password: str, token: str | None = None) -> Token1:",
            'if token == "identifier4":',
            "the token: a unit of text, about 4 characters",
            "--token -v1",
            "tokenizer: o200k_base_with_a_long_name_1",
            "page_token = next_page_token_from_the_reply",
            "TOKEN_TYPE=refresh_token_1234567890",
            "Promise<Token>1",
            "self.token = token_factory.make()",
            'nextPageToken: "CAoQAAabcdef123456ghij"',
        ),
    ),
    _name(
        "API key",
        "key",
        word=r"key",
        least=12,
        examples=(
            "?api_key=«<a24>»&q=1",
            'apiKey: "«<a24>»"',
            "X-Api-Key: «<a24>»",
            "AccountName=a;AccountKey=«<a48>==»;X=1",
            "DATADOG_APP_KEY=«<h40>»",
            "HEROKU_API_KEY=«<h8>-<h4>-<h4>-<h4>-<h12>»",
            "PrivateKey = «<a43>=»",
            "api key: «<h32>»",
            "SharedAccessKey=«<a43>=»",
            "Ocp-Apim-Subscription-Key: «<h32>»",
        ),
        others=(
            'os.environ["API_KEY"]',
            "gpg: using RSA key 4AEE18F83AFDEB234AEE18F83AFDEB234AEE18F8",
            "signing key: 0x4AEE18F83AFDEB23",
            "RSA key fingerprint is SHA256:a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D",
            "api_key = os.environ.get('API_KEY2')",
            "api_key=process.env.OPENAI_API_KEY1",
            'api_key = "your-api-key-123"',
            'api_key = "test-key-1"',
            "api_key: sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "cache_key: linux-node-9f86d081884c7d65",
            "CACHE_KEY=9f86d081884c7d659a2feaa0c55ad015",
            "PRIMARY_KEY=9f86d081884c7d659a2f",
            "public_key: <a43>=",
            "keyboard: layout1234567890ab",
            "sort_key = <a24>",
        ),
    ),
    _name(
        "token",
        "pat",
        word=r"pat(?![a-z])",
        head=r"[_-]$",
        least=20,
        examples=("AZURE_DEVOPS_EXT_PAT=«<l52>»", '"azdo_pat": "«<l52>»"', "GH_PAT: «<a40>»"),
        others=(
            "file_pat = compile_pattern_number_2024",
            "url_pat=r'[a-z0-9]{4}-[a-z0-9]{12}-x'",
            "PAT: see the vault",
        ),
    ),
    _foreign("senord", r"senord(?:et)?", "Lösenord: «<a10>»", "Lösenordet är «<a10>»"),
    _foreign("heslo", r"heslo", "heslo: «<a10>»"),
    _foreign("has", r"has[łl]o", "hasło: «<a10>»", "hasło to «<a10>»"),
    _foreign("salasana", r"salasana", "salasana: «<a10>»"),
    _foreign(
        "adgangskode",
        r"adgangskoden?",
        "adgangskode: «<a10>»",
        "Adgangskoden er «<a10>»",
    ),
    _foreign("ifre", r"(?<=[şsŞS])ifre(?:si|niz|m)?", "şifre: «<a10>»", "sunucu şifresi: «<a10>»"),
    _name(
        "credentials",
        "cred",
        word=r"cred(?:ential)?s?",
        least=12,
        examples=('GIT_CREDENTIALS="«<a32>»"',),
        others=("credentials: include", "credentials: same-origin", "credit: card1234567890abc"),
    ),
)


# Reading a name ---------------------------------------------------------------------------------------------

_BACK = re.compile(r"[A-Za-z0-9_-]{0,64}")
_ON = re.compile(r"[A-Za-z0-9_-]{0,48}")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OTHER_TAILS = frozenset(
    "hash hashes hashed digest checksum fingerprint file files filename path paths dir url uri urls link name names label id ids type types kind length len"
    " size count counts limit limits total max min expiry expires expiration expire expired ttl age timeout lifetime policy policies rule rules strength"
    " field fields input inputs box column form page screen view dialog modal prompt hint help placeholder title text? message messages error errors msg"
    " reset change changed update updated created rotation rotated algorithm alg algo encoder encoding decoder format header headers prefix suffix version"
    " provider providers store storage manager service ref refs reference arn index idx usage used cost budget window required enabled disabled valid validity"
    " validator validation invalid verified verification verify env var vars variable generator factory class endpoint description desc icon toggle visible"
    " status state mode scope scopes issuer audience metadata meta info config settings options option schema model request response handler callback listener"
    " event events map list array set items pair pairs ring chain pattern regex re mask masked redacted test tests spec example examples docs stdin command cmd"
    " data at by for from in is to of on bits iterations rounds salt salts attempts tries retries manager pool bucket buckets per rate stream streams ized izer"
    " press up down code codes board word words frame frames stroke map pad point points bindings binding space".split()
) - {"text?", "code", "test", "store"}
_PREPOSITIONS = frozenset("at by for from in is of on to".split())
_OTHER_KEYS = tuple(
    "cache primary sort partition public pub foreign idempotency lookup routing index row object group unique"
    " natural hash range s3 bucket feature translation i18n message event sorting registry hot short shortcut map"
    " dict json field column item react view state query param header attr path file doc dedupe dedup etag lock"
    " redis queue topic metric log tag label build turbo nx artifact restore image ssh known host gpg pgp apt rpm"
    " verification verify publishable anon site tracking measurement issue ticket jira next prev first last any"
    " press enter no key".split()
)
"""What stands before "KEY" in the name of something else."""
_OTHER_TOKENS = tuple(
    "page next continuation cursor sync eos bos pad unk sep cls mask special stop max min num total prompt"
    " completion input output cached reasoning used per cancellation cancel abort design color prev peek lookahead".split()
)
_PUBLIC = tuple(
    f"{public}{key}"
    for public in ("public", "pub", "cache")
    for key in ("", "api", "access", "app", "project", "_api", "_access", "_app", "_project")
)
_FUSED_PASS = (
    "db",
    "user",
    "smtp",
    "mail",
    "admin",
    "root",
    "my",
    "sql",
    "proxy",
    "store",
    "key",
    "ftp",
    "rsync",
    "sudo",
    "http",
    "auth",
)


@dataclass(frozen=True, slots=True)
class _Place:
    """The name at ``start`` to ``end``, and how it is written."""

    start: int
    end: int
    capitals: bool
    option: bool


def _place(text: str, name: Name, *, at: int) -> _Place | None:
    word = name.word.match(text, at)
    if word is None:
        return None
    back = _BACK.match(text[max(0, at - 64) : at][::-1])
    on = _ON.match(text, word.end())
    before = back[0][::-1] if back is not None else ""
    after = on[0] if on is not None else ""
    if len(before) == 64 or len(after) == 48 or not _goes_on(word[0], after):
        return None
    if not _is_head(name, before, word=word[0], text=text, at=at):
        return None
    start = at - len(before)
    full = before + word[0] + after
    bare = full.strip("-")
    capitals = bare.isupper() and ("_" in bare or len(bare) >= 6) and not bare.startswith("X-")
    return _Place(start, word.end() + len(after), capitals, full[0] == "-" and len(bare) >= 4)


def _goes_on(word: str, after: str) -> bool:
    """True if what follows the word in its name leaves it the name of a secret."""
    if not after:
        return True
    if after[0].isalpha() and (word[-1].islower() == after[0].islower() or after[0].islower()):
        return False
    return not any(part.lower() in _OTHER_TAILS for part in _WORDS.findall(after))


def _is_head(name: Name, before: str, *, word: str, text: str, at: int) -> bool:
    """True if what stands before the word in its name makes it one: an API key, not a cache key."""
    head = before.rstrip("_-").lower()
    match word.lower():
        case "key":
            return _is_key_head(before, head, text=text, at=at)
        case "token":
            return not head.endswith(_OTHER_TOKENS)
        case "pass":
            fused = before[-1:].isalpha() and before[-1].islower() == word[0].islower()
            return not fused or head.endswith(_FUSED_PASS)
        case "pw" | "pwd":
            camel = word[0].isupper() and before[-1:].islower()
            return camel or not before[-1:].isalpha() or head.endswith(_FUSED_PASS)
        case "secret":
            return not (text[at - 1 : at] == ":" and text[at + 6 : at + 7] == ":")
        case "passe":
            return text[max(0, at - 7) : at].lower() == "mot de "
        case _:
            return name.head is None or bool(name.head.search(before[-8:]))


def _is_key_head(before: str, head: str, *, text: str, at: int) -> bool:
    if not before:
        head = text[max(0, at - 16) : at].lower().rstrip(" ").rpartition("\n")[2]
        return text[at - 1 : at] == " " and head.rpartition(" ")[2] in _KEY_HEADS
    if head.endswith(_KEY_HEADS):
        return not head.endswith(_PUBLIC)
    return before.isupper() and before[-1] == "_" and not head.endswith(_OTHER_KEYS)


# From the name to its value ---------------------------------------------------------------------------------

_Q = r"(?:\\{0,7}[\"'`]|%22|%27|&quot;|&#3[49];)"
_COLOUR = r"(?:(?:\x1b|\\u001[bB]|\\x1[bB]|\\e|\\033)\[[0-9;]{0,12}m){0,3}"
_CLOSED = rf"{_COLOUR}(?P<closed>{_Q})?(?:\*{{2}}|__)?(?:[ ]?\([^()\n]{{1,40}}\)|[ ]\[[^\[\]\n]{{1,40}}\](?=:))?(?:\][ \t]{{0,3}}(?=[=:]))?"
_TYPE = r"(?:\??:[ \t]?[A-Za-z][A-Za-z.| \[\]]{0,40}(?==(?![=>])))?"
_SIGN = rf"[ \t.]{{0,24}}(?P<sign>=>|[:?+]=|=(?![=>~])|:-|:(?![:=])|：|＝|->|→|%3[DdAa]|\|\||\?\?)(?:[ \t]|\*{{2}}|__){{0,12}}{_COLOUR}[ \t]{{0,4}}"
_CELL = r"[ \t]{0,24}(?P<cell>[|│┃])[ \t]{1,40}"
_CALL = rf"(?P<call>\()[ \t]{{0,3}}(?={_Q})"
_COMMA = rf"(?P<comma>,)[ \t]{{0,3}}(?={_Q})"
_PAIR = rf"(?P<pair>[ \t]{{0,3}}(?:,|\r?\n|\\n|[ \t])[ \t\n\r,]{{0,40}}(?:\d{{1,6}}[→|:\t][ \t]{{0,24}})?{_Q}?value{_Q}?[ \t]{{0,3}}[:=][ \t]{{0,3}})"
_BLOCK = r"(?P<block>:[ \t]{0,3}[|>][-+]?[ \t]{0,3}\n[ \t]{1,24})"
_BELOW = r"(?P<below>[:：](?:\*{2})?[ \t]{0,3}(?:\n[ \t]{0,8}(?:```\w{0,8})?){1,3}(?:>[ ]|-[ ])?)"
_SPACE = r"(?P<space>[ \t]{1,8})"
_LINK = (
    r"(?P<link>(?:[ ][^\s.:;=!?,\"'`<>]{1,30}){0,6}?(?:[ ](?:is|was|are|be|becomes|ist|war|wurde[ ]auf|bleibt|lautete?t?|est|sera|es|era|fue|foi|ser[áà]|sarà|é|è|e'|är|er|var|jest|=|to)|['’]s|[ ](?:geändert|gesetzt|chang[ée]e?|cambiad[oa]|cambiat[oa]|alterad[oa]|gewijzigd)[ ](?:auf|en|à|a|in|por|para|naar))"
    r"(?:[ ](?:now|still|currently|just|jetzt|noch|nun|maintenant|ahora|agora|adesso|ora|set[ ]to|changed[ ]to|reset[ ]to))?[ \t]?[:：]?[ \t\n]{1,2})"
)
_EAST = r"(?P<east>(?:[^\x00-\x7f]{0,12}?[ ]?(?:是|为|為|改成了?|成|は|는|은)|[^\x00-\x7f]{1,12}?[ ]?[：:＝=]|(?:[ ][^\x00-\x7f]{1,20}){1,4}[ ]?[：:＝=—–]|(?<=[^\x00-\x7f])[ ]?[—–])[ \t]{0,3})"
_BETWEEN = re.compile(
    rf"{_CLOSED}(?:{_BLOCK}|{_BELOW}|{_TYPE}{_SIGN}|{_CELL}|{_CALL}|{_PAIR}|{_COMMA}|{_LINK}|{_EAST}|{_SPACE})",
    re.IGNORECASE,
)
_ELEMENT = re.compile(r"(?:[ \t][^<>\n]{0,120})?(?P<element>>)[ \t\n]{0,40}")
_ATTRIBUTE = re.compile(r"[\"'](?:[ \t][^<>\n]{0,120})?>[ \t\n]{0,40}(?:<(?:value|string)>[ \t\n]{0,40})?")
_NAMED_ELEMENT = re.compile(
    r"<(?!input|label|select|button|textarea|form|div|span|meta)[\w:-]{1,40}[ \t][^<>\n]{0,80}?\b(?:name|key|property)=[\"'][\w.-]{0,60}$"
)
_PLIST = re.compile(r"</key>[ \t\r\n]{0,40}<string>")

_WRAP = r"(?:(?:Secret\w{0,8}|String|str|bytes|b64decode|Buffer\.from|Some|SecureString)\(|[bBfFrRuU@]{1,2}(?=[\"']))?"
_QUOTED = re.compile(
    rf"{_WRAP}(?P<q>{_Q})(?P<value>(?:(?!(?P=q))(?:\\[^\s]|[^\x00-\x20]))+)(?P<end>(?P=q)|\\|)"
)
_OPEN = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}
_BARE = r"\x00-\x20\"'`\\<>,;&|(){}\[\]"
# Unquoted, a value is first read up to "=" or ":", so that names repeated without end ("token:token:…") cost linear
# time; what else belongs to it is taken along once it is known to be a secret.
_SHORT = re.compile(rf"(?P<value>[^{_BARE}:=]+={{0,2}})")
_REST = re.compile(rf"[^{_BARE}]*")
_TO_END = re.compile(r"(?P<value>[^\x00-\x20\"'`\\]+?)[,;]?[ \t]{0,8}(?=\r?\n|$)")
_FIELDS = re.compile(r"[&;][ ]?[\w.-]+=")
_ENCODED = re.compile(
    r"(?P<value>(?:[A-Za-z0-9._~+/!*-]|%(?!26|3B|22|20|27|7D|2C|0A|0D)[0-9A-Fa-f]{2})+)", re.IGNORECASE
)
_BRACE = re.compile(r"[{}()\[\];]")
_SET = re.compile(r"(?:ENV|setx|SETX|setenv)[ ]$")
_PLAIN = re.compile(r"(?P<value>[^\x00-\x20\"'`\\<>“”„»«「」『』。、，]{4,200})")
_MANY = re.compile(rf"(?P<q>{_Q})(?P<value>[a-z]{{4}}(?:[ ][a-z]{{4}}){{3}})(?P<end>(?P=q))")
_LINE_START = re.compile(
    r"(?:^|\n|\\n)[ \t+>#$│|→\d:-]{0,16}(?:export[ ]|set[ ]|ENV[ ]|-e[ ]|setenv[ ]|env[ ]|declare[ ]-x[ ]|\$env:)?$"
)

_OF_USER = re.compile(r"[A-Za-z][\w.@+-]{0,40}[:/][^/]")
_GIVEN_TO = ("pass", "key", "token", "secret", "cred", "creds", "credential", "credentials", "pat")
_LEAST_OF_OPTION = 10
_PROSE_END = ".,;:!?)*_"
_CLAUSE_END = re.compile(r"[\"'`”»*]{0,3}[ \t]{0,4}(?:[.!,;)|]|\r?\n|\\[nr]|$|[^\x00-\x7f])")
_FIELD_START = re.compile(
    r"(?:^|[\n?&;]|\w=[^\s;&]{0,40}[ ]|[ ]--[\w-]{1,30}=|[ ](?:-e|--env|--extra-vars|--build-arg|--set)[ ][\"']?)[\w.-]{0,40}$"
)
_FIELD_END = re.compile(r"[\"']?(?:\r?\n|$|[&;]|[ ][\w.-]{1,30}=)|[\"'](?=[\s/>,;)\]}])")
_OF_SECTION = re.compile(r"(?m:^)\[[\w .:/-]{1,60}\][ \t]*\r?\n(?:[\w#;][^\n()\[\]{}]*\n|[ \t]*\n){0,20}$")
_SETTING = re.compile(
    r"[ \t]*(?:[#;][^\n]*|[\w.-]+[ \t]*[=:][ \t]*[^\n(){}\[\];]*|\[[^\[\]\n]*\][ \t]*)?\r?(?:\n|$)"
)
_LINE_END = re.compile(r"[ \t]*\r?(?:\n|$)")
_NEXT_FIELD = re.compile(r"[ ][\w.-]{1,30}=[^\s=]")
_COMMAND = re.compile(r"[ ](?!(?:and|or|if|else|for|is|in|when|with)[ ])[a-z][\w./-]{1,40}(?:[ ]|\r?\n|$)")
_COMMAND_START = re.compile(r"(?:^|\n|[$#>|;&][ ])$")
_SET_TO = re.compile(r"(?:set|changed|reset|updated)[ ]to[ ]?$", re.IGNORECASE)
_SETS = re.compile(r"(?:set|changed?|reset|updated?)[ ](?:[\w']{1,16}[ ]){0,3}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Value:
    start: int
    end: int
    trust: Trust
    word: bool = False
    """It is quoted after "the password is": a word will do."""
    more: bool = False
    """What follows up to the next blank belongs to it."""


_ANCHORS = frozenset(name.anchor for name in NAMES)
_ORDER = tuple(enumerate(NAMES))
_BY_ANCHOR = {anchor: tuple(row for row in _ORDER if row[1].anchor == anchor) for anchor in _ANCHORS}
_FOREIGN = tuple(row for row in _ORDER if not row[1].anchor.isascii())


def find_named(source: Source) -> Iterator[Span]:
    """The values of the names in the table, in its order."""
    rows = [row for anchor in source.places.keys() & _ANCHORS for row in _BY_ANCHOR[anchor]]
    # A letter that Latin-1 cannot write is "?" in the lower-case text: without two of them there is no foreign name.
    if b"??" in source.lower:
        rows += _FOREIGN
    for _, name in sorted(rows, key=itemgetter(0)):
        yield from _named(source, name)


def _named(source: Source, name: Name) -> Iterator[Span]:
    done = 0
    for at in source.positions(name.anchor):
        place = _place(source.text, name, at=at) if at >= done else None
        found = next(_accepted(source.text, name, place=place), None) if place is not None else None
        if found is not None:
            rest = _REST.match(source.text, found.end) if found.more else None
            done = found.end if rest is None else _without_dots(source.text, found.start, end=rest.end())
            yield Span(start=found.start, end=done, kind=name.kind)


def _accepted(text: str, name: Name, *, place: _Place) -> Iterator[_Value]:
    # "creds: user:secret" and "user/password: …" are read by a form, which leaves the user.
    paired = name.anchor == "cred" or text[place.start - 1 : place.start] == "/"
    least = min(name.least, _LEAST_OF_OPTION) if place.option else name.least
    for value in _candidates(text, place):
        if paired and value.trust is Trust.STATED and _OF_USER.match(text, value.start, value.end):
            continue
        if _is_secret(text[value.start : value.end], value, least=least) or (
            not least and _is_stated_word(text, value, place=place)
        ):
            yield value


def _is_secret(text: str, value: _Value, *, least: int) -> bool:
    if least:
        return is_key(text, value.trust, least=least)
    return is_password(text, value.trust) or (value.word and is_word_password(text))


def _is_stated_word(text: str, value: _Value, *, place: _Place) -> bool:
    """True for letters alone at a place where nothing but a password would stand."""
    if not is_word(text[value.start : value.end]):
        return False
    if value.trust >= Trust.LITERAL:
        return True
    if value.trust is Trust.STATED:
        return bool(_CLAUSE_END.match(text, value.end))
    # In code the right side of "=" is a name: without blanks at the beginning of a line, among its like or in a section, it is none.
    is_field = text[value.start - 1 : value.start] == "=" and _FIELD_START.search(
        text, max(0, place.start - 60), place.start
    )
    if not is_field and text[place.start - 1 : place.start] in ("", "\n"):
        is_field = _OF_SECTION.search(text, max(0, place.start - 600), place.start)
    return bool(is_field and _FIELD_END.match(text, value.end)) or _is_setting(text, value, place=place)


def _is_setting(text: str, value: _Value, *, place: _Place) -> bool:
    """True for the value of ``db_password`` among settings, or before a command: on a line whose neighbours are no code."""
    if "_" not in text[place.start : place.end]:
        return False
    if text[value.start - 1] == "=" and _COMMAND.match(text, value.end):
        return bool(_COMMAND_START.search(text, max(0, place.start - 20), place.start))
    start = text.rfind("\n", max(0, place.start - 20), place.start) + 1
    if text[start : place.start].strip(" \t") or not _LINE_END.match(text, value.end):
        return False
    before = text.rfind("\n", max(0, start - 300), max(0, start - 1)) + 1
    after = text.find("\n", value.end, value.end + 20)
    return bool(_SETTING.match(text, before, max(before, start - 1))) and (
        after < 0 or bool(_SETTING.match(text, after + 1, after + 300))
    )


def _candidates(text: str, place: _Place) -> Iterator[_Value]:
    """What may be the value of the name, the longest reading first."""
    if text[place.start - 1 : place.start] in ("<", ":") and (element := _ELEMENT.match(text, place.end)):
        yield from _bare(text, element.end(), trust=Trust.LITERAL)
        return
    if (content := _content(text, place)) is not None:
        yield from _bare(text, content, trust=Trust.LITERAL)
    if (between := _BETWEEN.match(text, place.end, place.end + 700)) is not None:
        yield from _after(text, place, between=between)


def _content(text: str, place: _Place) -> int | None:
    """Where the content of an element begins whose attribute or whose neighbour has the name."""
    form = _PLIST if text[place.end : place.end + 1] == "<" else _ATTRIBUTE
    found = form.match(text, place.end)
    if found is None:
        return None
    if form is _ATTRIBUTE and not _NAMED_ELEMENT.search(text, max(0, place.start - 200), place.start):
        return None
    return found.end()


def _after(text: str, place: _Place, *, between: re.Match[str]) -> Iterator[_Value]:
    """What may be the value, by what stands between name and value."""
    at, form = between.end(), between.lastgroup
    # "PASS" alone is what a test did: only an assignment makes it a name.
    if form in ("cell", "space", "below", "comma") and text[place.start : place.end].lower() == "pass":
        return
    match form:
        case "link":
            yield from _linked(text, place, link=between["link"], at=at)
        case "east":
            yield from _said(text, at, trust=Trust.STATED)
        case "call":
            yield from _quoted(text, at, trust=Trust.ENVIRONMENT if place.capitals else Trust.LITERAL)
        case "comma":
            trust = Trust.ENVIRONMENT if place.capitals else Trust.CODE
            yield from _quoted(text, at, trust=trust) if between["closed"] else ()
        case "space":
            yield from _spaced(text, place, at=at)
        case "cell" | "below":
            yield from _alone(text, at)
        case _:
            yield from _assigned(text, place, at=at, sign=between["sign"] or "")


def _linked(text: str, place: _Place, *, link: str, at: int) -> Iterator[_Value]:
    """What a sentence says the name is, unless the sentence is about its hash, length or the like."""
    subject = link.split(None, 1)[0].lower()
    if subject in _OTHER_TAILS - _PREPOSITIONS:
        return
    # "A pass" may be one of a test or a compiler, and things are passed and keys added to others.
    own = text[place.start : place.end].lower()
    goal = link.rstrip().endswith(" to")
    if goal and own.endswith(_GIVEN_TO):
        return
    sure = own != "pass" and not goal
    stated = sure or _SETS.search(text, max(0, place.start - 60), place.start) or _SET_TO.search(link)
    yield from _said(
        text, at, trust=Trust.STATED if stated else Trust.CODE if goal else Trust.LINE, word=sure
    )


def _assigned(text: str, place: _Place, *, at: int, sign: str) -> Iterator[_Value]:
    literal = Trust.ENVIRONMENT if place.capitals else Trust.LITERAL
    yield from _quoted(text, at, trust=literal)
    if sign[:1] == "%":
        yield from _matched(_ENCODED.match(text, at), Trust.LINE)
    elif sign not in ("||", "??"):
        trust = Trust.LINE if sign == "=" else Trust.STATED
        trust = literal if place.capitals or place.option else trust
        if _LINE_START.search(text, max(0, place.start - 40), place.start):
            whole = _TO_END.match(text, at)
            yield from _matched(whole if whole is None or not _FIELDS.search(whole["value"]) else None, trust)
        yield from _bare(text, at, trust=trust)
        if text[place.start - 1] in "?&":  # a query has no variables
            yield from _bare(text, at, trust=Trust.STATED)


def _matched(match: re.Match[str] | None, trust: Trust) -> Iterator[_Value]:
    if match is not None:
        yield _Value(
            match.start("value"),
            _without_dots(match.string, match.start("value"), end=match.end("value")),
            trust,
        )


def _without_dots(text: str, start: int, *, end: int) -> int:
    """The end of a value without the ellipsis of whoever shortened it."""
    return start + len(stripped(text[start:end]))


def _quoted(text: str, at: int, *, trust: Trust, word: bool = False) -> Iterator[_Value]:
    groups = _MANY.match(text, at)
    if groups is not None and not word:
        yield _Value(*groups.span("value"), Trust.ENVIRONMENT)
    match = _QUOTED.match(text, at)
    if match is None:
        return
    start, end = match.span("value")
    if match["end"] or end == len(text) or stripped(match["value"]) != match["value"]:
        yield _Value(start, _without_dots(text, start, end=end), trust, word)


def _bare(text: str, at: int, *, trust: Trust) -> Iterator[_Value]:
    match = _SHORT.match(text, at)
    if match is None:
        return
    start, end = match.span("value")
    following = text[end : end + 1]
    if following in ("(", "[") or (following == ":" and text[end + 1 : end + 2] == ":"):
        return
    if (trust is Trust.LINE and following in (",", ")", " ", "\t") and not _NEXT_FIELD.match(text, end)) or (
        trust is Trust.STATED and following in (",", ")")
    ):
        trust = Trust.CODE
    yield _Value(start, _without_dots(text, start, end=end), trust, more=following in (":", "="))


def _said(text: str, at: int, *, trust: Trust, word: bool = True) -> Iterator[_Value]:
    """A value in a sentence: quoted, or up to the next blank without the sentence's own signs."""
    close = _OPEN.get(text[at : at + 1])
    if close is not None and (end := text.find(close, at + 1, at + 200)) > 0:
        yield _Value(at + 1, end, Trust.LITERAL, word=word)
        return
    yield from _quoted(text, at, trust=Trust.LITERAL, word=word)
    match = _PLAIN.match(text, at)
    if match is not None:
        start, end = match.span("value")
        value = stripped(match["value"])
        ascii_only = next((i for i, char in enumerate(value) if ord(char) > 0x2E7F), len(value))
        yield _Value(start, start + len(_without_end(value[:ascii_only])), trust)


def _without_end(value: str) -> str:
    """A value without the signs of the sentence; an exclamation mark after a digit is its own."""
    own = value.rstrip(_PROSE_END)
    return f"{own}!" if value[len(own) :].startswith("!") and own[-1:].isdigit() else own


def _alone(text: str, at: int) -> Iterator[_Value]:
    """A value that has the line or the cell for itself."""
    yield from _quoted(text, at, trust=Trust.LITERAL)
    match = _PLAIN.match(text, at)
    if match is not None and text[match.end() : match.end() + 40].lstrip(" \t")[:1] in (
        "",
        "|",
        "│",
        "┃",
        "\n",
        "\r",
    ):
        yield from _matched(match, Trust.STATED)


def _spaced(text: str, place: _Place, *, at: int) -> Iterator[_Value]:
    """After a blank: the value of an option, of Dockerfile's ENV, of SQL's PASSWORD, or what cannot be a word."""
    if place.option:
        yield from _quoted(text, at, trust=Trust.LITERAL)
        yield from _bare(text, at, trust=Trust.LITERAL)
    elif place.capitals and _SET.search(text, max(0, place.start - 8), place.start):
        yield from _quoted(text, at, trust=Trust.ENVIRONMENT)
        yield from _bare(text, at, trust=Trust.ENVIRONMENT)
    elif not text[place.start].isascii():
        yield from _said(text, at, trust=Trust.STATED, word=False)
    else:
        yield from (value for value in _quoted(text, at, trust=Trust.LITERAL) if text[at] in "'`\"")
        match = _PLAIN.match(text, at)
        if match is not None:
            value = stripped(match["value"]).rstrip(_PROSE_END)
            if (
                not _BRACE.search(value)
                and len(value) >= 8
                and mixed(value)
                and (random_looking(value) or has_symbol(value))
            ):
                yield _Value(at, at + len(value), Trust.CODE)
