"""Passwords in the column of a table that its first line names: CSV as password managers export it, SQL's INSERT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.building import given, stated
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.spans import Source, Span
from autocompact.core.redaction.values import (
    Trust,
    is_common,
    is_key,
    is_password,
    is_reference,
    mixed,
    random_looking,
)
from autocompact.core.redaction.words import are_two_words, is_word_and_number

_PASSWORDS = (
    Form(
        kind="password",
        anchor="pass",
        pattern=LazyPattern(r"pass", re.IGNORECASE),
        examples=(
            "name,url,username,password\nShop,https://shop.example,bob,«moonlight»\n",
            '"url","username","password","totp"\n"https://x.example","bob","«<a10>, x»",""\n',
            "name,username,password,url\nWiki,jdoe,«Zander.Fluss»,https://wiki\n",
            "id,email,password,created\n4,bob@acme.dev,«Lantern.Harbor27»,2024-11-02\n",
            "# client    server    secret              IP addresses\nbranch2     *         «<l6>-<l4>x9»      10.8.1.12\n",
            "folder;login_username;login_password\n;bob;«<l6>-<l5>»\n",
            "| user | password |\n|---|---|\n| bob | «<l6>-<l4>7» |\n",
            " name | password\n------+----------\n bob  | «<l10>»\n",
            "INSERT INTO users (name, password) VALUES ('bob', '«moonlight»');",
            "INSERT INTO users (id, name, passwd) VALUES (4, 'it''s', '«<a12>')»".replace("')»", "»')"),
        ),
        others=(
            "name,passed,failed\na,12,3\n",
            "INSERT INTO users (name, password) VALUES (?, ?)",
            "INSERT INTO users (name, password) VALUES (%s, $1)",
            "name,password\nbob,<password>\n",
            "def login(name, password):\n    return name, hashed2",
            "username,password,email\n",
            "a,password\nb\n",
            "| name | password |\n|---|---|\n| x | the one of the vault |\n| y | `db_password` |\n",
            "| user | secret |\n| --- | :-: |\n| the name | required |\n",
            "f(name, password) VALUES",
        ),
    ),
)
_FOREIGN = tuple(
    Form(
        kind="password",
        anchor=anchor,
        pattern=LazyPattern(anchor, re.IGNORECASE),
        examples=(f"login;{name}\nbob;«<a10>x»\n", f"| User | {name} |\n|---|---|\n| bob | «<a10>x» |\n"),
        others=(f"login;{name}_hash\nbob;<h32>\n",),
    )
    for anchor, name in (
        ("kennwort", "Kennwort"),
        ("contrase", "contraseña"),
        ("senha", "senha"),
        ("wachtwoord", "wachtwoord"),
        ("mdp", "mdp"),
        ("clave", "clave"),
        ("pw", "pw"),
    )
)
_KEYS = tuple(
    Form(
        kind="API key",
        anchor=anchor,
        pattern=LazyPattern(anchor, re.IGNORECASE),
        examples=(
            f"id,name,{name}\n1,bob,«<a24>»\n",
            f"INSERT INTO apps (id, {name}, user_id) VALUES (3, '«<a32>'», 9);".replace("'»", "»'"),
            f"| user | {name} |\n|---|---|\n| bob | «<a24>» |\n",
        ),
        others=(f"id,name,{name}_count\n1,bob,12\n", f"| name | {name} |\n|---|---|\n| x | required |\n"),
    )
    for anchor, name in (("key", "api_key"), ("token", "access_token"), ("secret", "client_secret"))
)
COLUMNS: tuple[Form, ...] = (*_PASSWORDS, *_FOREIGN, *_KEYS)
_PASSWORD, _KEY = (rows[0].kind for rows in (_PASSWORDS, _KEYS))

_LINE = 2_000
"""Characters of a line of names, at most."""
_LEAST = 4
_MOST_CELLS = 200
_MOST_MISSES = 3
"""Rows one after another with another number of cells, at which the table ends."""


def _cell(separator: str, *, lines: str) -> LazyPattern:
    return LazyPattern(
        rf"[ ]*+(?:\"(?P<d>(?:[^\"{lines}]|\"\"){{0,4000}}+)\"|'(?P<s>(?:[^'{lines}]|''){{0,4000}}+)'"
        rf"|(?P<b>[^{separator}\r\n]{{0,4000}}+))[ ]*+(?P<end>[{separator}]|\r?\n|$)"
    )


_CELLS = {each: (_cell(each, lines=""), _cell(each, lines=r"\n")) for each in (",", ";", "\t", "|")}
"""A cell of a table by its separator, which alone a bare one cannot hold; a quoted one goes on in the next line or not."""
_SQL_CELL = LazyPattern(
    r"[ \t\n]*+(?:\"(?P<d>(?:[^\"\n]|\"\"){0,4000}+)\"|[NE]?'(?P<e>(?:[^'\n\\]|''|\\[^\n]){0,4000}+)'"
    r"|'(?P<s>(?:[^'\n]|''){0,4000}+)'"
    r"|(?P<b>[^,;\t\r\n\"'()]{0,4000}+(?:\([^()\r\n]{0,400}+\))?+[^,;\t\r\n\"'()]{0,400}+))"
    r"[ \t\n]*+(?P<end>[,)])"
)
"""A cell of SQL: where a backslash escapes nothing, the next form reads it; a bare one may be ``now()``."""
_NAME = LazyPattern(
    r"(?:[\w .-]{0,40}[_ .-])?(?:pass(?:word|wd|wort|phrase|code|e)|pwd?|secret|totp|kennwort|contraseñ?a|senha|wachtwoord|mdp|clave|pin|psk|密码|パスワード|пароль)(?:[_ ](?:plain|clear|raw|old|new|hint2?))?",
    re.IGNORECASE,
)
_KEY_NAME = LazyPattern(
    r"(?:[\w .-]{0,40}[_ .-])?(?:token|(?:api|access|secret|private|signing|encryption|auth|license)[_ -]?key|\w{0,20}secret)",
    re.IGNORECASE,
)
_PASS = LazyPattern(r"(?:\w{0,40}_)?pass", re.IGNORECASE)
_LOGINS = LazyPattern(r"user|login|mail|url|uri|host", re.IGNORECASE)
"""What makes a column "pass" one of passwords: beside a title or "fail" it is one of results."""

_OTHERS = LazyPattern(
    r"user|name|nutzer|utili|usu[aá]|utente|用户|ユーザ|пользов|server|client|address|login|url|uri|site|host|mail|account|title|id$",
    re.IGNORECASE,
)
"""What else such a table has: a list of fields and their types has none of it."""
_HEAD = LazyPattern(r"[\w\"' .-]{0,60}(?:[,;\t|][\w\"' .-]{0,60}){1,100}\r?$")
_ALIGNED = LazyPattern(
    r"#?[ \t]{0,4}[\w.@/-]{1,40}(?:[ ]{2,60}[\w.@/-]{1,40}(?:[ ][\w.@/-]{1,40}){0,3}){1,20}[ \t]{0,40}\r?$"
)
_ALIGNED_ROW = LazyPattern(r"(?m:^)[^\n]{1,1000}$", re.MULTILINE)
_WORDS_OF_CELL = LazyPattern(r"[^\s#](?:[^\s]|[ ](?![ ]))*(?<![ ])")
_WORD_OF_CELL = LazyPattern(r"\S+")
_LONGEST_TABLE = 8_000
_RULE = LazyPattern(r"[ |:+-]{3,2000}\r?\n")
"""The line between names and rows, as Markdown and SQL's shells draw it."""
_INSERT = LazyPattern(r"insert[ ]into[ ][\w.\"`\[\]]{1,120}[ ]?\($", re.IGNORECASE)
_CODE = LazyPattern(r"\s{0,60}(?:from|import|return|select|for|with|global|nonlocal)[ ]", re.IGNORECASE)
_BRACKETED = LazyPattern(r"(?=[^\d\n]{0,200}+\d)\w{1,100}+\(\w{0,100}+\)\w{1,100}")
"""A password with brackets in it: a call would end with them."""
_SEPARATOR = LazyPattern(r"[,;\t|]")
_VALUES = LazyPattern(r"\s{0,20}values\s{0,20}(?=\()", re.IGNORECASE)
_AGAIN = LazyPattern(r"\s{0,20},?\s{0,20}(?=\()")
_NEXT = LazyPattern(r"\)\s{0,20},\s{0,20}(?=\()")
_SKIPPED = 4_000
"""Characters to the row after one that does not parse, at most."""

