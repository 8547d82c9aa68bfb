from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry, Kind, Ledger, State
from autocompact.ledger.verification import Checked, Standing, Verification, unknown_names, verify
from tests.ledger.entries import RETRY, entry, ledgers


def standing(summary: str, *entries: Entry) -> list[Standing]:
    checked = verify(summary, Ledger(entries=entries))
    words: dict[int, Standing] = {}
    words |= {id(each): "stated" for each in checked.stated}
    words |= {id(each): "referenced" for each in checked.referenced}
    words |= {id(each): "missing" for each in checked.missing}
    return [words[id(each)] for each in entries]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ("It makes 5 attempts (`retry_limit`) before the upload worker gives up.", "stated"),
        ("It makes 3 attempts (`retry_limit`) before the upload worker gives up.", "referenced"),
        ("The constant retry_limit exists.", "referenced"),
        ("Told in m3.", "referenced"),
        ("The upload worker gives up after some attempts.", "missing"),
        ("max_retry_limit: 5 attempts before the upload worker gives up", "missing"),
        ("retry_limits: 5 attempts before the upload worker gives up", "missing"),
        ("retry_limit. " + "Something else. " * 20 + "The upload worker gives up after 5.", "referenced"),
        (
            "retry_limit. "
            + "Something else. " * 20
            + "retry_limit: 5 attempts before the upload worker gives up",
            "stated",
        ),
        ("", "missing"),
    ],
)
def test_an_identifier_is_stated_only_with_the_words_that_explain_it(summary: str, found: Standing) -> None:
    assert standing(summary, RETRY) == [found]


def test_an_identifier_without_words_of_its_own_needs_only_to_be_named() -> None:
    assert standing("see 4f2a91c there", entry("identifier", "4f2a91c", key="4f2a91c")) == ["stated"]
    assert standing("in /home/ada/.env", entry("identifier", "/home/ada", key="/home/ada")) == ["referenced"]
    assert standing("in /home/ada/x.py", entry("identifier", "/home/ada", key="/home/ada")) == ["referenced"]
    glob = entry("identifier", "src/app/**/*.py", key="src/app")
    assert standing("in src/app/main.py", glob) == ["referenced"]
    assert standing("a … b", entry("identifier", "…", key="…")) == ["stated"]
    assert standing("see 4f2a91c", entry("identifier", "(4f2a91c)", key="4f2a91c")) == ["referenced"]


@pytest.mark.requirement("E1")
def test_a_pointer_to_a_request_is_no_statement_of_it() -> None:
    request = entry("request", "Make the parser  faster,\nplease!", seq=12)
    assert standing('The user: "Make the parser faster, please!"', request) == ["stated"]
    assert standing("Please make the parser faster was the wish.", request) == ["stated"]
    assert standing("Earlier: m7, m12", request) == ["referenced"]
    assert standing("Earlier: m7–m300", request) == ["referenced"]
    assert standing("The user wants something of the parser; see m123 and xm12.", request) == ["missing"]
    assert standing("请修复解析器的错误。", entry("request", "修复解析器")) == ["stated"]
    assert standing("m12", Entry(kind="request", text=redact("…"), seq=12, key=redact("r"))) == ["referenced"]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("state", "summary", "found"),
    [
        ("", '## All user messages\n- "Make the parser faster"', "stated"),
        ("done", '## All user messages\n- "Make the parser faster"', "referenced"),
        ("open", '## All user messages\n- "Make the parser faster"', "referenced"),
        ("open", "## Primary intent\nThe user said: Make the parser faster.", "stated"),
        ("open", "## Pending\n- Make the parser faster", "stated"),
        ("done", "- Make the parser faster: done", "stated"),
        ("done", '- "Make the parser faster"\n\n## Done\n- Make the parser faster', "stated"),
        ("open", "- Make the parser faster: done", "referenced"),
        ("open", 'User also asked: "Make the parser faster" - it is an hour of work', "referenced"),
        ("superseded", '## All user messages\n- "Make the parser faster"', "referenced"),
        ("done", "- m3 [done m9]: stands below, word for word\n\nMake the parser faster", "stated"),
        ("open", "- m3 [done m9]: stands below, word for word\n\nMake the parser faster", "referenced"),
        ("done", "Then came m3 [done m9].\n\n## Requests\n- Make the parser faster", "referenced"),
        ("superseded", "- m3 [corrected by m5 ↓]: Make the parser faster", "stated"),
        ("withdrawn", "- m3 [withdrawn]: Make the parser faster", "stated"),
        ("withdrawn", "## Dropped\n- Make the parser faster", "stated"),
        ("superseded", "Make the parser faster: they went for a smaller grammar instead", "stated"),
    ],
)
def test_a_quoted_request_is_stated_only_with_what_became_of_it(
    state: State, summary: str, found: Standing
) -> None:
    request = replace(entry("request", "Make the parser faster", seq=3), state=state)
    assert standing(summary, request) == [found]


