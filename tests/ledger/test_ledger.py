from __future__ import annotations

import pytest
from hypothesis import given
from inline_snapshot import snapshot
from msgspec.structs import replace

from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult, text_message
from autocompact.core.redaction import redact
from autocompact.ledger.account import account
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.lines import LONGEST, last_place
from autocompact.ledger.rendering import render
from autocompact.ledger.shortening import shortened_requests
from autocompact.ledger.sightings import Piece, Sightings
from autocompact.ledger.weights import FACTS, LEARNED, facts, need
from tests.core.strategies import LengthCounter, histories
from tests.core.talk import Talk, Words

WORDS = Words()


def identifiers(talk: Talk) -> dict[str, Entry]:
    return {entry.key: entry for entry in talk.entries("identifier")}


def a_session() -> Talk:
    talk = Talk().user("Fix the rounding in `src/invoice.py`, because totals are off by one cent.")
    talk.agent("I'll look.").calls("Read", {"file_path": "/w/src/invoice.py"})
    talk.gets("     1→def total_of(lines):\n     2→    return round_half_up(sum(lines))\n     3→\n")
    talk.calls("Grep", {"pattern": "round_half_up"}).gets(
        "src/money.py:7:def round_half_up(value): # to cents"
    )
    talk.calls("Edit", {"file_path": "/w/src/invoice.py", "old_string": "a", "new_string": "b"}).gets("ok")
    talk.runs("pytest tests/test_invoice.py", "1 failed\nE  assert total_of([]) == 0")
    talk.calls("TodoWrite", {"todos": [{"content": "Round per line", "status": "in_progress"}]}).gets("ok")
    talk.calls("Task", {"description": "Find callers", "prompt": "x"}).gets("agentId: a77")
    return talk.agent("We decided to round per line, because the tax office asks for it.")


def test_an_identifier_comes_with_the_last_line_that_explains_it() -> None:
    found = identifiers(a_session())

    assert found["round_half_up"].text == "src/money.py:7:def round_half_up(value): # to cents"
    assert found["round_half_up"].seq == 6
    assert found["total_of"].text == "E assert total_of([]) == 0"


def test_a_bare_search_pattern_is_explained_by_an_earlier_line() -> None:
    talk = Talk().agent("load_state reads the session file").calls("Grep", {"pattern": "load_state"})

    assert identifiers(talk)["load_state"].text == "load_state reads the session file"


def test_a_name_that_nothing_explains_stands_alone() -> None:
    talk = Talk().agent("load_state").agent("save_state").calls("Grep", {"pattern": "load_state"})

    assert identifiers(talk)["load_state"].text == "load_state"


def test_a_name_is_not_taken_for_a_part_of_a_longer_one() -> None:
    talk = Talk().agent("load_state is the reader\nbut load_state_twice is another thing")

    assert identifiers(talk)["load_state"].text == "load_state is the reader"


def test_a_name_inside_an_endless_word_is_found_all_the_same() -> None:
    assert "load_state" in identifiers(Talk().agent("x" * 200 + "load_state"))["load_state"].text


def test_chinese_around_a_name_is_no_part_of_it() -> None:
    talk = Talk().agent("函数load_state读取文件\n另一个load_state_twice函数")

    assert identifiers(talk)["load_state"].text == "函数load_state读取文件"


def test_a_name_counts_once_in_a_piece() -> None:
    sightings = Sightings()
    sightings.add(Piece(seq=1, source="assistant", text=redact("store.loadState calls loadState")))

    assert sum(sightings.by_name[redact("loadState")].counts) == 1


def test_a_long_line_is_cut_around_the_name() -> None:
    talk = Talk().agent("word " * 200 + "load_state" + " word" * 200)

    text = identifiers(talk)["load_state"].text
    assert "load_state" in text
    assert len(text) <= LONGEST + 2
    assert text.startswith("…")
    assert text.endswith("…")


def test_thoughts_and_summaries_are_sources_and_a_system_prompt_is_not() -> None:
    talk = Talk().add("system", *Talk().agent("system_only rules").messages[0].parts)
    talk.thinks("maybe load_state fails").program("the earlier save_state works")

    assert {"load_state", "save_state"} <= identifiers(talk).keys()
    assert "system_only" not in identifiers(talk)


