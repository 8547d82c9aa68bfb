"""Does one search show the answer? What a reader sees of the first results against what the answer needs.

    python -m benchmarks.recall_answers [--data DIR] [--probes DIR] [--tokens 600] [--misses 40]

**Questions**: the probes of ``../shared/probes`` over the full history before their cut, and the questions of the five
BFCL memory scopes, each scope as one conversation in the order of time. For each question one search, once with the
question itself and once with at most `KEY_WORDS` key words of it (names first, then the longest words, chosen without
looking at history or answer).

**Shown**: the results as the model reads them, from the first on, cut at ``--tokens`` (o200k_base). A *probe* counts with
the share of its reference's distinctive words that is shown: terms of the answer that are not in the question and that
the history holds, weighted by how rare they are there. ``held``: at least half of that weight. A *BFCL question* counts
where one of the accepted answers is shown. *Pooled* is the same with twice the tokens.

**Strangers**: questions of other scopes and sessions, to which the archive has no answer: how often the search says so
("no good match"), and how often it says so wrongly of a question that is at home (*doubted*).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
from collections import Counter as Occurrences
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from autocompact.core.excerpts import page
from autocompact.core.messages import Message, text_message
from autocompact.core.search import part_text
from autocompact.core.terms import STOP_WORDS, terms
from autocompact.core.tokens import Counter
from autocompact.history.recall import Recall
from autocompact.models.vocabulary import load_counter
from autocompact.ports import Key
from autocompact.sessions import read_session
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from benchmarks.retrieval import DATA, lines, mean

KEY_WORDS = 6
HELD = 0.5


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, with the words of its answer that count, or the answers that are accepted."""

    id: str
    group: str
    text: str
    answer: str
    weights: dict[str, float]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation and what is asked about it."""

    name: str
    log: list[Message]
    questions: list[Question]


def probe_cases(data: Path, probes: Path) -> Iterator[Case]:
    for case in json.loads((probes / "cases.json").read_text("utf-8")):
        recorded = read_session(data / case["file"])
        first, stop = case.get("start_line", 1), case.get("boundary_line", math.inf)
        log = [
            message
            for message, line in zip(recorded.messages, recorded.lines, strict=True)
            if first <= line < stop and message.seq <= case.get("through_seq", math.inf)
        ]
        log = [structs.replace(message, seq=seq, replaces=None) for seq, message in enumerate(log, 1)]
        held = Occurrences(term for message in log for term in distinct(message))
        asked = lines(probes / "questions" / f"{case['id']}.jsonl")
        yield Case(
            name=case["id"], log=log, questions=[probe(one, held=held, total=len(log)) for one in asked]
        )


def distinct(message: Message) -> set[str]:
    return {term for part in message.parts for term in terms(part_text(part))}


def probe(asked: dict[str, Any], *, held: Occurrences[str], total: int) -> Question:
    answer = set(terms(asked["answer"])) - set(terms(asked["question"]))
    weights = {term: math.log(1 + total / held[term]) for term in answer if held[term]}
    return Question(
        id=asked["id"], group=asked["kind"], text=asked["question"], answer=asked["answer"], weights=weights
    )


def chat_cases(data: Path) -> Iterator[Case]:
    scopes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in lines(data / "retrieval" / "documents.jsonl"):
        if document["corpus"] == "bfcl_v4_memory":
            scopes[document["scope"]].append(document)
    asked = lines(data / "retrieval" / "queries.jsonl")
    for scope, documents in scopes.items():
        documents.sort(key=lambda one: (int(one["conversation_id"].rsplit("-", maxsplit=1)[1]), one["seq"]))
        log = [
            text_message(seq, one["role"], one["text"], time=one.get("date") or "")
            for seq, one in enumerate(documents, 1)
        ]
        yield Case(
            name=scope,
            log=log,
            questions=[
                Question(
                    id=one["query_id"],
                    group="chat",
                    text=one["text"],
                    answer=" / ".join(one["answer"]),
                    weights={},
                    accepted=tuple(map(bare, one["answer"])),
                )
                for one in asked
                if one["scope"] == scope and one["answer"]
            ],
        )


def bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def key_words(text: str) -> str:
    """Names and figures first, then the longest words, in the order of the question."""
    words = [word for word in re.findall(r"[\w./:#@-]*\w", text) if word.lower() not in STOP_WORDS]
    ranked = sorted(
        dict.fromkeys(words), key=lambda word: (bool(re.search(r"[\d_./]|\w[A-Z]", word)), len(word))
    )
    chosen = set(ranked[-KEY_WORDS:])
    return " ".join(word for word in dict.fromkeys(words) if word in chosen)


class Reader:
    """What a reader with so many tokens sees of a search."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.counter: Counter = load_counter()

    async def see(self, recall: Recall, query: str) -> tuple[str, bool]:
        """The answer of the tool, cut; and whether it says that nothing fits."""
        text = await recall.call("memory_search", {"query": query, "scope": "conversation"})
        doubts = text.startswith(("No good match", "Nothing found"))
        return page(text, offset=0, max_tokens=self.tokens, counter=self.counter).text, doubts


