from __future__ import annotations

import cProfile
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.language import WORDS as LANGUAGES
from autocompact.core.redaction import redact
from autocompact.core.tokens import Counter, Estimator
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.phrases import ADDED
from autocompact.ledger.summary_repair import Repaired, beside, repair_summary
from autocompact.ledger.verification import verify
from autocompact.sessions import read_session
from tests.ledger.entries import RETRY, WORDS, entry, ledgers
from tests.lengths import some

COUNTER = Estimator()
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def repaired(summary: str, ledger: Ledger, *, budget: int, counter: Counter = COUNTER) -> Repaired:
    return repair_summary(
        redact(summary), ledger, verification=verify(summary, ledger), budget=budget, counter=counter
    )


_SUMMARIES = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.one_of(WORDS, st.sampled_from(["## Files", "```", "- item", "", "One. Two! Three?"])), max_size=30
    ).map("\n".join),
)


@given(ledgers(), _SUMMARIES, st.integers(0, 300))
def test_a_repaired_summary_fits_and_holds_the_summary_if_there_is_room_for_both(
    ledger: Ledger, summary: str, budget: int
) -> None:
    made = repaired(summary, ledger, budget=budget)
    assert COUNTER.count(made.text) <= budget
    if not made.left_out and COUNTER.count(summary.strip()) <= budget // 2:
        assert made.text.startswith(summary.strip())


class Steep:
    """Counts more for a whole than for its parts."""

    name = "steep"

    def count(self, text: str) -> int:
        return int(len(text) ** 1.2)


@given(ledgers(), st.integers(100, 3000))
def test_the_budget_holds_also_where_tokens_do_not_add_up(ledger: Ledger, budget: int) -> None:
    made = repaired("It was done.", ledger, budget=budget, counter=Steep())
    assert Steep().count(made.text) <= budget
    assert made.text.startswith("It was done.")


def test_an_account_that_came_out_too_long_is_written_again_in_less() -> None:
    found = [
        entry("finding", f"The {word} fails because its token expires.", seq=5)
        for word in ("upload", "login", "export")
    ]
    for budget in range(200, 1_400, 40):
        made = repaired(
            "It was done.", Ledger(entries=(OPEN, CAUSE, RETRY, *found)), budget=budget, counter=Steep()
        )
        assert Steep().count(made.text) <= budget


def test_a_complete_summary_stays_as_it_is() -> None:
    made = repaired(f"{RETRY.text}\n", Ledger(entries=(RETRY,)), budget=500)
    assert made == Repaired(text=RETRY.text)


CAUSE = entry("finding", "The upload fails because the token of the worker expires after an hour.", seq=5)
OPEN = replace(entry("request", "Add a metric for expired tokens, please.", seq=7), state="open")


@pytest.mark.requirement("E1")
def test_what_is_missing_comes_back_as_sentences_under_its_own_heading() -> None:
    made = repaired("The upload was made faster.", Ledger(entries=(OPEN, CAUSE, RETRY)), budget=400)
    assert made.text.startswith(f"The upload was made faster.\n\n**{ADDED['en']}**\n\n## Requests\n")
    assert "m7 [open]: Add a metric for expired tokens, please." in made.text
    assert CAUSE.text in made.text
    assert made.left_out == 0


@pytest.mark.requirement("E1")
def test_what_the_summary_says_in_other_words_is_not_said_again() -> None:
    summary = "Uploads failed: the worker's token expires after an hour. Please add a metric for the expired tokens."
    both = entry(
        "finding",
        f"{CAUSE.text} The retry of the old client hid that for weeks on the staging system.",
        seq=5,
    )
    made = repaired(summary, Ledger(entries=(OPEN, both)), budget=400)
    assert CAUSE.text not in made.text
    assert "The retry of the old client hid that for weeks on the staging system." in made.text
    assert OPEN.text not in made.text
    assert "m7" not in made.text
    wordy = replace(
        entry("request", "Add a metric for expired tokens of the night worker, please.", seq=7), state="done"
    )
    assert "earlier: m7" in repaired(summary, Ledger(entries=(wordy,)), budget=400).text
    assert "earlier" not in repaired(f"{summary} [m7]", Ledger(entries=(wordy,)), budget=400).text


