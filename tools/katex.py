"""Takes KaTeX, which draws the formulas of the chat page, from npm into the page's files: ``python tools/katex.py``.

``python tools/katex.py dist/sbom.cdx.json`` adds it to a bill of materials, which otherwise has only what is installed.

For another release, change `VERSION` and `INTEGRITY` (``npm view katex dist.integrity``), run it, and write the digest that it
prints into `DIGEST`. Of KaTeX's fonts only WOFF2 is taken: every browser that the page works in reads it. Their licence is not
in the package, only named in their metadata: ``fonts/OFL.txt`` is written by us, and stays. So is
``LICENSE-mhchem``: its source names the licence of MathJax's mhchem, from which it derives.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "0.19.1"
INTEGRITY = "sha512-jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA=="
DIGEST = "a67c4cfa38727e2b753622da6d4a3f77ac6f40bf678f47f7293cf8e17f887c5c"
"""SHA-256 of what is shipped (`digest`); a test compares it."""

FOLDER = Path(__file__).parents[1] / "src" / "autocompact" / "ui" / "web" / "assets" / "katex"
_TAKEN = re.compile(
    r"package/(?:LICENSE|dist/(?:katex\.min\.(?:js|css)|contrib/mhchem\.min\.js|fonts/\w+-\w+\.woff2))"
)
_FOLDERS = re.compile("^package/(?:dist/)?(?:contrib/)?")
_OTHER_FONTS = re.compile(rb',url\([\w/.-]+\.(?:woff|ttf)\) format\("\w+"\)')


def main() -> None:
    """Download, check, and write the files anew."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"katex@{VERSION}"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        (packed,) = Path(folder).iterdir()
        found = f"sha512-{base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()}"
        if found != INTEGRITY:
            raise SystemExit(f"katex {VERSION} is not what INTEGRITY says: {found}")
        for old in (*FOLDER.glob("*.min.*"), *FOLDER.glob("fonts/*.woff2")):
            old.unlink()
        with tarfile.open(packed) as archive:
            for member in archive:
                if _TAKEN.fullmatch(member.name) and (content := archive.extractfile(member)):
                    _write(FOLDER / _FOLDERS.sub("", member.name), content.read())
    sys.stdout.write(f"{digest()}\n")


def add_to(bill: Path) -> None:
    """Add KaTeX, its mhchem and its fonts to the components of a bill of materials (CycloneDX)."""
    content = json.loads(bill.read_bytes())
    content["components"].append(
        {
            "type": "library",
            "name": "katex",
            "version": VERSION,
            "purl": f"pkg:npm/katex@{VERSION}",
            "licenses": [{"expression": "MIT AND Apache-2.0 AND OFL-1.1"}],
        }
    )
    bill.write_text(json.dumps(content, indent=2), encoding="utf-8")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_OTHER_FONTS.sub(b"", content) if path.suffix == ".css" else content)


def digest() -> str:
    """SHA-256, in hex digits, over names and content of the shipped files."""
    whole = hashlib.sha256()
    for path in sorted(each for each in FOLDER.rglob("*") if each.is_file()):
        whole.update(f"{path.relative_to(FOLDER).as_posix()}\0{path.stat().st_size}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


if __name__ == "__main__":
    if sys.argv[1:]:
        add_to(Path(sys.argv[1]))
    else:
        main()
