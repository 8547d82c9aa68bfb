"""``autocompact chat`` through pipes and in a pseudo-terminal, offline and with a provider over HTTP."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autocompact.chat.loop_thread import LoopThread
from autocompact.chat.offline import LABEL
from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider
from tests.chat.chatting import Held
from tests.cli.pseudo_terminal import CTRL_C, CTRL_D, DISCARD, PATIENCE, TAB, UP, PseudoTerminal
from tests.warm import command

_OURS = ("AUTOCOMPACT_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "LLAMACPP_", "NO_COLOR")


class Place:
    """A folder with a store, and an environment in which nothing else is set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        self.env = {
            **inherited,
            "TERM": "xterm",
            "XDG_DATA_HOME": str(folder / "data"),
            "HOME": str(folder.with_name(f"{folder.name}-home")),  # a home folder is no workspace
            "INPUTRC": os.devnull,
        }

    def talk_to(self, provider: FakeProvider) -> None:
        self.env |= {
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "sk-of-the-tests",
            "AUTOCOMPACT_CHAT_MODEL": "compatible:any",
        }

    def piped(self, *arguments: str, words: str = "") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*command(), "chat", *arguments],
            input=words.encode(),
            capture_output=True,
            check=False,
            cwd=self.folder,
            env=self.env,
            timeout=PATIENCE,
        )

    def terminal(self, *arguments: str) -> PseudoTerminal:
        return PseudoTerminal("chat", *arguments, cwd=self.folder, env=self.env)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@contextmanager
def providing(provider: FakeProvider) -> Generator[LoopThread]:
    loop = LoopThread()
    try:
        loop.hold(provider)
        yield loop
    finally:
        loop.close()


# Pipes


def test_a_question_in_a_pipe_gets_its_answer_on_stdout_and_nothing_else(place: Place) -> None:
    with providing(provider := FakeProvider(["The answer\x1b]0;evil\x07 is\r\n42."])):
        place.talk_to(provider)
        done = place.piped("-", words="What is it?\n")
    assert (done.returncode, done.stdout) == (0, b"The answer\\x1b]0;evil\\x07 is\n42.\n"), done.stderr
    assert b"Kept: autocompact chat --resume 2" in done.stderr
    assert provider.requests[0].messages[-1]["content"] == "What is it?"


def test_the_command_that_goes_on_can_be_pasted_whatever_the_file_is_called(place: Place) -> None:
    done = place.piped("--db", "my chats.db", words="The harbour master's number is 4711.")
    told = done.stderr.decode().splitlines()[-1].removeprefix("Kept: ")
    assert shlex.split(told)[:4] == ["autocompact", "chat", "--db", "my chats.db"]


def test_a_piped_question_can_go_on_with_the_last_conversation(place: Place) -> None:
    first = place.piped("--db", "a.db", words="The harbour master's number is 4711.")
    second = place.piped("--db", "a.db", "--resume", "-", words="Which number has the harbour master?")
    id = first.stderr.decode().split()[-1]
    third = place.piped("--db", "a.db", f"--resume={id[:-2]}", "list")

    assert second.stdout.decode().startswith(LABEL)
    assert "> The harbour master's number is 4711." in second.stdout.decode()
    assert third.stdout.count(b"a.db (") == 1
    assert b"* list_files {} (0." in third.stderr
    assert {done.stderr.decode().split()[-1] for done in (first, second, third)} == {id}


def test_a_conversation_about_what_was_piped_in_is_titled_with_the_question_alone(place: Place) -> None:
    place.piped("--db", "a.db", "summarise this", words="commit 1a2b3c\n\n    Fix the rounding\n")
    listed = subprocess.run(
        [*command(), "list", "--db", "a.db"], capture_output=True, check=True, cwd=place.folder, env=place.env
    )
    assert b"summarise this" in listed.stdout
    assert b"`" not in listed.stdout
    assert b"commit" not in listed.stdout


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--model", "nonsense", "hello"], "'nonsense' names no model: write offline, or PROVIDER:MODEL"),
        (["--model", "openai:gpt-5-mini", "hello"], "needs OPENAI_API_KEY: set it in the environment"),
        (["--resume", "2020", "hello"], "no conversation begins with '2020'"),
        (["--resume", "-"], "there is no conversation yet"),
        (["-"], "an empty message cannot be sent"),
        (["--workspace", "nowhere", "hello"], "Directory 'nowhere' does not exist"),
        (["--window", "0", "hello"], "0 is too small"),
    ],
)
def test_what_cannot_be_used_is_told_on_stderr_with_exit_code_2(
    place: Place, arguments: list[str], said: str
) -> None:
    done = place.piped(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


@pytest.mark.parametrize("arguments, code", [(["hello"], 0), ([], 2), (["-"], 2)])
def test_a_question_is_answered_also_where_stdin_is_closed(
    place: Place, arguments: list[str], code: int
) -> None:
    cold = [sys.executable, "-m", "autocompact", "chat", "--model", "offline", *arguments]
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *cold],
        capture_output=True,
        check=False,
        cwd=place.folder,
        env=place.env,
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert bool(done.stdout) == (code == 0)
    assert (b"an empty message cannot be sent" in done.stderr) == (code == 2)