def test_what_is_left_of_a_finding_keeps_its_heading_and_too_little_is_nothing() -> None:
    found = entry(
        "finding", "Root cause: the token expires after an hour; the clock of the worker is behind", seq=5
    )
    found = replace(found, where=redact("Root cause"))
    made = repaired("The token expires after an hour.", Ledger(entries=(found,)), budget=400)
    assert "Root cause: the clock of the worker is behind" in made.text
    tiny = entry("finding", "The token expires after an hour; was slow too", seq=5)
    assert repaired("The token expires after an hour.", Ledger(entries=(tiny,)), budget=400).text.endswith(
        "hour."
    )


def test_a_change_whose_file_and_functions_are_named_is_told() -> None:
    change = entry("change", "edited 2× — changed load(); + save()", key="/r/api/store.py", seq=50)
    assert ADDED["en"] not in repaired("store.py: load and save", Ledger(entries=(change,)), budget=300).text
    assert "+ save()" in repaired("store.py: load is new", Ledger(entries=(change,)), budget=300).text
    assert "+ save()" in repaired("load and save", Ledger(entries=(change,)), budget=300).text


@pytest.mark.requirement("E1")
def test_of_a_change_the_parts_come_back_that_the_summary_does_not_say() -> None:
    text = (
        "edited 3× — + save(), drop_all(); changed load(); save(): writes the whole batch to the local disk;"
        " “Now update `store.py`”; “keep the order of the batches when the worker is restarted”"
    )
    change = entry("change", text, key="/r/api/store.py", seq=50)
    made = repaired("store.py: load() retries and save() is new.", Ledger(entries=(change,)), budget=300).text
    assert "edited 3× — + drop_all()" in made
    assert "save(): writes the whole batch to the local disk" in made
    assert "keep the order of the batches" in made
    assert "Now update" not in made
    assert "changed load()" not in made
    rest = "store.py: load() and save() and drop_all() are new, the save writes the whole batch to the local disk; the order of the batches is kept when the worker is restarted."
    assert ADDED["en"] not in repaired(rest, Ledger(entries=(change,)), budget=300).text


def test_changes_are_shortened_by_whole_parts_and_the_oldest_goes_first() -> None:
    changes = tuple(
        entry(
            "change",
            f"edited — + load_{n}(); load_{n}(): reads the rows of table {n} from the old archive; “mend the reading of table {n} for the night run”",
            key=f"/r/part{n}/store.py",
            seq=n,
        )
        for n in range(1, 7)
    )
    made = repaired("Nothing.", Ledger(entries=(*changes, CAUSE)), budget=330).text
    assert "load_6()" in made
    assert "…" not in made
    assert "“mend the reading of table 1" not in made
    few = repaired("Nothing.", Ledger(entries=(*changes, CAUSE)), budget=160).text
    assert "load_6()" in few
    assert "load_1()" not in few


def calls_to_repair(files: int) -> int:
    """How many functions it takes to put back what happened to so many files, which no load of the machine changes."""
    changes = (
        entry(
            "change", f"edited — + load_{n}(); + save_{n}(); + drop_{n}()", key=f"/r/part{n}/store.py", seq=n
        )
        for n in range(1, files + 1)
    )
    profiler = cProfile.Profile()
    profiler.runcall(repaired, "Nothing.", Ledger(entries=tuple(changes)), budget=300)
    return sum(each.callcount for each in profiler.getstats())


def test_the_work_of_a_repair_grows_with_the_number_of_changed_files_and_not_with_its_square() -> None:
    calls_to_repair(10)
    assert calls_to_repair(400) < 2.5 * calls_to_repair(200)


