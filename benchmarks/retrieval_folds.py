"""Do the constants of the ranking hold on what they were not chosen on?

    python -m benchmarks.retrieval_folds [--data DIR] [--settings 30]

The questions and the recorded sessions of `benchmarks.retrieval` are dealt into two folds: sessions in turn, questions in
fives (neighbouring ones are about the same thing). Random settings of the constants, and the ones in use, are measured
on both; the best of one fold (sum of the five figures) is shown on the other, beside the ones in use and BM25.
The index in memory ranks like the one in SQLite. Results that repeat one above are not left out here.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from autocompact.core import search as ranking
from autocompact.core.messages import Message, text_message
from autocompact.ports import Key
from autocompact.stores.memory_index import MemoryIndex
from benchmarks.retrieval import DATA, FOUND, Search, bm25, cases, content, lines, mean, rated

GRID: Mapping[str, Sequence[float]] = {
    "B": (0.3, 0.5, 0.75),
    "CLOSE": (0.0, 0.5, 1.0),
    "EXACT": (0.0, 1.0),
    "K1": (0.8, 1.2, 1.6),
    "NEIGHBOUR": (0.0, 0.25, 0.4),
    "TYPICAL": (40, 60, 100),
}
Figures = dict[str, float]


def over(logs: Mapping[str, Sequence[Message]]) -> Search:
    """Positions, counted through all logs."""
    index = MemoryIndex()
    position: dict[tuple[str, int], int] = {}
    for name, log in logs.items():
        index.index(Key(conversation=name), log)
        for message in log:
            position[name, message.seq] = len(position)

    async def search(query: str, k: int) -> list[int]:
        hits = await index.search("default", query, k=k)
        return [position[hit.key.conversation, hit.seq] for hit in hits]

    return search


class Data:
    """Both sorts of queries, with an engine of ours and BM25 for each place that is searched."""

    def __init__(self, data: Path) -> None:
        scopes: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for document in lines(data / "retrieval" / "documents.jsonl"):
            scopes[document["scope"]].append(document)
        asked = [query for query in lines(data / "retrieval" / "queries.jsonl") if query["relevant_doc_ids"]]
        self.asked = [(nth // 5 % 2, query) for nth, query in enumerate(asked)]
        self.scopes, self.ours, self.bm25 = {}, {}, {}
        for scope, documents in scopes.items():
            logs: dict[str, list[Message]] = defaultdict(list)
            for document in documents:
                log = logs[document["conversation_id"]]
                log.append(text_message(len(log) + 1, document["role"], document["text"]))
            ordered = [
                document for name in logs for document in documents if document["conversation_id"] == name
            ]
            self.scopes[scope], self.ours[scope] = ordered, over(logs)
            self.bm25[scope] = bm25([document["text"] for document in ordered])
        self.needs: list[tuple[int, Any, list[str], Search, Search]] = []
        folds: dict[str, int] = {}
        for case in cases(data):
            fold = folds.setdefault(case.name.split("/")[0], len(folds)) % 2
            texts = [content(message) for message in case.covered]
            log = [
                structs.replace(message, seq=seq, replaces=None)
                for seq, message in enumerate(case.covered, 1)
            ]
            self.needs.append((fold, case, texts, over({"log": log}), bm25(texts)))

    async def measure(self, *, ours: bool) -> tuple[Figures, Figures]:
        found: list[dict[str, list[float]]] = [defaultdict(list), defaultdict(list)]
        for fold, query in self.asked:
            any5, gain = await rated(query, self.ours if ours else self.bm25, scopes=self.scopes)
            corpus = query["corpus"].split("_")[0]
            found[fold][f"{corpus} any@5"].append(any5)
            found[fold][f"{corpus} nDCG@10"].append(gain)
        for fold, case, texts, engine, baseline in self.needs:
            search = engine if ours else baseline
            for wanted, query in case.asked:
                texts_found = [texts[index] for index in await search(query, FOUND)]
                share = mean([any(name in text for text in texts_found) for name in wanted])
                found[fold]["blind@5"].append(share)
        first, second = ({name: 100 * mean(values) for name, values in fold.items()} for fold in found)
        return first, second


def use(setting: Mapping[str, float]) -> None:
    for name, value in setting.items():
        setattr(ranking, name, value)


async def main() -> None:
    parser = argparse.ArgumentParser(description="Cross-validation of the ranking's constants.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--settings", type=int, default=30)
    options = parser.parse_args()
    data = Data(options.data)
    shipped = {name: getattr(ranking, name) for name in GRID}
    chance = random.Random(5)
    settings = [shipped]
    settings += [{name: chance.choice(GRID[name]) for name in GRID} for _ in range(options.settings)]
    results: list[tuple[Figures, Figures]] = []
    for setting in settings:
        use(setting)
        results.append(await data.measure(ours=True))
    use(shipped)
    baseline = await data.measure(ours=False)
    for fold in (0, 1):
        best = max(range(len(settings)), key=lambda nth: sum(results[nth][1 - fold].values()))
        print(f"\nOn fold {fold}")
        show("BM25", baseline[fold])
        show("in use", results[0][fold])
        show("best of the other fold", results[best][fold])
        show(
            "worst of all, each figure",
            {name: min(one[fold][name] for one in results) for name in baseline[fold]},
        )


def show(label: str, figures: Figures) -> None:
    print(f"  {label:26}" + "  ".join(f"{name} {value:5.1f}" for name, value in sorted(figures.items())))


if __name__ == "__main__":
    asyncio.run(main())