_LEAST_OF_KEY = 12
_Cells = list[tuple[int, int]]
_ANCHORS = frozenset(row.anchor for row in COLUMNS)


def find_columns(source: Source) -> Iterator[Span]:
    """The values of the columns that are called like a password or a key."""
    text, done, looked_at = source.text, 0, -1
    for at in source.all_positions(_ANCHORS):
        if at < done:
            continue
        opening = text.rfind("(", max(0, at - 300), at)
        if opening >= 0 and _INSERT.search(text, max(0, opening - 140), opening + 1):
            spans, done = _inserted(text, opening + 1)
        else:
            # of a line only its first word is looked at, so that a long one costs no more than a short one
            start = text.rfind("\n", max(0, at - _LINE), at) + 1
            if start == looked_at or (start == 0 and at >= _LINE):
                continue
            looked_at = start
            spans, done = _of_aligned(text, start) or _of_table(text, start)
        yield from spans


def _of_table(text: str, start: int) -> tuple[list[Span], int]:
    """The secrets of the table whose first line begins at ``start``, and where it ends: no row is read again."""
    end = text.find("\n", start, start + _LINE)
    if end < 0 or not _HEAD.match(text, start, end) or _CODE.match(text, start, end):
        return [], start
    over_lines, on_line = _CELLS[next(_SEPARATOR.finditer(text, start))[0]]
    names, at = _row(text, start, form=on_line)
    columns = _columns(text, names)
    drawn = _RULE.match(text, at)
    at = at if drawn is None else drawn.end()
    spans: list[Span] = []
    done, misses = start, 0
    while columns and at < len(text) and misses < _MOST_MISSES:
        done = at
        cells, after = _row(text, at, form=over_lines)
        if len(cells) != len(names):
            cells, after = _row(text, at, form=on_line)
        if len(cells) < 2 or (_HEAD.match(text, at, after - 1) and _columns(text, cells)):
            break
        misses = 0 if len(cells) == len(names) else misses + 1
        secrets = () if misses else _secrets(text, [(cells[column], kind) for column, kind in columns])
        # a table for readers also has words in such a column
        spans += [each for each in secrets if not drawn or _is_made_up(text[each.start : each.end])]
        at = after
    return spans, done


