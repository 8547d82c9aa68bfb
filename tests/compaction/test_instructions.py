"""Instructions in the midst of a log stay, each in its newest version; see also tests/gateway/test_instructions.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from autocompact.compaction.goal import Goal
from autocompact.compaction.instructions import find_instructions
from autocompact.compaction.record import Compaction, Mask, Standing
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Message, Opaque, Role, Text, ToolCall, ToolResult, text_message
from autocompact.core.redacted import own
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.entries import Entry, Ledger
from tests.compaction.offline import climb_offline

RULES = "<system-reminder>\n# claudeMd\nVersion {}: use tabs.\n</system-reminder>"
REMARK = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"
PLACE = "<environment_context>{}</environment_context>"


def log_of(*said: tuple[Role, str] | Message) -> Transcript:
    messages = [
        structs.replace(each, seq=seq) if isinstance(each, Message) else text_message(seq, each[0], each[1])
        for seq, each in enumerate(said, 1)
    ]
    return Transcript(messages, counter=Estimator())


def found(
    log: Transcript, *, through: int = 0, keep: tuple[int, ...] = (), most: int = 1_000
) -> list[Standing]:
    found = find_instructions(log, through or len(log), active=None, keep=keep, most_tokens=most)
    return [*found.standing]


def test_the_system_prompt_is_no_part_of_it_and_later_system_messages_are() -> None:
    log = log_of(("system", "You help."), ("user", "Hi"), ("assistant", "Hi"), ("system", "Be brief."))
    assert found(log) == [Standing(seq=4)]
    assert found(log, through=3) == []


def test_of_the_same_instructions_the_newest_version_stays() -> None:
    log = log_of(
        ("user", RULES.format(1)),
        ("user", PLACE.format("a")),
        ("assistant", "Hi"),
        ("system", "# Day\n1"),
        ("user", RULES.format(2)),
        ("system", "# Day\n2"),
        ("user", PLACE.format("b")),
    )
    assert found(log) == [Standing(seq=5), Standing(seq=6), Standing(seq=7)]


def test_a_reminder_of_the_moment_goes_and_one_at_the_beginning_stays() -> None:
    log = log_of(("user", RULES.format(1)), ("assistant", "Hi"), ("user", REMARK), ("user", "Go on."))
    assert found(log) == [Standing(seq=1)]


def test_of_too_many_system_messages_the_oldest_go_and_items_without_words_stay() -> None:
    item = Message(seq=0, role="system", parts=(Opaque(kind="additional_tools", raw=b"{}"),), raw=b"{}")
    words = [text_message(0, "system", f"Note {name}: " + "word " * 50) for name in ("one", "two", "three")]
    log = log_of(("user", "Hi"), ("assistant", "Hi"), item, *words)
    assert found(log) == [Standing(seq=seq) for seq in (3, 4, 5, 6)]
    assert found(log, most=150) == [Standing(seq=seq) for seq in (3, 5, 6)]


def test_instructions_in_a_recorded_session_stay_where_they_fit() -> None:
    parts = (Text(text=RULES.format(1)), Text(text=PLACE.format("a" * 900)))
    note = Message(seq=1, role="user", parts=parts, synthetic=True)
    log = log_of(note, ("user", "Hi"), ("assistant", "Hi"))
    assert found(log) == [Standing(seq=1)]
    assert found(log, most=100) == []


def test_a_rule_is_outdated_only_with_the_block_that_holds_it() -> None:
    first = (Text(text=RULES.format("Never push")), Text(text=PLACE.format("\nNever leave a\n")))
    log = log_of(
        Message(seq=1, role="user", parts=first),
        ("user", "Hi"),
        ("assistant", "Hi"),
        ("user", PLACE.format("Stay in b")),
    )
    ledger = Ledger(
        entries=tuple(
            Entry(kind="rule", text=own(text), seq=1, key=own(text), where=own("file"))
            for text in ("Never push", "Never leave a")
        )
    )
    newest = find_instructions(log, len(log), active=None, most_tokens=1_000)
    _, outdated = newest.rules(ledger, log)
    assert {entry.text for entry in outdated} == {"Never leave a"}


def test_what_stands_beside_words_of_the_user_is_shown_without_them_and_they_without_it() -> None:
    parts = (Text(text=RULES.format(1)), Text(text=PLACE.format("a") + "Please begin."))
    message = Message(seq=1, role="user", parts=parts)
    (one,) = found(log_of(message, ("assistant", "Hi")))
    assert one == Standing(seq=1, parts=(0, 1))
    shown, rest = one.shown(message), one.rest(message)
    assert shown is not None
    assert rest is not None
    assert (shown.text, shown.synthetic) == (f"{RULES.format(1)}\n{PLACE.format('a')}", True)
    assert (rest.text, rest.is_request) == ("Please begin.", True)


def test_what_is_outdated_is_left_out_of_a_message_that_is_kept() -> None:
    message = Message(seq=1, role="user", parts=(Text(text=RULES.format(1)), Text(text="Begin.")))
    log = log_of(message, ("assistant", "Hi"), ("user", RULES.format(2)), ("assistant", "Yes."))
    assert found(log) == [Standing(seq=3)]
    first, _ = found(log, keep=(1,))
    assert first == Standing(seq=1, outdated=(0,))
    assert first.shown(message) is None
    rest = first.rest(message)
    assert rest is not None
    assert rest.text == "Begin."


@pytest.mark.requirement("A8")
def test_instructions_stand_between_system_prompt_and_summary_through_later_compactions() -> None:
    told = [
        ("user", f"Question {n}: " + "why? " * 30) if n % 2 else ("assistant", "Because. " * 40)
        for n in range(1, 31)
    ]
    first: list[tuple[Role, str]] = [("system", "You help."), ("user", RULES.format(1))]
    said = [(role, text) for role, text in told]
    log = log_of(*first, *said, ("system", "# Mode\nPlan."), *said)  # pyright: ignore[reportArgumentType] - roles are literals
    goal = Goal(limit=3_000, target=1_200, summary_tokens=400, tail_tokens=300)
    record = climb_offline(log, goal)
    assert record is not None
    assert record.standing == (Standing(seq=2), Standing(seq=33))
    texts = [message.text for message in view(log, record).messages]
    assert texts[:3] == ["You help.", RULES.format(1), "# Mode\nPlan."]
    assert texts[3].startswith("# Conversation Summary")
    rest = log.after(record)
    assert [message.text for message in view(rest, record).messages] == texts
    for n in range(30):
        for whole in (log, rest):
            whole.append(text_message(len(whole) + 1, "assistant" if n % 2 else "user", f"More {n}. " * 40))
    later = [climb_offline(whole, goal, active=record) for whole in (log, rest)]
    assert later[0] is not None
    assert later[0] == later[1]
    assert later[0].standing == record.standing
    assert later[0].needed == {*later[0].keep, 2, 33}
    assert later[0].standing_whole == {2, 33}


@pytest.mark.requirement("A8")
def test_a_newer_version_that_the_first_compaction_leaves_in_the_tail_stays_after_the_next() -> None:
    log = log_of(("user", RULES.format(1)), *chatter(12), ("user", RULES.format(2)), ("assistant", "Yes."))
    first = compacted(log)
    assert first.standing == (Standing(seq=1, outdated=(0,)),)
    assert [RULES.format(1) in m.text for m in view(log, first).messages].count(True) == 0
    rest = log.after(first)
    for role, text in chatter(12):
        rest.append(text_message(len(rest) + 1, role, text))
    assert compacted(rest, active=first).standing == (Standing(seq=26),)


@pytest.mark.requirement("A8")
def test_reminders_at_the_beginning_stay_where_tool_outputs_were_masked_before() -> None:
    begun = Message(seq=0, role="user", parts=(Text(text=RULES.format(1)), Text(text="Begin.")))
    said: list[tuple[Role, str] | Message] = [begun]
    for number in range(12):
        call, result = (
            ToolCall(id=f"c{number}", name="read"),
            ToolResult(call_id=f"c{number}", text="line " * 300),
        )
        said.append(Message(seq=0, role="assistant", parts=(Text(text="I read. " * 20), call)))
        said.append(Message(seq=0, role="tool", parts=(result,)))
    log = log_of(*said, ("assistant", "Done."), ("user", "Go on."), ("assistant", "Yes."))
    goal = Goal(limit=6_000, target=3_000, summary_tokens=200, tail_tokens=300)
    masks = climb_offline(log, goal)
    assert masks is not None
    assert (masks.receipt.rung, masks.standing) == ("mask", ())
    record = climb_offline(log, replace(goal, target=900, first_rung="summarise"), active=masks)
    assert record is not None
    assert record.standing == (Standing(seq=1, parts=(0,)),)


def test_a_kept_request_that_was_cut_stays_cut_beside_its_instructions() -> None:
    message = Message(seq=1, role="user", parts=(Text(text=RULES.format(1)), Text(text="long " * 50)))
    log = log_of(message, ("assistant", "Hi"), ("assistant", "Ho"))
    record = climb_offline(
        log_of(("user", "a " * 400), ("assistant", "b " * 400)),
        Goal(limit=900, target=200, summary_tokens=64, tail_tokens=0),
    )
    assert record is not None
    shown = view(log, _shown(record))
    assert [each.text for each in shown.messages][-2:] == ["cut", "Ho"]
    assert RULES.format(1) in shown.messages[0].text


def _shown(record: Compaction) -> Compaction:
    mask = Mask(seq=1, part=1, stub=redact("cut"))
    return replace(
        record, through_seq=2, keep=(1,), standing=(Standing(seq=1, parts=(0,)),), masks=(mask,), prefix=""
    )


GIVEN = "<system-reminder>\n# claudeMd\nContents of /srv/CLAUDE.md:\n\n- {}\n- Use tabs.\n</system-reminder>"
NEVER = "Never push without my approval."


def compacted(log: Transcript, *, active: Compaction | None = None, target: int = 900) -> Compaction:
    record = climb_offline(
        log, Goal(limit=3_000, target=target, summary_tokens=400, tail_tokens=100), active=active
    )
    assert record is not None
    return record


def rules_of(record: Compaction) -> list[tuple[str, str]]:
    return [(entry.text, entry.where) for entry in record.ledger.entries if entry.kind == "rule"]


def chatter(turns: int) -> list[tuple[Role, str]]:
    pairs: list[list[tuple[Role, str]]] = [
        [("user", f"Question {n}: " + "why? " * 30), ("assistant", "Because. " * 40)] for n in range(turns)
    ]
    return [said for pair in pairs for said in pair]


@pytest.mark.requirement("C6")
def test_a_rule_of_an_instruction_block_is_in_the_ledger_and_the_summary_does_not_repeat_it() -> None:
    begun = Message(
        seq=0, role="user", parts=(Text(text=GIVEN.format(NEVER)), Text(text="Always answer in French."))
    )
    log = log_of(("system", "You help."), begun, ("assistant", "Oui."), *chatter(12))
    record = compacted(log)
    assert sorted(rules_of(record)) == [("Always answer in French.", ""), (NEVER, "file")]
    assert "Always answer in French." in record.summary
    assert NEVER not in record.summary
    assert sum(message.text.count(NEVER) for message in view(log, record).messages) == 1
    assert record.receipt.missing == 0


@pytest.mark.requirement("C6")
def test_a_rule_that_a_newer_version_of_the_block_does_not_have_leaves_the_ledger() -> None:
    log = log_of(("user", GIVEN.format(NEVER)), *chatter(12))
    first = compacted(log)
    assert rules_of(first) == [(NEVER, "file")]
    newer = "Never commit to main without asking me."
    log.append(text_message(len(log) + 1, "user", GIVEN.format(newer)))
    for role, text in chatter(12):
        log.append(text_message(len(log) + 1, role, text))
    assert rules_of(compacted(log, active=first)) == [(newer, "file")]


@pytest.mark.requirement("C6")
def test_what_the_user_allows_ends_a_rule_of_an_instruction_block() -> None:
    log = log_of(("user", GIVEN.format(NEVER)), ("assistant", "Yes."), *chatter(6), ("user", "You may push without my approval now."), *chatter(6))  # fmt: skip
    assert rules_of(compacted(log)) == [("You may push without my approval now.", "")]


@pytest.mark.requirement("C6")
def test_a_rule_of_a_system_message_is_told_once_that_message_had_to_go() -> None:
    words = [text_message(0, "system", f"Note {name}: " + "word " * 150) for name in ("one", "two")]
    said = text_message(0, "system", f"# Mode\n{NEVER}\n\n" + "The plan has many steps. " * 20)
    log = log_of(
        ("system", "You help. Never lie."), ("user", "Hi"), ("assistant", "Hi"), said, *words, *chatter(12)
    )
    record = compacted(log)
    assert rules_of(record) == [(NEVER, "client")]
    assert 4 not in {one.seq for one in record.standing}
    assert f"- {NEVER} [m4, the client]" in record.summary


LEFT = "<system-reminder>\n<total_tokens>{} tokens left</total_tokens>\n</system-reminder>"


def test_how_many_tokens_are_left_is_no_instruction_and_goes_from_a_message_that_is_kept() -> None:
    parts = (Text(text=RULES.format(1)), Text(text=LEFT.format(9_000)), Text(text="Begin."))
    message = Message(seq=1, role="user", parts=parts)
    log = log_of(message, ("assistant", "Hi"), ("user", LEFT.format(8_000)), ("assistant", "Yes."))
    assert found(log) == [Standing(seq=1, parts=(0,))]
    (first,) = found(log, keep=(1,))
    assert first == Standing(seq=1, parts=(0,), outdated=(1,))
    rest = first.rest(message)
    assert rest is not None
    assert rest.text == "Begin."


def test_a_figure_beside_instructions_in_one_part_stays_with_them() -> None:
    log = log_of(("user", RULES.format(1) + LEFT.format(9_000)), ("assistant", "Hi"))
    assert found(log) == [Standing(seq=1)]
