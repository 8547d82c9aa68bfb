from __future__ import annotations

import json

import pytest

from autocompact.core.messages import UNRECORDED
from tests.core.talk import Talk


def test_a_file_that_was_read_is_told_once_and_what_was_changed_by_what_became_of_it() -> None:
    talk = Talk().calls("Read", {"file_path": "a.py"}).gets("x")
    talk.calls("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}).gets("ok")
    talk.calls("Edit", {"file_path": "a.py", "old_string": "2", "new_string": "3"}).gets("ok")
    talk.calls("Read", {"file_path": "b.py"}).gets("y")
    talk.calls("Write", {"file_path": "c.py", "content": "z"}).gets("ok").runs("rm c.py", "")

    assert [(e.key, e.text, e.seq) for e in talk.entries("file")] == [("b.py", "b.py — read", 7)]
    assert [(e.key, e.text, e.seq, e.state_seq) for e in talk.entries("change")] == [
        ("a.py", "edited 2× — `1` → `3`", 5, 3),
        ("c.py", "created, deleted", 11, 9),
    ]


def test_a_failed_edit_touched_nothing() -> None:
    talk = Talk().calls("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"})
    talk.gets("String to replace not found", is_error=True)

    assert talk.entries("file") == []
    (tried,) = talk.entries("change")
    assert (tried.text, tried.state) == ("not applied m1 — `1` → `2`", "open")


def test_a_command_is_kept_with_the_outcome_of_its_last_run() -> None:
    talk = (
        Talk().runs("pytest -q", "2 failed, 3 passed\nE  assert 1 == 2").runs("pytest -q", "5 passed in 1s")
    )
    talk.runs("make build", "Exit code 2\nerror: no rule", is_error=True).runs("git status", "clean")
    talk.calls("Bash", {"command": "sleep 9"})

    assert [(e.text, e.state) for e in talk.entries("command")] == [
        ("`pytest -q` 2× — ok: 5 passed in 1s", "done"),
        ("`make build` — failed (2)", "open"),
    ]
    assert [e.text for e in talk.entries("error")] == ["make build: error: no rule"]


def test_a_command_that_fails_now_says_where_it_passed_last() -> None:
    talk = Talk().runs("make test", "5 passed").runs("make test", "6 passed")
    talk.runs("make test", "1 failed").runs("make test", "2 failed, 4 passed")

    assert [entry.text for entry in talk.entries("command")] == [
        "`make test` 4× — failed: 2 failed, 4 passed; m3: ok"
    ]


def test_a_check_whose_exit_code_a_pipe_hides_is_told_as_failed_when_its_last_words_say_so() -> None:
    talk = Talk().runs(
        "mise run lint 2>&1 | tail -20", "a.go:3: goconst\n2 issues:\n[lint] ERROR task failed"
    )

    (entry,) = talk.entries("command")
    assert entry.state == "open"
    assert entry.text.startswith("`mise run lint` — failed")
    assert [error.key for error in talk.entries("error")] == ["error mise run lint"]


def test_a_command_that_the_user_refused_counts_as_no_run() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    talk = Talk().runs("make it", "12 passed in 1s").runs("make it", refused, is_error=True)

    assert [e.text for e in talk.entries("command")] == ["`make it` — ok: 12 passed in 1s"]
    assert talk.entries("error") == []


def test_a_command_of_which_only_the_run_is_recorded_is_told_without_an_outcome() -> None:
    talk = Talk().runs("make it", UNRECORDED).runs("make it", UNRECORDED).runs("ls src", UNRECORDED)
    assert [(e.text, e.state) for e in talk.entries("command")] == [("`make it` 2×", "")]
    talk.runs("make it", "1 failed")
    assert [e.text for e in talk.entries("command")] == ["`make it` 3× — failed: 1 failed"]
    talk.runs("make it", UNRECORDED)
    assert talk.entries("error") != []


def test_lines_that_several_commands_end_with_are_the_shells_and_tell_of_none() -> None:
    talk = Talk().runs("./build", "made 4 files\nprofile loaded again")
    for command in ("./check", "./pack"):
        talk.runs(command, "made 4 files\nprofile loaded again")
    talk.runs("./count", "7 rows")
    assert [e.text for e in talk.entries("command")] == [
        *(f"`./{name}` — ok" for name in ("build", "check", "pack")),
        "`./count` — ok → 7 rows",
    ]


