"""Writes ``examples/notebook_chat.ipynb``: ``python examples/make_notebook.py``."""

from __future__ import annotations

import json
from pathlib import Path

NOTEBOOK = Path(__file__).with_name("notebook_chat.ipynb")

CELLS = (
    (
        "markdown",
        "# Process tickets without running out of context\n\n"
        "Each ticket is classified in the same conversation. As soon as the provider reports more tokens than the\n"
        "threshold, the history becomes one summary message, and a notice says so. Without a key in the environment the\n"
        'offline model answers: it searches, it does not reason. `pip install "autocompact[chat,notebook]"`',
    ),
    (
        "code",
        "import os\n\nfrom autocompact.ui.notebook import Chat\n\n"
        'threshold = int(os.environ.get("THRESHOLD", "200"))\n'
        'chat = Chat(threshold=threshold, db=os.environ.get("TICKETS_DB", "tickets.db"))\n'
        "chat",
    ),
    (
        "code",
        "tickets = [\n"
        '    "T-1: The invoice of March shows the tax twice.",\n'
        '    "T-2: The app closes when I rotate the phone.",\n'
        '    "T-3: Please delete my account and all data.",\n'
        '    "T-4: I was charged after I cancelled in April.",\n'
        '    "T-5: The search finds nothing with umlauts.",\n'
        "]\n"
        "for ticket in tickets:\n"
        '    chat(f"Classify as billing, bug or account. {ticket}")',
    ),
    ("markdown", "The same with `await`, and what the chat knows of the first ticket by now:"),
    ("code", 'answer = await chat.send("What was T-1 about?")\nassert answer'),
    (
        "code",
        "for record in chat.compactions():\n"
        "    receipt = record.receipt\n"
        '    print(f"{receipt.tokens_before:,} tokens became {receipt.tokens_after:,}")\n'
        "len(chat.compactions()), chat.should_compact()",
    ),
    ("code", "chat.show()"),
    ("code", "chat.close()"),
)


def notebook() -> str:
    """The file."""
    cells: list[dict[str, object]] = []
    for number, (kind, source) in enumerate(CELLS, 1):
        cell: dict[str, object] = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": source.splitlines(keepends=True),
        }
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(), encoding="utf-8")
