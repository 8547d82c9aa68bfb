"""The hooks of Claude Code around a compaction.

At ``PreCompact`` the transcript is read while the agent asks its model for the summary (`Hook.prepare`). ``SessionStart``
with the source ``compact`` and ``PostCompact`` come after that, in an order that may differ by version: in 2.1.330
``SessionStart`` comes first, when the summary stands nowhere yet. Then a block is given that does not know it, and what the
summary turns out to lack besides (`Hook.check`) is given with the next prompt; in the other order one block is given that
knows it. What each event leads to is decided in `autocompact.agents.hook`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path

from autocompact.agents.archiving import archive
from autocompact.agents.hook_files import BLIND, GIVEN, GROWN, PENDING
from autocompact.agents.hook_state import Block, HookState, Prepared, forget_old, size_of
from autocompact.agents.pinned import pinned_in
from autocompact.agents.receipts import receipt
from autocompact.agents.repairing import BLIND_TOKENS, BLOCK_TOKENS, LEAST_REST, block
from autocompact.core.lookup import Lookup
from autocompact.core.redacted import EMPTY, edited, joined
from autocompact.core.redaction import Redacted, redact
from autocompact.core.reply import parse_summary
from autocompact.core.tokens import Estimator
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import frame_beside
from autocompact.ledger.verification import Verification, verify
from autocompact.sessions import Session, read_session
from autocompact.sessions.codex import ENCRYPTED

BLIND_BUDGETS = {"codex": BLOCK_TOKENS}
"""Tokens of what is given before the summary is known, where it never will be: Codex's is encrypted."""


class Hook:
    """One event of a session.

    Args:
        event: what the agent says of it.
        agent: its name.
        state: folder of what the hooks of the session hand to each other.
        pins: folder of what is pinned in recorded sessions.
        archives: keep each session in our own store before it is compacted.
        tools: the agent has our MCP server.
    """

    def __init__(
        self, event: Mapping[str, object], *, agent: str, state: Path, pins: Path, archives: bool, tools: bool
    ) -> None:
        self._event = event
        self._blind_budget = BLIND_BUDGETS.get(agent, BLIND_TOKENS)
        self._session_id = str(event["session_id"])
        self._transcript = Path(str(event["transcript_path"]))
        self._state = HookState(state)
        self._pins_folder = pins
        self._archives = archives
        self._name = f"{agent}-{self._session_id}"
        command = f"autocompact show {self._name}:m123" if archives else ""
        self._lookup = Lookup(tools=tools, command="" if tools else command)
        self._counter = Estimator()

    def prepare(self) -> None:
        """Read the transcript, make the block that can be given before the summary is known, and archive the session."""
        session = self._read()
        made = self._block(EMPTY, budget=self._blind_budget)
        if made.text:
            self._state.write_block(BLIND, made)
        if self._archives:
            archive(session, name=self._name)
        forget_old(self._state.folder.parent, now=time.time())

    def _read(self) -> Session:
        size = size_of(self._transcript)
        session = read_session(self._transcript)
        prepared = Prepared(size=size, through_seq=len(session.messages), ledger=extract(session.messages))
        self._state.write_prepared(prepared)
        return session

    @cached_property
    def _found(self) -> Prepared:
        """What was found in the transcript before the compaction, or in the transcript as it is now."""
        prepared = self._state.prepared()
        # shorter: another file took its place; much longer: the agent went on, and there is more to find
        if prepared is None or not 0 <= size_of(self._transcript) - prepared.size <= GROWN:
            self._read()
            prepared = self._state.prepared()
        assert prepared is not None
        return prepared

    @property
    def _pins(self) -> tuple[Redacted, ...]:
        return pinned_in(self._transcript, folder=self._pins_folder)

    def _block(self, seen: Redacted, *, budget: int) -> Block:
        text = block(
            seen,
            self._found.ledger,
            pins=self._pins,
            budget=budget,
            counter=self._counter,
            lookup=self._lookup,
        )
        framed = edited(text, partial(frame_beside, lookup=self._lookup)) if text else EMPTY
        tokens = self._counter.count(framed)
        return Block(text=framed, body=text, tokens=tokens, size=self._found.size)

    def block_now(self) -> str:
        """A block beside a summary that the transcript has already, or that is not known yet; "" for none."""
        known = self._summary_in_transcript()
        made = self._block(known, budget=BLOCK_TOKENS if known else self._blind_budget)
        if made.text:
            self._state.write_block(GIVEN, made)
        return made.text

    def _summary_in_transcript(self) -> Redacted:
        """The summary of this compaction, where the transcript ends with it; "" where it does not stand there yet."""
        session = read_session(self._transcript)
        made = [record for record in session.compactions if record.status == "active" and record.summary]
        through = made[-1].through_seq if made else 0
        later = (message for message in session.messages[through:] if message.seq not in made[-1].keep)
        went_on = not made or any(message.is_request or message.role == "assistant" for message in later)
        return EMPTY if went_on or made[-1].summary == ENCRYPTED else made[-1].summary

    def note(self) -> None:
        """Write the receipt of a block that was given beside a summary that nobody can read."""
        began = time.monotonic()
        given = self._state.take_block(GIVEN)
        if given is None:
            return
        ledger = self._found.ledger
        checked = verify(given.body, ledger)
        done = receipt(
            checked,
            checked,
            trigger=str(self._event.get("trigger", "auto")),
            through_seq=self._found.through_seq,
            tokens=given.tokens,
            seconds=time.monotonic() - began,
            way="unread",
        )
        self._state.add_receipt(done)
        self._state.forget_prepared()

    def check(self) -> None:
        """Check the summary, prepare what it lacks besides, and write the receipt."""
        began = time.monotonic()
        summary = redact(parse_summary(str(self._event.get("compact_summary") or "")).text)
        given = self._state.take_block(GIVEN)
        shown = redact(given.body) if given is not None else EMPTY
        seen = joined("\n\n", (summary, shown))
        ledger = self._found.ledger
        rest = self._block(seen, budget=BLOCK_TOKENS - (given.tokens if given is not None else 0))
        before, after = verify(summary, ledger), verify(f"{seen}\n\n{rest.body}", ledger)
        if given is not None and rest.tokens < LEAST_REST and _rules(after) == _rules(verify(seen, ledger)):
            rest, after = Block(text="", body="", tokens=0, size=0), verify(seen, ledger)
        if rest.text:
            self._state.write_block(PENDING, rest)
        done = receipt(
            before,
            after,
            trigger=str(self._event.get("trigger", "")),
            through_seq=self._found.through_seq,
            tokens=rest.tokens + (given.tokens if given is not None else 0),
            seconds=time.monotonic() - began,
            way="beside",
        )
        self._state.add_receipt(done)
        self._state.forget_prepared()


def _rules(found: Verification) -> int:
    return sum(entry.kind == "rule" for entry in found.stated)