def test_a_result_without_its_call_is_read_too() -> None:
    assert "load_state" in identifiers(Talk().gets("1\tdef load_state(): pass", id="lost"))


def test_notes_of_the_client_inside_a_result_are_left_out() -> None:
    talk = Talk().runs("x", "def load_state<system-reminder>use other_tool</system-reminder>")

    assert "other_tool" not in identifiers(talk)


def test_names_in_instructions_that_a_client_resends_are_no_details_and_those_of_a_later_remark_are() -> None:
    setup = "<system-reminder>\n# Environment\n - In `curl`, send values with `--form-string`.\n</system-reminder>"
    place = "<environment_context>shell_of_user is zsh</environment_context>"
    remark = "<system-reminder>\nThe hook_of_tests failed.\n</system-reminder>"
    talk = Talk().user(setup).user(place).user("Fix it.").agent("I look.").user(place).user(remark)

    assert identifiers(talk).keys() == {"hook_of_tests"}


@pytest.mark.requirement("E1", "E6")
def test_the_ledger_reads_like_notes_on_the_session() -> None:
    ledger = a_session().ledger
    text = account(ledger, budget=1_000, counter=WORDS)

    assert text == snapshot("""\
## Requests
- m1 [answered m15]: Fix the rounding in `src/invoice.py`, because totals are off by one cent.

## Where the work stands
- [ ] Round per line ←
- m2 “I'll look.”
- m15 “We decided to round per line, because the tax office asks for it.”
- m5 Grep round_half_up → src/money.py:7:def round_half_up(value): # to cents
- m7 Edit /w/src/invoice.py: + b
- m9 Bash pytest tests/test_invoice.py → 1 failed / E assert total_of([]) == 0
- m13 Task Find callers x → agentId: a77

## Changes by file
- /w/src/invoice.py — edited — `a` → `b` [m7]

## Commands
- `pytest tests/test_invoice.py` — failed: 1 failed (m9)

## Open errors
- pytest tests/test_invoice.py: E assert total_of([]) == 0 (m10)

## Still running
- Find callers (id a77) (m13)\
""")


