"""The members of a section whose heading says that they are secrets, whatever their own names say.

``secrets:`` in YAML, ``[secrets]`` in TOML and INI, ``"secrets": {…}`` in JSON, also as a list. A member is taken if its
value can be one: no placeholder, no path, no description with blanks.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.building import given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import (
    Trust,
    has_symbol,
    is_key,
    is_password,
    is_reference,
    is_uuid,
    mixed,
    random_looking,
    stripped,
)

_EXAMPLES = (
    "{0}:\n  stripe: «<a24>»\n  port: 80\n",
    "app:\n  {0}:\n    - «<a24>»\nname: x\n",
    "{0}:\n  - name: ci\n    value: «<a32>»\n",
    "{0}:\n  db:\n    main: '«<a14>!x»'\n",
    '[{0}]\nmailgun = "«<a32>»"\n\n[other]\n',
    '{{"{0}": {{"ci": "«<a24>»", "n": 2}}}}',
    '{{"{0}": [\n  "«<a24>»"\n]}}',
)
_OTHERS = (
    "{0}:\n  - db_password_1\n  - api-key-2\n",
    "{0}:\n  db:\n    file: ./secrets/db1.txt\n",
    "{0}:\n  token: ${{{{ secrets.NPM_TOKEN_2 }}}}\n",
    "{0}:\n  key:\n    description: The key of version 2\n    required: true\n",
    "{0}:\nname: 9f86d081884c7d65X9a2feaa0c55ad015\n",
    '[{0}]\nfile = "/etc/app/v2/secret.key"\n[x]\nid = "<a24>"\n',
    '{{"{0}": {{"in": 12, "out": 4, "model": "claude-sonnet-4-5-20250929"}}}}',
    "{0}: see the page of team 2",
)
SECTIONS: tuple[Form, ...] = tuple(
    Form(
        kind="secret value",
        anchor=anchor,
        pattern=LazyPattern(anchor, re.IGNORECASE),
        examples=tuple(each.format(name) for each in _EXAMPLES),
        others=tuple(each.format(name) for each in _OTHERS),
    )
    for anchor, name in (
        ("secret", "secrets"),
        ("pass", "passwords"),
        ("token", "tokens"),
        ("key", "api_keys"),
        ("cred", "credentials"),
    )
)
_KIND = SECTIONS[0].kind
_ANCHORS = frozenset(row.anchor for row in SECTIONS)
_LONGEST = 6_000
"""Characters of a section that are read."""
_NAME = r"(?:[\w-]{0,30}[_-])?(?:secrets|passw(?:or)?ds|tokens|(?:api|access|secret|private|signing|encryption)[_-]?keys|cred(?:ential)?s)(?:[_-]?data)?"
_YAML = LazyPattern(
    rf"(?m:^)(?P<indent>(?:[ \t]|- (?=\w)){{0,40}})[\"']?{_NAME}[\"']?:[ \t]*(?:#[^\n]*)?\r?\n", re.IGNORECASE
)
_INI = LazyPattern(
    rf"(?m:^)[ \t]*\[{{1,2}}(?:[\w-]{{1,40}}\.){{0,4}}{_NAME}(?:\.[\w-]{{1,40}})?\]{{1,2}}[ \t]*\r?\n",
    re.IGNORECASE,
)
_JSON = LazyPattern(rf"(?<![\w./-]){_NAME}(?:\\{{0,3}}[\"'])?[ ]?[:=]\s{{0,3}}[\[{{]", re.IGNORECASE)
_LINE = LazyPattern(
    r"(?P<indent>[ \t]*)(?:-[ ]+)?(?:[\"']?(?P<name>[\w.-]{1,120})[\"']?[ ]?[:=](?=[ \t\r\n])[ \t]*)?(?P<q>[\"']?)(?P<value>[^\r\n\"']*?)(?P=q)[ \t]*(?:[ ]#[^\n]*)?,?\r?(?:\n|$)"
)
_PAIR = LazyPattern(
    r"(?:\\{0,3}[\"'](?P<name>[\w.-]{1,120})\\{0,3}[\"'][ ]?:[ ]?)?\\{0,3}[\"'](?P<value>[^\"'\\\s]{6,4000})\\{0,3}[\"'](?![ ]?:)"
)
_PLAIN = LazyPattern(
    r"(?:user|login|host|url|uri|addr|name|email|file|path|region|descr|type|model|version|issuer|audience|provider|kind|id$|bucket|expir|created|updated|date|algo)|(?:hash|digest|checksum|sha\d*)$",
    re.IGNORECASE,
)
"""Members of such a section that are no secret."""


def find_sections(source: Source) -> Iterator[Span]:
    """The secrets that are members of a section of secrets."""
    text, done = source.text, 0
    for at in source.all_positions(_ANCHORS):
        if at < done:
            continue
        start = text.rfind("\n", max(0, at - 100), at) + 1 or max(0, at - 100)
        if (opening := _JSON.search(text, max(start, at - 40), at + 40)) is not None and opening.end() > at:
            done = _closing(text, opening.end())
            yield from _members(text, opening.end(), end=done)
        elif (yaml := _YAML.match(text, start, at + 60)) is not None:
            done = yield from _lines(text, yaml.end(), indent=len(yaml["indent"]))
        elif (ini := _INI.match(text, start, at + 100)) is not None:
            done = yield from _lines(text, ini.end(), indent=-1)


def _closing(text: str, start: int) -> int:
    """Where the object or the list that begins before ``start`` ends, roughly: no bracket in a value is told apart."""
    depth = 1
    for bracket in re.finditer(r"[\[\]{}]", text[start : start + _LONGEST]):
        depth += 1 if bracket[0] in "[{" else -1
        if not depth:
            return start + bracket.start()
    return min(len(text), start + _LONGEST)


def _members(text: str, start: int, *, end: int) -> Iterator[Span]:
    for pair in _PAIR.finditer(text, start, end):
        yield from _secret(pair)


def _lines(text: str, start: int, *, indent: int) -> Generator[Span, None, int]:
    """The secrets of the lines of a section, in YAML (``indent`` of its heading) or in INI (-1); returns where it ends."""
    at, end = start, min(len(text), start + _LONGEST)
    while at < end and (line := _LINE.match(text, at)) is not None and line.end() > at:
        blank = not line[0].strip()
        if indent < 0:
            if line[0].lstrip()[:1] == "[":
                break
        elif (
            not blank
            and len(line["indent"]) <= indent
            and not line[0][len(line["indent"]) :].startswith("- ")
        ):
            break
        if not blank:
            yield from _secret(line)
        at = line.end()
    return at


def _secret(match: re.Match[str]) -> Iterator[Span]:
    value = stripped(match["value"])
    if match["name"] and _PLAIN.search(match["name"]):
        return
    if len(value) >= 6 and " " not in value and given(value) and _is_made_up(value):
        yield Span(start=match.start("value"), end=match.start("value") + len(value), kind=_KIND)


def _is_made_up(value: str) -> bool:
    if is_uuid(value):
        return True
    if is_reference(value):
        return False
    return (is_password(value, Trust.STATED) or is_key(value, Trust.LITERAL, least=12)) and (
        (mixed(value) and random_looking(value)) or has_symbol(value)
    )
