"""Instructions in the midst of a log: what a client resends with each request as instructions is no history.

System and developer messages after the beginning, and the blocks that a client writes into the user's messages (CLAUDE.md,
AGENTS.md, the environment, lists of skills) are never folded. They stay before the summary as they came, of each the newest
version. A reminder counts if it stands before the first answer of the model, or is a newer version of one that does: later
ones are remarks of the moment. How many tokens are left is outdated with the next answer and goes wherever it stands.

Rules in them are rules of the ledger, but no summary repeats them: they stand in front of it in full.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from autocompact.compaction.record import Compaction, Standing
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Message, Text
from autocompact.core.spoken import FIGURE, REMINDER, heading, standing_words
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.rules import OF_CLIENTS
from autocompact.ledger.verification import verify

_WHOLE = -1
Name: TypeAlias = tuple[str | bytes, ...]
"""What two versions of the same instructions have in common."""


class _Block(Struct, frozen=True, kw_only=True):
    seq: int
    part: int
    tokens: int
    may_go: bool


class Instructions(Struct, frozen=True, kw_only=True):
    """The instructions in the messages that a compaction covers, and which of them stay.

    Attributes:
        standing: those that stay, ascending.
        replaced: blocks (``seq`` of the message, index of the part) that have a newer version.
    """

    standing: tuple[Standing, ...]
    replaced: frozenset[tuple[int, int]] = frozenset()

    def rules(self, ledger: Ledger, log: Transcript) -> tuple[frozenset[Entry], frozenset[Entry]]:
        """The rules of ``ledger`` that stand in these instructions in words, and those that only a replaced version had."""
        given = tuple(entry for entry in ledger.entries if entry.kind == "rule" and entry.where in OF_CLIENTS)
        if not given:
            return frozenset(), frozenset()
        shown = filter(None, (one.shown(log[one.seq]) for one in self.standing))
        stated = frozenset(verify("\n".join(message.text for message in shown), Ledger(entries=given)).stated)
        return stated, frozenset(self._outdated(given, log) - stated)

    def _outdated(self, rules: Iterable[Entry], log: Transcript) -> set[Entry]:
        """The rules that stand in a block which has a newer version; other blocks of their message do not matter."""
        texts: dict[int, list[str]] = {}
        for seq, part in sorted(self.replaced):
            texts.setdefault(seq, []).append(_block_text(log[seq], part))
        found = {seq: Ledger(entries=tuple(rule for rule in rules if rule.seq == seq)) for seq in texts}
        return {rule for seq, own in found.items() for rule in verify("\n".join(texts[seq]), own).stated}


def find_instructions(
    log: Transcript,
    through_seq: int,
    *,
    active: Compaction | None,
    keep: Collection[int] = (),
    most_tokens: int,
) -> Instructions:
    """The instructions in the messages through ``through_seq``, without the system prompt.

    Args:
        log: the conversation.
        through_seq: last message that is covered.
        active: the compaction so far.
        keep: covered messages (``seq``) that stay verbatim: what is outdated in them is named.
        most_tokens: of system messages in the midst of the conversation, and of instructions in a recorded session, whose
            client gives them again to whoever resumes it; of more the oldest are folded.
    """
    newest: dict[Name, _Block] = {}
    outdated: dict[int, set[int]] = {}
    replaced: set[tuple[int, int]] = set()
    for name, block in _blocks(log, active):
        if name[0] == FIGURE:
            if block.seq in keep:
                outdated.setdefault(block.seq, set()).add(block.part)
            continue
        if (older := newest.pop(name, None)) is not None:
            replaced.add((older.seq, older.part))
            # named also where the newer one is not covered yet: by it the next compaction knows that one as instructions
            if older.part != _WHOLE and (older.seq in keep or block.seq > through_seq):
                outdated.setdefault(older.seq, set()).add(older.part)
        newest[name] = block
    chosen: dict[int, set[int]] = {}
    room = most_tokens
    for block in reversed([block for block in newest.values() if block.seq <= through_seq]):
        room -= block.tokens if block.may_go else 0
        if not block.may_go or room >= 0:
            chosen.setdefault(block.seq, set()).add(block.part)
    covered = sorted(seq for seq in {*chosen, *outdated} if seq <= through_seq)
    found = (
        _standing(log[seq], parts=chosen.get(seq, set()), outdated=outdated.get(seq, set()))
        for seq in covered
    )
    return Instructions(standing=tuple(found), replaced=frozenset(replaced))


def _blocks(log: Transcript, active: Compaction | None) -> Iterator[tuple[Name, _Block]]:
    """Yield every block that may stay, in order, with its name."""
    known = {one.seq for one in active.standing} if active else set[int]()
    prompt = {message.seq for message in log.prompt}
    # one that only masks covers nothing: the beginning is still there to be looked at
    first, begun = set[Name](), active is not None and active.through_seq > 0
    for message in log.live():
        begun = begun or message.role == "assistant"
        folded = active is not None and message.seq <= active.through_seq and message.seq not in known
        if folded or message.seq in prompt:
            continue
        leads = not begun or message.seq in known
        for part, name in _named(message):
            if leads:
                first.add(name)
            if name[0] != REMINDER or name in first:
                may_go = message.synthetic or (message.role == "system" and bool(message.text) and not leads)
                tokens = log.counter.count(_block_text(message, part)) if may_go else 0
                yield name, _Block(seq=message.seq, part=part, tokens=tokens, may_go=may_go)


def _named(message: Message) -> Iterator[tuple[int, Name]]:
    """The instructions in a message: the index of the part, and the name."""
    if message.role == "system":
        text = message.text
        yield _WHOLE, ("system", heading(text)) if text else ("item", message.raw or b"")
    elif message.role == "user":
        for index, part in enumerate(message.parts):
            names = standing_words(part.text)[1] if isinstance(part, Text) else ()
            lasting = tuple(name for name in names if name != FIGURE)
            if lasting:
                is_reminder = all(name.startswith(REMINDER) for name in lasting)
                yield index, (REMINDER if is_reminder else "block", *lasting)
            elif names:
                yield index, (FIGURE,)


def _block_text(message: Message, index: int) -> str:
    """The text of a part of ``message``, or all of it."""
    part = None if index == _WHOLE else message.parts[index]
    return part.text if isinstance(part, Text) else message.text


def _standing(message: Message, *, parts: set[int], outdated: set[int]) -> Standing:
    if parts == {_WHOLE}:
        return Standing(seq=message.seq)
    some = Standing(seq=message.seq, parts=tuple(sorted(parts)), outdated=tuple(sorted(outdated)))
    return some if outdated or some.rest(message) is not None else Standing(seq=message.seq)
