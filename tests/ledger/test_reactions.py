from __future__ import annotations

import pytest

from autocompact.ledger.reactions import OPENING, finishes, reactions


def states(text: str) -> list[tuple[str, str]]:
    return [(found.state, " ".join(sorted(found.about))) for found in reactions(text)]


@pytest.mark.parametrize(
    "text",
    [
        "never mind",
        "Stop, please. Forget it.",
        "Okay, drop that, please",
        "wait, cancel that. I'll do it myself",
        "Hm. Scrap that and look at b.py",
        "Vergiss es.",
        "Stopp mal. Ach, lass das!",
        "Attends, laisse tomber.",
        "Non, oublie ça.",
        "Espera, olvídalo",
        "Para. Esquece.",
        "Aspetta, lascia perdere.",
        "Стоп. Забудь.",
        "算了",
        "等一下，取消吧",
        "やめてください",
        "취소해줘",
    ],
)
def test_what_takes_back_the_request_before(text: str) -> None:
    assert states(text) == [("withdrawn", "")]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("Stop, please. Forget the --currency flag", "currency flag"),
        ("Forget about the CSV export, please: nobody needs it.", "csv export"),
        ("Hmm, scrap the retry queue and keep it simple", "queu retri"),
        ("We don't need the rates file any more.", "file rate"),
        ("Ach, vergiss die Währung bitte", "wahrung"),
        ("Attends, oublie le cache", "cach"),
        ("Espera, olvida la caché", "cach"),
        ("Esqueça o relatório", "relatorio"),
        ("Lascia perdere il grafico", "grafico"),
        ("Забудь про экспорт", "экспорт"),
        ("不要导出功能了", "出功 功能 导出"),
        ("エクスポートはやめて", "スポ ポー エク クス ート"),
        ("내보내기는 취소", "기 내보 보내 내기"),
    ],
)
def test_a_thing_that_is_named_is_taken_back(text: str, about: str) -> None:
    ((state, named),) = states(text)

    assert state == "withdrawn"
    assert set(named.split()) & set(about.split())


def test_forgetting_something_vague_is_about_the_request_before() -> None:
    (found,) = reactions("Forget the last thing")

    assert (found.state, found.about, found.else_previous) == ("withdrawn", frozenset(), True)


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget the tests",
        "Did you forget it?",
        "Should we forget about the flag?",
        "Drop that column from the orders table",
        "Cancel the order VN-20871",
        "Skip that file when you read the folder",
        "Please add a button to cancel it",
        "The user can abandon the cart",
        "Wait for CI, then merge",
        "No problem, take your time",
        "Don't worry about the layout",
        "Sorry for the delay, here is the log",
        "Could I pay by bank transfer instead?",
        "用错了吗？",
        "what about the tests",
        "",
        "...",
    ],
)
def test_what_only_sounds_like_a_reaction_is_none(text: str) -> None:
    assert states(text) == []


@pytest.mark.parametrize(
    ("text", "about", "else_previous"),
    [
        ("No banker's rounding after all", {"banker", "round"}, True),
        ("She has answered: no banker's rounding after all, but half up", {"banker", "round"}, False),
        ("Use half up instead of banker's rounding, please", {"banker", "round"}, False),
        ("Also doch keine Bankrundung", {"bankrundung"}, False),
        ("Actually no, forget the bottle cage, I found mine", {"bottl", "cage"}, False),
    ],
)
def test_a_correction_knows_what_it_is_about(text: str, about: set[str], else_previous: bool) -> None:
    (found,) = reactions(text)

    assert (found.state, set(found.about), found.else_previous) == ("superseded", about, else_previous)


@pytest.mark.parametrize(
    "text",
    ["Use tabs instead", "No, per invoice", "Eigentlich lieber so", "不对，应该按行", "Sorry, the other one"],
)
def test_a_correction_without_a_thing_is_about_the_request_before(text: str) -> None:
    assert states(text) == [("superseded", "")]


def test_thanks_approve_unless_something_is_still_wrong() -> None:
    assert states("Thanks! Next: the docs") == [("done", "")]
    assert states("Great, but it still fails in CI") == []
    assert states("Super, aber der Export fehlt") == []
    assert states("很好，但是还有问题") == []


@pytest.mark.parametrize(
    ("reply", "finished"),
    [
        ("Done: all tests pass.", True),
        ("Implemented the first half.\n\n**Open:** the export still lacks its test.", False),
        ("Fixed.\n\n## Remaining\n- the docs", False),
        ("Fixed.\n\nStill open: the docs", False),
        ("Erledigt sind 1 und 2.\n\n- **Offen:** die Doku", False),
        ("已完成第一部分。\n\n待办：文档", False),
        ("Added both.\n- [x] code\n- [ ] docs", False),
        ("Fixed.\n\n**Open:** nothing.", True),
        ("Fixed. Remaining: none", True),
        ("Erledigt. Offen: nichts", True),
        ("Fixed the open: call in io.py, done.", True),
        ("I looked at it.", False),
        ("Fixed it. Should I push?", False),
        ("Fixed the first.\n\n**Open:** the second." + "\nWords." * OPENING, False),
    ],
)
def test_a_reply_finishes_its_task_only_if_nothing_is_left_open(reply: str, finished: bool) -> None:
    assert finishes(reply) is finished
