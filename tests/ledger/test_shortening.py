from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.entries import FOLLOWS, POINTER, Entry, Ledger
from autocompact.ledger.shortening import Shortened, fitted, shortened_requests, shortened_text
from tests.core.strategies import LengthCounter

COUNTER = LengthCounter()
LEDGER = Ledger(
    entries=(
        Entry(kind="identifier", text=redact("x"), seq=1, key=redact("retry_limit"), need=0.9),
        Entry(kind="request", text=redact("weather"), seq=1, key=redact("request 1"), need=1.0),
    )
)


def _short(text: str, budget: int) -> str:
    return shortened_text(redact(text), budget, counter=COUNTER, ledger=LEDGER).text


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert shortened_text(redact("# A\n\n\nb "), 10, counter=COUNTER, ledger=LEDGER) == Shortened(
        text=redact("# A\n\n\nb ")
    )


def test_lines_that_name_what_is_needed_stay_with_their_heading() -> None:
    text = "# One\nnothing to see\n\n# Two\nset retry_limit\n- and other words\n\n# Three\nmore idle talk"
    assert shortened_text(redact(text), 24, counter=COUNTER, ledger=LEDGER) == Shortened(
        text=redact("# Two\nset retry_limit"), left_out=3, passages=4
    )


def test_order_and_headings_of_what_stays_are_kept() -> None:
    text = "Preface retry_limit\n\n**Two**\n## Three\nset retry_limit\n" + "idle talk\n" * 20
    assert _short(text, 60) == "Preface retry_limit\n\n## Three\nset retry_limit\nidle talk"


def test_a_long_line_is_cut_between_sentences() -> None:
    line = " ".join(
        [*["The weather is rather nice again."] * 9, "The retry_limit is five.", "So it is 3.5 then."]
    )
    assert _short(line, 30) == "… The retry_limit is five."
    assert _short("天气很好。" * 60 + "retry_limit 是五。", 20) == "… retry_limit 是五。"


def test_a_sentence_that_gives_a_cause_stays_before_one_that_gives_none() -> None:
    text = "The build ran on four machines in the cellar.\nIt failed because the disk of one was full.\nIt was a Monday then."
    assert _short(text, 50) == "It failed because the disk of one was full."


def test_a_code_block_stays_or_goes_whole() -> None:
    block = "```sh\nexport retry_limit=5\n\n# no heading\n~~~\n```"
    assert _short(f"{block}\n" + "idle talk\n" * 20, len(block)) == block
    assert "export" not in _short(f"{block}\n" + "idle talk\n" * 20, len(block) - 1)


def test_a_code_block_with_a_longer_fence_holds_shorter_ones() -> None:
    block = "````md\n```\nexport retry_limit=5\n```\nidle\n````"
    assert _short(f"{block}\n" + "idle talk\n" * 20, len(block)) == block


def test_where_not_even_a_heading_with_a_line_fits_nothing_is_left() -> None:
    assert shortened_text(redact("# Heading\nwords"), 5, counter=COUNTER, ledger=LEDGER) == Shortened(
        text=redact(""), left_out=1, passages=1
    )


@given(
    st.lists(st.sampled_from(["# H", "```", "a. b! c?", "x" * 300 + ". y", "", "- z", "**Q**", "。"])),
    st.integers(0, 200),
)
def test_what_is_left_fits_and_comes_from_the_text(lines: list[str], budget: int) -> None:
    text = "\n".join(lines)
    short = shortened_text(redact(text), budget, counter=COUNTER, ledger=LEDGER)
    assert COUNTER.count(short.text) <= budget
    assert short.left_out <= short.passages
    # a heading with nothing under it is no passage
    assert short.text == text or short.left_out > 0 or len(short.text) < len(text)
    rest = iter(text)
    assert all(character in rest for character in short.text if not character.isspace())


@given(st.text(max_size=400), st.integers(0, 40))
def test_the_last_resort_always_fits(text: str, budget: int) -> None:
    counter = Estimator()
    assert counter.count(fitted(redact(text), budget, counter=counter)) <= budget
    assert fitted(redact(text), 10_000, counter=counter) == text


def test_a_long_request_keeps_its_beginning_and_its_end() -> None:
    plan = f"Implement this plan: {'one more step of it. ' * 200}Verify it with `make check`, and never push."
    request = Entry(kind="request", text=redact(plan), seq=1, key=redact("request 1"))
    (kept,) = shortened_requests([request], 600, counter=COUNTER)

    assert kept.text.startswith("Implement this plan: one more step")
    assert kept.text.endswith("step of it. Verify it with `make check`, and never push.")
    assert "… " in kept.text


def _asked(*texts: str, where: str = "", budget: int) -> list[str]:
    requests = [
        Entry(kind="request", text=redact(text), seq=seq, key=redact(f"request {seq}"), where=redact(where))
        for seq, text in enumerate(texts, start=1)
    ]
    return [entry.text for entry in shortened_requests(requests, budget, counter=COUNTER)]


def test_a_request_made_several_times_stands_once_where_it_was_made_last_with_how_often() -> None:
    again = "mend the  pump"
    asked = _asked("mend the pump", again, "and the valve", again, "is it dry?", budget=1_000)
    assert asked == [POINTER, POINTER, "and the valve", f"3× {again}", "is it dry?"]
    assert _asked(FOLLOWS, FOLLOWS, budget=1_000) == [FOLLOWS, FOLLOWS]


@pytest.mark.parametrize(
    "role",
    [
        "Act as a senior engineer for Next.js.",
        "You are an expert on pumps! ",
        "Claude, agis en tant qu'architecte de pompes.\n\n",
        '"Sen kıdemli bir pompa mimarı ve geliştiricisisin. ',
        "你是一名水泵工程师。",
    ],
)
def test_a_request_that_is_cut_begins_with_its_task_and_not_with_a_role(role: str) -> None:
    task = "Mend the seal of the second pump, and then of all others " * 4
    (kept,) = _asked(role + task, budget=90)
    assert kept.startswith("…Mend the seal")
    assert _asked(role + task, budget=1_000) == [role + task]
    assert _asked("Act as one. " + "x" * 200, "y", budget=50)[0] == POINTER


@pytest.mark.parametrize(
    "told",
    [
        "Sei vorsichtig mit dem Ventil.",
        "Sie sind alle rot.",
        "Ты сломал насос.",
        "你是怎么修水泵的？",
        "Eres rápido hoy.",
    ],
)
def test_a_first_sentence_that_gives_no_role_stays(told: str) -> None:
    task = f" Please mend the pump, {'and look at each seal of it, ' * 60}then tell me."
    (kept,) = _asked(told + task, budget=90)
    assert kept.startswith(told)


def test_a_role_without_much_behind_it_is_the_request() -> None:
    (kept,) = _asked(f"You are an expert on pumps{' and seals' * 20}. Go.", budget=100)
    assert kept.startswith("You are an expert")


def test_a_request_that_fits_without_its_role_is_whole() -> None:
    task = "Mend the seal of the second pump, and see to the others."
    (kept,) = _asked(f"You are an expert on pumps{' and seals' * 20}. {task}", budget=120)
    assert kept == f"…{task}"


def test_a_request_for_which_there_is_little_room_keeps_its_beginning_alone() -> None:
    request = Entry(kind="request", text=redact("please " * 40), seq=1, key=redact("request 1"))
    (kept,) = shortened_requests([request], 60, counter=COUNTER)
    assert kept.text == "please please please please please…"
