"""CONTEXT_ARCHIVE.md: one entry per compaction."""

from __future__ import annotations

from dataclasses import dataclass

from autocompact.core.compaction import Compaction

CONTEXT_ARCHIVE = "CONTEXT_ARCHIVE.md"
ARCHIVE_HEADING = "# Context archive\n\nOne entry per compaction, newest last. The originals stay in the conversation's log.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """One compaction for CONTEXT_ARCHIVE.md.

    Attributes:
        conversation: its name.
        record: the compaction.
        peak_tokens: the most that the conversation's context took since the compaction before.
        transcript: where the original messages are (a path, or a command that shows them).
    """

    conversation: str
    record: Compaction
    peak_tokens: int
    transcript: str

    def render(self) -> str:
        """The entry as Markdown, beginning with a blank line."""
        record, receipt = self.record, self.record.receipt
        saved = receipt.tokens_before - receipt.tokens_after
        share = saved / receipt.tokens_before if receipt.tokens_before else 0.0
        tasks = [
            f"- {entry.text}{f' ({entry.state})' if entry.state else ''} [m{entry.seq}]"
            for entry in record.ledger.entries
            if entry.kind in ("request", "todo")
        ]
        rows = (
            ("Conversation", f"`{self.conversation}`, messages {record.from_seq} to {record.through_seq}"),
            ("Duration", f"{receipt.seconds:.2f} s"),
            ("Tokens", f"{receipt.tokens_before:,} in, {receipt.tokens_after:,} out ({share:.0%} recovered)"),
            ("Peak", f"{self.peak_tokens:,} tokens"),
            ("Checked", f"{receipt.kept} kept, {receipt.recoverable} recoverable, {receipt.lost} lost"),
            ("Made by", f"{receipt.model}, step {receipt.rung}, because of {receipt.trigger}"),
            ("Original", self.transcript),
        )
        facts = "\n".join(f"- {name}: {value}" for name, value in rows)
        listed = "\n".join(tasks) or "- none found"
        summary = "\n".join(f"> {line}".rstrip() for line in record.summary.splitlines())
        return f"\n## {receipt.time or 'undated'} {record.id}\n\n{facts}\n\nTasks:\n\n{listed}\n\nSummary:\n\n{summary}\n"
