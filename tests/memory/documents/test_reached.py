"""What a session reached, found in its messages: names, figures, and what is no task."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import TypeAlias

import pytest
from msgspec import structs

from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult
from autocompact.core.redacted import own
from autocompact.ledger.entries import Entry, Ledger
from autocompact.memory.documents.archive_entries import ArchivedTask
from autocompact.memory.documents.reached import tasks_of, tasks_reached
from tests.memory.documents.test_archive_entries import RECORD

Step: TypeAlias = str | tuple[str, ...]
EDIT = '{"file_path": "/home/ada/shop/src/cart.py", "old_string": "a", "new_string": "b"}'


def log(*turns: tuple[Step, ...]) -> list[Message]:
    """Turns of a request, steps, and words: ("Edit", arguments, output) is a call, a plain text the agent's."""
    return list(_log(turns))


def _log(turns: tuple[tuple[Step, ...], ...]) -> Iterator[Message]:
    seqs = count(1)
    for request, *steps in turns:
        assert isinstance(request, str)
        if request:
            yield _message(next(seqs), "user", Text(text=request))
        for step in steps:
            if isinstance(step, str):
                yield _message(next(seqs), "assistant", Text(text=step))
                continue
            name, arguments, *output = step
            at = next(seqs)
            if name == "think":
                yield _message(at, "assistant", Reasoning(text=arguments))
                continue
            yield _message(at, "assistant", ToolCall(id=f"c{at}", name=name, arguments=arguments))
            for text in output:
                yield _message(next(seqs), "tool", ToolResult(call_id=f"c{at}", text=text))


def _message(seq: int, role: str, part: Text | Reasoning | ToolCall | ToolResult) -> Message:
    assert role in ("user", "assistant", "tool")
    return Message(seq=seq, role=role, parts=(part,), time=f"2026-05-04T10:{seq:02}:00Z")


def edit(path: str = "/home/ada/shop/src/cart.py") -> tuple[str, ...]:
    return "Edit", EDIT.replace("/home/ada/shop/src/cart.py", path), "The file was updated."


def run(command: str, output: str) -> tuple[str, ...]:
    return "Bash", f'{{"command": "{command}"}}', output


def told(*turns: tuple[Step, ...], states: dict[int, str] | None = None) -> list[tuple[str, str]]:
    found = tasks_reached(log(*turns), cwd="/home/ada/shop", states=states)
    assert found is not None
    return [(task.text, task.outcome) for task in found]


@pytest.mark.requirement("C7")
def test_a_task_is_named_by_what_was_reached_and_has_its_figures():
    turns = (
        "hmm can you look at why the cart is off by a cent? thx",
        ("think", "Removed the cart? No: it must stay."),
        edit(),
        edit("/home/ada/shop/tests/test_cart.py"),
        run("pytest -q", "41 passed, 1 failed in 0.3s"),
        run("pytest -q", "42 passed in 0.3s"),
        run("pytest -q tests/test_cart.py", "3 passed in 0.3s"),
        "Done. All tests pass.\n\n## Summary\n\n- Rounded the cart per line instead of once at the end.",
    )
    found = tasks_reached(log(turns), cwd="/home/ada/shop", tokens=lambda _: 130)
    assert found is not None
    assert [(task.text, task.outcome) for task in found] == [
        (
            "Rounded the cart per line instead of once at the end",
            "done; 42 passed; 2 files: src/cart.py, tests/test_cart.py; 12 min; 1.7K tokens",
        )
    ]
    assert found[0].is_ended


