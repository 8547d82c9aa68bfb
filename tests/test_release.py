"""What is released: a small wheel with all its assets, the same for the same sources, and licences that are known."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.house.source import ROOT, read

_MOST_BYTES = 5_000_000
_PARTS = ("LICENSE", "README.md", "pyproject.toml", ".gitignore")


def built(folder: Path, *, when: int, umask: int) -> Path:
    """A wheel of a copy of the sources whose files have another date and another mode."""
    folder.mkdir()
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in _PARTS:
        shutil.copyfile(ROOT / name, folder / name)
    for path in folder.rglob("*.py"):
        os.utime(path, (when, when))
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
        cwd=folder,
        env={"PATH": os.defpath, "SOURCE_DATE_EPOCH": "1763856000"},
        capture_output=True,
        text=True,
        check=False,
        umask=umask,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("first") / "sources", when=1_700_000_000, umask=0o022)


def test_the_wheel_is_the_same_for_the_same_sources(wheel: Path, tmp_path: Path) -> None:
    again = built(tmp_path / "elsewhere", when=1_600_000_000, umask=0o077)
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_is_small_and_has_every_file_of_the_package(wheel: Path) -> None:
    assert wheel.stat().st_size <= _MOST_BYTES
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "autocompact").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert source <= names
    assert {name for name in names - source if ".dist-info/" not in name} == set()


def test_the_wheel_runs_on_its_own(wheel: Path) -> None:
    program = "import sys; sys.argv[0] = 'autocompact'; from autocompact.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "inspect", str(ROOT / "examples" / "sessions" / "chat-openai.json")],
        env={"PYTHONPATH": str(wheel), "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "By role" in done.stdout


def test_the_licence_of_every_package_of_the_base_is_known_and_listed() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "documents" / "licences.py"))
    base = cast("Callable[..., set[str]]", made["closure"])("autocompact", extra="")
    page = read(Path("docs/reference/licences.md"))
    listed = dict(cast("list[tuple[str, str]]", re.findall(r"^\| ([\w.-]+) \| (.+) \|$", page, re.MULTILINE)))
    assert {"aiohttp", "apsw", "tiktoken"} <= base <= set(listed)
    assert [name for name in base if re.search(r"not stated|GPL", listed[name])] == []


def test_katex_is_shipped_as_it_was_published_with_its_licences_and_is_in_the_bill_of_materials(
    wheel: Path, tmp_path: Path
) -> None:
    made = runpy.run_path(str(ROOT / "tools" / "katex.py"))
    assert made["digest"]() == made["DIGEST"]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licences = [archive.read(name) for name in names if "/licenses/" in name and "katex" in name]
    known = (b"MIT License", b"Apache License", b"SIL OPEN FONT LICENSE")
    assert len(licences) == 3
    assert all(any(name in each for each in licences) for name in known)
    assert not [name for name in names if name.endswith((".woff", ".ttf"))]
    bill = tmp_path / "sbom.json"
    bill.write_text('{"components": []}')
    made["add_to"](bill)
    assert f'"pkg:npm/katex@{made["VERSION"]}"' in bill.read_text()


def test_the_digests_of_a_release_can_be_signed_and_checked_as_the_guide_says(tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen, which signs, is not installed")
    (line,) = re.findall(r"^\t\$\(if \$\(KEY\),(.+)\)$", read(Path("Makefile")), re.MULTILINE)
    guide = read(Path("docs/guides/upgrade-and-uninstall.md"))
    (check,) = re.findall(r"^ssh-keygen -Y verify .+$", guide, re.MULTILINE)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "SHA256SUMS").write_text("0 a.whl\n")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], cwd=tmp_path, check=True)
    subprocess.run(line.replace("$(KEY)", "key"), shell=True, cwd=tmp_path, check=True, capture_output=True)
    public = (tmp_path / "key.pub").read_text()
    (tmp_path / "dist" / "signers").write_text(f"you@example.org {public}")
    done = subprocess.run(
        check, shell=True, cwd=tmp_path / "dist", check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "dist" / "SHA256SUMS").write_text("1 a.whl\n")
    assert subprocess.run(
        check, shell=True, cwd=tmp_path / "dist", check=False, capture_output=True
    ).returncode
