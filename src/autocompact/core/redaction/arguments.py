"""Passwords that only their place among the arguments of a call or in a data source name gives away, as a table."""

from __future__ import annotations

import re
from collections.abc import Callable

from autocompact.core.redaction.building import form, given, made_up
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    Trust,
    is_chosen,
    is_common,
    is_dotted_password,
    is_password,
    is_reference,
    is_strong,
    mixed,
    random_looking,
    wordlike,
)
from autocompact.core.redaction.words import is_word

_ALPHABET = re.compile(r"abcd|0123|1234|qwer", re.IGNORECASE)
_TEXT = r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
_OTHER = rf"(?:{_TEXT}|[$\w.\[\]'\"-]{{1,80}})"
_SECRET = r"(?P<q>[\"'])(?P<s>(?:(?!(?P=q))[^\n]){4,200})(?P=q)"
_NEXT = r"[ ]?,[ \n]{0,20}"


_OF_AN_APP = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}$")
"""A password that a provider of mail makes for one program, in groups as it is shown."""


def _argument(value: str) -> bool:
    """True for a literal that is no default, no placeholder and no word about passwords."""
    if not given(value) or is_common(value) or (" " in value and not _OF_AN_APP.match(value)):
        return False
    if " " in value:
        return True
    if is_reference(value) and not is_dotted_password(value):
        return False
    return is_password(value, Trust.LITERAL) or is_word(value)


def _call(
    anchor: str,
    *,
    before: int,
    examples: tuple[str, ...],
    others: tuple[str, ...] = (),
    text: bool = False,
    accept: Callable[[str], bool] = _argument,
) -> Form:
    """A row for a call whose name ends at ``anchor``, with a password after ``before`` other arguments."""
    first = _NEXT.join([_TEXT if text else _OTHER] * before)
    return form(
        "password",
        anchor,
        pattern=rf"{re.escape(anchor)}[ \n]{{0,20}}{first}{_NEXT}{_SECRET}",
        examples=examples,
        others=others,
        accept=accept,
        ahead=900,
    )


