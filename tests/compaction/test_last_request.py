"""A last request that is larger than what there is room for, and how often the last request stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import SummaryReply, answer, plan
from autocompact.compaction.last_request import LAST_REQUEST, LEAST_REQUEST, cut_request
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import view
from autocompact.core.messages import Image, Message
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator, message_cost
from autocompact.errors import IncompressibleContext
from tests.compaction.offline import climb_offline
from tests.compaction.test_ladder import GOAL, log_of, work
from tests.core.strategies import numbered, said

COUNTER = Estimator()
PASTED = (
    "BEGIN of the paste\n"
    + "\n".join(f"row {n} of what was pasted, word after word" for n in range(2_500))
    + "\nTHE END"
)


def ends_with(*messages: Message) -> list[Message]:
    return numbered([*work(40)[:-1], *messages])


def whole_text(record: Compaction, messages: list[Message]) -> str:
    return "\n".join(message.text for message in view(log_of(messages), record).messages)


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("inline", [False, True])
def test_a_request_larger_than_it_may_be_is_shown_by_its_beginning_and_end(inline: bool) -> None:
    messages = ends_with(said("user", PASTED), *([said("assistant", "I look into it.")] if inline else []))
    asked = len(messages) - inline
    goal = replace(GOAL, summary_tokens=800, tail_tokens=0, request_tokens=400, inline_request=inline)
    record = climb_offline(log_of(messages), goal)
    assert record is not None
    assert record.receipt.tokens_after < 2_000
    shown = whole_text(record, messages)
    assert "BEGIN of the paste" in shown
    assert shown.rstrip().removesuffix("</conversation_record>").rstrip().endswith("THE END")
    assert f'characters left out: memory_expand("m{asked}") shows all of it]' in shown
    assert any(note.startswith(f"the last request (m{asked}) was cut from") for note in record.receipt.notes)
    assert (LAST_REQUEST in shown) == inline
    assert record.receipt.masked == 0


def test_a_request_that_is_all_there_is_is_cut_though_nothing_can_be_folded() -> None:
    messages = numbered([said("user", PASTED)])
    goal = replace(GOAL, limit=2_000, target=1_000, tail_tokens=0, request_tokens=400)
    record = climb_offline(log_of(messages), goal)
    assert record is not None
    assert record.summary == ""
    assert record.receipt.tokens_after <= 500
    shown = whole_text(record, messages)
    assert shown.startswith("BEGIN of the paste")
    assert shown.endswith("THE END")
    with pytest.raises(IncompressibleContext):
        climb_offline(log_of(messages), replace(goal, request_tokens=0))


def test_a_request_that_fits_stays_verbatim() -> None:
    messages = ends_with(said("user", PASTED))
    record = climb_offline(log_of(messages), replace(GOAL, target=20_000, tail_tokens=0))
    assert record is not None
    assert view(log_of(messages), record).messages[-1].text == PASTED
    assert record.receipt.notes == ()
    short = said("user", "short", Image(media_type="image/png", data="aa", width=9, height=9))
    assert cut_request(structs.replace(short, seq=1), 5, counter=COUNTER).masks == ()
    picture = said("user", Image(media_type="image/png", data="aa", width=900, height=900))
    assert cut_request(structs.replace(picture, seq=1), 5, counter=COUNTER).masks == ()


def test_the_cut_adds_up_and_takes_the_longest_text() -> None:
    message = structs.replace(said("user", "look at this", PASTED), seq=7)
    cut = cut_request(message, 300, counter=COUNTER)
    assert [mask.part for mask in cut.masks] == [1]
    head, _, rest = cut.message.text.removeprefix("look at this\n").partition("\n[… ")
    left_out, _, tail = rest.partition(' characters left out: memory_expand("m7") shows all of it]\n')
    assert PASTED.startswith(head)
    assert PASTED.endswith(tail)
    assert len(head) + len(tail) + int(left_out.replace(",", "")) == len(PASTED)
    assert message_cost(cut.message, COUNTER).tokens <= 300
    assert (
        message_cost(cut_request(message, 1, counter=COUNTER).message, COUNTER).tokens <= LEAST_REQUEST + 20
    )


def test_a_cut_request_shows_no_half_of_a_secret() -> None:
    key = "sk-ant-api03-" + "Ab3dEf6hIj" * 9
    message = structs.replace(said("user", f"key {key} " + PASTED), seq=1)
    for tokens in range(70, 140, 5):
        assert "Ab3dEf6hIj" not in cut_request(message, tokens, counter=COUNTER).message.text


def test_where_only_an_answered_request_does_not_fit_it_is_cut_instead_of_a_refusal() -> None:
    answered = ends_with(said("user", PASTED), said("assistant", "I read it. Which part?"))
    goal = Goal(limit=4_000, target=2_000, summary_tokens=600, tail_tokens=500)
    record = climb_offline(log_of(answered), goal)
    assert record is not None
    assert record.receipt.tokens_after <= 4_000
    assert "BEGIN of the paste" in whole_text(record, answered)
    assert record.receipt.notes
    with pytest.raises(IncompressibleContext):
        climb_offline(log_of(answered), replace(goal, limit=200))
    with pytest.raises(IncompressibleContext):  # nobody has seen it: the user can still say it in less
        climb_offline(log_of(ends_with(said("user", PASTED))), goal)


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize(
    "reply", [None, SummaryReply(text=redact("We rounded all items to cents."), model="m")]
)
def test_the_last_request_stands_once(inline: bool, reply: SummaryReply | None) -> None:
    request = "Now write the release note about the rounding in German, for the accountants of Graz."
    messages = ends_with(said("user", request), said("assistant", "I will."))
    for last in (messages, ends_with(said("user", request))):
        goal = replace(GOAL, tail_tokens=0, inline_request=inline, first_rung="summarise")
        record = answer(plan(log_of(last), goal), reply)
        assert record is not None
        assert whole_text(record, last).count(request) == 1


def test_a_target_above_the_limit_is_the_limit() -> None:
    assert Goal(limit=100, target=600, summary_tokens=10, tail_tokens=0).target == 100
    assert replace(GOAL, limit=50).target == 50


@pytest.mark.requirement("B2")
def test_a_longer_summary_than_the_cap_is_shortened_by_sentences_and_noted() -> None:
    sentences = " ".join(
        f"Item {n} of the invoice was rounded to cents because tax{n}.py asked for it." for n in range(150)
    )
    goal = replace(GOAL, summary_tokens=512, cap_tokens=512, tail_tokens=0, first_rung="summarise")
    record = answer(
        plan(log_of(work(60)), goal), SummaryReply(text=redact(sentences), model="m", notes=(redact("odd"),))
    )
    assert record is not None
    assert COUNTER.count(record.summary) <= 512
    assert record.receipt.notes[0] == "odd"
    assert any("where 512 were asked for: it was shortened" in note for note in record.receipt.notes)
    assert all(
        part.startswith(("Item ", "… Item ")) and part.endswith("it.")
        for part in record.summary.split("\n\n")[0].split("\n")
    )
    short = answer(plan(log_of(work(60)), goal), SummaryReply(text=redact("All was rounded."), model="m"))
    assert short is not None
    assert short.receipt.notes == ()


@pytest.mark.uncovered
@pytest.mark.requirement("B2", "D4")
@pytest.mark.parametrize("rows", [3, 40, 900])
@pytest.mark.parametrize(
    "reply", [None, SummaryReply(text=redact("We rounded items to cents in every module. " * 90), model="m")]
)
def test_a_cap_holds_for_the_summary_with_the_request_that_stands_in_it(
    reply: SummaryReply | None, rows: int
) -> None:
    asked = (
        "BEGIN of the paste\n" + "\n".join(f"row {n} of what was pasted" for n in range(rows)) + "\nTHE END"
    )
    messages = ends_with(said("user", asked), said("assistant", "I will."))
    goal = replace(
        GOAL, summary_tokens=512, cap_tokens=512, tail_tokens=0, first_rung="summarise", inline_request=True
    )
    record = answer(plan(log_of(messages), goal), reply)
    assert record is not None
    assert COUNTER.count(record.summary) <= 512
    said_last = record.summary.partition(LAST_REQUEST)[2]
    assert said_last.startswith("BEGIN of the paste")
    assert said_last.endswith("THE END")
    assert COUNTER.count(record.summary.partition(LAST_REQUEST)[0]) > 128
    is_cut = rows > 3
    assert (
        f'characters left out: memory_expand("m{len(messages) - 1}") shows all of it]' in said_last
    ) == is_cut
    assert any("the last request" in note for note in record.receipt.notes) == is_cut
    whole = answer(plan(log_of(messages), replace(goal, cap_tokens=256)), reply)
    assert whole is not None
    assert whole.summary.endswith(asked)


@pytest.mark.requirement("A7")
def test_references_to_messages_that_do_not_exist_go_and_are_noted() -> None:
    text = 'Rounded in tax3.py [m5, m999] and again [m1000]. See m4711 and memory_expand("m4712"); on an m5.large, and on the m9001.'
    log = log_of(
        [
            *work(60)[:-1],
            structs.replace(said("user", "Use the m9001 machine from now on."), seq=len(work(60))),
        ]
    )
    goal = replace(GOAL, tail_tokens=0, first_rung="summarise")
    record = answer(plan(log, goal), SummaryReply(text=redact(text), model="m"))
    assert record is not None
    assert (
        'Rounded in tax3.py [m5] and again. See m4711 (no such message) and memory_expand("m4712") (no such message); '
        "on an m5.large, and on the m9001."
    ) in record.summary
    assert record.receipt.notes == ("references to messages that do not exist: m999, m1000, m4711, m4712",)
