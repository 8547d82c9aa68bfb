"""Passwords that people make of words, told in the sentences of many languages."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import find_secrets
from autocompact.core.redaction.values import is_chosen

CHOSEN = (
    "Gru4ereRape", "Pierogi.Ruskie7", "Baklava.41tepsi", "Lakritsi.5kg", "Hefezopf.88", "tabbyCat_44", "zielonaZaba12",
    "tortilla4Huevos", "9Zwerge#Berg", "Fietsbel99!", "Vél0Rouge_2",
)  # fmt: skip
NAMES = (
    "findBranch2", "user42", "bcrypt2", "base64Decode", "sha256Sum", "utf8Reader", "postgres15", "oauth2Client",
    "bob42@example.com", "2024-11-22", "v2.config.yaml", "/etc/secret-1", "key=Value12", "%0AProsim1", "-pHorse12x",
    "moonlight", "12345678", "a1", "${Secret1}", "toInt32Value", "testUser_12", "call1(x)",
)  # fmt: skip


@pytest.mark.parametrize("value", CHOSEN)
def test_words_with_a_number_are_chosen(value: str) -> None:
    assert is_chosen(value, beside=True)


@pytest.mark.parametrize("value", NAMES)
def test_names_in_code_addresses_and_dates_are_not(value: str) -> None:
    assert not is_chosen(value, beside=True)


def test_words_with_a_number_are_chosen_only_where_something_leads_to_them() -> None:
    assert is_chosen("schnurzpiepegal7", beside=True)
    assert not is_chosen("schnurzpiepegal7")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Hasło do bazy to Pierogi.Ruskie7, użytkownik sklep", "Pierogi.Ruskie7"),
        ("Zmieniłem hasło na zielonaZaba12 i dalej nie działa", "zielonaZaba12"),
        ("Sunucunun şifresi Baklava.41tepsi, kullanıcı adı yonetici", "Baklava.41tepsi"),
        ("Palvelimen salasana on Lakritsi.5kg", "Lakritsi.5kg"),
        ("Cambié la contraseña a tortilla4Huevos pero sigue dando error", "tortilla4Huevos"),
        ("avec l'identifiant compta et le mdp Gru4ereRape stp", "Gru4ereRape"),
        ("ich hab als passwort jetzt schnurzpiepegal7 genommen", "schnurzpiepegal7"),
        ("Unser Root-PW (9Zwerge#Berg) muss geändert werden", "9Zwerge#Berg"),
        ("mon mot de passe, c'est maintenant « Vél0Rouge_2 », mais non", "Vél0Rouge_2"),
    ],
)
def test_a_chosen_password_is_found_whatever_stands_between(text: str, secret: str) -> None:
    assert [text[span.start : span.end] for span in find_secrets(text)] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "Das Passwort für Server_Nord12 ist abgelaufen",
        "Das Passwort prüft die Funktion pruefeBenutzer",
        "Das Passwort ist zu kurz. Siehe Kapitel.Acht12 dazu",
        "Toto heslo nikdy nebylo změněno.%0AProsím, nyní jej změňte.",
        "Фраза-пароль не менялась%%0Aс %.4s-%.2s-%.2s",
        "Пароль өзгертілмеді.",
        "Das Passwort und danach noch viele weitere Worte vor dem Namen Kapitel.Acht12",
        "le mot de passe\nKapitel.Acht12",
    ],
)
def test_what_else_stands_in_a_sentence_about_a_password_stays(text: str) -> None:
    assert find_secrets(text) == ()
