"""Compaction by `FakeProvider` itself: when it happens, the form of its blocks, and how they are recognised.

Anthropic's block is readable and signed, OpenAI's item is sealed. Either comes back unchanged and first in its message, or
the request is refused. What stands before the last block is ignored, as if it had not been sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

from autocompact.testing.provider_refusals import Refusal, anthropic_error, openai_error
from autocompact.testing.provider_script import Json, Received, is_array, is_object

Compacting: TypeAlias = Literal["", "before", "alone"]
"""Whether an answer brings a compaction: not, before its words, or instead of them."""

_TRIGGER = 150_000
"""Input tokens at which Anthropic compacts if the request does not say."""

_SEALED = "fake:"


def compacting(asked: Received) -> Compacting:
    """Whether the answer to this request begins with a compaction."""
    if asked.path.endswith("/compact") or asked.body.get("compaction") or _ends_with_trigger(asked):
        return "alone"
    management = asked.body.get("context_management")
    edits = management.get("edits") if is_object(management) else management
    for edit in edits if is_array(edits) else ():
        if is_object(edit) and str(edit.get("type")).startswith("compact") and asked.tokens >= _limit(edit):
            return "alone" if edit.get("pause_after_compaction") else "before"
    return ""


def _ends_with_trigger(asked: Received) -> bool:
    """True if the last item of ``input`` asks for a compaction, as Codex does from 0.169 on."""
    return bool(asked.messages) and asked.messages[-1].get("type") == "compaction_trigger"


def _limit(edit: Json) -> int:
    trigger = edit.get("trigger")
    value = trigger.get("value") if is_object(trigger) else edit.get("compact_threshold")
    return value if isinstance(value, int) else _TRIGGER


def readable_block(summary: str) -> Json:
    """Anthropic's block."""
    return {"type": "compaction", "content": summary, "signature": _signature(summary)}


def sealed_item(summary: str, number: int) -> Json:
    """OpenAI's item; nobody can read the summary in it."""
    return {
        "id": f"cmp_{number}",
        "type": "compaction",
        "encrypted_content": _seal(_signature(f"{number}{summary}")),
    }


def _signature(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _seal(words: str) -> str:
    return f"{_SEALED}{words}:{_signature(words)}"


def seen_messages(messages: Sequence[Any]) -> list[Any]:
    """The messages of Anthropic's that the model sees: from the last block with content on."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        blocks = message.get("content") if is_object(message) else None
        if is_array(blocks) and any(_is_block(block) and block.get("content") for block in blocks):
            return [message, *messages[place + 1 :]]
    return list(messages)


def seen_items(items: Sequence[Any]) -> list[Any]:
    """The items of OpenAI's that the model sees: the last compaction, what follows, and messages of the user alone before."""
    places = [place for place, item in enumerate(items) if _is_block(item)]
    if not places:
        return list(items)
    before = items[: places[-1]]
    keeps = all(is_object(item) and item.get("role") == "user" for item in before)
    return [*(before if keeps else ()), *items[places[-1] :]]


def _is_block(block: Any) -> bool:
    return is_object(block) and block.get("type") == "compaction"


def begins_with_block(message: Json) -> bool:
    """True if a message of Anthropic's begins with a compaction, as a conversation may that goes on from one."""
    blocks = message.get("content")
    return is_array(blocks) and bool(blocks) and _is_block(blocks[0])


def check_blocks(messages: Sequence[Any]) -> Iterator[Refusal]:
    """Every rule about blocks that Anthropic's messages break."""
    for message in messages:
        blocks = message.get("content") if is_object(message) else None
        for place, block in enumerate(blocks if is_array(blocks) else ()):
            if not _is_block(block):
                continue
            content = block.get("content")
            if place:
                yield _refused("compaction_block_misplaced", "The `compaction` block is not the first block.")
            if content is not None and block.get("signature") != _signature(str(content)):
                text = "The `compaction` block's `content` differs from the text its `signature` recorded."
                yield _refused("compaction_content_mismatch", text)


def _refused(code: str, text: str) -> Refusal:
    return anthropic_error(f"{code}: {text}")


def check_items(items: Sequence[Any]) -> Iterator[Refusal]:
    """Every compaction among OpenAI's items that is not as it was given out."""
    for item in items:
        if _is_block(item):
            words, _, signature = str(item.get("encrypted_content")).removeprefix(_SEALED).rpartition(":")
            if signature != _signature(words):
                yield openai_error(
                    "The encrypted content of a compaction item could not be verified.",
                    param="input",
                    code="invalid_encrypted_content",
                )
