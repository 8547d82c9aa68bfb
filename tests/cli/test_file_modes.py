"""What the program writes is for its owner alone, whatever the umask."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest

from autocompact.testing import FakeProvider
from tests.cli.program import CODING, environment
from tests.ui.web.harness import free_port
from tests.warm import command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
by_umask = pytest.mark.parametrize("umask", [0o000, 0o022], ids=oct)


def modes(folder: Path) -> dict[str, str]:
    """What others could read or enter, by its path."""
    found = {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")
    }
    return {name: oct(mode) for name, mode in found.items() if mode & 0o077}


def run(home: Path, *arguments: str | Path, umask: int) -> None:
    env = environment(HOME=str(home), XDG_DATA_HOME=str(home / "data"), XDG_CONFIG_HOME=str(home / "config"))
    ended = subprocess.run(
        [*command(), *map(str, arguments)], env=env, umask=umask, cwd=home, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr.decode()


@by_umask
def test_files_that_commands_write_are_for_the_owner_alone(tmp_path: Path, umask: int) -> None:
    run(tmp_path, "import", CODING, umask=umask)
    run(tmp_path, "export", "--out", tmp_path / "all.json", umask=umask)
    run(tmp_path, "compact", CODING, "--out", tmp_path / "context.md", umask=umask)

    assert (tmp_path / "data").is_dir()
    assert modes(tmp_path) == {}


@by_umask
def test_files_that_upkeep_writes_are_for_the_owner_alone(tmp_path: Path, umask: int) -> None:
    ended = subprocess.run(
        [*command("compress-context"), "--dir", tmp_path / "memory", "--session-now", CODING, "--report", "2026-03"],
        env=environment(HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data")),
        umask=umask, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr.decode()
    assert (tmp_path / "memory" / "CONTEXT_ARCHIVE.md").exists()
    assert modes(tmp_path) == {}


def test_a_database_of_an_older_version_is_closed_to_others(tmp_path: Path) -> None:
    run(tmp_path, "import", CODING, umask=0o022)
    (database,) = (tmp_path / "data").rglob("*.db")
    database.chmod(0o644)
    with closing(sqlite3.connect(database)) as reader:  # so that -wal and -shm are there
        reader.execute("SELECT count(*) FROM conversations").fetchall()
        run(tmp_path, "list", umask=0o022)
        assert modes(tmp_path) == {}


@by_umask
@pytest.mark.anyio
async def test_files_that_a_server_writes_are_for_the_owner_alone(tmp_path: Path, umask: int) -> None:
    env = environment(
        HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data"), XDG_STATE_HOME=str(tmp_path / "state")
    )
    history = [{"role": role, "content": "word " * 100} for role in ("user", "assistant", "user") * 4]
    async with FakeProvider() as provider, aiohttp.ClientSession() as session:
        options = (
            "serve",
            "--no-page",
            "--upstream",
            f"openai={provider.url}",
            "--window",
            "2000",
            "--port",
            str(free_port()),
        )
        server = await asyncio.create_subprocess_exec(
            *command(), *options, env=env, umask=umask, cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert server.stderr is not None
            told = ""
            while "kept in" not in told:
                told += (line := await server.stderr.readline()).decode()
                assert line, told
            address = next(word for word in told.split() if word.startswith("http://127.0.0.1")).rstrip(
                ".,;/"
            )
            body = {"model": "m", "messages": history}
            async with session.post(
                f"{address.removesuffix('/v1')}/v1/chat/completions", json=body
            ) as response:
                assert response.status == 200
            open_now = modes(tmp_path)
        finally:
            server.terminate()
            await server.communicate()

    assert any((tmp_path / "data").rglob("*.db"))
    assert (open_now, modes(tmp_path)) == ({}, {})
