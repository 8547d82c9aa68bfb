"""Passwords of letters alone: told from the words that people, forms and code write where a password could stand.

``password: correcthorse`` is a secret and ``password: required`` is none, and no form tells them apart. So the place must
say that a value stands there (`autocompact.core.redaction.names`), and the word must be none of these: what is said of
passwords (an adjective or a participle, by its ending), a type, a label, a name in code.
"""

from __future__ import annotations

import re

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.values import (
    has_digit,
    has_symbol,
    is_code_word,
    is_common,
    is_placeholder,
    is_technical,
    stripped,
)

LEAST = 8
"""Characters of such a password, at least: most words of code and prose about passwords are shorter."""

_NAMES = LazyPattern(
    r"pass|(?<!s)word|secret|token|value|input|user|admin|login|field|param|data|text|string|config|credential|hash|auth|account|encod"
    r"|generat|random|default|dummy|sample|example|invalid|changeme|kennwort|heslo|senha|parola|cipher|crypt|manager|service"
    r"|provider|vault|prompt|charact|letter|number|length|email|address|security|something|anything|whatever|everything|nothing",
    re.IGNORECASE,
)
"""Parts of names in code and of words about passwords."""
_CAMEL = LazyPattern(r"[a-z][A-Z]|[A-Z]{2}")
_FOLDED = LazyPattern(r"[A-Za-z][a-z]{2,}(?:[A-Z][a-z]{3,}){1,2}")
_INNER = LazyPattern(r"(?<=[a-z])(?=[A-Z])")
_TYPE = LazyPattern(
    r"(?:var|n?var|long|tiny|medium)?(?:char|binary|blob)(?:array|seq|sequence|field)?s?$|(?:byte|char|long|bool|float|int|json)\w*$"
    r"|\w*(?:type|buffer|optional|nullable|object|struct|enum|list|dict|array|tuple|option|record|schema|model|class|function)s?$",
    re.IGNORECASE,
)
_SAID = LazyPattern(
    # English: wrong ones are required, case sensitive, hidden, identical, alphanumeric, sufficient
    r"\w+(?:ed|ing|[ai]ble|(?<!f)ly|[ts]ions?|ments?|[iae]ty|ness|less|ous|ful|[lmnrst]ic|ical|[ntiu]al|[dc]ate|fiers?|izers?|[tl]ors?|ollers?|ics|[ae]nc(?:y|ies|e)|ware|work|(?:back|front)end|i[sz]e|ive|[aei]nt|ary|ory|wise|where|self|selves|thing"
    r"|(?:[tkvlz]|os|id|od)en|case|code|based|only|proof|wide|safe|ready)"
    # German: falsch, ungültig, erforderlich, unsicher
    r"|\w+(?:lich|ig|(?<!f)isch|bar|los|sam|haft|heit|keit|ung|iert|falsch|leer|sicher)(?:e[nrms]?)?"
    r"|(?-i:(?:ge|ver|be|er|ent|zer|hinter|ab|aus|ein|auf|an|zu|über|um|un)[a-zäöüß]+(?:t|d|en|et))"
    # French, Spanish, Portuguese, Italian, Dutch
    r"|\w+(?:é|ée|és|ées|ible|able|ique|eux|euse|oire|ide|ecte?|elle|aire|ante?|ente?|quise?|vide)"
    r"|\w+(?:[aiíu]d[oa]s?|ect[oa]s?|ett[oa]|[oó]ri[oa]|[aá]ri[oa]|[aiu]t[oa]|ret[oa]|iv[oa]s?|[aií]v?el|ient[ei]s?|ción|ção|zione|mente|áli?da|[aá]lid[oa]|esta|ist[oa]|ur[oa])"
    r"|(?:on)?(?:geldig|juist|vereist|verplicht|versleuteld)e?",
    re.IGNORECASE,
)
_OTHERS = frozenset(
    "insecure absolute adapter backend decoder encoder formatter frontend renderer abstract adgangskode afterwards aktuelle although androiduser anonym anywhere asterisk asterisks"
    " attribute available backward because before bestätigen between biometric bisherige callback callbacks checksum"
    " clipboard clipboardmanager comparator comparison complete complex compromis concrete conferma confirm confirma"
    " confirmer constant consumer container context continue contraseña correct current database deferred delegate"
    " describe directly disabled discard document dynamic elsewhere empirical entirely erforderlich erreur everyone"
    " exchange exist exists external factory fallback falsche fehlerhaft fehlt filename filepath fingerprint follows"
    " forbidden foreign forever forgot forgotten garbage geheim gesperrt getpass gibberish handler happens helper"
    " herunder heslo identical implicit important imported incident include included incorrect independent inside"
    " instead internet irrelevant itself javascript jelszo keyboard keychain keyring keystore kubernetes language"
    " later leaked letters likewise loaded locally lowercase lösenord machine mandatory manual material maybe"
    " meanwhile minimum mismatch mixture mnemonic monospace namespace neither nonblank nonempty nonsense notwendig"
    " nullable numbers numeric obligatoire obligatorisch obsolete obvious onchange onclick operator otherwise"
    " outside override overview parameter passordet pending perhaps permanent personal placeholder plain plaintext"
    " please plural postgres pristine private process property protocol public question rather readonly recover"
    " recovery regenerate remember render repeat replace request requires requis reserved resolve response restrict"
    " result retrieve return returns reveal rotate rotates runtime salasana salt script seconds selector semicolon"
    " sensitive sentence separate sequence session several shadowed simple simply someone somewhat standard strength"
    " stronger strongest stuff subcommand submit subprocess subsystem suffix superuser supplier suspense symbol"
    " template temporary terminal terrible therefore throughout together transient trivial twice typescript"
    " unbekannt unchanged ungültig unique universal unless unsafe unsecure until uppercase useless usually validate"
    " validator variable verbatim vergessen vergeten verifier verify version visible wachtwoord weakest whatsoever"
    " whenever wherever whether whichever whitespace wiederholen without worthless written wrongly yesterday"
    " yourself ändern зашифрован неверный обязателен wymagane nieprawidłowe niepoprawne błędne".split()
)
"""What else documents, forms and code write after "password", in the languages whose words for it are known."""
_BETWEEN = LazyPattern(r"[-_. ]")
_HYPHENED = LazyPattern(r"[a-z]{4,}-[a-z]{4,}")


