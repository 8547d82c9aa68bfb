"""What a value must look like to be taken for a secret, by how much its place tells.

A value without a form of its own is only a secret where its name says so. The name is not enough: code assigns
variables to `password`, documents write `your-key-here`, and a configuration names files and fields.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import IntEnum

from autocompact.core.patterns import LazyPattern


class Trust(IntEnum):
    """How sure the place makes it that a literal stands there, and not a name in code or a word."""

    CODE = 1
    """Unquoted, and more follows on the line: ``connect(password=x, …)``, a sentence."""
    LINE = 2
    """Unquoted, at the end of a line or of a field: ``password: x``, ``?password=x&…``."""
    STATED = 3
    """Unquoted, after words that say what it is: ``Passwort: x``, ``the password is x``."""
    LITERAL = 4
    """Quoted, or the value of a flag."""
    ENVIRONMENT = 5
    """The value of a name in capitals: ``DB_PASSWORD=x``."""


_ELLIPSIS = LazyPattern(r"(?:…|\.{3,})+$")
_PLACEHOLDER = LazyPattern(
    r"(?:^|[^A-Za-z])(?:your|change[_-]?(?:me|it|this)|example|placeholder|redacted|masked|hidden|removed|omitted"
    r"|replace[_-]?(?:me|with|this)?|insert|todo|fixme|tbd|none|null|nil|undefined|true|false|env|getenv|secretref)(?:\d{0,3}$|[^A-Za-z0-9])"
    r"|your[_-]|[_-]here$|(?:[a-z][_-]|abc)123$|goes[_-]here|^(?:to-be|not-(?:yet-)?(?:set|given|known|used)|set-(?:in|by|at|via|this)|provided-(?:by|via|at|in)|see|ask|same-as|as-(?:in|for))(?:-|$)|x{4}|X{4}|EXAMPLE|\*{3}|•{2}|\.{3}|…"
    r"|^\(\([\w.:/-]+\)\)$|^#\{|^@@\w+@@$|^\*[a-z_]+\d{0,2}$|\]\{\d+,?\d*\}"
    r"|^!(?-i:[A-Z]?[a-z_]+|[A-Z][a-z]+[A-Z][a-z]+|[A-Z]+[a-z]*)$|^__\w+__$|^%\w+%$|^(?:[A-Z]+_)*(?:PASS(?:WORD|WD)?|PWD|SECRET|TOKEN|KEY)(?:_[A-Z0-9]+)*$"
    r"|^\$+[A-Za-z_({]|\$\{|\$\(|\{\{|^(?!\{(?:SAS\d{3}|xor)\}[A-Za-z0-9+/])[{<\[]|^%(?:[sdv](?![A-Za-z0-9])|[({]|(?-i:[A-Z_]{3,}(?![A-Za-z0-9])))|%\(|^@[A-Za-z]|://|\[secret|^ENC[(\[]|^(?:vault|ssm|sops|file|keyvault|keyring|secretsmanager|bao):[/\w]|^#[0-9A-Fa-f]{3,8}$|^0+$|^-+$|^\.+$",
    re.IGNORECASE,
)
_SOFT = LazyPattern(
    r"(?:^|[^A-Za-z])(?:my|some|the|this|sample|dummy|fake|mock|foo|bar|tests?|testing|string|config|settings|self|args|request"
    r"|secret|password|token|key|name|user|default|dev|local|demo|expected|invalid|wrong|valid|new|old|current)(?:$|[^A-Za-z])",
    re.IGNORECASE,
)
_NAME = LazyPattern(
    r"_|pass|word|secret|token|key|value|input|user|admin|arg|field|param|data|text|str|conf|env|cred|hash|auth|base64|utf8|oauth"
)
_TALKS_OF = LazyPattern(
    r"passw|passp|pwd|secret|token|value|input|user|admin|arg|field|param|string|sample|dummy|fake|mock|test|default|demo|example|config|setting|version|minimum|maximum|character|zeichen"
    r"|(?:^|[^A-Za-z])(?:foo|bar|name|key|dev|local|pass|v\d+)(?:$|[^A-Za-z])|[-_]v\d+$",
    re.IGNORECASE,
)
"""Words that a made-up name has and a password seldom."""
_IDENTIFIER = LazyPattern(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*[?!]?$")
_CALL = LazyPattern(r"[A-Za-z_$][\w$.:>-]*(?:\(.*\)|\[.*\]|<.*>|[(<])[;,)]*$")
_ALGORITHM = LazyPattern(
    r"(?:(?:scram|hmac|pbkdf2|with|ecdsa|rsa|hkdf|x509|ssl|tls)[-_]?)*(?:sha|md|ripemd|blake)[-_]?[0-9][0-9a-z]{0,3}(?:[-_/]\d{3})?(?:[-_]?(?:crypt|sum|plus|rsa|hmac))*$"
    r"|(?:ssha|bcrypt|argon|pbkdf|scrypt|yescrypt)[-_0-9a-z]{0,16}$|(?:aes|des|3des|chacha|rc|camellia|aria)[-_]?\d{1,4}(?:[-_](?:gcm|cbc|ctr|ccm|ecb|siv|poly1305|hmac|sha\d{1,3}|openssh\.com|\d{2,4}))*$"
    r"|(?:ed|x|curve|secp|prime|ecdh|rsa|dh|modp|p)[-_]?\d{3,5}(?:[krv]\d)?(?:[-_](?:sha\d{1,3}|dilithium\d))*$|[hreps]s(?:256|384|512)k?$",
    re.IGNORECASE,
)
"""The name of an algorithm."""
_TECHNICAL = LazyPattern(
    r"u?int\d{1,3}(?:array|_t)?$|(?:[a-z]+[-_ ]?)?(?:sha|md|aes|rsa|utf|base|oauth|http|ipv|sso|tls|ascii|latin|win)[-_]?\d{1,4}(?:[-_/][a-z0-9]+)*$|(?:[a-z]+[-_ ])?(?:hs|rs|es|ed|v|x)[-_]?\d{1,4}(?:[-_/][a-z0-9]+)*$|\d+-?[a-z]+$|[a-z]{1,7}-?\d$|bcrypt|argon2|\d+(?:st|nd|rd|th)$",
    re.IGNORECASE,
)
_DRIVE = LazyPattern(r"[A-Za-z]:[\\/]|(?:~|\.{1,2})/|[\w.-]+(?:/[\w.-]+)*/[\w-]+\.[A-Za-z]{1,5}$")
_PUBLIC = LazyPattern(
    r"phc_\w|pk\.eyJ|pk_(?:live|test)_|pub[0-9a-f]{32}$|(?:AC|SM|MM|CA|CF|PN|MG|RE|TR|CH|IS|VA|VE|ZS|WK|US)[0-9a-f]{32}$|Ag[AB][A-Za-z0-9+/]{300,}={0,2}$"
)
"""What its maker says everybody may know: keys for web pages (PostHog, Mapbox, Datadog, Stripe), the number of a record (Twilio's
message, call or account), a SealedSecret."""
_PLUS = LazyPattern(r"[A-Za-z0-9]\+[A-Za-z0-9]")
"""The sign of base64 that no path has amid a word."""
_FINGERPRINT = LazyPattern(
    r"(?:(?i:sha)-?\d{1,3}|MD5)[:-]|(?:0x)?(?:[0-9A-F]{16}|[0-9A-F]{40})$|(?:[0-9A-Fa-f]{2}:){15,}"
)
"""The name of a public key: OpenSSH's digest, GnuPG's capitals, bytes with colons."""
_RECORD = LazyPattern(
    r"[a-z]{1,12}(?:[_-][a-z]{1,12})?[_-][A-Za-z0-9]{8,64}$|[A-Z]{1,4}[-_]|(?:0x)?[0-9A-Fa-f]+$"
)
"""The number that a service gives to a record (``msg_01…``), or a digest."""
_LONG = LazyPattern(r"[A-Za-z0-9]{10,}")
_ADDRESS = LazyPattern(
    r"[\w.+-]+@(?:[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}|\d{1,3}(?:\.\d{1,3}){3})(?::[\w/.~-]*)?$"
)
_DOTTED = LazyPattern(
    r"(?=[a-z._]*[A-Z])[A-Za-z]{3,}(?:[._][A-Za-z]{3,}){0,3}[._]?\d{1,4}[!?]?$"
    r"|[A-Z][a-z]*\d[a-z]{2,}[._][A-Z][a-z]{2,}$|[a-z]{4,}\.[a-z]{4,}\d{1,4}[!?]?$"
)
"""Words and a number, as people make passwords and programs names: ``Sunflower.Bicycle19``, ``quiet.river7``."""
_CODE_WORDS = frozenset(
    "account accounts alert alerts api app args argument arguments auth auths bean body buffer button buttons callback card class classes client"
    " code codes column common component components conf config configs configuration configurations const constant constants context control"
    " controller controllers cookie cookies core credential credentials ctx data database decorator decorators dialog dict dto element elements"
    " entities entity enum enums env environ environment error errors event events exception exceptions feature features field fields file files"
    " filter filters fixture fixtures flag flags footer form forms formatter func function functions getter global globals handler handlers header"
    " headers heading helper helpers hint home hook hooks html i18n icon import imports index info init input inputs instance interface interfaces"
    " intl item items json key keys label labels lang layout lib line link list locale locales log logger login logout main manager map menu message"
    " messages meta method methods middleware mixin mock mocks modal model models module modules name names node notification object obj option"
    " optional options package page pages panel param parameter parameters params parser parsers pass passphrase passwd password passwords path payload placeholder plugin plugins process"
    " profile program property props prop provider providers public query reducer register registration renderer req request requests res resource"
    " resources response result results root route router routes row rules schema schemas scope screen secret secrets section self serializer serializers server"
    " service services session settings setting signin signup src state status store string strings style styles subtitle system tab table task text"
    " this title titles token tokens tooltip translation translations type types typing util utils validation validator validators valid value values"
    " variable variables vars var view viewmodel views vm widget widgets window wizard".split()
)
"""What parts of dotted names in code and of keys of translations are called, and what no one makes a password of."""
_PIECE = LazyPattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWEL = LazyPattern(r"[aeiouAEIOU]")
_CLUSTER = LazyPattern(r"[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{5}")
_CHANGE = LazyPattern(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")
_WORDS = LazyPattern(
    r"(?:[A-Za-z]{2,}\d{0,2}|[A-Za-z]|v?\d{1,4})(?:[_ .:/-](?:[A-Za-z]+\d{0,2}|v?\d{1,4}))+[!?.]*$"
)
_NUMBERS = LazyPattern(r"(?:[_-]\d{1,4})+$")
"""The numbers behind a name: ``user_id_2024``."""
_CONVENTION = LazyPattern(
    r"[a-z0-9]+(?:[_.:/-][a-z0-9]+)*[!?.]*$|[A-Z][A-Z0-9]*(?:[_.-][A-Z0-9]+)*$|[A-Z][a-z]*\d*(?:-[A-Z][a-z0-9]*)*$"
    r"|_{0,2}[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*|[A-Z]{2,5}(?=[A-Z]|$))*$|(?:[A-Z][a-z0-9]*)+$|\$?[a-z_][a-z0-9_]*$"
)
"""How people write names: all small, all capitals, or each word with a capital; letters and digits that follow none are made up."""
_RULES = LazyPattern(r"[a-z_]{3,}(?:\|[a-z_]{3,}(?::[\w,]{1,20})?)+$")
_EXCLAIMED = LazyPattern(r"[A-Z][a-z]{2,}[._-][A-Za-z][a-z]{2,}!$")
"""Two words with a sign at the end that no name has: ``Maple_river!``."""
_PHRASE = LazyPattern(r"[A-Za-z]{3,}(?:[-_. ](?:[A-Za-z]{2,}\d{0,4}|\d{1,4})){3,}[!?.]?$")
_STRONG_SYMBOL = LazyPattern(r"[!#$%^&*+=?~@|;§€£]")
_DATE = LazyPattern(
    r"\d{4}-\d\d-\d\d(?:[T ].*)?$|\d{1,3}(?:\.\d{1,3}){2,3}$|v?\d+(?:\.\d+)+(?:[-+][a-z]+[\w.+-]*)?$|(?:\d{1,2}:)?\d+(?:\.\d+)+[-+~][\d.]{0,8}(?-i:ubuntu|deb|dfsg|el|fc)\d[\w.+~-]*$|(?:[0-9a-f]{1,4}(?:::?|$)){3,8}(?:[0-9a-f]{0,4})(?:/\d{1,3})?$|(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$|[\d.,]+(?:ms|s|m|h|d|kb|mb|gb|k|px|%)?$",
    re.IGNORECASE,
)
_COMMON = frozenset(
    "required optional password passwort passwd secret token string integer number boolean object array unknown invalid incorrect missing empty"
    " correct wrong valid hidden masked expired disabled enabled default postgres postgresql mysql mariadb rabbitmq mongodb root admin"
    " administrator guest test testing tester example changeit placeholder redacted undefined localhost development production staging"
    " local public private internal external generate generated automatic random unset notset nothing anonymous basic bearer oauth"
    " username account database encrypted plaintext cleartext prompt always never ignore ignored wordpress minioadmin keycloak elastic"
    " supersecret letmein text textarea input field strong weak short important critical necessary mandatory needed stored hashed set".split()
)


_DEFAULTS = _COMMON | set(
    "pass pw pwd user port x pass1 mypassword x-oauth-basic sa password1 foobared yourpassword".split()
)


def is_code_name(value: str) -> bool:
    """True for a dotted name one part of which is a word of programs: ``forms.login.title2``, ``settings.Password2``."""
    parts = [part.rstrip("0123456789!?_") for part in value.split(".")]
    if len(parts) < 2 or not all(map(str.isidentifier, filter(None, parts))):
        return False
    return any(word.lower() in _CODE_WORDS for part in parts for word in _PIECE.findall(part))


def is_code_word(word: str) -> bool:
    """True for a word of which parts of names in code are made, in small letters."""
    return word in _CODE_WORDS


def is_dotted_password(value: str) -> bool:
    """True for words and a number with dots, no part of which is a word of programs: ``harbor.Lantern4``."""
    return "." in value and bool(_DOTTED.match(value)) and not is_code_name(value)


def is_default(value: str) -> bool:
    """True for what everybody writes where a password is: ``postgres://postgres:postgres@…``."""
    return value.lower() in _DEFAULTS