def test_a_provider_that_refuses_ends_the_pipe_with_exit_code_2_and_without_the_key(place: Place) -> None:
    with providing(provider := FakeProvider(api_key="another one")):
        place.talk_to(provider)
        done = place.piped("hello")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"sk-of-the-tests" not in done.stderr
    assert b"127.0.0.1" in done.stderr


def test_nobody_can_allow_a_command_in_a_pipe(place: Place) -> None:
    answers = [Answer(calls=(_call("run_command", command="touch made"),)), "I may not."]
    with providing(provider := FakeProvider(answers)):
        place.talk_to(provider)
        done = place.piped("--commands", "Make it.")
    assert (done.returncode, done.stdout) == (0, b"I may not.\n")
    assert b"Not allowed, since nobody can be asked" in done.stderr
    assert b"touch made" in done.stderr
    assert not (place.folder / "made").exists()


# A terminal


def test_the_person_talks_and_the_prompt_shows_model_and_meter(place: Place) -> None:
    with providing(provider := FakeProvider(["Hello to\x1b[31m you.", "Bye."])):
        place.talk_to(provider)
        with place.terminal("--window", "20000") as terminal:
            assert "/help shows the commands" in terminal.until("compatible:any █")
            terminal.prompt()
            terminal.enter("Good day")
            terminal.until("Hello to\\x1b[31m you.\n")
            terminal.prompt()
            terminal.enter("first \\")
            terminal.until("... ")
            terminal.enter("second")
            terminal.until("Bye.\n")
            terminal.prompt()
            terminal.press(CTRL_D)
            terminal.until("Kept: autocompact chat --resume 2")
            assert terminal.ended() == 0
    assert [asked.messages[-1]["content"] for asked in provider.requests] == ["Good day", "first \nsecond"]


@pytest.mark.requirement("A2")
@pytest.mark.requirement("E2")
def test_commands_compact_undo_search_and_pin(place: Place) -> None:
    with place.terminal("--db", "a.db") as terminal:
        terminal.prompt()
        for words in ("We decided to paint the shed green. " * 12, "And the door blue. " * 12, "ok"):
            terminal.enter(words.strip())
            terminal.until(LABEL.strip("*"))
            terminal.prompt()
        terminal.press(f"/comp{TAB}")
        terminal.until("/compact")
        terminal.enter(" the shed")
        terminal.until("tokens became")
        terminal.prompt()
        for command, answer in (
            ("/search shed", "We decided to paint the shed green."),
            ("/open m1", "We decided to paint the shed green."),
            ("/pin m1", "Pinned m1."),
            ("/unpin m1", "Unpinned m1."),
            ("/context", "system prompt  "),
            ("/undo", "the model is sent the whole log again"),
            ("/undo", "nothing"),
            ("/model offline", "The model is offline now."),
            ("/model x", "'x' names no model"),
            ("/nonsense", "There is no command '/nonsense'"),
            ("/help", "/search WORDS"),
        ):
            terminal.enter(command)
            terminal.until(answer)
            terminal.prompt()
        terminal.enter("/quit")
        assert terminal.ended() == 0


def test_ctrl_c_stops_the_answer_and_keeps_its_half(place: Place) -> None:
    with providing(provider := FakeProvider("one two three four five six")) as loop:
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            provider.fail("stalled")
            terminal.enter("Count.")
            terminal.until("one")
            terminal.press(CTRL_C)
            terminal.until("[cancelled: the partial answer is kept]")
            terminal.prompt()
            loop.run(provider.wait_for_abandoned())
            terminal.enter("Go on.")
            terminal.until("five six")
            terminal.prompt()
            terminal.press(CTRL_D)
            assert terminal.ended() == 0
        with place.terminal("--resume") as terminal:
            shown = terminal.prompt()
    assert (
        shown.index("m1 > Count.") < shown.index("one") < shown.index("[cancelled:") < shown.index("Go on.")
    )