def test_a_failure_without_words_and_a_long_command_are_short() -> None:
    talk = Talk().runs("make " + "x" * 500, "", is_error=True)

    (command,) = talk.entries("command")
    assert command.text.endswith("…` — failed")
    assert len(command.text) < 200


def test_only_the_latest_todo_list_counts() -> None:
    def todos(*items: tuple[str, str]) -> dict[str, object]:
        return {"todos": [{"content": text, "status": status} for text, status in items]}

    talk = Talk().calls("TodoWrite", todos(("old", "pending"))).gets("ok")
    talk.calls("TodoWrite", todos(("a", "completed"), ("b", "in_progress"), ("c", "cancelled"), ("", "x")))
    talk.gets("ok").calls("TodoWrite", todos(("failed", "pending"))).gets("no", is_error=True)

    assert [(e.text, e.state) for e in talk.entries("todo")] == [
        ("a", "done"),
        ("b ←", "open"),
        ("c", "withdrawn"),
    ]


def test_a_plan_of_another_agent_is_a_todo_list_too() -> None:
    talk = Talk().calls("update_plan", {"plan": [{"step": "a", "status": "completed"}, {"step": "b"}, "x"]})

    assert [(e.text, e.state, e.state_seq) for e in talk.entries("todo")] == [("a", "done", 1), ("b", "", 0)]


def test_a_step_that_is_named_has_its_status_in_the_plan() -> None:
    talk = (
        Talk()
        .calls("generate_plan", {"phases": [{"steps": [{"title": "Measure"}, {"title": "Mend"}]}]})
        .gets("")
    )
    talk.calls("update_step_status", {"step": "Measure", "status": "completed"}).gets("")
    talk.calls("update_step_status", {"step": "Mend", "status": "in_progress"}).gets("")
    assert [(e.text, e.state, e.seq, e.state_seq) for e in talk.entries("todo")] == [
        ("Measure", "done", 1, 3),
        ("Mend ←", "open", 1, 5),
    ]


def test_tasks_made_one_by_one_have_their_last_status() -> None:
    talk = (
        Talk()
        .calls("TaskCreate", {"subject": "a"})
        .gets("Task #1")
        .calls("TaskCreate", {"subject": "b"})
        .gets("")
    )
    talk.calls("TaskUpdate", {"taskId": "1", "status": "completed"}).gets("")
    talk.calls("TaskUpdate", {"taskId": "9", "status": "completed"}).gets("")

    assert [(e.text, e.state, e.seq, e.state_seq) for e in talk.entries("todo")] == [
        ("a", "done", 1, 5),
        ("b", "open", 3, 3),
    ]


STARTED = "Command running in background with ID: b1f"


def test_a_background_process_runs_until_it_is_seen_to_end() -> None:
    talk = Talk().calls("Bash", {"command": "npm run dev", "run_in_background": True}).gets(STARTED)
    assert [e.text for e in talk.entries("running")] == ["npm run dev (id b1f)"]

    talk.calls("BashOutput", {"bash_id": "b1f"}).gets("<status>running</status>")
    assert len(talk.entries("running")) == 1

    talk.calls("KillShell", {"shell_id": "b1f"}).gets("Successfully killed")
    assert talk.entries("running") == []


def test_a_sub_agent_that_reported_runs_no_more_though_it_could_go_on() -> None:
    report = (
        "All tests pass.\n"
        + "I removed the timing. " * 20
        + "\nagentId: a9 (for resuming to continue its work)"
    )
    assert Talk().calls("Task", {"description": "Tidy", "prompt": "x"}).gets(report).entries("running") == []


def test_commits_are_told_together_by_hash_and_title_the_newest_first() -> None:
    talk = Talk().user("go")
    for number in range(14):
        title = f"Mend pump {number}"
        talk.calls("Bash", {"command": f"git add . && git commit -m '{title}'"})
        talk.gets(f"[main 12345{number:02d}] {title}\n 1 file changed, 2 insertions(+)")
    talk.calls("Bash", {"command": "git commit -m x"}).gets("nothing to commit\nExit code: 1")
    told = [entry.text for entry in talk.entries("command")]
    assert len(told) == 2
    (commits,) = [text for text in told if text.startswith("`git commit` 14× — ok: ")]
    assert commits.count("Mend pump") == 12
    assert commits.startswith("`git commit` 14× — ok: 1234513 Mend pump 13; 1234512 Mend pump 12; ")

    once = Talk().user("go").calls("Bash", {"command": "git commit -m x"}).gets("[main 1234567] Mend it")
    assert [entry.text for entry in once.entries("command")] == ["`git commit` — ok: 1234567 Mend it"]


