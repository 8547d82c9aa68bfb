"""Who greets, or acknowledges words that leave nothing to do, asks for nothing; who agrees to something does."""

from __future__ import annotations

import pytest

from autocompact.ledger.courtesies import is_acknowledgement, is_greeting, is_offer, proposes
from tests.core.talk import Talk

GREETINGS = (
    "hi",
    "Hello there!",
    "yo",
    "Hey 👋",
    "Guten Morgen",
    "Moin moin",
    "Bonjour !",
    "¡Hola!",
    "Buenos días",
    "Bom dia",
    "Ciao",
    "Привет",
    "你好！",
    "こんにちは",
    "안녕하세요",
)
ACKNOWLEDGEMENTS = (
    "ok",
    "OK.",
    "Okay, thanks!",
    "great, thank you very much",
    "👍",
    "alles klar, danke",
    "d'accord, merci",
    "vale, gracias",
    "certo, obrigado",
    "va bene",
    "хорошо, спасибо",
    "好的",
    "了解しました。",
    "네, 감사합니다",
)
ASKING = (
    "ok?",
    "hi?",
    "ok, now the tests",
    "yes, both",
    "hello world is printed twice",
    "go on",
    "weiter",
    "continue",
    "no",
    "2",
    "好的，写测试",
    "…",
)


@pytest.mark.parametrize("greeting", GREETINGS)
def test_a_greeting_is_no_request_and_what_comes_after_it_is(greeting: str) -> None:
    talk = Talk().user(greeting).agent("Hello! How can I help you today?").user("Fix the rounding").agent("x")

    assert is_greeting(greeting)
    assert [e.text for e in talk.entries("request")] == ["Fix the rounding"]


@pytest.mark.parametrize("words", ACKNOWLEDGEMENTS)
def test_an_acknowledgement_of_finished_work_is_no_request(words: str) -> None:
    talk = Talk().user("Fix the rounding").runs("pytest", "2 passed").agent("Done: it rounds per line now.")
    talk.user(words)

    assert is_acknowledgement(words)
    assert [(e.text, e.state, e.need) for e in talk.entries("request")] == [("Fix the rounding", "done", 1.0)]


@pytest.mark.parametrize("words", ASKING)
def test_words_that_ask_or_say_anything_stay_requests(words: str) -> None:
    talk = Talk().user("Fix the rounding").agent("Done: it rounds per line now.").user(words)

    assert not is_greeting(words)
    assert not is_acknowledgement(words)
    assert [e.text for e in talk.entries("request")] == ["Fix the rounding", words]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("Shall I use Decimal throughout?", "yes"),
        ("Soll ich Decimal nehmen?", "ok"),
        ("What shall the program print?", "hi"),
        ("用 Decimal 吗？", "好的"),
        ("Decimalを使いますか？", "はい"),
    ],
)
def test_a_short_answer_to_a_question_is_told_with_it(reply: str, words: str) -> None:
    talk = Talk().user("Fix the rounding").agent(reply).user(words)

    assert [(e.text, e.where) for e in talk.entries("request")][1:] == [(words, reply)]


@pytest.mark.parametrize(
    "closing",
    [
        "I will round per line, and leave the totals.",
        "The names are fixed. Next: the totals.",
        "Fertig. Als nächstes würde ich die Summen runden.",
        "C'est corrigé. Je peux aussi arrondir les totaux.",
        "Hecho. Puedo redondear también los totales.",
        "已完成。接下来我会处理合计。",
        "完了しました。次は合計を直します。",
        "It can be deleted. Let me know if that is fine.",
        "Die Datei ist unbenutzt. Sag Bescheid, wenn sie weg soll.",
        "削除してもよろしいでしょうか。",
        "要删除它吗。",
    ],
)
def test_who_acknowledges_a_proposal_asks_for_it(closing: str) -> None:
    talk = Talk().user("Fix the rounding").agent(closing).user("ok").agent("Fine.")

    assert proposes(closing)
    assert [e.text for e in talk.entries("request")] == ["Fix the rounding", "ok"]


