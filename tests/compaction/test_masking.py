from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.compaction.masking import LEAST_CUT, MIN_TOKENS, cut_results, mask_old_results
from autocompact.compaction.record import Mask
from autocompact.compaction.transcript import masked
from autocompact.core.actions import interpret
from autocompact.core.content import LOOKED_AT, Content, content_of
from autocompact.core.messages import Image, Message, Text, ToolCall, ToolResult
from autocompact.core.redacted import redacted_call
from autocompact.core.references import parse_reference
from autocompact.core.tokens import Estimator, message_cost
from tests.core.strategies import LengthCounter, histories, numbered, said

LONG = "x" * 1_000
COUNTER = LengthCounter()


def use(
    id: str, output: str = LONG, *, name: str = "Bash", is_error: bool = False, **arguments: object
) -> list[Message]:
    """A call and its result."""
    made = ToolCall(id=id, name=name, arguments=json.dumps(arguments))
    return [said("assistant", made), said("tool", ToolResult(call_id=id, text=output, is_error=is_error))]


def masks_of(
    steps: Sequence[Message], *, ends: bool = True, **limits: int | frozenset[int] | None
) -> tuple[Mask, ...]:
    """The masks of these steps; `ends`: the model spoke after them, so it has seen the last result."""
    messages = numbered([*steps, said("assistant", "ok")] if ends else steps)
    tokens = [message_cost(message, COUNTER).tokens for message in messages]
    return mask_old_results(messages, tokens, counter=COUNTER, **limits)  # pyright: ignore[reportArgumentType] - each test names its own limits


def seqs(masks: Sequence[Mask]) -> list[int]:
    return [mask.seq for mask in masks]


def stub(*steps: Message) -> str:
    """The stub of the only result that goes."""
    (mask,) = masks_of(steps)
    return mask.stub


@given(histories(), st.integers(0, 40), st.integers(0, 200))
def test_every_stub_weighs_strictly_less_and_nothing_small_goes(
    messages: list[Message], min_tokens: int, protect_tokens: int
) -> None:
    long = [
        m.with_parts(
            ToolResult(call_id=p.call_id, text=p.text * 60) if isinstance(p, ToolResult) else p
            for p in m.parts
        )
        for m in messages
    ]
    tokens = [message_cost(message, COUNTER).tokens for message in long]
    masks, again = (
        mask_old_results(long, tokens, counter=COUNTER, min_tokens=min_tokens, protect_tokens=protect_tokens)
        for _ in range(2)
    )
    assert masks == again
    for mask in masks:
        before = long[mask.seq - 1]
        after = masked(before, [mask])
        assert message_cost(after, COUNTER).tokens < tokens[mask.seq - 1]
        assert tokens[mask.seq - 1] >= min_tokens


def test_a_stub_says_what_it_was_and_where_it_is() -> None:
    output = "\n".join(f"line {n} of the log of the unit tests" for n in range(20)) + "\n3 passed"
    assert stub(*use("a", output, command="cd app && npm test")) == (
        '[left the context: Bash "npm test" (test output, 750 tokens, 21 lines), 3 passed; '
        'memory_expand("m2") shows it]'
    )
    assert parse_reference("m2") == 2


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (use("a", f"Exit code 2\n{LONG}\nTypeError: no such field", command="npm test"), "failed with exit code 2: TypeError: no such field"),
        (use("a", f"{LONG}\nerror: linker not found", command="make"), ", failed: error: linker not found;"),
        (use("a", f"{LONG}\n12 passed", command="pytest"), ", 12 passed;"),
        (use("a", f"{LONG}\nexited with code 1", command="grep x y"), "(search, 1,031 tokens, 2 lines), failed with exit code 1;"),
        (use("a", f"{LONG}\n3 errors and an error: found", command="cat log.txt"), "2 lines); memory"),
        (use("a", f"{LONG}\n3 failed", name="Read", file_path="log.txt"), "2 lines); memory"),
        (use("a", LONG, name="Poke"), "[left the context: Poke (other, 1,012 tokens, 1 line); memory"),
        (use("a", LONG, name="Ask", query="who   is\nit"), 'Ask "who is it" ('),
        (use("a", LONG, command="echo " + "y" * 80), '"echo ' + "y" * 54 + '…" ('),
    ],
)  # fmt: skip
def test_a_stub_keeps_how_it_ended(step: list[Message], expected: str) -> None:
    assert expected in stub(*step)


def test_a_stub_shows_no_secret() -> None:
    key = "sk-proj-" + "a1B2c3D4e5" * 4
    assert key not in stub(
        *use("a", command=f"curl -H 'Authorization: Bearer {key}' https://api.example.com")
    )