def test_the_history_shows_results_with_their_own_calls_when_every_turn_counts_from_the_same_id(
    place: Place,
) -> None:
    def reads(path: str) -> Answer:
        return Answer(calls=(ToolCall(id="call_0", name="read_file", arguments=json.dumps({"path": path})),))

    for name in ("bergen", "oslo"):
        (place.folder / f"{name}.txt").write_text(f"tides of {name}")
    with providing(provider := FakeProvider([reads("bergen.txt"), "One.", reads("oslo.txt"), "Two."])):
        place.talk_to(provider)
        assert place.piped("Read one.").returncode == 0
        assert place.piped("--resume", "-", words="Read the other.").returncode == 0
        with place.terminal("--resume") as terminal:
            shown = terminal.prompt()
    first, second = shown.split("Read the other.")
    assert "bergen.txt" in first
    assert "oslo.txt" not in first
    assert "oslo.txt" in second


def test_a_failure_is_told_and_the_request_can_be_tried_again(place: Place) -> None:
    with providing(provider := FakeProvider(["Now it works."])):
        place.talk_to(provider)
        provider.fail("stream_error")
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter("Try.")
            terminal.until("(/retry asks again)")
            terminal.prompt()
            terminal.enter("/retry")
            terminal.until("Now it works.")
            terminal.prompt()
            terminal.press(UP + UP)
            terminal.until("Try.")
            terminal.press(DISCARD + CTRL_D)
            assert terminal.ended() == 0


def test_in_a_home_folder_the_agent_has_no_files_and_that_is_said(place: Place) -> None:
    place.env["HOME"] = str(place.folder)
    with place.terminal() as terminal:
        terminal.until("No workspace, since this is your home folder")
        terminal.prompt()
        terminal.enter("list")
        assert "list [FOLDER]" not in terminal.until("recall WORDS")
        terminal.prompt()


@pytest.mark.parametrize("typed, made", [("y", True), ("", False)])
def test_a_command_runs_only_after_a_yes_and_tools_are_shown_folded(
    place: Place, typed: str, made: bool
) -> None:
    answers = [Answer(calls=(_call("run_command", command="touch made"),), reasoning="Hm, why?"), "Well."]
    with providing(provider := FakeProvider(answers)):
        place.talk_to(provider)
        place.env["AUTOCOMPACT_CHAT_COMMANDS_SANDBOX"] = "false"
        with place.terminal("--commands") as terminal:
            terminal.prompt()
            terminal.enter("Make it.")
            terminal.until(
                "run_command: touch made\nIt runs without a sandbox, with all your rights: the settings say so.\n"
                "Allow it? [y]es, [a]lways here, [N]o, ne[v]er here "
            )
            terminal.enter(typed)
            folded = terminal.until("Well.")
            terminal.prompt()
    assert '* run_command {"command":"touch made"} (' in folded
    assert ("failed: " in folded) is not made
    assert (place.folder / "made").exists() is made


@pytest.mark.requirement("E3")
def test_a_compaction_on_the_path_of_a_turn_is_shown_and_divides_the_history(place: Place) -> None:
    settings = {"engine": {"background": False, "tailTokens": 200}, "models": {"window": 6000}}
    (place.folder / ".autocompact").mkdir()
    (place.folder / ".autocompact" / "settings.json").write_text(json.dumps(settings))
    (place.folder / "long.txt").write_text("Words that fill the context, for nothing else than that.\n" * 60)
    with place.terminal("--db", "a.db") as terminal:
        terminal.prompt()
        turn = ""
        while "Compressing context..." not in turn:
            terminal.enter("read long.txt")
            turn = terminal.until(LABEL.strip("*"))
            terminal.prompt()
        assert "── compacted: " in turn
    with place.terminal("--db", "a.db", "--resume") as terminal:
        shown = terminal.prompt()
    assert "── compacted: m1 to m" in shown


def test_conversations_are_listed_begun_resumed_edited_and_exported(place: Place) -> None:
    with providing(provider := FakeProvider(["A boat.", "A ship.", "A train."])):
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter("How to Oslo?")
            terminal.until("A boat.")
            terminal.prompt()
            terminal.enter("/edit\u3000How to Rome?")
            terminal.until("A ship.")
            terminal.prompt()
            terminal.enter("/new")
            terminal.prompt()
            terminal.enter("How to Bonn?")
            terminal.until("A train.")
            terminal.prompt()
            terminal.enter("/list")
            listed = terminal.prompt()
            terminal.enter("/resume")
            resumed = terminal.prompt()
            terminal.enter("/export trip.md")
            terminal.until("written to trip.md")
            terminal.prompt()
            terminal.enter("/export trip.md")
            terminal.until("trip.md exists: name another file")
            terminal.prompt()
            terminal.enter("/edit m99 No")
            terminal.until("message 99 is not one of your requests")
            terminal.prompt()
            terminal.enter("/quit")
            assert terminal.ended() == 0
    assert "How to Bonn?" in listed
    assert "How to Rome?" in resumed
    assert "How to Oslo?" not in resumed
    assert "A ship." in (place.folder / "trip.md").read_text()