def _of_aligned(text: str, start: int) -> tuple[list[Span], int] | None:
    """The secrets of a table whose columns blanks align, as tools print it and files of daemons have it."""
    end = text.find("\n", start, start + _LINE)
    if end < 0 or not _ALIGNED.match(text, start, end):
        return None
    names = [
        match.span()
        for match in _WORDS_OF_CELL.finditer(text, text.find("#", start, start + 4) + 1 or start, end)
    ]
    columns = _columns(text, names)
    if not columns:
        return None
    spans: list[Span] = []
    done = end
    for line in _ALIGNED_ROW.finditer(text, end + 1, end + _LONGEST_TABLE):
        if line.start() != done + 1 or not line[0].strip():
            break
        done = line.end()
        for form in (_WORDS_OF_CELL, _WORD_OF_CELL):
            cells = [match.span() for match in form.finditer(text, *line.span())]
            if len(cells) == len(names):
                found = _secrets(text, [(cells[column], kind) for column, kind in columns])
                spans += [each for each in found if _is_made_up(text[each.start : each.end])]
                break
    return spans, done


def _inserted(text: str, start: int) -> tuple[list[Span], int]:
    names, at = _row(text, start, form=_SQL_CELL)
    columns = _columns(text, names)
    more = _VALUES.match(text, at)
    spans: list[Span] = []
    misses = 0
    while columns and more is not None and misses < _MOST_MISSES:
        cells, at = _row(text, more.end() + 1, form=_SQL_CELL)
        if len(cells) == len(names):
            quoted = [
                (cells[column], kind) for column, kind in columns if text[cells[column][0] - 1] in "'\""
            ]
            spans += _secrets(text, quoted)
            more, misses = _AGAIN.match(text, at), 0
        else:
            more, misses = _NEXT.search(text, at - 1, at + _SKIPPED), misses + 1
    return spans, at


def _row(text: str, at: int, *, form: LazyPattern) -> tuple[_Cells, int]:
    """The cells from ``at`` to the end of the line or of the brackets, and where that is; none if it is no row."""
    cells: _Cells = []
    while len(cells) < _MOST_CELLS and (cell := form.match(text, at)) is not None:
        cells.append(cell.span(next(name for name, said in cell.groupdict().items() if said is not None)))
        at = cell.end()
        if cell["end"] not in (",", ";", "\t", "|"):
            return cells, at
    return [], at


def _columns(text: str, names: _Cells) -> list[tuple[int, str]]:
    """The columns of secrets, and what is in each."""
    said = [text[start:end].strip(" \"'`*[]\t\n") for start, end in names]
    logins = any(_LOGINS.search(name) for name in said)
    own: list[tuple[int, str]] = []
    for column, name in enumerate(said):
        if _NAME.fullmatch(name) or (logins and _PASS.fullmatch(name)):
            own.append((column, _PASSWORD))
        elif _KEY_NAME.fullmatch(name):
            own.append((column, _KEY))
    return own if any(_OTHERS.search(name) for name in said) else []


def _secrets(text: str, cells: Iterable[tuple[tuple[int, int], str]]) -> Iterator[Span]:
    for (start, end), kind in cells:
        value = text[start:end].strip(" \t`*")
        start = text.index(value, start)
        end = start + len(value)
        if (_is_key if kind == _KEY else _is_password)(value):
            yield Span(start=start, end=end, kind=kind)


def _is_key(value: str) -> bool:
    return is_key(value, Trust.LITERAL, least=_LEAST_OF_KEY) and random_looking(value)


def _is_password(value: str) -> bool:
    if len(value) < _LEAST or not given(value) or is_common(value):
        return False
    if are_two_words(value) or is_word_and_number(value):
        return True
    return bool(_BRACKETED.fullmatch(value)) or is_password(value, Trust.STATED) or not is_reference(value)


def _is_made_up(value: str) -> bool:
    return stated(value) and mixed(value)
