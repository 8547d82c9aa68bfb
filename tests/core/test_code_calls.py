from __future__ import annotations

import json

import pytest

from autocompact.core.actions import interpret
from autocompact.core.code_calls import LONGEST, code_call, script_results
from autocompact.core.messages import ToolCall
from autocompact.core.redacted import redacted_call

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"


def read(script: str) -> tuple[str, object]:
    call = code_call(script)
    assert call is not None
    return call.name, json.loads(call.arguments)


def test_a_call_in_a_script_is_read_with_its_arguments() -> None:
    script = """const r = await tools.exec_command({
      cmd: "rg -n 'a\\\\.b' src\\t# \\u00fc\\x41\\u{1F600}\\q", // looks
      "workdir": '/w', yield: 1_000, share: .5, tty: true, /* none */ env: null, list: [1.5, -2, [],],
    });
    text(r.output);"""
    script = script.replace("share: .5, ", "")

    assert read(script) == ("exec_command", {"cmd": "rg -n 'a\\.b' src\t# üA😀q"})
    assert read("tools.view({path: 'a', n: 1.5, more: [1_0, {}], ok: false})") == (
        "view",
        {"path": "a", "n": 1.5, "more": [10, {}], "ok": False},
    )


def test_constants_and_sums_of_strings_stand_for_what_they_say() -> None:
    script = 'const cmd = "make " + `test`; const n = {a: cmd}; await tools.exec_command({cmd, n});'
    assert read(script) == ("exec_command", {"cmd": "make test"})
    assert read('tools.exec({command: ["a", 1, "b"].join("\\n")})') == ("exec", {"cmd": "a\nb"})
    assert read('tools.exec({command: "a" + 1})') == ("exec", {"cmd": "a"})


def test_a_script_with_a_patch_is_its_patch_and_one_with_commands_all_of_them() -> None:
    patch = code_call(f"const patch = {json.dumps(PATCH)};\ntext(await tools.apply_patch(patch));")
    assert patch == ToolCall(id="", name="apply_patch", arguments=PATCH)
    both = 'Promise.all([tools.plan({a: 1}), tools.exec_command({cmd: "ls"}), tools.exec_command({cmd: " make "}), tools.exec_command({cmd: "ls"})])'
    assert read(both) == ("exec_command", {"cmd": "ls; make"})
    assert read('tools.run({cmd: "cat <<E\\nx\\nE"}); tools.run({cmd: "ls"})')[1] == {
        "cmd": "cat <<E\nx\nE\nls"
    }


def test_the_first_call_counts_where_none_runs_a_command() -> None:
    assert read('tools.write_stdin({session_id: 7, chars: ""})') == (
        "write_stdin",
        {"session_id": 7, "chars": ""},
    )
    assert code_call('tools.say("tools.exec_command({cmd: 1})")') == ToolCall(
        id="", name="say", arguments="tools.exec_command({cmd: 1})"
    )
    assert read("tools.plan([1])") == ("plan", {})


@pytest.mark.parametrize(
    "argument",
    [
        "f(x)",
        "{cmd: run()}",
        "{[a]: 1}",
        '"open',
        '["a"].join(x)',
        '["a"].join("b"',
        "[" * 20,
        "",
    ],
)
def test_what_is_worked_out_when_the_script_runs_is_left_out(argument: str) -> None:
    assert read(f"tools.exec_command({argument}") == ("exec_command", {})


def test_what_stands_before_what_is_worked_out_is_read() -> None:
    script = 'tools.exec_command({cmd: "gh pr edit 7 --body " + JSON.stringify(body), workdir: "/w"})'
    assert read(script) == ("exec_command", {"cmd": "gh pr edit 7 --body"})
    deep = json.dumps(read("tools.say(" + "{a: " * 30)[1])
    assert deep.count("{") == 13


def test_a_text_without_calls_a_patch_and_a_very_long_script_are_none() -> None:
    assert code_call("const a = 1; text(a)") is None
    assert code_call(f"{PATCH}\ntools.run({{cmd: 1}})") is None
    assert code_call("tools.run({})" + " " * LONGEST) is None
    # no point of Unicode
    assert read('tools.say({a: "\\u{110000}\\ud800"})') == ("say", {"a": "\ufffd\ufffd"})