def is_common(value: str) -> bool:
    """True for a word that forms, documents and examples write in the place of a password."""
    return value.lower().strip(".!?") in _COMMON


def stripped(value: str) -> str:
    """The value without the dots of whoever shortened it: what is left may still be a secret."""
    return _ELLIPSIS.sub("", value)


EASTERN = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60"
"""Letters and signs of the scripts without blanks, for a class of characters: no key has one."""
_EASTERN = LazyPattern(f"[{EASTERN}]")


def before_prose(value: str) -> str:
    """The value in front of a sentence in a script without blanks: ``8文字以上`` is told, not assigned."""
    prose = None if value.isascii() else _EASTERN.search(value)
    return value if prose is None else value[: prose.start()]


PROSE_END = ".,;:!?)*_"
"""The signs of a sentence behind a value."""


def without_end(value: str) -> str:
    """The value without the signs of the sentence; an exclamation mark after a digit is its own."""
    own = value.rstrip(PROSE_END)
    return f"{own}!" if value[len(own) :].startswith("!") and own[-1:].isdigit() else own


def entropy(value: str) -> float:
    """Bits of Shannon entropy for each character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def has_digit(value: str) -> bool:
    """A digit anywhere in it."""
    return any(map(str.isdigit, value))


def has_letter(value: str) -> bool:
    """A letter anywhere in it."""
    return any(map(str.isalpha, value))


def mixed(value: str) -> bool:
    """Letters and digits."""
    return has_digit(value) and has_letter(value)


def wordlike(value: str) -> float:
    """The share of its letters and digits that stand in what can be spoken as a word of three letters or more."""
    pieces: list[str] = _PIECE.findall(value)
    size = sum(map(len, pieces))
    spoken = sum(len(piece) for piece in pieces if len(piece) >= 3 and _is_word(piece))
    return spoken / size if size else 0.0


def _is_word(piece: str) -> bool:
    vowels = len(_VOWEL.findall(piece))
    if len(piece) < 5:
        return vowels > 0 or "y" in piece
    return vowels >= 0.2 * len(piece) and not _CLUSTER.search(piece)


def random_looking(value: str) -> bool:
    """True if it changes between capitals, small letters and digits as often as made-up characters do."""
    pieces: list[str] = _PIECE.findall(value)
    if len(value) < 8 or not pieces:
        return False
    if (
        len(value) >= 10
        and len(pieces) >= len(value) / 3
        and sum(not _VOWEL.search(each) for each in pieces) > 1
    ):
        return True  # "qWrtKQgy": no name changes that often
    if len(_CHANGE.findall(value)) >= max(4, len(value) / 8):
        return True
    return wordlike(value) < 0.5 and (mixed(value) or len(value) >= 10)


def is_strong(value: str) -> bool:
    """True for what is made up beyond doubt, also where little tells: no words, no digest, no number of a record."""
    value = stripped(value)
    if len(value) < 20 or value in (value.lower(), value.upper()) or not mixed(value):
        return False
    if _RECORD.match(value) or is_placeholder(value) or is_reference(value):
        return False
    if not any(each not in (each.lower(), each.upper()) and mixed(each) for each in _LONG.findall(value)):
        return False
    often = len(_CHANGE.findall(value)) >= max(5, len(value) / 7)
    return random_looking(value) and (often or wordlike(value) < 0.5) and entropy(value) >= 3.5


def has_symbol(value: str) -> bool:
    """A sign that passwords have and names in code have not."""
    return bool(_STRONG_SYMBOL.search(value))


_SIGN = LazyPattern(r"[^\w\s.\-/]")
_FIRST_SIGN = LazyPattern(r"[^\w\s/]")
_OF_A_TEMPLATE = LazyPattern(
    r"\s|^(?:[0-9a-f]{1,4}:)+[0-9a-f]{0,4}$|^\$[{(]|\$\{[^}]*\}|\$\([^)]*\)|\{\{|\}\}|%\(|://|</|[=-]>|\*{3}|•{2}|…|\.{3}|x{4}|^(?:--|\[secret|ENC[(\[]|#[0-9A-Fa-f]{3,8}$|%\w+%$|\{\w{2,16}\})"
    r"|(?-i:[a-z]{3})\([\w.,$'\"]*\)|^(?:<[\w .:/|-]*>|\[[\w .:/,-]*\]|\{+[\w .:/|-]*\}+|\(+[\w .:/-]*\)+|[@#%$]?\{[^{}]*\}|([@#%$])\1.*\1\1)$|\\|\(\?|\[[^\[\]]{2,}\](?:[+*?{]|$)|\(\w+(?:\|\w+)+\)|\w-\w[^\[\]]*\]|\{\d+,?\d*\}",
    re.IGNORECASE,
)
"""Parts of templates, references, masks and regular expressions."""


def is_scrambled(value: str) -> bool:
    """True for letters, digits and signs in an order that only chance makes: ``-x9KqVm2Trw``, ``{.Yd;Z3_R%8c``.

    A sign at the beginning (``$``, ``<``, ``{``, ``%``) is otherwise that of a reference or a placeholder, so words and
    closed brackets are left.
    """
    if not 8 <= len(value) <= 128 or _OF_A_TEMPLATE.search(value):
        return False
    found = _SIGN.findall(value)
    signs = len(found)
    first = bool(_FIRST_SIGN.match(value))
    if not (first or signs > 1) or (2 * sum(map(str.isalnum, value)) < len(value) and len(set(found)) < 4):
        return False
    if (value[0] in "-$%@" or not mixed(value)) and value in (value.lower(), value.upper()):
        return False
    return random_looking(value) and wordlike(value) < (0.65 if signs > 1 else 0.5)


def is_placeholder(value: str) -> bool:
    """True for what stands where a secret will be: ``your-key-here``, ``<token>``, ``$VAR``, ``****``."""
    return bool(_PLACEHOLDER.search(value))


def is_reference(value: str) -> bool:
    """True for a path, a file name, a number, a date, rules (``required|min:8``), or a name in code whose parts are words."""
    if value.startswith("arn:") or _PUBLIC.match(value) or _FINGERPRINT.match(value) or _ADDRESS.match(value):
        return True
    if any(pattern.match(value) for pattern in (_DRIVE, _DATE, _CALL, _RULES, _ALGORITHM)):
        return True
    if value[0] == "/":
        return value.count("/") > 1 and wordlike(value) >= 0.4 and not _PLUS.search(value)
    if "." in value and _IDENTIFIER.match(value):
        if (
            len(value) >= 10
            and mixed(value)
            and value not in (value.lower(), value.upper())
            and wordlike(value) < 0.4
        ):
            return False
        return not any(len(part) >= 8 and mixed(part) and random_looking(part) for part in value.split("."))
    return False


def is_name_like(value: str) -> bool:
    """True if capitals and signs stand where a convention for names puts them; ``Pop0Corn_abend`` follows none."""
    return all(map(_CONVENTION.match, value.split("/")))


def is_ordinary(value: str) -> bool:
    """True for a placeholder, a reference, or words joined by hyphens."""
    if is_placeholder(value) or is_reference(value):
        return True
    if (
        _WORDS.match(value)
        and wordlike(_NUMBERS.sub("", value)) >= 0.5
        and (" " in value or is_name_like(value))
    ):
        return True
    return bool(_SOFT.search(value)) and wordlike(value) >= 0.5 and not _STRONG_SYMBOL.search(value)


def _is_stated(value: str, trust: Trust) -> bool:
    """True for words with a digit that somebody states to be a password: ``dragon-copper-45``."""
    if trust < Trust.STATED and (trust is Trust.CODE or _IDENTIFIER.match(value)):
        return False
    if len(value) < 8 or not mixed(value) or is_placeholder(value):
        return False
    if is_reference(value) and (not _DOTTED.match(value) or is_code_name(value)):
        return False
    if has_symbol(value) or (trust >= Trust.LITERAL and is_dotted_password(value)):
        return True
    return not ("/" in value or _TALKS_OF.search(value) or _TECHNICAL.match(value))


def _is_assigned(value: str, trust: Trust) -> bool:
    """True for what people make up, where a password is assigned: ``DB_PASS: admin.Lagerhaus3``."""
    if trust is Trust.ENVIRONMENT and _is_of_words(value) and _is_folded(value):
        return not (is_placeholder(value) or is_code_name(value))
    if (
        trust < Trust.LINE
        or (trust < Trust.LITERAL and is_name_like(value) and value.islower())
        or (trust is Trust.LINE and is_name_like(value))
    ):
        return False
    return is_chosen(value, beside=True)


def _is_variable(value: str, trust: Trust) -> bool:
    """True for what code may call a variable: ``password=userinput2``."""
    if trust >= Trust.LITERAL or not _IDENTIFIER.match(value):
        return False
    if not _NAME.search(value.lower()):
        if trust is Trust.LINE:
            return False
    elif wordlike(value) >= 0.5 and is_name_like(value):
        return True
    return is_name_like(value) and not (
        random_looking(value)
        or (len(value) >= 16 and mixed(value) and wordlike(value) < 0.7)
        or (len(value) >= 8 and value.islower() and not _NAME.search(value))
    )


def _begins_a_path(value: str, trust: Trust) -> bool:
    """True for a password behind which a path goes on: no folder is called like that."""
    first, slash, _ = value.partition("/")
    return bool(slash) and random_looking(first) and is_password(first, trust)


def is_password(value: str, trust: Trust) -> bool:
    """True if it can be the value of a password at a place of this trust."""
    value = stripped(value)
    if trust >= Trust.LINE and is_scrambled(value):
        return True
    if len(value) < 5 or is_common(value) or value[0] == "-" or _PUBLIC.match(value):
        return False
    return _may_be_password(value, trust)


def _may_be_password(value: str, trust: Trust) -> bool:
    if trust >= Trust.LINE and _EXCLAIMED.match(value):
        return not is_placeholder(value) and not _TALKS_OF.search(value)
    if trust >= Trust.LITERAL and _PHRASE.match(value) and not _SOFT.search(value):
        return not is_placeholder(value)
    if _is_stated(value, trust) or _is_assigned(value, trust) or _begins_a_path(value, trust):
        return True
    if is_ordinary(value) and not (value.isdecimal() and trust >= Trust.LINE and len(value) >= 6):
        return False
    if mixed(value):
        return (len(value) >= 6 or bool(_STRONG_SYMBOL.search(value))) and not _is_variable(value, trust)
    if _STRONG_SYMBOL.search(value):
        return len(value) >= 6 and trust >= Trust.LINE and has_letter(value) and value[-1] not in "?!="
    if value.isdecimal():
        return len(value) >= 6 and trust >= Trust.LINE and not is_placeholder(value)
    return len(value) >= 8 and _is_letters_only(value, trust)


def _is_letters_only(value: str, trust: Trust) -> bool:
    if trust is Trust.ENVIRONMENT:
        return value.isalpha() and not value.istitle() and not _NAME.search(value.lower())
    if trust < Trust.LINE and not (len(value) >= 12 and wordlike(value) < 0.2 and not value.isupper()):
        return False
    return value.isalpha() and value.isascii() and random_looking(value)


def is_key(value: str, trust: Trust, *, least: int = 16) -> bool:
    """True if it can be the value of a key or token of at least ``least`` characters."""
    value = stripped(value)
    if len(value) < least:
        return False
    if (trust >= Trust.LITERAL and is_scrambled(value)) or (value[0] == "-" and is_strong(value)):
        return True
    if value[0] == "-" or is_ordinary(value):
        return False
    if not mixed(value):
        return len(value) >= 16 and value.isascii() and random_looking(value)
    return entropy(value) >= (2.8 if least >= 16 else 2.3) and not _is_variable(value, trust)


def is_word_password(value: str) -> bool:
    """True for one word that may be a password where a sentence quotes it as one."""
    value = stripped(value)
    common = value.lower() in _COMMON or bool(_SOFT.search(value))
    return (
        len(value) >= 6
        and value.isalnum()
        and not value.isupper()
        and not common
        and not is_placeholder(value)
    )


_TECHNICAL_PART = LazyPattern(
    r"(?-i:(?<![A-Za-z])|(?=[A-Z]))(?:utf|base|sha|md|o?auth|log|u?int|float|http|ipv|ec|vec|mat|str|bit|arm|win|mysql|postgres|pg|python|java|node|php|socks|argon|pbkdf|bcrypt|rfc|gpt)[-_]?\d"
    r"|(?<![^\W_])(?:x|s|k|e|p|b|h|v|i|l|es|mp)\d{1,3}(?![a-z]+\d)|(?<!\d)(?<![a-z]{5})(?<![a-z]{5}[-._])(?:16|32|64|128|256|512)(?!\d)|auth|2fa|(?<![a-z])(?:pw|db|srv|host|node|cluster|chars)(?![a-z])",
    re.IGNORECASE,
)


def is_technical(value: str) -> bool:
    """True if a part of it names a format, a protocol or a product with its version: ``utf8``, ``node18``."""
    return bool(_TECHNICAL_PART.search(value))


_OF_PROGRAMS = LazyPattern(
    r"v?\d+\.\d|\d+\*[a-z]|[A-Z]{2,}[v#-]?\d[\w.-]*$|[a-z_]\w*(?:\.[a-z_]\w*)*\.[A-Z][a-z]+$|.*(?:\.[a-z]{2,5}$|\d\.\d|\d{4}-\d\d-\d\d)|[a-z\d./_@-]*@v?\d|[a-z\d._-]+#\d+$|0x[0-9A-Fa-f]+$|(?:[0-9A-Fa-f]{1,4}:){2,}[0-9A-Fa-f]{0,4}$|[0-9a-fA-F]{6,}(?:-[0-9a-fA-F]{4,})*$|[a-z]+(?:[A-Z][a-z]+)+\d$|[a-z]{0,3}\d{1,4}[a-zà-ÿ]+$|[A-Z]+(?:-[A-Z]+)*-\d+$"
)
"""A version, an acronym with a number, a class in its module, a file, a date, the version of a package, a digest, a name in code."""
_PASSWORD_SIGN = LazyPattern(
    r"[A-Za-z0-9À-ÿ][!#$&%^*~§€£]|[A-Za-z0-9]@[A-Z0-9]|[!#^*§€£][A-Za-z0-9À-ÿ]|[A-Za-z]{2}\+[A-Za-z]{2}"
)
_ESCAPE = LazyPattern(r"%[0-9A-Fa-f]{2}|^%")
_SIGN_AMID = LazyPattern(r"[A-Za-z]{3,}[!$&][A-Za-z]{3,}$")
_LEET = LazyPattern(r"[A-Za-zà-ÿ]\d{1,2}[A-Za-zÀ-ÿ]{2,}|[A-Za-zà-ÿ]{2,}\d{1,2}[A-Za-zÀ-ÿ]")
_OF_WORDS = LazyPattern(r"(?:[._-]?(?:[^\W\d_]{2,}|(?<!\d)\d{1,4}(?!\d)[a-z]{0,2}))+[!?]?$")
_WORD_PIECE = LazyPattern(r"[^\W\d_](?:(?![A-ZÀ-Þ])[^\W\d_])+")


def is_chosen(value: str, *, beside: bool = False) -> bool:
    """True for what people make up as a password of words, and call nothing else: ``Gru4ereRape``, ``Baklava.41tepsi``.

    Args:
        value: one token of a sentence about a password.
        beside: something leads to it, so that words with a number will do.
    """
    if not 7 <= len(value) <= 64 or is_placeholder(value):
        return False
    if not mixed(value):
        return bool(_SIGN_AMID.match(value)) and _is_folded(value)
    if value[0] in "-$@%&+" or any(sign in value for sign in "/=") or _ESCAPE.search(value):
        return False
    if any(form.match(value) for form in (_ADDRESS, _DATE, _DRIVE, _CALL, _OF_PROGRAMS)) or is_code_name(
        value
    ):
        return False
    if _PASSWORD_SIGN.search(value):
        return True
    if _TECHNICAL_PART.search(value) or _TALKS_OF.search(value):
        return False
    if _LEET.search(value) and value not in (value.lower(), value.upper()):
        return True
    return beside and (_is_of_words(value) or (random_looking(value) and not value.isupper()))


def _is_folded(value: str) -> bool:
    """True for capitals and small letters, beyond a capital at the beginning."""
    return value[1:] not in (value[1:].lower(), value[1:].upper())


def _is_of_words(value: str) -> bool:
    """True for words and a number, in no form that programs have: ``lemon-Tractor-88``, ``Kaffeemaschine2024``."""
    if not _OF_WORDS.match(value):
        return False
    words = [len(word) for word in _WORD_PIECE.findall(value)]
    digits = sum(map(str.isdigit, value))
    if len(words) > 1:
        long = len(words) > 2 and sum(words) >= 12
        return sum(words) >= 7 and (long or digits > 1 or value != value.lower())
    return sum(words) >= (6 if digits > 1 else 12)


_CODE = LazyPattern(r"(?:[A-Z]-)?\d{4,8}[#*]?$|\d{2,4}(?:[ -]\d{2,4}){1,3}$")
_GROUPS = LazyPattern(r"[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,8}$")
_UUID = LazyPattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
_YEAR = LazyPattern(r"(?:19|20)\d\d$")


def is_sealed(value: str) -> bool:
    """True for what a program encrypted where it stands: ``ENC[AES256_GCM,data:…]``."""
    return value.startswith(("ENC[", "ENC("))


_MASK_OR_EXPRESSION = LazyPattern(r"\*{3}|\]\{\d+,?\d*\}")


def is_tangle(value: str) -> bool:
    """True for a quoted text with blanks that no one says: ``k|7&dW* z0^)Rq+H{2u Vn>~``."""
    return (
        len(value) >= 16
        and not is_sealed(value)
        and not _MASK_OR_EXPRESSION.search(value)
        and mixed(value)
        and len(_STRONG_SYMBOL.findall(value)) >= 3
        and wordlike(value) < 0.3
    )


def is_code(value: str) -> bool:
    """True for what is typed in once: ``482913``, ``482 913``, ``G-482913``; no year."""
    return bool(_CODE.match(value)) and not _YEAR.match(value)


def is_licence(value: str) -> bool:
    """True for the key of a licence: groups of capitals and digits, or what is made up beyond doubt."""
    if "." in value:
        return False
    return (bool(_GROUPS.match(value)) and has_digit(value)) or is_strong(value)


def is_uuid(value: str) -> bool:
    """True for a UUID, which is a secret only where its name leaves no doubt."""
    return bool(_UUID.match(value))


_RECORD_SID = LazyPattern(r"[A-Z]{2}[0-9a-f]{32}$")


def is_session(value: str) -> bool:
    """True for what names a session to whoever has it; a UUID, also behind a date, is its number in a log."""
    if _RECORD_SID.match(value):  # Twilio's number of an account, a message, a call
        return False
    return len(value) >= 20 and mixed(value) and random_looking(value) and "-" not in value


_HEX_KEY = LazyPattern(r"(?=[a-f]{0,31}\d)(?=\d{0,31}[a-f])[0-9a-f]{32,64}$")


def is_made_up_key(value: str) -> bool:
    """True for what is made up beyond doubt, and for 32 to 64 hexadecimal digits."""
    return is_strong(value) or bool(_HEX_KEY.match(value))
