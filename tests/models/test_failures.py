from __future__ import annotations

import pytest

from autocompact.errors import ModelError, ModelRefused, ModelUnavailable
from autocompact.models.failures import Secret, asked_wait, failure

NOW = "2026-11-21T03:00:00.000+00:00"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "2"}, 2),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sat, 21 Nov 2026 03:01:30 GMT"}, 90),
        ({"Retry-After": "Sat, 21 Nov 2026 03:01:30 -0000"}, 90),
        ({"Retry-After": "Sat, 21 Nov 2026 02:00:00 GMT"}, 0),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read_as_number_and_as_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert asked_wait(headers, now=NOW) == seconds


@pytest.mark.parametrize(
    ("status", "kind", "again"),
    [
        (400, ModelRefused, False),
        (401, ModelRefused, False),
        (404, ModelRefused, False),
        (408, ModelUnavailable, True),
        (422, ModelRefused, False),
        (429, ModelUnavailable, True),
        (500, ModelUnavailable, True),
        (501, ModelRefused, False),
        (529, ModelUnavailable, True),
        (302, ModelError, False),
    ],
)
def test_the_status_says_which_error_it_is_and_whether_to_try_again(
    status: int, kind: type[ModelError], again: bool
) -> None:
    found = failure(status, b'{"error":{"message":"why"}}', who="it")
    assert (type(found.error), found.again, found.error.status) == (kind, again, status)
    assert status < 400 or "why" in str(found.error)


def test_an_error_without_words_is_named_by_its_status() -> None:
    assert "Not Found" in str(failure(404, b"", who="it").error)
    assert "no reason given" in str(failure(599, b"", who="it").error)


def test_a_proxys_page_is_shown_without_its_tags() -> None:
    page = b"<html><body><h1>502 Bad Gateway</h1>\n<hr>nginx</body></html>"
    assert str(failure(502, page, who="it").error).endswith("502 Bad Gateway nginx")


def test_a_key_is_hidden_wherever_it_stands() -> None:
    secret = Secret(" my-own-key ")
    assert secret.hidden_in("wrong: my-own-key!") == "wrong: ***!"
    assert Secret(None).hidden_in("nothing") == Secret("x").hidden_in("nothing") == "nothing"
    assert Secret("x").hidden_in("max_tokens") == "max_tokens"
    assert (bool(secret), bool(Secret(None)), repr(secret), secret.reveal()) == (
        True,
        False,
        "Secret(***)",
        "my-own-key",
    )
