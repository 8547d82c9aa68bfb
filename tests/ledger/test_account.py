"""The account: what a reader has to go on from, and what fills the room that the words of the agent leave."""

from __future__ import annotations

import json
from itertools import pairwise
from string import ascii_lowercase

import pytest

from autocompact.core.messages import Text, ToolCall
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.account import account
from autocompact.ledger.entries import FOLLOWS, Entry, Kind, Ledger
from autocompact.ledger.extraction import extract
from tests.core.talk import Talk

COUNTER = Estimator()


def _told(*entries: Entry, budget: int = 900) -> str:
    return account(Ledger(entries=entries), budget=budget, counter=COUNTER)


def _entry(
    kind: Kind, text: str, *, key: str = "", seq: int = 3, need: float = 0.5, where: str = ""
) -> Entry:
    return Entry(
        kind=kind, text=redact(text), seq=seq, key=redact(key or text), need=need, where=redact(where)
    )


def _section(text: str, title: str) -> list[str]:
    """The lines below a title."""
    return text.partition(f"## {title}\n")[2].partition("\n\n")[0].splitlines()


FOUND = _entry("finding", "The lock is never released by the handler.")


def test_a_long_task_stands_whole_where_the_agent_said_little() -> None:
    task = "Move the import. " + " ".join(f"Step {n}: handle part {n} of the table." for n in range(60))
    asked = _entry("request", task, seq=1)
    assert "part 30" not in _told(asked, FOUND, budget=500)
    assert task in _told(asked, FOUND, budget=2_000)


def test_a_detail_stands_beside_its_file_and_a_hit_of_a_search_beside_the_file_that_it_names() -> None:
    text = _told(
        FOUND,
        _entry(
            "identifier",
            "- retry_limit is the number of attempts.",
            key="retry_limit",
            where="send.py",
            seq=5,
        ),
        _entry(
            "identifier",
            "// sendBatch closes the socket after the last batch.",
            key="sendBatch",
            where="send.py",
        ),
        _entry("identifier", "queue.py:12: # max_items is how many wait at most.", key="max_items", seq=7),
        _entry("identifier", "The port_range is free on this machine.", key="port_range", seq=9),
    )
    assert _section(text, "Details") == [
        "- m5 send.py:",
        "  · sendBatch closes the socket after the last batch.",
        "  · retry_limit is the number of attempts.",
        "- m7 queue.py:",
        "  · max_items is how many wait at most.",
        "- m9 The port_range is free on this machine.",
    ]


def test_code_questions_and_what_was_said_above_are_no_details() -> None:
    text = _told(
        FOUND,
        _entry("finding", "It’s the retry_limit that is wrong. More on this later in the text.", key="f2"),
        _entry("identifier", "It's the retry_limit that is wrong.", key="other_name"),
        _entry("identifier", 't.Fatal("load_rows() should return an error when it fails")', key="load_rows"),
        _entry("identifier", "Should store_rows be called in a batch at all?", key="store_rows"),
        _entry("identifier", "shortHash, fullHash, longHash, itemReason of listed.", key="shortHash"),
        _entry("identifier", "Your branch is up to date with 'origin/main'.", key="origin/main"),
        _entry("identifier", "Try 'base_name --help' for more information.", key="base_name"),
        _entry("finding", "The entry of [the log](docs/log_book.md:12) has the date.", key="f3"),
        _entry(
            "identifier",
            "The entry of [the log](/srv/docs/log_book.md:12) has the date.",
            key="/srv/docs/log_book.md",
        ),
    )
    assert "Details" not in text


def test_names_that_nothing_explains_stand_below_the_file_that_they_belong_to() -> None:
    names = [
        _entry("identifier", f"x = {name}()", key=name, where=path)
        for path, name in (
            ("a.py", "load_rows"),
            ("b.py", "storeRows"),
            ("b.py", "data.items"),
            ("", "lost_name"),
        )
    ]
    faint = _entry("identifier", "x = faint_name()", key="faint_name", where="a.py", need=0.01)
    files = (_entry("change", "edited", key="a.py"), _entry("file", "b.py — read", key="b.py"))
    text = _told(FOUND, *files, *names, faint)
    assert _section(text, "Changes by file") == ["- a.py — edited [m3]", "  · load_rows"]
    assert _section(text, "Files") == ["- b.py — read [m3]", "  · storeRows"]
    assert "lost_name" not in text


