"""Secrets that their surroundings give away (a URL, a header, an option of a program), as a table, and the search for them."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from autocompact.core.redaction.arguments import ARGUMENTS
from autocompact.core.redaction.building import QUOTE, VALUE, dense, form, given, program, stated
from autocompact.core.redaction.codes import CODES
from autocompact.core.redaction.command_lines import COMMAND_LINES
from autocompact.core.redaction.commands import COMMANDS
from autocompact.core.redaction.encoded import ENCODED
from autocompact.core.redaction.entries import ENTRIES
from autocompact.core.redaction.outputs import OUTPUTS
from autocompact.core.redaction.pairs import PAIRS
from autocompact.core.redaction.printed import PRINTED
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.settings import SETTINGS
from autocompact.core.redaction.shapes import SHAPES
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.spoken import SPOKEN
from autocompact.core.redaction.statements import STATEMENTS
from autocompact.core.redaction.tokens import TOKENS
from autocompact.core.redaction.urls import URLS
from autocompact.core.redaction.values import (
    Trust,
    entropy,
    is_password,
    is_placeholder,
    is_reference,
    mixed,
    random_looking,
    stripped,
    wordlike,
)
from autocompact.core.redaction.vendors import VENDORS
from autocompact.core.redaction.words import is_word


def _literal(value: str) -> bool:
    return is_password(value, Trust.LITERAL)


def _basic(value: str) -> bool:
    """True for base64 of ``user:password``."""
    value = stripped(value)
    try:
        user, colon, password = b64decode(value[: len(value) // 4 * 4], validate=True).decode().partition(":")
    except (Error, ValueError):
        return False
    return bool(user and colon and password) and (user + password).isprintable()


def _authorization(value: str) -> bool:
    value = stripped(value)
    if len(value) < 8:
        return False
    folds = value[1:] not in (value[1:].lower(), value[1:].upper())
    encoded = value[-1] == "=" and not value[:-1].isalpha()
    return (folds or encoded or (mixed(value) and len(value) >= 16)) and not is_placeholder(value)


_NAMES = re.compile(r"\$[A-Za-z_]{3}\w{0,40}|\$?\{[^{}]{1,60}\}|%(?:\(\w{1,30}\))?[sdr]")
"""What a program puts a value in for, or looks like it: what is left of a token without these is judged."""
_SIGN = re.compile(r"[!#$&*@^?(){}<>]|%(?![0-9A-Fa-f]{2})")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z0-9]")
_OPERATORS = re.compile(r"[\w.()+*/%^=<>&|!~-]+$")
_KEYBOARD = re.compile(
    r"(?:^|[+&])(?:ctrl|control|shift|alt|altgr|option|cmd|command|meta|super|win|fn|f\d{1,2})(?:[+&]|$)",
    re.IGNORECASE,
)


def _is_expression(value: str) -> bool:
    """True for arithmetic and comparisons of short names, words and numbers: ``x1*y2^3+z3``."""
    operands = re.findall(r"\w+", value)
    return bool(_OPERATORS.match(value)) and all(
        len(each) < 3 or each.isdecimal() or wordlike(each) >= 0.5 for each in operands
    )


def _signed(value: str) -> bool:
    """True for a token with signs that no library puts into one, in an order that only chance makes.

    Addresses, arithmetic, names of keys (``Ctrl+F12``) and anchors of pages have such signs between words and numbers.
    """
    value = _NAMES.sub("", stripped(value))
    if len(value) < 12 or not value.isascii() or not mixed(value) or not _SIGN.search(value):
        return False
    if entropy(value) < 3 or 2 * len(_PARTS.findall(value)) < len(value) or wordlike(value) >= 0.5:
        return False
    return not (
        is_placeholder(value) or is_reference(value) or _is_expression(value) or _KEYBOARD.search(value)
    )


_BEGINNING = re.compile(r"(?:\w{1,20}:)?[A-Za-z0-9._~+/=-]*")


def _carried(value: str) -> bool:
    """True for what stands in quotes behind ``Bearer``, up to their end: its beginning is a token, or all of it is."""
    beginning = _BEGINNING.match(value)
    return _signed(value) or (beginning is not None and dense(beginning[0]))


_MORE = r"(?:(?:[!#%*@^?]|&(?!\w{1,30}=)|\$(?![A-Za-z_{(]{3}))[A-Za-z0-9._~+/=:-]{0,40}+){0,16}+"
"""Behind the beginning of a token: signs and what follows them, but for the next field of a query, and a variable.

