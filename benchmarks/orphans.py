"""How much of an account is code that nothing explains?

    python -m benchmarks.orphans [--data DIR] [--tokens 1500] [--lines 200]

Each recorded session is told offline in ``--tokens``. A line is an *orphan* where it is code or markup, or has no sentence,
and stands in a section whose lines have to explain themselves: a change belongs to its file, a command, an error and a step
to what was called, a request to who asked; what was found, what was said and the details belong to nothing. Shares are of
tokens. With ``--lines`` so many lines of these sections are printed, with the verdict, to be read.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from autocompact.core.language import WORDS
from autocompact.errors import AutocompactError
from autocompact.ledger.extraction import extract
from autocompact.ledger.lines import is_code, is_sentence
from autocompact.ledger.summary import offline_summary
from autocompact.models.vocabulary import default_counter
from autocompact.sessions import read_session
from benchmarks.retrieval import DATA

FREE = ("account", "said", "details", "before")
FOLDERS = ("claude_code", "codex", "copilot_cli", "gemini_cli", "openhands_sdk", "pi", "swe_agent")


def explained(account: str) -> Iterator[tuple[str, bool]]:
    """Every line of an account, and whether it says what it is or belongs to something that does."""
    titles = {words[name] for words in WORDS.values() for name in FREE}
    free = False
    for line in account.splitlines():
        if line.startswith("## "):
            free = line[3:] in titles
        elif line.strip():
            text = line.lstrip(" -·").partition(" ")[2] if line.startswith("- m") else line.lstrip(" -·")
            yield line, not free or not is_code(text) or is_sentence(text)


def main() -> None:
    """Print the share of orphans for each format."""
    parser = argparse.ArgumentParser(description="How much of an account is code that nothing explains?")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokens", type=int, default=1_500)
    parser.add_argument("--lines", type=int, default=0)
    options = parser.parse_args()
    counter = default_counter()
    read: list[tuple[str, bool]] = []
    for folder in FOLDERS:
        orphans = total = 0
        for path in sorted((options.data / folder).iterdir()):
            if path.name.startswith("agentcmd"):
                continue  # words are masked there
            try:
                recorded = read_session(path)
            except AutocompactError:
                continue
            told = offline_summary(extract(recorded.messages), budget=options.tokens, counter=counter)
            for line, whole in explained(told):
                size = counter.count(line)
                total, orphans = total + size, orphans + (0 if whole else size)
                read.append((line, whole))
        print(f"{folder:14} {100 * orphans / total:5.1f}% of {total:7,} tokens")
    for line, whole in random.Random(1).sample(read, min(options.lines, len(read))):
        print(f"{'  ' if whole else '! '}{line}")


if __name__ == "__main__":
    main()
