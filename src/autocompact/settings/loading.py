"""Settings from everywhere, one by one: command line, project, user, environment, defaults, in this order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from autocompact.errors import InvalidInput
from autocompact.history.paths import data_folder
from autocompact.settings.document import Given, read_document
from autocompact.settings.fields import Setting, all_settings, by_path, sections, suggestion
from autocompact.settings.trust import is_path_of_prompt, is_taken
from autocompact.settings.values import Settings
from autocompact.stores.naming import IN_MEMORY, is_server_url

Source: TypeAlias = Literal["option", "project", "user", "environment", "default"]

FILE = "settings.json"
FOLDER = ".autocompact"


class Origin(Struct, frozen=True, kw_only=True):
    """The origin of a value.

    Attributes:
        source: the kind of place.
        where: ``FILE:LINE``, the name of the variable or the option; "" for a default.
    """

    source: Source
    where: str = ""


class Loaded(Struct, frozen=True, kw_only=True):
    """The settings, and the origin of each.

    Attributes:
        settings: all values.
        given: the origins of the values that are given anywhere, by the path of the setting.
        files: that were looked for, the project's before the user's.
        ignored: settings that the project's file may not change and nobody else does, by path: where it gives another value.
    """

    settings: Settings
    given: Mapping[str, Origin]
    files: tuple[Path, ...]
    ignored: Mapping[str, str]

    @property
    def origins(self) -> Mapping[str, Origin]:
        """The origin of each value, by the path of the setting."""
        default = Origin(source="default")
        return {each.path: self.given.get(each.path, default) for each in all_settings()}

    @property
    def warning(self) -> str:
        """One line about ignored settings; "" if there are none."""
        if not self.ignored:
            return ""
        given = ", ".join(f"{path} ({where})" for path, where in self.ignored.items())
        return (
            f"ignored, because a project's file may have come with a repository: {given}; what you want of it belongs "
            f"in your own {self.files[-1]}"
        )

    def value(self, path: str) -> object:
        """The value of one setting.

        Raises:
            InvalidInput: there is no such setting.
        """
        return value_of(self.settings, path)


def value_of(settings: Settings, path: str) -> object:
    """The value of one setting.

    Raises:
        InvalidInput: there is no such setting.
    """
    if path not in by_path():
        raise InvalidInput(f"{path}: no such setting{suggestion(path, by_path())}; see autocompact settings")
    value: Any = msgspec.to_builtins(settings)
    for name in path.split("."):
        value = value[name]
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def project_file(folder: Path | None = None) -> Path | None:
    """``.autocompact/settings.json`` of ``folder`` (the current one by default) or of the nearest folder above.

    The search ends at the root of a repository. Without one it is None.
    """
    for each in (start := (folder or Path.cwd()).resolve(), *start.parents):
        if (file := each / FOLDER / FILE).exists():
            return file
        if (each / ".git").exists():
            break
    return None


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    """``settings.json`` in the user's data folder; it need not exist."""
    return data_folder(environ=environ) / FILE


def load_settings(
    folder: Path | None = None,
    *,
    options: Mapping[str, tuple[str, object]] | None = None,
    environ: Mapping[str, str] | None = None,
    user: Path | None = None,
) -> Loaded:
    """Load all settings as they apply in ``folder``.

    Each setting comes from the first of these that has it: ``options``, the project's file, the user's file, the
    environment, its default. A path in a file is relative to the folder of the project, or of the user's file. What a
    project's file may not say (`autocompact.settings.trust`) is left out.

    Args:
        folder: whose project; the current one by default.
        options: values from the command line, by path, each with the name of its option; a text is read as that of
            a variable is.
        environ: in place of the process's environment.
        user: in place of the user's file.

    Raises:
        InvalidInput: a value that cannot be used; the message names its place.
    """
    given = os.environ if environ is None else environ
    project, own = project_file(folder), user or user_file(given)
    layers: list[tuple[Source, dict[str, Given], Path | None]] = [
        ("option", _from_options(options or {}), None)
    ]
    untaken: dict[str, Given] = {}
    if project is not None and project != own:
        folder = project.parent.parent
        taken, untaken = _parted(read_document(project), folder=folder)
        layers.append(("project", taken, folder))
    layers.append(("user", read_document(own), own.parent))
    layers.append(("environment", _from_environment(given), None))
    return _merged(layers, files=tuple(filter(None, (project, own))), untaken=untaken)