@pytest.mark.parametrize("folder", ["/srv/shop/warehouse/", "E:/shop system/warehouse/"])
def test_the_folder_of_the_files_is_named_once(folder: str) -> None:
    files = [_entry("change", "edited", key=f"{folder}{name}") for name in ("a.py", "b.py", "c.py")]
    told = _section(_told(FOUND, *files), "Changes by file")
    assert told == [f"Paths are below {folder}", *(f"- {name}.py — edited [m3]" for name in "abc")]


def test_of_many_changed_files_the_last_keep_what_was_done_and_of_the_first_only_the_effect_is_told() -> None:
    early = [_entry("change", "created", key=f"src/early/part_{n}.py", seq=n) for n in range(1, 4)]
    middle = [
        _entry(
            "change",
            f"edited {n}× — + parse_{n}(), the parser of the rows of table {n}",
            key=f"src/middle_{n}.py",
            seq=n,
        )
        for n in range(4, 30)
    ]
    late = [
        _entry(
            "change",
            f"edited — + render_{n}(), which writes the page {n}; " + "and more of it; " * 40,
            key=f"src/late_{n}.py",
            seq=n,
        )
        for n in range(30, 35)
    ]
    lines = _section(_told(FOUND, *early, *middle, *late, budget=900), "Changes by file")
    assert lines[0] == "- created m1–m3: src/early/part_1.py, src/early/part_2.py, src/early/part_3.py"
    assert lines[1].startswith("- edited m4–m")
    assert "src/middle_4.py, src/middle_5.py" in lines[1]
    assert "- src/middle_29.py — edited 29× — + parse_29()" in "\n".join(lines)
    assert [len(line) > 240 for line in lines[-5:]] == [True] * 5
    roomy = _section(_told(FOUND, *early, late[0]), "Changes by file")
    assert roomy[0] == "- src/early/part_1.py — created [m1]"


def test_of_many_files_the_most_needed_are_told() -> None:
    files = [
        _entry("file", f"src/part_{n}.py — read", key=f"src/part_{n}.py", seq=n, need=n / 100)
        for n in range(80)
    ]
    text = _told(FOUND, _entry("file", "/tmp/x.py — read", key="/tmp/x.py", need=1.0), *files, budget=300)
    assert "src/part_79.py" in text
    assert "src/part_0.py" not in text
    assert "/tmp/x.py" not in text


def test_of_a_long_command_the_outcome_stays() -> None:
    text = _told(
        FOUND,
        _entry("command", f"`make {'target ' * 40}` — failed (2): no rule to make the report", need=0.4),
        _entry("error", f"make {'target ' * 40}: no rule to make the other report", need=0.7),
        _entry("error", "word " * 60, need=0.7),
    )
    assert "no rule to make the report (m3)" in text
    assert "no rule to make the other report (m3)" in text


def test_what_commands_printed_is_told_of_the_last_ones_as_far_as_there_is_room() -> None:
    printed = " ".join(f"row {n} holds" for n in range(14))
    commands = [
        _entry("command", f"`python3 sum.py {n}` — ok → {printed}", seq=n, need=0.05) for n in range(3, 7)
    ]
    whole = [f"- `python3 sum.py {n}` — ok → {printed} (m{n})" for n in range(3, 7)]
    brief = [f"- `python3 sum.py {n}` — ok (m{n})" for n in range(3, 7)]
    assert _section(_told(*commands, budget=900), "Commands") == whole
    assert _section(_told(*commands, budget=260), "Commands") == [*brief[:2], *whole[2:]]


def test_the_values_of_a_change_are_told_where_there_is_room() -> None:
    gist = "created — + send(); with `retry.Do(ctx, retry.Max(10), post)`, `if err == ERR_BUSY {`"
    change = _entry("change", gist, key="/a/send.go", seq=4)
    brief = "- /a/send.go — created — + send() [m4]"
    assert _section(_told(change, budget=900), "Changes by file") == [f"- /a/send.go — {gist} [m4]"]
    found = [
        _entry("finding", f"The lock is never released: {a * 5} waits for {b * 4}.", seq=seq)
        for seq, (a, b) in enumerate(pairwise("abcdefghijklmnop"))
    ]
    assert _section(_told(change, *found, budget=260), "Changes by file") == [brief]


