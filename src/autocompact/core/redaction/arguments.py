"""Passwords that only their place among the arguments of a call or in a data source name gives away, as a table."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import form, given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    Trust,
    is_common,
    is_dotted_password,
    is_password,
    is_reference,
    is_strong,
)
from autocompact.core.redaction.words import is_word

_TEXT = r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
_OTHER = rf"(?:{_TEXT}|[$\w.\[\]'\"-]{{1,80}})"
_SECRET = r"(?P<q>[\"'])(?P<s>(?:(?!(?P=q))[^\n]){4,200})(?P=q)"
_NEXT = r"[ ]?,[ \n]{0,20}"


def _argument(value: str) -> bool:
    """True for a literal that is no default, no placeholder and no word about passwords."""
    if not given(value) or is_common(value) or " " in value:
        return False
    if is_reference(value) and not is_dotted_password(value):
        return False
    return is_password(value, Trust.LITERAL) or is_word(value)


def _call(
    anchor: str, *, before: int, examples: tuple[str, ...], others: tuple[str, ...] = (), text: bool = False
) -> Form:
    """A row for a call whose name ends at ``anchor``, with a password after ``before`` other arguments."""
    first = _NEXT.join([_TEXT if text else _OTHER] * before)
    return form(
        "password",
        anchor,
        pattern=rf"{re.escape(anchor)}[ \n]{{0,20}}{first}{_NEXT}{_SECRET}",
        examples=examples,
        others=others,
        accept=_argument,
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
        examples=("smtp.login('bob@acme.dev', '«<a10>»')",),
        others=("smtp.login(user, password)", 'session.login("bob", "welcome page")', "x.login('a', 'b')"),
    ),
    _call(
        "auth=(",
        before=1,
        text=True,
        examples=("requests.get(url, auth=('bob', '«moonlight»'))",),
        others=("auth=('user', 'pass')", "auth=(user, password)"),
    ),
    form(
        "password",
        "-securestring ",
        pattern=rf"-securestring[ ](?:-string[ ])?{_SECRET}",
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
        pattern=rf"{re.escape(anchor)}[\w.]{{0,20}}\([^()\n\"']{{0,60}}(?:\{{[^{{}}\n]{{0,120}}\}}[^()\n\"']{{0,20}})?(?:[\"'][\w-]{{1,20}}[\"'],[ ]?)?(?:Buffer\.from\()?b?[\"'](?P<s>[^\s\"']{{16,200}})[\"']",
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
            "aes.",
            ".connect",
            "signin",
            "configure",
        )
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
            f"{anchor}'Q7K2WZ0F9A', '«<h32>')".replace("')", "»')"),
            f'{anchor}"acme", "«<a32>")'.replace('")', '»")'),
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