@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ('- "yes"', "stated"),
        ("- m9: yes", "missing"),
        ("- m3: yes", "referenced"),
        ("yes", "stated"),
        ("- yes, but not now", "missing"),
        ("It said yes to all of it.", "missing"),
    ],
)
def test_a_request_of_one_word_must_be_quoted(summary: str, found: Standing) -> None:
    assert standing(summary, entry("request", "yes", seq=3)) == [found]


@pytest.mark.parametrize(
    ("state", "summary", "found"),
    [
        ("open", "## Pending Tasks\n- Add the retry test to the worker suite", "stated"),
        ("open", "## Done\n- Add the retry test to the worker suite", "missing"),
        ("open", "- Add the retry test to the worker suite", "missing"),
        ("open", "- Add the retry test to the worker suite: done, but still pending", "missing"),
        ("done", "- [x] Add the retry test to the worker suite", "stated"),
        ("done", "- Added the retry test to the worker suite", "stated"),
        ("done", "- [ ] Add the retry test to the worker suite", "missing"),
        ("", "- Add the retry test to the worker suite", "stated"),
    ],
)
def test_an_item_of_the_plan_is_stated_with_its_state(state: State, summary: str, found: Standing) -> None:
    todo = Entry(
        kind="todo",
        text=redact("Add the retry test to the worker suite"),
        seq=9,
        key=redact("t"),
        state=state,
    )
    assert standing(summary, todo) == [found]


def test_a_file_is_stated_when_it_is_named_without_doubt() -> None:
    one = entry("file", "/r/api/store.py — read", key="/r/api/store.py")
    two = entry("file", "/r/web/store.py — read", key="/r/web/store.py")
    alone = entry("file", "/r/web/page.py — read", key="/r/web/page.py")
    assert standing("read api/store.py and page.py", one, two, alone) == ["stated", "missing", "stated"]
    assert standing("read store.py", one, two, alone) == ["missing", "missing", "missing"]
    assert standing("read /r/web/store.py", one, two, alone) == ["missing", "stated", "missing"]
    assert standing("read other/page.py and page.py/x", alone) == ["missing"]
    assert standing("read web/page.pyc", alone) == ["missing"]
    assert standing("in /home/x", entry("file", "/home — read", key="/home")) == ["missing"]


@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ("`api/store.py`: load() retries now, save() is new", "stated"),
        ("`api/store.py`: load() retries now", "referenced"),
        ("load() and save() of the store", "missing"),
    ],
)
def test_a_change_is_stated_with_what_was_changed(summary: str, found: Standing) -> None:
    change = entry("change", "edited 2× — changed load(); + save()", key="/r/api/store.py", seq=50)
    assert standing(summary, change) == [found]


def test_a_change_without_functions_is_stated_by_its_words() -> None:
    change = entry("change", "edited — now `timeout = 30` for slow networks", key="/r/config.py", seq=50)
    assert standing("config.py: timeout = 30 for slow networks", change) == ["stated"]
    assert standing("config.py was edited", change) == ["referenced"]


@pytest.mark.parametrize(
    ("state", "summary", "found"),
    [
        ("done", "`make test` passes", "stated"),
        ("done", "- `make test` 3× — ok: 58 passed (m9)", "stated"),
        ("done", "Run `make test` next", "missing"),
        ("done", "`make test` failed, 2 errors", "missing"),
        ("open", "`make test` fails with 2 errors, lint is ok", "stated"),
        ("open", "`make test`: ok, the build failed", "missing"),
        ("done", "make the test pass", "missing"),
        ("done", "- `make test --all` — ok: 9 passed", "missing"),
        ("done", "- `make test lint` — ok: 9 passed", "missing"),
        ("done", "- make test --all: ok", "missing"),
        ("done", "- make test: ok", "stated"),
    ],
)
def test_a_command_is_stated_with_its_last_outcome(state: State, summary: str, found: Standing) -> None:
    command = Entry(
        kind="command",
        text=redact("`make test` — ok: 58 passed"),
        seq=90,
        key=redact("make test"),
        state=state,
    )
    assert standing(summary, command) == [found]


