"""Keys that a person pasted: kept in the keyring or in a file of their own, never shown."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autocompact.chat.keys import Keys
from autocompact.errors import InvalidInput
from tests.house.source import ROOT

KEY = "sk-of-the-tests-0123456789"
URL = "https://api.example/v1"


def test_without_a_keyring_a_key_is_kept_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    file = tmp_path / "data" / "keys.json"
    keys = Keys(file)
    keys.load()
    assert keys.put(URL, f"  {KEY}\n") == "file"

    again = Keys(file)
    again.load()

    assert again.known == keys.known == {URL: KEY}
    assert KEY not in repr(again)
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.chmod(0o644)
        again.put("https://other.example", KEY)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again.remove(URL)
    assert KEY in file.read_text()
    again.remove("https://other.example")
    assert KEY not in file.read_text()


@pytest.mark.parametrize("key", ["", "  ", "two words", "two\nlines", "sk-ключ"])
def test_what_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidInput, match="this is no key"):
        Keys(tmp_path / "keys.json").put(URL, key)
    assert not (tmp_path / "keys.json").exists()


def test_a_damaged_file_is_named_and_never_quoted(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(f'{{"keys": [{{"base_url": 7, "key": "{KEY}"}}]}}')

    with pytest.raises(InvalidInput) as caught:
        Keys(file).load()

    assert str(file) in str(caught.value)
    assert KEY not in str(caught.value)
    assert file.exists()


PROGRAM = """
import sys
from pathlib import Path
from autocompact.chat.keys import Keys
keys = Keys(Path(sys.argv[1]))
keys.load()
print(keys.put("https://api.example/v1", sys.stdin.read()))
again = Keys(Path(sys.argv[1]))
again.load()
print(len(again.known))
again.remove("https://api.example/v1")
print(Path(sys.argv[2]).read_text())
"""


@pytest.mark.parametrize("broken", [False, True])
def test_a_keyring_is_used_where_it_works(tmp_path: Path, broken: bool) -> None:
    """The package itself, with a keyring that keeps what it is given in a file."""
    file, kept = tmp_path / "keys.json", tmp_path / "ring"
    environ = {
        **os.environ,
        "PYTHON_KEYRING_BACKEND": "tests.chat.file_keyring.FileKeyring",
        "FILE_KEYRING": str(kept),
        **({"FILE_KEYRING_BROKEN": "1"} if broken else {}),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file), str(kept)],
        input=KEY,
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:3] == (["file", "1", "{}"] if broken else ["keyring", "1", "{}"])
    assert KEY not in file.read_text()
    assert KEY not in done.stderr