@pytest.mark.requirement("E1")
def test_what_failed_comes_back_with_its_reason_and_of_what_went_well_only_a_check() -> None:
    failed = replace(
        entry(
            "command",
            "`git checkout main` — failed (128): main is in use",
            key="git checkout main",
            need=0.05,
            seq=3,
        ),
        state="open",
    )
    fine = replace(
        entry("command", "`git add a.py` — ok", key="git add a.py", need=0.05, seq=8), state="done"
    )
    check = replace(entry("command", "`make check` — ok", key="make check", need=0.4, seq=9), state="done")
    made = repaired("Nothing.", Ledger(entries=(failed, fine, check)), budget=400).text
    assert failed.text in made
    assert check.text in made
    assert fine.text not in made


def test_a_sentence_comes_back_with_the_one_that_says_what_it_is_about() -> None:
    found = entry(
        "finding",
        "The token expires after an hour. That is why the night worker loses a batch of 40 rows.",
        seq=5,
    )
    made = repaired("The token expires after an hour.", Ledger(entries=(found,)), budget=300).text
    assert found.text in made
    long = entry(
        "finding",
        f"The token expires after an hour{', as everybody knows' * 6}. That is why 40 rows of it go.",
        seq=5,
    )
    told = repaired(long.text.partition(". ")[0], Ledger(entries=(long,)), budget=300).text
    assert told.endswith("m5 That is why 40 rows of it go.")


@pytest.mark.requirement("E1")
def test_a_sentence_with_a_number_that_the_summary_does_not_have_comes_back() -> None:
    found = entry(
        "finding", "The upload of the night worker gives up after 17 attempts and drops the batch.", seq=5
    )
    told = "The upload of the worker gives up after some attempts and drops."
    assert "17 attempts" in repaired(told, Ledger(entries=(found,)), budget=300).text
    assert ADDED["en"] not in repaired(told.replace("some", "17"), Ledger(entries=(found,)), budget=300).text


def test_offers_announcements_and_lines_of_code_do_not_come_back() -> None:
    said = entry(
        "finding",
        "Let me read the header of the queue now. The header has a byte order mark in front. Want me to take the mark out of it?",
        seq=5,
    )
    lines = (
        entry("identifier", 't.Errorf("the queue of the worker is %d long", size_left)', key="size_left"),
        entry("identifier", "594- return the queue of the worker as it was before_it", key="before_it"),
        entry("identifier", "Let me fix the queue of the worker in queue_fix next.", key="queue_fix"),
        entry("identifier", "the queue of the worker is explained by queue_doc:", key="queue_doc"),
    )
    made = repaired("Nothing.", Ledger(entries=(said, *lines)), budget=400).text
    assert "The header has a byte order mark in front." in made
    assert not any(
        word in made for word in ("Let me", "Want me", "size_left", "before_it", "queue_fix", "queue_doc")
    )


def test_what_is_done_of_a_plan_comes_back_alone_where_nothing_is_open() -> None:
    done = [
        replace(entry("todo", words, key=str(at), seq=9), state="done")
        for at, words in enumerate(("Read the upload worker and its queue", "Mend the header of the table"))
    ]
    told = "The upload worker and its queue were read whole, all the reads of it."
    made = repaired(told, Ledger(entries=tuple(done)), budget=300).text
    assert "Mend the header of the table" in made
    assert "Read the upload worker and its queue" not in made


def test_a_file_that_is_named_is_not_listed_again() -> None:
    files = tuple(entry("file", f"/r/mod{n}.py — read", key=f"/r/mod{n}.py", seq=n) for n in (1, 2))
    made = repaired("Next: change /r/mod1.py.", Ledger(entries=(CAUSE, *files)), budget=400)
    assert made.text.endswith("- read: /r/mod2.py")


def test_the_plan_comes_back_whole_with_its_states_if_one_of_them_is_not_said() -> None:
    done = replace(entry("todo", "Read the upload worker", key="1", seq=9), state="done")
    left = replace(entry("todo", "Write a test for the retry of it", key="2", seq=9), state="open")
    made = repaired("- [x] Read the upload worker", Ledger(entries=(done, left)), budget=300)
    assert "- [ ] Write a test for the retry of it" in made.text
    assert "- [x] Read the upload worker" in made.text.partition(ADDED["en"])[2]