@pytest.mark.parametrize(
    "report, name",
    [
        ("I've now removed the flag from the importer. Anything else?", "Removed the flag from the importer"),
        (
            "Here is what changed.\n\nAdded tests for:\n- empty carts\n- refunds",
            "Added tests for: empty carts",
        ),
        (
            "The cart is always rounded by the line now.\n\nThis is what DATEV does:",
            "The cart is always rounded by the line now",
        ),
        ("You were right.\n\n**Fixed:** the retry of failed uploads", "The retry of failed uploads"),
        (
            "Der Rundungsfehler im Warenkorb ist behoben. Alle Tests sind grün.",
            "Der Rundungsfehler im Warenkorb ist behoben",
        ),
        ("已修复购物车的舍入错误。所有测试通过。", "已修复购物车的舍入错误"),
        (
            "Uploads are retried three times.\n\nMigrated the worker to the queue.",
            "Migrated the worker to the queue",
        ),
        ("## Rounding of the cart\n\nIt was one cent off.", "Rounding of the cart"),
        ("Let me know!", "Round the cart per line"),
        ("Next time you run it, check `cart.log`.", "Round the cart per line"),
        ("All tests now pass. You can try it now.", "Round the cart per line"),
        ("This was completed in the past, and (merged) means done.", "Round the cart per line"),
        ("Files modified: `cart.py` - Added a test of refunds", "`cart.py` - Added a test of refunds"),
        ("✅ Done\n\nThe limit is now 100, tests pass", "The limit is now 100, tests pass"),
        ("It was off.\nThe fix rounds each line.", "The fix rounds each line"),
        ("Plan of carts written to `docs/cart.md`. Which way?", "Plan of carts written to `docs/cart.md`"),
        (
            "With the bug fixed, we can now submit it. Now that it is fixed, we should push the cart.",
            "Round the cart per line",
        ),
        ("The relevant workers are done.\n\nRounded the cart by line.", "Rounded the cart by line"),
        ("Documented it in [cart.md](/home/ada/shop/cart.md).", "Round the cart per line"),
        (
            "Updated it as you said: `cart.py` rounds by line",
            "`cart.py` rounds by line",
        ),
        ("Documented rounding in [cart.md](/home/ada/shop/cart.md:19)", "Documented rounding in cart.md"),
        ("- Added `decimal` import\n- Rounded the cart by line", "Rounded the cart by line"),
        ("Added the missing imports", "Added the missing imports"),
        (
            "Verified with `pytest`: the cart is added up.\n\nRounded the cart by line.",
            "Rounded the cart by line",
        ),
        ("For your carts (right now)", "Round the cart per line"),
        (f"Renamed {'the handler ' * 30}", f"Renamed {'the handler ' * 30}"[:159] + "…"),
    ],
)
def test_the_name_is_what_the_report_says_was_done(report: str, name: str):
    assert [text for text, _ in told(("Hi! Round the cart per line", edit(), report))] == [name]


@pytest.mark.parametrize(
    "request_, name",
    [
        ("can you also add a -c flag to the export?", "Add a -c flag to the export"),
        ("Kannst du bitte den Warenkorb runden?", "Den Warenkorb runden"),
        ("## Task\nThis is it:\nRename the handler of carts", "Rename the handler of carts"),
        ("It is slow again. Cache the totals of carts", "Cache the totals of carts"),
        ("let's do 2 for now", "Changed src/cart.py"),
        ("why is the cart so slow?", "Changed src/cart.py"),
        ("Whats the cart total. I thought we round the cart by line.", "Changed src/cart.py"),
        ("can you try again and test the endpoint of carts", "Changed src/cart.py"),
        ("Try again with the restarted cart endpoint", "Changed src/cart.py"),
        ("Also, spawn a worker for carts", "Spawn a worker for carts"),
        (
            "Your session of carts has started. Now, you're going to solve it in the cart.",
            "Changed src/cart.py",
        ),
        ("<command-name>/plan the carts</command-name>", "Changed src/cart.py"),
        ("It fails.\n```\nround the cart failed\n```", "Changed src/cart.py"),
    ],
)
def test_where_the_report_says_nothing_the_request_names_the_task_if_it_says_what_is_wanted(
    request_: str, name: str
):
    assert [text for text, _ in told((request_, edit(), "Next time, check the log."))] == [name]


def test_titles_of_commits_are_names_and_a_turn_that_only_commits_is_part_of_what_it_commits():
    own = run("git commit -m x", "[main 1f2e3d4] Round the cart per line\n 1 file changed")
    later = run("git commit -m y", "[main 5a6b7c8] Retry uploads")
    turns = (
        ("round it", edit(), own, "Done."),
        ("and retry uploads", edit("/home/ada/shop/src/upload.py"), "Uploads are retried three times."),
        ("commit this", later, "Committed."),
        (
            "tag it and push the release",
            run("git commit --allow-empty -m z", "[main 9d8e7f6] Release 1.2"),
            "Released.",
        ),
    )
    quiet = run(
        """git commit -qm \\"$(cat <<'EOF'\\nFix refunds\\n\\nThey were late.\\nEOF\\n)\\" """.strip(), ""
    )
    assert told(("fix the refunds", edit(), quiet, "It is in.")) == [
        ("Fix refunds", "done; 1 file: src/cart.py; 5 min")
    ]
    amended = run("git commit --amend", "[main 2f2e3d4] Round the cart per line\n 1 file changed")
    tried = run("cd /tmp/try && git commit -m z", "[main 3f2e3d4] try a release")
    assert [text for text, _ in told(("round it", edit(), own, amended, tried, "Done."))] == [
        "Round the cart per line"
    ]
    assert told(*turns) == [
        ("Round the cart per line", "done; 1 file: src/cart.py; commit 1f2e3d4; 5 min"),
        ("Retry uploads", "done; 1 file: src/upload.py; commit 5a6b7c8; 3 min"),
        ("Release 1.2", "done; commit 9d8e7f6; 3 min"),
    ]


