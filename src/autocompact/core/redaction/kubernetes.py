"""The values of a Kubernetes Secret: its ``data`` is base64 of secrets, whatever their names say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import is_placeholder

SECRETS: tuple[Form, ...] = (
    Form(
        kind="secret value",
        anchor="secret",
        pattern=LazyPattern(r"(?<![A-Za-z])kind(?:\\?\")?[ ]?:[ ]{0,3}(?:\\?\")?Secret(?![A-Za-z])"),
        back=12,
        examples=(
            "kind: Secret\ndata:\n  username: YWRtaW4=\n  connection: «<b40>»\n",
            "apiVersion: v1\ndata:\n  password: «<b22>==»\nkind: Secret\nmetadata:\n  name: db\n",
            'data:\n  ".dockerconfigjson": «<b60>»\nkind: Secret\n',
            '{"data": {"connection": "«<b40>»"}, "kind": "Secret"}',
            "kind: Secret\nstringData:\n  dsn: «<a20>»\n",
        ),
        others=(
            "kind: Secret\nmetadata:\n  name: db\n  uid: 123e4567-e89b-12d3-a456-426614174000\n",
            "kind: Secret\ndata:\n  enabled: dHJ1ZQ==\n",
            "kind: ConfigMap\ndata:\n  image: 9f86d081884c7d659a2feaa0c55ad015\n",
            "kind: SecretProviderClass\ndata:\n  image: 9f86d081884c7d659a2feaa0c55ad015\n",
            "kind: Secret\ndata:\n  key: ${ENCODED_KEY_OF_2024}\n",
        ),
    ),
)
_KIND, _SECRET, _BACK = SECRETS[0].kind, SECRETS[0].pattern, SECRETS[0].back
_LONGEST = 20_000
"""Characters of a document that are read to each side."""
_LEAST = 12
"""Characters of a value: of a shorter one its name must say that it is a secret."""
_DATA = LazyPattern(r"(?m:^)(?P<indent>[ \t]*)(?:string)?data:[ \t]*\r?\n", re.IGNORECASE)
_LINE = LazyPattern(
    r"(?P<indent>[ \t]+)[\"']?[\w.-]{1,253}[\"']?:[ \t]*[\"']?(?P<value>[^\s\"'|>&*!][^\s\"']*)?[^\n]*\n?"
)
_OBJECT = LazyPattern(r"\\{0,3}\"(?:string)?data\\{0,3}\"[ ]?:\s{0,3}\{(?P<pairs>[^{}]*)", re.IGNORECASE)
_PAIR = LazyPattern(r"\\{0,3}\"[\w.-]{1,253}\\{0,3}\"[ ]?:[ ]?\\{0,3}\"(?P<value>[^\"\\\s]+)")


def find_kubernetes(source: Source) -> Iterator[Span]:
    """The long values of the ``data`` of each Secret, in YAML or JSON."""
    text, done = source.text, 0
    for at in source.positions("secret"):
        if at < done or _SECRET.search(text, max(done, at - _BACK), at + 7) is None:
            continue
        start = max(done, text.rfind("\n---", max(done, at - _LONGEST), at), at - _LONGEST)
        end = text.find("\n---", at, at + _LONGEST)
        done = end if end >= 0 else min(len(text), at + _LONGEST)
        yield from _of_document(text, start, end=done)


def _of_document(text: str, start: int, *, end: int) -> Iterator[Span]:
    for data in _DATA.finditer(text, start, end):
        at = data.end()
        while (line := _LINE.match(text, at, end)) is not None and line["indent"] > data["indent"]:
            yield from _secret(line)
            at = line.end()
    for data in _OBJECT.finditer(text, start, end):
        for pair in _PAIR.finditer(text, *data.span("pairs")):
            yield from _secret(pair)


def _secret(match: re.Match[str]) -> Iterator[Span]:
    value = match["value"]
    if value and len(value) >= _LEAST and not is_placeholder(value):
        yield Span(start=match.start("value"), end=match.end("value"), kind=_KIND)