def test_what_is_done_of_the_plan_comes_back_beside_an_open_item_that_is_said() -> None:
    done = replace(entry("todo", "Read the upload worker", key="1", seq=9), state="done")
    left = replace(entry("todo", "Write a test for the retry of it", key="2", seq=9), state="open")
    made = repaired("- [ ] Write a test for the retry of it", Ledger(entries=(done, left)), budget=300)
    added = made.text.partition(ADDED["en"])[2]
    assert "- [x] Read the upload worker" in added
    assert "Write a test" not in added


def test_a_request_that_is_quoted_does_not_come_back_as_a_reference() -> None:
    request = replace(entry("request", "Make the parser faster", seq=3), state="done")
    made = repaired('The user said "Make the parser faster".', Ledger(entries=(request, CAUSE)), budget=300)
    assert ADDED["en"] in made.text
    assert "m3" not in made.text


def test_of_the_last_calls_only_the_very_last_come_back_and_none_that_writes_the_plan() -> None:
    calls = [
        entry("step", f"Bash run_{name} now → result {name}", key=f"step call {seq} 0", seq=seq)
        for seq, name in ((3, "one"), (4, "two"), (5, "three"))
    ]
    plan = entry("step", "TodoWrite write the list → Todos have been modified", key="step call 6 0", seq=6)
    words = entry("step", "Let me look at the other worker first.", key="step words 0", seq=2)
    made = repaired("Nothing.", Ledger(entries=(*calls, plan, words)), budget=400)
    assert [name for name in ("one", "two", "three") if f"run_{name}" in made.text] == ["two", "three"]
    assert "Todos" not in made.text
    assert words.text in made.text


def test_files_that_were_only_read_are_named_where_there_is_room() -> None:
    files = tuple(entry("file", f"/r/mod{n}.py — read", key=f"/r/mod{n}.py", seq=n) for n in range(1, 20))
    made = repaired("It read /r/mod1.py.", Ledger(entries=(CAUSE, *files)), budget=400)
    assert made.text.endswith("## Files\n- read: " + ", ".join(f"/r/mod{n}.py" for n in range(2, 14)))
    some = repaired(
        "It read /r/mod1.py.", Ledger(entries=(CAUSE, *files)), budget=COUNTER.count(made.text) - 20
    )
    assert some.text.endswith("/r/mod4.py")
    before = COUNTER.count(made.text.partition("\n\n## Files")[0])
    none = repaired("It read /r/mod1.py.", Ledger(entries=(CAUSE, *files)), budget=before + 2)
    assert "## Files" not in none.text


def test_a_name_that_is_already_there_waits_for_one_that_is_not() -> None:
    named = entry(
        "identifier", "alpha_value is the first kind of setting that we have.", key="alpha_value", need=0.5
    )
    absent = entry(
        "identifier", "delta_value is the other kind of setting that is left.", key="delta_value", need=0.4
    )
    made = repaired("There is alpha_value.", Ledger(entries=(named, absent)), budget=52)
    assert absent.text in made.text
    assert named.text not in made.text


@pytest.mark.requirement("E1")
def test_a_summary_makes_room_by_what_it_says_twice() -> None:
    twice = "\n".join(
        [
            "# Story",
            *(f"Step {n}: the parser of module number {n} was read and left as it is." for n in range(12)),
            "# Files",
            *(
                f"- The parser of module number {n} was read in step {n} and left as it is."
                for n in range(12)
            ),
        ]
    )
    ledger = Ledger(entries=(OPEN, CAUSE))
    made = repaired(twice, ledger, budget=COUNTER.count(twice))
    assert COUNTER.count(made.text) <= COUNTER.count(twice)
    assert CAUSE.text in made.text
    assert OPEN.text in made.text
    assert 0 < made.left_out < made.passages
    assert all(f"- The parser of module number {n} " in made.text for n in range(12))