def is_word(value: str) -> bool:
    """True for letters, or words with signs between, that can be a password; the place must say that one stands there."""
    word = stripped(value)
    if _BETWEEN.search(word):
        return _are_words(word)
    if len(word) < LEAST or not word.isalpha() or len(word) > 40:
        return False
    lower = word.lower()
    if word.isupper() or lower in _OTHERS or is_common(word) or is_placeholder(word):
        return False
    if _CAMEL.search(word):
        return bool(_FOLDED.fullmatch(word)) and _are_words(_INNER.sub("-", word))
    return not (_NAMES.search(word) or _TYPE.match(word) or _SAID.fullmatch(word))


_NUMBERED = frozenset(
    "step level chapter phase part item line page question answer stage round week month year group case figure slide exercise lesson"
    " unit task note rule point layer variant section paragraph release sprint ticket issue schritt stufe seite kapitel teil".split()
)
"""What texts number."""
_FILES = LazyPattern(
    r"json|yaml|toml|conf|html|java|node|text|docx|xlsx|properties|local|cloud|group|tools|company|example|vault|short|long|weak|common|reused|mismatch|format|column|table"
)
"""Ends of the names of files and hosts, and what a check says of a password."""
JOINING = frozenset(
    "the and are for with from was were has have had not but its which that this their they these those must should shall will would can cannot could may"
    " when where how why what who all any some each both only also into than then there here per via out our your you use used using one two does did been"
    " being more most such same few new old".split()
)
"""Words that join a sentence."""


def _are_words(value: str) -> bool:
    """True for two words or more that say nothing of passwords: ``ruebe-rot-Moehre``, ``Kaminholz 2024``."""
    said = _BETWEEN.split(value.rstrip("!?"))
    words = [word for word in said if word.isalpha()]
    if (
        len(value) < 10
        or not 2 <= len(said) <= 10
        or not all(w.isalpha() or (w.isdecimal() and len(w) < 5) for w in said)
    ):
        return False
    if (
        not words
        or (len(said) < 3 and value == value.lower() and not _HYPHENED.fullmatch(value))
        or is_placeholder(value)
    ):
        return False
    if any((word.isupper() and len(word) > 1) or word.lower() in JOINING for word in words):
        return False
    if any(word.lower() in _OTHERS or _NAMES.search(word) or _TYPE.match(word) for word in words):
        return False
    told = sum(bool(_SAID.fullmatch(word)) for word in words)
    return (2 if len(words) < len(said) else 3) * told <= len(words)


_AND_NUMBER = LazyPattern(r"([^\W\d_]{4,20})[-._/]?\d{1,4}[!?]?$")
_TWO = LazyPattern(r"([^\W\d_]{4,20})[._-]([^\W\d_]{4,20})[!?]?$")


def is_word_and_number(value: str) -> bool:
    """True for a word with a number, both of which say nothing: ``kitten6``, ``Sandbank/2``; the place must say more."""
    match = _AND_NUMBER.match(value)
    if match is None or is_technical(value) or is_placeholder(value):
        return False
    return ("/" not in value or value[0].isupper()) and _says_nothing(match[1])


def are_two_words(value: str) -> bool:
    """True for two words with a sign between that say nothing: ``blue.harbor``, ``Zander_Fluss``; the place must say more."""
    match = _TWO.match(value)
    if match is None or value.isupper() or is_placeholder(value):
        return False
    words = match.groups()
    return all(map(_says_nothing, words)) and not any(_SAID.fullmatch(word) for word in words)


def _says_nothing(word: str) -> bool:
    lower = word.lower()
    if lower in _OTHERS or lower in _NUMBERED or lower in JOINING or is_common(word) or is_code_word(lower):
        return False
    return not (_NAMES.search(word) or _TYPE.match(word) or _CAMEL.search(word) or _FILES.fullmatch(lower))


_TOLD = LazyPattern(
    r"\b(?:must|should|shall|will|can|cannot|please|enter|least|most|use|need|needs|invalid|wrong|not|is|are|do|does|failed)\b|[$`<>{}]|%[sd]|[.:]$",
    re.IGNORECASE,
)
"""What a message to a user has."""


def is_spaced(value: str) -> bool:
    """True for two to eight words with a number or a sign among them that are no message: ``Salz & Pfeffer 3``."""
    if (
        not 2 <= len(value.split()) <= 8
        or not (has_digit(value) or has_symbol(value))
        or is_placeholder(value)
    ):
        return False
    return not (_TOLD.search(value) or _NAMES.search(value))


def is_passphrase(value: str) -> bool:
    """True for four words or more that make no sentence: ``correct horse battery staple``."""
    said = value.replace("-", " ").split()
    if len(said) < 4 or not JOINING.isdisjoint(said):
        return False
    if any(_NAMES.search(word) or _TYPE.match(word) for word in said):
        return False
    told = sum(bool(word in _OTHERS or _SAID.fullmatch(word)) for word in said)
    return told <= len(said) // 2