def test_a_command_of_unknown_outcome_is_stated_by_its_words() -> None:
    assert standing("It ran `make docs` for the docs.", entry("command", "`make docs` — stopped")) == [
        "missing"
    ]
    assert standing("- make docs: stopped", entry("command", "`make docs` — stopped")) == ["stated"]
    bare = Entry(kind="command", text=redact("make docs"), seq=90, key=redact("make docs"), state="done")
    assert standing("make docs: ok", bare) == ["stated"]


TOLD: tuple[Kind, ...] = ("finding", "fact", "step", "error", "todo", "running")


@pytest.mark.parametrize("kind", TOLD)
def test_what_has_no_name_is_stated_when_its_words_stand_together(kind: Kind) -> None:
    told = entry(kind, "Use SQLite because the server has no network connection", key="d1", seq=70)
    assert standing("We chose SQLite because the server has no network connection.", told) == ["stated"]
    assert standing("SQLite because the server has a network connection.", told) == ["missing"]
    assert standing("The server is fine.", told) == ["missing"]
    assert standing("SQLite. " + "Lorem ipsum dolor. " * 30 + "No network for the server.", told) == [
        "missing"
    ]
    chinese = entry(kind, "采用数据库因为没有网络", key="d2")
    assert standing("采用数据库，因为服务器没有网络", chinese) == ["stated"]
    assert standing("12", entry(kind, "12", key="d3")) == ["stated"]


def test_each_sentence_must_be_said_and_a_negation_counts() -> None:
    finding = entry(
        "finding", "The cache returns stale rows after a write. The index was rebuilt twice.", seq=70
    )
    assert standing("After a write the cache returns stale rows.", finding) == ["missing"]
    both = "The index was rebuilt twice, since the cache returns stale rows after a write."
    assert standing(both, finding) == ["stated"]
    check = entry("finding", "If the shadow branch exists, check the transcript lines", seq=70)
    assert standing("If no shadow branch exists, check the transcript lines.", check) == ["missing"]


@pytest.mark.requirement("F5")
def test_a_rule_needs_its_own_words_and_is_checked_first() -> None:
    rule = entry("rule", "Never push to main without my explicit approval", key="r", seq=70)
    assert standing("Rule: never push to main without my explicit approval.", rule) == ["stated"]
    assert standing("Push to main with my explicit approval.", rule) == ["missing"]
    assert standing("Never push to main.", rule) == ["missing"]
    other = entry("finding", "the build was slow on the old machine", seq=71)
    assert verify("", Ledger(entries=(other, rule))).missing == (rule, other)


def request(text: str, *, state: State, kind: Kind = "request") -> Entry:
    return Entry(kind=kind, text=redact(text), seq=4, key=redact("k"), state=state, state_seq=8)


@pytest.mark.parametrize(
    ("found", "summary", "said"),
    [
        (
            request("Migrate the billing tables to the new schema", state="open"),
            "Done: migrate the billing tables to the new schema.",
            "the summary says done, but the last evidence (m8) says open or failed: "
            "Migrate the billing tables to the new schema",
        ),
        (
            request("Migrate the billing tables to the new schema", state="done"),
            "## Pending tasks\n- Migrate the billing tables to the new schema",
            "the summary says open or failed, but m8 shows it done: Migrate the billing tables to the new schema",
        ),
        (
            request("`make test` — failed (1): 2 failed", state="open", kind="command"),
            "`make test` passes.",
            "the summary says done, but the last evidence (m8) says open or failed: `make test` — failed (1): 2 failed",
        ),
        (request("Migrate the billing tables to the new schema", state="done"), "Nothing of it.", None),
        (
            request("Migrate the billing tables to the new schema", state=""),
            "Migrate the billing tables: done.",
            None,
        ),
        (request("Look at it", state="open", kind="error"), "Look at it: done.", None),
        (
            request("Run fmt, lint, and tests", state="done", kind="todo"),
            "## Pending\n- Run fmt/lint/tests after these fixes",
            None,
        ),
    ],
)
def test_a_state_against_the_evidence_is_a_contradiction(
    found: Entry, summary: str, said: str | None
) -> None:
    against = verify(summary, Ledger(entries=(found,))).contradictions
    assert [(each.text, each.entry) for each in against] == ([(said, found)] if said else [])


def test_a_long_request_is_quoted_in_part_where_it_is_contradicted() -> None:
    words = "Migrate the billing tables to the new schema " + "and then the tables of the ledger " * 4
    (against,) = verify(f"Done: {words}", Ledger(entries=(request(words, state="open"),))).contradictions
    assert against.text.endswith("…")


