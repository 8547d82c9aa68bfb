"""The agent's own words that a reader needs to go on, chosen among all it said."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.findings import announces, find_findings, intents, only_intends, ranked_anew
from autocompact.ledger.sightings import Spoken, Voice
from tests.ledger.entries import entry


def _spoken(*texts: str, voice: Voice = "assistant", turn: int = 1) -> list[Spoken]:
    return [
        Spoken(seq=seq, voice=voice, text=redact(text), turn=turn) for seq, text in enumerate(texts, start=1)
    ]


def _best(*texts: str) -> str:
    return find_findings(_spoken(*texts))[0].text


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    "reason",
    [
        "The upload fails because `Uploader.send` closes the socket before the last batch.",
        "I chose `retry_limit` 5 instead of a queue, since the queue must not know about networks.",
        "Der Upload scheitert, weil `Uploader.send` den Socket vor dem letzten Paket schließt.",
        "L'envoi échoue à cause de `Uploader.send`, qui ferme la connexion trop tôt.",
        "Yükleme başarısız, çünkü `Uploader.send` soketi son paketten önce kapatıyor.",
        "上传失败的原因是 `Uploader.send` 过早关闭了连接。",
    ],
)
def test_a_reason_is_worth_more_than_what_surrounds_it(reason: str) -> None:
    around = [f"Some more words on the state of the world number {number} of many." for number in range(6)]
    assert _best(*around[:3], reason, *around[3:]) == reason


def test_announcements_say_nothing_that_lasts() -> None:
    found = find_findings(
        _spoken(
            "Let me check the logs first.",
            "Now I'll look at the config file.",
            "The lock in `a.py` is never released.",
        )
    )
    assert [entry.text for entry in found] == ["The lock in `a.py` is never released."]


def test_what_is_said_twice_is_worth_little_the_second_time() -> None:
    same = "The lock in `queue.py` is never released, because the handler returns early."
    other = "All 41 tests of the parser pass after the change of `lexer.py`."
    needs = [(entry.text, entry.need) for entry in find_findings(_spoken(same, other, same))]
    assert [text for text, _ in needs[:2]] in ([same, other], [other, same])
    assert needs[2][0] == same
    assert needs[2][1] < needs[0][1] / 3


def test_an_answer_that_closes_a_turn_is_worth_more_than_a_thought() -> None:
    words = "The lock in `queue.py` is never released by the handler."
    closing, thought = (
        find_findings(_spoken(words, voice=voice))[0].need for voice in ("closing", "reasoning")
    )
    assert closing > 2 * thought


@pytest.mark.parametrize("answer", ["Yes: the handler of", "The figures of the report do add up, in"])
def test_what_answers_the_question_is_worth_more_than_what_stands_beside_it(answer: str) -> None:
    spoken = _spoken(
        f"{answer} `queue.py` counts every call.",
        "The writer in `store.py` counts every block, and the parser.",
        voice="closing",
    )
    asked = "do the figures in the report add up?"
    plain, answered = (find_findings(spoken, asked=requests) for requests in ((), (asked,)))
    need = {entry.seq: entry.need for entry in answered}
    assert need[1] > 1.2 * {entry.seq: entry.need for entry in plain}[1]
    assert need[2] == {entry.seq: entry.need for entry in plain}[2]
    # words on the way close nothing, and by a long text nothing is asked
    on_the_way = _spoken(f"{answer} `queue.py` counts every call.")
    assert find_findings(on_the_way, asked=[asked]) == find_findings(on_the_way)
    text = " ".join(f"figure{number} report" for number in range(50))
    assert find_findings(spoken, asked=[text]) == find_findings(spoken)


def test_later_turns_are_worth_more() -> None:
    old = Spoken(
        seq=1,
        voice="closing",
        text=redact("The parser drops the last token of each line in `lexer.py`."),
        turn=1,
    )
    new = Spoken(
        seq=9,
        voice="closing",
        text=redact("The writer drops the first byte of each block in `store.py`."),
        turn=8,
    )
    assert [entry.seq for entry in find_findings([old, new])] == [9, 1]


def test_nothing_said_nothing_found() -> None:
    assert find_findings([]) == []
    assert find_findings(_spoken("ok", "```\ncode only\n```", "***")) == []


def test_what_the_agent_is_about_to_do_is_told_as_an_order() -> None:
    assert intents(_spoken("Good. Now I need to add `TokenUsage` to WriteCommittedOptions as well.")) == {
        1: "add `TokenUsage` to WriteCommittedOptions as well."
    }
    assert intents(_spoken("Let me look at the file `a.py` first.", "ok")) == {}
    assert intents(_spoken("I'll change `a.py` so that it rounds each line.", voice="report")) == {}


def test_of_very_many_passages_the_latest_are_compared_and_keep_their_order() -> None:
    texts = [
        f"The lock of `module_{n}.py` fails. It is held by `handler_{n}`, because it returns early."
        for n in range(3_200)
    ]
    found = find_findings(_spoken(*texts), most=5_000)
    assert {entry.seq for entry in found} == set(range(201, 3_201))
    places = [entry.state_seq for entry in sorted(found, key=lambda entry: entry.seq)]
    assert places == sorted(set(places))


def test_an_intent_leaves_out_the_promise_wherever_it_stands() -> None:
    (start,) = intents(_spoken("Ok, now let me also add a retry to `load_state()`.")).values()
    (middle,) = intents(_spoken("The lock leaks: I'll add a release to `load_state()`.")).values()
    assert start == "add a retry to `load_state()`."
    assert middle == "The lock leaks: add a release to `load_state()`."


@pytest.mark.parametrize(
    "intention",
    [
        "Let me push the branch to `origin` and open a pull request.",
        "Now I'll write the tests for `parse_line` in `test_parser.py`.",
        "I'm rerunning the suite of `parser.py` once more.",
        "Ich werde jetzt `parser.py` umbauen und die Tests ergänzen.",
        "Je vais ajouter les tests de `parser.py` au projet.",
        "Voy a añadir las pruebas de `parser.py` al proyecto.",
        "Agora vou escrever os testes de `parser.py` no projeto.",
        "Ora lasciami scrivere i test di `parser.py` nel progetto.",
        "Сейчас я сделаю тесты для `parser.py` в проекте.",
        "接下来让我给 `parser.py` 补上测试并提交代码。",
        "まず `parser.py` のテストを追加してから提出します。",
        "먼저 `parser.py` 테스트를 추가하고 제출하겠습니다.",
    ],
)
def test_an_intention_is_no_finding(intention: str) -> None:
    found = "The lock in `queue.py` is never released."
    assert [entry.text for entry in find_findings(_spoken(intention, found))] == [found]


def test_what_is_below_an_intention_is_intended_too() -> None:
    text = (
        "Now I'll change two things:\n- `load_rows` reads the header once\n- `store_rows` writes in batches"
    )
    assert find_findings(_spoken(text)) == []


@pytest.mark.parametrize(
    "kept",
    [
        "I'm keeping the retry in `send.py` and not in the queue, because the queue must not know networks.",
        "I'll leave `legacy.py` as it is, because two customers still import it.",
        "I can confirm that `parse_line` drops the last column.",
        "We need to rename `load_rows` in `store.py` as well.",
    ],
)
def test_a_reason_or_what_is_left_to_do_stays_although_it_begins_like_an_intention(kept: str) -> None:
    assert [entry.text for entry in find_findings(_spoken(kept))] == [kept]


def test_a_guess_is_worth_less_than_what_came_of_it() -> None:
    guess = "The column `total` of `report.py` might be dropped by the parser."
    cause = "The column `total` of `report.py` is in fact dropped by the renderer."
    needs = {
        str(entry.text): entry.need
        for entry in find_findings(_spoken(cause, "Now to something else.", guess))
    }
    assert needs[cause] > needs[guess]


@pytest.mark.parametrize(
    "kept",
    [
        "Now I understand the bug: `parse()` drops the last byte of the buffer.",
        "I'm seeing a race: `close()` runs before `flush()` in worker.py.",
        "Still failing: `test_auth.py::test_login` returns 401",
        "Running `make check` gives 3 errors in `parser.py:40`",
        "Now the server returns 200 for the health path.",
        "Reading `config.py` shows that the default is 30 seconds.",
        "Let me summarize: the leak is in the pool of connections.",
        "Looking at `pool.py`, the root cause is a lock that two threads take.",
        "Je vais résumer : `pool.py` perd la connexion à chaque erreur.",
        "我来总结一下：连接池在`pool.py`中泄漏连接，每次请求都会泄漏。",
    ],
)
def test_a_cause_or_a_result_stays_although_it_begins_like_an_announcement(kept: str) -> None:
    assert [entry.text for entry in find_findings(_spoken(kept))] == [kept]


@pytest.mark.parametrize(
    "over",
    [
        "Let me check the tests.",
        "Now I'll run the linter.",
        "I'm going to read the file.",
        "Let me look at the following file: `pool.py`",
        "Still running the whole suite of `parser.py` once more.",
        "I'm waiting for the build of `parser.py` on the server.",
    ],
)
def test_an_announcement_without_a_result_is_no_finding(over: str) -> None:
    assert find_findings(_spoken(over)) == []


@pytest.mark.parametrize(
    "heading", ["Looking at the logs:", "Checking the results:", "Let me check the results:"]
)
def test_what_stands_below_a_heading_that_only_looks_is_kept_without_it(heading: str) -> None:
    text = f"{heading}\n- `load_rows` reads the header twice\n- `store_rows` writes each line alone"
    assert [(entry.text, entry.where) for entry in find_findings(_spoken(text))] == [
        ("`load_rows` reads the header twice; `store_rows` writes each line alone", "")
    ]


def test_a_sentence_of_what_comes_next_is_an_announcement_and_one_of_what_is_is_none() -> None:
    assert announces("Let me check the logs first.")
    assert not announces("The lock in `a.py` is never released.")


def test_what_is_left_of_the_findings_is_weighed_without_those_that_are_not_told() -> None:
    said = entry("finding", "The night worker loses the batch because its token expires.", need=0.5)
    more = entry("finding", "The night worker loses the batch of expired tokens on Sundays.", need=0.09)
    other = entry("finding", "The parser of the table keeps an empty line.", need=0.1)
    words = entry("finding", "…", need=0.2)
    every = (said, more, other, words)

    left = ranked_anew(every, (more, other, words), known={})
    assert left[more.key] > 0.2 > left[other.key] > 0.09
    assert left[words.key] < 0.3
    assert ranked_anew(every, (more, other), known={more.key: 0.9})[more.key] < left[other.key]
    assert ranked_anew(every, every, known={})[more.key] < 0.1


def test_an_announcement_with_its_reason_behind_a_dash_is_kept() -> None:
    reason = "Let me take two commits - the others are part of the first one anyway."
    assert not only_intends(reason)
    assert only_intends(reason.partition(" - ")[0])
    assert only_intends("Let me take two commits - one, two.")


def test_a_long_intent_ends_at_a_word() -> None:
    (told,) = intents(
        _spoken("I'll add a retry to `load_state()` and " + "another one, " * 20 + "finally.")
    ).values()
    assert told.endswith(("another…", "one,…"))
    assert len(told) <= 220
