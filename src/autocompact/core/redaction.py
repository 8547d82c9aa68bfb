"""Secrets in a text: found by shape, and by the name they are assigned to.

A summary, a ledger and a log line never carry a credential in clear; the original stays in the log. What has no
shape of its own is only taken for a secret where its name says so and its value looks random, because a wrong hit
costs the reader an identifier: git hashes, uuids, digests, paths and code stay.

Linear and fast: each rule is tied to an anchor that a search jumps to (1 to 3 GB/s), and the pattern that looks
closer is matched there and bounded. An anchor is a literal for `str.find`, or a rare first character with a look
ahead, which `re` finds with memchr and which can stand for several prefixes at once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NewType

Redacted = NewType("Redacted", str)
"""Text in which every secret that the redactor knows was replaced. Only `redact` and what is built from its results makes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One secret: ``text[start:end]``, and what it is ("GitHub token")."""

    start: int
    end: int
    kind: str


def redact(text: str) -> Redacted:
    """``text`` with every secret replaced by ``[secret: kind]``; unchanged where none is found."""
    while spans := find_secrets(text):
        text = _replaced(text, spans)
    return Redacted(text)


def redact_parts(texts: Sequence[str]) -> tuple[Redacted, ...]:
    """Each of the consecutive texts of one message, redacted; a secret that crosses a boundary is replaced on both sides."""
    parts = tuple(texts)
    if len(parts) > 1:
        while any(spans := _spans_of_parts(parts)):
            parts = tuple(map(_replaced, parts, spans))
    return tuple(map(redact, parts))


def _replaced(text: str, spans: Sequence[Span]) -> str:
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces += (text[position : span.start], f"[secret: {span.kind}]")
        position = span.end
    return "".join((*pieces, text[position:])) if pieces else text


def _spans_of_parts(parts: tuple[str, ...]) -> list[tuple[Span, ...]]:
    """What is secret in each part, read as lines that follow each other and as one text that was cut anywhere."""
    found: list[list[Span]] = [[] for _ in parts]
    for glue in ("\n", ""):
        spans = find_secrets(glue.join(parts))
        offset = 0
        for part, own in zip(parts, found, strict=True):
            end = offset + len(part)
            own += (
                Span(start=max(0, span.start - offset), end=min(span.end - offset, len(part)), kind=span.kind)
                for span in spans
                if span.start < end and span.end > offset
            )
            offset = end + len(glue)
    return [_merged(sorted(own, key=lambda span: (span.start, -span.end))) for own in found]


def find_secrets(text: str) -> tuple[Span, ...]:
    """The secrets in ``text``, in order, without overlap."""
    # The only character whose lower case has another length would shift every position after it.
    folded = text.replace("İ", "I").lower()
    found = [*_by_rules(text, text, rules=_EXACT), *_by_rules(text, folded, rules=_FOLDED)]
    return _merged(sorted(found, key=lambda span: (span.start, -span.end))) if found else ()


def _merged(spans: list[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for span in spans:
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
        elif span.end > merged[-1].end:
            merged[-1] = Span(start=merged[-1].start, end=span.end, kind=merged[-1].kind)
    return tuple(merged)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """``pattern`` is matched ``back`` characters before ``anchor``; its last group is the secret if ``accept`` agrees.

    ``rest`` is what still belongs to a secret after it.
    """

    anchor: str | re.Pattern[str]
    kind: str
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool]
    back: int = 0
    rest: re.Pattern[str] | None = None


def _by_rules(text: str, folded: str, *, rules: tuple[_Rule, ...]) -> Iterator[Span]:
    for rule in rules:
        end = 0
        for at in _anchors(folded, rule.anchor):
            match = rule.pattern.match(text, max(0, at - rule.back)) if at >= end else None
            if match is not None and rule.accept(match):
                start, end = match.span(match.lastindex or 0)
                if rule.rest is not None and (rest := rule.rest.match(text, end)):
                    end = rest.end()
                yield Span(start=start, end=end, kind=rule.kind)


def _anchors(text: str, anchor: str | re.Pattern[str]) -> Iterator[int]:
    if isinstance(anchor, re.Pattern):
        yield from (match.start() for match in anchor.finditer(text))
        return
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + len(anchor))


# What a value must look like ---------------------------------------------------------------------------------

_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_PLACEHOLDER = re.compile(
    r"(?:^|[^A-Za-z])(?:your|my|change_?me|example|sample|dummy|fake|mock|tests?|testing|placeholder|redacted|todo"
    r"|none|null|undefined|string|env|getenv|config|settings|self|this|args|request)(?:$|[^A-Za-z])"
    r"|\*{3}|x{4}|\.\.\.|…|\$[A-Za-z({]|[{<]|%[sd(]|://|\[secret",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]|[\w.-]+/[\w.-]+\.\w{1,5}$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")
_WORDS = re.compile(r"(?:[A-Za-z]{2,}\d{0,2}|\d{1,4})(?:[_ -](?:[A-Za-z]+\d{0,2}|\d{1,4}))+$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*$")
_NAME = re.compile(
    r"_|pass|word|secret|token|key|value|input|user|admin|arg|field|param|data|text|str|conf|env|cred|hash|auth|base64|utf8|oauth"
)
_FLAG = re.compile(r"--[\w-]*$")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{20,}")


def _always(match: re.Match[str]) -> bool:
    return bool(match)


def _mixed(run: str) -> bool:
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run))


def _dense(match: re.Match[str]) -> bool:
    """A run of 12 or more letters and digits, mixed: words joined by hyphens have none."""
    return any(map(_mixed, _RUN.findall(match[1])))


def _entropy(value: str) -> float:
    """Bits of Shannon entropy for each character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def _is_ordinary(value: str) -> bool:
    """Whether it is a placeholder, a path, a reference in code or words joined by hyphens."""
    return any(pattern.match(value) for pattern in (_PATH, _DOTTED, _WORDS)) or bool(
        _PLACEHOLDER.search(value)
    )


