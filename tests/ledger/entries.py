"""Entries and ledgers that the tests of verification and repair share."""

from __future__ import annotations

from hypothesis import strategies as st

from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry, Kind, Ledger


def entry(kind: Kind, text: str, *, key: str = "", seq: int = 3, need: float = 0.5) -> Entry:
    return Entry(kind=kind, text=redact(text), seq=seq, key=redact(key or text), need=need)


RETRY = entry("identifier", "retry_limit = 5 attempts before the upload worker gives up", key="retry_limit")

_VOCABULARY = "alpha beta worker retry limit queue state upload parser token batch guide".split()
WORD = st.sampled_from(_VOCABULARY)
_NAMES = st.tuples(WORD, WORD, st.integers(0, 99)).map(lambda name: "_".join(map(str, name)))
WORDS = st.lists(WORD, min_size=2, max_size=12).map(" ".join)
_KINDS: st.SearchStrategy[Kind] = st.sampled_from(
    [
        "wish",
        "request",
        "finding",
        "change",
        "file",
        "command",
        "error",
        "todo",
        "running",
        "identifier",
        "step",
        "fact",
    ]
)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    entries: list[Entry] = []
    for seq, name in enumerate(draw(st.lists(_NAMES, unique=True, max_size=12)), 1):
        kind: Kind = draw(_KINDS)
        key = f"/repo/{name}.py" if kind == "file" else name
        where = draw(st.sampled_from(["", *(other.key for other in entries if other.kind == "file")]))
        entries.append(
            Entry(
                kind=kind,
                text=redact(f"{draw(WORDS)} {key} {draw(WORDS)}"),
                seq=seq,
                key=redact(key),
                need=draw(st.floats(0, 1)),
                where=redact(where if kind == "identifier" else ""),
            )
        )
    return Ledger(entries=tuple(sorted(entries, key=lambda entry: -entry.need)))