def test_a_commit_that_the_agents_program_made_is_told_with_the_others() -> None:
    talk = Talk().runs("git commit -m a", "[main 0efd40b] a").runs('git commit -m "b"', "Commit 41249ec b")
    assert [e.text for e in talk.entries("command")] == ["`git commit` 2× — ok: 41249ec b; 0efd40b a"]


def test_a_sub_agent_runs_until_its_result_or_a_notice_comes() -> None:
    talk = Talk().calls("Task", {"description": "Find callers", "prompt": "x"}).gets("Launched.\nagentId: a7")
    talk.calls("Task", {"description": "Find tests", "prompt": "y"}).gets("Launched.\nagentId: a8")
    talk.calls("Task", {"prompt": "z"})
    assert [e.text for e in talk.entries("running")] == ["Find callers (id a7)", "Find tests (id a8)", "Task"]

    talk.calls("TaskOutput", {"task_id": "a7"}).gets("<status>completed</status>")
    talk.agent("<task-notification><task-id>a8</task-id><status>completed</status></task-notification>")
    talk.program("<task-notification><task-id>a8</task-id><status>running</status></task-notification>")
    assert [e.text for e in talk.entries("running")] == ["Find tests (id a8)", "Task"]

    talk.program("<task-notification><task-id>a8</task-id><status>completed</status></task-notification>")
    assert [e.text for e in talk.entries("running")] == ["Task"]


def test_what_a_client_says_of_background_agents_behind_another_tools_output_is_read() -> None:
    """So Claude Code 2.1.330 delivers the end of an agent that it started in the background, with its report."""
    launched = (
        "Async agent launched successfully. (internal metadata — never quote it)\nagentId: {} (internal ID)"
    )
    told = (
        "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event.\n\n"
        "<task-notification>\n<task-id>{}</task-id>\n<status>completed</status>\n"
        "<result>The crash comes from `close_all()`, which runs before the flush.</result>\n</task-notification>\n"
        "</system-reminder>"
    )
    talk = Talk().calls("Agent", {"description": "Find callers", "prompt": "x"}).gets(launched.format("a12f"))
    talk.calls("Agent", {"description": "Find tests", "prompt": "y"}).gets(launched.format("a34f"))
    talk.runs("cat notes.txt", f"words\n\n{told.format('a12f')}")

    assert [e.text for e in talk.entries("running")] == ["Find tests (id a34f)"]
    found = [e.text for e in talk.entries("finding")]
    assert found == ["The crash comes from `close_all()`, which runs before the flush."]
    assert not any("internal" in e.text or "NOTIFICATION" in e.text for e in talk.entries("identifier"))

    talk.program(told.format("a34f").replace("close_all", "open_all"))
    assert [e.text for e in talk.entries("running")] == []
    assert any("open_all" in e.text for e in talk.entries("finding"))


def test_a_file_that_was_read_is_told_with_what_it_defines_the_most_needed_of_many() -> None:
    many = "".join(f"def part_{number}():\n    return {number}\n\n" for number in range(12))
    talk = Talk().calls("Read", {"file_path": "a.py"}).gets(f"class Store:\n    def load_rows(self):\n{many}")
    talk.calls("Read", {"file_path": "guide.md"}).gets("# How to load\n\nwords")
    talk.calls("Read", {"file_path": "notes.txt"}).gets("words").calls("Read", {"file_path": "b.py"})
    talk.gets("# Loading of rows\nvalue = 1").runs("cat c.py d.py", "def of_whichever():\n    pass")
    talk.agent("What matters is `load_rows`, then `part_11`.").calls("Grep", {"pattern": "part_11|load_rows"})
    talk.gets("a.py:3")

    told = {str(entry.key): entry.text for entry in talk.entries("file")}
    assert told["a.py"].startswith("a.py — read: load_rows(), part_")
    assert told["a.py"].endswith("part_11() (+6 more)")
    assert told["guide.md"] == 'guide.md — read: section "How to load"'
    assert told["notes.txt"] == "notes.txt — read"
    assert told["b.py"] == "b.py — read"
    assert told["c.py"] == "c.py — read"


