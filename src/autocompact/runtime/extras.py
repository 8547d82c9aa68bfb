"""The command that installs an optional part, in the way in which autocompact itself was installed."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec


class _Repository(msgspec.Struct):
    vcs: str = ""


class _Folder(msgspec.Struct):
    editable: bool = False


class Origin(msgspec.Struct):
    """Origin of an installed package, from its ``direct_url.json`` (PEP 610); no ``url`` if it was an index."""

    url: str = ""
    vcs_info: _Repository | None = None
    dir_info: _Folder | None = None


class _Requirement(msgspec.Struct):
    name: str = ""
    extras: list[str] = msgspec.field(default_factory=list[str])


class _Tool(msgspec.Struct):
    requirements: list[_Requirement] = msgspec.field(default_factory=list[_Requirement])


class _Receipt(msgspec.Struct):
    """What ``uv tool install`` writes of what it was told."""

    tool: _Tool = msgspec.field(default_factory=_Tool)


def install_command(extras: str) -> str:
    """The command that installs extras: of the checkout, archive or repository that autocompact came from, else of PyPI.

    It is that of the program which installed autocompact: pip would put them where pipx and uv keep no tools.

    Args:
        extras: their names, parted by commas.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("autocompact").read_text("direct_url.json") or "{}"
        origin = msgspec.json.decode(text, type=Origin)
    except (PackageNotFoundError, msgspec.DecodeError):
        origin = Origin()
    return command_for(extras, origin=origin, environment=Path(sys.prefix))


def command_for(extras: str, *, origin: Origin, environment: Path) -> str:
    """See `install_command`.

    Args:
        extras: their names, parted by commas.
        origin: where autocompact came from.
        environment: folder of the Python environment that it is in.
    """
    if (environment / "pipx_metadata.json").exists():
        return f"pipx runpip {environment.name} install {_source(extras, origin)}"
    if (receipt := environment / "uv-receipt.toml").exists():
        # it makes the environment anew, with the extras that it is told and no others
        return f"uv tool install --force {_source(','.join((*_extras_in(receipt), extras)), origin)}"
    return f"pip install {_source(extras, origin)}"


def _extras_in(receipt: Path) -> list[str]:
    """The extras that ``uv tool install`` was told, from the receipt that it wrote."""
    import tomllib

    try:
        told = msgspec.convert(tomllib.loads(receipt.read_text("utf-8")), _Receipt)
    except (OSError, ValueError):
        return []
    return [extra for one in told.tool.requirements if one.name == "autocompact" for extra in one.extras]


def _source(extras: str, origin: Origin) -> str:
    if origin.url.startswith("file:") and origin.vcs_info is None:
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        path = url2pathname(urlsplit(origin.url).path)
        editable = origin.dir_info is not None and origin.dir_info.editable
        return f'{"-e " * editable}"{path}[{extras}]"'
    vcs = f"{origin.vcs_info.vcs}+" if origin.vcs_info is not None else ""
    source = f" @ {vcs}{origin.url}" if origin.url else ""
    return f'"autocompact[{extras}]{source}"'