def _may_be_literal(match: re.Match[str], value: str) -> bool:
    """Whether the place says it is a value: closed quotes, an environment assignment, or no name a program has."""
    if match["quoted"] is not None:
        return match.string[match.end() : match.end() + 1] in ("", '"', "'", "`", "\\")
    if match["sign"] == " " and not _FLAG.search(match.string, max(0, match.start() - 32), match.start()):
        return False
    if value[0] == "-":
        return False
    return (
        match[0][:3].isupper()
        or match["sign"] == " "
        or not _IDENTIFIER.match(value)
        or len(value) >= 16
        or (len(value) >= 8 and value.islower() and not _NAME.search(value))
    )


def _is_password(match: re.Match[str]) -> bool:
    value = match[match.lastindex or 0]
    return (
        any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and _may_be_literal(match, value)
        and _entropy(value) >= 2.3
        and not _is_ordinary(value)
    )


def _is_token(match: re.Match[str]) -> bool:
    value = match[match.lastindex or 0]
    return len(value) >= 16 and _is_password(match) and _entropy(value) >= 3.0


def _is_url_password(match: re.Match[str]) -> bool:
    common = {"password", "passwd", "pass", "pw", "pwd", "secret"}
    return not _PLACEHOLDER.search(match[1]) and match[1].lower() not in common


def _is_credentials(match: re.Match[str]) -> bool:
    value = match[1]
    folds = value[1:] not in (value[1:].lower(), value[1:].upper())
    return folds or value.endswith("=") or (_mixed(value) and len(value) >= 16)


def _has_key_material(match: re.Match[str]) -> bool:
    return bool(_KEY_MATERIAL.search(match[1]))


# Rules -------------------------------------------------------------------------------------------------------


def _token(first: str, prefix: str, *, kind: str, body: str, dense: bool = False) -> _Rule:
    """A token that begins with the character ``first`` and then ``prefix``, a pattern."""
    # The boundary before it also keeps this linear: a run of such characters is read once.
    pattern = re.compile(rf"(?<![A-Za-z0-9_-])({first}(?:{prefix}){body})")
    anchor = re.compile(f"{first}(?={prefix})")
    return _Rule(anchor=anchor, kind=kind, pattern=pattern, accept=_dense if dense else _always)


# The body of a PEM block, also with what tools put around its lines: line numbers, diff signs, quotes, JSON's "\n".
# A block that a limit cut off has no end line.
_PEM_GAP = r"(?:\\[nr]|[\s>|+\"',]|\d{1,6}[→:|])"
_PEM_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_LINE = (
    r"(?:Proc-Type|DEK-Info|Comment|Version|Hash):[^\n\\]{0,120}|[A-Za-z0-9+/=]{20,}|=[A-Za-z0-9+/]{4}"
)
_PRIVATE_KEY = (
    rf"(-----BEGIN {_PEM_NAME}{_PEM_GAP}(?>{_PEM_GAP}|{_PEM_LINE})*+"
    rf"(?:[A-Za-z0-9+/=]{{1,19}}{_PEM_GAP}*+(?=-----END))?(?:-----END {_PEM_NAME})?)"
)
_URL_PASSWORD = r"://[^\s/:@?#\"'<>]{0,80}:(?!\d{1,5}[/?#,])([^\s/\"'<>`]{1,200})@(?=[\w\[$])"

_STRIPE = re.compile(r"(?<![A-Za-z0-9_-])([sr]k_(?:live|test)_[A-Za-z0-9]{12,})")

