"""Which requests are tasks."""

import pytest

from autocompact.memory.documents.requests import is_task

TASKS = [
    "Add tests",
    "fix T-12",
    "create a PR",
    "Can you sort the branches by date?",
    "ok, now mend the importer please",
    "Refactor parser.py",
    "Behebe den Fehler im Import",
    "corrige les tests de l'import",
    "почини тесты импорта",
    "修复测试",
    "計算を直して",
    "로그인 버그 수정해줘",
    "yes\n\nand then write down why the queue was full",
]
NONE = [
    "",
    "...",
    "3",
    "yes",
    "Yes, please do!",
    "go on",
    "ok thanks, that looks great",
    "option 3",
    "commit this",
    "yeah close it",
    "which commit?",
    "continue with step 2",
    "ja bitte, mach weiter",
    "oui merci, continue",
    "sí, gracias",
    "да, спасибо",
    "好的，请继续",
    "はい、お願いします",
    "네 계속해줘",
]


@pytest.mark.parametrize("request_", TASKS)
def test_a_request_that_says_what_is_to_be_done_is_a_task(request_: str):
    assert is_task(request_)


@pytest.mark.parametrize("request_", NONE)
def test_assent_thanks_and_what_needs_the_words_before_it_are_no_tasks(request_: str):
    assert not is_task(request_)
