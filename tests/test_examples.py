"""The shipped example sessions have what the documents say they have."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Image, Reasoning, ToolResult
from autocompact.core.redaction import redact
from autocompact.models.vocabulary import load_counter
from autocompact.sessions.read import read_session
from autocompact.sessions.session import Session

SESSIONS = Path(__file__).parents[1] / "examples" / "sessions"
CODING = SESSIONS / "fix-invoice-rounding.jsonl"
OPENAI = SESSIONS / "chat-openai.json"
ANTHROPIC = SESSIONS / "chat-anthropic.json"


@pytest.fixture(scope="module")
def coding() -> Session:
    return read_session(CODING)


def requests(session: Session) -> list[str]:
    return [message.text for message in session.messages if message.is_request]


def results(session: Session) -> list[ToolResult]:
    return [result for message in session.messages for result in message.results]


@pytest.mark.parametrize(
    ("path", "format", "at_least"),
    [(CODING, "claude_code", 220), (OPENAI, "openai", 40), (ANTHROPIC, "anthropic", 30)],
)
def test_every_line_of_an_example_is_read(path: Path, format: str, at_least: int) -> None:
    session = read_session(path)
    assert (session.format, session.skipped) == (format, ())
    assert len(session.messages) >= at_least


@pytest.mark.parametrize("path", [CODING, OPENAI, ANTHROPIC])
def test_an_example_is_valid_as_it_is_so_that_nothing_has_to_be_repaired(path: Path) -> None:
    session = read_session(path)
    log = Transcript(session.messages, counter=load_counter())
    assert [message.seq for message in view(log).messages] == [message.seq for message in session.messages]


@pytest.mark.parametrize("path", [CODING, OPENAI, ANTHROPIC])
def test_each_call_has_exactly_one_result(path: Path) -> None:
    session = read_session(path)
    calls = [call.id for message in session.messages for call in message.calls]
    assert len(calls) == len(set(calls))
    assert sorted(calls) == sorted(result.call_id for result in results(session))


@pytest.mark.parametrize("path", [CODING, OPENAI, ANTHROPIC])
def test_an_example_has_parallel_calls(path: Path) -> None:
    assert max(len(message.calls) for message in read_session(path).messages) >= 2


def test_the_coding_session_is_long_enough_to_need_compaction(coding: Session) -> None:
    log = Transcript(coding.messages, counter=load_counter())
    assert 60_000 <= view(log).cost.tokens <= 90_000
    assert CODING.stat().st_size <= 700_000


def test_the_coding_session_uses_the_usual_tools(coding: Session) -> None:
    used = {call.name for message in coding.messages for call in message.calls}
    assert used == {"Read", "Grep", "Glob", "Edit", "Write", "Bash", "TodoWrite", "Task"}


def test_the_coding_session_has_real_failures(coding: Session) -> None:
    failed = [result.text for result in results(coding) if result.is_error]
    assert any("uv: command not found" in text for text in failed)
    assert any("Traceback (most recent call last)" in text for text in failed)
    assert any(re.search(r"\d+ failed, \d+ passed", text) for text in failed)
    assert any("String to replace not found" in text for text in failed)


def test_the_coding_session_takes_a_wrong_edit_back(coding: Session) -> None:
    commands = [
        call.arguments for message in coding.messages for call in message.calls if call.name == "Bash"
    ]
    assert any("git checkout src/invoices/money.py" in command for command in commands)
    assert any("git commit" in command for command in commands)


def test_the_coding_session_changes_a_requirement_and_withdraws_another(coding: Session) -> None:
    first, flag, withdrawn, changed, *_ = requests(coding)
    assert "banker's rounding" in first
    assert "--currency" in flag
    assert "Forget about the --currency flag" in withdrawn
    assert "round half up, per line" in changed


def test_the_coding_session_ends_with_work_left_to_do(coding: Session) -> None:
    last = coding.messages[-1]
    assert last.role == "assistant"
    assert "**Open:**" in last.text
    assert "importing is not safe to repeat" in requests(coding)[-1]


def test_an_interrupted_call_is_not_the_users_words(coding: Session) -> None:
    interrupts = [message for message in coding.messages if "[Request interrupted by user" in message.text]
    assert [message.is_request for message in interrupts] == [False]


def test_what_the_sub_agent_did_is_not_in_the_log(coding: Session) -> None:
    progress = re.findall(r'"id":"(toolu_\w+)"', "".join(_progress_lines()))
    calls = {call.id for message in coding.messages for call in message.calls}
    assert progress
    assert calls.isdisjoint(progress)


def _progress_lines() -> list[str]:
    return [line for line in CODING.read_text(encoding="utf-8").splitlines() if '"type":"progress"' in line]


def test_the_fake_key_that_a_tool_printed_is_found_as_a_secret(coding: Session) -> None:
    printed = [result.text for result in results(coding) if "STRIPE_KEY=sk_test_" in result.text]
    assert len(printed) == 1
    assert "sk_test_" not in redact(printed[0])


def test_the_reported_usage_grows_with_the_conversation(coding: Session) -> None:
    prompts = [message.usage.prompt for message in coding.messages if message.usage is not None]
    assert all(before < after for before, after in pairwise(prompts))


@pytest.mark.parametrize("path", [CODING, ANTHROPIC])
def test_thinking_keeps_its_signature_and_pictures_are_pictures(path: Path) -> None:
    parts = [part for message in read_session(path).messages for part in message.parts]
    assert all(b'"signature"' in (part.raw or b"") for part in parts if isinstance(part, Reasoning))
    assert any(isinstance(part, Reasoning) for part in parts)
    assert [part.media_type for part in parts if isinstance(part, Image)] == ["image/png"]


def test_no_path_of_a_real_machine_is_in_the_coding_session() -> None:
    homes = set(re.findall(r"/(?:home|Users|root|work)/[\w.-]+", CODING.read_text(encoding="utf-8")))
    assert homes == {"/home/ada"}


def test_one_chat_ends_with_a_question_the_other_with_an_answer() -> None:
    assert read_session(OPENAI).messages[-1].is_request
    assert read_session(ANTHROPIC).messages[-1].role == "assistant"