def test_questions_and_what_changed_nothing_are_no_tasks():
    turns = (
        ("yes", "Fine."),
        (
            "why is the cart off by a cent?",
            ("Read", '{"file_path": "/home/ada/shop/src/cart.py"}', "1 a"),
            "Because it rounds once.",
        ),
        ("try it on a copy", edit("/tmp/cart.py"), "It works on the copy."),
        ("git is stuck in the shop", edit("/home/ada/shop/.git/index.lock"), "It goes on."),
        (
            "change it",
            ("Edit", EDIT, "Error: String to replace not found"),
            "That did not work, the file is other than I thought.",
        ),
        (
            "run the linter",
            run("ruff check", "error: unknown option\nExit code: 2"),
            "The linter is broken.",
        ),
    )
    assert told(*turns) == []
    assert tasks_reached(log(("Write a poem about carts", "Carts roll."))) is None
    assert tasks_reached([]) is None


def test_what_interrupts_belongs_to_the_work_and_work_without_an_end_is_open():
    turns = (
        ("Round the cart per line", edit(), edit()),
        ("not so many lines at once!", edit("/home/ada/shop/src/line.py"), "Rounded each line of the cart."),
        ("now round the invoices", edit("/home/ada/shop/src/invoice.py")),
    )
    assert told(*turns) == [
        ("Rounded each line of the cart", "done; 2 files: src/cart.py, src/line.py; 8 min"),
        ("Now round the invoices", "open; 1 file: src/invoice.py"),
    ]


def test_withdrawn_work_is_not_done_and_failing_tests_say_so():
    turns = (
        ("Add a --currency flag to the export", edit(), "Added the --currency flag to the export."),
        (
            "Round the cart per line",
            edit(),
            run("pytest", "3 passed, 2 failed"),
            "Rounded the cart, two tests still fail.",
        ),
    )
    assert [outcome.split("; ")[:2] for _, outcome in told(*turns, states={1: "withdrawn"})] == [
        ["withdrawn", "1 file: src/cart.py"],
        ["partly done", "3 passed, 2 failed"],
    ]


def test_two_parts_of_a_request_are_one_task_and_hours_and_missing_times_are_told_or_left_out():
    first, *rest = log(("Round the cart per line", edit(), "Rounded the cart."))
    first = structs.replace(first, parts=(*first.parts, Text(text="and the invoices too, please")))
    late = [*rest[:-1], structs.replace(rest[-1], time="2026-05-04T12:05:00Z")]
    untimed = [structs.replace(message, time="") for message in rest]
    near = [*rest[:-1], structs.replace(rest[-1], time="2026-05-04T10:01:30Z")]
    same = [*rest[:-1], structs.replace(rest[-1], time=first.time)]
    found = [tasks_reached([first, *more]) for more in (late, untimed, near, same)]
    assert [task.outcome.rpartition("; ")[2] for tasks in found for task in tasks or ()] == [
        "2 h 4 min",
        "1 file: /home/ada/shop/src/cart.py",
        "30 s",
        "1 file: /home/ada/shop/src/cart.py",
    ]


def test_a_summary_that_lists_tasks_goes_before_what_the_messages_show():
    messages = log(("Round the cart per line", edit(), "Rounded the cart."))
    listed = replace(RECORD, summary=own("## Tasks\n- T-1: Rounding, done"))
    assert tasks_of(listed, messages) == (ArchivedTask(text="T-1: Rounding", outcome="done"),)
    request = Entry(kind="request", text=own("x"), seq=1, key=own("x"), state="superseded")
    other = replace(RECORD, summary=own("Words."), ledger=Ledger(entries=(request,)))
    assert [task.outcome[:10] for task in tasks_of(other, messages) or ()] == ["superseded"]


def test_a_log_that_begins_in_the_midst_of_a_task_still_tells_it():
    paths = [f"/home/ada/shop/src/part{n} (copy;old).py" for n in range(6)]
    steps = [edit(path) for path in paths]
    assert told(("", *steps, "Ok.")) == [
        (
            "Changed src/part0 (copy;old).py, src/part1 (copy;old).py, src/part2 (copy;old).py, src/part3 (copy;old).py, "
            "src/part4 (copy;old).py, src/part5 (copy;old).py",
            "done; 6 files: src/part0 copy,old.py, src/part1 copy,old.py, src/part2 copy,old.py, src/part3 copy,old.py, "
            "src/part4 copy,old.py, …; 12 min",
        )
    ]
    assert (
        told(("", edit(), "Split the cart."), ("Name it better", edit(), "Renamed the cart module."))[1][0]
        == "Renamed the cart module"
    )
