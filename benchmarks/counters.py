"""Token counters in one run: error against the exact count, and speed.

    python benchmarks/counters.py [--data DIR]

Texts come from the recorded sessions in ``../shared/data`` (prose, tool output, tool input, raw JSON lines), from the
standard library (Python) and from a fixed random source (base64, hex, letters). Each is cut into messages of 1,500
characters; the error is that of one message. Also printed: how long the exact counter takes to load, and how far the
gauge's figure for a request was from what the provider then reported, over every request of the recorded sessions.
"""

from __future__ import annotations

import argparse
import base64
import inspect
import json
import random
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autocompact.core.messages import Usage
from autocompact.core.tokens import Counter, Estimator
from autocompact.core.usage import Gauge, Load
from autocompact.models.vocabulary import load_counter

MESSAGE = 1_500
MOST = 400
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


class Quarter:
    """What most peers do."""

    name = "len/4"

    def count(self, text: str) -> int:
        return -(-len(text) // 4)


def lines(folder: Path) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    for file in sorted((folder / "claude_code").glob("*.jsonl")):
        with file.open(encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict):
                    yield file, line, entry


def strings(content: Any, kind: str) -> list[str]:
    """The texts of a message's content by kind of block."""
    if isinstance(content, str):
        return [content] if kind == "prose" else []
    found: list[str] = []
    for block in content or []:
        of = block.get("type")
        if kind == "prose" and of in ("text", "thinking"):
            found.append(block.get("text") or block.get("thinking") or "")
        elif kind == "tool output" and of == "tool_result":
            result = block.get("content")
            found += [result] if isinstance(result, str) else strings(result, "prose")
        elif kind == "tool input" and of == "tool_use":
            found.append(json.dumps(block.get("input")))
    return found


def recorded(folder: Path) -> dict[str, str]:
    texts: dict[str, list[str]] = {"prose": [], "tool output": [], "tool input": [], "json lines": []}
    for number, (_, line, entry) in enumerate(lines(folder)):
        message = entry.get("message")
        if isinstance(message, dict):
            for kind in ("prose", "tool output", "tool input"):
                texts[kind] += strings(message.get("content"), kind)
        if number % 40 == 0:
            texts["json lines"].append(line)
    return {kind: "\n".join(found) for kind, found in texts.items()}


def made() -> dict[str, str]:
    chance = random.Random(7)
    return {
        "python": "".join(
            inspect.getsource(module) for module in (argparse, inspect, json.decoder, subprocess)
        ),
        "base64": base64.b64encode(chance.randbytes(100_000)).decode(),
        "hex": chance.randbytes(60_000).hex(),
        "letters, digits": "".join(chance.choices(string.ascii_lowercase + string.digits, k=100_000)),
    }


def messages(text: str) -> list[str]:
    cut = [text[start : start + MESSAGE] for start in range(0, len(text) - MESSAGE + 1, MESSAGE)]
    return random.Random(1).sample(cut, min(MOST, len(cut)))


def seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def accuracy(kinds: dict[str, str], counters: list[Counter]) -> None:
    exact = counters[0]
    print(f"{'messages of 1,500 characters':30s}" + "".join(f"{counter.name:>26s}" for counter in counters))
    for kind, text in kinds.items():
        cut = messages(text)
        true = [exact.count(message) for message in cut]
        row = f"{kind:18s}{len(cut):4d} messages"
        for counter in counters:
            errors = [counter.count(message) / tokens - 1 for message, tokens in zip(cut, true, strict=True)]
            spent = seconds(lambda counter=counter, cut=cut: [counter.count(message) for message in cut])
            speed = sum(len(message.encode()) for message in cut) / spent / 1e6
            mean, size = statistics.mean(errors), statistics.mean(map(abs, errors))
            row += f"  {mean:+5.0%} |{size:3.0%}|{speed:7.0f} MB/s"
        print(row)


def gauge(folder: Path, counter: Counter) -> None:
    errors: list[float] = []
    doubted = 0
    state, tokens, context, seen = Gauge(), 0, "", set[str]()
    current: Path | None = None
    for file, _, entry in lines(folder):
        if file != current:
            current, state, tokens, context, seen = file, Gauge(), 0, "", set()
        if entry.get("subtype") == "compact_boundary":
            tokens, context = 0, entry["uuid"]
            state = state.rebased(context)
        message = entry.get("message")
        if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        usage = message.get("usage")
        if usage and message["id"] not in seen and message["model"] != "<synthetic>":
            seen.add(message["id"])
            prompt = sum(
                usage.get(name, 0)
                for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            )
            load = Load(tokens=tokens, context=context, model=message["model"])
            if state.anchor is not None and prompt:
                errors.append(abs(state.read(load).used / prompt - 1))
            before = state.rejected
            state = state.report(Usage(prompt=prompt), sent=load, window=200_000)
            doubted += state.rejected is not None and state.rejected is not before
        kinds = ("prose", "tool output", "tool input")
        tokens += 4 + sum(
            counter.count(text) for kind in kinds for text in strings(message.get("content"), kind)
        )
    errors.sort()
    print(
        f"gauge over {len(errors):,} recorded requests ({counter.name}): mean error {statistics.mean(errors):.2%}, "
        f"95th percentile {errors[int(0.95 * len(errors))]:.2%}, {doubted} reports not believed at once"
    )


def loading() -> None:
    code = (
        "import time; start = time.perf_counter(); from autocompact.models.vocabulary import load_counter; "
        "load_counter({!r}); print(time.perf_counter() - start)"
    )
    for name in ("o200k_base", "cl100k_base"):
        runs = [
            subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, check=True)
            for _ in range(3)
        ]
        print(f"import and load {name}: {min(float(run.stdout) for run in runs) * 1e3:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder with recorded sessions")
    folder: Path = parser.parse_args().data
    counters: list[Counter] = [load_counter(), Estimator(), Quarter()]
    found = folder.is_dir()
    if not found:
        print(f"no recorded sessions at {folder}: only made texts", file=sys.stderr)
    accuracy({**(recorded(folder) if found else {}), **made()}, counters)
    if found:
        for counter in counters:
            gauge(folder, counter)
    loading()


if __name__ == "__main__":
    main()
