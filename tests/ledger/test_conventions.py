"""Rules that are told as facts, left half said or asked for politely, and what takes them back."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.conventions import clauses, outright, slot
from autocompact.ledger.rules import find_rules, is_rule
from autocompact.ledger.scan import Said

TOLD = """we name migrations after the ticket
in this repo we use vitest, not jest
Our events are all camelCase.
timestamps are stored in utc
The billing cluster is shared, so please run nothing heavy on it.
all requests go through the gateway client
Screenshots live next to the story files.
Direct pushes to develop are forbidden.
nothing in the vendored folder
The bundle has to stay under 300 KB.
Release notes: no marketing words please.
Numbers in euros only.
keep the summaries short
before any merge: rebase on main
I'm on a Mac, so homebrew commands please
I'd rather see three small commits than a big one
we're stuck on node 16
you can restart the worker whenever you need
You're free to delete anything under tmp.
answer briefly
more code, less talk
you don't touch the lock file yourself
The freeze starts on Monday.
we have to be done by the end of the year
docs in English
let's agree you only work in packages/api
tell me the cost every time.
pls dont apologise so much
Each module you add needs a readme.
Invoices in this project are immutable
at no point should names be logged
Verzichte auf Fremdwörter.
Ändere bitte niemals die Lizenz.
以后所有说明都用中文
Bei uns heißen Branches nach dem Ticket.
Wir schreiben Tests mit pytest.
Bitte Kommentare nur auf Englisch schreiben.
Die Abgabe ist am Donnerstag.
Ich bin auf Linux, also bitte Bash.
Chez nous, on écrit les tests avec vitest.
Pas de commentaires svp
La réunion est jeudi.
En este proyecto usamos pnpm.
Sin comentarios por favor
La entrega es el lunes.
Sem comentários por favor
Niente commenti grazie
У нас всё на английском
我们这里统一用四个空格
回复简短一点
うちは全部TypeScriptです
返事は短めでお願いします"""

NONE = """The build uses node 18.
we used tabs back then, not spaces
let's use tabs here, not spaces
I took the bus at least 30 minutes late
No one knows why.
Passwords must be at least 12 characters long.
Der Knopf darf nie grau sein.
El botón nunca debe estar gris.
密码必须有十二位
Le serveur plante toujours au démarrage.
Esta función siempre falla.
Наш сервер всегда падал.
the tests were green, but no report was written
Everything comes into play here.
昨天我们用了新的接口
线程和进程有什么区别
TypeError: all arguments must be strings in every call
Fehler: Der Name darf nie leer sein.
Ma voisine ferme toujours sa porte.
用户每天最多只能签到一次"""


def _rules(*texts: str) -> list[str]:
    said = [Said(seq=seq, by="user", text=redact(text)) for seq, text in enumerate(texts, start=1)]
    return [str(entry.text) for entry in find_rules(said)]


@pytest.mark.requirement("F5")
def test_what_is_told_as_a_fact_or_half_said_is_a_rule() -> None:
    assert [sentence for sentence in TOLD.split("\n") if not is_rule(sentence)] == []


@pytest.mark.requirement("F5")
def test_what_happened_and_what_a_product_does_is_none() -> None:
    assert [sentence for sentence in NONE.split("\n") if is_rule(sentence)] == []


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ("can you please stop renaming my variables?", True),
        ("could you keep the methods under 30 lines?", True),
        ("It would be nice if you could always run the linter first", True),
        ("I'd like you to never force-push", True),
        ("no jokes from now on, ok?", True),
        ("Kannst du bitte aufhören, alles zu kommentieren?", True),
        ("Tu peux arrêter de tout commenter ?", True),
        ("¿Puedes dejar de comentar todo?", True),
        ("能不能别到处改名？", True),
        ("can you rename the files by date?", False),
        ("could you look at each of them?", False),
        ("is it done?", False),
    ],
)
def test_a_polite_question_is_the_order_that_it_means(asked: str, rule: bool) -> None:
    assert is_rule(asked) == rule


def test_a_question_or_wish_outright() -> None:
    assert outright("could you stop it?") == "stop it"
    assert outright("short answers, ok?") == "short answers"
    assert outright("is it done?") == "is it done?"


def test_a_rule_that_begins_in_lower_case_stands_by_itself() -> None:
    assert [*clauses("what is a heap? no emojis pls")] == ["what is a heap?", "no emojis pls"]
    assert [*clauses("use the new one, e.g. the fast one. it works")] == [
        "use the new one, e.g. the fast one.",
        "it works",
    ]
    assert _rules("what is a heap? no emojis pls") == ["no emojis pls"]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    "text",
    [
        "Translate to French: 'Never feed the animals in the yard.'",
        'Proofread this: "Employees must always wear their badges."',
        "Übersetze ins Englische: „Niemals die Tür offen lassen.“",
        "翻译：“禁止喂食动物。”",
    ],
)
def test_what_is_quoted_to_be_translated_or_corrected_is_nobodys_rule(text: str) -> None:
    assert _rules(text) == []


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("rule", "later", "left"),
    [
        ("Never use emojis.", "emojis are fine after all", ["emojis are fine after all"]),
        ("Keine Abkürzungen.", "Abkürzungen sind doch ok", ["Abkürzungen sind doch ok"]),
        ("Always indent with tabs.", "forget what I said about tabs", ["forget what I said about tabs"]),
        ("Immer mit Tabs einrücken.", "vergiss das mit den Tabs", ["vergiss das mit den Tabs"]),
        ("Call me Ann.", "Call me Annabel please.", ["Call me Annabel please."]),
        ("The launch is on Friday.", "The launch moved to Monday.", ["The launch moved to Monday."]),
        ("Comments in German please.", "Comments in English please.", ["Comments in English please."]),
        (
            "Use npm for everything.",
            "Use bun instead of npm everywhere.",
            ["Use bun instead of npm everywhere."],
        ),
        ("不要推送代码。", "现在可以推送了", ["现在可以推送了"]),
        ("Run the tests before each push.", "the tests are fine now", ["Run the tests before each push."]),
        (
            "The demo is on Friday.",
            "The exam is on Monday.",
            ["The demo is on Friday.", "The exam is on Monday."],
        ),
    ],
)
def test_a_later_word_takes_the_place_of_the_rule_that_it_is_about(
    rule: str, later: str, left: list[str]
) -> None:
    assert _rules(rule, later) == left


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("rule", "later"),
    [
        ("Never skip the tests.", "the tests are fine now"),
        ("Never skip the tests.", "Actually the tests are good, go on"),
        ("Run the tests before each push.", "There's no need to run the tests for this typo"),
        ("Call me Sam.", "Always call me before you deploy anything."),
        ("Never push to the release branch on Fridays.", "The release is on Monday."),
        ("Never commit npm lockfiles.", "Use pnpm instead of npm."),
        ("Run npm test before each push.", "Use pnpm instead of npm."),
        ("No trailing spaces.", "Use tabs instead of spaces."),
        ("Always answer me in German.", "Reply to customers in French."),
    ],
)
def test_a_later_word_about_something_else_ends_no_rule(rule: str, later: str) -> None:
    assert _rules(rule, later)[0] == rule


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    "rule",
    [
        'Never use the words "leverage and synergy" in error messages.',
        "Error handling: always wrap errors in AppError.",
        "Warning: never touch the prod database.",
        "Passwords must never be logged.",
        "All forms must use the shared validator.",
        "Users must never be deleted from production.",
        "Im Repo nutzen wir immer Tabs, keine Leerzeichen.",
        "Hier bitte niemals direkt auf main pushen, das ist für alle wichtig.",
        "Desde ahora usa siempre comillas simples, por favor, en la aplicación.",
        "Auf main kommt nie ungeprüfter Code.",
        "Abgabe ist am 15. März, bis dahin muss alles stehen.",
    ],
)
def test_a_rule_that_looks_like_a_story_a_quote_or_an_error_stands_word_for_word(rule: str) -> None:
    assert _rules(rule) == [rule]


def test_a_sentence_that_is_quoted_in_part_is_a_rule_by_its_own_words() -> None:
    told = 'The linter told me "you must never shadow a builtin here". Never shadow a builtin.'
    assert _rules(told) == ["Never shadow a builtin."]


def test_what_a_rule_gives_a_value_to() -> None:
    assert slot("Nenn mich Ann.") == "name"
    assert slot("The demo is on Friday.") == "when demo"
    assert slot("Commit messages in English") == "language of commit message"
    assert slot("Auf Deutsch antworten bitte") == "language"
    assert slot("Never push.") == ""
    assert slot("Reply to customers in French.") == ""
