from __future__ import annotations

import json

import pytest

from autocompact.core.actions import (
    Effect,
    Verb,
    ends,
    inserts,
    interpret,
    patched_files,
    shell_files,
    strings,
    todo_items,
    told,
)
from autocompact.core.messages import ToolCall
from autocompact.core.redacted import redacted_call
from autocompact.core.redaction import redact


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall(
        id="1", name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments)
    )


@pytest.mark.parametrize(
    ("name", "arguments", "verb", "files"),
    [
        ("Read", {"file_path": "/a/b.py", "limit": 3}, "read", [("/a/b.py", "read")]),
        ("Edit", {"file_path": "b.py", "old_string": "x", "new_string": "y"}, "edit", [("b.py", "edited")]),
        ("Write", {"file_path": "b.py", "content": "x"}, "create", [("b.py", "created")]),
        ("MultiEdit", {"file_path": "b.py", "edits": []}, "edit", [("b.py", "edited")]),
        ("replace", {"file_path": "b.py", "old_string": "x"}, "edit", [("b.py", "edited")]),
        ("write_file", {"file_path": "b.py", "content": "x"}, "create", [("b.py", "created")]),
        ("view", {"path": "b.py"}, "read", [("b.py", "read")]),
        ("str_replace_editor", {"command": "create", "path": "b.py"}, "create", [("b.py", "created")]),
        ("str_replace_editor", {"command": "view", "path": "b.py"}, "read", [("b.py", "read")]),
        ("delete_file", {"path": "b.py"}, "delete", [("b.py", "deleted")]),
        ("apply_patch", {"input": "*** Add File: n.py\n+x"}, "edit", [("n.py", "created")]),
        ("Grep", {"pattern": "x", "path": "src"}, "search", []),
        ("TodoWrite", {"todos": []}, "todo", []),
        ("update_plan", {"plan": []}, "todo", []),
        ("TaskCreate", {"subject": "x"}, "todo", []),
        ("update_step_status", {"step": "x", "status": "completed"}, "todo", []),
        ("set_light", {"step": 3}, "other", []),
        ("deploy_service", {"step": "restart the database", "status": "pending"}, "other", []),
        ("Task", {"prompt": "x"}, "spawn", []),
        ("TaskOutput", {"task_id": "a1"}, "poll", []),
        ("KillShell", {"shell_id": "a1"}, "stop", []),
        ("stop_bash", {"shellId": 4}, "stop", []),
        ("WebSearch", {"query": "x"}, "search", []),
        ("frobnicate", {"x": 1}, "other", []),
        ("modify", "*** Update File: n.py\n@@", "edit", [("n.py", "edited")]),
        ("lookup", "free words", "other", []),
        ("Workflow", {"script": "export const meta = {}"}, "other", []),
        ("run_python", {"code": "print(1)"}, "run", []),
        ("insert_edit_into_file", {"filePath": "b.py", "code": "x"}, "edit", [("b.py", "edited")]),
        ("Read", {"file_path": "C:\\w\\b.py"}, "read", [("C:/w/b.py", "read")]),
        ("run_command", {"CommandLine": "ls", "Cwd": "/w"}, "run", []),
    ],
)
def test_a_call_is_understood_whichever_agent_made_it(
    name: str, arguments: object, verb: Verb, files: list[tuple[str, Effect]]
) -> None:
    action = interpret(redacted_call(call(name, arguments)))

    assert (action.verb, list(action.files)) == (verb, files)


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("Bash", {"command": "ls -l"}, "ls -l"),
        ("exec_command", {"cmd": "ls -l", "workdir": "/x"}, "ls -l"),
        ("shell", {"command": ["bash", "-lc", "ls -l"]}, "ls -l"),
        ("shell", {"command": [], "cmd": "ls -l"}, "ls -l"),
        ("shell", {"command": ["ls", "-l"]}, "ls -l"),
        ("shell", {"command": ["sleep", 5]}, "sleep 5"),
        ("bash", "ls -l", "ls -l"),
        ("bash", "{not json", "{not json"),
    ],
)
def test_a_command_line_is_found(name: str, arguments: object, command: str) -> None:
    action = interpret(redacted_call(call(name, arguments)))

    assert (action.verb, action.command) == ("run", command)


