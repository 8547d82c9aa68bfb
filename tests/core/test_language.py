from __future__ import annotations

import pytest

from autocompact.core.language import WORDS, detect


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("please fix the rounding in the invoice", "en"),
        ("bitte behebe die Rundung und mach es auch für die Rechnung", "de"),
        ("corrige l'arrondi dans la facture et pour les taxes", "fr"),
        ("corrige el redondeo en la factura y los impuestos", "es"),
        ("corrija o arredondamento da fatura e não mude as taxas", "pt"),
        ("correggi gli arrotondamenti della fattura e non le tasse", "it"),
        ("исправь округление в счёте", "ru"),
        ("请修复发票的舍入，文件是 invoice.py", "zh"),
        ("請求書の丸めを直して invoice.py", "ja"),
        ("송장의 반올림을 고쳐 주세요", "ko"),
        ("bunu yapalım ve en son kaldığımız yerden devam edelim, bir şey var mı", "en"),
        ("kijk of het werkt en voeg een test toe voor de factuur, maar niet nu", "en"),
        ("", "en"),
        ("invoice.py 123", "en"),
    ],
)
def test_the_language_is_detected(text: str, language: str) -> None:
    assert detect([text]) == language


def test_every_language_has_every_word() -> None:
    assert len({frozenset(words) for words in WORDS.values()}) == 1
    assert all(word for words in WORDS.values() for word in words.values())


def test_a_log_that_was_pasted_is_in_no_language() -> None:
    log = '{\n  "level": "info", "que": "de", "uma": "para"\n}\nbody=client_id%3Dx%26redirect_uri&que=para&uma=com'
    assert detect([f"同意画面がうまく動かない。\n\nログ\n{log}"]) == "ja"
    # where there is nothing else it tells
    assert detect(['{"de": "que", "no": "es", "el": "para"}']) == "es"


def test_messages_of_programs_between_what_is_said_do_not_change_the_language() -> None:
    pasted = (
        "Type 'children' is not assignable to type 'DetailedProps'. Property 'class' does not exist on it. "
        * 4
    )
    asked = ["移行したい。", pasted, "コミットして", pasted, "警告直して", pasted, pasted]
    assert detect(asked) == "ja"
    assert detect([*asked[:1], *[pasted] * 5]) == "en"