def test_the_action_of_a_script_is_that_of_what_it_calls() -> None:
    def action(script: str):
        return interpret(redacted_call(ToolCall(id="c", name="exec", arguments=script)))

    ran = action('const r = await tools.exec_command({cmd: "cat a.py && make test"}); text(r.output)')
    assert (ran.verb, ran.command, ran.files) == ("run", "cat a.py && make test", (("a.py", "read"),))
    edited = action(f"await tools.apply_patch({json.dumps(PATCH)})")
    assert (edited.verb, edited.files) == ("edit", (("a.py", "edited"),))
    polled = action("await tools.write_stdin({session_id: 7})")
    assert (polled.verb, polled.task) == ("poll", "7")
    assert action("echo tools. && ls").command == "echo tools. && ls"
    key = "ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A"
    assert key not in action(f'tools.exec_command({{cmd: "curl -H \\u0027{key}\\u0027"}})').command


HEAD = "Script completed\nWall time 1.2 seconds\nOutput:\n\n"


def test_what_a_script_printed_is_told_without_its_wrapping_and_with_the_worst_exit_code() -> None:
    assert script_results(f"{HEAD}all good\n") == "Script completed\nall good"
    assert script_results(f'{HEAD}{{"exit_code":0,"output":"5 passed"}}') == "5 passed\nExit code 0"
    two = '{"exit_code":0,"output":"a"}\n{"exit_code":2,"output":"b"}\n{"exit_code":1,"output":"c"}'
    assert script_results(HEAD + two) == "a\nb\nc\nExit code 2"
    spaced = '{"exit_code":0,"output":"a"}\n\n{}\n{"exit_code":0,"output":"b"}'
    assert script_results(HEAD + spaced) == "a\n\n\nb\nExit code 0"
    mixed = 'one\n{"exit_code":1,"output":"b"}\ntwo'
    assert script_results(HEAD + mixed) == "one\nb\ntwo\nExit code 1"
    assert script_results(f"{HEAD}{{}}") == ""
    assert script_results(f'{HEAD}{{"a": 1}}') == 'Script completed\n{"a": 1}'
    assert script_results(f"{HEAD}{{no json}}") == "Script completed\n{no json}"
    assert script_results(f'{HEAD}{{"output":"a"}}') == "Script completed\na"
    assert script_results("Script failed\nWall time 1 seconds\nOutput:\n\nTypeError: x") == (
        "TypeError: x\nExit code 1"
    )
    assert script_results("Script kiddies") is None


def test_what_a_script_left_running_is_told_with_its_id() -> None:
    running = '{"session_id":7,"output":"Compiling"}'
    assert script_results(HEAD + running) == "Process running with session ID 7\nCompiling"
    told = "Chunk ID: a1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nCompiling"
    assert script_results(HEAD + told) == told
    cell = "Script running with cell ID 16\nWall time 10.0 seconds\nOutput:\n"
    assert script_results(cell) == "Script running with cell ID 16\n"


@pytest.mark.parametrize(
    "output",
    [
        'boom\n{"exit_code":0,"output":"pushed"}',
        '{"exit_code":0,"output":"pushed"}\nboom',
        '{"exit_code":0,"output":"pushed"}\n{"output":"boom"}',
    ],
)
def test_the_exit_code_of_one_call_is_not_that_of_the_others(output: str) -> None:
    told = script_results(HEAD + output)
    assert told is not None
    assert told.startswith("Script completed\n")
    assert "Exit code" not in told


def test_a_session_that_goes_on_is_told_before_what_ended_well_and_after_what_failed() -> None:
    for output in (
        '{"exit_code":0,"output":"built"}\n{"session_id":7,"output":"serving"}',
        'built\n{"session_id":7,"output":"serving"}',
    ):
        assert script_results(HEAD + output) == "Process running with session ID 7\nserving\nbuilt"
    bad = '{"exit_code":2,"output":"broken"}\n{"session_id":7,"output":"serving"}'
    assert script_results(HEAD + bad) == ("broken\nProcess running with session ID 7\nserving\nExit code 2")
    assert script_results(f'{HEAD}{{"session_id":[7],"output":"a"}}') == "Script completed\na"