def test_a_call_without_arguments_has_no_text() -> None:
    assert interpret(redacted_call(call("refresh", {}))).text == ""


def test_a_numeric_task_id_is_read_as_text() -> None:
    assert interpret(redacted_call(call("write_stdin", {"session_id": 42}))).task == "42"


def test_numbers_and_flags_among_the_arguments_are_no_text() -> None:
    arguments = redacted_call(call("note", {"a": ["x", {"b": "y"}], "c": 3, "d": True})).values

    assert list(strings(arguments)) == ["x", "y"]


def test_a_patch_names_each_file_with_what_it_does() -> None:
    patch = "*** Update File: a.py\n*** Move to: b.py\n*** Delete File: c.py\n*** Add File: d.py"

    assert patched_files(redact(patch)) == (
        ("a.py", "edited"),
        ("b.py", "created"),
        ("c.py", "deleted"),
        ("d.py", "created"),
    )


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat src/a.py | head", [("src/a.py", "read")]),
        ("cd x && sed -n '1,20p' a.py", [("a.py", "read")]),
        ("sed -i s/a/b/ a.py", [("a.py", "edited")]),
        ("git rm old.py", [("old.py", "deleted")]),
        ("mv a.py b.py", [("a.py", "deleted"), ("b.py", "created")]),
        ("echo x > out.txt", [("out.txt", "created")]),
        ("make >> log/out.txt", [("log/out.txt", "edited")]),
        ("echo a > b.txt; echo c >> b.txt", [("b.txt", "created")]),
        ("run 2>/dev/null.x", []),
        ("ls", []),
        ("mv a.py src/b.py lib/", [
            ("a.py", "deleted"), ("lib/a.py", "created"), ("src/b.py", "deleted"), ("lib/b.py", "created"),
        ]),
        ("mv a.py b.py src/lib", [
            ("a.py", "deleted"), ("src/lib/a.py", "created"), ("b.py", "deleted"), ("src/lib/b.py", "created"),
        ]),
        ("mv -f a.py ../", [("a.py", "deleted")]),
        ("mv -v", []),
        ("sed -i.bak 's/a b/c/' a.py", [("a.py", "edited")]),
        ("sed -E -i s/a/b/ a.py && sed -n '1,9p' a.py", [("a.py", "edited")]),
        ("sed --in-place s/a/b/ 'a.py'", [("a.py", "edited")]),
        ("rm -f a.txt && make > a.txt", [("a.txt", "created")]),
        ("make > a.txt; cat a.txt; rm a.txt; cat a.txt", [("a.txt", "deleted")]),
        ("cat a.txt; make > a.txt", [("a.txt", "created")]),
    ],
)  # fmt: skip
def test_plain_file_commands_are_seen(command: str, files: list[tuple[str, Effect]]) -> None:
    assert list(shell_files(redact(command))) == files


@pytest.mark.parametrize(
    "command",
    [
        """node -e "console.log(require('./a').map(x => x.id))" """,
        "jq '.[] | select(.size > 5.5 )'",
        "git commit -m 'Rename a.py -> b.py for clarity'",
        "echo 'done; rm a.py '",
        "echo 'cut off => x.id )",
        "make # then cat it > a.py",
    ],
)
def test_what_stands_in_quotes_or_a_comment_is_no_command(command: str) -> None:
    assert shell_files(redact(command)) == ()


def test_quotes_in_a_comment_or_behind_a_backslash_hold_nothing() -> None:
    command = "# don't\nrm a.py\n# isn't\necho it\\'s > b.txt; cat 'c.py'"

    assert shell_files(redact(command)) == (("a.py", "deleted"), ("b.txt", "created"), ("c.py", "read"))