def test_paths_of_thousands_of_lines_are_shortened() -> None:
    changes = [_entry("change", "edited", key=f"/srv/application/{name}.py", seq=4) for name in "ab"]
    before = redact("\n".join(f"- row {n} of /srv/application/src" for n in range(3_000)))
    text = account(Ledger(entries=tuple(changes)), budget=90_000, counter=COUNTER, previous=before)
    assert text.count("row 2999 of src") == 1


def test_a_file_of_windows_is_told_below_its_folder() -> None:
    talk = Talk().user("Count the invoices.")
    for name in ("Count", "Total"):
        path = f"C:\\Users\\kim\\Documents\\billing\\Models\\{name}.cs"
        talk.calls("Write", {"file_path": path, "content": f"public class {name} {{ }}"}).gets("ok")
    talk.agent(r"Both are in C:\Users\kim\Documents\billing\Models\Total.cs because one needs the other.")
    text = account(extract(talk.messages), budget=600, counter=COUNTER)
    assert "Paths are below C:/Users/kim/Documents/billing/Models/\n" in text
    assert "- Count.cs — created — + class Count" in text
    assert "Both are in Total.cs because" in text


def test_a_path_in_the_users_words_or_in_code_stays_whole() -> None:
    changes = [
        _entry(
            "change",
            'edited — `OUT = "/data/application/old"` → `OUT = "/data/application/out"`',
            key="/data/application/plot.py",
            seq=4,
        ),
        _entry("change", "edited — + draw()", key="/data/application/draw.py", seq=5),
    ]
    asked = _entry("request", "Write to `/data/application/out`.", seq=1)
    text = _told(asked, *changes)
    assert "Write to `/data/application/out`." in text
    assert (
        '- plot.py — edited — `OUT = "/data/application/old"` → `OUT = "/data/application/out"` [m4]' in text
    )


def test_what_the_report_of_an_agent_in_the_background_says_is_told() -> None:
    talk = Talk().user("Review the parser.").calls("Task", {"description": "review", "prompt": "Review it."})
    talk.gets(
        "Async agent launched successfully.\nagentId: a02 (yours)\nIf you want to check on it, call it."
    )
    talk.calls("TaskOutput", {"task_id": "a02"}).gets(
        "<status>completed</status><output>The parser drops the last column, because `parse_line` strips it.</output>"
    )
    found = [entry.text for entry in talk.entries("finding")]
    assert found == ["The parser drops the last column, because `parse_line` strips it."]


def test_names_of_a_file_of_instructions_are_no_details_since_the_client_sends_it_along() -> None:
    talk = (
        Talk()
        .user("Mend it.")
        .program("# AGENTS.md\n\nThe folder `docs/guides` holds what_users_read in pages.")
    )
    assert talk.agent("The cause is `parse_line`.").entries("identifier") != []
    assert not any("what_users_read" in entry.key for entry in talk.entries("identifier"))


def test_a_sentence_that_goes_with_many_files_stands_once() -> None:
    text = "The name `old_name` becomes `new_name` in every file of the parser."
    talk = Talk().user("Rename it.")
    for path in ("a.py", "b.py"):
        talk.agent(text)
        talk.calls("Edit", {"file_path": path, "old_string": "old_name", "new_string": "new_name"}).gets("ok")
    assert sum(text in entry.text for entry in talk.entries("change")) <= 1


def test_the_plan_is_no_call_of_the_current_step() -> None:
    talk = Talk().user("Mend it.").runs("make test", "3 passed")
    talk.calls("TodoWrite", {"todos": [{"content": "Mend it", "status": "completed"}]}).gets(
        "Todos were modified."
    )
    assert [entry.text for entry in talk.entries("step")] == ["Bash make test → 3 passed"]


