from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.history import database_path

HOME = Path("/users/ada")
LOCAL = HOME / ".local" / "share" / "autocompact" / "conversations.db"


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("linux", {}, LOCAL),
        ("freebsd14", {}, LOCAL),
        ("linux", {"XDG_DATA_HOME": ""}, LOCAL),
        ("linux", {"XDG_DATA_HOME": "relative"}, LOCAL),
        ("linux", {"XDG_DATA_HOME": "/data"}, Path("/data/autocompact/conversations.db")),
        ("darwin", {}, HOME / "Library" / "Application Support" / "autocompact" / "conversations.db"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/autocompact/conversations.db")),
        ("win32", {}, HOME / "AppData" / "Local" / "autocompact" / "conversations.db"),
    ],
)
def test_conversations_are_kept_where_the_platform_keeps_data(
    platform: str, environ: dict[str, str], path: Path
) -> None:
    assert database_path(environ=environ, platform=platform, home=HOME) == path


def test_the_process_says_where_that_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert database_path(platform="linux") == tmp_path / "autocompact" / "conversations.db"
