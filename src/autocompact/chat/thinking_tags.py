"""Thinking that a model writes into its answer, between ``<think>`` and ``</think>`` at the beginning.

Servers of local models leave it there unless they are told how the model marks it (vLLM, LM Studio).
"""

from __future__ import annotations

BEGIN, END = "<think>", "</think>"


def thinking_and_words(text: str) -> tuple[str, str]:
    """The thinking and the words of an answer as far as it has come; what may become a tag is in neither yet."""
    begun = text.lstrip()
    if BEGIN.startswith(begun):
        return "", ""
    if not begun.startswith(BEGIN):
        return "", text
    thinking, ended, words = begun.removeprefix(BEGIN).partition(END)
    if ended:
        return thinking.strip(), words.lstrip()
    held = next((size for size in range(len(END) - 1, 0, -1) if thinking.endswith(END[:size])), 0)
    return thinking[: len(thinking) - held].strip(), ""