def test_what_was_found_fades_slower_than_a_name() -> None:
    talk = Talk().user("Mend it.").runs("make test", "1 failed")
    first = talk.agent("The lock in `queue_lock` is never released, because the handler returns.").ledger
    talk = Talk().user("Now the docs.").runs("make docs", "ok").agent("The guide names the port.")
    later = extract(talk.messages, previous=first)

    def need(ledger: Ledger, kind: Kind) -> float:
        return next(e.need for e in ledger.entries if e.kind == kind and "queue_lock" in e.text)

    assert need(later, "finding") / need(first, "finding") > need(later, "identifier") / need(
        first, "identifier"
    )


def test_details_end_where_the_room_does_and_leave_out_names_that_are_known() -> None:
    many = [
        _entry(
            "identifier",
            f"The value_{n} is what the settings of the pump hold.",
            key=f"value_{n}",
            seq=n,
            need=0.9 - n / 200,
        )
        for n in range(1, 60)
    ]
    known = _entry("identifier", "The old_lock is what the handler holds.", key="lock", need=1.0)
    text = _told(FOUND, known, *many, budget=200)
    assert "value_1 " in text
    assert "value_59" not in text
    assert "old_lock" not in text
    assert COUNTER.count(text) <= 200


def test_of_what_a_program_says_alike_of_many_two_are_details() -> None:
    many = [
        _entry("identifier", f"Requirement already satisfied: part-{n} in the folder of Python.", key=f"part-{n}", seq=seq)
        for seq in (5, 6)
        for n in range(5)
    ]  # fmt: skip
    text = _told(FOUND, *many)
    assert (text.count("m5 Requirement"), text.count("m6 Requirement")) == (2, 2)
    other = _entry("identifier", "Requirement of the review: part_a has no tests.", key="part_a", seq=6)
    assert "m6 Requirement of the review" in _told(FOUND, *many, other)


def test_an_edit_of_the_open_file_is_a_change_of_the_file_that_its_result_shows() -> None:
    shown = "File updated.\r\n[File: /repo/src/clock.py (97 lines total)]\r\n1: now = 1\r\n"
    talk = Talk().user("Mend it.").calls("edit", {"replacement_text": "now = 1", "start_line": 1})
    talk.gets(shown)
    assert [(entry.key, entry.text) for entry in talk.entries("change")] == [
        ("/repo/src/clock.py", "edited — now `now = 1`")
    ]
    assert talk.calls("edit", {"replacement_text": "now = 2"}).gets("Done.").entries("change")[-1].seq == 2


def test_a_last_command_is_told_without_the_comment_before_it() -> None:
    talk = Talk().user("Look.").runs("# Is it there?\nls src", "clock.py")
    assert talk.entries("step")[-1].text == "Bash ls src → clock.py"


def test_what_a_sub_agent_reports_at_once_is_told() -> None:
    talk = Talk().user("Review the parser.").calls("Task", {"description": "review", "prompt": "Review it."})
    talk.gets(
        "The parser drops the last column, because `parse_line` strips it.\nagentId: a02 (to resume it)"
        + " " * 300
    )
    assert any("drops the last column" in entry.text for entry in talk.entries("finding"))


def test_the_last_edit_is_told_by_what_it_added_or_took_out_and_a_new_file_by_its_name() -> None:
    def last(name: str, **arguments: str) -> str:
        talk = Talk().user("Mend it.").calls(name, {"file_path": "a.py", **arguments})
        return talk.gets("The file a.py has been updated successfully.").entries("step")[-1].text

    assert last("Edit", old_string="x = 1", new_string="x = 1\ny = 2\n") == "Edit a.py: + y = 2"
    assert last("Edit", old_string="x = 1\ny = 2", new_string="x = 1") == "Edit a.py: − y = 2"
    assert last("Edit", old_string="x = 1", new_string="x = 1") == "Edit a.py"
    assert last("Write", content="x = 1\n") == "Write a.py"


def test_what_a_last_call_gave_is_not_the_tools_own_last_line() -> None:
    talk = (
        Talk()
        .user("Look.")
        .runs(
            "git branch --contains a7",
            "Command: git branch --contains a7\nDirectory: (root)\nOutput: main\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 1",
        )
    )
    assert talk.entries("step")[-1].text == "Bash git branch --contains a7 → main"


def test_an_arrow_in_the_last_words_parts_no_call_from_what_came_of_it() -> None:
    said = (
        "Toned down: peak 0.85 → 0.35, and growth 40 → 24, so that the flash on each tick is a low breath. "
        * 9
    )
    told = _told(_entry("step", said.strip(), key="step words 0"), FOUND, budget=300)
    (line,) = _section(told, "Where the work stands")
    assert said.startswith(line.partition("“")[2].rstrip("…"))


