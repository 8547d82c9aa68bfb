from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocompact.core.language import WORDS
from autocompact.core.phrases import PHRASES
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.rendering import render
from autocompact.ledger.verification import Verification, content_words, repair_summary, verify
from autocompact.sessions import read_session

COUNTER = Estimator()
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def entry(kind: Kind, text: str, *, key: str = "", seq: int = 3, need: float = 0.5) -> Entry:
    return Entry(kind=kind, text=redact(text), seq=seq, key=redact(key or text), need=need)


def keeps(summary: str, *entries: Entry) -> list[bool]:
    ledger = Ledger(entries=entries)
    kept = verify(summary, ledger).kept
    return [entry in kept for entry in entries]


RETRY = entry("identifier", "retry_limit = 5 attempts before the upload worker gives up", key="retry_limit")


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        ("The upload worker gives up after `retry_limit` attempts.", True),
        ("The constant retry_limit exists.", False),
        ("The upload worker gives up after some attempts.", False),
        ("max_retry_limit: attempts before the upload worker gives up", False),
        ("retry_limits: attempts before the upload worker gives up", False),
        ("retry_limit. " + "Something else. " * 20 + "The upload worker gives up after attempts.", False),
        ("retry_limit. " + "Something else. " * 20 + "retry_limit: the upload worker gives up.", True),
        ("", False),
    ],
)
def test_an_identifier_is_kept_only_with_the_words_that_explain_it(summary: str, kept: bool) -> None:
    assert keeps(summary, RETRY) == [kept]


def test_an_identifier_without_words_of_its_own_needs_only_to_be_named() -> None:
    assert keeps("see 4f2a91c there", entry("identifier", "4f2a91c", key="4f2a91c")) == [True]


def test_a_path_is_an_identifier_as_a_whole_only() -> None:
    path = entry("identifier", "open src/app/main.py", key="src/app/main.py")
    assert keeps("open /repo/src/app/main.py now", path) == [True]
    assert keeps("open mysrc/app/main.py now", path) == [False]
    assert keeps("open src/app/main.pyc now", path) == [False]
    assert keeps("open src main.py app", path) == [False]


@pytest.mark.requirement("E1")
def test_a_request_is_kept_verbatim_or_by_a_reference_not_in_other_words() -> None:
    request = entry("request", "Make the parser  faster,\nplease!", seq=12)
    assert keeps('The user: "Make the parser faster, please!"', request) == [True]
    assert keeps("Earlier: m7, m12", request) == [True]
    assert keeps("Opened by [m12].", request) == [True]
    assert keeps("The user wants a faster parser; see m123 and xm12.", request) == [False]
    assert keeps("请修复解析器的错误。", entry("request", "修复解析器")) == [True]
    assert keeps("nothing", entry("request", "修复解析器")) == [False]
    assert keeps("nothing", Entry(kind="request", text=redact(""), seq=12, key=redact("request 12"))) == [
        False
    ]


def test_a_file_is_kept_when_it_is_named_without_doubt() -> None:
    one = entry("file", "/r/api/store.py — edited", key="/r/api/store.py")
    two = entry("file", "/r/web/store.py — edited", key="/r/web/store.py")
    alone = entry("file", "/r/web/page.py — edited", key="/r/web/page.py")
    assert keeps("changed api/store.py and page.py", one, two, alone) == [True, False, True]
    assert keeps("changed store.py", one, two, alone) == [False, False, False]
    assert keeps("changed /r/web/store.py", one, two, alone) == [False, True, False]


@pytest.mark.parametrize("kind", ["rule", "finding", "fact", "step", "command", "error", "todo", "running"])
def test_what_has_no_name_is_kept_when_enough_of_its_words_stand_together(kind: Kind) -> None:
    told = entry(kind, "Use SQLite because the server has no network connection", key="d1")
    assert keeps("We chose SQLite: the server is without any network.", told) == [True]
    assert keeps("The server is fine.", told) == [False]
    assert keeps("SQLite. " + "Lorem ipsum dolor. " * 30 + "A network.", told) == [False]
    assert keeps("采用数据库，因为服务器没有网络", entry(kind, "采用数据库因为没有网络", key="d2")) == [True]
    assert keeps("exit 12", entry(kind, "12", key="d3")) == [True]