def test_an_acknowledgement_that_the_model_took_for_an_order_is_a_request() -> None:
    talk = Talk().user("Fix the rounding").agent("The totals are fixed as well as the lines.").user("ok")
    talk.runs("git commit", "done").agent("Committed.")

    assert [e.text for e in talk.entries("request")] == ["Fix the rounding", "ok"]


def test_an_acknowledgement_of_what_is_not_finished_is_left_to_its_reader() -> None:
    talk = Talk().user("Fix the rounding").agent("1. Round per line\n2. Round the totals").user("ok")
    assert [e.text for e in talk.entries("request")] == ["Fix the rounding", "ok"]

    talk = Talk().user("Fix the rounding").calls("Read", {"path": "a.py"}).user("ok")
    assert [e.text for e in talk.entries("request")] == ["Fix the rounding", "ok"]

    talk = Talk().agent("I would round per line.").user("ok").agent("Fine.")
    assert [e.text for e in talk.entries("request")] == ["ok"]


def test_an_acknowledgement_after_an_explanation_is_no_request_once_it_is_answered() -> None:
    talk = Talk().user("Where is the rounding?").agent("In invoice.py, line 3.").user("ok").agent("Fine.")

    assert [e.text for e in talk.entries("request")] == ["Where is the rounding?"]


@pytest.mark.parametrize(
    "question",
    [
        "What can I do for you?",
        "Done. Anything else?",
        "Hello! How can I help you today?",
        "Hallo! Wie kann ich dir helfen?",
        "Bonjour ! Comment puis-je vous aider ?",
        "¡Hola! ¿En qué puedo ayudarte?",
        "Ciao! Come posso aiutarti oggi?",
        "Olá! Como posso ajudar?",
        "Привет! Чем могу помочь?",
        "我可以帮您做什么？",
        "何かお手伝いできることはありますか？",
        "무엇을 도와드릴까요?",
        "你好！有什么可以帮你的吗？",
    ],
)
def test_to_agree_to_an_offer_of_help_asks_for_nothing_yet(question: str) -> None:
    talk = Talk().user("Fix the rounding").agent(question).user("ok")

    assert is_offer(question)
    assert [e.text for e in talk.entries("request")] == ["Fix the rounding"]


@pytest.mark.parametrize(
    "question",
    [
        "Shall I help you with the totals?",
        "Is anything else in it wrong, or shall I go on?",
        "Anything else, or shall I commit?",
        "What should I do for the rounding of totals?",
        "What's next on the list, the totals?",
        "Wie kann ich die Datei öffnen?",
        "Comment puis-je lire ce fichier ?",
        "¿Qué opción prefieres?",
        "¿Cómo puedo leer el archivo?",
        "Come posso leggere il file?",
        "我可以删除它吗？",
        "何から修正しましょうか？",
    ],
)
def test_a_question_about_the_work_is_no_offer(question: str) -> None:
    assert not is_offer(question)


def test_what_is_asked_after_an_offer_of_help_is_no_answer_to_it() -> None:
    talk = Talk().user("hi").agent("Hello! What can I do for you?").user("Fix the rounding").agent("x")

    assert [(e.text, e.where) for e in talk.entries("request")] == [("Fix the rounding", "")]


def test_what_the_user_takes_back_is_the_request_before_the_courtesies() -> None:
    talk = Talk().user("Fix the rounding").agent("Done.").user("thanks").agent("You're welcome.")
    talk.user("never mind").agent("x")

    assert [(e.text, e.state) for e in talk.entries("request")] == [
        ("Fix the rounding", "withdrawn"),
        ("never mind", ""),
    ]


def test_a_request_that_was_interrupted_before_a_greeting_is_not_taken_for_one_under_way() -> None:
    talk = Talk().user("Fix the rounding").calls("Read", {"path": "a.py"}).user("hi")

    assert [(e.text, e.state, e.need) for e in talk.entries("request")] == [("Fix the rounding", "", 1.0)]


def test_a_conversation_of_courtesies_alone_has_no_request() -> None:
    talk = Talk().user("hi").agent("Hello!").user("never mind")
    assert [e.text for e in talk.entries("request")] == ["never mind"]
    assert Talk().user("hi").agent("Hello!").user("thanks").agent("Bye").entries("request") == []
