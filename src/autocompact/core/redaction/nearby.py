"""Passwords that people make up, in a line that speaks of a password or of logging in.

What stands between the word and the value differs from one language and one writer to the next, and so does the order.
The value does not: people make a password of words, digits and signs, and call nothing else like that. So the line is
the place, and each of its words is looked at: one with a sign or with digits amid letters is a secret anywhere in the
line; words with a number only where a sign or a word leads to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.anchors import is_searched
from autocompact.core.redaction.building import form
from autocompact.core.redaction.name_table import NAMES
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import before_prose, has_symbol, is_chosen, without_end

_BEFORE, _AFTER = 100, 160
"""Characters of the line on both sides of the word."""

_LOGINS = (
    (
        "log",
        r"(?:log(?:ged|ging)?[ -]?(?:in|on)|log_in)(?:\(|s\b)?",
        ("log in as deployer with «Thistle-Down6»", "I logged in using admin/«C0rn.Muffin»"),
    ),
    ("sign", r"sign(?:ed|ing)?[ _-]?in\(?", ("sign in with bob / «Wint3r-Palace»",)),
    ("connect(", r"connect\(", ('pymysql.connect(host, "root", "«Pyth0nSnake»", "shop")',)),
    (
        "clave",
        r"clave(?! (?:de )?(?:partición|búsqueda|ordenación|orden|primaria|for[aá]nea|caché|configuración|idioma))",
        ("La clave de acceso al panel quedó en «TortugaVerde55»",),
    ),
    ("zugang", r"zugang(?:sdaten)?", ("Zugang zum Backup: svc / «Hefe!Zopf88»",)),
    (
        "meld",
        r"meld(?:e dich|en sie sich|en|edaten|ung)",
        (
            "melde dich mit bob@acme.dev und «Hefezopf.88» an",
            "Anmelden mit bob und «Hefezopf.88»",
            "Anmeldung als admin mit «Kornblume-88»",
        ),
    ),
    ("loggen", r"loggen", ("einloggen mit bob und «Hefezopf.88»", "inloggen met bob en «Hefezopf.88»")),
    ("connect", r"connecte(?:-toi|z-vous|r)", ("connecte-toi avec bob et «Hefezopf.88»",)),
    ("accedi", r"accedi", ("accedi con bob e «Hefezopf.88»",)),
    ("inicia ses", r"inicia sesión", ("inicia sesión con bob y «Hefezopf.88»",)),
    ("identifiant", r"identifiants?", ("identifiants : svc / «Cigale.Bleue9»",)),
    ("credencia", r"credencia(?:les|is|l)", ("credenciales del panel: svc / «Tortuga.Verde9»",)),
    ("credenzial", r"credenziali", ("credenziali del portale: svc / «Vesuvio.Blu79»",)),
    (
        "cred",
        r"cred(?:ential)?s?\(?",
        ("creds → svc_backup // «Bx7$kkWm29»", "invalid credentials (tried admin/«N0tMyPw!1»)"),
    ),
    (
        "auth",
        r"auth[ ]?=[ ]?\(|authenticate\(|(?:basic )?(?<![oO])auth(?!ors?\b)",
        (
            'session.auth = ("robot", "«tinC4n-99»")',
            "use basic auth (metrics:«Gauge!Needle8»)",
        ),
    ),
    ("unlock", r"unlock(?:ed|s)?", ("unlock the vault with «Crystal.Harbor7»",)),
    ("wifi", r"wifi", ("WiFi: Lobby / «BlueHeron2022»",)),
    ("wlan", r"wlan", ("WLAN Gast, «Hefe!Zopf88»",)),
    ("ログイン", r"ログイン", ("ログイン: admin / «Sakura!Neko7»",)),
    ("登录", r"登录", ("登录 admin / «Panda!Zhuzi6»",)),
    ("登錄", r"登錄", ("登錄 admin / «Panda!Zhuzi6»",)),
    ("로그인", r"로그인", ("로그인: admin / «Hanguk!Bom7»",)),
    ("ssid", r"ssid", ("SSID: CorpGuest  Key: «welcome-2-corp-77»",)),
)
NEARBY: tuple[Form, ...] = tuple(
    form("password", anchor, pattern=word, examples=examples, others=(f"{anchor} with version-2",))
    for anchor, word, examples in _LOGINS
)
"""What speaks of logging in: words that also begin the name of a call."""

_PATTERNS = (
    *((name.anchor, name.word.source) for name in NAMES if name.kind == "password" and name.accept is None),
    *((row.anchor, row.pattern.source) for row in NEARBY),
)
_WORDS = {
    anchor: LazyPattern("|".join(f"(?:{word})" for own, word in _PATTERNS if own == anchor), re.IGNORECASE)
    for anchor, _ in _PATTERNS
}
"""By anchor: the words for a password or a login, in all languages of the table of names."""

_SEARCHED = frozenset(filter(is_searched, _WORDS))
_WRITTEN_AS_THEY_ARE = tuple(anchor for anchor in _WORDS if anchor not in _SEARCHED)

_TOKEN = LazyPattern(
    r"(?<![^\s(\"'`„“«「『=：:→])(?<!\(\()(?P<value>(?=[^\s]{0,80}?[^\W_\d])(?=[^\s]{0,80}?[\d!#$%&*+@~?])[^\s(),;\"'`„“”«»「」『』<>{}\[\]|\\=]{6,80})"
)
_USER = LazyPattern(r"[A-Za-z][\w.+-]{0,40}(?::|/{1,2})(?=[^/:])")
_HOST = LazyPattern(r"@[\w.-]{2,60}(?::\d{1,5})?$")
_LEADS = LazyPattern(
    r"(?:[:：=→>/\"'`„“«「『(]|(?<=\S[ ])[+&]|[^\x00-\x7f]|(?<!\w)(?:is|to|and|und|as|with|using|type|use|uses|enter|try|takes|was|be|now|ist|auf|mit|als|lautet|ab|est|sera|avec|es|en|con|usa|com|é|è|e|på|är|er|na|jest|to|met|is|nu|in|jetzt|heute|ora|ahora|agora|maintenant|password|passwort|pass|pw|passphrase))[ \t]{0,4}[\"'`„“«(「]?$",
    re.IGNORECASE,
)
"""What leads from the word to its value: a sign, a quotation mark, or a short word."""
_ENGLISH = LazyPattern(r"pass|pwd?$|log|sign|cred|auth|unlock|wi|wlan|ssid|psk", re.IGNORECASE)
_TRAILS = LazyPattern(r"[\"'`”»)]{0,2}[ ](?:as|als|comme|como|come|is|ist|est|es|è|é|\()[ ]?")
_LABEL = LazyPattern(
    r"(?:\\{0,3}[\"'][\w.-]{1,30}(?<!pass)(?<!word)(?<!secret)\\{0,3}[\"']\s{0,2}:\s{0,2}|\bclass(?:Name)?=|(?<![?&])\w\w(?<!pw)(?<!wd)(?<!rd)(?<!ss)=|(?-i:ID|Id|_id|[hH]ash|[vV]ersion):\s{1,8})\\{0,3}[\"']?$",
    re.IGNORECASE,
)
"""Another name that has the value: ``"sha": "…"``, ``class="…"``."""
_NOT_FOLLOWED = LazyPattern(r"[(\[{=]|[ ]?=|::|->")
_SOLE = LazyPattern(r"[ \t>]*(?P<number>\d{1,6}[ \t]+)?(?P<value>[^\s\"'`(){}\[\]<>,;=]{7,64})[ \t\r]*$")
_GOES_ON = LazyPattern(r"[A-Za-z0-9]|[_/+.-][^\W_]")
_HEAD = LazyPattern(r"(?:^|[^\w.$@/+=-])(?:[^\W\d_]{1,20}-)?(?:[^\W\d_](?:(?![A-Z])[^\W\d_]){0,20})?$")
"""What stands before the word for a password in a sentence: nothing, or the rest of a compound."""

_PROMPT = LazyPattern(r"(?:[%$#❯➜]|&&|;)[ ]{1,4}$")
"""Stands before a command in a shell: ``pwd`` prints the folder."""


def find_nearby(source: Source) -> Iterator[Span]:
    """What people made up, in the lines that speak of a password or a login; no part of a line is read twice."""
    text, done = source.text, 0
    anchors = (*source.held(_SEARCHED), *(() if text.isascii() else _WRITTEN_AS_THEY_ARE))
    places = sorted((at, anchor) for anchor in anchors for at in source.positions(anchor))
    for at, anchor in places:
        word = _WORDS[anchor].match(text, at) if at >= done else None
        # "pass" alone is what a test did, or what is handed on.
        if word is None or word[0].lower() == "pass" or _is_in_name(text, at, end=word.end()):
            continue
        if word[0] == "pwd" and _PROMPT.search(text, max(0, at - 8), at):
            continue
        start = max(done, text.rfind("\n", max(0, at - _BEFORE), at) + 1, at - _BEFORE)
        line = text.find("\n", word.end(), word.end() + _AFTER)
        before, done = done, min(len(text), word.end() + _AFTER) if line < 0 else line
        yield from _in_line(word, start=start, end=done)
        if text[start - 1 : start] == "\n":
            yield from _above(text, start, least=before)


def _is_in_name(text: str, start: int, *, end: int) -> bool:
    """True for a part of a name in code or of what is no word: ``db_password``, ``loginForm``, base64."""
    if not text[start].isascii() or text[end - 1] == "(":
        return False
    return _GOES_ON.match(text, end) is not None or not _HEAD.search(text, max(0, start - 32), start)


def _in_line(word: re.Match[str], *, start: int, end: int) -> Iterator[Span]:
    """The made-up values from ``start`` to ``end``, around the word for a password or a login."""
    text = word.string
    sealed = text.find("ENC[", start, end)
    end = end if sealed < 0 else sealed
    for token in _TOKEN.finditer(text, start, end):
        at, value = token.start("value"), without_end(token["value"])
        value = before_prose(value)
        if (word.start() < at + len(value) and at < word.end()) or _LABEL.search(text, max(0, at - 40), at):
            continue
        user = _USER.match(value)
        if user is not None:
            at, value = at + user.end(), _HOST.sub("", value[user.end() :])
        if _NOT_FOLLOWED.match(text, at + len(value)):
            continue
        if is_chosen(value, beside=user is not None or _is_led_to(word, at, end=at + len(value))):
            yield Span(start=at, end=at + len(value), kind="password")


def _above(text: str, start: int, *, least: int) -> Iterator[Span]:
    """What has the line above for itself, as in a chat or in a shell's history, where its number stands before it."""
    above = max(least, text.rfind("\n", max(0, start - _BEFORE), start - 1) + 1)
    sole = _SOLE.match(text, above, start - 1) if above < start - 1 else None
    if sole is None or not is_chosen(sole["value"], beside=sole["number"] is not None):
        return
    if has_symbol(sole["value"]) or (sole["number"] and sum(map(str.isdigit, sole["value"])) > 1):
        yield Span(start=sole.start("value"), end=sole.end("value"), kind="password")


def _is_led_to(word: re.Match[str], start: int, *, end: int) -> bool:
    """True if the word, a sign or another word leads to the value: in another language than English any other does."""
    if start > word.start() and not _ENGLISH.match(word[0]):
        return True
    if _LEADS.search(word.string, max(0, start - 20), start):
        return True
    return start < word.start() and _TRAILS.match(word.string, end) is not None
