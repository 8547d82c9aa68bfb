"""Identifiers: the names an agent cannot guess and will need again, and where they stood.

One regular expression cuts a text into chunks; whether a chunk is an identifier, and of which shape, is decided
once per distinct chunk. Per message part only the *set* of its identifiers is looked at, so the cost is that of one
`findall` over the text and a few operations per distinct name and part. The line that explains a name is looked
for at the end, only for the names that may be chosen.

ASCII only on purpose: in Chinese or Japanese prose, which has no spaces, an identifier ends where the prose begins.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.core.strides import worded

Shape: TypeAlias = Literal[
    "path", "file", "url", "snake", "camel", "dotted", "hash", "number", "flag", "kebab"
]

_CHUNK = LazyPattern(r"https?://[^\s\"'`<>()\[\]{}|\\^,]+|[\w/~.$@-][\w/.@$~+-]{2,199}", re.ASCII)
_HUMP = LazyPattern(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_FILE = LazyPattern(
    r"\.?[\w-]+(?:\.[\w-]+)*\.(?:"
    r"c|cc|cfg|cjs|conf|cpp|cs|css|csv|env|go|gradle|h|hpp|html|ini|ipynb|java|jpg|js|json|jsonl|jsx|kt|"
    r"lock|log|lua|md|mdx|mjs|mod|php|plist|png|pl|proto|ps1|py|pyi|rb|rs|rst|scala|sh|sql|sum|svg|swift|"
    r"tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig"
    r")\Z",
    re.ASCII,
)
_HEX = LazyPattern(r"[0-9a-f]{7,64}\Z")
_UUID = LazyPattern(r"[0-9a-f]{8}-[0-9a-f]{4}-")
_EDGES = ".,:;-+@~$/"
_CODE = LazyPattern(r"[A-Za-z_$]", re.ASCII)
LONGEST = 199


def chunks(text: str) -> list[str]:
    """Everything in ``text`` that could be an identifier, in order, with repetitions."""
    return [chunk for stride in worded(text) for chunk in _CHUNK.findall(stride)]


def distinct_chunks(text: str) -> set[str]:
    """`chunks`, each once, in no order."""
    return set(chunks(text))


def names(chunk: str) -> tuple[tuple[str, Shape], ...]:
    """The identifiers a chunk holds, with their shapes.

    A path or URL is one; an expression such as ``store.LoadState`` gives its telling components; a plain word none.
    """
    if chunk.isalpha() and (chunk.islower() or chunk.istitle()):
        return ()  # as most are
    if chunk.startswith("http") and "://" in chunk:
        return ((chunk.rstrip(".,:;-"), "url"),) if len(chunk) <= LONGEST else ()
    if len(chunk) > LONGEST:
        return ()
    bare = chunk.rstrip(_EDGES)
    if "/" in bare:
        return _of_path(bare)
    bare = bare.lstrip("@.~$/+") if not bare.startswith(".") or bare.startswith("..") else bare
    if bare.startswith("-"):
        return _of_flag(bare)
    if len(bare) < 3:
        return ()
    if "." in bare:
        return _of_dotted(bare)
    return _of_word(bare)


def _of_path(path: str) -> tuple[tuple[str, Shape], ...]:
    path = path.lstrip("@$-+")
    if len(path) < 4 or path.startswith("//") or not any(map(str.isalpha, path)):
        return ()
    return ((path, "path"),)


def _of_flag(flag: str) -> tuple[tuple[str, Shape], ...]:
    if flag.startswith("---") or len(flag) < 4:
        return ()
    if flag.startswith("--"):
        return ((flag, "flag"),) if flag[2].isalpha() else ()
    return names(flag.lstrip("-"))


def _of_dotted(bare: str) -> tuple[tuple[str, Shape], ...]:
    if bare.replace(".", "").isdigit() or (bare[0] == "v" and bare[1:].replace(".", "").isdigit()):
        return ((bare, "number"),)
    if _FILE.match(bare):
        return ((bare, "file"),)
    found = [
        name for part in bare.split(".") if len(part) > 3 for name in _of_word(part) if name[1] != "number"
    ]
    if not found and "-" not in bare and _CODE.match(bare):
        return ((bare, "dotted"),)
    return tuple(found)


def _of_word(bare: str) -> tuple[tuple[str, Shape], ...]:
    if bare.isdigit():
        return ((bare, "number"),) if 2 < len(bare) < 20 else ()
    if bare.isalpha() and (bare.islower() or bare.istitle()):
        return ()
    if _HEX.match(bare) and not bare.isalpha():
        return ((bare, "hash"),)
    if "-" in bare:
        return _of_hyphens(bare)
    if "_" in bare:
        inner = bare.strip("_")
        return ((bare, "snake"),) if len(inner) > 3 else ()
    if _HUMP.search(bare):
        return ((bare, "camel"),)
    return ((bare, "number"),) if bare[0].isdigit() or bare[-1].isdigit() else ()


def _of_hyphens(bare: str) -> tuple[tuple[str, Shape], ...]:
    if _UUID.match(bare):
        return ((bare, "hash"),)
    if any(map(str.isdigit, bare)):
        return ((bare, "number"),)
    return ((bare, "kebab"),) if len(bare) > 5 and "--" not in bare else ()
