"""Files that, by their names, may hold keys or passwords: they are not opened without a word of the person."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".git", ".hg", ".svn"))
_NAMES = (
    *(
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
    ),
    *(
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        "*.pem",
        "*.key",
        "*.p12",
        "*.pfx",
        "*.jks",
        "*.keystore",
    ),
    *("*.kdbx", ".htpasswd", "credentials", "credentials.json", "secrets.*", ".dockercfg", ".terraformrc"),
)
_SAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
"""Of these the names, and no more, look like secrets."""


def may_hold_secrets(names: Iterable[str]) -> bool:
    """True if a path, by the names on it, may lead to keys or passwords. Capitals make no difference."""
    folded = [name.casefold() for name in names]
    if not folded:
        return False
    if not _FOLDERS.isdisjoint(folded):
        return True
    last = folded[-1]
    return any(fnmatchcase(last, pattern) for pattern in _NAMES) and not any(
        fnmatchcase(last, pattern) for pattern in _SAMPLES
    )