def test_where_a_full_stub_is_no_gain_a_short_one_is_taken_and_else_none() -> None:
    step = use("a", "y" * 60, command="ls " + "z" * 50)
    (mask,) = masks_of(step, min_tokens=0)
    assert mask.stub == '[left the context: memory_expand("m2") shows it]'
    assert masks_of(use("a", "y" * 20, command="ls"), min_tokens=0) == ()
    assert masks_of(use("a", "y" * (MIN_TOKENS - 13), command="ls")) == ()


def test_what_the_model_has_not_seen_yet_stays() -> None:
    steps = [*use("a", command="make"), *use("b", command="ls")]
    assert seqs(masks_of(steps, ends=False)) == [2]
    assert seqs(masks_of(steps)) == [2, 4]
    assert masks_of([said("user", "hi")], ends=False) == ()


def test_of_a_result_given_twice_the_one_that_answers_the_call_is_masked() -> None:
    (asked, told) = use("a", command="make")
    (mask,) = masks_of([asked, told.with_parts((*told.parts, *told.parts))])
    assert (mask.seq, mask.part) == (2, 0)


def test_the_newest_results_stay_up_to_a_weight() -> None:
    steps = [m for n in range(4) for m in use(f"c{n}", command=f"make {n}")]
    assert seqs(masks_of(steps, protect_tokens=2_100)) == [2, 4]
    assert seqs(masks_of(steps, protect_tokens=500)) == [2, 4, 6, 8]
    assert seqs(masks_of(steps, protect_tokens=100_000)) == []
    assert seqs(masks_of(steps, keep_from=6)) == [2, 4]
    assert seqs(masks_of(steps, pinned=frozenset({4}))) == [2, 6, 8]


def test_errors_stay_until_a_later_run_of_the_same_overcame_them() -> None:
    failed = use("a", is_error=True, command="make")
    assert masks_of(failed) == ()
    assert seqs(masks_of([*failed, *use("b", "ok", command="cd src && make")])) == [2]


@pytest.mark.parametrize(
    ("later", "first"),
    [
        (use("b", "short", name="Read", file_path="a.py"), 4),
        (use("b", "short", name="Edit", file_path="a.py", old_string="1", new_string="2"), 4),
        (use("b", "short", command="cat a.py"), 4),
        (use("b", "short", name="Read", file_path="a.py", limit=5), 2),
        (use("b", "short", name="Read", file_path="b.py"), 2),
        (use("b", "no such text", name="Edit", is_error=True, file_path="a.py", old_string="1", new_string="2"), 2),
    ],
)  # fmt: skip
def test_outdated_reads_go_first(later: list[Message], first: int) -> None:
    steps = [*use("x", command="make"), *use("a", name="Read", file_path="a.py"), *later]
    assert seqs(masks_of(steps, save_tokens=1)) == [first]
    assert seqs(masks_of(steps, save_tokens=1_000)) == [2, 4]
    assert masks_of(steps, save_tokens=0) == ()


def test_polls_of_one_shell_each_tell_something_new() -> None:
    poll = {"name": "write_stdin", "session_id": 7}
    steps = [*use("x", command="make"), *use("a", **poll), *use("b", **poll)]  # pyright: ignore[reportArgumentType] - a tool's name and its arguments
    assert seqs(masks_of(steps, save_tokens=1)) == [2]


def test_the_users_answers_made_messages_and_orphans_have_no_stub() -> None:
    assert masks_of(use("a", name="AskUserQuestion", question="which?")) == ()
    assert masks_of([said("tool", ToolResult(call_id="nobody", text=LONG))]) == ()
    made = [*use("a", command="ls"), said("assistant", "ok")]
    assert mask_old_results(made, [1_000] * 3, counter=COUNTER) == ()
    stubbed = masks_of(use("a", stub(*use("a", command="make all")) + " " * 200, command="make all"))
    assert stubbed == ()


def test_results_in_one_message_are_weighed_apart_and_pictures_count() -> None:
    calls = [ToolCall(id=id, name="Read", arguments=json.dumps({"file_path": f"{id}.png"})) for id in "abc"]
    picture = Image(media_type="image/png", width=1_000, height=1_000)
    results = [
        ToolResult(call_id="a", text="x" * 50),
        ToolResult(call_id="b", text="", media=(picture,)),
        ToolResult(call_id="c", text=LONG),
    ]
    masks = masks_of([said("assistant", *calls), said("user", *results)])
    assert [(mask.seq, mask.part) for mask in masks] == [(2, 1), (2, 2)]


