"""What does the account of a chat still answer? The BFCL memory scopes, each as one conversation, told in a share of its size.

    python -m benchmarks.chats [--data DIR] [--share 0.08] [--compactions 5] [--packets DIR]

A question counts as answered where one of its accepted answers stands in the account, word for word. That is a lower
bound for a reader, who also reads "5:30" as "05:30 AM", and an upper one where the answer stands there by chance: with
``--packets`` the accounts and the questions are written for readers, the answers apart. With ``--compactions`` a conversation
is read in that many stretches, each with the ledger of the one before, as one is that is compacted again and again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autocompact.core.search import part_text
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import offline_summary
from autocompact.models.vocabulary import default_counter
from benchmarks.recall_answers import Case, bare, chat_cases
from benchmarks.retrieval import DATA

SHARE = 0.08


def told(case: Case, *, share: float, compactions: int = 1) -> str:
    """The account of a whole conversation in ``share`` of its tokens, after so many compactions."""
    counter = default_counter()
    size = sum(counter.count(part_text(part)) for message in case.log for part in message.parts)
    ledger: Ledger | None = None
    for number in range(compactions):
        begin, end = (len(case.log) * at // compactions for at in (number, number + 1))
        ledger = extract(case.log[begin:end], previous=ledger)
    assert ledger is not None, "there is one compaction at least"
    return offline_summary(ledger, budget=int(size * share), counter=counter)


def main() -> None:
    """Measure every scope and print a row for each."""
    parser = argparse.ArgumentParser(description="What does the account of a chat still answer?")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--share", type=float, default=SHARE, help="tokens of the account to those of the chat"
    )
    parser.add_argument("--compactions", type=int, default=1, help="stretches that it is compacted in")
    parser.add_argument("--packets", type=Path, help="folder for accounts, questions and answers")
    options = parser.parse_args()
    answered = asked = 0
    for case in chat_cases(options.data):
        account = told(case, share=options.share, compactions=options.compactions)
        words = f" {bare(account)} "
        hits = sum(any(f" {answer} " in words for answer in question.accepted) for question in case.questions)
        answered, asked = answered + hits, asked + len(case.questions)
        print(f"{case.name:18} {len(case.log):4} messages  {hits:3} of {len(case.questions):3} answered")
        if options.packets:
            write(options.packets, case, account=account)
    print(f"{'all':18} {'':13}  {answered:3} of {asked:3} answered ({100 * answered / asked:.1f}%)")


def write(folder: Path, case: Case, *, account: str) -> None:
    """A packet for a reader and, in another file, the answers."""
    folder.mkdir(parents=True, exist_ok=True)
    name = case.name.replace("/", "_")
    questions = "\n".join(f"{question.id}: {question.text}" for question in case.questions)
    answers = "\n".join(f"{question.id}: {question.answer}" for question in case.questions)
    (folder / f"{name}.txt").write_text(f"{account}\n\n# Questions\n{questions}\n", "utf-8")
    (folder / f"{name}.answers").write_text(f"{answers}\n", "utf-8")


if __name__ == "__main__":
    main()