def test_a_long_call_is_cut_before_what_came_of_it_and_goes_rather_than_tell_nothing() -> None:
    talk = Talk().user("Look at it.").agent("Looking at the branches of the release.")
    talk.runs("for branch in " + "feature " * 60, "first result\n" + "the release has all " * 9)
    kinds = [entry for entry in talk.ledger.entries if entry.kind == "step"]
    shown = [
        line
        for budget in range(50, 420, 5)
        for line in account(Ledger(entries=tuple(kinds)), budget=budget, counter=COUNTER).split("\n")
        if "for branch" in line
    ]
    assert 20 < len(shown) < 74
    assert all(" → first result" in line for line in shown)


def test_words_that_close_a_turn_are_told_at_length_with_the_code_that_they_show() -> None:
    talk = Talk().user("How do I register the server?")
    for name in "abcd":
        talk.runs(f"curl https://example.com/{name}", "page " * 9)
    body = "Restart the agent, or reload its servers, because it reads them at its start. " * 4
    talk.agent(
        f"Put this into ~/.agent/config.yaml:\n\n```yaml\nservers:\n  bills:\n    command: uv\n```\n\n{body}\n\n"
        + "The tools are then registered under their own names. " * 8
    )
    told = account(talk.ledger, budget=3_000, counter=COUNTER)
    assert "Put this into ~/.agent/config.yaml: `servers: / bills: / command: uv` Restart the agent" in told
    steps = [entry.text for entry in talk.entries("step")]
    assert [text.partition(" → ")[0] for text in steps if "curl" in text and "often" not in text] == [
        "Bash curl https://example.com/c",
        "Bash curl https://example.com/d",
    ]
    assert len(max(steps, key=len)) > 700


def test_of_commands_those_that_check_are_told_before_a_look_in_a_loop() -> None:
    talk = (
        Talk()
        .user("Build it.")
        .runs("make lint", "ok")
        .runs("cargo test -p core", "test result: ok. 3 passed")
    )
    for name in "abcdef":
        talk.runs(f"node show.mjs {name} --with everything --that --can --be --shown", "x")
    told = account(talk.ledger, budget=520, counter=COUNTER)
    assert "- `make lint` — ok" in told
    assert "- `cargo test -p core` — ok" in told


def test_the_words_of_the_agent_keep_their_share_beside_many_requests_changes_and_an_earlier_account() -> (
    None
):
    asked = [
        _entry(
            "request",
            f"Please look at part {n} of the report, and tell me what you think of its figures.",
            seq=n,
        )
        for n in range(1, 30)
    ]
    changed = [
        _entry(
            "change",
            f"created — + {' '.join(f'part_{n}_{k}()' for k in range(12))}",
            key=f"/w/src/{n}.py",
            seq=30 + n,
        )
        for n in range(20)
    ]
    found = [
        _entry("finding", f"Figure {n} was wrong because the tax of {name} is rounded twice.", seq=60 + n)
        for n, name in enumerate(ascii_lowercase)
    ]
    before = redact(
        "\n".join(f"- Decision {n}: keep the name of part {n}, since clients use it." for n in range(12))
    )
    others = [
        _entry(kind, f"{'to be done with part ' * 4}{n}", seq=40 + n, key=f"{kind} {n}", need=0.6)
        for kind in ("todo", "command", "error", "running", "file")
        for n in range(12)
    ]
    ledger = Ledger(entries=(*asked, *changed, *found, *others))
    text = account(ledger, budget=1_000, counter=COUNTER, previous=before)
    told = text.partition("## What was found, decided and done\n")[2].partition("\n\n## ")[0]
    assert COUNTER.count(told) >= 180
    assert COUNTER.count(text) <= 1_020


