"""Whatever runs in whatever order: no entry disappears, none is there twice, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from autocompact.core.memory.observations import key_of
from autocompact.core.memory.pages import DONE, OBSERVATION_ARCHIVE, OBSERVATIONS, RULES
from tests.core.memory.folder import TODAY, Folder

SUBJECTS = "cache importer parser Makefile TZ=UTC a.py pnpm deploy".split()
TEXTS = st.builds(
    "{} {} the {}".format,
    st.sampled_from(["Check", "Never check", "Verify", "Flush", "Restart 3 times"]),
    st.sampled_from(["always", "after", "in"]),
    st.sampled_from(SUBJECTS),
)
DAYS = st.integers(0, 60).map(lambda days: TODAY - timedelta(days=days))


@st.composite
def observations(draw: st.DrawFn) -> str:
    """One observation in some form."""
    text, day, count = draw(TEXTS), draw(DAYS), draw(st.integers(0, 7))
    return draw(
        st.sampled_from(
            [
                f"- {day}: {text} ({count} confirmations)\n",
                f"* {text} ({day:%d.%m.%Y})\n  - Confirmations: {count}\n  - Why: because\n",
                f"- {text}\n",
                f"\n## {text}\n\n{day:%d %b %Y} it was.\n\nDate: {day}\nConfirmations: {count}\n\n",
                f"\n## {day}\n\n- {text}\n\n  ```\n  raw\n  ```\n\n",
            ]
        )
    )


FILES = st.lists(observations(), max_size=8).map(lambda each: "# Observations\n\n" + "".join(each))
TASKS = st.lists(
    st.builds(
        "- {}: T-{} Mend (done; pattern: {})\n".format,
        DAYS,
        st.integers(1, 99),
        st.sampled_from(["Check the cache", "tea", "Never check in pnpm"]),
    ),
    max_size=12,
).map("".join)
STEPS = st.lists(
    st.one_of(
        st.sampled_from(["observations", "tasks", "index"]), TEXTS.map("observe {}".format), st.just("later")
    ),
    max_size=6,
)


def run(folder: Folder, steps: Sequence[str]) -> list[str]:
    """Do the steps; what was observed."""
    today, observed = TODAY, list[str]()
    for step in steps:
        match step:
            case "observations":
                folder.upkeep(today=today)
            case "tasks":
                folder.tasks(keep_recent=3, propose_after=3)
            case "index":
                folder.index()
            case "later":
                today += timedelta(days=20)
            case _:
                observed.append(step.removeprefix("observe "))
                folder.observe(observed[-1], today=today)
    return observed


def words(folder: Folder) -> Counter[str]:
    """Every wording of every observation and rule, in how many places it is."""
    return Counter(
        text
        for name in (OBSERVATIONS, RULES, OBSERVATION_ARCHIVE)
        for note in folder.notes(name)
        for text in set(note.wordings)
    )


def made(observed: str, done: str) -> Folder:
    folder = Folder()
    folder.put(OBSERVATIONS, observed)
    folder.put(DONE, done)
    return folder


@given(text=FILES, done=TASKS, steps=STEPS)
@settings(deadline=None, max_examples=60)
def test_no_entry_disappears_and_none_is_there_twice(text: str, done: str, steps: list[str]):
    folder = made(text, done)
    before, tasks = words(folder), sorted(note.text for note in folder.notes(DONE))
    observed = run(folder, [*steps, "observations"])
    after = words(folder)
    assert after.keys() >= {*before, *observed}
    assert set(after.values()) <= {1}
    keys = Counter(key_of(note.text) for name in (OBSERVATIONS, RULES) for note in folder.notes(name))
    assert set(keys.values()) <= {1}
    left = [note.text.partition(" (")[0] for note in folder.notes(DONE)] + [row.task for row in folder.rows()]
    assert sorted(left) == sorted(each.partition(" (")[0] for each in tasks)


@given(text=FILES, done=TASKS)
@settings(deadline=None, max_examples=60)
def test_the_order_of_the_layers_does_not_matter(text: str, done: str):
    one, other = made(text, done), made(text, done)
    run(one, ["observations", "tasks", "index"])
    run(other, ["tasks", "observations", "index"])
    assert one.texts() == other.texts()


@given(text=FILES, done=TASKS, steps=STEPS)
@settings(deadline=None, max_examples=60)
def test_a_second_run_right_after_changes_nothing(text: str, done: str, steps: list[str]):
    folder = made(text, done)
    run(folder, [*steps, "tasks"])
    for layers in (["observations", "tasks", "index"], ["tasks", "index", "observations"]):
        run(folder, layers)
        before = dict(folder)
        run(folder, layers)
        assert folder == before


@given(text=FILES, end=st.sampled_from(["\n", "\r\n"]), whole=st.booleans())
@settings(deadline=None, max_examples=60)
def test_what_was_not_moved_keeps_its_bytes(text: str, end: str, whole: bool):
    content = text.replace("\n", end).encode()
    content = content if whole else content.rstrip()
    folder = Folder({OBSERVATIONS: content})
    staying = len(folder.notes(OBSERVATIONS))
    merged = folder.upkeep(today=date(2026, 11, 21)).merged
    if not merged:
        rest = iter(content.splitlines(keepends=True))
        assert all(line in rest for line in folder[OBSERVATIONS].splitlines(keepends=True))
        assert len(folder.notes(OBSERVATIONS)) <= staying
