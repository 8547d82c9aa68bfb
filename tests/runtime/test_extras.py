"""What is said where an extra is missing can be run as it stands."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import msgspec
import pytest

from autocompact.runtime.extras import Origin, command_for, install_command
from tests.house.source import ROOT, read

_WHEEL = "https://host/autocompact-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({}, 'pip install "autocompact[chat]"'),
        ({"url": "file:///srv/my%20code", "dir_info": {}}, 'pip install "/srv/my code[chat]"'),
        ({"url": "file:///srv/code", "dir_info": {"editable": True}}, 'pip install -e "/srv/code[chat]"'),
        ({"url": "file:///srv/a.whl", "archive_info": {}}, 'pip install "/srv/a.whl[chat]"'),
        ({"url": _WHEEL, "archive_info": {}}, f'pip install "autocompact[chat] @ {_WHEEL}"'),
        (
            {"url": "https://host/repo", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            'pip install "autocompact[chat] @ git+https://host/repo"',
        ),
    ],
)
def test_the_command_installs_from_where_it_was_installed_from(
    origin: object, command: str, tmp_path: Path
) -> None:
    assert command_for("chat", origin=msgspec.convert(origin, Origin), environment=tmp_path) == command


def test_in_an_environment_of_pipx_or_uv_it_is_theirs_and_keeps_what_is_there(tmp_path: Path) -> None:
    origin = Origin(url="file:///srv/code")
    pipx, uv = tmp_path / "autocompact", tmp_path / "uv"
    pipx.mkdir()
    uv.mkdir()
    (pipx / "pipx_metadata.json").write_text("{}")
    assert (
        command_for("chat", origin=origin, environment=pipx)
        == 'pipx runpip autocompact install "/srv/code[chat]"'
    )
    receipt = uv / "uv-receipt.toml"
    receipt.write_text(
        '[tool]\nrequirements = [{ name = "autocompact", extras = ["mcp"] }, { name = "keyring" }]\n'
    )
    assert (
        command_for("chat", origin=origin, environment=uv) == 'uv tool install --force "/srv/code[mcp,chat]"'
    )
    for text in ("no = [toml", "[tool]\nrequirements = 1\n", ""):
        receipt.write_text(text)
        assert (
            command_for("chat", origin=origin, environment=uv) == 'uv tool install --force "/srv/code[chat]"'
        )


def test_in_a_checkout_it_is_the_checkout() -> None:
    *_, what = shlex.split(install_command("chat,gateway"))
    assert Path(what.removesuffix("[chat,gateway]")).resolve() == ROOT.resolve()


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [("starlette", ("serve",), "gateway"), ("mcp", ("mcp",), "mcp"), ("pydantic", ("mcp",), "mcp")],
)
def test_a_command_without_its_extra_names_it(missing: str, arguments: tuple[str, ...], extra: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; from autocompact.cli import main; "
        f"sys.exit(main({list(arguments)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert install_command(extra) in done.stderr
    assert done.stderr.count("\n") == 1


def test_access_keys_are_kept_without_the_gateway_being_installed(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['prometheus_client'] = None; from autocompact.cli import main; "
        "sys.exit(main(['keys', *sys.argv[1:], '--db', 'keys.db']))"
    )
    for words in (["create", "Kim"], ["list"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "Kim" in done.stdout


@pytest.mark.requirement("C6")
def test_the_page_of_make_run_works_without_what_that_leaves_out(tmp_path: Path) -> None:
    (left_out,) = re.findall(r"^UNUSED := (.+)$", read(Path("Makefile")), re.MULTILINE)
    modules = [{"pyyaml": "yaml"}.get(name, name) for name in left_out.split()]
    program = (
        f"import sys; sys.modules |= dict.fromkeys({modules!r}); from autocompact.cli import main; "
        "sys.exit(main(['serve', '--port', '0']))"
    )
    served = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"XDG_DATA_HOME": str(tmp_path), "AUTOCOMPACT_GATEWAY_DB": ":memory:"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with served:
        assert served.stderr is not None
        told = served.stderr.readline()
        page = re.search(r"Chat on (http://\S+)", told)
        assert page is not None, told
        with urllib.request.urlopen(page[1], timeout=60) as answer:
            assert b"nicegui" in answer.read()
        served.send_signal(signal.SIGINT)
        served.stderr.read()
    assert served.returncode == 130