def test_a_call_that_failed_ends_the_current_step_with_what_went_wrong() -> None:
    talk = Talk().user("Mend it.").calls("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    talk.gets("String to replace not found in file.\nString: x\n" + "context\n" * 9)
    assert talk.entries("step")[-1].text == "Edit a.py → String to replace not found in file."
    talk.calls("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "z"})
    talk.gets("The user doesn't want to proceed with this tool use.\nthe user said:\nUse a hook.")
    assert talk.entries("step")[-1].text.endswith("the user said: / Use a hook.")


def test_of_a_file_that_was_read_last_the_current_step_tells_the_name_alone() -> None:
    talk = Talk().user("Mend it.").calls("Read", {"file_path": "a.py"}).gets("def load():\n    return 1\n}")
    assert [entry.text for entry in talk.entries("step")] == ["Read a.py"]


def test_what_one_message_says_below_a_heading_stands_together() -> None:
    cause = _entry("finding", "Causes: the lock is never released.", where="Causes", seq=5)
    other = _entry("finding", "Causes: two writers share one file.", where="Causes", seq=5)
    assert "- m5 Causes: the lock is never released.\n  · two writers share one file." in _told(cause, other)


def test_what_was_found_of_one_file_after_another_is_told_once_with_a_count() -> None:
    same = "The totals in src/pkg_{0}.py are wrong because item {0} is rounded twice there."
    findings = [
        _entry("finding", same.format(number), seq=number + 2, key=f"finding {number}", need=0.6)
        for number in range(40)
    ]
    cause = _entry("finding", "The cause is the table: `rates.py` keeps floats.", seq=50, need=0.2)
    told = _told(*findings, cause, budget=150)
    assert told.count("rounded twice") == 1
    assert "because item 39 is rounded twice there. [40×, m2–m41: src/pkg_0.py, src/pkg_1.py, " in told
    assert "…]" in told
    assert cause.text in told
    roomy = _told(*findings, cause, budget=2_000)  # nothing is left out to save room that there is
    assert (roomy.count("rounded twice"), cause.text in roomy) == (40, True)


def test_sentences_that_differ_in_more_than_names_and_a_few_that_do_not_are_all_told() -> None:
    said = [
        *(
            "Module `a.py` is slow because of the lock in it.",
            "Module `b.py` is slow because of the lock in it.",
        ),
        *("Fixed `a.py`.", "Fixed `b.py`.", "Fixed `c.py`.", "Fixed `d.py`.", "Fixed `e.py`."),
        *("I keep `a.py` as it was before this change.", "I drop `b.py` as nothing imports it."),
    ]
    told = _told(*(_entry("finding", text, seq=at + 2, key=f"finding {at}") for at, text in enumerate(said)))
    assert all(text in told for text in said)


def test_one_finding_again_and_again_is_told_with_its_count_alone() -> None:
    again = "The build still fails because the lock is held."
    told = _told(*(_entry("finding", again, seq=at, key=f"finding {at}") for at in (3, 5, 8, 9)))
    assert f"{again} [4×, m3–m9]" in told


def test_the_same_change_of_many_files_has_one_line() -> None:
    changes = [
        _entry(
            "change",
            f"edited — “The totals in module_{at} are wrong because item {at} is rounded twice.”",
            key=f"src/module_{at}.py",
            seq=at + 2,
        )
        for at in range(20)
    ]
    other = _entry("change", "added — keeps the rates as decimals", key="src/rates.py", seq=40)
    told = _told(*changes, other)
    assert told.count("rounded twice") == 1
    assert (
        "module_19 are wrong because item 19 is rounded twice.” m2–m21: src/module_0.py, src/module_1.py"
        in told
    )
    assert "- src/rates.py — added — keeps the rates as decimals [m40]" in told


def test_a_name_is_not_explained_by_a_sentence_that_another_one_stands_for() -> None:
    same = "The totals in module_{0} are wrong because item {0} is rounded twice there."
    names = [
        _entry("identifier", same.format(at), key=f"module_{at}", seq=at + 2, need=0.5) for at in range(30)
    ]
    assert _told(*names, budget=1_000).count("rounded twice") == 4


KINDS = "age keepass password vault secret bitwarden sops doppler keychain infisical azure gcloud".split()


def test_of_many_changes_a_new_file_of_code_keeps_what_it_is_made_of() -> None:
    talk = Talk().user("Move the paths into a module of their own.")
    new = "def expand_home(path):\n    return path\n\n\ndef below(folder, path):\n    return path\n"
    talk.calls("Write", {"file_path": "/repo/src/paths.py", "content": new}).gets("ok")
    for number in range(6):
        file = f"/repo/src/reader_{number}.py"
        talk.calls(
            "Edit", {"file_path": file, "old_string": f"old_{number} = 1", "new_string": f"new_{number} = 2"}
        ).gets("ok")
    for number in range(12):
        words = f"Paths of {KINDS[number]} are read below the folder of the file that names them, whatever folder is the current one."
        talk.calls(
            "Edit",
            {"file_path": f"/repo/docs/{KINDS[number]}.md", "old_string": "Paths.", "new_string": words},
        ).gets("ok")
    text = account(talk.ledger, budget=600, counter=COUNTER)
    changes = text.partition("## Changes by file\n")[2].partition("\n\n")[0]
    assert "paths.py — created — + expand_home(), below()" in changes
    assert "- edited m16" in changes
    assert changes.count("are read below the folder") < 12


def test_what_the_agent_offered_to_choose_from_is_no_detail_but_what_was_chosen_is() -> None:
    options = [
        {"label": "Only unlocked", "description": "Render the badges of unlocked_items alone, in a row."},
        {
            "label": "All",
            "description": "Render all badges of known_items and gray out the others, in a row.",
        },
    ]
    talk = Talk().user("Show the badges.")
    talk.calls("AskUserQuestion", {"questions": [{"question": "Which badges?", "options": options}]})
    talk.gets('User has answered your questions: "Which badges?"="Only unlocked". You can now continue.')
    names = {entry.key for entry in talk.entries("identifier")}
    assert not names & {"known_items", "unlocked_items"}
    assert "Only unlocked" in talk.entries("request")[-1].text


def test_a_sentence_on_a_check_is_no_word_on_the_edit_that_stands_below_it() -> None:
    edit = {"file_path": "src/gen.py", "old_string": "a = 1", "new_string": "a = 2"}
    talk = (
        Talk()
        .user("Bump it.")
        .add(
            "assistant",
            Text(text="`make test --all` tried to fetch the missing parts and hit the sandbox."),
            ToolCall(id="c2", name="Edit", arguments=json.dumps(edit)),
        )
    )
    talk.gets("ok", id="c2")
    assert [entry.text for entry in talk.entries("change")] == ["edited — `a = 1` → `a = 2`"]


def test_what_an_edit_that_did_not_match_was_answered_is_no_detail() -> None:
    talk = Talk().user("Mend it.").calls("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    talk.gets("Found 6 occurrences of edits[1] in old_text_part. Each must be unique.", is_error=True)
    assert "old_text_part" not in {entry.key for entry in talk.entries("identifier")}


def test_the_account_speaks_the_language_of_the_answers_where_the_one_request_stands_elsewhere() -> None:
    text = _told(
        _entry("request", FOLLOWS, key="request 1"),
        _entry("finding", "プロジェクト名の参照箇所を洗い出し、設定と表示文言を変更しました。", key="f1"),
    )
    assert "## 依頼" in text
    assert "## Requests" not in text


def test_what_a_model_writes_for_its_app_is_not_told() -> None:
    words = (
        "The lookup misses the import, because it is keyed by the bare name.\n"
        '::code-comment{title="[P1] Keep it" file="/srv/a.go" start=7}\n'
        "<oai-mem-citation><entries>MEMORY.md:3|note=[x]</entries></oai-mem-citation>"
    )
    told = " ".join(
        entry.text for entry in Talk().user("Why?").runs("ls", "a").agent(words).entries("finding")
    )
    assert "keyed by the bare name" in told
    assert "code-comment" not in told
    assert "MEMORY.md" not in told


def test_a_sentence_on_what_stays_is_no_word_on_the_edit() -> None:
    edit = {"file_path": "src/gen.py", "old_string": "a = 1", "new_string": "a = 2"}
    talk = (
        Talk()
        .user("Mend it.")
        .add(
            "assistant",
            Text(text="The check of `pack_data` was confirmed to be already minimal."),
            ToolCall(id="c2", name="Edit", arguments=json.dumps(edit)),
        )
    )
    talk.gets("ok", id="c2")
    assert [entry.text for entry in talk.entries("change")] == ["edited — `a = 1` → `a = 2`"]