@pytest.mark.parametrize("variable", [{}, {"NO_COLOR": "1"}])
def test_colours_are_left_out_where_nobody_wants_them(place: Place, variable: dict[str, str]) -> None:
    place.env |= variable
    with place.terminal() as terminal:
        terminal.prompt()
        terminal.enter("/nonsense")
        terminal.until("There is no command")
        terminal.prompt()
        colored = re.search(rb"\x1b\[[0-9;]*[349][0-9]m", terminal.raw) is not None
    assert colored is not bool(variable)


def test_markdown_is_painted_as_it_streams_and_left_alone_where_nobody_wants_that(place: Place) -> None:
    markdown = "## Tides\n\n- high: **06:12**\n\nSee [the table](https://example.org/tides)."
    with providing(provider := FakeProvider(markdown)):
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter("When?")
            terminal.until("Tides\n\n• high: 06:12\n\nSee the table (https://example.org/tides).\n")
            terminal.prompt()
            assert b"\x1b[0;1m06:12\x1b[0m" in terminal.raw
            terminal.press(CTRL_D)
            assert terminal.ended() == 0
        with place.terminal("--resume") as terminal:
            assert "• high: 06:12" in terminal.prompt()
        place.env |= {"NO_COLOR": "1"}
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter("When?")
            terminal.until(markdown)


def test_what_is_typed_while_an_answer_runs_is_asked_when_it_has_ended(place: Place) -> None:
    with providing(provider := FakeProvider(held := Held())) as loop:
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter("One")
            first = loop.run(held.asked())
            terminal.enter("Two")
            terminal.until("Two")
            loop.call(first.set)
            terminal.until("Answer to 'One'.")
            second = loop.run(held.asked())
            loop.call(second.set)
            terminal.until("Answer to 'Two'.")