_CALLS = (
    _call(
        "mysqli(",
        before=2,
        examples=("new mysqli('db', 'shop', '«moonlight»', 'shop');",),
        others=("new mysqli($host, $user, $pass, $db)", "new mysqli('db', 'shop', 'password', 'shop')"),
    ),
    _call("mysqli_connect(", before=2, examples=('mysqli_connect("db", "shop", "«<a10>»")',)),
    _call(
        "pdo(",
        before=2,
        examples=("new PDO('mysql:host=db;dbname=shop', 'shop', '«<a10>»');",),
        others=("new PDO($dsn, $user, $password)",),
    ),
    _call(
        "getconnection(",
        before=2,
        examples=('DriverManager.getConnection("jdbc:mysql://db/shop", "svc", "«<a10>»")',),
        others=("DriverManager.getConnection(url, user, password)",),
    ),
    _call(
        "networkcredential(",
        before=1,
        examples=('new NetworkCredential("bob", "«moonlight»")',),
        others=("new NetworkCredential(userName, password)",),
    ),
    _call("passwordcredentials(", before=1, examples=('new UsernamePasswordCredentials("bob", "«<a10>»")',)),
    _call(
        "basicauth(",
        before=1,
        examples=("HTTPBasicAuth('bob', '«moonlight»')", 'req.SetBasicAuth("bob", "«<a10>»")'),
        others=(
            "BasicAuth(user, password)",
            "HTTPBasicAuth('user', 'pass')",
            'basicAuth("bob", "settings.smtp.port9")',
        ),
    ),
    _call("basic_auth(", before=1, examples=('page.basic_auth("bob", "«<a10>»")',)),
    _call(".basic(", before=1, text=True, examples=('Auth.basic("bob", "«<a10>»")',)),
    _call(".auth(", before=1, text=True, examples=('request.auth("bob", "«<a10>»")',)),
    _call(".connect(", before=2, text=True, examples=('db.connect("db", "shop", "«<a10>»", "x")',)),
    _call(
        ".login(",
        before=1,
        text=True,
        examples=(
            "smtp.login('bob@acme.dev', '«<a10>»')",
            'smtp.login("bob@acme.dev", "«czkf srur gihb hyau»")',
        ),
        others=("smtp.login(user, password)", 'session.login("bob", "welcome page")', "x.login('a', 'b')"),
    ),
    _call(
        "auth=(",
        before=1,
        text=True,
        examples=("requests.get(url, auth=('bob', '«moonlight»'))",),
        others=("auth=('user', 'pass')", "auth=(user, password)"),
    ),
    *(
        _call(
            anchor,
            before=before,
            examples=(f"x{anchor}{first}'«<a10>!x»')",),
            others=(f"x{anchor}{first}password)", f"x{anchor}{first}'password')"),
        )
        for anchor, before, first in (
            ("digestauth(", 1, "'bob', "),
            ("ntlmauth(", 1, "'bob', "),
            ("changeuserpassword(", 1, "'bob', "),
            ("create_user(", 2, "'bob', 'b@acme.dev', "),
            ("create_superuser(", 2, "'bob', 'b@acme.dev', "),
            ("emailandpassword(", 1, "'b@acme.dev', "),
            ("emailandpassword(", 2, "auth, 'b@acme.dev', "),
            ("withpassword(", 1, "'b@acme.dev', "),
            ("sequelize(", 2, "'shop', 'bob', "),
            (".smtp(", 1, "'b@acme.dev', "),
            (".ftp(", 2, "'h', 'bob', "),
            ("database(", 2, "'hr', 'bob', "),
            ("oci_connect(", 1, "'scott', "),
            ("oci_pconnect(", 1, "'scott', "),
            ("ftp_login(", 2, "$c, 'bob', "),
            ("imap_open(", 2, "$box, 'b@acme.dev', "),
            ("ldap_bind(", 2, "$ds, 'cn=bob,dc=x', "),
            ("auth_password(", 2, "$c, 'bob', "),
            ("plainauth(", 2, "'', 'b@acme.dev', "),
            ("username_pw_set(", 1, "'sensor', "),
            ("authentication(", 1, "'bob', "),
            ("credential(", 1, "'bob', "),
            ("withbasicauth(", 1, "'bob', "),
            ("withcredentials(", 1, "'bob', "),
            ("setcredentials(", 1, "'bob', "),
            ("authenticateuser(", 1, "'bob', "),
        )
    ),
    *(
        _call(
            anchor,
            before=before,
            examples=(f"x{anchor}{first}'«<a10>!x»')",),
            others=(
                f"x{anchor}{first}password)",
                f"x{anchor}{first}'handler_v2')",
                f"x{anchor}{first}'title')",
            ),
            accept=made_up,
        )
        for anchor, before, first in (
            ("__construct(", 1, "'bob', "),
            ("__construct(", 2, "$dsn, 'bob', "),
            (".login(", 1, "SENDER, "),
            (".connect(", 1, "'HomeNet', "),
            (".connect(", 2, "host, user, "),
            (".connect(", 3, "host, 22, 'bob', "),
            ("ftp.open(", 2, "'h', 'bob', "),
            (".begin(", 1, "'HomeNet', "),
            (".bind(", 1, "'cn=bob,dc=x', "),
            ("simple_bind(", 1, "'cn=bob,dc=x', "),
            ("bind_s(", 1, "'cn=bob,dc=x', "),
            ("authenticate(", 1, "'bob', "),
            ("credentials.add(", 1, "'bob', "),
            ("signin(", 1, "'bob', "),
            ("sign_in(", 1, "'bob', "),
            ("logon(", 1, "'bob', "),
            ("createuser(", 1, "'bob', "),
        )
    ),
    form(
        "password",
        ".login(",
        pattern=r"\.login\([ \n]{0,20}[$\w.\[\]'\"-]{1,80}[ ]?,[ \n]{0,20}(?P<q>[\"'])(?P<s>[a-z]{16})(?P=q)",
        examples=('server.login(SENDER, "«qcxpdqlqwdcpdjzc»")',),
        others=('server.login(SENDER, "internationalize")', "server.login(SENDER, password)"),
        accept=random_looking,
    ),
    form(
        "password",
        ".tochararray(",
        pattern=r"\.tochararray\(",
        line=r"(?P<q>[\"])(?P<s>[^\s\"]{4,100})(?P=q)$",
        examples=('keyStore.load(in, "«<a10>!x»".toCharArray());', 'auth("bob", "«<a12>»".toCharArray())'),
        others=(
            '"0123456789abcdef".toCharArray()',
            '"hello2".toCharArray()',
            '"abcdefghijk0123456789".toCharArray()',
        ),
        accept=lambda value: made_up(value) and not _ALPHABET.search(value),
    ),
    form(
        "password",
        "{noop}",
        pattern=r"\{noop\}(?P<s>[^\s\"'`]{4,100})",
        examples=('.password("{noop}«<a10>»")', "password: '{noop}«moonlight»'"),
        others=("{noop} is a prefix", '"{noop}password"', '"{noop}" + password'),
        accept=given,
    ),
    form(
        "password",
        "crypt(",
        pattern=r"crypt\([ ]?['\"](?P<s>[^\s'\"]{4,200})['\"][ ]?,",
        line=r"(?:^|[^\w.]|\.)$",
        examples=("WHERE pw = crypt('«<a10>!x»', pw)",),
        others=("crypt('password', pw)", "crypt(password, gen_salt('bf'))"),
        accept=lambda value: made_up(value) or is_chosen(value, beside=True),
    ),
    form(
        "password",
        "-securestring ",
        pattern=rf"-securestring[ ](?:-(?:string|asplaintext|force)[ ]){{0,3}}(?:{_SECRET}|(?P<t>[^\s\"'$()|;-][^\s\"'$()|;]{{3,200}}))",
        examples=(
            "ConvertTo-SecureString 'moonlight' -AsPlainText -Force".replace("moonlight", "«moonlight»"),
            'ConvertTo-SecureString -String "«<a10>!»" -AsPlainText',
        ),
        others=('Read-Host -AsSecureString "Password"', "ConvertTo-SecureString $Password -AsPlainText"),
        accept=_argument,
    ),
)

