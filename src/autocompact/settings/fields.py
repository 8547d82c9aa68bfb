"""The single settings: their names, what they accept, and the errors of a value that they do not accept."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_type_hints

import msgspec
from msgspec import Struct, inspect

from autocompact.errors import InvalidInput
from autocompact.settings.values import Settings
from autocompact.stores.naming import shown_place

Kind: TypeAlias = Literal["", "path", "store", "prompt", "key"]
Taken: TypeAlias = Literal["all", "within", "offline", "nothing"]

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST = 60


class Setting(Struct, frozen=True, kw_only=True):
    """A setting: its path, type and description.

    Attributes:
        path: its members in ``settings.json``, joined by dots.
        type: the annotation of its value.
        default: where nothing sets it.
        meaning: one line.
        expected: what it accepts, in words.
        kind: what its text names, "" if it names nothing.
        project: what a project's file may say of it: all, only paths within the project, only "offline", nothing.
    """

    path: str
    type: Any
    default: object
    meaning: str
    expected: str
    kind: Kind
    project: Taken

    def shown(self, value: object) -> object:
        """A value of it as people may see it: of a server's URL without the password."""
        return shown_place(value) if self.kind == "store" and isinstance(value, str) else value

    @property
    def variable(self) -> str:
        """The environment variable of that name."""
        return "AUTOCOMPACT_" + _HUMP.sub("_", self.path).replace(".", "_").upper()

    @property
    def is_list(self) -> bool:
        """True if it takes several texts."""
        return isinstance(self.default, tuple)

    @property
    def is_table(self) -> bool:
        """True if it takes values by name."""
        return isinstance(self.default, dict)

    def accept(self, value: object, *, where: str, strict: bool = True) -> object:
        """``value`` as this setting has it.

        Args:
            value: plain JSON.
            where: names its place in an error.
            strict: False reads figures and switches from text as well, as an environment variable has them.

        Raises:
            InvalidInput: it is nothing that is expected.
        """
        try:
            return msgspec.convert(value, self.type, strict=strict)
        except msgspec.ValidationError:
            told = "something else (not shown)" if self.kind == "key" else _shown(value)
            raise InvalidInput(f"{where}: expected {self.expected}, got {told}") from None


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@cache
def all_settings() -> tuple[Setting, ...]:
    """Every setting, in the order of the file."""
    return tuple(_within(cast("inspect.StructType", inspect.type_info(Settings)), ""))


@cache
def by_path() -> dict[str, Setting]:
    """Every setting by its path."""
    return {each.path: each for each in all_settings()}


@cache
def sections() -> dict[str, tuple[str, ...]]:
    """The members of each section by its path; "" is the file itself."""
    found: dict[str, list[str]] = {"": []}
    for each in all_settings():
        parts = each.path.split(".")
        for depth, name in enumerate(parts):
            members = found.setdefault(".".join(parts[:depth]), [])
            if name not in members:
                members.append(name)
    return {path: tuple(members) for path, members in found.items()}


def _within(section: inspect.StructType, prefix: str) -> Iterator[Setting]:
    hints = get_type_hints(section.cls, include_extras=True)
    for field in section.fields:
        path = f"{prefix}{field.encode_name}"
        if isinstance(field.type, inspect.StructType):
            yield from _within(field.type, f"{path}.")
            continue
        marked = cast("inspect.Metadata", field.type)
        extra = cast("dict[str, Any]", marked.extra or {})
        yield Setting(
            path=path,
            type=hints[field.name],
            default=field.default_factory() if field.default is msgspec.NODEFAULT else field.default,
            meaning=_schema_of(marked)["description"],
            expected=" or ".join(_expected(marked)),
            kind=extra.get("kind", ""),
            project=extra.get("project", "all"),
        )


def _schema_of(marked: inspect.Metadata) -> dict[str, str]:
    return cast("dict[str, str]", marked.extra_json_schema or {})


_PLAIN: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.StrType: "a text",
    inspect.VarTupleType: "a list of texts",
}


def _expected(kind: inspect.Type) -> Iterator[str]:
    """The alternatives that a type accepts."""
    match kind:
        case inspect.Metadata():
            title = _schema_of(kind).get("title")
            yield from [title] if title else _expected(kind.type)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _expected(each)
        case inspect.LiteralType(values=values):
            yield from (json.dumps(value) for value in values)
        case inspect.IntType() | inspect.FloatType():
            yield _figure(kind)
        case inspect.DictType(value_type=values):
            yield f"an object whose values are {' or '.join(_expected(values))}"
        case _:
            yield _PLAIN[type(kind)]


def _figure(kind: inspect.IntType | inspect.FloatType) -> str:
    name = "int" if isinstance(kind, inspect.IntType) else "number"
    if kind.ge is not None and kind.le is not None:
        return f"{name} from {kind.ge} to {kind.le}"
    return f"{name} > {kind.gt}" if kind.gt is not None else f"{name} >= {kind.ge}"


def suggestion(name: str, choices: Iterable[str]) -> str:
    """Suggest what ``name`` may be a misspelling of, as " (did you mean …?)", or ""."""
    plain = {_plain(each): each for each in choices}
    close = difflib.get_close_matches(_plain(name), plain, n=1)
    return f" (did you mean {plain[close[0]]!r}?)" if close else ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
