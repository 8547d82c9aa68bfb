"""Does a reader with our account and our search answer? Packets for readers, and the search that they may call.

    python ../shared/probes/probe.py prepare WORK
    python -m benchmarks.search_reader prepare WORK                  # a packet and its questions for every conversation
    python -m benchmarks.search_reader search WORK T01-03 '{"query": "which port was chosen"}'
    python -m benchmarks.search_reader open WORK T01-03 '{"ref": "m123"}'
    python -m benchmarks.search_reader calls WORK                    # calls of each question, after the reading

A reader gets one packet: the account, as the model sees it after a compaction, and the questions. Before it answers a
question it may call `memory_search` and `memory_expand` over everything that left the context, at most `LIMITS` times: two
searches and two opens for a probe, one search for a question about a chat. The arguments are those that a model gives.
Each call is written to ``WORK/calls.jsonl`` and refused beyond the limit, so that the calls are counted and not reported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter as Counted
from collections.abc import Iterator
from pathlib import Path

from autocompact.ledger.summary import frame
from benchmarks.chats import told
from benchmarks.probes import contexts
from benchmarks.recall_answers import Case, chat_cases, probe_cases, recall_over
from benchmarks.retrieval import DATA

SHARE = 0.08
LIMITS = {"probe": {"search": 2, "open": 2}, "chat": {"search": 1, "open": 0}}
TOOLS = {"search": "memory_search", "open": "memory_expand"}


def cases(sort: str) -> Iterator[Case]:
    """The conversations of one sort, "probe" or "chat"."""
    return chat_cases(DATA) if sort == "chat" else probe_cases(DATA, DATA.parent / "probes")


def sort_of(question: str) -> str:
    return "chat" if question.startswith("bfcl/") else "probe"


def prepare(work: Path) -> None:
    """Write ``WORK/packets/CASE.txt`` for readers and ``WORK/answers/CASE.jsonl`` for graders."""
    contexts(work)
    for case in (*cases("probe"), *cases("chat")):
        name = case.name.replace("/", "_")
        if sort_of(case.name) == "chat":
            context = frame(told(case, share=SHARE), placement="user")
        else:
            context = (work / "contexts" / "offline" / f"{name}.txt").read_text("utf-8")
        asked = "\n".join(f"{question.id}: {question.text}" for question in case.questions)
        _write(
            work / "packets" / f"{name}.txt",
            f"CONTEXT\n=======\n{context}\n\nQUESTIONS\n=========\n{asked}\n",
        )
        answers = (
            json.dumps({"id": one.id, "question": one.text, "answer": one.answer}, ensure_ascii=False)
            for one in case.questions
        )
        _write(work / "answers" / f"{name}.jsonl", "\n".join(answers) + "\n")


async def call(work: Path, tool: str, *, question: str, arguments: str) -> str:
    """Answer one call of a reader, or say that there is none left for this question."""
    asked = cases(sort_of(question))
    case = next((case for case in asked if any(one.id == question for one in case.questions)), None)
    if case is None:
        return f"There is no question {question!r}."
    used = sum(one["question"] == question and one["tool"] == tool for one in _calls(work))
    if used >= LIMITS[sort_of(question)][tool]:
        return f"No {tool} is left for {question}."
    with (work / "calls.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps({"question": question, "tool": tool, "arguments": arguments}) + "\n")
    return await (await recall_over(case)).call(TOOLS[tool], _within(arguments, tool=tool))


def _within(arguments: str, *, tool: str) -> str:
    """The arguments; a search goes over the whole recorded log, all of which is compacted here."""
    given = json.loads(arguments)
    return json.dumps({**given, "scope": "conversation"}) if tool == "search" else arguments


def report(work: Path) -> None:
    """Print how many calls the questions took, probes and chats apart."""
    calls = _calls(work)
    for sort in LIMITS:
        asked = sum(len(case.questions) for case in cases(sort))
        used = Counted(one["tool"] for one in calls if sort_of(one["question"]) == sort)
        total = sum(used.values())
        print(
            f"{sort}s: {asked} questions, {used['search']} searches, {used['open']} opens, {total / asked:.2f} calls a question"
        )


def _calls(work: Path) -> list[dict[str, str]]:
    path = work / "calls.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> None:
    """Do what the first argument says."""
    parser = argparse.ArgumentParser(description="Does a reader with our account and our search answer?")
    parser.add_argument("what", choices=("prepare", "search", "open", "calls"))
    parser.add_argument("work", type=Path)
    parser.add_argument("question", nargs="?", default="", help="id of the question that the call is for")
    parser.add_argument("arguments", nargs="?", default="{}", help="arguments of the tool, as JSON")
    options = parser.parse_args()
    if options.what == "prepare":
        prepare(options.work)
    elif options.what == "calls":
        report(options.work)
    else:
        answer = call(options.work, options.what, question=options.question, arguments=options.arguments)
        print(asyncio.run(answer))


if __name__ == "__main__":
    main()
