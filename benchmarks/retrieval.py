"""Recall in one run against plain BM25 and SQLite FTS5's own ranking: does it find what is needed, and how fast.

    python -m benchmarks.retrieval [--data DIR] [--messages 100000] [--no-latency]

**Questions**: the two sets in ``../shared/data/retrieval``. A document is a message, a scope a namespace; a question
is searched in its scope. any@5: one of the first five messages is relevant. nDCG@10: binary gains.

**Needs**: at every compaction of the recorded sessions (Claude Code, Codex, pi), the next 40 tool calls, up to the
next compaction. A *need* is a name (`benchmarks.retention_measure.names`: identifiers of code, numbers, and of a path
its last component) in the arguments of such a call that stood in the messages the compaction covers; each name counts
once, at its first use. Two queries for each:

- *named*: the name itself.
- *blind*: what was said before the call by somebody who does not use the name: the last 400 characters of the last
  words of the user or the model, and the call's own ``description``, with every need of this call cut out. One query
  for each call with a need and at least two words left.

The search sees the covered messages only. Found: the full text of one of the first five messages holds the name;
*shown*: an excerpt among the first five does, so that no further call is needed. A call counts with the share of its
needs, every call the same. The BM25 that is compared with searches whole messages, so *found* treats it fairly.

**Baselines**: BM25 with k1 1.2, b 0.75, a short stop list and light stemming, over messages; FTS5 with its defaults
(unicode61, ``ORDER BY rank``), any word of the question.

**Halves**: sessions and conversations by even and odd position: the constants in `autocompact.core.search` were
chosen on both, so a figure that differs much between them is not to be trusted.

**Latency**: the sessions again and again as new conversations of one namespace until there are so many messages;
time of one `Index.search`, k = 5, 300 queries of each sort: on the clock, and of the processor (which other programs on
the machine disturb less).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import apsw
from msgspec import structs

from autocompact.core.messages import Message, Text, text_message
from autocompact.history.recall import Recall
from autocompact.ports import Key
from autocompact.sessions import read_session
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.table_store import TableStore
from autocompact.what_if.needs import argument_text, content, names

if TYPE_CHECKING:
    from autocompact.stores.connection import Connection

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CALLS, WORDS, FOUND = 40, 400, 5
WORD = re.compile(r"[a-z0-9]+")
STOP = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i if in into is it its me my"
    " not of on or our she so that the their them then there these they this to was we were what when where which who"
    " why will with would you your can could should about am any".split()
)

Search = Callable[[str, int], Awaitable[list[int]]]
"""The first messages for a query, as indices."""


def stemmed(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    if word.endswith("es") and len(word) > 4:
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def words(text: str) -> list[str]:
    return [stemmed(word) for word in WORD.findall(text.lower()) if word not in STOP]


def bm25(texts: Sequence[str], *, k1: float = 1.2, b: float = 0.75) -> Search:
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    lengths: list[int] = []
    for index, text in enumerate(texts):
        counts = Counter(words(text))
        lengths.append(counts.total())
        for word, count in counts.items():
            places[word].append((index, count))
    mean = sum(lengths) / max(1, len(lengths))

    async def search(query: str, k: int) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for word in set(words(query)):
            found = places.get(word, [])
            weight = math.log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
            for index, count in found:
                norm = count + k1 * (1 - b + b * lengths[index] / mean)
                scores[index] += weight * count * (k1 + 1) / norm
        return sorted(scores, key=lambda index: (-scores[index], -index))[:k]

    return search


def fts5(texts: Sequence[str]) -> Search:
    connection = cast("Connection", apsw.Connection(":memory:"))
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text)")
    connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))

    async def search(query: str, k: int) -> list[int]:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query)))
        rows = connection.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (match or '""', k)
        )
        return [row for (row,) in rows]

    return search


class Archive:
    """A store, in a temporary file if none is given, and a recall over one namespace of it."""

    def __init__(self, folder: Path, *, store: TableStore[Any] | None = None) -> None:
        self.store = store or SqliteStore(folder / "archive.db")
        self.index = self.store.index

    async def recall(self, namespace: str, logs: dict[str, list[Message]]) -> Recall:
        for name, messages in logs.items():
            await self.store.append(Key(conversation=name, namespace=namespace), messages, after=0)
        key = Key(conversation=next(iter(logs)), namespace=namespace)
        return Recall(self.store, self.index, key=key, across=True)


# Questions


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def over_documents(archive: Archive, scope: str, *, documents: list[dict[str, Any]]) -> Search:
    logs: dict[str, list[Message]] = defaultdict(list)
    number: dict[str, int] = {}
    for index, document in enumerate(documents):
        log = logs[document["conversation_id"]]
        log.append(text_message(len(log) + 1, document["role"], document["text"]))
        number[f"{document['conversation_id']}:m{len(log)}"] = index
    recall = await archive.recall(scope, logs)
    own = recall.key.conversation

    async def search(query: str, k: int) -> list[int]:
        found = [one.reference for one in await recall.search(query, k, scope="all")]
        return [number[name if ":" in name else f"{own}:{name}"] for name in found]

    return search


async def questions(data: Path, archive: Archive) -> None:
    scopes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in lines(data / "retrieval" / "documents.jsonl"):
        scopes[document["scope"]].append(document)
    engines: dict[str, dict[str, Search]] = {"bm25": {}, "fts5": {}, "recall": {}}
    for scope, documents in scopes.items():
        texts = [document["text"] for document in documents]
        engines["bm25"][scope], engines["fts5"][scope] = bm25(texts), fts5(texts)
        engines["recall"][scope] = await over_documents(archive, scope, documents=documents)
    asked = [query for query in lines(data / "retrieval" / "queries.jsonl") if query["relevant_doc_ids"]]
    print("\nQuestions: any@5, nDCG@10, in percent; then any@5 of each half")
    for corpus in sorted({query["corpus"] for query in asked}):
        chosen = [query for query in asked if query["corpus"] == corpus]
        for name, engine in engines.items():
            results = [await rated(query, engine, scopes=scopes) for query in chosen]
            halves = [100 * mean(any5 for any5, _ in results[half::2]) for half in (0, 1)]
            print(
                f"  {corpus:22} {name:7} n {len(chosen):4}  any@5 {100 * mean(a for a, _ in results):5.1f}"
                f"  nDCG@10 {100 * mean(n for _, n in results):5.1f}  halves {halves[0]:.1f} {halves[1]:.1f}"
            )


async def rated(
    query: dict[str, Any], engine: dict[str, Search], *, scopes: dict[str, list[dict[str, Any]]]
) -> tuple[float, float]:
    relevant = set(query["relevant_doc_ids"])
    found = await engine[query["scope"]](query["text"], 10)
    right = [scopes[query["scope"]][index]["doc_id"] in relevant for index in found]
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(right) if hit)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(relevant))))
    return float(any(right[:5])), gain / ideal


def mean(values: Iterator[float] | Sequence[float]) -> float:
    values = list(values)
    return sum(values) / max(1, len(values))


# Needs


@dataclass(frozen=True, kw_only=True)
class Case:
    """One compaction: the covered messages, and for each of the next calls its needs and the blind query."""

    name: str
    covered: list[Message]
    asked: list[tuple[list[str], str]]


def sessions(data: Path) -> Iterator[tuple[str, Any]]:
    for pattern in ("claude_code/*.jsonl", "codex/agentv*.jsonl", "pi/*.jsonl"):
        for path in sorted(data.glob(pattern)):
            yield path.stem, read_session(path)


def cases(data: Path) -> Iterator[Case]:
    for name, session in sessions(data):
        ends = [record.through_seq for record in session.compactions if record.summary and record.through_seq]
        for end, stop in pairwise([*ends, len(session.messages)]):
            covered = [message for message in session.messages[:end] if message.role != "system"]
            known = names("\n".join(map(content, covered)))
            asked = list(calls(session.messages[end:stop], known))
            yield Case(name=f"{name}/{end}", covered=covered, asked=asked)


def calls(messages: Sequence[Message], known: set[str]) -> Iterator[tuple[list[str], str]]:
    said, seen, number = "", set[str](), 0
    for message in messages:
        for part in message.parts:
            if (
                isinstance(part, Text)
                and part.text.strip()
                and not (message.role == "user" and message.synthetic)
            ):
                said = part.text
        for call in message.calls:
            number += 1
            wanted = (names(argument_text(call)) & known) - seen
            seen |= wanted
            query = blind_query(said, call.arguments, wanted=wanted)
            if number <= CALLS and wanted and len(words(query)) >= 2:
                yield sorted(wanted), query


def blind_query(said: str, arguments: str, *, wanted: set[str]) -> str:
    try:
        described = json.loads(arguments).get("description")
    except (ValueError, AttributeError):
        described = None
    query = said[-WORDS:] + (f"\n{described}" if isinstance(described, str) else "")
    for name in sorted(wanted, key=len, reverse=True):
        query = query.replace(name, " ")
    return query


async def needs(data: Path, archive: Archive) -> list[str]:
    """Prints the figures; gives the queries for the measurement of speed."""
    rates: dict[str, list[dict[str, float]]] = defaultdict(list)
    queries: list[str] = []
    for case in cases(data):
        texts = [content(message) for message in case.covered]
        log = [
            structs.replace(message, seq=seq, replaces=None) for seq, message in enumerate(case.covered, 1)
        ]
        recall = await archive.recall(f"needs/{case.name}", {"log": log})
        for name, search in (("bm25", bm25(texts)), ("fts5", fts5(texts))):
            rates[name].append(await rate_case(case, texts, search=search))
        rates["recall"].append(
            await rate_case(case, texts, search=through(recall)) | await shown(case, recall)
        )
        queries += [query for _, query in case.asked]
    print(
        f"\nNeeds at {len(rates['recall'])} compactions, {len(queries)} calls: percent of the needs in the first 5"
    )
    for name, rated_cases in rates.items():
        figures = [f"{kind} {weighted(rated_cases, kind):5.1f}" for kind in ("named", "blind")]
        halves = [f"{weighted(rated_cases[half::2], 'blind'):.1f}" for half in (0, 1)]
        extra = f"  blind, shown {weighted(rated_cases, 'shown'):.1f}" if name == "recall" else ""
        print(f"  {name:7} {'  '.join(figures)}  halves {' '.join(halves)}{extra}")
    return queries


def weighted(rated_cases: Sequence[dict[str, float]], kind: str) -> float:
    return 100 * sum(case[kind] for case in rated_cases) / max(1, sum(case["calls"] for case in rated_cases))


def through(recall: Recall) -> Search:
    async def search(query: str, k: int) -> list[int]:
        found = await recall.search(query, k, scope="conversation")
        return [int(one.reference.removeprefix("m")) - 1 for one in found]

    return search


async def rate_case(case: Case, texts: Sequence[str], *, search: Search) -> dict[str, float]:
    named = blind = 0.0
    for wanted, query in case.asked:
        found = [texts[index] for index in await search(query, FOUND)]
        blind += mean([any(name in text for text in found) for name in wanted])
        named += mean([any(name in texts[i] for i in await search(name, FOUND)) for name in wanted])
    return {"calls": len(case.asked), "named": named, "blind": blind}


async def shown(case: Case, recall: Recall) -> dict[str, float]:
    total = 0.0
    for wanted, query in case.asked:
        found = await recall.search(query, FOUND, scope="conversation")
        total += mean([any(name in one.render() for one in found) for name in wanted])
    return {"shown": total}


# Speed


async def latency(data: Path, folder: Path, *, messages: int, needed: Sequence[str]) -> None:
    archive = Archive(folder)
    stored = raw = copy = 0
    recorded = list(sessions(data))
    while stored < messages:
        copy += 1
        for name, session in recorded:
            log = [
                structs.replace(message, replaces=None) for message in session.messages[: messages - stored]
            ]
            if log:
                await archive.store.append(Key(conversation=f"{name}/{copy}"), log, after=0)
            raw += sum(len(content(message).encode()) for message in log)
            stored += len(log)
    middle = f"{recorded[len(recorded) // 2][0]}/{(copy + 1) // 2}"
    asked = [query["text"] for query in lines(data / "retrieval" / "queries.jsonl") if query["text"]]
    print(
        f"\nSpeed at {stored:,} messages in {copy * len(recorded)} conversations, {raw / 1e6:.0f} MB of text: ms"
    )
    gc.collect()
    gc.freeze()
    for label, queries, conversation in (
        ("questions, all conversations", asked, None),
        ("blind needs, all conversations", needed, None),
        ("blind needs, one conversation", needed, middle),
    ):
        times: list[float] = []
        busy: list[float] = []
        for query in random.Random(1).sample(list(queries), 300):
            begun, worked = time.perf_counter(), time.process_time()
            await archive.index.search("default", query, k=FOUND, conversation=conversation)
            busy.append(1_000 * (time.process_time() - worked))
            times.append(1_000 * (time.perf_counter() - begun))
        print(f"  {label:32} clock {percentiles(times)}   processor {percentiles(busy)}")
    await archive.store.aclose()


def percentiles(times: Sequence[float]) -> str:
    ordered = sorted(times)
    return "  ".join(f"p{rank} {ordered[len(ordered) * rank // 100]:5.1f}" for rank in (50, 90, 99))


async def main() -> None:
    parser = argparse.ArgumentParser(description="Recall against BM25 and FTS5.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--no-latency", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder))
        await questions(options.data, archive)
        needed = await needs(options.data, archive)
        await archive.store.aclose()
    if not options.no_latency:
        with tempfile.TemporaryDirectory() as folder:
            await latency(options.data, Path(folder), messages=options.messages, needed=needed)


if __name__ == "__main__":
    asyncio.run(main())