_EXACT: tuple[_Rule, ...] = (
    _token("s", "k-", kind="API key", body=r"[A-Za-z0-9_-]{16,}", dense=True),
    _token("g", "h[pousr]_|ithub_pat_", kind="GitHub token", body=r"[A-Za-z0-9_]{20,}"),
    _token("A", "KIA|SIA", kind="AWS key id", body=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("A", "Iza", kind="Google key", body=r"[A-Za-z0-9_-]{30,}"),
    _token("y", r"a29\.", kind="Google token", body=r"[A-Za-z0-9_-]{20,}"),
    _token("G", "OCSPX-", kind="Google key", body=r"[A-Za-z0-9_-]{20,}"),
    _token("x", "ox[abeoprs]-|app-", kind="Slack token", body=r"[A-Za-z0-9-]{10,}", dense=True),
    _Rule(
        anchor=re.compile(r"k(?=_live_|_test_)"), kind="Stripe key", pattern=_STRIPE, accept=_always, back=1
    ),
    _token("w", "hsec_", kind="webhook key", body=r"[A-Za-z0-9+/=]{20,}"),
    _token("g", "lpat-", kind="GitLab token", body=r"[A-Za-z0-9_-]{20,}"),
    _token("n", "pm_", kind="npm token", body=r"[A-Za-z0-9]{30,}"),
    _token("p", "ypi-", kind="PyPI token", body=r"[A-Za-z0-9_-]{32,}", dense=True),
    _token("h", "f_", kind="Hugging Face token", body=r"[A-Za-z0-9]{30,}"),
    _token("e", "yJ", kind="JWT", body=r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    _Rule(
        anchor="hooks.slack.com/services/",
        kind="Slack webhook",
        pattern=re.compile(r"hooks\.slack\.com/services/([A-Z0-9]{8,}/[A-Z0-9]{8,}/[A-Za-z0-9]{16,})"),
        accept=_always,
    ),
    _Rule(
        anchor=re.compile(r"-(?=----BEGIN )"),
        kind="private key",
        pattern=re.compile(_PRIVATE_KEY),
        accept=_has_key_material,
    ),
    _Rule(
        anchor=re.compile(r":(?=//)"),
        kind="password",
        pattern=re.compile(_URL_PASSWORD),
        accept=_is_url_password,
    ),
)

_QUOTE = r"\\{0,3}[\"'`]"
# What may follow a secret's name in a name: DB_PASSWORD_PROD, SECRET_KEY_BASE; not password_hash, token_count.
_SUFFIX = r"(?:[_-]?(?:access|key|base|base64|b64|token|value|prod|production|dev|test|staging|live|secret|\d{1,3})){0,4}"
_NAMED = rf"(?:{_QUOTE}(?:\][ \t]{{0,3}}(?==))?)?(?:\??:[ \t]?[A-Za-z][A-Za-z.| \[\]]{{0,40}}(?==(?!=)))?[ \t]{{0,3}}"
# An unquoted value is read up to "=" or ":", so that names repeated without end ("token:token:…") cost linear time;
# what else belongs to it is taken along once it is known to be a secret.
_BARE = r"\s\"'`\\<>,;&|(){}\[\]"
_VALUE = (
    r"(?P<sign>=>|:=|=(?!=)|:(?!:)|>|(?<=[A-Za-z0-9])[ ])[ \t]{0,3}"
    rf"(?:{_QUOTE}(?P<quoted>[^\s\"'`\\]{{6,}}+)|(?P<bare>[^{_BARE}:=]{{6,}}+={{0,2}}))"
)
_REST = re.compile(rf"[^{_BARE}]*")


def _assigned(literal: str, name: str, *, kind: str, accept: Callable[[re.Match[str]], bool]) -> _Rule:
    pattern = re.compile(rf"{name}{_SUFFIX}{_NAMED}{_VALUE}", re.IGNORECASE)
    return _Rule(anchor=literal, kind=kind, pattern=pattern, accept=accept, rest=_REST)


_KEY = rf"(?:{'|'.join(f'(?<={name})' for name in ('api', 'api_', 'api-', 'access', 'access_', 'account', 'private_'))})key"

_FOLDED: tuple[_Rule, ...] = (
    _assigned("passw", r"passw(?:or)?ds?", kind="password", accept=_is_password),
    _assigned("passphrase", "passphrase", kind="password", accept=_is_password),
    _assigned("secret", "secret", kind="secret value", accept=_is_password),
    _assigned("key", _KEY, kind="API key", accept=_is_password),
    _assigned("token", "token", kind="token", accept=_is_token),
    _Rule(
        anchor="bearer ",
        kind="token",
        pattern=re.compile(r"bearer[ \t]{1,3}([A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE),
        accept=_dense,
    ),
    _Rule(
        anchor="authorization",
        kind="credentials",
        pattern=re.compile(
            rf"authorization(?:{_QUOTE})?\]?[ \t]{{0,3}}[:=][ \t]{{0,3}}(?:{_QUOTE})?"
            r"(?:basic|bearer|token|apikey)[ \t]{1,3}([A-Za-z0-9._~+/=-]{8,})",
            re.IGNORECASE,
        ),
        accept=_is_credentials,
    ),
    _Rule(
        anchor="curl ",
        kind="password",
        pattern=re.compile(
            r"curl [^\n]{0,300}?(?<=[ \t])(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,64}:([^\s\"'$]{3,})",
            re.IGNORECASE,
        ),
        accept=_is_url_password,
    ),
)