def test_a_command_that_goes_on_in_the_background_is_neither_ok_nor_failed_until_somebody_looks() -> None:
    begun = "Chunk ID: a1\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\nCompiling"
    talk = Talk().calls("exec_command", {"cmd": "make test"}).gets(begun)
    assert [e.text for e in talk.entries("command")] == ["`make test`"]
    assert [e.text for e in talk.entries("running")] == ["make test (id 7)"]

    talk.calls("write_stdin", {"session_id": 7, "chars": ""}).gets(begun)
    assert [e.text for e in talk.entries("command")] == ["`make test`"]

    ended = "Chunk ID: a2\nProcess exited with code 1\nOutput:\nFAILED a.py"
    talk.calls("write_stdin", {"session_id": 7, "chars": ""}).gets(ended)
    assert [e.text for e in talk.entries("command")] == ["`make test` — failed (1)"]
    assert [(e.text, e.seq) for e in talk.entries("error")] == [("make test: FAILED a.py", 6)]
    assert talk.entries("running") == []


def test_what_a_script_left_running_ends_with_the_wait_for_it() -> None:
    script = 'const r = await tools.exec_command({cmd: "make test"}); text(JSON.stringify(r))'
    talk = (
        Talk().calls("exec", script).gets("Script running with cell ID 16\nWall time 10.0 seconds\nOutput:\n")
    )
    assert [e.text for e in talk.entries("running")] == ["make test (id 16)"]

    talk.calls("wait", {"cell_id": "16"}).gets(
        'Script completed\nWall time 0.0 seconds\nOutput:\n\n{"exit_code":0,"output":"41 passed"}'
    )
    assert [e.text for e in talk.entries("command")] == ["`make test` — ok: 41 passed"]
    assert talk.entries("running") == []


def test_a_look_at_a_command_that_goes_on_itself_ends_with_the_wait_for_it() -> None:
    talk = Talk().calls("exec", 'text(JSON.stringify(await tools.exec_command({cmd: "make test"})))')
    talk.gets('Script completed\nWall time 1 seconds\nOutput:\n\n{"session_id":7,"output":""}')
    talk.calls("exec", "text(JSON.stringify(await tools.write_stdin({session_id: 7, chars: ''})))")
    talk.gets("Script running with cell ID 37\nWall time 11.0 seconds\nOutput:\n")
    assert [e.text for e in talk.entries("command")] == ["`make test`"]

    talk.calls("wait", {"cell_id": "37"})
    talk.gets('Script completed\nWall time 1 seconds\nOutput:\n\n{"exit_code":0,"output":"41 passed"}')
    assert [e.text for e in talk.entries("command")] == ["`make test` — ok: 41 passed"]
    assert talk.entries("running") == []


def test_errors_that_a_compiler_prints_into_a_pipe_are_a_failure() -> None:
    printed = "src/app.tsx(891,3): error TS2769: No overload matches this call."
    talk = Talk().runs("npx tsc --noEmit 2>&1 | head -80", printed)
    assert [e.text for e in talk.entries("command")] == ["`npx tsc --noEmit` — failed"]
    assert [e.text for e in talk.entries("error")] == [f"npx tsc --noEmit: {printed}"]


def test_a_notice_says_how_a_command_in_the_background_ended() -> None:
    talk = Talk().runs(
        "make bench", "Command running in background with ID: b3we. Output is in /tmp/b3we.output"
    )
    assert [e.text for e in talk.entries("command")] == ["`make bench`"]

    talk.program(
        "<task-notification>\n<task-id>b3we</task-id>\n<status>failed</status>\n"
        '<summary>Background command "Run it" failed with exit code 2</summary>\n</task-notification>',
    )
    assert [e.text for e in talk.entries("command")] == ["`make bench` — failed (2)"]


def test_what_was_started_anew_is_not_waited_for() -> None:
    begun = "Process running with session ID {}\n"
    talk = Talk().calls("exec_command", {"cmd": "make watch"}).gets(begun.format(7))
    talk.calls("exec_command", {"cmd": "make watch"}).gets(begun.format(8))

    assert [e.text for e in talk.entries("running")] == ["make watch (id 8)"]