def _parted(found: Mapping[str, Given], *, folder: Path) -> tuple[dict[str, Given], dict[str, Given]]:
    """Split a project's file into settings that are taken and settings that are ignored."""
    taken = {
        path: given for path, given in found.items() if is_taken(by_path()[path], given.value, folder=folder)
    }
    return taken, {path: given for path, given in found.items() if path not in taken}


def _merged(
    layers: Iterable[tuple[Source, dict[str, Given], Path | None]],
    *,
    files: tuple[Path, ...],
    untaken: Mapping[str, Given],
) -> Loaded:
    document: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    # the last that is written counts
    for source, found, base in reversed(list(layers)):
        for path, given in found.items():
            origins[path] = Origin(source=source, where=given.where)
            *above, name = path.split(".")
            members = document
            for each in above:
                members = members.setdefault(each, {})
            members[name] = _placed(by_path()[path], given, base=base)
    ignored = {
        path: given.where
        for path, given in untaken.items()
        if path not in origins and given.value != by_path()[path].default
    }
    return Loaded(settings=msgspec.convert(document, Settings), given=origins, files=files, ignored=ignored)


def _placed(setting: Setting, given: Given, *, base: Path | None) -> object:
    """The value with the paths in it as seen from anywhere."""
    try:
        return _absolute(setting, given.value, base=base)
    except RuntimeError:
        raise InvalidInput(f"{given.where}: {setting.path}: no such user's folder: {given.value!r}") from None


def _absolute(setting: Setting, value: object, *, base: Path | None) -> object:
    match setting.kind, value:
        case "path", tuple():
            return tuple(_path(each, base=base) for each in cast("tuple[str, ...]", value))
        case "path", str():
            return _path(value, base=base)
        case "store", str() if value != IN_MEMORY and not is_server_url(value):
            return _path(value, base=base)
        case "prompt", str() if is_path_of_prompt(value):
            return _path(value, base=base)
        case "key", str() if value.startswith("file:"):
            return f"file:{_path(value.removeprefix('file:'), base=base)}"
        case _:
            return value


def _path(text: str, *, base: Path | None) -> str:
    path = Path(text).expanduser()
    return str(path if base is None else base / path)


def _from_options(options: Mapping[str, tuple[str, object]]) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for path, (name, value) in options.items():
        setting = by_path()[path]
        read = (
            _read(setting, value, where=name) if isinstance(value, str) else setting.accept(value, where=name)
        )
        found[path] = Given(value=read, where=name)
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, Given]:
    """Variables that name no setting are refused where they begin like one: they are misspelled."""
    if not any(name.startswith("AUTOCOMPACT_") for name in environ):
        return {}  # most often: then no setting needs to be known
    known = {each.variable: each for each in all_settings()}
    begin = tuple(f"AUTOCOMPACT_{section.upper()}_" for section in sections()[""])
    for name in environ:
        if name.startswith(begin) and name not in known:
            raise InvalidInput(
                f"environment variable {name}: no such setting{suggestion(name, known)}; see autocompact settings"
            )
    return {
        setting.path: Given(
            value=_read(setting, environ[name], where=f"environment variable {name}"), where=name
        )
        for name, setting in known.items()
        if environ.get(name, "").strip()
    }


def _read(setting: Setting, text: str, *, where: str) -> object:
    """Text as a variable or an option has it: lists are written ``a,b``, values by name ``a=1,b=2``."""
    value: object = None if text.strip() == "null" else text.strip()
    items = [item.strip() for item in text.split(",") if item.strip()]
    if setting.is_list:
        value = items
    elif setting.is_table:
        value = dict(_pairs(items, where=where))
    return setting.accept(value, where=where, strict=False)


def _pairs(items: Iterable[str], *, where: str) -> Iterator[tuple[str, str]]:
    for item in items:
        name, equals, value = item.rpartition("=")
        if not equals:
            raise InvalidInput(f"{where}: expected NAME=VALUE,NAME=VALUE, got {item!r}")
        yield name.strip(), value.strip()
