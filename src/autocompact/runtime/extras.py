"""The command that installs an optional part, in the way in which autocompact itself was installed."""

from __future__ import annotations

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


def install_command(extras: str) -> str:
    """The command that installs extras: of the checkout, archive or repository that autocompact came from, else of PyPI.

    Args:
        extras: their names, parted by commas.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("autocompact").read_text("direct_url.json") or "{}"
        origin = msgspec.json.decode(text, type=Origin)
    except (PackageNotFoundError, msgspec.DecodeError):
        origin = Origin()
    return command_for(extras, origin=origin)


def command_for(extras: str, *, origin: Origin) -> str:
    """See `install_command`."""
    if origin.url.startswith("file:") and origin.vcs_info is None:
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        path = url2pathname(urlsplit(origin.url).path)
        editable = origin.dir_info is not None and origin.dir_info.editable
        return f'pip install {"-e " * editable}"{path}[{extras}]"'
    vcs = f"{origin.vcs_info.vcs}+" if origin.vcs_info is not None else ""
    source = f" @ {vcs}{origin.url}" if origin.url else ""
    return f'pip install "autocompact[{extras}]{source}"'
