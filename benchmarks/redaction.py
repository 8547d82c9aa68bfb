"""How many secrets the redactor finds, how often it is wrong, how fast it is, and whether its work grows linearly.

Run ``python -m benchmarks.redaction [--set tuning|held-out] [--misses] [TEXT_FILE ...]``. The texts are in
`benchmarks.redaction_tuning` and `benchmarks.redaction_held_out`; each is filled five times with other secrets. A secret
counts as found if every character of it is replaced. ``over`` counts texts in which anything else was replaced as well. Files given as arguments are
scanned instead, and what is found in them is counted by kind for each MB.

Speed is CPU time relative to one pass of ``re.finditer(r"\\w+")`` over the same text in the same run. Growth is the time
for 400 kB of an adversarial text, divided by the time for 100 kB of it: 4 is linear, 16 is quadratic.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

from autocompact.core.redaction import find_secrets
from benchmarks.redaction_cases import filled
from benchmarks.redaction_held_out import HELD_OUT, HELD_OUT_LOOKALIKES
from benchmarks.redaction_tuning import LOOKALIKES, TUNING

SEEDS = range(5)
SETS = {"tuning": (TUNING, LOOKALIKES), "held-out": (HELD_OUT, HELD_OUT_LOOKALIKES)}
SIZE = 400_000
ADVERSARIAL = {
    "one letter": "a",
    "blanks": " ",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2",
    "token:token:": "token:",
    "password password": "password ",
    "password='": "password='",
    "key=key=": "api_key=",
    "-----BEGIN ": "-----BEGIN ",
    "BEGIN lines": "-----BEGIN PRIVATE KEY-----\n",
    "END lines": "-----END PRIVATE KEY-----\n",
    "key lines": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2\n",
    "a.a.a.a": "a.",
    "://": "://",
    "://a:a": "://a:a",
    "cookie:": "cookie: a=",
    "bearer:…!": "bearer:aaaaaaaaaaaaaaaa!",
    "bearer=…#": "bearer=aaaaaaaaaaaaaaaa#",
    "authorization:bearer=": "authorization:bearer=aaaaaaaa!",
    "headers": "'api-key: a1#",
    "curl -u": "curl -u ",
    "mysql -p": "mysql -p ",
    "sk-": "sk-",
    "eyJ.eyJ": "eyJhbGciOi.",
    "$2b$": "$2b$10$",
    "the password is": "the password is ",
    "密码": "密码",
    "密码：8位": "密码：8位",
    "quotes": "'\"",
    "backslashes": "\\",
    "[secret: ": "[secret: token]",
    "authorization": "authorization: bearer ",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="TEXT_FILE", help="scan these instead")
    parser.add_argument("--set", choices=SETS, action="append", dest="sets", help="only this set")
    parser.add_argument("--misses", action="store_true", help="print what was missed, and false hits")
    given = parser.parse_args(arguments)
    if given.files:
        _scan(given.files)
        return 0
    for name in given.sets or SETS:
        _recall(name, misses=given.misses)
        _false(name, misses=given.misses)
    if not given.sets:
        _speed()
        _growth()
    return 0


def _recall(name: str, *, misses: bool) -> None:
    cases, _ = SETS[name]
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    over = 0
    for seed in SEEDS:
        for kind, template in cases:
            text, secret = filled(template, seed=seed)
            hit, exact = _result(text, secret)
            total[kind] += 1
            found[kind] += hit
            over += hit and not exact
            if misses and not hit:
                print(f"missed {kind}: {text!r}")
    print(
        f"{name}: {sum(found.values())} of {sum(total.values())} secrets of {len(total)} kinds found", end=" "
    )
    print(f"({sum(found.values()) / sum(total.values()):.1%}), over {over}")
    short = [f"{kind} {found[kind]}/{count}" for kind, count in total.items() if found[kind] < count]
    print(f"  not all found: {', '.join(short) or 'none'}")


def _result(text: str, secret: str) -> tuple[bool, bool]:
    """Whether all of the secret is replaced, and whether nothing else is."""
    start = text.index(secret)
    wanted = set(range(start, start + len(secret)))
    replaced = {place for span in find_secrets(text) for place in range(span.start, span.end)}
    return wanted <= replaced, wanted == replaced


def _false(name: str, *, misses: bool) -> None:
    _, lookalikes = SETS[name]
    wrong: set[str] = set()
    for template in lookalikes:
        for seed in SEEDS:
            text, _ = filled(template, seed=seed)
            spans = find_secrets(text)
            if spans:
                wrong.add(template)
                if misses:
                    print(f"wrong: {text!r}: {[text[span.start : span.end] for span in spans]}")
    print(f"{name}: {len(wrong)} of {len(lookalikes)} lookalikes taken for secrets")


def _scan(files: list[Path]) -> None:
    kinds: Counter[str] = Counter()
    size = 0
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        size += len(text)
        kinds.update(span.kind for span in find_secrets(text))
    print(f"{size / 1e6:.1f} MB, {sum(kinds.values())} spans")
    for kind, count in kinds.most_common():
        print(f"  {kind}: {count / size * 1e6:.2f}/MB")


def _speed() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(Path("src").rglob("*.py")))
    text = (text * (SIZE // len(text) + 1))[:SIZE]
    plain = _seconds(lambda: sum(1 for _ in re.finditer(r"\w+", text)))
    own = _seconds(lambda: find_secrets(text))
    print(
        f"speed on source code: {own / plain:.2f} of a pass of finditer(r'\\w+'), {SIZE / 1e6 / own:.0f} MB/s"
    )


def _growth() -> None:
    print("adversarial text | MB/s | growth from 100 to 400 kB (4 is linear)")
    for name, piece in ADVERSARIAL.items():
        whole = (piece * (SIZE // len(piece) + 1))[:SIZE]
        small, large = (
            _seconds(lambda text=text: find_secrets(text)) for text in (whole[: SIZE // 4], whole)
        )
        print(f"{name} | {SIZE / 1e6 / large:.1f} | {large / small:.1f}", flush=True)


def _seconds(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(3):
        start = process_time()
        work()
        times.append(process_time() - start)
    return max(min(times), 1e-6)


if __name__ == "__main__":
    sys.exit(main())