def test_a_compaction_that_comes_to_nothing_is_told_once(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.prompt()
        terminal.enter("hello")
        terminal.prompt()
        terminal.enter("/compact")
        assert terminal.prompt().count("there is nothing to compact yet") == 1


def _call(tool: str, **arguments: object) -> ToolCall:
    return ToolCall(id="call_1", name=tool, arguments=json.dumps(arguments, separators=(",", ":")))


def test_a_pasted_text_of_many_lines_is_one_message_and_can_be_edited_over_lines(place: Place) -> None:
    pasted = "\n".join(f"line {number} of the paste" for number in range(40))
    with providing(provider := FakeProvider(["Read.", "Edited."])):
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.press(f"\x1b[200~{pasted}\x1b[201~")
            terminal.until("line 39 of the paste")
            terminal.press("\r")
            terminal.until("Read.\n")
            terminal.prompt()
            # Alt+Enter, and a backslash before Enter, begin a line; the arrow key goes up to the first one
            terminal.press("second\x1b\rthird\\\rfourth\x1b[A\x1b[A\x01first and \r")
            terminal.until("Edited.\n")
            terminal.prompt()
            terminal.press(CTRL_D)
            assert terminal.ended() == 0
    assert [request.last_text for request in provider.requests] == [
        pasted,
        "first and second\nthird\nfourth",
    ]


def test_a_message_that_begins_with_a_path_is_no_command(place: Place) -> None:
    """It was refused: "There is no command '/usr/bin/env:'"."""
    typed = "/usr/bin/env: python: not found"
    pasted = "unknown said:\nno such topic"
    with providing(provider := FakeProvider(["One.", "Two."])):
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter(typed)
            terminal.until("One.\n")
            terminal.prompt()
            terminal.press(f"\x1b[200~/{pasted}\x1b[201~\r")
            terminal.until("Two.\n")
            terminal.prompt()
            terminal.enter("/nonsense")
            terminal.until("There is no command '/nonsense'")
            terminal.prompt()
            terminal.press(CTRL_D)
            assert terminal.ended() == 0
    assert [request.last_text for request in provider.requests] == [typed, f"/{pasted}"]


def test_ctrl_c_and_ctrl_d_at_the_prompt_and_the_history_of_many_lines(place: Place) -> None:
    with place.terminal("--model", "offline") as terminal:
        terminal.prompt()
        terminal.press("\x1b[200~one\ntwo\x1b[201~\r")
        terminal.until("no memory file, holds these words")
        terminal.prompt()
        terminal.press(UP)
        terminal.until("two")
        terminal.press(CTRL_C)  # drops what is written
        terminal.press("three" + CTRL_C + CTRL_C)
        terminal.until("(Ctrl-C again, or Ctrl-D, leaves)")
        terminal.prompt()
        terminal.press(CTRL_C)
        assert terminal.ended() == 0


@pytest.mark.parametrize("columns", [60, 36])
def test_answers_are_wrapped_between_words_also_after_the_terminal_changed_its_size(
    place: Place, columns: int
) -> None:
    words = "Harbour masters remember every lighthouse between Bergen and Trondheim. "
    with providing(provider := FakeProvider([(words * 4).strip(), (words * 4).strip()])):
        place.talk_to(provider)
        with place.terminal() as terminal:
            terminal.prompt()
            terminal.enter("Tell me.")
            wide = terminal.until("Trondheim.\n")
            terminal.resize(columns)
            terminal.prompt()
            terminal.enter("Again.")
            terminal.until("Harbour")
            narrow = f"Harbour{terminal.prompt()}".split("\n")[:-1]
    assert max(map(len, wide.split("\n"))) > columns
    assert max(map(len, narrow)) <= columns
    assert " ".join(" ".join(narrow).split()) == (words * 4).strip()


def test_the_answer_to_one_question_is_had_as_json(place: Place) -> None:
    with providing(provider := FakeProvider(["All **well**\x1b[2J."])):
        place.talk_to(provider)
        done = place.piped("--json", "How are you?")
        refused = place.piped("--json", "--model", "nobody", "How are you?")
    (line,) = done.stdout.splitlines()
    document = json.loads(line)
    assert document["answer"] == "All **well**\x1b[2J."
    assert (document["message"], document["model"]) == (2, "compatible:any")
    assert 0 < document["usage"]["used"] < document["usage"]["threshold"] < document["usage"]["window"]
    assert f"--resume {document['conversation']}" in done.stderr.decode()
    assert (refused.returncode, refused.stdout) == (2, b"")


def test_a_question_is_sent_with_what_is_piped_in_after_it(place: Place) -> None:
    with providing(provider := FakeProvider(["Two commits.", "Nothing."])):
        place.talk_to(provider)
        answered = place.piped("summarise this", words="commit 1\n```\ncommit 2\n")
        alone = place.piped("summarise nothing", words="")
    assert (answered.stdout, alone.stdout) == (b"Two commits.\n", b"Nothing.\n")
    assert [request.last_text for request in provider.requests] == [
        "summarise this\n\n````\ncommit 1\n```\ncommit 2\n````",
        "summarise nothing",
    ]


def test_too_much_or_no_text_in_a_pipe_is_refused(place: Place) -> None:
    large = place.piped("summarise this", words="x" * 10_000_001)
    assert (large.returncode, large.stdout) == (2, b"")
    assert b"larger than 10,000,000 bytes" in large.stderr
    binary = subprocess.run(
        [*command(), "chat", "summarise"],
        input=b"\xff\xfe",
        capture_output=True,
        check=False,
        cwd=place.folder,
        env=place.env,
    )
    assert (binary.returncode, b"not UTF-8 (byte 0)" in binary.stderr) == (2, True)


def test_why_one_question_failed_is_said_once(place: Place) -> None:
    with providing(provider := FakeProvider(api_key="another one")):
        place.talk_to(provider)
        failed = place.piped("Hello?")
    assert (failed.returncode, failed.stdout) == (2, b"")
    assert failed.stderr.decode().count("127.0.0.1") == 1
    assert "/retry" not in failed.stderr.decode()


def test_a_conversation_is_deleted_in_the_terminal_after_a_yes_that_knows_what_goes(place: Place) -> None:
    with place.terminal("--model", "offline") as terminal:
        terminal.prompt()
        terminal.enter("The ketch is called Ines.")
        terminal.until("no memory file, holds these words")
        terminal.prompt()
        for answer in ("n", "y"):
            terminal.enter("/delete")
            asked = terminal.until("Delete it? This cannot be undone. [y/N]")
            assert "2 messages with tool calls and results" in asked
            assert "What stays:" in asked
            terminal.enter(answer)
            terminal.prompt()
        terminal.enter("/list")
        terminal.prompt()
        terminal.enter("/quit")
        assert terminal.ended() == 0
        assert "Ines" not in terminal.text.rpartition("Deleted.")[2]
    for path in (place.folder / "data").rglob("*"):
        assert not path.is_file() or b"Ines" not in path.read_bytes()
