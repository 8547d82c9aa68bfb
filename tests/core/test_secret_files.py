from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from autocompact.core.secret_files import may_hold_secrets


@pytest.mark.parametrize("path", [".env", "app/.ENV.local", ".ssh/config", "keys/id_rsa"])
def test_a_path_of_keys_or_passwords_may_hold_secrets(path: str) -> None:
    assert may_hold_secrets(PurePosixPath(path).parts)


@pytest.mark.parametrize("path", [".", "src/app.py", ".env.example", "id_rsa.pub"])
def test_other_paths_samples_and_public_keys_hold_none(path: str) -> None:
    assert not may_hold_secrets(PurePosixPath(path).parts)