_HEX = re.compile(r"(?=[0-9]{0,31}[a-f])[0-9a-f]{32,}", re.IGNORECASE)


def _crypto(anchor: str, *, examples: tuple[str, ...], hexadecimal: bool = True) -> Form:
    """A row for a call of cryptography, whose first or second text is the key."""
    return form(
        "secret value",
        anchor,
        pattern=rf"{re.escape(anchor)}[\w.]{{0,20}}\([^()\n\"']{{0,60}}(?:\{{[^{{}}\n]{{0,120}}\}}[^()\n\"']{{0,20}})?(?:[\"'][^\s\"'()]{{1,60}}[\"'],[ ]?){{0,3}}(?:Buffer\.from\()?b?[\"'](?P<s>[^\s\"']{{16,200}})[\"']",
        examples=examples,
        others=(f"{anchor}(payload, 'the-name-of-some-algorithm-2')", f"{anchor}(key, data)"),
        accept=lambda value: is_strong(value) or (hexadecimal and bool(_HEX.fullmatch(value))),
        ahead=500,
    )


_CRYPTOGRAPHY = (
    *(
        _crypto(anchor, examples=(f"{anchor}('«<a32>»')",), hexadecimal=False)
        for anchor in (
            ".login",
            "bot.run",
            "bot",
            "cookieparser",
            ".init",
            ".connect",
            "signin",
            "configure",
            "updater",
            "posthog",
            ".auth",
            "bearerauth",
            "twilio",
            "zotero",
            "canvas",
            "rollbar",
        )
    ),
    form(
        "encryption key",
        "aes.",
        pattern=r"aes\.[\w.]{0,20}\((?:[^()\n\"']{1,60},[ ]?)?b?[\"'](?P<s>(?:[^\s\"']{16}|[^\s\"']{24}|[^\s\"']{32}))[\"']",
        examples=(
            "AES.new(b'«<a16>', AES.MODE_CBC, iv)".replace("', AES", "»', AES"),
            "AES.encrypt(text, '«<a32>»')",
        ),
        others=("aes.encrypt(payload, 'the-name-of-a-k2')", "aes.new(key, 'mode_of_the_blocks')"),
        accept=lambda value: mixed(value) and random_looking(value) and wordlike(value) < 0.5,
    ),
    form(
        "secret value",
        "cookiesession(",
        pattern=r"cookiesession\(\s{0,8}\{[^{}]{0,120}?keys:\s{0,4}\[\s{0,8}[\"'](?P<s>[^\s\"']{12,200})[\"']",
        examples=("cookieSession({ name: 's', keys: ['«<a32>'] })".replace("']", "»']"),),
        others=("cookieSession({ keys: [process.env.KEY] })",),
        accept=given,
    ),
    _crypto("jwt.", examples=("jwt.sign({id: 1}, '«<a40>', {expiresIn: '1h'})".replace("',", "»',", 1),)),
    _crypto(".sign", examples=('signer.sign(payload, "«<a40>»")',), hexadecimal=False),
    _crypto("hmac", examples=("hmac.new(b'«<a32>»', msg, sha256)", "createHmac('sha256', '«<a40>»')")),
    _crypto("fernet", examples=("Fernet(b'«<a43>='»)".replace("='»", "=»'"),)),
    _crypto("cipher", examples=("createCipheriv('aes-256-cbc', '«<a32>»', iv)",)),
    _crypto("encrypt", examples=("CryptoJS.AES.encrypt(text, '«<a32>»')",), hexadecimal=False),
    _crypto("decrypt", examples=("decrypt(text, '«<a32>»')",), hexadecimal=False),
)

