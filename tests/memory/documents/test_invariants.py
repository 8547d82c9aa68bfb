"""Whatever runs in whatever order: no entry disappears, none is there twice, and nothing else changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from autocompact.memory.documents.dates import find_dates
from autocompact.memory.documents.meaning import key_of
from autocompact.memory.documents.pages import DONE, OBSERVATION_ARCHIVE, OBSERVATIONS, RULES, TASK_ARCHIVE
from autocompact.memory.documents.tasks import row_of
from tests.memory.documents.folder import TODAY, Folder

SUBJECTS = "cache importer parser Makefile TZ=UTC a.py pnpm deploy".split()
TEXTS = st.builds(
    "{} {} the {}".format,
    st.sampled_from(["Check", "Never check", "Verify", "Flush", "Restart 3 times"]),
    st.sampled_from(["always", "after", "in"]),
    st.sampled_from(SUBJECTS),
)
DAYS = st.integers(0, 60).map(lambda days: TODAY - timedelta(days=days))


FORMATS = st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%B %d, %Y", "%Y/%m/%d", "%Y-%m-%d 10:30"])
MARKS = st.sampled_from(["-", "*", "+", "1.", "2)"])


@st.composite
def observations(draw: st.DrawFn) -> str:
    """One observation, or a group of some, as somebody may have written it by hand."""
    text, other, mark, count = draw(TEXTS), draw(TEXTS), draw(MARKS), draw(st.integers(0, 7))
    format = draw(FORMATS)
    day, more, last = (day.strftime(format) for day in sorted(draw(st.lists(DAYS, min_size=3, max_size=3))))
    inner = " " * (len(mark) + 1)
    wrapped = text.replace(" ", f"\n{inner}", 1)
    return draw(
        st.sampled_from(
            [
                f"- {day}: {text} ({count} confirmations)\n",
                f"{mark} {text} ({day})\n{inner}- Confirmations: {count}\n{inner}- Why: because\n",
                f"{mark} {text}\n",
                f"{mark} [{day}] {wrapped} ({more}, {last})\n\n",
                f"{mark} **{day}** {text} - {count} confirmations\n{inner}Last seen: {last}\n",
                f"{mark} {text} (confirmed {count} times, last on {last})\n",
                f"{mark} {text} ({day}, {more}, {last})\n",
                f"{mark} {text}\n{inner}* {day}\n{inner}* {last}\n\n{inner}More words.\n",
                f"{mark} Seen: {day}, {more}\n{mark} {text}\n{inner}- Seen: {day}, {more}\n{inner}- Noted: {last}\n",
                f"\n{mark} CI\n{inner}- {day}: {text} ({count} confirmations)\n{inner}- {other}\n\n",
                f"\n{mark} {day}\n{inner}- {text}\n{inner}  > quoted\n{inner}- {other} ({last})\n\n",
                f"\n## {text}\n\n{day} it was.\n\nDate: {day}\nConfirmations: {count}\n\n",
                f"\n## {day}\n\n- {text}\n\n  ```\n  raw\n  ```\n\n",
                f"\n## {day}: {text}\n\nWords.\n\n### {last}: {other}\n\n- Confirmed:\n  - {last}\n\n",
                f"\n## Testing\n\n{mark} {text}\n{inner}- {day}\n{mark} {other} ({last})\n",
                f"\n{text}\n===\n\n{mark} {other} ({count}x confirmed)\n",
                f"\n{text} ({day})\n---\n{mark} Confirmations: {more}, {last}\n\n",
                f"\n### Topic\n\n| what | when |\n|---|---|\n| {text} | {day} |\n\n{day}: {text}\n\n",
                "\n```\n- 2020-01-01: raw\n```\n\n<!-- - 2020-01-01: hidden -->\n\n> - 2020-01-01: said\n\n",
            ]
        )
    )


@st.composite
def tasks(draw: st.DrawFn) -> str:
    """One task, or one with another in it."""
    number, day, mark = draw(st.integers(1, 99)), draw(DAYS).strftime(draw(FORMATS)), draw(MARKS)
    pattern = draw(st.sampled_from(["Check the cache", "tea", "Never check in pnpm"]))
    inner = " " * (len(mark) + 1)
    return draw(
        st.sampled_from(
            [
                f"- {day}: T-{number} Mend (done; pattern: {pattern})\n",
                f"{mark} [x] {day} Mend part {number}\n{inner}The tax office rounds up.\n",
                f"{mark} T-{number} Mend\n{inner}- Completed: {day}\n{inner}- Pattern: {pattern}\n\n",
                f"\n## T-{number}: Mend\n\n- Date: {day}\n- [ ] Mend part {number}\n\n",
                f"\n## T-{number}: Mend\n\n- Date: {day}\n- [x] {day}: Mend part {number}\n\n",
                f"\n## T-{number}: Mend\n\nDate: {day}\n\n### Mend part {number}\n\nDate: {day}\n\n",
                f"\n## {day}\n\n{mark} T-{number}: Mend\n\n",
            ]
        )
    )


FILES = st.lists(observations(), max_size=8).map(lambda each: "# Observations\n\n" + "".join(each))
TASKS = st.lists(tasks(), max_size=12).map("".join)
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
def test_no_entry_disappears_and_none_is_there_twice(text: str, done: str, steps: list[str]):
    folder = made(text, done)
    before = words(folder)
    tasks = sorted(row_of(note).task for note in folder.notes(DONE))
    observed = run(folder, [*steps, "observations"])
    after = words(folder)
    assert after.keys() >= {*before, *observed}
    assert set(after.values()) <= {1}
    keys = Counter(key_of(note.text) for name in (OBSERVATIONS, RULES) for note in folder.notes(name))
    assert set(keys.values()) <= {1}
    left = [row_of(note).task for note in folder.notes(DONE)] + [row.task for row in folder.rows()]
    assert sorted(left) == tasks
    # What stands in a task and is one stays to be seen.
    parts = re.findall(r"Mend part \d+", done)
    assert set(re.findall(r"Mend part \d+", folder.all(DONE) + folder.all(TASK_ARCHIVE))) == set(parts)


@given(text=FILES, done=TASKS)
def test_the_order_of_the_layers_does_not_matter(text: str, done: str):
    one, other = made(text, done), made(text, done)
    run(one, ["observations", "tasks", "index"])
    run(other, ["tasks", "observations", "index"])
    assert one.texts() == other.texts()


@given(text=FILES, done=TASKS, steps=STEPS)
def test_a_second_run_right_after_changes_nothing(text: str, done: str, steps: list[str]):
    folder = made(text, done)
    run(folder, [*steps, "tasks"])
    for layers in (["observations", "tasks", "index"], ["tasks", "index", "observations"]):
        run(folder, layers)
        before = dict(folder)
        run(folder, layers)
        assert folder == before


@given(text=FILES, done=TASKS, steps=STEPS)
def test_no_date_of_an_observation_is_lost(text: str, done: str, steps: list[str]):
    folder = made(text, done)
    run(folder, [*steps, "observations"])
    after = {
        day for name in (OBSERVATIONS, RULES, OBSERVATION_ARCHIVE) for day in find_dates(folder.all(name))
    }
    assert after >= set(find_dates(text))


@given(
    text=FILES,
    done=TASKS,
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    whole=st.booleans(),
    bom=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    encoding=st.sampled_from(["utf-8", "latin-1"]),
)
def test_what_was_not_moved_keeps_its_bytes(
    text: str, done: str, end: str, whole: bool, bom: bytes, encoding: str
):
    folder = Folder()
    for name, each in ((OBSERVATIONS, text), (DONE, done)):
        content = each.replace("the", "th\xe9").replace("\n", end).encode(encoding)
        folder[name] = bom + (content if whole else content.rstrip())
    before = dict(folder)
    merged = folder.upkeep(today=date(2026, 11, 21)).merged
    folder.tasks(keep_recent=3, propose_after=99)
    for name in (OBSERVATIONS, DONE):
        assert folder[name].startswith(bom)
        rest = iter(before[name].removeprefix(bom).splitlines(keepends=True))
        after = folder[name].removeprefix(bom).splitlines(keepends=True)
        assert merged or all(line in rest for line in after)
