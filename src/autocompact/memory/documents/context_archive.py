"""CONTEXT_ARCHIVE.md: one entry per compaction. `autocompact.memory.documents.archive_entries` reads them back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autocompact.compaction.record import Compaction
from autocompact.core.patterns import LazyPattern
from autocompact.ledger.entries import Kind
from autocompact.ledger.rendering import told_alone
from autocompact.memory.documents.archive_entries import NO_TASKS, ArchivedTask
from autocompact.memory.documents.requests import is_task
from autocompact.memory.documents.wording import one_line

CONTEXT_ARCHIVE = "CONTEXT_ARCHIVE.md"
ARCHIVE_HEADING = "# Context archive\n\nOne entry per compaction, newest last. The originals stay in the conversation's log.\n"
USUAL_NAMESPACE = "default"
NAMED_FILES = 10
"""Files that an entry names; the others are counted."""
_OF_FILES: tuple[Kind, ...] = ("change", "file")

_CONTROL = LazyPattern(r"[\x00-\x08\x0e-\x1b\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """The entry of one compaction in CONTEXT_ARCHIVE.md.

    Attributes:
        conversation: its name.
        namespace: whose it is; only named where it is not the usual one.
        record: the compaction.
        peak_tokens: the most that the conversation's context took since the compaction before.
        transcript: where the original messages are (a path, or a command that shows them).
        tasks: what the session did; None takes the todos of the ledger, and the requests that say what is to be done.
        model: the session's own model, "" if unknown.
        lasted: from when to when the session was, "" if unknown.
        log_messages: how many messages the session had, None where nobody counted.
        metrics: keep the figures (tokens, peak, check, artifacts).
        noted: the day on which its tasks came to DONE.md, "" if they did not.
    """

    conversation: str
    namespace: str = USUAL_NAMESPACE
    record: Compaction
    peak_tokens: int
    transcript: str
    tasks: tuple[ArchivedTask, ...] | None = None
    model: str = ""
    lasted: str = ""
    log_messages: int | None = None
    metrics: bool = True
    noted: str = ""

    def render(self) -> str:
        """The entry as Markdown, beginning with a blank line."""
        record, receipt = self.record, self.record.receipt
        facts = "\n".join(f"- {name}: {one_line(value)}" for name, value in self._facts() if value)
        listed = "\n".join(self._tasks()) or f"- {NO_TASKS}"
        # A NUL byte would make the whole file one that is not text, which nothing reads again.
        said = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", told_alone(record.summary, record.ledger.entries))
        summary = "\n".join(f"> {line}".rstrip() for line in said.splitlines())
        return f"\n## {receipt.time or 'undated'} {record.id}\n\n{facts}\n\nTasks:\n\n{listed}\n\nSummary:\n\n{summary}\n"

    def _facts(self) -> Iterator[tuple[str, str]]:
        record, receipt = self.record, self.record.receipt
        of = f" of {self.log_messages}" if self.log_messages is not None else ""
        yield "Conversation", f"`{self.conversation}`, messages {record.from_seq} to {record.through_seq}{of}"
        if self.namespace != USUAL_NAMESPACE:
            yield "Namespace", f"`{self.namespace}`"
        yield "Model", self.model
        yield "Session", self.lasted
        yield "Duration", f"{receipt.seconds:.2f} s"
        if self.metrics:
            yield from self._metrics()
        yield "Made by", f"{receipt.model}, step {receipt.rung}, because of {receipt.trigger}"
        yield "Original", self.transcript
        yield "Tasks noted", self.noted

    def _metrics(self) -> Iterator[tuple[str, str]]:
        receipt = self.record.receipt
        saved = receipt.tokens_before - receipt.tokens_after
        share = saved / receipt.tokens_before if receipt.tokens_before else 0.0
        yield (
            "Tokens",
            f"{receipt.tokens_before:,} in, {receipt.tokens_after:,} out ({share:.0%} recovered)",
        )
        yield "Peak", f"{self.peak_tokens:,} tokens"
        yield (
            "Checked",
            f"{receipt.stated} stated, {receipt.referenced} referenced, {receipt.missing} missing",
        )
        yield "Artifacts", self._artifacts()

    def _artifacts(self) -> str:
        """The files that the session changed or read, the changed ones first."""
        entries = self.record.ledger.entries
        files = list(dict.fromkeys(e.key for kind in _OF_FILES for e in entries if e.kind == kind))
        if not files:
            return ""
        named = ", ".join(f"`{file}`" for file in files[:NAMED_FILES])
        more = f" and {len(files) - NAMED_FILES:,} more" if len(files) > NAMED_FILES else ""
        return f"{len(files):,} {'file' if len(files) == 1 else 'files'}: {named}{more}"

    def _tasks(self) -> Iterator[str]:
        if self.tasks is not None:
            for task in self.tasks:
                yield f"- {one_line(task.text)}{f' ({one_line(task.outcome)})' if task.outcome else ''}"
            return
        for entry in sorted(self.record.ledger.entries, key=lambda each: each.seq):
            if entry.kind == "todo" or (entry.kind == "request" and is_task(entry.text)):
                yield f"- {one_line(entry.text)}{f' ({entry.state})' if entry.state else ''} [m{entry.seq}]"