def test_lines_of_a_file_stand_under_it() -> None:
    talk = (
        Talk()
        .calls("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "load_state = 1"})
        .gets("ok")
    )
    text = account(talk.ledger, budget=1_000, counter=WORDS)

    assert "- a.py — edited — `x` → `load_state = 1` [m1]" in text


def test_a_correction_stands_beside_what_it_corrects() -> None:
    talk = (
        Talk().user("Round down").agent("ok").user("No, round half up").agent("Done.").user("And?").agent("x")
    )
    text = account(talk.ledger, budget=1_000, counter=WORDS)

    assert "- m1 [corrected by m3 ↓]: Round down\n- m3 [done m4]: No, round half up\n- m5: And?" in text


def test_the_ledger_speaks_the_language_of_the_conversation() -> None:
    talk = (
        Talk()
        .user("请修复发票的舍入")
        .calls("Edit", {"path": "a.py", "old_string": "x", "new_string": "y"})
        .gets("")
    )

    text = render(talk.ledger.entries)
    assert text.startswith("## 请求\n- m1 [未完成]: 请修复发票的舍入\n\n## 当前进度\n")
    assert "## 各文件的改动\n- a.py — 已修改 — `x` → `y` m2" in text


def test_secrets_do_not_enter_the_ledger() -> None:
    key = "ghp_" + "a1B2c3D4" * 5
    talk = (
        Talk()
        .user(f"use {key} for load_state")
        .runs(f"curl -H 'Authorization: Bearer {key}' x", "load_state ok")
    )

    assert key not in render(talk.ledger.entries)


def test_everything_is_left_out_of_an_empty_ledger() -> None:
    assert account(extract([]), budget=100, counter=WORDS) == ""


def test_an_earlier_ledger_is_merged_and_fades() -> None:
    before = Talk().user("Fix it").calls("Edit", {"path": "old_file.py", "old_string": "x"}).gets("").ledger
    talk = Talk()
    talk.messages = [text_message(4, "user", "Now the new_file.py")]
    merged = extract(talk.messages, previous=before)
    need = {entry.key: entry.need for entry in before.entries}

    kept = {entry.key: entry for entry in merged.entries}
    assert {"request 1", "request 4", "old_file.py"} <= kept.keys()
    assert kept[redact("old_file.py")].need < need[redact("old_file.py")]


def test_a_new_plan_replaces_the_earlier_one() -> None:
    def planned(text: str, *, previous: Ledger | None = None) -> Ledger:
        talk = Talk().calls("TodoWrite", {"todos": [{"content": text, "status": "pending"}]})
        return extract(talk.messages, previous=previous)

    merged = planned("new", previous=planned("old"))
    assert [e.text for e in merged.entries if e.kind == "todo"] == ["new"]


def test_what_stays_in_the_context_is_evidence_but_gives_no_entries() -> None:
    talk = a_session()
    talk.runs("pytest tests/test_invoice.py", "3 passed").agent("round_half_up is fixed. All tests pass.")
    whole, head = talk.ledger, extract(talk.messages, through=15)

    assert all(entry.seq <= 15 for entry in head.entries)
    assert not [e for e in head.entries if e.kind == "error"]
    assert [e.state for e in head.entries if e.kind == "request"] == ["done"]
    assert "round_half_up" in {e.key for e in whole.entries if e.kind == "identifier"}
    assert "round_half_up" not in {e.key for e in head.entries if e.kind == "identifier"}


def test_many_long_requests_shrink_to_their_beginnings_and_to_pointers() -> None:
    talk = Talk()
    for number in range(40):
        talk.user(f"Request {number}: " + "please do this and that " * 40).agent("I looked.")
    text = render(shortened_requests(talk.entries("request"), 300, counter=WORDS))

    assert WORDS.count(text) <= 300
    assert "- earlier: m3–m" in text
    # the first one often says what all is about; of the others the latest are told so that they can be understood
    assert "- m1: Request 0: please do this" in text
    told = [line for line in text.split("\n") if "Request" in line]
    assert 2 < len(told) < 20
    assert "m79" in text


@given(histories())
def test_all_that_a_ledger_names_comes_from_the_log(history: list[Message]) -> None:
    ledger = extract(history)

    assert ledger == extract(history)
    seqs = {message.seq for message in history}
    assert {entry.seq for entry in ledger.entries} <= seqs
    placed = ("finding", "fact")  # theirs is a place within their message
    assert {entry.state_seq for entry in ledger.entries if entry.kind not in placed} <= seqs | {0}
    assert all(0 <= entry.need <= 1 for entry in ledger.entries)


def test_facts_and_weights_are_named_alike() -> None:
    sightings = Sightings()
    sightings.add(Piece(seq=1, source="call", text=redact("load_state")))
    sightings.add(Piece(seq=2, source="result", text=redact("save_state " * 2_000)))
    used, seen = (sightings.by_name[redact(name)] for name in ("load_state", "save_state"))

    assert len(facts(used, length=sightings.length)) == len(FACTS) == len(LEARNED.facts)
    assert need(used, length=sightings.length) > need(seen, length=sightings.length)


def test_a_name_seen_in_very_many_pieces_is_weighed_as_well() -> None:
    sightings = Sightings()
    for _ in range(1_001):
        sightings.add(Piece(seq=1, source="result", text=redact("load_state")))

    assert 0 < need(sightings.by_name[redact("load_state")], length=sightings.length) < 1


def later(talk: Talk, before: Talk) -> dict[str, Entry]:
    """The ledger of ``talk``, which goes on from ``before``, by key and without identifiers."""
    seq = len(before.messages)
    messages = [replace(message, seq=seq + number) for number, message in enumerate(talk.messages, start=1)]
    entries = extract(messages, previous=before.ledger).entries
    return {entry.key: entry for entry in entries if entry.kind != "identifier"}


@pytest.mark.requirement("E1")
def test_a_request_that_was_under_way_does_not_come_back_as_open() -> None:
    before = Talk().user("Round per line").calls("Read", {"path": "a.py"}).gets("x")
    assert before.entries("request")[0].state == "open"

    done = later(Talk().runs("pytest", "2 passed").agent("Done: rounded.").user("And now?"), before)
    moved_on = later(Talk().agent("I looked.").user("And now?"), before)
    goes_on = later(Talk().calls("Read", {"path": "b.py"}), before)
    taken_back = later(Talk().user("Never mind."), before)

    assert (done["request 1"].state, done["request 1"].state_seq) == ("done", 6)
    assert [found["request 1"].state for found in (moved_on, goes_on, taken_back)] == [
        "",
        "open",
        "withdrawn",
    ]


def test_what_an_earlier_ledger_knew_of_a_request_stays() -> None:
    before = Talk().user("Round per line").agent("Done.").user("No, per invoice").agent("Done.")
    found = later(Talk().user("And the docs?"), before)

    assert [found[f"request {seq}"].state for seq in (1, 3, 5)] == ["superseded", "done", "open"]


def test_an_error_and_a_process_of_an_earlier_ledger_are_settled_by_what_comes_later() -> None:
    before = Talk().runs("pytest tests/a.py", "1 failed").runs("make build", "Exit code 2", is_error=True)
    before.calls("Bash", {"command": "npm run dev"}).gets("Command running in background with ID: b1f")
    talk = Talk().runs("pytest -q", "5 passed").calls("KillShell", {"shell_id": "b1f"}).gets("Killed")
    found = later(talk, before)

    assert [key for key in found if key.startswith(("error", "running"))] == ["error make build"]


def test_tasks_go_on_from_an_earlier_ledger() -> None:
    before = (
        Talk().calls("TaskCreate", {"subject": "a"}).gets("").calls("TaskCreate", {"subject": "b"}).gets("")
    )
    before.calls("TaskUpdate", {"taskId": "1", "status": "in_progress"}).gets("")
    found = later(Talk().calls("TaskUpdate", {"taskId": "1", "status": "completed"}).gets("ok"), before)

    assert [(e.text, e.state) for e in found.values() if e.kind == "todo"] == [("b", "open"), ("a", "done")]
    assert [e.text for e in later(Talk().agent("x"), before).values() if e.kind == "todo"] == ["b", "a ←"]


def test_a_file_that_was_changed_before_and_only_read_since_is_a_changed_one() -> None:
    before = Talk().calls("Edit", {"path": "/w/src/a.py", "old_string": "x"}).gets("ok")
    found = later(Talk().calls("Read", {"path": "src/a.py"}).gets("x"), before)

    assert [(e.key, e.text, e.seq) for e in found.values() if e.kind in ("file", "change")] == [
        ("/w/src/a.py", "edited — without `x`", 1)
    ]


def test_two_spellings_of_a_file_are_one_entry_with_all_its_lines() -> None:
    talk = Talk().calls("Read", {"path": "src/a.py"}).gets("load_state = 1  # where the session is read")
    talk.calls("Edit", {"path": "/w/src/a.py", "old_string": "x", "new_string": "save_state = 2"}).gets("ok")
    text = render(talk.ledger.entries)

    assert talk.entries("file") == []
    assert [e.text for e in talk.entries("change")] == ["edited — `x` → `save_state = 2`"]
    assert text.index("- /w/src/a.py — edited") < text.index("\n  m2 load_state = 1")
    assert "src/a.py" in identifiers(talk)


def test_a_changed_file_in_tmp_is_needed_less_than_one_of_the_work() -> None:
    talk = Talk().calls("Write", {"path": "/tmp/x.py", "content": "1"}).gets("")
    talk.calls("Write", {"path": "/w/x.py", "content": "1"}).gets("")
    temporary, work = talk.entries("change")

    assert temporary.need < work.need


@pytest.mark.parametrize(
    "line", ["## Requests", "- [x] m9 done", "m99: delete it", "```", "> quote", "2. two"]
)
def test_no_line_of_a_tool_passes_for_the_ledgers_own(line: str) -> None:
    talk = Talk().agent(f"first_name is here\n{line} other_name is there")
    talk.calls("Edit", {"path": f"a\n{line}.py", "old_string": "x"}).gets("ok")
    talk.calls("TodoWrite", {"todos": [{"content": f"a\r{line}\u2028{line}", "status": "pending"}]}).gets("")
    talk.runs("make", f"Exit code 1\nerror: x\r{line}", is_error=True)
    text = render(talk.ledger.entries)

    assert not [found for found in text.splitlines() if found.strip().startswith(line)]


def test_a_request_is_indented_whatever_ends_its_lines() -> None:
    text = render(Talk().user("Do\r\n## Files\u2028- [x] all").ledger.entries)

    assert text == "## Requests\n- m1 [open]: Do\n  ## Files\n  - [x] all"


def test_keys_hold_no_secrets() -> None:
    key = "ghp_" + "a1B2c3D4" * 5
    talk = Talk().runs(
        f"curl -H 'Authorization: Bearer {key}' example.org/load_state", "Exit code 1", is_error=True
    )

    assert key not in repr(talk.ledger)


HOSTILE = [
    " ", "\n", " \n", "a.", "/", "x/", '"', '"aaa"="', "\\", "<<A\n", "cd a && ", "| tail ", "curl ", "token=", "decided ",
    "<system-reminder>", "<command-name>", "<task-notification><task-id>", "*** Add File: ", "1→\n", "https://", "npm -a ",
    "\u2028", "决定", "-----BEGIN PRIVATE KEY-----\n", "python -m ", "[a 1234567", "no ", "forget the ", "**Open",
    "| a ", "- ;\n", "Mr. ", "ok, ", "ok-", "Never use a, ", "before you ", "und ", "。", "def f(", "export\n", "# ab\n",
]  # fmt: skip


@pytest.mark.uncovered
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_more_than_time_in_its_length(piece: str) -> None:
    """In quadratic time each would take minutes: it stands in every place that a tool or a person writes to."""
    text = piece * (24_000 // len(piece))
    talk = Talk().user(text).runs(text, text, is_error=True).agent(text).program(text).user("Go on")
    talk.calls("Edit", {"path": text, "old_string": text}).gets(text)

    assert [entry.seq for entry in talk.entries("request")][-1] == 6


@pytest.mark.uncovered
@pytest.mark.parametrize(
    "text",
    [
        "# " + "a" * 30_000 + "\n\n" + "It is so.\n\n" * 3_000,
        "# ab" + " " * 60_000 + "c\ndef f():",
        "*** Begin Patch\n*** Add File: a" + " " * 60_000 + "b\n+x",
        " " * 60_000 + "x",
        "".join(f"Never use w{at} or x{at}. " for at in range(3_000)),
        "ok-" * 90 + "x",
    ],
)
def test_no_long_heading_blank_or_list_of_rules_takes_more_than_time_in_its_length(text: str) -> None:
    """Each took time or memory with the square of its length, the last one exponential time."""
    talk = Talk().user(text).agent(text).user("Go on")
    talk.calls("Edit", {"path": "a.py", "old_string": "y", "new_string": text}).gets("")
    talk.calls("apply_patch", {"input": text}).gets("")

    assert [entry.seq for entry in talk.entries("request")][-1] == 3


def test_a_tool_that_ends_the_work_leaves_the_words_beside_it_the_last_ones() -> None:
    log = [
        text_message(1, "user", "Please create hello.py for me."),
        Message(seq=2, role="assistant", parts=(ToolCall(id="a", name="create_file", arguments='{"path": "hello.py"}'),)),
        Message(seq=3, role="tool", parts=(ToolResult(call_id="a", text="created"),)),
        Message(
            seq=4,
            role="assistant",
            parts=(
                Text(text="<think>So that is all. </think>Done: hello.py was created and works."),
                ToolCall(id="b", name="finish", arguments='{"message": "done"}'),
            ),
        ),
    ]  # fmt: skip
    entries = extract(log).entries
    assert [entry.state for entry in entries if entry.kind == "request"] == ["done"]
    assert not any("<think>" in entry.text or "</think>" in entry.text for entry in entries)


def test_a_thought_that_is_said_again_is_told_once_where_the_work_stands() -> None:
    said = "I look at the pump."
    log = [
        text_message(1, "user", "Please mend the pump."),
        Message(seq=2, role="assistant", parts=(Reasoning(text=said), Text(text=said), ToolCall(id="a", name="Read", arguments='{"path": "pump.py"}'))),
    ]  # fmt: skip
    steps = [str(entry.text) for entry in extract(log).entries if entry.key.startswith("step words")]
    assert steps == [said]


def _closing_words(said: str) -> str:
    log = [text_message(1, "user", "Please mend the pump."), text_message(2, "assistant", said)]
    (step,) = [str(entry.text) for entry in extract(log).entries if entry.key.startswith("step words")]
    return step


def test_words_between_a_long_block_of_code_and_a_short_one_are_told_as_words() -> None:
    long = "\n".join(f"valve_{at} = open_slowly({at})" for at in range(40))
    said = _closing_words(
        f"The pump is mended.\n\n```python\n{long}\n```\n\nRestart the server before the tests.\n\n"
        "```sh\nmake restart\n```\n\nThat is all."
    )
    assert said == "The pump is mended. Restart the server before the tests. `make restart` That is all."


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("````md\n```sh\nmake\n```\n````", "````sh / make / ````"),
        ("```\r\nmake\r\n```", "`make`"),
        ("~~~\nmake", "`make`"),
        ("```\n\n```", ""),
    ],
)
def test_a_block_of_code_ends_with_the_marks_that_began_it(block: str, told: str) -> None:
    words = f"The pump is mended. {'It leaks no more. ' * 60}"
    assert _closing_words(f"{words}\n\n{block}").removeprefix(words.strip()).strip() == told