def test_a_summary_over_the_budget_is_cut_where_it_matters_least() -> None:
    needed = "The worker reads retry_limit attempts before the upload gives up."
    idle = "\n".join(f"Then somebody said that the weather is nice, day {day}." for day in range(60))
    ledger = Ledger(
        entries=(
            RETRY,
            entry("identifier", "delta_value is the other kind of thing here.", key="delta_value"),
        )
    )
    made = repaired(f"# Talk\n{idle}\n# Facts\n{needed}", ledger, budget=200)
    assert COUNTER.count(made.text) <= 200
    assert needed in made.text
    assert made.left_out > 20
    assert "delta_value is the other kind of thing here." in made.text


def test_the_heading_is_in_the_language_of_the_conversation() -> None:
    assert set(ADDED) == set(LANGUAGES)
    german = entry(
        "request", "Bitte mach das Hochladen schneller und schreib einen Test für die Wiederholung", seq=1
    )
    told = "Bitte mach das Hochladen schneller und schreib einen Test für die Wiederholung."
    made = repaired(told, Ledger(entries=(german, CAUSE)), budget=400)
    assert ADDED["de"] in made.text
    assert f"## {LANGUAGES['de']['account']}" in made.text


def _recorded() -> list[str]:
    listed = DATA / "compactions.jsonl"
    lines = listed.read_text("utf-8").splitlines() if listed.exists() else []
    return some(sorted({json.loads(line)["file"] for line in lines})[:6], gate=3)


@cache
def _summarised(file: str) -> tuple[str, Ledger]:
    """The first summary of a recorded session, and the ledger of what it stands for."""
    session = read_session(DATA / file)
    record = session.compactions[0]
    return record.summary, extract(
        message for message in session.messages if message.seq <= record.through_seq
    )


@pytest.mark.uncovered
@pytest.mark.requirement("E1")
@pytest.mark.skipif(not _recorded(), reason="needs the recorded sessions of ../shared/data")
@pytest.mark.parametrize("file", _recorded())
@pytest.mark.parametrize("scale", [1.0, 1.25])
def test_recorded_summaries_are_repaired_within_their_size_and_state_more(file: str, scale: float) -> None:
    summary, ledger = _summarised(file)
    budget = int(COUNTER.count(summary) * scale)
    made = repaired(summary, ledger, budget=budget)
    assert COUNTER.count(made.text) <= budget
    before, after = verify(summary, ledger), verify(made.text, ledger)
    assert _of(after.stated, "finding") > _of(before.stated, "finding")
    assert all(each.kind != "request" for each in after.missing)


def _of(entries: tuple[Entry, ...], kind: str) -> int:
    return sum(each.kind == kind for each in entries)


# Beside a summary that cannot be changed --------------------------------------------------------------------


RULE = entry("rule", "Never push without my approval.", seq=2)


@pytest.mark.requirement("E1")
def test_what_a_summary_that_cannot_be_changed_lacks_stands_beside_it_rules_first() -> None:
    text = beside(
        redact("The upload was made faster."),
        Ledger(entries=(OPEN, CAUSE, RULE)),
        budget=400,
        counter=COUNTER,
    )
    assert text.startswith("## Rules in force\n- Never push without my approval. [m2")
    assert "The upload was made faster" not in text
    assert text.index(ADDED["en"]) < text.index(OPEN.text) < text.index(CAUSE.text)


def test_beside_a_summary_that_says_everything_stands_nothing() -> None:
    said = redact(f"{RETRY.text}\n{RULE.text}\n{CAUSE.text}")
    assert beside(said, Ledger(entries=(RETRY, RULE, CAUSE)), budget=400, counter=COUNTER) == ""


@given(ledgers(), _SUMMARIES, st.integers(0, 300))
def test_what_stands_beside_a_summary_fits_and_is_the_same_each_time(
    ledger: Ledger, summary: str, budget: int
) -> None:
    text = beside(redact(summary), ledger, budget=budget, counter=COUNTER)
    assert COUNTER.count(text) <= budget
    assert beside(redact(summary), ledger, budget=budget, counter=COUNTER) == text
