"""Records that an earlier version made, which knew fewer kinds of secrets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocompact.compaction.record import Compaction, Mask, redacted_record
from autocompact.core.redaction import Redacted
from autocompact.ledger.entries import Entry, Ledger
from tests.core.strategies import RECEIPT

TOKEN = "ghp_" + "a1B2" * 9
HIDDEN = "[secret: GitHub token]"


def record(text: str) -> Compaction:
    """A record with ``text`` in each place that holds words, as if it had been stored without looking for secrets."""
    old = Redacted(f"uses {text}")
    return Compaction(
        id="c1",
        from_seq=1,
        through_seq=3,
        summary=old,
        focus=old,
        ledger=Ledger(entries=(Entry(kind="command", text=old, seq=1, key=old, where=old),)),
        masks=(Mask(seq=2, part=0, stub=old),),
        receipt=replace(RECEIPT, problem=old, notes=(old,)),
    )


@pytest.mark.requirement("E6")
def test_a_secret_that_an_earlier_version_stored_is_gone_from_every_text_of_a_record() -> None:
    assert redacted_record(record(TOKEN)) == record(HIDDEN)
    assert TOKEN not in repr(redacted_record(record(TOKEN)))


def test_a_record_without_secrets_is_the_same_one() -> None:
    clean = record("nothing")

    assert redacted_record(clean) is clean