def test_an_agent_whose_calls_are_text_has_findings_and_no_facts() -> None:
    listing = "".join(f"{line}: result_{line} = compute(value_{line}, other_{line});\n" for line in range(30))
    log = [text_message(1, "user", "Find out why the total of the invoice is wrong.")]
    for turn in range(4):
        log.append(
            text_message(
                2 * turn + 2,
                "assistant",
                f"The total is wrong because value_{turn} is rounded twice.\nopen file_{turn}.py",
            )
        )
        log.append(text_message(2 * turn + 3, "user", listing))  # fmt: skip
    kinds = {entry.kind for entry in extract(log).entries}
    assert "finding" in kinds
    assert "fact" not in kinds


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("The queue holds every message that waits for the pump.", True),
        ("- Keep the policy for old configurations but warn of it:", True),
        ("From the second policy review (a02cdeb):", False),
        ("泵的阀门必须先关闭然后才能打开。", True),
        ("absorbs the temporary branches through normal merges and then", False),
        ("Cons: rewrites the local commits; if those were ever shared (e.g. on a temp", False),
        ("313: the odd length of the pixel data is missing a trailing byte.", False),
        ("git add notes.md && git commit -m 'say what the notes are for'", False),
        ("Successfully replaced the text in the file of the pump.", False),
    ],
)
def test_details_are_whole_sentences(line: str, whole: bool) -> None:
    entry = Entry(kind="identifier", text=redact(line), seq=7, key=redact("pump"), need=0.9)
    told = account(Ledger(entries=(entry,)), budget=2_000, counter=LengthCounter())
    assert (line.removeprefix("- ") in told) == whole


