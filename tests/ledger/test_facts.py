"""What people say of themselves and others in a chat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocompact.core.messages import text_message
from autocompact.core.redaction import redact
from autocompact.ledger.account import account
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.facts import find_facts
from autocompact.ledger.scan import Said, Speaker
from tests.core.strategies import LengthCounter
from tests.core.talk import Talk


def _found(*texts: str, by: Speaker = "user", time: str = "") -> list[Entry]:
    said = [Said(seq=seq, by=by, text=redact(text), time=time) for seq, text in enumerate(texts, start=1)]
    return find_facts(said)


def _facts(*texts: str, by: Speaker = "user", time: str = "") -> list[str]:
    return [str(entry.text) for entry in _found(*texts, by=by, time=time)]


@pytest.mark.requirement("F6")
def test_a_statement_with_a_name_or_a_number_is_worth_more_than_pleasantries() -> None:
    found = _facts(
        "Hi there, thank you for all the help so far, I really appreciate it.",
        "I live in Seattle and work as a designer.",
        "It has been a long and rather uneventful day for everybody here.",
        "My sister Ana turned 31 last week.",
    )
    assert set(found[:2]) == {"live in Seattle and work as designer", "sister Ana turned 31 last week"}


@pytest.mark.uncovered
@pytest.mark.parametrize("piece", ["(", "(a", "a("])
def test_brackets_that_nothing_closes_take_no_more_than_time_in_their_length(piece: str) -> None:
    """Each looked for its end in all that follows: minutes for 300,000 of them."""
    assert _facts(f"I live in Seattle. {piece * 200_000}", "I work as a designer in Portland.")
    talk = Talk().user(f"I live in Seattle. {piece * 100_000}").agent(piece * 100_000).user("Go on")
    assert [entry.seq for entry in talk.entries("request")][-1] == 3


def test_questions_state_nothing() -> None:
    assert _facts("Do you ship to Seattle by Friday?", "ok") == []


def test_what_a_question_is_based_on_is_a_fact() -> None:
    assert _facts("I only have 38 square feet of counter space, so which machine fits?") == [
        "only have 38 square feet counter space"
    ]


def test_a_long_sentence_gives_its_clauses_and_short_ones_stay_with_their_neighbour() -> None:
    found = _facts(
        "I moved to Portland in 2019 for a new job at the aquarium, and my brother Tom opened a bakery called Crumb near the ferry, ok"
    )
    assert "moved to Portland in 2019 for new job at aquarium" in found
    assert any("Crumb" in clause for clause in found)
    assert "ok" not in found


def test_what_says_nothing_at_the_end_of_a_clause_is_left_out() -> None:
    assert _facts("We drove to Salem in the rusty pickup, as one does, you see.") == [
        "drove to Salem in rusty pickup"
    ]


def test_what_was_said_before_is_worth_less_the_second_time() -> None:
    found = _facts(
        "I live in Seattle near the harbour.", "My cat is named Miso.", "I live in Seattle near the harbour."
    )
    assert found[-1] == "live in Seattle near harbour"


def test_a_short_answer_stands_with_its_question() -> None:
    said = [
        Said(seq=1, by="assistant", text=redact("Where do you keep the spare keys?")),
        Said(seq=2, by="user", text=redact("Under the flowerpot. Nobody looks there.")),
        Said(seq=3, by="assistant", text=redact("Shall I note that down for the guests?")),
        Said(seq=4, by="user", text=redact("Would the guests of Sunday need them?")),
    ]
    found = [str(entry.text) for entry in find_facts(said)]
    assert any("spare keys" in fact and "flowerpot" in fact for fact in found)
    assert not any("note that down" in fact for fact in found)


def test_an_answer_of_many_words_stands_alone() -> None:
    said = [
        Said(seq=1, by="assistant", text=redact("Where do you keep the spare keys?")),
        Said(
            seq=2,
            by="user",
            text=redact("The spare keys hang in the shed behind the rusty lawnmower, left of the door."),
        ),
    ]
    assert not any("→" in entry.text for entry in find_facts(said))


def test_people_who_are_named_before_their_words_are_the_speakers() -> None:
    talk = (
        "Caroline: I adopted a beagle named Biscuit.",
        "Melanie: My pottery class starts in Denver.",
        "Caroline: Biscuit chewed up the red sofa.",
        "Melanie: I sold 14 vases at the market.",
        "Caroline: We drive to Yosemite with Biscuit.",
        "Melanie: Our kiln broke again.",
    )  # fmt: skip
    assert {(entry.seq, entry.where) for entry in _found(*talk)} >= {(1, "Caroline"), (2, "Melanie")}
    log = [text_message(seq, "user", text) for seq, text in enumerate(talk, 1)]
    text = account(extract(log), budget=1600, counter=LengthCounter())
    assert (
        "- m1–m5 Caroline: adopted beagle named Biscuit · Biscuit chewed up red sofa · drive to Yosemite"
        in text
    )
    assert "- m2–m6 Melanie: pottery class starts in Denver · sold 14 vases" in text


def test_a_word_with_a_colon_that_comes_once_is_no_speaker() -> None:
    assert {entry.where for entry in _found("Note: the beagle Biscuit is allergic to chicken.")} == {"user"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Seattle near the harbour.", "Big news: I moved to Lisbon near the castle."),
        ("My favourite band is Radiohead.", "My favourite band is Portishead."),
        ("The client call with Jacob Miller is on Tuesday.", "The client call with Jacob Miller was rescheduled to Wednesday."),
        ("我住在上海的老城区。", "我搬到了北京的朝阳区。"),
    ],
)  # fmt: skip
def test_the_latest_state_is_worth_more_than_the_one_it_replaces(before: str, after: str) -> None:
    worth = {
        entry.seq: entry.need
        for entry in _found(before, "The weather report mentions fog, rain, hail and snow.", after)
    }
    assert worth[3] > 2 * worth.get(1, 0)


def test_a_change_of_another_matter_leaves_a_state_as_it_is() -> None:
    alone = _found("Jacob Miller plays cello.")[0].need
    beside = {
        entry.seq: entry.need
        for entry in _found("Jacob Miller plays cello.", "Ruth Kerr now sells tulips and roses in Leeds.")
    }
    assert beside[1] >= 0.9 * alone


def test_dates_are_told_by_the_day_of_the_message() -> None:
    assert _facts("I visited Dr. Kim yesterday.", time="2026-11-22T10:00:00Z") == [
        "visited Dr. Kim 2026-11-21"
    ]


def test_notes_of_one_speaker_are_told_in_paragraphs_with_the_range_of_their_messages() -> None:
    log = [
        text_message(seq, "user", f"My cousin {name} bought {seq} tickets for the concert of the brass band in {city}.")
        for seq, (name, city) in enumerate(
            zip(
                ("Ana", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jil", "Kim", "Leo"),
                ("Oslo", "Rome", "Lima", "Cairo", "Delhi", "Kyoto", "Quito", "Turin", "Varna", "Ulm", "York", "Zagreb"),
                strict=True,
            ),
            start=1,
        )
    ]  # fmt: skip
    text = account(extract(log), budget=2400, counter=LengthCounter())
    said = text.partition("## What was said\n")[2].splitlines()
    assert said[0].startswith("- m1–m")
    assert "cousin Ana bought 1 tickets for concert brass band in Oslo" in said[0]
    assert 1 < len(said) < len(log)
    assert "user:" not in text


def test_a_chat_has_facts_with_their_speaker_and_no_findings() -> None:
    log = [
        text_message(1, "user", "I live in Seattle and my cat is named Miso."),
        text_message(2, "assistant", "Miso is a lovely name. Seattle has 12 cat cafes."),
    ]
    ledger = extract(log)
    assert {entry.where for entry in ledger.entries if entry.kind == "fact"} == {"user", "assistant"}
    assert not [entry for entry in ledger.entries if entry.kind == "finding"]
    text = account(ledger, budget=1600, counter=LengthCounter())
    assert "user: " in text
    assert "assistant: " in text


@pytest.mark.parametrize("kind", ["fact", "identifier"])
def test_where_a_long_entry_does_not_fit_a_shorter_one_is_told(kind: Kind) -> None:
    texts = (
        "The archive of old letters " + "and the archive of old letters " * 20 + "is full.",
        "The key of Ana hangs there.",
    )
    entries = [
        Entry(kind=kind, text=redact(text.strip()), seq=seq, key=redact(f"name{seq}"), need=0.9 / seq)
        for seq, text in enumerate(texts, start=1)
    ]
    text = account(Ledger(entries=tuple(entries)), budget=300, counter=LengthCounter())
    assert "key of Ana" in text
    assert "letters" not in text


def test_a_short_account_of_a_chat_is_notes_alone() -> None:
    log = [
        text_message(1, "user", "I adopted a beagle named Biscuit in Denver."),
        text_message(2, "user", "The vet appointment is on 14 March at 9:30."),
    ]
    text = account(extract(log), budget=120, counter=LengthCounter())
    assert (
        text
        == "## What was said\nadopted beagle named Biscuit in Denver · vet appointment on 14 March at 9:30"
    )
    assert "- m1–m2 adopted" in account(extract(log), budget=400, counter=LengthCounter())


def test_a_short_account_of_a_chat_keeps_what_is_still_to_be_done() -> None:
    log = [
        text_message(1, "user", "I adopted a beagle named Biscuit in Denver."),
        text_message(2, "user", "Book Lisbon"),
        text_message(3, "user", "The vet appointment is on 14 March at 9:30."),
    ]
    ledger = extract(log)
    owed = tuple(
        replace(entry, state="open", text=redact("Book Lisbon"))
        if entry.kind == "request" and entry.seq == 2
        else entry
        for entry in ledger.entries
    )
    text = account(replace(ledger, entries=owed), budget=240, counter=LengthCounter())
    assert "Book Lisbon" in text
    earlier = account(ledger, budget=200, counter=LengthCounter(), previous=redact("Ben is a baker."))
    assert "Ben is a baker." in earlier


def test_notes_of_different_messages_are_told_apart() -> None:
    log = [
        text_message(1, "user", "Pneumonia put Ana into the hospital of Turin."),
        text_message(2, "user", "Ben broke a rib in Oslo."),
    ]
    text = account(extract(log), budget=1_600, counter=LengthCounter())
    assert "into hospital Turin · Ben broke rib in Oslo" in text


def test_code_in_a_chat_is_no_fact() -> None:
    assert _facts('The parser of Ana is named Quill.\n\nconst quill = Parser("ana", 31);') == [
        "parser Ana named Quill"
    ]


def test_a_line_of_dots_is_no_word_and_takes_time_with_its_length() -> None:
    """At each of its dots a word was looked for to its end: a minute for a line of 60,000, and the square of that for more."""
    words = "I live in Geneva and work for Nestlé as a chemist."
    assert _facts(f"{words} {'.' * 60_000} {'/' * 60_000}") == _facts(words)


@pytest.mark.parametrize("piece", ["a/b/", "https://"])
def test_a_path_without_end_is_one_word_and_takes_time_with_its_length(piece: str) -> None:
    """Each of its terms looked through all of it once more: three minutes for 200,000 characters."""
    assert _facts(f"I live in Seattle. {piece * 50_000}", "I work as a designer in Portland.")


@pytest.mark.requirement("F6")
def test_the_account_of_a_chat_has_no_section_of_requests_where_it_states_none() -> None:
    log = [
        text_message(at, "user", f"My aunt Ana has lived in street {at} since 19{at}.")
        for at in range(10, 70)
    ]
    short, long = (account(extract(log), budget=budget, counter=LengthCounter()) for budget in (500, 9_000))
    assert short.startswith("## What was said\n- m")
    assert "## Requests\n- earlier: " in long
    assert "m69" in long.partition("## What was said")[0]


@pytest.mark.requirement("F6")
def test_what_was_told_once_in_a_chat_stands_after_five_compactions() -> None:
    weak = (
        "walked to the market|painted the kitchen|cleaned the garage|watered the tomatoes|mended the fence|baked some bread"
        "|washed the curtains|sorted the letters|read a novel|fed the neighbour's cat|planted a hedge|swept the stairs"
    ).split("|")
    ledger: Ledger | None = None
    talk = Talk()
    for stretch in range(5):
        begin = len(talk.messages)
        if ledger is None:
            talk.user("My sister Zora turned 31 on 4 May and moved to Ghent.").agent("How nice!")
        for done in weak:
            talk.user(f"In the evening we {done} and talked about part {stretch} of it.").agent(
                "How nice to hear!"
            )
        ledger = extract(talk.messages[begin:], previous=ledger)
    assert ledger is not None
    assert "Zora turned 31" in account(ledger, budget=800, counter=LengthCounter())


def test_what_holds_of_people_in_general_counts_less_than_what_the_speaker_says_of_themselves() -> None:
    found = _facts(
        "People at the harbour office repaired the yellow ferry in March. I repaired the yellow bicycle in March."
    )
    assert found[0] == "repaired yellow bicycle in March"