def test_what_is_not_stated_is_recoverable_as_long_as_its_source_is_archived() -> None:
    gone = entry("identifier", "port_number is 8080 for tests", key="port_number", seq=40)
    imported = entry("identifier", "host_name is db for tests", key="host_name", seq=0)
    ledger = Ledger(entries=(RETRY, gone, imported))
    assert verify("", ledger) == Verification(recoverable=(RETRY, gone), lost=(imported,))
    assert verify("", ledger, archived=lambda seq: seq > 10) == Verification(
        recoverable=(gone,), lost=(RETRY, imported)
    )


def test_content_words_leave_out_what_every_text_has() -> None:
    assert content_words("The parser and its 3 tests_are über") == {"parser", "tests", "über"}


_VOCABULARY = "alpha beta worker retry limit queue state upload parser token batch guide".split()
_WORD = st.sampled_from(_VOCABULARY)
_NAMES = st.tuples(_WORD, _WORD, st.integers(0, 99)).map(lambda name: "_".join(map(str, name)))
_WORDS = st.lists(_WORD, min_size=2, max_size=12).map(" ".join)
_KINDS: st.SearchStrategy[Kind] = st.sampled_from(
    ["request", "finding", "change", "file", "command", "error", "todo", "running", "identifier"]
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
                text=redact(f"{draw(_WORDS)} {key} {draw(_WORDS)}"),
                seq=seq,
                key=redact(key),
                need=draw(st.floats(0, 1)),
                where=redact(where if kind == "identifier" else ""),
            )
        )
    return Ledger(entries=tuple(sorted(entries, key=lambda entry: -entry.need)))


@given(ledgers())
def test_a_rendered_ledger_states_all_of_its_entries(ledger: Ledger) -> None:
    assert verify(render(ledger.entries), ledger).kept == ledger.entries


@given(ledgers(), st.text(max_size=300))
def test_every_entry_is_kept_recoverable_or_lost(ledger: Ledger, summary: str) -> None:
    checked = verify(summary, ledger, archived=lambda seq: seq % 2 == 0)
    assert len(checked.kept) + len(checked.recoverable) + len(checked.lost) == len(ledger.entries)
    assert all(entry.seq % 2 == 0 for entry in checked.recoverable)
    assert {*checked.kept, *checked.recoverable, *checked.lost} == set(ledger.entries)


_SUMMARIES = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.one_of(_WORDS, st.sampled_from(["## Files", "```", "- item", "", "One. Two! Three?"])), max_size=30
    ).map("\n".join),
)


@settings(max_examples=100)
@given(ledgers(), _SUMMARIES, st.integers(0, 300))
def test_a_repaired_summary_fits_and_holds_the_summary_if_that_fits(
    ledger: Ledger, summary: str, budget: int
) -> None:
    repaired = repair_summary(
        redact(summary), ledger, verification=verify(summary, ledger), budget=budget, counter=COUNTER
    )
    assert COUNTER.count(repaired) <= budget
    if COUNTER.count(summary.strip()) <= budget:
        assert repaired.startswith(summary.strip())
        assert set(verify(summary, ledger).kept) <= set(verify(repaired, ledger).kept)


def test_what_is_missing_comes_back_under_its_own_heading() -> None:
    ledger = Ledger(entries=(RETRY, entry("request", "Make the upload faster", seq=1)))
    summary = "The upload was made faster."
    repaired = repair_summary(
        redact(summary), ledger, verification=verify(summary, ledger), budget=200, counter=COUNTER
    )
    assert repaired.startswith(f"{summary}\n\n**{PHRASES['en']['verbatim']}**\n\n")
    assert RETRY.text in repaired
    assert "m1" in repaired
    assert "Make the upload faster" not in repaired
    assert verify(repaired, ledger).kept == ledger.entries