READ = "     1\tdef run():\n     2\t    pass\n     3\t\n"
SEEN: list[tuple[Content, str, dict[str, object] | str, str]] = [
    ("file read", "Read", {"file_path": "a.py"}, ""),
    ("file read", "view", {"path": "a.py", "view_range": [1, 9]}, ""),
    ("file read", "read_file", {"absolute_path": "/a.py"}, ""),
    ("file read", "read", {"path": "a.py", "offset": 3}, ""),
    ("file read", "exec_command", {"cmd": "sed -n '1,80p' src/a.py"}, ""),
    ("file read", "shell", {"command": ["bash", "-lc", "cat a.py | head -5"]}, ""),
    ("file read", "str_replace_editor", {"command": "view", "path": "/a.py"}, ""),
    ("search", "Grep", {"pattern": "x", "path": "src"}, ""),
    ("search", "search_file_content", {"pattern": "x"}, ""),
    ("search", "bash", {"command": "cd src && rg -n 'x|y' | head"}, ""),
    ("search", "bash", {"command": "git grep -n x"}, ""),
    ("listing", "Glob", {"pattern": "**/*.py"}, ""),
    ("listing", "list_directory", {"path": "."}, ""),
    ("listing", "run_shell_command", {"command": "ls -la src"}, ""),
    ("api reply", "WebFetch", {"url": "https://example.com", "prompt": "?"}, "a page"),
    ("api reply", "mcp__tracker__get_issue", {"id": "X-1"}, "an issue"),
    ("api reply", "mcp__tracker__list_issues", {"team": "x"}, "issues"),
    ("api reply", "Bash", {"command": "for p in 1 2; do curl -s https://example.com/$p; done"}, ""),
    ("api reply", "Bash", {"command": "gh api repos/o/r"}, ""),
    ("test output", "Bash", {"command": "cd app; CI=1 npx vitest run"}, ""),
    ("test output", "exec_command", {"cmd": "pnpm --filter @a/b test"}, ""),
    ("test output", "bash", {"command": "timeout 60 .venv/bin/python -m pytest -q"}, ""),
    ("test output", "bash", {"command": "cargo test --all 2>&1 | tail"}, ""),
    ("test output", "bash", {"command": "mise run test:ci"}, ""),
    ("build log", "bash", {"command": "make -j4"}, ""),
    ("build log", "bash", {"command": "npm run build"}, ""),
    ("build log", "bash", {"command": "go build ./..."}, ""),
    ("build log", "bash", {"command": "uv sync"}, ""),
    ("git output", "Bash", {"command": "cd x && git log --oneline | head"}, ""),
    ("git output", "Bash", {"command": "gh pr diff 2"}, ""),
    ("git output", "Bash", {"command": "git diff && npm test"}, ""),
    ("other", "Bash", {"command": "echo hello"}, "hello"),
    ("other", "Bash", {"command": "./tool cat"}, "meow"),
    ("other", "Task", {"prompt": "explore"}, "I looked around."),
    ("file read", "peek", "no json", READ),
    ("test output", "Bash", {"command": "./ci.sh"}, "ok\n=== 3 passed, 1 failed in 2s ==="),
    ("test output", "go", {}, "--- FAIL: TestX (0.00s)"),
    ("build log", "sh", {}, "src/a.ts(3,4): error TS2304: Cannot find name"),
    ("git output", "vcs", {}, "diff --git a/x b/x\nindex 1..2"),
    ("search", "locate", {}, "src/a.py:3:def run\nsrc/b.py:9:run()\n"),
    ("listing", "tool", {}, "total 2\n-rw-r--r-- 1 me me 3 a\ndrwxr-xr-x 1 me me 3 b\n"),
    ("listing", "tool", {}, "src/a.py\nsrc/b.py\nsrc/c.py\n"),
    ("api reply", "tool", {}, '{"id": 1}'),
    ("api reply", "tool", {}, '[{"id": 1}]'),
    ("test output", "tool", {}, "x" * 2 * LOOKED_AT + "\n" + "y" * LOOKED_AT + " \n2 passed"),
    ("other", "tool", {}, "x" * LOOKED_AT + "\n2 passed\n" + "y" * 2 * LOOKED_AT),
    ("api reply", "read_page", {"url": "https://example.com"}, READ),
    ("other", "read_mind", {}, "thoughts"),
]  # fmt: skip