def test_json_without_an_end_in_sight_is_text() -> None:
    deep = '{"a":' * 3_000 + "1" + "}" * 3_000
    assert script_results(HEAD + deep) == f"Script completed\n{deep}"


def test_a_script_that_writes_itself_is_read_once() -> None:
    half = "tools.exec(`const q='`+q+`';const s=`+q+s+q+s)"
    script = f'const q=\'"\';const s=";{half}";{half}'
    assert read_as_call(script) == script
    assert interpret(redacted_call(ToolCall(id="c", name="exec", arguments=script))).command == script
    joins = "tools.say([]" + ".join([]" * 9_000
    assert read(joins) == ("say", {})


def read_as_call(script: str) -> str:
    call = code_call(script)
    assert call is not None
    return call.arguments


@pytest.mark.parametrize(
    "script",
    [
        f'const a="{"x" * 20_000}";tools.f({{x:[{"a," * 20_000}]}})',
        f'const a="{"x" * 20_000}";tools.f({{{"a," * 20_000}}})',
        f"const p={json.dumps(PATCH + 'x' * 15_000)};{'tools.p(p);' * 1_400}",
        f'const a="{"x" * 15_000}";{"tools.e({cmd:a+`1`});" * 2_000}',
        f'const a="{"x" * 15_000}";' + "".join(f"tools.e({{cmd:a+'{n}'}});" for n in range(2_000)),
        f"tools.f([{('[' + '``,' * 400 + '].join(`' + 'x' * 480 + '`),') * 100}])",
        f"const n={'9' * 4_000};tools.f({{x:[{'n,' * 40_000}]}})",
    ],
)
def test_what_a_script_says_again_and_again_takes_no_memory(script: str) -> None:
    assert len(read_as_call(script)) < 5 * len(script) + 20_000


@pytest.mark.parametrize("opening", ["const a=/*", "//const a=[\n", "const a=['x',/*const b=[*/'y',"])
def test_what_is_never_closed_is_not_looked_for_from_every_place_again(opening: str) -> None:
    assert code_call(opening * (190_000 // len(opening))) is None


def test_a_comment_that_is_never_closed_ends_what_is_read() -> None:
    assert read('tools.run({cmd: "ls", /* and') == ("run", {"cmd": "ls"})


def test_constants_that_hold_each_other_again_and_again_take_no_memory() -> None:
    names = [chr(98 + number) for number in range(20)]
    for form in ("[{}].join('')", "[{}]", "{{a: [{}]}}"):
        doubled = "".join(
            f"const {name}={form.format(','.join([chr(ord(name) - 1)] * 10))};" for name in names
        )
        script = f"const a='0123456789';{doubled}tools.x({{u, c}}); tools.y(u)"
        assert len(json.dumps(read(script))) < 2_000
    added = "".join(f"const {name}={'+'.join([chr(ord(name) - 1)] * 10)};" for name in names)
    assert len(json.dumps(read(f"const a='0123456789';{added}tools.x({{u, c}})"))) < 2_000


def test_a_script_that_names_a_session_of_its_own_accord_goes_on() -> None:
    head = "Script completed\nWall time 1.2 seconds\nOutput:\n"
    assert script_results(head + "built\nSESSION_ID=55\n") == "Process running with session ID 55\nbuilt\n"
    assert script_results(head + "session_id: 55") == "Process running with session ID 55\n"


@pytest.mark.parametrize(
    "output",
    [
        "session id: 7 is over",
        "Session ID: 4711",
        "session_id: 7 is over",
        "SESSION_ID=7\nlogged in",
        "OLD_SESSION_ID=7",
    ],
)
def test_a_session_of_any_other_program_is_none_that_goes_on(output: str) -> None:
    assert script_results(HEAD + output) == f"Script completed\n{output}"
    coded = json.dumps({"exit_code": 0, "output": "SESSION_ID=7"})
    assert script_results(HEAD + coded) == "SESSION_ID=7\nExit code 0"