class Steep:
    """Counts more for a whole than for its parts."""

    name = "steep"

    def count(self, text: str) -> int:
        return int(len(text) ** 1.2)


@given(ledgers(), st.integers(100, 3000))
def test_the_budget_holds_also_where_tokens_do_not_add_up(ledger: Ledger, budget: int) -> None:
    summary = "It was done."
    repaired = repair_summary(
        redact(summary), ledger, verification=verify(summary, ledger), budget=budget, counter=Steep()
    )
    assert Steep().count(repaired) <= budget
    assert repaired.startswith(summary)


def test_a_complete_summary_stays_as_it_is() -> None:
    ledger = Ledger(entries=(RETRY,))
    assert (
        repair_summary(
            redact(f"{RETRY.text}\n"),
            ledger,
            verification=verify(RETRY.text, ledger),
            budget=500,
            counter=COUNTER,
        )
        == RETRY.text
    )


def test_a_name_that_is_already_there_waits_for_one_that_is_not() -> None:
    named = entry("identifier", "alpha_value of the first kind of setting", key="alpha_value", need=0.5)
    absent = entry("identifier", "delta_value of the other kind of setting", key="delta_value", need=0.4)
    ledger = Ledger(entries=(named, absent))
    summary = "There is alpha_value."
    budget = COUNTER.count(summary) + 28
    repaired = repair_summary(
        redact(summary), ledger, verification=verify(summary, ledger), budget=budget, counter=COUNTER
    )
    assert absent.text in repaired
    assert named.text not in repaired


def test_a_summary_over_the_budget_is_cut_where_it_matters_least_and_says_so() -> None:
    needed = "The worker reads retry_limit attempts before the upload gives up."
    idle = "\n".join(f"Then somebody said that the weather is nice, day {day}." for day in range(60))
    summary = f"# Talk\n{idle}\n# Facts\n{needed}"
    ledger = Ledger(
        entries=(RETRY, entry("identifier", "delta_value of the other kind", key="delta_value", need=0.4))
    )
    repaired = repair_summary(
        redact(summary), ledger, verification=verify(summary, ledger), budget=200, counter=COUNTER
    )
    assert COUNTER.count(repaired) <= 200
    assert needed in repaired
    assert "passages of this summary were left out" in repaired
    assert "delta_value of the other kind" in repaired


def test_every_language_of_the_ledger_has_its_phrases() -> None:
    assert set(PHRASES) == set(WORDS)
    for words in PHRASES.values():
        assert "{left}" in words["shortened"]
        assert "{all}" in words["shortened"]
        assert all(words.values())


def _recorded() -> list[str]:
    listed = DATA / "compactions.jsonl"
    lines = listed.read_text("utf-8").splitlines() if listed.exists() else []
    return sorted({json.loads(line)["file"] for line in lines})[:6]


@pytest.mark.requirement("E1")
@pytest.mark.skipif(not _recorded(), reason="needs the recorded sessions of ../shared/data")
@pytest.mark.parametrize("file", _recorded())
def test_recorded_summaries_are_repaired_within_a_quarter_more_than_their_size(file: str) -> None:
    session = read_session(DATA / file)
    record = session.compactions[0]
    ledger = extract(message for message in session.messages if message.seq <= record.through_seq)
    checked = verify(record.summary, ledger)
    budget = COUNTER.count(record.summary) * 5 // 4
    repaired = repair_summary(record.summary, ledger, verification=checked, budget=budget, counter=COUNTER)
    assert COUNTER.count(repaired) <= budget
    assert repaired.startswith(record.summary.strip())
    after = verify(repaired, ledger)
    assert len(after.kept) > len(checked.kept)
    assert all(entry.kind != "request" for entry in after.recoverable)
    assert all(entry.kind != "file" or entry.state != "done" for entry in after.recoverable)
