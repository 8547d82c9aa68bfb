"""Where the name of a secret stands: its word is read to both sides, and a name of something else is left."""

from __future__ import annotations

import re

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.name_table import KEY_HEADS
from autocompact.core.redaction.rules import Name

_BACK = LazyPattern(r"[A-Za-z0-9_-]{0,64}")
_ON = LazyPattern(r"[A-Za-z0-9_-]{0,48}")
_WORDS = LazyPattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
OTHER_TAILS = frozenset(
    "hash hashes hashed digest checksum fingerprint file files filename path paths dir url uri urls link name names label id ids type types kind length len"
    " size count counts limit limits total max min expiry expires expiration expire expired ttl age timeout lifetime policy policies rule rules strength"
    " field fields input inputs box column form page screen view dialog modal prompt hint help placeholder title text? message messages error errors msg"
    " reset change changed update updated created rotation rotated algorithm alg algo encoder encoding decoder format header headers prefix suffix version"
    " provider providers backend backends driver engine store storage manager service ref refs reference arn index idx usage used cost budget window required enabled disabled valid validity"
    " validator validation invalid verified verification verify env var vars variable generator factory class endpoint description desc icon toggle visible"
    " status state mode scope scopes issuer audience metadata meta info config settings options option schema model request response handler callback listener"
    " event events map list array set items pair pairs ring chain pattern regex re mask masked redacted test tests spec example examples docs stdin command cmd"
    " data at by for from in is to of on bits iterations rounds salt salts attempts tries retries manager pool bucket buckets per rate stream streams ized izer"
    " encryption hasher hashers hashing algorithms mechanism mechanisms press up down code codes board word words mint address addresses contract md5 sha1 sha256 frame frames stroke map pad point points bindings binding space".split()
) - {"text?", "code", "test", "store"}
_OWNER = LazyPattern(r"(?<![\w.-])([A-Za-z][\w.-]{1,30})[ ]$")
"""What a key is of: ``mapbee key``, ``my key``."""
_OF_ELEMENT = LazyPattern(r"<[A-Za-z][\w.-]*[ ](?:[^<>\n]*[ ])?$")
"""What stands before an attribute: ``<li key="…">`` tells one row from the others."""
_SECRET_HEAD = LazyPattern(r"secret|priv(?:ate|$)|encrypt|signing|auth(?!or)")
PREPOSITIONS = frozenset("at by for from in is of on to".split())
_OTHER_KEYS = tuple(
    "cache primary sort partition public pub foreign idempotency lookup index row object group unique"
    " natural hash range s3 bucket feature translation i18n message event sorting registry hot short shortcut map"
    " dict json field column item react view state query param header attr path file doc dedupe dedup etag lock"
    " redis queue topic metric log tag label build turbo nx artifact restore image ssh known host gpg pgp apt rpm"
    " verification verify publishable anon site tracking measurement issue ticket jira next prev first last any"
    " press enter no key websocket parameter option".split()
)
"""What stands before "KEY" in the name of something else."""
OTHER_TOKENS = tuple(
    "page next continuation cursor sync eos bos pad unk sep cls mask special stop max min num total prompt"
    " completion input output cached reasoning used per cancellation cancel abort design color prev peek lookahead skip offset resume starting start scroll pagination checkpoint".split()
)
_OTHER_HEADERS = (
    "cache",
    "idempotency",
    "public",
    "object",
    "meta",
    "partition",
    "sort",
    "surrogate",
    "request",
    "correlation",
)
"""What stands before "key" in the name of a header that anybody may read."""
_PUBLIC = tuple(
    f"{public}{key}"
    for public in ("public", "pub", "cache")
    for key in ("", "api", "access", "app", "project", "_api", "_access", "_app", "_project")
)
_FUSED_PASS = (
    "pgp",
    "gpg",
    "smb",
    "rpc",
    "web",
    "remote",
    "local",
    "repl",
    "replica",
    "mysql",
    "postgres",
    "redis",
    "mongo",
    "oracle",
    "login",
    "account",
    "cert",
    "trust",
    "ssl",
    "tls",
    "radius",
    "router",
    "backup",
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
    "ssh",
    "pg",
    "vnc",
    "wifi",
    "bind",
    "ldap",
    "imap",
    "vpn",
    "rsync",
    "sudo",
    "http",
    "auth",
)


class Place(Struct, frozen=True):
    """The name at ``start`` to ``end``, and how it is written."""

    start: int
    end: int
    capitals: bool
    option: bool
    doubtful: bool = False
    """It may name something else (``routing_key``): only what is made up beyond doubt is its secret."""