@pytest.mark.requirement("E1")
def test_names_that_never_were_are_found_and_those_that_were_are_not() -> None:
    log = "Edited src/app/store.py; ran tool --dry-run; def load_state(self): loadState mcp.ts"
    summary = redact(
        "Edited app/store.py and lib/never.py with --dry-run and --force-all; `load_state` calls load_state(), "
        "`loadState`, `saveState` and save_all(); on an m5.large; see ~/.REDACTED.jsonl, version 1.2.3 of it."
    )
    wrong = unknown_names(summary, lambda name: name in log)
    assert wrong == ("lib/never.py", "--force-all", "save_all()", "saveState")


def test_a_stated_entry_has_places_in_the_text() -> None:
    finding = entry("finding", "The index was rebuilt twice.", seq=70)
    checked = Checked(
        "First. The retry_limit of 5 attempts before the upload worker gives up. The index was rebuilt twice.",
        Ledger(entries=(RETRY, finding)),
    )
    text = checked.statements.text
    ((start, end),) = checked.places(finding)
    assert text[start:end] == finding.text
    ((start, end),) = checked.places(RETRY)
    assert text[start:end] == "retry_limit"
    assert checked.places(entry("finding", "The index was never rebuilt.", seq=71)) == ()


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("Let me write this integration test.", "- Write integration tests for mid-session commits"),
        ("Now push and create the PR.", "- commit please, then push and create the PR for it"),
        ("All lint issues are fixed.", "Fixed multiple lint issues: errcheck on calls, unused params"),
        ("Fixed the count of the hooks in the parser", "## Next steps\n- fix the count of the hooks in the parser"),
        ("The pass rates should align with the skills of https://a.example/b/c/d/e/f.md", "The skills at https://a.example/b/c/d/e/f.md have rates"),
        ("Pushed the commit: `4f2a91c docs(readme): align the policy examples`", "- `git commit` — ok: 4f2a91c docs(readme): align the policy examples"),
        ("The upload of the night worker was retried five times, then dropped", "The upload of the night worker was retried five times…"),
    ],
)  # fmt: skip
def test_what_is_only_announced_meant_or_half_said_is_not_stated(words: str, summary: str) -> None:
    finding = entry("finding", words, seq=70)
    assert standing(summary, finding) == ["missing"]
    assert standing(f"- {words}", finding) == ["stated"]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ("I read src/page.py and found the cause.", "stated"),
        ("src/page.py was read first.", "stated"),
        ("## Files examined\n- src/page.py", "stated"),
        ("## Next steps\n- update the imports of src/page.py", "referenced"),
        ("`git add src/page.py`", "referenced"),
        ("## Requests\n- read src/page.py", "referenced"),
        ("**Reference files:** src/page.py (~90 lines)", "referenced"),
        ("read other/page.py", "missing"),
        ("Told in m3.", "referenced"),
    ],
)
def test_a_file_is_stated_where_it_is_said_that_it_was_read(summary: str, found: Standing) -> None:
    assert standing(summary, entry("file", "src/page.py — read", key="src/page.py")) == [found]


def test_a_file_is_stated_with_what_it_defines() -> None:
    page = entry("file", "src/page.py — read: class Page, render(), type Size", key="src/page.py")
    assert standing("I read src/page.py and src/site.py.", page) == ["referenced"]
    assert standing("I read src/page.py: class Page renders (render()) in a Size, a type.", page) == [
        "stated"
    ]


def test_of_two_requests_in_the_same_few_words_one_quotation_states_neither() -> None:
    twice = entry("request", "ok", seq=3), entry("request", "ok", seq=9)
    assert standing('- "ok"', *twice) == ["missing", "missing"]
    assert standing('- "ok"\n- "ok"', *twice) == ["stated", "stated"]