_CLIENTS = tuple(
    form(
        "API key",
        anchor,
        pattern=rf"{re.escape(anchor)}\s{{0,20}}[\"'][\w.@-]{{4,60}}[\"'],\s{{0,20}}[\"'](?P<s>[\w+/=.~-]{{20,200}})[\"']",
        examples=(
            f"{anchor}'Q7K2WZ0F9A', '«<h32>»')",
            f'{anchor}"acme", "«<a32>»")',
        ),
        others=(f"{anchor}'Q7K2WZ0F9A', 'the-name-of-some-index-2')", f"{anchor}id, key)"),
        accept=lambda value: is_strong(value) or bool(_HEX.fullmatch(value)),
    )
    for anchor in (
        "search(",
        "client(",
        "connect(",
        "init(",
        "initialize(",
        "configure(",
        "setup(",
        "api(",
        "sdk(",
        "twilio(",
        "twilio')(",
        'twilio")(',
        "mailgun(",
        "vonage(",
        "nexmo(",
        "algolia(",
        "credentials(",
    )
)

_SOURCES = (
    *(
        form(
            "password",
            anchor,
            pattern=re.escape(anchor),
            line=r"[\w.-]{1,60}:(?P<s>[^\s:@/\"'`]{4,100})$",
            examples=(f'sql.Open("mysql", "svc:«moonlight»{anchor}db:3306)/shop")',),
            others=(f"user:password{anchor}db:3306)/shop", f"$USER:$PASS{anchor}db)"),
            accept=given,
        )
        for anchor in ("@tcp(", "@unix(")
    ),
    form(
        "password",
        "static:",
        pattern=r"static:[a-z][\w.@-]{0,40}:(?P<s>[^\s:/\"'`|]{5,100})(?=[\"'`,;]?(?:\s|$))",
        line=r"(?:^|[\s\"'=:,])$",
        examples=("users: static:bob:«moonlight»", "--basic-auth static:bob:«<a10>»"),
        others=("static:css:main", "resource static:assets:images", "static:admin:required"),
        accept=lambda value: given(value) and (is_word(value) or is_password(value, Trust.STATED)),
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}:[\w*-]+:[\w*.@-]+:(?P<s>[^\s\"'`]{{3,200}})",
            line=r"[\w*-]$",
            examples=(f"db.internal{anchor}:shop:svc:«<a14>»", f"pool{anchor}:*:svc:«moonlight»"),
            others=(f"http://h{anchor}/a:b:c", f"db{anchor}:shop:svc:$PASS"),
            accept=given,
        )
        for anchor in (":5433", ":5434", ":6432", ":6543")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}[ ](?P<s>[A-Za-z0-9+/]{{6,400}}={{0,2}})(?=[\r\n]|$)",
            line=r"(?m:^)[ \t]*$",
            examples=(f"{anchor} «bW9vbmxpZ2h0OTk=»",),
            others=(f"{anchor} is set", f"{anchor}"),
        )
        for anchor in ("userpassword::", "unicodepwd::")
    ),
)

ARGUMENTS: tuple[Form, ...] = (*_CALLS, *_CLIENTS, *_CRYPTOGRAPHY, *_SOURCES)