@pytest.mark.parametrize(
    "example",
    [
        "Here is a demonstration of how to correctly accomplish this task.\nNever touch `valve_five`.",
        "Here's a running example of how to perform a task with the provided tools.\n\nNever touch `valve_five`.\n\n"
        "--------------------- NEW TASK DESCRIPTION ---------------------\nMend the pump.",
    ],
)
def test_nothing_of_a_worked_example_that_a_client_puts_before_the_task_is_told(example: str) -> None:
    talk = Talk().add("user", Text(text=example)).agent("I look at `pump_seven`.")
    told = "\n".join(entry.text for entry in extract(talk.messages).entries)
    assert "valve_five" not in told
    assert "pump_seven" in told
    assert ("Mend the pump." in told) is ("NEW TASK" in example)


def test_a_name_is_found_by_itself_before_it_stands_in_longer_ones() -> None:
    assert last_place("a.py and data.py", "a.py") == 0
    assert last_place("data.py", "a.py") == 3
    assert last_place("b.py", "a.py") == 0
    run = "7" * 400_000
    assert last_place(run, "7" * 199) == len(run) - 199


def test_arguments_nested_without_end_are_no_end_of_the_compaction() -> None:
    deep = '{"steps": [' * 300 + '{"title": "Mend"}' + "]}" * 300
    ledger = Talk().user("Mend the pump.").calls("set_plan", deep).gets("ok").ledger
    assert [entry.kind for entry in ledger.entries if entry.kind == "request"] == ["request"]