def test_the_text_of_a_here_document_is_no_command() -> None:
    command = "cat > notes.md <<'EOF'\nwrite it to <case>/summary.txt\nrm old.py\nEOF\nrm gone.py"
    assert shell_files(redact(command)) == (("notes.md", "created"), ("gone.py", "deleted"))
    assert shell_files(redact("cat <<EOF > notes.md\nrm old.py\nEOF")) == (("notes.md", "created"),)


_LONG = "The ring buffer drops one sample when it wraps around."


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (
            "write_memory",
            {"append": [{"text": _LONG, "evidence": "observed"}], "note": _LONG},
            f"{_LONG}\n\n{_LONG}",
        ),
        ("save_memory", {"fact": _LONG}, _LONG),
        ("think", {"thought": _LONG}, _LONG),
        ("update_step_status", {"step": "Mend it", "status": "completed", "notes": _LONG}, _LONG),
        ("update_plan", {"explanation": _LONG, "plan": [{"step": _LONG}]}, _LONG),
        ("finish", {"message": _LONG}, _LONG),
        ("search_memory", {"query": _LONG}, ""),
        ("memory", {"command": "create", "path": "/memories/a.md", "file_text": _LONG}, ""),
        ("Bash", {"command": "ls", "notes": _LONG}, ""),
        ("write_memory", {"key": "a" * 99, "short": "too short"}, ""),
    ],
)
def test_what_an_agent_says_in_a_call_is_heard(name: str, arguments: object, words: str) -> None:
    assert told(interpret(redacted_call(call(name, arguments)))) == words


def test_the_end_of_the_work_is_known_by_its_call() -> None:
    assert ends(interpret(redacted_call(call("attempt_completion", {"result": "x"}))))
    assert not ends(interpret(redacted_call(call("Bash", {"command": "finish"}))))


def test_of_a_plan_in_parts_the_innermost_are_its_items() -> None:
    steps = [{"title": "Measure", "needs": ["a"]}, {"title": "Mend"}]
    phases: list[object] = [
        {"name": "First", "tracks": [{"name": "Only", "steps": steps}]},
        {"name": "Then", "steps": []},
        "x",
    ]
    plan = interpret(redacted_call(call("generate_plan", {"phases": phases})))
    assert [item.get("title", item.get("name")) for item in todo_items(plan)] == ["Measure", "Mend", "Then"]
    assert todo_items(interpret(redacted_call(call("run_it", {"steps": steps})))) == []
    todos: list[object] = [
        {"content": "Parse", "comments": [{"author": "x"}]},
        {"content": "Test", "status": "pending", "subtasks": [{"content": "Test it all"}]},
    ]
    found = todo_items(interpret(redacted_call(call("TodoWrite", {"todos": todos}))))
    assert [item["content"] for item in found] == ["Parse", "Test", "Test it all"]


def test_commands_that_have_labels_are_run_one_after_the_other() -> None:
    commands = [
        {"label": "files", "command": "ls -la"},
        {"label": "state", "command": "git status"},
        {"label": "none"},
    ]
    call = ToolCall(id="1", name="batch_execute", arguments=json.dumps({"commands": commands}))
    action = interpret(redacted_call(call))
    assert (action.verb, action.command) == ("run", "ls -la\ngit status")


def test_a_step_of_sed_is_no_file() -> None:
    line = "ls parts | sed -n '/better-part/p'; sed -n '/a/,/b/p' c.py"
    assert shell_files(redact(line)) == (("c.py", "read"),)


def test_the_lines_behind_a_path_are_no_part_of_it() -> None:
    def path(given: str) -> str:
        return interpret(redacted_call(call("read", {"path": given}))).files[0][0]

    assert path("src/dispatch.rs:230-316") == "src/dispatch.rs"
    assert path("app/[id].tsx:7,9-12") == "app/[id].tsx"
    assert path("C:/a.py") == "C:/a.py"


def test_a_call_that_puts_text_into_a_file_is_told_from_one_that_writes_it_whole() -> None:
    into = {"path": "a.py", "text": "x"}
    assert inserts(interpret(redacted_call(call("insert_lines", into))))
    assert not inserts(interpret(redacted_call(call("write_file", into))))
