"""Secrets that their name gives away: an assignment in any syntax, an option, a cell, a sentence.

First the name is read to both sides of its word ("password"); a name that goes on to say something else
(`password_hash`, `token_count`) is left. Then what stands between name and value is looked for, and last the value must
look like a secret, the more so the less its place tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.anchors import is_searched
from autocompact.core.redaction.name_places import OTHER_TAILS, PREPOSITIONS, Place, place_of
from autocompact.core.redaction.name_table import NAMES
from autocompact.core.redaction.rules import Name
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import (
    EASTERN,
    PROSE_END,
    Trust,
    has_symbol,
    is_chosen,
    is_dotted_password,
    is_key,
    is_password,
    is_strong,
    is_tangle,
    is_word_password,
    mixed,
    random_looking,
    stripped,
    without_end,
)
from autocompact.core.redaction.words import (
    are_two_words,
    is_passphrase,
    is_spaced,
    is_word,
    is_word_and_number,
)

# From the name to its value ---------------------------------------------------------------------------------

_Q = r"(?:\\{0,7}[\"'`]|%22|%27|&quot;|&#3[49];)"
_COLOUR = r"(?:(?:\x1b|\\u001[bB]|\\x1[bB]|\\e|\\033)\[[0-9;]{0,12}m){0,3}"
_CLOSED = rf"{_COLOUR}(?P<closed>{_Q})?(?:\*{{2}}|__)?(?:[ ]?\([^()\n]{{1,40}}\)|[ ]\[[^\[\]\n]{{1,40}}\](?=:))?(?:\][ \t]{{0,3}}(?=[=:!])|\)[ \t]{{0,3}}(?==)|\}}(?=[ \t]{{0,12}}=))?"
_TYPE = r"(?:\??:[ \t]?[&*\[A-Za-z][A-Za-z.|<>&' \[\]]{0,40}(?==(?![=>])))?"
_SIGN = rf"[ \t.]{{0,24}}(?P<sign>=>|<-|[:?+]=|=(?![=>]|~[ \t/])|:-|:(?![:=])|：|＝|->|→|%3[DdAa]|\\u003[dD]|\|\||\?\?)(?:[ \t]|\*{{2}}|__){{0,12}}{_COLOUR}[ \t]{{0,4}}(?:\[\s{{0,20}}(?={_Q}))?"
_CELL = r"[ \t]{0,24}(?P<cell>[|│┃])[ \t]{1,40}"
_ENTERS = r"\.(?:fill|type|type_?(?:text|keys|write)|send_?keys|press_?sequentially|set_?(?:value|text)|enter_?text|input_text|replace_?text|to_?have_?value|val)\("
_CALL = (
    rf"(?P<call>\(|[\w\]>:=-]{{0,20}}[\"'`]?\]?\){{0,2}}(?:\.(?:clear|click|focus|first|last|nth|wait_?for|should)\([^()\n]{{0,30}}\)){{0,3}}{_ENTERS}"
    rf"|\){{1,3}}\.perform\((?:\w+\(\),[ ]?)?(?:type|replace)Text\()[ \t]{{0,3}}(?={_Q})"
)
_COMPARED = r"[ \t]{0,3}(?P<compared>===?|!==?|<>|\.(?:equals|equalsIgnoreCase|contentEquals|eq)\(|\)\.(?:not\.)?(?:toBe|toEqual|toStrictEqual|to\.(?:be|eql?|equal))\(|\)\.to[ ]eq[ (])[ \t]{0,3}"
_COMMA = rf"(?P<comma>,|\r?\n[ \t]{{0,40}}-(?=[ ]))[ \t]{{0,24}}(?={_Q})"
_NUMBER = r"(?:\d{1,6}[→|:\t][ \t]{0,24})?"
_OTHER = rf"[ \t\n\r,]{{0,40}}{_NUMBER}{_Q}?\w{{1,30}}{_Q}?[ \t]{{0,12}}[:=][ \t]{{0,3}}(?:{_Q}[^\n\"'`]{{0,60}}{_Q}|[\w. -]{{1,60}})[ \t]{{0,3}}(?=[,\r\n])"
_PAIR = (
    rf"(?P<pair>(?:[ \t]{{0,3}}[:=]?[ \t]{{0,3}}\{{|:(?=[ \t]*\r?\n[ \t]))?[ \t]{{0,3}}(?:{_OTHER}){{0,5}}(?:,|\r?\n|\\n|[ \t]|(?<=\{{))[ \t\n\r,]{{0,40}}{_NUMBER}"
    rf"{_Q}?(?:(?:\w{{1,16}}:)?\w{{0,16}}value|default|with|plain_?text|secret_?string|content|-[ ]input_?text){_Q}?[ \t]{{0,12}}[:=][ \t]{{0,3}})"
)
_BLOCK = r"(?P<block>:[ \t]{0,3}[|>][-+]?[ \t]{0,3}\n[ \t]{1,24})"
_BELOW = r"(?P<below>[:：](?:\*{2})?[ \t]{0,3}(?:\n[ \t]{0,8}(?:```\w{0,8})?){1,3}(?:>[ ]|-[ ])?)"
_SPACE = r"(?P<space>[ \t]{1,8})"
_LINK = (
    r"(?P<link>(?:[ ](?:[^\s.:;=!?,\"'`<>]{1,30}|\w{1,6}['’]\w{1,24})){0,6}?(?:[ ](?:is|was|are|be|becomes|ist|war|wurde[ ]auf|bleibt|lautete?t?|hei(?:ß|ss)t|c['’]est|est|sera|es|era|fue|foi|ser[áà]|sarà|é|è|e'|är|er|var|jest|je|este|là|adalah|ir|yra|er|brzmi|=|to)|['’]s|[ ]hab(?:e|en)?[ ](?:ich|wir)(?:[ ][a-zäöüß]{1,15}){0,2}|[ ](?:geändert|gesetzt|chang[ée]e?|cambiad[oa]|cambiat[oa]|alterad[oa]|gewijzigd)[ ](?:auf|en|à|a|in|por|para|naar)|[ ]auf(?=[ ][^\s]{4,80}[ ](?:geändert|gesetzt|umgestellt)))"
    r"(?:[ ](?:now|still|currently|just|jetzt|noch|nun|weiterhin|toujours|todavía|siempre|ancora|maintenant|ahora|agora|adesso|ora|set[ ]to|changed[ ](?:from(?:[ ][^\s.:;=!?,\"'`<>]{1,30}){1,4}[ ])?to|reset[ ]to))?[ \t]?[:：]?[ \t\n]{1,2})"
)
_EAST = r"(?P<east>(?:[^\x00-\x7f]{0,12}?[ ]?(?:を|를|을|是|为|為|改成了?|成|は|는|은|هو|هي|הוא|היא|है|คือ|είναι)[ ]?[:：]?|(?=[「『«“])|(?:[ ][^\x00-\x7f]{1,20}){1,4}[ ](?=[!-~])|[^\x00-\x7f]{1,12}?[ ]?[：:＝=]|(?:[ ][^\x00-\x7f]{1,20}){1,4}[ ]?[：:＝=—–]|(?<=[^\x00-\x7f])[ ]?[—–])[ \t]{0,3})"
_BETWEEN = LazyPattern(
    rf"{_CLOSED}(?:{_BLOCK}|{_PAIR}|{_BELOW}|{_TYPE}{_SIGN}|{_CELL}|{_COMPARED}|{_CALL}|{_COMMA}|{_LINK}|{_EAST}|{_SPACE})",
    re.IGNORECASE,
)
_SUBJECT = LazyPattern(
    r"(?P<words>(?:[ ]'[^'\n]{1,120}'|[ ]\"[^\"\n]{1,120}\"|[ ](?![-$&|]|(?<!for[ ])/)[^\s:;=!?,<>(){}\"']{0,40}[^\s.:;=!?,<>(){}\"']){1,10})(?:[ ]\((?=[^\s()]{6,80}\))|(?:[ ]\([^()\n]{1,120}\))?[ ]?[:：]"
    r"(?:[ \t]{1,8}|[ \t]{0,3}(?:\r?\n[ \t>]{0,8}){1,2}))"
)
"""What a password is for, up to the colon or a bracket: ``password is generated for root@localhost: …``."""
_UNDER = LazyPattern(r"[*_`\"':：]{0,4}[ \t]*\r?\n(?:[ \t]*\r?\n){0,2}[ \t>|]{0,12}(?:[-*][ ])?")
_TITLE = LazyPattern(
    r"(?m:^)[ \t>*#|_`-]{0,12}(?:(?![a-zß-ÿ])[^\W\d][\w'’.-]{0,20}[ ](?:[^\W\d][\w'’.-]{0,20}[ ]){0,2})?$"
)
_LOGIN_ABOVE = LazyPattern(
    r"(?m:^)[ \t>*#|_-]{0,12}(?:user(?:[ _]?name)?|login|account|e-?mail|benutzer(?:name)?|konto|identifiant|utilisateur|usuario|utente|gebruiker(?:snaam)?|用户名?|账号|帐号|ユーザー名?)"
    r"[*_:：]{0,3}[ \t]*\r?\n(?:[ \t]*\r?\n)?[^\n]{1,80}\n(?:[ \t]*\r?\n)?\Z",
    re.IGNORECASE,
)
"""The name of a user and the user, each on a line, right above: what follows them in a form is a password."""
_OTHERS = OTHER_TAILS - PREPOSITIONS - {"per"}
_PROMPT = LazyPattern(
    r"[ \t]{0,8}(?:\([\w.-]{1,30}\)[ ])?(?:[\w.-]{1,40}@[\w.-]{1,40}[: ]?[^\s$#%]{0,60}[ ]?|PS[ ][^>\n]{1,80})?[$#%>❯➜][ ]"
)
_HASHES = LazyPattern(r"[ ](?:git|hg|grep|ls|find|fd|rg|wc|diff|md5(?:sum)?|\w*sha\w*)[ ]")
_OTHERS_PRINT = LazyPattern(
    r"(?:docker|podman)[ ](?:secret|config|service)[ ]|[ ](?:pubkey|public[ -]?key)(?!\w)"
)
"""Commands that speak of secrets, and print numbers of records and what everybody may know."""
_PRINTED = LazyPattern(r"[^\n]{0,300}\r?\n")
_IT_IS = LazyPattern(
    r"(?<![\w'])(?:it(?:['’]s|[ ]is|[ ]was)|(?:es|er|sie|das)[ ](?:ist|lautet|war)|c['’](?:est|était)|(?:ahora )?es|adesso è)(?: now| jetzt| still| noch)?[ :]{1,2}"
    r"(?:(?P<q>[\"“'`„«])(?=[^\n]{5,80}[\"”'`“»])|(?=\S))(?P<value>(?(q)[^\n\"”'`“»]{5,80}|[^\s\"'`“”«»,;]{6,80}(?<![.!?)])))",
    re.IGNORECASE,
)
"""A sentence that goes on from a name: ``the password? It is …``."""
_JUDGED = 4_096
"""Characters of a value by which it is judged: more than a key has, and than the longest that a form takes."""

_SAYS_IT = ("it's", "it’s", "it is", "it was", " ist", " lautet", " war", "est", "était", "es ", "es:", "è")
"""Of which it has one, in lower case: looking for these takes a fiftieth of the time."""
_RUN = LazyPattern(r"(?<![\w/.@:+=-])(?P<value>[A-Za-z0-9_+/~-]{20,400}={0,2})(?![\w/.@:-]|[ ]?=)")
_LABEL = LazyPattern(r"(\w+)[\"'`\])]*[ \t]{0,8}(?:=>|[:=])[ \t]{0,8}[\"'`(\[{]*\Z")
_SEALS = LazyPattern(r"(?<!\w)(?:ENC[\[(]|accessor)")
"""Before what a program encrypted where it stands, and what only names a token."""
_CONTENTS = frozenset(
    "value default data content plaintext text string secret is here this below follows once aquí aqui hier ici qui unten".split()
)
_ELEMENT = LazyPattern(
    r"(?:[ \t][^<>\n]{0,120})?(?<!/)(?P<element>>)[ \t\r\n]{0,40}(?:<(?:value|string|plain_?text|text)(?:[ ][^<>\n]{0,80})?>[ \t\r\n]{0,40})?",
    re.IGNORECASE,
)
_PREFIX = LazyPattern(r"<[\w-]{1,24}(?:[.:][\w-]{1,24}){0,4}[.:]$")
_INSIDE = LazyPattern(r"(?P<value>[^\s<>\"']{4,400})[ \t\r\n]{0,40}(?=</)")
_ATTRIBUTE = LazyPattern(r"[\"'](?:[ \t][^<>\n]{0,120})?>[ \t\n]{0,40}(?:<(?:value|string)>[ \t\n]{0,40})?")
_NAMED_ELEMENT = LazyPattern(
    r"<(?!input|label|select|button|textarea|form|div|span|meta)[\w:-]{1,40}[ \t][^<>\n]{0,80}?\b(?:name|key|property)=[\"'][\w.-]{0,60}$"
)
_PLIST = LazyPattern(
    r"</[\w-]{0,16}(?:key|name)>[ \t\r\n]{0,40}<[\w-]{0,16}(?:string|value|val|text)(?:[ ][^<>\n]{0,80})?>",
    re.IGNORECASE,
)

_WRAP = r"(?:(?:\w{1,24}::(?:from|new)(?:\(String::from)?|Secret\w{0,8}|(?i:md5|sha\d{0,3}|password|encrypt|crypt|hash)|String|str|bytes|Buffer\.from|Some|SecureString|(?:[\w.]{1,40}\.)?(?:fromhex|unhexlify|[bB](?:ase)?64_?[dD]ecode|[dD]ecode_?(?:[sS]tring|64)))\(|[bBfFrRuUN@]{1,2}(?=[\"']))?"
_QUOTED = LazyPattern(
    rf"{_WRAP}(?P<q>\"{{3}}|'{{3}}|{_Q})(?P<value>(?:(?!(?P=q))(?:\\[^\s]|[^\x00-\x20]))+)(?P<end>(?P=q)|\\|)"
)
_QUOTED_PHRASE = LazyPattern(
    rf"(?P<q>{_Q})(?P<value>\w{{3,20}}(?:-\w{{2,20}}){{0,3}}(?:[ ]\w{{1,20}}){{1,9}}[!?]?)(?P=q)"
)
_TANGLE = LazyPattern(r"(?P<q>[\"'])(?P<value>(?:(?!(?P=q))[^\n]){16,200})(?P=q)")
_OPEN = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}
_BARE = rf"\x00-\x20\"'`\\<>,;&|(){{}}\[\]{EASTERN}"
# Unquoted, a value is first read up to "=" or ":", so that names repeated without end ("token:token:…") cost linear
# time; what else belongs to it is taken along once it is known to be a secret.
_SHORT = LazyPattern(rf"(?P<value>[^{_BARE}:=]+={{0,2}})")
_REST = LazyPattern(rf"[^{_BARE}]*")
_TO_END = LazyPattern(rf"(?P<value>[^\x00-\x20\"'`\\{EASTERN}]+?)[,;]?[ \t]{{0,8}}(?=\r?\n|$)")
_PHRASE_LINE = LazyPattern(r"(?P<value>\w{3,20}(?:[ ]\w{2,20}){2,7}[!?]?)[ \t]{0,8}(?=\r?\n|$)")
_IS_NAME = LazyPattern(
    rf"(?<!\w)(?:\w{{0,16}}(?:name|key)|variable|id){_Q}?[ \t]{{0,3}}[:=][ \t]{{0,3}}{_Q}?(?:[\w-]{{1,30}}[./])*$",
    re.IGNORECASE,
)
_VALUE_FIRST = LazyPattern(
    rf"(?<!\w)(?:\w{{0,16}}value|default|plain_?text|secret_?string){_Q}?[ \t]{{0,3}}[:=][ \t]{{0,3}}(?:(?P<q>{_Q})|(?=[^\s\"'\\]))"
    rf"(?P<value>[^\s\"'\\]{{4,200}})(?(q)(?P=q))[ \t]{{0,3}}(?:,|\r?\n)(?:\s{{0,40}}{_Q}?\w{{1,30}}{_Q}?[ \t]{{0,3}}[:=][ \t]{{0,3}}{_Q}?[\w.-]{{1,40}}{_Q}?[ \t]{{0,3}}(?:,|\r?\n)){{0,3}}"
    rf"\s{{0,40}}{_Q}?(?:name|key|variable|id){_Q}?[ \t]{{0,3}}[:=][ \t]{{0,3}}{_Q}?(?:[\w-]{{1,30}}[./])*$",
    re.IGNORECASE,
)
_FIELD = LazyPattern(
    r"[ ]?=[ ]?(?!\{[^{}\n]*\})(?P<value>[^\s\"'`;]{4,200})(?:(?P<next>;[ ]?[A-Za-z][\w ]{0,30}=)|;|(?=[\"'`\s]|$))"
)
_SPACED = LazyPattern(r"(?P<q>[\"'])(?P<value>[^\n\"'`]{8,100})(?P=q)(?=[ \t]*(?:\r?\n|$)|[ ][a-z])")
_CODED_AS = LazyPattern(
    r"(?:(?:(?:irreversible-)?cipher|plain(?:-?text)?|simple|ascii(?:-text)?|local|remote|level[ ]\d{1,2}|reg_sz|/[dt]|\d{1,2})[ \t]{1,8}){1,3}(?=\S)",
    re.IGNORECASE,
)
"""How the settings of a device say that a password is written: ``password cipher …``."""
_FIELDS = LazyPattern(r"[&;][ ]?[\w.-]+=")
_ENCODED = LazyPattern(
    r"(?P<value>(?:[A-Za-z0-9._~+/!*-]|%(?!26|3B|22|20|27|7D|2C|0A|0D)[0-9A-Fa-f]{2})+)", re.IGNORECASE
)
_BRACE = LazyPattern(r"[{}()\[\];]")
_ASSIGNMENT = LazyPattern(
    rf"(?:{_Q}|[\])* \t]){{0,8}}(?::[ ]?[\w<>&' ]{{0,30}}=|=>|[:=：＝>])[ \t]{{0,8}}(?:(?:\w{{1,24}}::)?(?:from|new|String|str|bytes)\(){{0,2}}[bru@]?{_Q}?$"
)
_ASSIGNS = LazyPattern(r"[A-Za-z_][\w.-]{0,30}=[^=]")
"""Another name with its value: ``secret=prod/db/password version=3``."""
_BRACKETS = LazyPattern(r"[{}()\[\]]")
_SET = LazyPattern(r"(?:ENV|setx|SETX|setenv|set(?:[ ]-[a-zA-Z]+)+)[ ]$")
_SETTERS = LazyPattern(
    r"(?:set\w*|put\w*|define|getenv|setenv|environ\.get|env|default\w*|option)\(\s{0,20}(?:[\w.]{1,40}\s{0,3},\s{0,20}){0,2}[\"'`]$",
    re.IGNORECASE,
)
"""Calls that take a name and its value."""
_PLAIN = LazyPattern(r"(?P<value>[^\x00-\x20\"'`\\<>“”„»«「」『』。、，]{4,200})")
_MANY = LazyPattern(rf"(?P<q>{_Q})(?P<value>[a-z]{{4}}(?:[ ][a-z]{{4}}){{3}})(?P<end>(?P=q))")
_LINE_START = LazyPattern(
    r"(?:^|\n|\\n)[ \t+>#$│|→\d:-]{0,16}(?:export[ ]|set[ ]|ENV[ ]|-e[ ]|setenv[ ]|env[ ]|declare[ ]-x[ ]|\$env:)?$"
)

_OF_USER = LazyPattern(r"[A-Za-z][\w.@+-]{0,40}[:/][^/]")
_GIVEN_TO = ("pass", "key", "token", "secret", "cred", "creds", "credential", "credentials", "pat")
_LEAST_OF_OPTION = 10
_KEY = 12
"""Characters from which a value has a run that names and signs do not have."""
_KEY_RUN = LazyPattern(r"[^\s:=]{8,}")
_REACH = 2_000
"""Characters behind a name within which every form has its value."""
_FEW = 64
"""Places that are looked at one by one: to find the runs of a whole text costs more."""
_CLAUSE_END = LazyPattern(r"[\"'`”»*]{0,3}[ \t]{0,4}(?:[.!,;)|]|\r?\n|\\[nr]|$|[^\x00-\x7f])")
_FIELD_START = LazyPattern(
    r"(?:^|[\n?&;]|\w=[^\s;&]{0,40}[ ]|[ ]--[\w-]{1,30}=|[ ](?:-e|--env|--extra-vars|--build-arg|--set)[ ][\"']?)[\w.-]{0,40}$"
)
_FIELDS_BEFORE = LazyPattern(r"(?<![\w.(,-])[\w.-]{1,30}=[^\s=,;()]{1,40}[ ,]$")
_FIELD_END = LazyPattern(r"[\"']?(?:\r?\n|$|[&;]|[ ][\w.-]{1,30}=)|[\"'](?=[\s/>,;)\]}])")
_OF_SECTION = LazyPattern(r"(?m:^)\[[\w .:/-]{1,60}\][ \t]*\r?\n(?:[\w#;][^\n()\[\]{}]*\n|[ \t]*\n){0,20}$")
_SETTING = LazyPattern(
    r"[ \t]*(?:[#;][^\n]*|[\w.-]+[ \t]*[=:][ \t]*[^\n(){}\[\];]*|\[[^\[\]\n]*\][ \t]*)?\r?(?:\n|$)"
)
_PUTS = LazyPattern(
    r"(?m:^)[$#>%❯]?[ \t]*[a-z][\w.-]*[ ](?:[^\n]*[ ])?(?:set|put|add|create|update|write|user|auth)(?![a-z])[^\n]*$|(?m:^)[$#>%❯][ ][a-z][\w.-]*[ ]$"
)
_HEX = LazyPattern(r"[0-9a-fA-F]{32,128}")
_SERVICE = LazyPattern(
    r"params|headers?|auth|api|client|sdk|service|provider|endpoint|https?://|curl|fetch|axios|secret|credential|new [A-Z]\w{0,40}\(|geo|weather|maps?(?![a-z])|translat|payment|sms|mail|webhook",
    re.IGNORECASE,
)
"""Words of a request to a service, or of its settings."""
_STORED = LazyPattern(
    r"cache|hash|etag|digest|sha\d|md5|checksum|index|object|bucket|path|file|size|commit|git|blob|row|partition|primary|sort|lookup|redis|memo|lock|artifact|image|\bid\b|public",
    re.IGNORECASE,
)
"""Words of what a key finds or a digest names."""
_LINE_END = LazyPattern(r"[ \t]*\r?(?:\n|$)")
_NEXT_FIELD = LazyPattern(r"[ ][\w.-]{1,30}=[^\s=]")
_COMMAND = LazyPattern(r"[ ](?!(?:and|or|if|else|for|is|in|when|with)[ ])[a-z][\w./-]{1,40}(?:[ ]|\r?\n|$)")
_COMMAND_START = LazyPattern(r"(?:^|\n|[$#>|;&][ ])$")
_GIVEN = LazyPattern(r"[ ]-{1,2}[A-Za-z][\w-]{0,30}[ =]?[\"']?(?:[\w.-]{1,40}[.:])?$")
"""An option before a name with its value: ``-var db_password=…``."""
_PROPERTY = LazyPattern(
    r"(?m:^)[ \t]*(?!(?:self|this|cls|req|request|res|user|args?|obj|opt(?:ion)?s|config|settings|app|params|data|form|state|props|ctx|event|body|client|session|conn|db)\.)[a-z][\w-]*(?:\.[\w-]+)*\.$"
)
"""The beginning of a line of properties: ``keystore.``, and then the name."""
_SET_TO = LazyPattern(r"(?:set|changed|reset|updated)[ ]to[ ]?$", re.IGNORECASE)
_SETS = LazyPattern(r"(?:set|changed?|reset|updated?)[ ](?:[\w']{1,16}[ ]){0,3}$", re.IGNORECASE)


class _Value(Struct, frozen=True):
    start: int
    end: int
    trust: Trust
    word: bool = False
    """It is quoted after "the password is": a word will do."""
    phrase: bool = False
    """It is several words with blanks between."""
    paired: bool = False
    """It is the value of an element whose key is the name."""
    more: bool = False
    """What follows up to the next blank belongs to it."""


_ANCHORS = frozenset(name.anchor for name in NAMES)
_ORDER = tuple(enumerate(NAMES))
_BY_ANCHOR = {anchor: tuple(row for row in _ORDER if row[1].anchor == anchor) for anchor in _ANCHORS}
_FOREIGN = tuple(row for row in _ORDER if not is_searched(row[1].anchor))


def find_named(source: Source) -> Iterator[Span]:
    """The values of the names in the table, in its order."""
    rows = [row for anchor in source.held(_BY_ANCHOR) for row in _BY_ANCHOR[anchor]]
    # A letter that Latin-1 cannot write is "?" in the lower-case text: without two of them there is no foreign name.
    if b"??" in source.lower:
        rows += _FOREIGN
    for _, name in sorted(rows, key=itemgetter(0)):
        yield from _named(source, name)


def _before_keys(text: str, places: Sequence[int]) -> Iterator[int]:
    """Those of the ascending places behind which a part of a key may stand: at the others every form is tried in vain."""
    runs = _KEY_RUN.finditer(text)
    run = next(runs, None)
    for at in places:
        while run is not None and run.end() <= at:
            run = next(runs, None)
        if run is None:
            return
        if run.start() < at + _REACH:
            yield at


def _named(source: Source, name: Name) -> Iterator[Span]:
    done = 0
    places = source.positions(name.anchor)
    if name.least >= _KEY and name.accept is None and isinstance(places, Sequence) and len(places) > _FEW:
        places = _before_keys(source.text, places)
    for at in places:
        place = place_of(source.text, name, at=at) if at >= done else None
        found = next(_accepted(source.text, name, place=place), None) if place is not None else None
        if found is not None:
            rest = _REST.match(source.text, found.end) if found.more else None
            done = found.end if rest is None else _without_dots(source.text, found.start, end=rest.end())
            yield Span(start=found.start, end=done, kind=name.kind)


def _accepted(text: str, name: Name, *, place: Place) -> Iterator[_Value]:
    # "creds: user:secret" and "user/password: …" are read by a form, which leaves the user.
    paired = name.anchor == "cred" or text[place.start - 1 : place.start] == "/"
    least = min(name.least, _LEAST_OF_OPTION) if place.option else name.least
    for value in _candidates(text, place):
        if paired and value.trust is Trust.STATED and _OF_USER.match(text, value.start, value.end):
            continue
        if value.phrase:
            said = text[value.start : value.end]
            fits = (
                not name.least
                and name.accept is None
                and (place.option or is_word(said) or (place.capitals and is_spaced(said)))
            )
        elif name.accept is not None:
            fits = name.accept(stripped(text[value.start : value.end]))
        else:
            fits = _fits(text, value, place=place, least=least)
        if fits:
            yield value


def _fits(text: str, value: _Value, *, place: Place, least: int) -> bool:
    """True if the value can be a password, or a key of ``least`` characters."""
    said = text[value.start : min(value.end, value.start + _JUDGED)]
    if place.doubtful and not is_strong(said):
        is_hex = _HEX.fullmatch(said) and (value.paired or _is_of_service(text, place, end=value.end))
        return bool(is_hex)
    return _is_secret(said, value, least=least) or (not least and _is_stated_word(text, value, place=place))


def _is_of_service(text: str, place: Place, *, end: int) -> bool:
    """True for the "key" of a request or a service, near which nothing is hashed or stored."""
    before = text[max(0, place.start - 160) : place.start]
    return bool(_SERVICE.search(before)) and not _STORED.search(before + text[end : end + 80])


def _is_secret(text: str, value: _Value, *, least: int) -> bool:
    if is_tangle(text):
        return True
    if least:
        is_phrase = least < 12 and (
            (value.trust is Trust.ENVIRONMENT and is_password(text, value.trust))
            or (value.trust >= Trust.STATED and is_dotted_password(text))
        )
        return is_phrase or is_key(text, value.trust, least=least)
    return is_password(text, value.trust) or (value.word and is_word_password(text))


def _is_stated_word(text: str, value: _Value, *, place: Place) -> bool:
    """True for words at a place where nothing but a password would stand."""
    said = text[value.start : value.end]
    if is_word_and_number(said) or are_two_words(said):
        if not (value.paired or _ASSIGNMENT.match(text, place.end, value.start)):
            return False
    elif not is_word(said):
        return False
    if value.trust >= Trust.LITERAL:
        return True
    if value.trust is Trust.STATED:
        return bool(_CLAUSE_END.match(text, value.end))
    # In code the right side of "=" is a name: without blanks at the beginning of a line, among its like or in a section, it is none.
    is_field = text[value.start - 1 : value.start] == "=" and _FIELD_START.search(
        text, max(0, place.start - 60), place.start
    )
    is_field = is_field or _is_hyphened_setting(text, value, place=place)
    if not is_field and text[place.start - 1 : place.start] in ("", "\n"):
        is_field = _OF_SECTION.search(text, max(0, place.start - 600), place.start)
    return bool(is_field and _FIELD_END.match(text, value.end)) or _is_setting(text, value, place=place)


def _is_hyphened_setting(text: str, value: _Value, *, place: Place) -> bool:
    """True for ``password = amber-turnip``: names in code have no hyphens."""
    if "-" not in text[value.start : value.end] or text[place.end : value.start].strip(" \t") != "=":
        return False
    return text[place.start - 1 : place.start] == " " or bool(
        _LINE_START.search(text, max(0, place.start - 40), place.start)
    )


def _is_setting(text: str, value: _Value, *, place: Place) -> bool:
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


def _candidates(text: str, place: Place) -> Iterator[_Value]:
    """What may be the value of the name, the longest reading first."""
    if (element := _element(text, place)) is not None:
        yield from _inside(text, element.end())
        return
    if (content := _content(text, place)) is not None:
        yield from _inside(text, content)
    yield from _of_connection(text, place)
    yield from _before(text, place)
    if (between := _BETWEEN.match(text, place.end, place.end + 700)) is not None:
        yield from _after(text, place, between=between)
    yield from _apart(text, place)


def _element(text: str, place: Place) -> re.Match[str] | None:
    """Up to the content of an element that is called by the name, also with a prefix: ``<db:password>``."""
    before = text[place.start - 1 : place.start]
    if before == "<" or (
        before in (":", ".") and _PREFIX.search(text, max(0, place.start - 30), place.start)
    ):
        return _ELEMENT.match(text, place.end)
    return None


def _of_connection(text: str, place: Place) -> Iterator[_Value]:
    """The value of a field of a connection string, of which only a semicolon is the end."""
    before = text[max(0, place.start - 8) : place.start].rstrip(" ")
    if before[-1:] == ";" or (
        before[-1:] in ("'", '"', "=", "\n", "") and text[place.start - 1 : place.start] != " "
    ):
        field = _FIELD.match(text, place.end)
        if field is not None and (before[-1:] == ";" or field["next"]):
            yield from _matched(field, Trust.LITERAL)


def _before(text: str, place: Place) -> Iterator[_Value]:
    """The value of an element that stands before the key that is the name: ``{"value": "…", "name": "DB_PASSWORD"}``."""
    reach = 80 if text[place.start - 1] in "./" else 24
    if _IS_NAME.search(text, max(0, place.start - reach), place.start):
        pair = _VALUE_FIRST.search(text, max(0, place.start - 400), place.start)
        yield from (replace(value, paired=True) for value in _matched(pair, Trust.LITERAL))


def _inside(text: str, at: int) -> Iterator[_Value]:
    """The content of an element that begins at ``at``."""
    yield from _matched(_INSIDE.match(text, at), Trust.LITERAL)
    # of several words none is a secret: what a page shows is called like what it asks for
    yield from (
        value for value in _bare(text, at, trust=Trust.LITERAL) if text[value.end : value.end + 1] != " "
    )


def _apart(text: str, place: Place) -> Iterator[_Value]:
    """What is made up and stands further on: behind a colon, under a command that prints it, or in the next words."""
    subject = _SUBJECT.match(text, place.end, place.end + 400)
    if subject is not None and subject["words"].split(None, 1)[0].lower() not in _OTHERS:
        if text[subject.end() - 1] != "(":
            yield from _made_up(_alone(text, subject.end()), text)
        if text[place.start : place.end].lower() != "pass":
            yield from _told(text, subject.end())
    yield from _titled(text, place)
    output, listed = _output(text, place)
    if output is not None and not listed:
        yield from _made_up(_alone(text, output), text)
    yield from _it_is(text, place)
    if random_looking(text[place.start : place.end]):  # letters amid a key
        return
    for run in _RUN.finditer(text, place.end, place.end + 160):
        between = text[place.end : run.start()]
        if is_strong(run["value"]) and _leads_on(between) and not (listed and "\n" in between):
            yield _Value(*run.span("value"), Trust.CODE)


def _titled(text: str, place: Place) -> Iterator[_Value]:
    """What has the line for itself below a name that has one: forms and exports are printed like that."""
    below = _UNDER.match(text, place.end, place.end + 80)
    if below is None or text[place.start : place.end].lower() == "pass":
        return
    title = _TITLE.search(text, max(0, place.start - 80), place.start)
    if title is None:
        return
    beside_login = _LOGIN_ABOVE.search(text, max(0, title.start() - 200), title.start()) is not None
    for value in _alone(text, below.end()):
        said = text[value.start : value.end]
        if _ASSIGNS.match(said):
            continue
        if (
            beside_login
            or is_chosen(said, beside=True)
            or (mixed(said) and (has_symbol(said) or random_looking(said)))
        ):
            yield replace(value, trust=Trust.LITERAL if beside_login else Trust.STATED)


def _output(text: str, place: Place) -> tuple[int | None, bool]:
    """Where the output begins of the command that the name is in, if any, and whether it holds digests or public values."""
    line = max(text.rfind("\n", max(0, place.start - 300), place.start) + 1, place.start - 300, 0)
    printed = _PROMPT.match(text, line, place.start) and _PRINTED.match(text, place.end, place.end + 700)
    if not printed:
        return None, False
    listed = _HASHES.search(text, line, place.start) or _OTHERS_PRINT.search(text, line, printed.end())
    return printed.end(), listed is not None


def _told(text: str, at: int) -> Iterator[_Value]:
    """What stands behind the colon of a sentence that goes on: made up, or words in quotes that make no sentence."""
    phrase = _PHRASE_LINE.match(text, at)
    if phrase is not None and is_passphrase(phrase["value"]):
        yield _Value(*phrase.span("value"), Trust.STATED, phrase=True)
    for value in _said(text, at, trust=Trust.STATED, word=False):
        said = text[value.start : value.end]
        if " " in said:
            fits = is_passphrase(said)
        else:
            fits = mixed(said) and (has_symbol(said) or random_looking(said))
        if fits and ("/" not in said or is_strong(said)):
            yield value


def _it_is(text: str, place: Place) -> Iterator[_Value]:
    """What the next sentence says it is."""
    following = text[place.end : place.end + 240].lower()
    if not any(each in following for each in _SAYS_IT):
        return
    for said in _IT_IS.finditer(text, place.end, place.end + 240):
        value = said["value"]
        if said["q"]:
            yield _Value(*said.span("value"), Trust.STATED, phrase=" " in value)
        elif mixed(value) and (has_symbol(value) or random_looking(value) or value.count("-") > 1):
            yield _Value(*said.span("value"), Trust.STATED)


def _made_up(values: Iterator[_Value], text: str) -> Iterator[_Value]:
    """Those of the values that are no word."""
    for value in values:
        said = text[value.start : value.end]
        if (mixed(said) or random_looking(said)) and ("/" not in said or is_strong(said)):
            yield value


def _leads_on(between: str) -> bool:
    """True if nothing between a name and a value says that the value is of something else."""
    label = _LABEL.search(between)
    return (
        not _SEALS.search(between)
        and between.count("\n") < 3
        and (label is None or label[1].lower() in _CONTENTS)
    )


def _content(text: str, place: Place) -> int | None:
    """Where the content of an element begins whose attribute or whose neighbour has the name."""
    form = _PLIST if text[place.end : place.end + 1] == "<" else _ATTRIBUTE
    found = form.match(text, place.end)
    if found is None:
        return None
    if form is _ATTRIBUTE and not _NAMED_ELEMENT.search(text, max(0, place.start - 200), place.start):
        return None
    return found.end()


def _after(text: str, place: Place, *, between: re.Match[str]) -> Iterator[_Value]:
    """What may be the value, by what stands between name and value."""
    at, form = between.end(), between.lastgroup
    # "PASS" alone is what a test did: only an assignment makes it a name.
    alone = text[place.start : place.end].lower() == "pass" and text[place.start - 1] != "."
    if alone and form in ("cell", "space", "below", "comma"):
        return
    match form:
        case "link":
            yield from _linked(text, place, link=between["link"], at=at)
        case "east":
            yield from _said(text, at, trust=Trust.STATED)
        case "call" | "comma":
            literal = (
                form == "call" or place.option or _SETTERS.search(text, max(0, place.start - 80), place.start)
            )
            trust = Trust.ENVIRONMENT if place.capitals else Trust.LITERAL if literal else Trust.CODE
            yield from _quoted(text, at, trust=trust) if form == "call" or between["closed"] else ()
        case "compared":
            yield from _compared(text, at)
        case "space":
            yield from _spaced(text, place, at=at)
        case "cell" | "below":
            yield from _alone(text, at)
        case _:
            values = _assigned(text, place, at=at, sign=between["sign"] or "")
            yield from (replace(value, paired=form == "pair") for value in values)


def _compared(text: str, at: int) -> Iterator[_Value]:
    """What is made up on the other side of a comparison, where names and words stand as well."""
    for value in (*_quoted(text, at, trust=Trust.LITERAL), *_bare(text, at, trust=Trust.LINE)):
        said = text[value.start : value.end]
        if mixed(said) and (has_symbol(said) or random_looking(said)):
            yield value


def _linked(text: str, place: Place, *, link: str, at: int) -> Iterator[_Value]:
    """What a sentence says the name is, unless the sentence is about its hash, length or the like."""
    subject = link.split(None, 1)[0].lower()
    if subject in _OTHERS:
        return
    # "A pass" may be one of a test or a compiler, and things are passed and keys added to others.
    own = text[place.start : place.end].lower()
    goal = link.rstrip().endswith(" to")
    if goal and own == "pass":
        return
    if goal and own.endswith(_GIVEN_TO) and not _SETS.search(text, max(0, place.start - 60), place.start):
        return
    sure = own != "pass" and not goal
    stated = sure or _SETS.search(text, max(0, place.start - 60), place.start) or _SET_TO.search(link)
    yield from _said(
        text, at, trust=Trust.STATED if stated else Trust.CODE if goal else Trust.LINE, word=sure
    )


def _assigned(text: str, place: Place, *, at: int, sign: str) -> Iterator[_Value]:
    literal = Trust.ENVIRONMENT if place.capitals else Trust.LITERAL
    yield from _quoted(text, at, trust=literal)
    if sign[:1] == "%":
        yield from _matched(_ENCODED.match(text, at), Trust.LINE)
    elif sign not in ("||", "??"):
        trust = Trust.LINE if sign == "=" else Trust.STATED
        trust = literal if sign == "=" and _is_field(text, place, at=at) else trust
        given = place.option or _GIVEN.search(text, max(0, place.start - 60), place.start)
        trust = literal if place.capitals or given else trust
        if _LINE_START.search(text, max(0, place.start - 40), place.start):
            whole = _TO_END.match(text, at)
            yield from _matched(whole if whole is None or not _FIELDS.search(whole["value"]) else None, trust)
            if sign == "=" and (phrase := _PHRASE_LINE.match(text, at)) is not None:
                yield _Value(*phrase.span("value"), trust, phrase=True)
            if place.capitals and text[place.end : at] == "=":
                spaced = _SPACED.match(text, at)
                if spaced is not None:
                    yield _Value(*spaced.span("value"), trust, phrase=True)
        # a query has no variables, and neither has a line of properties
        whole = _property(text, place, at=at)
        yield from _matched(whole, Trust.STATED)
        yield from _bare(text, at, trust=trust)
        if whole is not None or text[place.start - 1] in "?&":
            yield from _bare(text, at, trust=Trust.STATED)


def _property(text: str, place: Place, *, at: int) -> re.Match[str] | None:
    """The rest of a line of properties, as ``spring.datasource.password=…``."""
    if text[place.start - 1] != "." or not _PROPERTY.search(text, max(0, place.start - 80), place.start):
        return None
    return _TO_END.match(text, at)


def _is_field(text: str, place: Place, *, at: int) -> bool:
    """True for one of several ``name=value`` on a line, as inventories and connection strings have them."""
    return text[at - 1] == "=" and bool(_FIELDS_BEFORE.search(text, max(0, place.start - 80), place.start))


def _matched(match: re.Match[str] | None, trust: Trust) -> Iterator[_Value]:
    if match is not None:
        yield _Value(
            match.start("value"),
            _without_dots(match.string, match.start("value"), end=match.end("value")),
            trust,
        )


def _is_compound(text: str, place: Place) -> bool:
    name = text[place.start : place.end]
    return text[place.start - 1 : place.start] in ("/", ":") or "_" in name or name[1:] != name[1:].lower()


def _without_dots(text: str, start: int, *, end: int) -> int:
    """The end of a value without the ellipsis of whoever shortened it."""
    return start + len(stripped(text[start:end]))


def _quoted(text: str, at: int, *, trust: Trust, word: bool = False) -> Iterator[_Value]:
    groups = _MANY.match(text, at)
    if groups is not None and not word:
        yield _Value(*groups.span("value"), Trust.ENVIRONMENT)
    phrase = _QUOTED_PHRASE.match(text, at) if trust >= Trust.LITERAL else None
    if phrase is not None:
        yield _Value(*phrase.span("value"), trust, phrase=True)
    match = _QUOTED.match(text, at)
    tangle = _TANGLE.match(text, at) if match is None or not match["end"] else None
    if tangle is not None and is_tangle(tangle["value"]):
        yield _Value(*tangle.span("value"), trust)
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
    if text[start - 1 : start + 1] == ":?":  # the message of a shell for a name without a value
        return
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
        inner = text[at + 1 : end]
        start = at + 1 + len(inner) - len(inner.lstrip())
        yield _Value(start, start + len(inner.strip()), Trust.LITERAL, word=word)
        return
    yield from _quoted(text, at, trust=Trust.LITERAL, word=word)
    match = _PLAIN.match(text, at)
    if match is not None:
        start, end = match.span("value")
        value = stripped(match["value"])
        ascii_only = next((i for i, char in enumerate(value) if ord(char) > 0x2E7F), len(value))
        yield _Value(start, start + len(without_end(value[:ascii_only])), trust)


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


def _of_line(text: str, place: Place, *, at: int) -> Iterator[_Value]:
    """What has a line with its name for itself, as settings and the tables of tools have it: ``password   Kormoran_5``."""
    if not _LINE_START.search(text, max(0, place.start - 40), place.start):
        return
    for value in _alone(text, at):
        said = text[value.start : value.end]
        if (
            mixed(said)
            and not said.startswith("-")
            and not _BRACKETS.search(said)
            and (at - place.end > 1 or text[place.end] == "\t" or has_symbol(said) or "_" in said)
        ):
            yield value


def _spaced(text: str, place: Place, *, at: int) -> Iterator[_Value]:
    """After a blank: the value of an option, of Dockerfile's ENV, of SQL's PASSWORD, or what cannot be a word."""
    if place.option:
        yield from _quoted(text, at, trust=Trust.LITERAL)
        yield from _bare(text, at, trust=Trust.LITERAL)
    elif place.capitals and _SET.search(text, max(0, place.start - 8), place.start):
        yield from _quoted(text, at, trust=Trust.ENVIRONMENT)
        yield from _bare(text, at, trust=Trust.ENVIRONMENT)
    elif (coded := _CODED_AS.match(text, at)) is not None:
        yield from (value for value in _alone(text, coded.end()) if mixed(text[value.start : value.end]))
    elif not text[place.start].isascii():
        said = _said(text, at, trust=Trust.STATED, word=False)
        yield from (value for value in said if not text[value.start : value.end].isalpha())
    else:
        yield from (value for value in _quoted(text, at, trust=Trust.LITERAL) if text[at] in "'`\"")
        yield from _of_line(text, place, at=at)
        if _is_compound(text, place) and _PUTS.search(text, max(0, place.start - 120), place.start):
            yield from (value for value in _alone(text, at) if mixed(text[value.start : value.end]))
        match = _PLAIN.match(text, at)
        if match is not None:
            value = stripped(match["value"]).rstrip(PROSE_END)
            if (
                not (_BRACE.search(value) or _ASSIGNS.match(value) or value.startswith("-"))
                and len(value) >= 8
                and mixed(value)
                and (random_looking(value) or has_symbol(value) or is_chosen(value, beside=True))
            ):
                yield _Value(at, at + len(value), Trust.CODE)