_DIGESTS = LazyPattern(r"(?:checksum|hash|digest|sha\d*|md5)(?:\.[\w.-]{1,40})?/[\w-]{0,64}$", re.IGNORECASE)
"""What a name is of that begins like this is a digest: ``checksum/secret``."""


def place_of(text: str, name: Name, *, at: int) -> Place | None:
    """The name whose word begins at ``at``; None if it is a name of something else."""
    if name.accept is not None and name.head is not None and not name.head.search(text[max(0, at - 24) : at]):
        return None
    word = name.word.match(text, at)
    if word is None:
        return None
    back = _BACK.match(text[max(0, at - 64) : at][::-1])
    on = _ON.match(text, word.end())
    before = back[0][::-1] if back is not None else ""
    after = on[0] if on is not None else ""
    if len(before) == 64 or len(after) == 48:
        return None
    goes_on = _goes_on(word[0], after)
    doubtful = not goes_on or not name.sure
    if not goes_on and not (word[0].lower() == "secret" and after.lower() in ("_id", "id", "-id")):
        return None
    if not _is_head(name, before, word=word[0], text=text, at=at):
        if not _is_other_key(before, word=word[0], text=text, at=at):
            return None
        doubtful = True
    start = at - len(before)
    if _is_of_url_or_digest(text, start, at=at):
        return None
    full = before + word[0] + after
    bare = full.strip("-")
    capitals = bare.isupper() and ("_" in bare or len(bare) >= 6) and not bare.startswith("X-")
    return Place(start, word.end() + len(after), capitals, full[0] == "-" and len(bare) >= 4, doubtful)


def _is_of_url_or_digest(text: str, start: int, *, at: int) -> bool:
    """True for the user of a URL, which has a form of its own, and for the name of a digest."""
    if text[start - 3 : start] == "://":
        return True
    return text[start - 1 : start] == "/" and bool(_DIGESTS.search(text, max(0, start - 60), at))


def _goes_on(word: str, after: str) -> bool:
    """True if what follows the word in its name leaves it the name of a secret."""
    if not after:
        return True
    if after[0].isalpha() and (word[-1].islower() == after[0].islower() or after[0].islower()):
        return False
    return not any(part.lower() in OTHER_TAILS for part in _WORDS.findall(after))


def _is_head(name: Name, before: str, *, word: str, text: str, at: int) -> bool:
    """True if what stands before the word in its name makes it one: an API key, not a cache key."""
    if name.accept is not None:  # its head is looked for before all else
        return True
    head = before.rstrip("_-").lower()
    match word.lower():
        case "key":
            return _is_key_head(before, head, text=text, at=at)
        case "token":
            return not _ends(before, words=OTHER_TOKENS)
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


def _ends(before: str, *, words: tuple[str, ...]) -> bool:
    """True if one of the words is the last of a name, or what it ends with where the name writes all as one."""
    head = before.rstrip("_-").lower()
    return head.endswith(words) and (before[-1:].islower() or _WORDS.findall(before)[-1].lower() in words)


def _is_other_key(before: str, *, word: str, text: str, at: int) -> bool:
    """True for a key of something that no table knows (``routing_key``), or of nothing (``the key is …``)."""
    if word.lower() == "key" and not before:
        if _OF_ELEMENT.search(text, max(0, at - 120), at):
            return False
        owner = _OWNER.search(text, max(0, at - 32), at)
        if owner is not None and owner[1].lower() in _OTHER_KEYS:
            return False
        if text[at + 3 : at + 4] in ("=", ":", '"', "'") or text[at + 3 : at + 5] == " =":
            return True
        return owner is not None
    if word.lower() != "key" or not (before[-1:] in ("_", "-") or (word[0] == "K" and before[-1:].islower())):
        return False
    return not before.lower().rstrip("_-").endswith((*_OTHER_KEYS, *_PUBLIC))


def _is_key_head(before: str, head: str, *, text: str, at: int) -> bool:
    if not before:
        head = text[max(0, at - 16) : at].lower().rstrip(" .:").rpartition("\n")[2]
        return text[at - 1 : at] in (" ", ".", ":") and re.split(r"[ .:]", head)[-1] in KEY_HEADS
    if head.startswith("x-"):
        return not head.endswith(_OTHER_HEADERS)
    if head.endswith(KEY_HEADS) or _SECRET_HEAD.search(head):
        return not head.endswith(_PUBLIC)
    return before.isupper() and before[-1] == "_" and not head.endswith(_OTHER_KEYS)
