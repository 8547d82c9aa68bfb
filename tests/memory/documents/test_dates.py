from datetime import date

import pytest

from autocompact.memory.documents.dates import ambiguous_dates, find_dates, read_date, read_month

DAY = date(2026, 10, 3)


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-03",
        "2026-10-3",
        "2026/10/03",
        "2026.10.03",
        "2026-10-03T10:15:00.250+02:00",
        "2026-10-03 10:15 UTC",
        "3 Oct 2026",
        "3 October 2026",
        "3rd October, 2026",
        "03-Oct-2026",
        "Oct 3, 2026",
        "Oct. 3, 2026",
        "October 3rd, 2026",
        "3. Oktober 2026",
        "03.10.2026",
        "3.10.2026",
    ],
)
def test_a_date_is_read_however_it_is_written(text: str):
    assert read_date(text) == DAY


def test_with_slashes_a_date_that_may_be_two_days_is_none_and_named():
    assert read_date("10/03/2026") is None
    assert ambiguous_dates("on 10/03/2026, 3/3/2026, 13/10/2026, 14/14/2026 and 03/10/2026 10:00") == [
        "10/03/2026",
        "03/10/2026",
    ]
    assert ambiguous_dates("2026-10-03") == []
    assert read_date("03/03/2026") == date(2026, 3, 3)
    assert read_date("13/10/2026") == read_date("10/13/2026") == date(2026, 10, 13)


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-13-01", "31.02.2026", "1.2.3", "v3.10.2026", "2026", "10/2026"]
)
def test_what_is_no_date_is_none(text: str):
    assert read_date(text) is None
    assert find_dates(text) == []


def test_months_of_other_languages_are_known_where_they_differ():
    assert read_date("1 März 2026") == date(2026, 3, 1)
    assert read_date("1. Mai 2026") == date(2026, 5, 1)
    assert read_date("1. Dezember 2026") == date(2026, 12, 1)


def test_every_date_of_a_text_is_found_in_order():
    assert find_dates("seen 2026-10-03, 4 Oct 2026 and 5.10.2026") == [
        DAY,
        date(2026, 10, 4),
        date(2026, 10, 5),
    ]


def test_a_month_is_its_last_day():
    assert read_month("2026-02") == date(2026, 2, 28)
    assert read_month("October 2026") == date(2026, 10, 31)
    assert read_month("2026-13") is None
    assert read_month("October") is None
