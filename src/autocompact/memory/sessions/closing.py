"""Compacts the session that is meant: a recorded one in the archive only, one of ours in its store as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autocompact.compaction.modes import SESSION_LAYER, Mode
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import view
from autocompact.engine import Compactor
from autocompact.history.recorded import Compacted, Options, compact_session, compact_with
from autocompact.history.recorded.compacting import SUMMARY_LEAST
from autocompact.history.recorded.moment import moment
from autocompact.memory.documents.archive_entries import Archived, ArchivedTask
from autocompact.memory.documents.context_archive import ArchiveEntry
from autocompact.memory.documents.reached import tasks_of
from autocompact.memory.sessions.finding import Recorded, lasted
from autocompact.models.vocabulary import default_counter
from autocompact.ports import Clock, Model
from autocompact.stores.naming import StorePlace
from autocompact.stores.opening import open_store

_PART = 20
"""Summary and tail take a 20th of the session each, so that a tenth is left of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPolicy:
    """Settings for closing sessions.

    Attributes:
        mode: prompt, caps, sizes.
        model: who writes the summary; None makes it offline. Whoever made it closes it.
        fallback: if the model fails, make the summary offline; the entry says so.
        metrics: keep the figures with the entry.
    """

    mode: Mode = field(default=SESSION_LAYER)
    model: Model | None = None
    fallback: bool = False
    metrics: bool = True


async def close_recorded(
    found: Recorded, *, policy: SessionPolicy, decisions: str, memory: Mapping[str, str], clock: Clock
) -> ArchiveEntry | None:
    """The entry of a recorded session; None if there is nothing to gain.

    Raises:
        ModelError: the model did not answer, and there is no fallback.
        IncompressibleContext: what must stay is too large.
    """
    session = found.session
    counter = default_counter(session.model)
    then = moment(session, through=None, counter=counter)
    total = view(then.log, then.active, closed=True).cost.tokens
    options = Options(
        tail_tokens=min(policy.mode.policy.tail_tokens or 0, total // _PART),
        summary_tokens=min(policy.mode.summary_tokens, max(SUMMARY_LEAST, total // _PART)),
    )
    if policy.model is None:
        compacted = compact_session(session, options, counter=counter, clock=clock)
    else:
        compacted = await compact_with(
            policy.model,
            session,
            options=options,
            counter=counter,
            clock=clock,
            fallback=policy.fallback,
            mode=policy.mode,
            decisions=decisions,
            memory=memory,
        )
    return _entry(found, compacted, metrics=policy.metrics)


def _entry(found: Recorded, compacted: Compacted, *, metrics: bool) -> ArchiveEntry | None:
    record, receipt = compacted.record, compacted.receipt
    if record is None or receipt.tokens_after >= receipt.tokens_before:
        return None
    return ArchiveEntry(
        conversation=found.name,
        record=record,
        peak_tokens=_peak(found, receipt.tokens_before),
        transcript=f"[{_label(found.path.name)}](<{found.path.absolute().as_uri()}>)",
        tasks=tasks_of(
            record,
            found.session.messages,
            cwd=found.session.cwd,
            tokens=lambda seq: compacted.log.cost(seq).tokens,
        ),
        model=found.session.model,
        lasted=lasted(found.session),
        log_messages=len(found.session.messages),
        metrics=metrics,
    )


def _label(name: str) -> str:
    return name.replace("[", "(").replace("]", ")")


def _peak(found: Recorded, tokens: int) -> int:
    """The most that a request with its reply took, as the agent's provider reported it, or what is in the context now."""
    reported = (message.usage for message in found.session.messages if message.usage)
    return max(tokens, *(usage.prompt + usage.completion for usage in reported), 0)


def is_archived(entries: Sequence[Archived], *, name: str, messages: int | None) -> bool:
    """True if the newest entry of the session ``name`` is of all its messages."""
    own = [entry for entry in entries if entry.conversation == name]
    return bool(own) and messages is not None and own[-1].log_messages == messages


async def close_kept(
    name: str, *, database: StorePlace, folder: Path, policy: SessionPolicy, clock: Clock, dry_run: bool
) -> tuple[Compaction, tuple[ArchivedTask, ...] | None] | None:
    """Compact a conversation of ours; the engine archives it. None if there is nothing to gain.

    Returns the compaction, and for a dry run the tasks that its entry would list.

    Args:
        name: of the conversation.
        database: where it is kept.
        folder: the memory folder.
        policy: how.
        clock: for the receipt.
        dry_run: make the record, but do not put it in force.

    Raises:
        CompactionRunning: one is being made.
        ModelError: the model did not answer.
        IncompressibleContext: what must stay is too large.
        StoreError: the store cannot be used.
    """
    async with open_store(database, clock=clock) as store:
        compactor = Compactor(
            store,
            summary_model=policy.model,
            mode=policy.mode,
            memory_folder=folder,
            keep_metrics=policy.metrics,
            clock=clock,
        )
        conversation = await compactor.open(name)
        active = conversation.records.active
        if active is not None and active.through_seq >= len(conversation):
            return None
        record = await conversation.records.preview()
        if record is None or record.receipt.tokens_after >= record.receipt.tokens_before:
            return None
        if not dry_run:
            return await conversation.records.apply(record), None
        messages = await conversation.history(from_seq=record.from_seq, through_seq=record.through_seq)
        return record, tasks_of(record, messages)
