"""What of a user message a person said."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.messages import Message, Text, ToolResult, text_message
from autocompact.core.spoken import FIGURE, attached, is_spoken, slash_command, spoken, standing_words

EXAMPLE = (
    "Here's a running example of how to perform a task with the provided tools.\n\nUSER: Never push.\n\n"
)
TASK = "--------------------- NEW TASK DESCRIPTION ---------------------\n"
TASK_END = "--------------------- END OF NEW TASK DESCRIPTION ---------------------"
TOLD = "<command-message>it is running…</command-message>"
NOTE = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system-reminder>note</system-reminder>Fix it", "Fix it"),
        ("<command-name>/review</command-name>\n<command-args>42</command-args>", "/review 42"),
        ("<command-name>/review</command-name>", "/review"),
        (
            "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix it\n",
            "fix it",
        ),
        ("quote this:\n## My request for Codex:\nfix it", "quote this:\n## My request for Codex:\nfix it"),
        ("# Context from my IDE setup:\n- a.py", "# Context from my IDE setup:\n- a.py"),
        ("<command-name>/exit</command-name>\n<command-args></command-args>", ""),
        ("<local-command-stdout>Bye</local-command-stdout>", ""),
        ("a < b", "a < b"),
        (
            "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>it</command-args>",
            "/plan it",
        ),
        (f"<command-name>/advisor</command-name>\n{TOLD}\n<command-args>opus</command-args>", ""),
        (f"<command-name>/of-next-year</command-name>{TOLD}<command-args>opus</command-args>", ""),
        ("<command-name>/advisor</command-name><command-args>opus</command-args>", ""),
        (
            f"<command-name>/plan</command-name>\n    {TOLD}\n    <command-args>/plan move it</command-args>",
            "/plan move it",
        ),
        (f"<command-name>/goal</command-name>{TOLD}<command-args></command-args>", ""),
        (
            f"{TOLD}\n<command-name>/import</command-name>\n<command-args>the pump</command-args>",
            "/import the pump",
        ),
        (f"{TOLD}\n<command-name>/compact</command-name>", ""),
        (
            f"{TOLD}\n<command-name>/a</command-name>\nand\n{TOLD}\n<command-name>/b</command-name>\n<command-args>1</command-args>",
            "/a\n\nand\n/b 1",
        ),
        (
            f"{TOLD}\n<command-name>/a</command-name>\n<command-args>{'long ' * 2_000}</command-args>",
            f"/a {'long ' * 2_000}".strip(),
        ),
        (
            "<command-name>/deploy</command-name>\n<command-args>use List</command-args> and such</command-args>",
            "/deploy use List and such",
        ),
        ('<skill name="review" location="/srv/SKILL.md">\nNever push.\n</skill>\n\nthe pump', "the pump"),
        ("EXECUTION RESULT of [terminal]:\nls", ""),
        ("[attempt_completion] Result:\n<feedback>\nMore, please.\n</feedback>", "More, please."),
        ("Observation: the pump leaks", "Observation: the pump leaks"),
        (f"{EXAMPLE}{TASK}Fix the pump.\n{TASK_END}\n\nPLEASE follow the format!", "Fix the pump."),
        (EXAMPLE, ""),
    ],
)
def test_what_the_client_wraps_around_is_not_the_users_words(text: str, words: str) -> None:
    assert spoken(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "This session is being continued from a previous conversation that ran out of context. The user ...",
        "<system-reminder>note</system-reminder>\n\nStop hook feedback:\n- run the tests",
        "<skill>\n<name>review</name>\nHow to review.</skill>",
        "Unknown command: /reviwe",
        "<bash-input>git pull</bash-input>\n<bash-stdout>Up to date.</bash-stdout><bash-stderr></bash-stderr>",
        "System: Please continue.",
        "[System] <skill_discovery>\n- plots\n</skill_discovery>",
        "[System] compute snapshot: 4 cores, 16 GB",
        "[System] Attached file: pump.csv",
        "[System] Attachment available: pump.csv",
        "[System] Showing lines 1 to 90 of 400.",
        "[System] If this requires a capability that is missing, say so.",
        "[System] Prior-turn images are left out.",
        "[System] Your execution plan has been approved. Follow it.",
        "[Memory] <memory_recall>\nThe user likes short answers.</memory_recall>",
        '[image: pump.png — saved as artifact; call read_file(version_id="4f") to view]',
        "<user_action>\n  <context>User initiated a review task.</context>\n  <action>review</action>\n</user_action>",
        "Ran `cat rules.md`\n```\nNever push.\n```",
        "Ran `for f in *; do\n  echo $f\ndone`\n(no output)",
        "Ran `make`\n```\nNever push.\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /tmp/o]",
        "I ran the following shell command:\n```sh\ncat rules.md\n```\n\nThis produced the following result:\n```\nNever push.\n```",
        "The following tool was executed by the user",
        "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.",
        'Called the Read tool with the following input: {"filePath":"/srv/pump.py"}',
        "<path>/srv/pump.py</path>\n<type>file</type>\n<content>\n1: # never push\n</content>",
    ],
)
def test_what_a_client_writes_in_the_users_place_is_nobodys_words(text: str) -> None:
    assert not is_spoken(text)
    assert not spoken(text)


@pytest.mark.parametrize(
    "text",
    [
        "This session is too long.",
        "Stop hook feedback is what I want to see.",
        "Unknown command: deploy\nWhy does it say so?",
        "System: Please continue. With the pump, I mean.",
        "[Memory] leaks 2 GB an hour in the worker: please find and fix it",
        "[System] clock is wrong",
        "[System Message] component: rename it",
        "[Memory note] feature: add tests",
        "[System] Attached files are lost",
        "[Auditor] role must not see prices",
        "[Systems] need a pump",
        "[Memory leak] in the pump",
        "[image: pump.png] What is wrong with it?",
        "Context summary:\n\n- the pump leaks",
        "<skill> is what I lack",
        "Say what <bash-stdout> is for.",
        "Ran `make`\n```\nerror\n```\nWhy?",
        "Ran `make`\n```\nerror\n```\nfix the parser, see log:\n```\nfoo\n```",
        "Ran `make`\nIt failed. So did `make -k`:\n```\nfoo\n```",
        "Ran out of ideas.",
        "I ran the following shell command:\n```sh\nmake\n```\n\nThis produced the following result:\n```\nerror\n```\nWhy?",
        "I ran the following shell command:\n```sh\nmake\n```\n\nThis produced the following result:\n```\nerror\n```\n"
        "fix the parser, see log:\n```\nfoo\n```",
        "Continue if you have next steps.",
        "Called the Read tool, why?",
        "",
    ],
)
def test_what_begins_alike_is_the_users_words(text: str) -> None:
    assert is_spoken(text) == bool(text)
    assert spoken(text) == text


_GEMINI = "I ran the following shell command:\n```sh\n{}\n```\n\nThis produced the following result:\n```\n"


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        ("Ran `x`\n```\n" + "`\n```\n" * 2_850, "```"),
        ("Ran `x`\n```\n", "```\n\n[Output truncated."),
        ("Ran `", "`\n```\n"),
        ("Ran `x`\n```\n", "``` "),
        (_GEMINI.format("x"), "\n``` x"),
        ("", _GEMINI.format("x")),
        ("<command-name>/a</command-name><command-args>", "<command-name>"),
        ("", "<command-name>/a</command-name><command-args>"),
        ("<command-name>/a</command-name><command-args>", "b</command-args>"),
    ],
)
def test_a_long_text_that_only_begins_like_a_clients_costs_little(begins: str, goes_on: str) -> None:
    text = begins + goes_on * (1_000_000 // len(goes_on)) + "x"
    before = time.process_time()
    assert is_spoken(text)
    assert spoken(text)
    # at most 0.7 s where nothing else runs; where it is quadratic, half a minute
    assert time.process_time() - before < 3


@pytest.mark.parametrize("text", ["<system-reminder>one " * 9, "<ide_selection><system-reminder>"])
def test_a_note_that_is_never_closed_is_taken_for_words(text: str) -> None:
    assert spoken(text) == text.strip()


def test_a_note_inside_a_note_goes_with_it() -> None:
    text = "<ide_selection>a<system-reminder>b</system-reminder>c</ide_selection>d<system-reminder>e"

    assert spoken(text) == "d<system-reminder>e"


_PIECES = st.sampled_from(
    [
        *("Fix it", " ", "\n", "<", "[", "[Request interrupted by user]", "</system-reminder>"),
        *(
            "<system-reminder>",
            NOTE,
            "<ide_selection>a</ide_selection>",
            "<command-name>/exit</command-name>",
        ),
        *("<command-name>/review</command-name>", "<command-args>42</command-args>", "<user_query>", "<b>"),
    ]
)


@given(st.lists(_PIECES, max_size=6).map("".join))
def test_there_are_words_where_any_are_left_without_what_the_client_writes(text: str) -> None:
    assert is_spoken(text) is bool(spoken(text))


def test_a_message_of_a_clients_notes_is_no_request_whatever_stands_beside_them() -> None:
    result = ToolResult(call_id="a", text="ok")

    assert not text_message(1, "user", f"{NOTE}\n{NOTE}").is_request
    assert not Message(seq=1, role="user", parts=(result, Text(text=NOTE))).is_request
    assert Message(seq=1, role="user", parts=(Text(text=NOTE), Text(text="Fix it."))).is_request
    assert text_message(1, "user", f"{NOTE}\nFix it.").is_request


@pytest.mark.parametrize(
    "text, names, left",
    [
        ("Please begin.", (), "Please begin."),
        ("<environment_context>x</environment_context> Go.", ("environment_context",), "Go."),
        ("<system-reminder>\n# a 12\nb</system-reminder>\n", ("system-reminder # a #",), ""),
        ("<system-reminder><total_tokens>9 left</total_tokens></system-reminder> Go.", (FIGURE,), "Go."),
        (
            "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>\n",
            ("INSTRUCTIONS # AGENTS.md instructions for /w",),
            "",
        ),
        ("# AGENTS.md\nWrite this file.", (), "# AGENTS.md\nWrite this file."),
        ("<instructions>Count to ten.</instructions>", (), "<instructions>Count to ten.</instructions>"),
        ("<environment_context>never closed", (), "<environment_context>never closed"),
        (
            "This is the Qwen Code. We are setting up the context for our chat.\nToday is Monday.",
            ("setup",),
            "",
        ),
        (
            "<permissions instructions>x</permissions instructions>\n<user_instructions>y</user_instructions>",
            ("permissions instructions", "user_instructions"),
            "",
        ),
    ],
)
def test_blocks_of_instructions_at_the_beginning_are_named_and_no_words_of_the_user(
    text: str, names: tuple[str, ...], left: str
) -> None:
    end, found = standing_words(text)
    assert found == names
    assert text[end:].strip() == left
    assert spoken(text) == left
    assert is_spoken(text) == bool(left)


def test_the_files_that_aider_resends_for_reference_are_instructions_and_no_request() -> None:
    text = "Here are some READ ONLY files, provided for your reference.\nDo not edit these files!\n\nRULES.md\n```\nBe brief.\n```\n"
    assert standing_words(text) == (len(text), ("read-only files",))
    assert not is_spoken(text)
    assert standing_words(f"Look: {text}") == (0, ())


@pytest.mark.parametrize(
    "text",
    [
        "Here are summaries of some files present in my git repository.\nDo not propose changes.\n\na.py:\n⋮",
        "I have *added these files to the chat* so you can go ahead and edit them.\n\na.py\n```\nx\n```\n",
        "I am not sharing any files that you can edit yet.",
        "Don't try and edit any existing code without asking me to add the files to the chat!\nTell me.\n",
        "I committed the changes with git hash 5eb50b4 & commit msg: fix: the seal",
        "I updated the files.",
        "I edited the files myself.",
        "I didn't see any properly formatted edits in your reply?!",
        "I added these files to the chat: a.py b.py\nLet me know if there are others we should add.",
        "I switched to a new code base. Please don't consider the above files or try to edit them any longer.",
        "I did `git reset --hard HEAD~1` to discard the last edits. Please wait for further instructions before attempting",
        "# 2 SEARCH/REPLACE blocks failed to match!\n\n## SearchReplaceNoExactMatch",
        "I ran this command:\n\nmake\n\nAnd got this output:\n\nok\n",
        "I spoke to you previously about a number of things.\nI asked you to mend the pump.",
    ],
)
def test_what_aider_says_in_the_users_place_is_no_request(text: str) -> None:
    assert not is_spoken(text)
    assert spoken(text) == ""
    assert is_spoken(f"Look: {text}")
    assert is_spoken("I updated the files. Now test them.")


def test_words_behind_a_note_of_the_editor_are_the_users() -> None:
    note = "<ide_opened_file>The user opened a.py</ide_opened_file>\n"
    assert is_spoken(f"{note}Mend it")
    assert not is_spoken(note)


def test_what_claude_code_writes_behind_an_accepted_plan_is_not_the_users() -> None:
    plan = "Implement the following plan:\n\n# Mend it\n\nVerify with `make check`."
    behind = "\n\n\nIf you need specific details from before exiting plan mode (like code), read the full transcript at: /x.jsonl"
    assert spoken(plan + behind) == plan


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (
            [
                "Look.",
                "\n--- Content from referenced files ---",
                "a",
                "b",
                "\n--- End of content ---",
                "Well?",
            ],
            [1, 2, 3, 4],
        ),
        (
            [
                "--- Content from referenced files ---",
                "a",
                "--- End of content ---",
                "b",
                "--- End of content ---",
                "Well?",
            ],
            [0, 1, 2, 3, 4],
        ),
        (["Look.", "--- Content from referenced files ---", "never closed"], [1, 2]),
        (["--- End of content ---", "--- Content from referenced files ---"], [1]),
        (["What does --- Content from referenced files --- mean?", "--- End of content ---"], []),
        ([], []),
    ],
)
def test_files_beside_the_users_words_are_between_two_marks(texts: list[str], places: list[int]) -> None:
    assert list(attached(texts)) == places


def test_a_command_is_read_where_a_text_begins_with_one() -> None:
    command = slash_command("\n<command-name>/review</command-name>\n<command-args>42</command-args>")
    assert command is not None
    assert command.typed == "/review 42"
    assert slash_command("/review 42") is None
    assert slash_command("What is <command-name>/review</command-name>?") is None