def test_the_same_command_in_another_folder_starts_something_else() -> None:
    talk = Talk()
    for number, folder in enumerate(("services/api", "services/web", "services/api"), start=1):
        talk.calls("Bash", {"command": f"cd {folder} && npm run dev", "run_in_background": True})
        talk.gets(f"Command running in background with ID: b{number}")
    assert [e.text for e in talk.entries("running")] == ["npm run dev (id b2)", "npm run dev (id b3)"]


def test_a_script_that_says_in_its_own_words_what_goes_on_is_followed_through_all_its_ids() -> None:
    head = "Script completed\nWall time 0.4 seconds\nOutput:\n"
    look = "const r = await tools.write_stdin({session_id:55, chars:''}); text(r.output);"
    talk = Talk().user("Run the tests.")
    talk.calls(
        "exec", f"const r = await tools.exec_command({json.dumps({'cmd': 'mise run test'})}); text(r.output);"
    )
    talk.gets(head + "building\nSESSION_ID=55")
    assert [e.text for e in talk.entries("command")] == ["`mise run test`"]
    talk.calls("exec", look).gets(head + "[test:bats] ok 1 starts")
    assert [e.text for e in talk.entries("command")] == ["`mise run test`"]
    talk.calls("exec", look).gets("Script running with cell ID 9\nWall time 10.0 seconds\nOutput:\n")
    talk.calls("wait", {"cell_id": "9"}).gets(
        head + "[test:bats] [nogit] not ok 2 stops\n[test:bats] ERROR task failed"
    )
    (told,) = [e.text for e in talk.entries("command")]
    assert told.startswith("`mise run test` — failed")
    last = talk.entries("step")[-1]
    assert last.text.startswith("exec_command mise run test → ")


def test_commands_of_a_script_are_only_as_good_as_what_is_known_of_each() -> None:
    script = "for (const cmd of cmds) text(await tools.exec_command({cmd: 'make test'})); tools.exec_command({cmd: 'git push'})"
    talk = Talk().user("Test and push.").calls("exec", script)
    talk.gets('Script completed\nWall time 1 seconds\nOutput:\nboom\n{"exit_code":0,"output":"pushed"}')
    assert "ok" not in talk.entries("step")[-1].text.split()
    serving = '{"exit_code":0,"output":"built"}\n{"session_id":7,"output":"serving"}'
    talk = Talk().user("Serve it.").calls("exec", 'tools.exec_command({cmd: "make serve"})')
    talk.gets(f"Script completed\nWall time 1 seconds\nOutput:\n{serving}")
    assert [entry.text for entry in talk.entries("running")] == ["make serve (id 7)"]


def test_a_program_that_prints_the_id_of_a_session_does_not_go_on() -> None:
    talk = Talk().user("Log in.").calls("exec", 'tools.exec_command({cmd: "./login.sh"})')
    talk.gets("Script completed\nWall time 1 seconds\nOutput:\nwelcome\nSession ID: 4711")
    assert talk.entries("running") == []


@pytest.mark.parametrize("spelled", ["\\x74r0ub4dorAnd3xKq", 'tr0ub4do"+"rAnd3xKq'])
def test_a_script_gives_no_secret_away_that_it_spells_in_its_own_way(spelled: str) -> None:
    talk = Talk().user("Set it up.").runs("export DB_PASSWORD=tr0ub4dorAnd3xKq", "")
    talk.calls("exec", f'tools.exec_command({{cmd:"make use {spelled}"}})')
    talk.gets('Script completed\nWall time 1 seconds\nOutput:\n{"exit_code":2,"output":"no such database"}')
    told = [entry.text for entry in talk.ledger.entries]
    assert any("make use [secret: " in text for text in told)
    assert not any("0ub4do" in text or "rAnd3xKq" in text for text in told)


def test_headings_in_place_of_thoughts_are_no_words() -> None:
    said = "The valve of the pump is open, so it drains into the tank all night long, and nobody sees it before morning."
    talk = Talk().user("Mend the pump.").agent(said).thinks("**Checking the valve**").runs("make", "built")
    assert talk.entries("step")[0].text == said
    assert not any("Checking" in entry.text for entry in talk.ledger.entries)