def test_an_end_of_a_path_that_two_files_have_names_neither() -> None:
    main = entry("file", "/r/main/.app/set.json — read", key="/r/main/.app/set.json")
    tree = entry("file", "/r/tree/.app/set.json — read", key="/r/tree/.app/set.json")
    root = entry("file", ".app/set.json — read", key=".app/set.json")
    assert standing("read .app/set.json", main, tree) == ["missing", "missing"]
    assert standing("read .app/set.json", main, root) == ["missing", "stated"]
    assert standing("read /r/main/.app/set.json", main, tree) == ["stated", "missing"]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ("- store.py: load() retries now\n- queue.py: save() is new", "referenced"),
        ("- store.py: load() retries now, save() is new: it writes the batch to disk", "stated"),
        ("- store.py: load() retries now, save() is new", "referenced"),
        ("## Next steps\n- store.py: load() retries, save() writes the batch to disk", "referenced"),
        (
            "- store.py — edited 2× — changed load(); + save(); save(): writes the batch to disk [m50]",
            "stated",
        ),
        ("- store.py:\n  - load() retries\n  - save(): writes the batch to disk", "stated"),
    ],
)
def test_a_change_is_stated_only_with_all_of_its_parts_beside_the_file(summary: str, found: Standing) -> None:
    text = "edited 2× — changed load(); + save(); save(): writes the batch to disk"
    assert standing(summary, entry("change", text, key="/r/api/store.py", seq=50)) == [found]


def test_a_short_line_of_code_of_a_change_must_stand_as_it_is() -> None:
    change = entry("change", "edited — now `ended: state.ended,`", key="/r/types.py", seq=50)
    assert standing("types.py: ended was added to the state", change) == ["referenced"]
    assert standing("types.py: now ended: state.ended, in both", change) == ["stated"]
    number = entry("change", "edited — now `limit of the worker queue is 30 jobs`", key="/r/types.py", seq=50)
    assert standing("types.py: the limit of the worker queue is some jobs", number) == ["referenced"]
    bare = entry("change", "created", key="/r/types.py", seq=50)
    assert standing("types.py is there", bare) == ["referenced"]
    assert standing("- types.py — created [m50]", bare) == ["stated"]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    "summary",
    [
        "Once `make test` passes, write the notes.",
        "`make test` must pass",
        "Run `make test` to see that it passes",
        "`make test && make lint` passed",
        "`make lint && make test` passed",
        "`make test` until all of them pass",
    ],
)
def test_an_outcome_that_is_wished_for_or_that_of_another_command_is_none(summary: str) -> None:
    command = request("`make test` — ok: 58 passed", state="done", kind="command")
    assert standing(summary, command) == ["missing"]
    failed = request("`make test` — failed (1): 2 failed", state="open", kind="command")
    assert verify(summary, Ledger(entries=(failed,))).contradictions == ()


def test_code_half_a_line_and_an_announcement_explain_a_name_only_word_for_word() -> None:
    code = entry("identifier", "rate = passed / total_runs", key="passed")
    assert standing("it checks that passed is total_runs, a rate", code) == ["referenced"]
    assert standing("so rate = passed / total_runs here", code) == ["stated"]
    half = entry("identifier", "…the retry_limit of the upload worker of the night run…", key="retry_limit")
    assert standing("the night run's upload worker has a retry_limit", half) == ["referenced"]
    assert standing("that is the retry_limit of the upload worker of the night run", half) == ["stated"]
    plan = entry("identifier", "- [x] Create the folder `src/modes` for the shared parts", key="src/modes")
    assert standing("## Next steps\n- create the folder src/modes for the shared parts", plan) == [
        "referenced"
    ]
    assert standing("## Next steps\n- create the folder src/modes/a for the shared parts", plan) == [
        "referenced"
    ]


@pytest.mark.parametrize(
    ("words", "summary", "accused"),
    [
        ("Mend the sums of the importer", "- [ ] Mend the sums of the importer", True),
        ("Run the linter of the importer", "- [ ] Run the linter of the importer", False),
        ("Mend the sums of the importer", "Pending: mend all sums of the importer, again", False),
        (
            "do we need to write a plan, or are we good to go on?",
            '- "do we need to write a plan, or are we good to go on?"',
            False,
        ),
    ],
)
def test_a_few_words_that_are_done_may_be_to_do_again(words: str, summary: str, accused: bool) -> None:
    done = request(words, state="done", kind="todo")
    assert bool(verify(summary, Ledger(entries=(done,))).contradictions) is accused


@given(ledgers(), st.text(max_size=300))
def test_every_entry_is_stated_referenced_or_missing(ledger: Ledger, summary: str) -> None:
    checked = verify(summary, ledger)
    found = (*checked.stated, *checked.referenced, *checked.missing)
    assert len(found) == len(ledger.entries)
    assert set(found) == set(ledger.entries)


@given(ledgers())
def test_a_text_of_all_entries_in_full_misses_none(ledger: Ledger) -> None:
    text = "\n\n".join(f"{each.key} — {each.text} [m{each.seq}]" for each in ledger.entries)
    assert verify(text, ledger).missing == ()
    assert verify("", Ledger()) == Verification()