def share(question: Question, shown: str) -> float:
    if question.accepted:
        text = f" {bare(shown)} "
        return float(any(f" {answer} " in text for answer in question.accepted))
    found = set(terms(shown))
    total = sum(question.weights.values())
    return sum(weight for term, weight in question.weights.items() if term in found) / total if total else 1.0


async def main() -> None:
    parser = argparse.ArgumentParser(description="Does one search show the answer?")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--probes", type=Path, default=DATA.parent / "probes")
    parser.add_argument("--tokens", type=int, default=600)
    parser.add_argument(
        "--misses", type=int, default=0, help="so many misses are written, with what was shown"
    )
    options = parser.parse_args()
    cases = [*probe_cases(options.data, options.probes), *chat_cases(options.data)]
    reader = Reader(options.tokens)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    doubted: dict[str, list[bool]] = defaultdict(list)
    misses: list[tuple[float, str]] = []
    for nth, case in enumerate(cases):
        recall = await recall_over(case)
        for question in case.questions:
            for sort, query in (("question", question.text), ("key words", key_words(question.text))):
                shown, doubts = await reader.see(recall, query)
                value = share(question, shown)
                shares[question.group, sort].append(value)
                doubted[f"at home, {sort}"].append(doubts)
                if sort == "question" and value < HELD:
                    misses.append(
                        (value, f"## {question.id} {value:.2f}\nQ: {query}\nA: {question.answer}\n{shown}")
                    )
        for question in cases[nth - 1].questions:
            doubted["strangers"].append((await reader.see(recall, question.text))[1])
    report(shares, doubted)
    for _, text in sorted(misses)[: options.misses]:
        print(f"\n{text}")


async def recall_over(case: Case) -> Recall:
    index = MemoryIndex()
    store, key = MemoryStore(indexer=index), Key(conversation=case.name)
    await store.append(key, case.log, after=0)
    return Recall(store, index, key=key, counter=load_counter())


def report(shares: dict[tuple[str, str], list[float]], doubted: dict[str, list[bool]]) -> None:
    for group, sort in sorted(shares):
        values = shares[group, sort]
        held = mean([value >= HELD for value in values])
        print(
            f"{group:9} {sort:10} n {len(values):4}  share {100 * mean(values):5.1f}  held {100 * held:5.1f}"
        )
    for sort in ("question", "key words"):
        values = [
            value
            for (group, how), some in shares.items()
            if group != "chat" and how == sort
            for value in some
        ]
        held = mean([value >= HELD for value in values])
        print(
            f"{'probes':9} {sort:10} n {len(values):4}  share {100 * mean(values):5.1f}  held {100 * held:5.1f}"
        )
    for label, said in doubted.items():
        print(f"no good match, {label}: {100 * mean(said):.1f}% of {len(said)}")


if __name__ == "__main__":
    asyncio.run(main())