def test_what_a_model_writes_for_its_program_is_told_to_nobody() -> None:
    talk = (
        Talk()
        .user("Mend the pump.")
        .runs("make", "built")
        .agent(
            'The valve was open, so the pump drained: I closed it.\n::git-commit{cwd="/repo"}\n::git-push{cwd="/repo" branch="pump"}\n'
            "<oai-mem-citation>\n<citation_entries>\nMEMORY.md:1-2|note=[pumps]\n</citation_entries>\n</oai-mem-citation>"
        )
    )
    told = " ".join(entry.text for entry in talk.ledger.entries)
    assert "The valve was open, so the pump drained: I closed it." in told
    assert talk.agent("<oai-mem-citation>" * 20_000).ledger.entries
    assert "::git" not in told
    assert "MEMORY.md" not in told


def test_a_quiet_commit_is_told_with_the_hash_that_a_log_behind_it_shows() -> None:
    command = "git add -A && git commit -q -F - <<'EOF' && git log --oneline -1\nClose the valve\n\nIt was open.\nEOF"
    talk = Talk().user("Mend the pump.").runs(command, "085fef2 (HEAD -> main) Close the valve")
    assert [e.text for e in talk.entries("command")] == ["`git commit` — ok: 085fef2 Close the valve"]
    assert "git, as it last told: last commit 085fef2 (m2)" in [e.text for e in talk.entries("step")]


def test_a_script_whose_program_was_not_there_did_not_pass() -> None:
    script = 'const r = await tools.exec_command({cmd: "hk check"}); text(r.output);'
    talk = Talk().user("Check it.").calls("exec", script)
    talk.gets("Script completed\nWall time 0.1 seconds\nOutput:\n\nzsh:1: command not found: hk\n")
    (told,) = [e.text for e in talk.entries("command")]
    assert told.startswith("`hk check` — failed")


def test_a_check_that_failed_and_was_made_good_another_way_is_not_told_as_failed() -> None:
    talk = Talk().runs("pytest -q tests/a.py", "1 failed").runs("pytest tests -x", "9 passed")
    assert [e.text for e in talk.entries("command")] == ["`pytest tests -x` — ok: 9 passed"]


def test_what_a_command_printed_is_told_without_its_colours() -> None:
    talk = Talk().runs("vp pack", "\x1b[1m\x1b[94mpass:\x1b[39m\x1b[0m Packed all")
    assert [e.text for e in talk.entries("command")] == ["`vp pack` — ok → pass: Packed all"]


BEGUN = "Process running with session ID 5\nOutput:\nstep1"


def test_a_command_that_was_killed_or_is_lost_is_not_ok() -> None:
    for last, told in (
        ("<status>killed</status>\n<stdout>built</stdout>", "`make deploy`"),
        ("<status>failed</status>", "`make deploy` — failed"),
        ("<status>completed</status>\n<stdout>built</stdout>", "`make deploy` — ok"),
    ):
        talk = Talk().runs("make deploy", STARTED).calls("BashOutput", {"bash_id": "b1f"}).gets(last)
        (entry,) = talk.entries("command")
        assert entry.text.partition(" →")[0] == told
    lost = Talk().calls("exec_command", {"cmd": "make deploy"}).gets(BEGUN)
    lost.calls("write_stdin", {"session_id": 5}).gets("write_stdin failed: Unknown process id 5")
    assert [e.text for e in lost.entries("command")] == ["`make deploy`"]
    failed = Talk().runs("make deploy", STARTED).calls("BashOutput", {"bash_id": "b1f"})
    failed.gets("<status>running</status>\n<stdout>begins</stdout>").calls("BashOutput", {"bash_id": "b1f"})
    failed.gets("<status>failed</status>\n<exit_code>2</exit_code>\n<stderr>error: no space left</stderr>")
    assert [e.text for e in failed.entries("error")] == ["make deploy: error: no space left"]


def test_a_script_that_leaves_out_how_its_command_ended_says_nothing_of_it() -> None:
    script = 'const r = await tools.exec_command({cmd: "npm run deploy"}); text(r.output);'
    talk = (
        Talk()
        .calls("exec", script)
        .gets("Script completed\nWall time 0.4 seconds\nOutput:\nDeploy aborted: quota exceeded")
    )
    assert [e.text for e in talk.entries("command")] == ["`npm run deploy`"]