It is bounded: where ``bearer:…!`` repeats without end, each would otherwise be read up to the last.
"""

_WITH_SIGNS = r"(?!\w{1,40}=)(?P<s>[A-Za-z0-9._~+/=-][^\s\"'`<>\\{}()]{11,300}+)(?=\\?[\"'\s]|\Z)"
"""A value without quotes around it."""

_ESCAPED = r"\\(?=[!#$%&*@^?(){}<>])"
_END = r"(?=\\{0,7}[\"'`]|\\[rn]|(?<![,;.:])\s|\Z)"


def _up_to(quote: str, name: str) -> str:
    """A pattern (group ``name``) for a value in quotes, up to the closing one: inside them nothing else ends it."""
    return rf"(?!\w{{1,40}}=[\"'\\])(?P<{name}>(?:(?!{quote})[^\s\\]|{_ESCAPED}){{12,300}}+){_END}"


def _quoted_behind(before: str) -> str:
    """A pattern for a value behind ``before``, up to the quote that stands in front of ``before``."""
    return "|".join(
        rf"(?<={quote}){before}{_up_to(quote, name)}" for quote, name in (('"', "s"), ("'", "t"), ("`", "u"))
    )


_SCHEME = r"(?:[A-Za-z][A-Za-z-]{1,19}[ \t]{1,3})?"

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)


def _session(value: str) -> bool:
    return dense(value) and random_looking(value) and not _UUID.match(value)


_HEADERS = (
    form(
        "token",
        "bearer",
        pattern=_quoted_behind(r"bearer[ \t]{1,3}"),
        examples=(
            "headers = {'X-Proxy': 'Bearer «<a20>&k6t=ve3#x$kAt!9»'}",
            '"Bearer «xK9$vQ2#pL7(wR4)mN8@tB6^yH3»"',
        ),
        others=(
            '"Bearer sk1-$KEY_OF_MINE"',
            "'Bearer see#/components/schemas/Token1'",
            '"Bearer ${TOKEN1}#${USER2}@${HOST3}"',
        ),
        accept=_carried,
    ),
    form(
        "token",
        "bearer",
        pattern=r"(?<![A-Za-z])bearer(?:,?[ \t]{1,3}|%20|\+|:[ \t]?|=)"
        rf"(?P<s>(?:\w{{1,20}}:)?(?=[A-Za-z._~+/=-]{{0,300}}+[0-9])[A-Za-z0-9._~+/=-]{{16,}}{_MORE})",
        examples=(
            "Authorization: Bearer «<a36>»",
            "Authorization: Bearer «0a1b2c3d4e5f6a7b8c9d»",
            "Bearer «mcp:m4xC8Gd+siYxC73AB&k6tVe#jL3n!Q»",
        ),
        others=(
            "Authorization: Bearer authentication-is-required-here",
            "Authorization: Bearer <token>",
            "basic understanding of Bearer tokens1",
        ),
        accept=dense,
    ),
    form(
        "credentials",
        "auth",
        pattern=_quoted_behind(rf"authorization:[ \t]{{0,3}}{_SCHEME}"),
        examples=(
            "-H 'Authorization: Bearer «xK9$vQ2&k6t=pL7$kAtR4!mN8@tB6^yH3»'",
            '-H "Authorization: Bearer «xK9(vQ2#pL7{wR4!mN8<tB6^yH3»"',
            r"\"Authorization: «aB3$dE6#fG9(hJ2)kL5@mN8»\"",
            '--header "Authorization: Bearer «mcp:m4xC8Gd+siYxC73AB&k6t=jL3n!QK%Q!2g»"',
        ),
        others=(
            '-H "Authorization: Bearer sk1-$KEY_OF_MINE"',
            "'Authorization: Bearer user42@host-name.org'",
            "'Authorization: see RFC7235#section-4.2'",
        ),
        accept=_signed,
    ),
    form(
        "credentials",
        "auth",
        pattern=rf"authorization\\{{0,7}}[\"'`]\]?[ \t]{{0,3}}(?:[:=,]|=>)[ \t]{{0,3}}\\{{0,7}}(?P<q>[\"'`]){_SCHEME}"
        + _up_to("(?P=q)", "s"),
        examples=(
            '{"Authorization": "Bearer «xK9$vQ2#pL7&wR4!mN8@tB6^yH3»"}',
            r"{\"Authorization\": \"Bearer «xK9$vQ2#pL7(wR4)mN8@tB6^yH3»\"}",
            "headers['Authorization'] = '«aB3$dE6#fG9(hJ2)kL5@mN8»'",
        ),
        others=(
            '{"Authorization": "Bearer {token1}#{user2}@{host3}"}',
            '{"Authorization": "see RFC7235#section-4.2"}',
        ),
        accept=_signed,
    ),
    form(
        "credentials",
        "auth",
        pattern=rf"authorization(?:{QUOTE})?\]?[ \t]{{0,3}}(?:[:=,]|=>|%3A)[ \t]{{0,3}}(?:%20)?(?:{QUOTE})?"
        r"(?:basic|bearer|token|apikey|api-key|key|digest|bot|sso-key|ssws|pat|oauth|splunk|klaviyo-api-key|deepl-auth-key|genie(?:key)?|x-api-key)(?:[ \t]{1,3}|%20|=)"
        rf"(?!\w{{1,40}}=[\"'])(?P<s>[A-Za-z0-9._~+/=:-]{{8,}}{_MORE})",
        examples=(
            '"authorization": "token «<a36>»"',
            "authorization: Basic «dXNlcjpwYXNzd29yZA==»",
            "Authorization: Basic «dXNlcjpwYXNz»",
            "Authorization: Bot «<a24>.<a6>.<w38>»",
            '--header "Authorization: Bearer «mcp:m4xC8Gd+siYxC73AB&k6tVe#jL3n!QK%Q!2g»"',
            "GET /a?authorization=Bearer%20«a8Xb2Lq9Zr4T»&next=page2",
        ),
        others=(
            "Authorization: Basic authentication",
            "Authorization: Token <token>",
            "Authorization: Token Ab1..........",
        ),
        accept=_authorization,
    ),
    form(
        "credentials",
        "auth",
        pattern=rf"authorization(?:{QUOTE})?\]?[ \t]{{0,3}}(?:[:=,]|=>)[ \t]{{0,3}}(?:{QUOTE})?(?P<s>[A-Za-z0-9._~+/=:-]{{16,}})",
        examples=("Authorization: «<a36>»", '"Authorization": "«<h32>»"'),
        others=("authorization: required-for-this-endpoint-v2", "authorization=authorization_code_flow_v2"),
        accept=lambda value: dense(value) and _literal(value),
    ),
    form(
        "credentials",
        "auth",
        pattern=rf"authorization\]?:[ \t]{{0,3}}{_SCHEME}{_WITH_SIGNS}",
        examples=(
            "Authorization: Bearer «xK9$vQ2#pL7&wR4!mN8@tB6^yH3»",
            "Authorization: «aB3$dE6#fG9&hJ2!kL5@mN8»",
        ),
        others=(
            "Authorization: Bearer 1234%s5678abcd",
            "Authorization: Bearer $(cat token2.txt)",
            "authorization: see RFC7235#section-4.2",
            "Authorization: user42@host-name.org",
        ),
        accept=_signed,
    ),
    *(
        form(
            kind,
            f"{name}:",
            pattern=rf"(?P<q>[\"'`])[\w-]{{0,30}}{name}:[ \t]{{0,3}}{_up_to('(?P=q)', 's')}",
            examples=(
                f'-H "X-My{name}: «aB3$dE6#fG9&hJ2!kL5@mN8»"',
                f"-H 'x-{name}: «aB3$kAt6#fG9(hJ2)kL5&k6t=mN8»'",
            ),
            others=(
                f"'x{name}: user42@host-name.org'",
                f'"x{name}: page-of-%s&row=2"',
            )
            if name != "password"
            else (),
            back=40,
            ahead=400,
            accept=_signed,
        )
        for kind, name in (
            ("API key", "-key"),  # "key" alone is one of a keyboard, a cache or a table
            ("API key", "apikey"),
            ("API key", "api_key"),
            ("token", "token"),
            ("secret", "secret"),
            ("password", "password"),
        )
    ),
    form(
        "credentials",
        "basic ",
        pattern=r"(?<![A-Za-z])basic (?P<s>[A-Za-z0-9+/]{10,}={0,2})(?![A-Za-z0-9+/=-])",
        examples=("-H 'X-Auth: Basic «dXNlcjpodW50ZXIyeA==»'",),
        others=("basic understanding", "Basic authentication1"),
        accept=_basic,
    ),
    form(
        "credentials",
        "auth",
        pattern=rf"(?<![A-Za-z])auth(?:{QUOTE})?[ \t]{{0,3}}(?:[:=]|=>)[ \t]{{0,3}}(?:{QUOTE})?(?P<s>[A-Za-z0-9+/]{{8,}}={{0,2}})",
        examples=(
            '{"auths": {"ghcr.io": {"auth": "«dXNlcjpnaHBfYWJjMTIz»"}}}',
            "//registry.npmjs.org/:_auth=«dXNlcjpodW50ZXIyeA==»",
        ),
        others=('"auth": "required"', "auth: oauth2token"),
        accept=_basic,
    ),
)

_COOKIES = (
    form(
        "session id",
        "sessid=",
        pattern=r"sessid=(?P<s>[A-Za-z0-9%._~+/-]{20,}={0,2})",
        back=0,
        examples=("PHPSESSID=«<l26>»",),
        others=(),
        accept=_session,
    ),
    form(
        "session id",
        "sessionid=",
        pattern=r"sessionid=(?P<s>[A-Za-z0-9%._~+/-]{20,}={0,2})",
        back=0,
        examples=(
            "sessionid=«<l32>»; Path=/",
            "JSESSIONID=«<u32>»",
        ),
        others=(),
        accept=_session,
    ),
    form(
        "session id",
        "session=",
        pattern=r"session=(?P<s>[A-Za-z0-9%._~+/-]{20,}={0,2})",
        back=0,
        examples=(
            "laravel_session=«<a40>»",
            "_gitlab_session=«<h32>»",
        ),
        others=(),
        accept=_session,
    ),
)

_WORD = r"(?<![a-z])(?!(?:the|and|are|for|with|from|was|were|has|have|not|its|which|their|they|these|must|should|when|where|how|why)(?![a-z]))[a-zà-öø-ÿ]{3,8}"
"""A word of a seed phrase: none of the lists that wallets use has those that join a sentence."""
_SEED = (
    r"[\"'“]?(?:(?:[ ][^\n:=]{0,100})?[ \t]{0,3}[:=]|,[^\n:=]{0,60}(?=\n)|[ ](?:[^\n:=]{0,60}[ ])?(?:is|with|ist|lautet|est|es|é|è))?[ \t\n]{0,4}\(?\\?[\"'`“]?"
    rf"(?P<s>(?:\d{{1,2}}[.):]?[ ]?)?{_WORD}(?:(?:[ ]{{1,16}}|[ ]?[,\n][ ]{{0,4}})(?:\d{{1,2}}[.):]?[ ]?)?{_WORD}){{11,23}})(?=[\"'`”.,]?[ ]?(?:\n|\\n|$|[\"'`”]|\\[\"'])|[.;][ ]|[ ][–—][ ])"
)
"""Twelve to twenty-four words, also numbered, up to the end of their line or quotation."""
_DISTINCT = 10
"""Different words in a seed phrase at least: of twelve drawn from 2,048 two are seldom the same."""


def _is_phrase(words: str) -> bool:
    return len({word.lower() for word in re.findall(r"[A-Za-z]+", words)}) >= _DISTINCT


_TWELVE = "abandon ability able about above absent absorb abstract absurd abuse access accident"
_PROGRAMS = (
    form(
        "password",
        " -p ",
        pattern=rf"[ ]-p[ ]{VALUE}",
        line=r"(?:[ ](?:-u|-U|-l|--user(?:name)?|--login)[ =]?[\w.@-]{1,60}(?=[ ]|$)[^|;&\n]*)$",
        examples=("cqlsh -u cassandra -p «<l6>Violin66»",),
        others=("docker run -u 1000:1000 -p 8080:80 nginx", "x -u bob -p 5432", "x -u bob -p $PASS"),
        accept=lambda value: stated(value) and mixed(value),
    ),
    form(
        "password",
        "--user",
        pattern=r"--user(?:name)?[ =][\"']?[A-Za-z][\w.@-]{0,60}:(?P<s>[^\s\"'$]{4,200})",
        examples=("etcdctl --user root:«<a10>» get x",),
        others=("docker run --user app:staff x", "x --user $USER:$PASS"),
        accept=lambda value: stated(value) and mixed(value),
    ),
    *(
        form(
            "password",
            printer,
            pattern=rf"{printer}(?:-[ne] )?[\"']?(?![\w.-]+:)(?P<s>[^\s\"'|<>$`]{{6,200}})[\"']?[ ]*(?:\||>)[^\n]{{0,160}}?(?:passw|secret|token|cred|api_?key|login|crypt|private|auth)",
            examples=(
                f"{printer}'«<a14>' | docker secret create db_password -".replace("' |", "»' |"),
                f"{printer}'«<a14>' > /run/secrets/db".replace("' >", "»' >"),
            ),
            others=(
                f"{printer}done2 > token.txt",
                f'{printer}"$PASS" | docker secret create x -',
                f"{printer}deadbeef | tee x",
            ),
            accept=lambda value: stated(value) and mixed(value),
        )
        for printer in ("echo ", "printf ")
    ),
    form(
        "password",
        "redis-cli",
        pattern=rf"redis-cli[^\n|;&]{{0,200}}?[ ](?:-a|--pass|auth(?:[ ]default)?)[ ]+{VALUE}",
        examples=("redis-cli -h cache -a «<a20>» ping", "redis-cli -p 6380 AUTH «<l10>x1»"),
        others=("redis-cli -a $REDIS_PASS",),
        accept=given,
    ),
    *(
        program(
            r"snmp(?:walk|get|getnext|bulkwalk|bulkget|set|table|trap|status|df)",
            f" -{letter.lower()} ",
            option=rf"[ ]-{letter}[ ]",
            examples=(
                f"snmpwalk -v3 -u monitor -a SHA -{letter} '«<l6>+<l4>_77' 10.1.1.2".replace("' 10", "»' 10"),
            ),
            others=(f"snmpwalk -v2c -c public -{letter} $PASS h",),
        )
        for letter in "AX"
    ),
    program(
        "smbclient|rpcclient|mount",
        " -u",
        option=r"[ ]-U[ ]?[\"']?[\w\\]+%",
        examples=("smbclient //nas/share -U adm%«<a12>»",),
    ),
    form(
        "password",
        "pass",
        pattern=r"(?<=ht)passwd[ ](?:-[A-Za-z]+[ ])*-[A-Za-z]*b[A-Za-z]*[ ](?:-[A-Za-z]+[ ])*(?:[^\s-]\S*[ ]){1,2}(?P<s>[^\s\"'|;&<>]{3,100})",
        examples=("htpasswd -cb .htpasswd admin «<a12>»", "htpasswd -nb admin «<a12>»"),
        others=("htpasswd -c .htpasswd admin",),
        accept=given,
    ),
    form(
        "password",
        "pass",
        pattern=r"(?<=ch)passwd",
        line=r"echo[ ][\"']?[\w.-]+:(?P<s>[^\s\"'|]{3,100})[\"']?[ ]*\|[ ]*(?:sudo )?ch$",
        examples=("echo 'root:«<a12>»' | chpasswd",),
        accept=given,
    ),
    form(
        "password",
        "pass",
        pattern=r"(?<=-)pass(?:word-stdin|phrase-fd 0)",
        line=r"(?:echo|printf)[ ](?:-n |-e )?[\"']?(?P<s>[^\s\"'|]{3,250})[\"']?[ ]*\|[ ]*[a-z]+ [^|\n]{0,200}-$",
        examples=(
            "echo «<a20>» | docker login -u ci --password-stdin ghcr.io",
            "echo '«moonlight»' | gpg --batch --passphrase-fd 0 -c f",
        ),
        others=(
            "echo $TOKEN | docker login -u ci --password-stdin",
            'echo "${{ secrets.GITHUB_TOKEN }}" | docker login ghcr.io -u x --password-stdin',
        ),
        accept=given,
    ),
    form(
        "password",
        "machine ",
        pattern=r"(?<![\w-])machine[ \t]+\S+\s+login[ \t]+\S+\s+password[ \t]+(?P<s>[^\s\"'`\\]+)",
        examples=(
            "machine api.heroku.com login a@b.c password «<h36>»",
            "machine git.example.org\n  login bob\n  password «swordfish»",
        ),
        others=("the machine will login with a password",),
        accept=given,
    ),
    form(
        "password",
        "pass",
        pattern=r"(?<=require)pass[\"']?[ \t:=,]+[\"']?(?P<s>[^\s\"'`\\]{3,})",
        examples=(
            "requirepass «swordfish99»",
            "redis-server --requirepass «<a16>»",
            'CONFIG SET requirepass "«<a16>»"',
        ),
        others=("# requirepass foobared", "requirepass yourpassword"),
        accept=lambda value: (
            given(value)
            and value not in {"foobared", "yourpassword", "is", "and", "option"}
            and len(value) >= 5
        ),
    ),
    form(
        "password",
        "auth",
        pattern=r"(?<=master)auth[ \t]+[\"']?(?P<s>[^\s\"'`\\]{5,})",
        examples=("masterauth «<a16>»", "masterauth «manzanaverde»"),
        others=("masterauth is the option", "masterauth required"),
        accept=lambda value: given(value) and (mixed(value) or is_word(value)),
    ),
    form(
        "password",
        "identified ",
        pattern=r"identified[ ](?:with[ ]\w+[ ](?:by|as)|by)[ ](?:password[ ])?['\"](?P<s>[^\s'\"]{3,})['\"]",
        examples=(
            "CREATE USER 'app'@'%' IDENTIFIED BY '«hunter2x»';",
            "ALTER USER root IDENTIFIED WITH mysql_native_password BY '«<a12>»'",
            "ALTER USER root IDENTIFIED WITH mysql_native_password AS '«<a12>»'",
        ),
        others=('page 1 was not identified as "global"',),
        accept=given,
    ),
    form(
        "password",
        "identified ",
        pattern=r"identified[ ]by[ ](?P<s>[^\s;,'\"<>(){}$]{6,60})(?=[ ]*(?:;|[\r\n]|$)|[ ](?:default|account|profile)[ ])",
        line=r"(?i:(?:user|role|to)[ ]\S{1,80}[ ])$",
        examples=("CREATE USER shop IDENTIFIED BY «moonlight9»;",),
        others=("CREATE USER app IDENTIFIED BY password", "each user is IDENTIFIED BY number"),
        accept=lambda value: given(value) and (mixed(value) or is_word(value)),
    ),
    form(
        "password",
        "sqlplus ",
        pattern=r"sqlplus[ ](?:-\w+[ ])*[\w$#]+/(?P<s>[^\s\"'@/]{3,})@",
        examples=("sqlplus system/«<a10>»@db:1521/ORCL",),
        accept=given,
    ),
    form(
        "password",
        ":thin:",
        pattern=r":thin:[\w$#]+/(?P<s>[^\s\"'@/]{3,})@",
        examples=("jdbc:oracle:thin:scott/«<a10>»@//db:1521/x",),
        accept=given,
    ),
    *(
        form(
            "seed phrase",
            anchor,
            pattern=rf"{anchor.removesuffix('s')}s?{_SEED}",
            examples=tuple(f"{said}«{_TWELVE}»" for said in sentences),
            others=(
                f"{anchor}: see the list",
                f"{anchor}: the words that you write here are the ones that you will need for your wallet later",
                f"{anchor}: {'lorem ipsum dolor ' * 5}",
            ),
            accept=_is_phrase,
        )
        for anchor, sentences in (
            (
                "phrase",
                (
                    "seed phrase: ",
                    'Wallet.fromPhrase("',
                    "meine Seed-Phrase ist ",
                    "Your recovery phrase is:\n",
                    '"passphrase": "',
                    "Secret phrase (write it down):\n\n",
                ),
            ),
            (
                "words",  # one "word" begins no list, and stands in every text
                (
                    "Write down these 12 words in order and never share them:\n\n",
                    "wallet recovery words:\n1. ".replace("1. ", ""),
                ),
            ),
            ("mnemonic", ('MNEMONIC="', 'MNEMONIC=\\"', '"mnemonic": "', "mnemonic is ")),
            ("seed", ("WALLET_SEED=", "seed: ", "wallet seed is ")),
            ("wörter", ("Die 12 Wörter von meinem Ledger sind: ",)),
            ("mots", ("Les 12 mots du portefeuille : ",)),
            ("these down", ("Write these down:\n 1. ".replace(" 1. ", ""),)),
            ("frase", ("mi frase semilla es: ", "la mia frase di recupero è ", "la frase de recuperación: ")),
            ("semilla", ("SEMILLA=",)),
            ("palabras", ("Las 12 palabras de la cartera: ",)),
            ("ledger", ("the ledger: ",)),
            ("wallet", ("restore the wallet with ", "wallet:\n  ".replace("  ", ""))),
        )
    ),
)

_BASE64 = tuple(
    form(
        row.kind,
        prefix.lower(),
        pattern=rf"(?:(?<![A-Za-z0-9])|(?<=\\[nt])|(?<=%3D))(?P<s>(?-i:{prefix}){row.body})",
        examples=(f"<x>«{prefix}<a5>/<a5>+<a90>»</x>",),
        others=(
            f"{prefix}a/b",
            f"gAAAAABo5tcTf{prefix}vHao14mR6aMtlCCgKy1BD0I45fnVx8EB95SJ0jpPSOoYtCdBTvyv7xAc95kp",
        ),
    )
    for row in TOKENS
    for prefix in row.prefixes
    if prefix in {"whsec_", "svix_", "fm1a_", "fm1r_", "fm2_"}
)
"""Tokens that are base64 from their prefix on: a sign among its first characters ends the run that `find_tokens` reads."""

FORMS: tuple[Form, ...] = (
    *URLS,
    *VENDORS,
    *_BASE64,
    *SHAPES,
    *CODES,
    *_HEADERS,
    *_COOKIES,
    *_PROGRAMS,
    *COMMAND_LINES,
    *ENCODED,
    *STATEMENTS,
    *ARGUMENTS,
    *COMMANDS,
    *ENTRIES,
    *PAIRS,
    *PRINTED,
    *SETTINGS,
    *OUTPUTS,
    *SPOKEN,
)


# The search ------------------------------------------------------------------------------------------------

_LINE = 300
"""Characters before an option in which its program is looked for."""


def _by_anchor() -> dict[str, tuple[Form, ...]]:
    found: dict[str, tuple[Form, ...]] = {}
    for row in FORMS:
        found[row.anchor] = (*found.get(row.anchor, ()), row)
    return found


_BY_ANCHOR = _by_anchor()
_ORDER = {anchor: index for index, anchor in enumerate(_BY_ANCHOR)}


def find_forms(source: Source) -> Iterator[Span]:
    """The secrets that a row of the table surrounds."""
    for anchor in sorted(source.held(_BY_ANCHOR), key=_ORDER.__getitem__):
        forms, done = _BY_ANCHOR[anchor], 0
        for at in source.places[anchor]:
            if at < done:
                continue
            span = _first(source.text, forms, at=at)
            if span is not None:
                yield span
            done = max(at + len(anchor), span.end if span is not None else 0)


def _first(text: str, forms: tuple[Form, ...], *, at: int) -> Span | None:
    for row in forms:
        span = _formed(text, row, at=at)
        if span is not None:
            return span
    return None


def _formed(text: str, row: Form, *, at: int) -> Span | None:
    end = min(len(text), at + row.ahead)
    if row.back:
        match = row.pattern.search(text, max(0, at - row.back), end)
    else:
        match = row.pattern.match(text, at, end)
    if match is not None and row.line is not None:
        line = max(text.rfind("\n", max(0, at - _LINE), at) + 1, at - _LINE, 0)
        before = row.line.search(text, line, at)
        match = match if before is not None and "s" in match.re.groupindex else before
    if match is None:
        return None
    start, end = match.span(match.lastgroup or "s")
    return Span(start=start, end=end, kind=row.kind) if row.accept(text[start:end]) else None
