"""Writes ``docs/reference/api.md``, the API reference, from the docstrings: ``make docs``.

The source is read, not run (griffe): what an editor shows is what the page says. The groups are those of the package's
own docstring, so a public name that stands in no group is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import griffe

import autocompact

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "api.md"
WRITTEN = "<!-- Written from the docstrings (make docs): change the program, not this page. -->"

_GROUP = re.compile(r"^    (\w[\w ]+?)  +((?:.+\n?(?:^ {20,}.+\n?)*))", re.MULTILINE)
_PORTS = ("ConversationStore", "Store", "Leases", "Retention", "Index", "Model", "Clock")
_MADE_ELSEWHERE = ("Conversation", "Records")
_STORES = ("SqliteStore", "MemoryStore")
_BASES = {"Shared": {"subscribe", "aclose"}}
_HEAD = f"""\
# API

{WRITTEN}

Every name of `autocompact.__all__`, with its public methods and attributes. [What is promised](stability.md) says what may
change. All coroutines are for one event loop; times are in seconds, sizes in tokens or bytes as each says, `seq` is the number
of a message in the log, from 1.

"""


def groups() -> dict[str, list[str]]:
    """The public names by the group that the package's docstring puts them in."""
    found = {name: re.findall(r"\w+", names) for name, names in _GROUP.findall(autocompact.__doc__ or "")}
    listed = {name for names in found.values() for name in names} & set(autocompact.__all__)
    if missing := set(autocompact.__all__) - listed:
        raise LookupError(f"the package's docstring puts these names in no group: {sorted(missing)}")
    return {group: names for group, names in found.items() if set(names) <= set(autocompact.__all__)}


def page() -> str:
    """docs/reference/api.md."""
    package = cast(
        "griffe.Module",
        griffe.load("autocompact", search_paths=[ROOT / "src"], docstring_parser=griffe.Parser.google),
    )
    parts = [_HEAD]
    for group, names in groups().items():
        parts.append(f"## {group[0].upper()}{group[1:]}\n\n")
        for name in names:
            parts.append(_object(_resolved(package[name]), title=name))
            if name == "Conversation":
                parts.append(_object(package["engine.records.Records"], title="Conversation.records"))
    parts.append(
        "## Parts of your own\n\nProtocols of `autocompact.ports`: any object with these methods will do.\n\n"
    )
    parts += [_object(package[f"ports.{name}"], title=name) for name in _PORTS]
    return "".join(parts).rstrip() + "\n"


def _object(found: griffe.Object | griffe.Alias, *, title: str) -> str:
    if isinstance(found, griffe.Class):
        return "".join(_class(found, title=title))
    if isinstance(found, griffe.Function):
        return f"### {title}\n\n{_function(found)}"
    return f"### {title}\n\n{_code(f'{title}: dict[str, Mode]')}See [Settings](settings.md#named-modes).\n\n"


def _class(found: griffe.Class, *, title: str) -> Iterator[str]:
    yield f"### {title}\n\n"
    if bases := [str(base) for base in found.bases if str(base) in autocompact.__all__]:
        yield f"A kind of {' and '.join(f'`{base}`' for base in bases)}.\n\n"
    if "dataclass" in found.labels or "msgspec.Struct" in map(str, found.bases):
        yield _fields(found)
    elif found.name in _MADE_ELSEWHERE:
        pass
    elif (made := found.all_members.get("__init__")) is not None and isinstance(
        made := _resolved(made), griffe.Function
    ):
        yield _code(_signature(made, name=found.name).removesuffix(" -> None"))
    yield _docstring(found)
    if found.name in _STORES:
        yield "Its methods are those of [ConversationStore](#conversationstore).\n\n"
    else:
        yield from _members(found, title=title)


def _members(found: griffe.Class, *, title: str) -> Iterator[str]:
    """Own and inherited methods and properties; of a base that is not public (`_BASES`), only what is named there."""
    resolved = {name: _resolved(member) for name, member in found.all_members.items()}
    for name, member in sorted(resolved.items(), key=_place):
        base = member.parent.name if member.parent is not None else ""
        if name.startswith("_") or not _is_ours(member) or name not in _BASES.get(base, {name}):
            continue
        if isinstance(member, griffe.Function):
            yield f"#### {title}.{name}\n\n{_function(member)}"
        elif "property" in member.labels and member.docstring:
            yield f"#### {title}.{name}\n\n{_code(f'{name}: {_annotation(member)}')}{_docstring(member)}"


def _place(item: tuple[str, griffe.Object | griffe.Alias]) -> tuple[str, int]:
    member = item[1]
    return str(member.filepath), member.lineno or 0


def _resolved(member: griffe.Object | griffe.Alias) -> griffe.Object:
    """What a name stands for, where it is imported or inherited."""
    while isinstance(member, griffe.Alias):
        member = member.final_target
    return member


def _is_ours(member: griffe.Object | griffe.Alias) -> bool:
    return member.canonical_path.startswith("autocompact.")


def _annotation(member: griffe.Object | griffe.Alias) -> str:
    return str(getattr(member, "annotation", "") or "")


def _fields(found: griffe.Class) -> str:
    """A value's fields, as one writes them."""
    lines = [
        f"    {name}: {member.annotation}" + (f" = {member.value}" if member.value is not None else "") + ","
        for name, member in found.members.items()
        if isinstance(member, griffe.Attribute)
        and "property" not in member.labels
        and not name.startswith("_")
    ]
    return _code("\n".join((f"{found.name}(", *lines, ")")))


def _function(found: griffe.Function) -> str:
    return _code(_signature(found, name=found.name)) + _docstring(found)


def _signature(found: griffe.Function, *, name: str) -> str:
    """The call, on one line or with one argument a line."""
    shown: list[str] = []
    star = False
    for each in found.parameters:
        if each.name in ("self", "cls"):
            continue
        keyword = each.kind is griffe.ParameterKind.keyword_only
        if keyword and not star:
            shown.append("*")
            star = True
        text = f"{each.name}: {each.annotation}" if each.annotation is not None else each.name
        shown.append(text + (f" = {each.default}" if each.default is not None else ""))
    awaited = "async " if "async" in found.labels else ""
    ending = f" -> {found.returns}" if found.returns is not None else ""
    line = f"{awaited}{name}({', '.join(shown)}){ending}"
    if len(line) <= 100:
        return line
    return f"{awaited}{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){ending}"


def _code(text: str) -> str:
    """A block of code, quoted as the formatter quotes."""
    quoted = re.sub(r"'([^'\"\\]*)'", r'"\1"', text)
    return f"```python\n{quoted}\n```\n\n"


def _docstring(found: griffe.Object | griffe.Alias) -> str:
    if found.docstring is None:
        return ""
    return "".join(map(_section, found.docstring.parsed))


def _section(section: griffe.DocstringSection) -> str:
    if isinstance(section, griffe.DocstringSectionText):
        return f"{_plain(section.value)}\n\n"
    titles = {"parameters": "Arguments", "attributes": "Attributes", "raises": "Raises", "returns": "Returns"}
    title = titles.get(section.kind.value)
    if title is None:
        return ""
    return f"**{title}**\n\n" + "".join(map(_item, section.value)) + "\n"


def _item(item: griffe.DocstringElement) -> str:
    name = getattr(item, "name", "") or (
        "" if isinstance(item, griffe.DocstringReturn) else str(item.annotation)
    )
    text = re.sub(r"\s+", " ", _plain(item.description))
    return f"- `{name}`: {text}\n" if name else f"- {text}\n"


def _plain(text: str) -> str:
    """The text with code marked as Markdown marks it."""
    return text.replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