def classify(name: str, arguments: str, *, output: str) -> Content:
    action = interpret(redacted_call(ToolCall(id="a", name=name, arguments=arguments)))
    return content_of(action, output)


@pytest.mark.requirement("C8")
@pytest.mark.parametrize(("content", "name", "arguments", "output"), SEEN)
def test_compressible_content_is_recognised(
    content: Content, name: str, *, arguments: dict[str, object] | str, output: str
) -> None:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert classify(name, text, output=output) == content


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=200))
def test_anything_is_classified(name: str, arguments: str, output: str) -> None:
    kinds = {row[0] for row in SEEN}
    assert cast("str", classify(name, arguments, output=output)) in kinds


def cut(messages: Sequence[Message], save: int) -> tuple[list[Message], int]:
    """The messages as their masks show them, and the tokens of all results."""
    masks = cut_results(messages, counter=COUNTER, save_tokens=save)
    shown = [masked(m, [mask for mask in masks if mask.seq == m.seq]) for m in messages]
    return shown, sum(message_cost(m, COUNTER).tokens for m in shown if m.results)


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=6), st.integers(0, 8_000))
def test_results_are_cut_to_one_size_so_that_enough_is_saved_or_not_at_all(
    sizes: list[int], save: int
) -> None:
    messages = numbered([m for n, size in enumerate(sizes) for m in use(f"c{n}", "x" * size)])
    _, before = cut(messages, 0)
    shown, after = cut(messages, save)
    assert before - after >= save or after == before
    if after < before:
        longest = max(len(m.results[0].text) for m in shown if m.results)
        kept = [m for old, m in zip(messages, shown, strict=True) if m is old and m.results]
        assert all(len(m.results[0].text) <= longest + 40 for m in kept)


def test_a_cut_result_shows_both_its_ends_and_where_the_whole_is() -> None:
    messages = numbered(use("a", f"BEGIN {LONG} END"))
    text = cut(messages, 600)[0][1].results[0].text
    assert text.startswith("BEGIN x")
    assert "tokens left out" in text
    assert text.endswith('x END\n[memory_expand("m2") shows all of it]')


def test_nothing_is_cut_to_less_than_says_anything() -> None:
    messages = numbered(use("a", "word " * 500))
    whole = message_cost(messages[1], Estimator()).tokens
    (mask,) = cut_results(messages, counter=Estimator(), save_tokens=whole - LEAST_CUT)
    assert mask.stub.startswith("word word")
    assert cut_results(messages, counter=Estimator(), save_tokens=whole - LEAST_CUT + 1) == ()
    assert (
        cut_results(numbered(use("a")), counter=COUNTER, save_tokens=950) == ()
    )  # what is said of it is longer
    assert cut_results([], counter=COUNTER, save_tokens=1) == ()


LISTED = (
    "<bash-stdout>./src/pump.py\n" + "./src/valve.py\n" * 60 + "</bash-stdout><bash-stderr></bash-stderr>"
)


def test_what_a_program_wrote_in_the_users_place_goes_like_an_output_once_the_model_has_seen_it() -> None:
    ran = said("user", "<bash-input>find .</bash-input>", LISTED, "Which of them has no test?")
    (mask,) = masks_of([ran])
    assert (mask.seq, mask.part) == (1, 1)
    assert mask.stub.startswith('[left the context: note "./src/pump.py ./src/valve.py')
    shown = masked(numbered([ran])[0], [mask])
    assert [part.text for part in shown.parts if isinstance(part, Text)] == [
        "<bash-input>find .</bash-input>",
        mask.stub,
        "Which of them has no test?",
    ]
    assert masks_of([ran], ends=False) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Please read this:\n" + LONG,
        f"<bash-stdout>{'x' * 300}</bash-stdout>",
        f"<system-reminder>As you answer, keep to this:\n{LONG}</system-reminder>",
        f"Base directory for this skill: /srv/skill\n{LONG}",
        f'<teammate-message teammate_id="lead">Do this: {LONG}</teammate-message>',
        f"This session is being continued from a previous conversation. {LONG}",
    ],
    ids=["the user's words", "short", "instructions", "a skill", "orders", "an earlier summary"],
)
def test_other_texts_in_the_users_place_stay(text: str) -> None:
    assert masks_of([said("assistant", "Hello."), said("user", text)]) == ()


def test_of_notes_that_begin_alike_none_outdates_another() -> None:
    first, second = (said("user", LISTED) for _ in range(2))
    assert seqs(masks_of([first, second], save_tokens=1)) == [1]
    assert seqs(masks_of([first, second], protect_tokens=len(LISTED) + 100)) == [1]
