"""Dates that are said from the day of the message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.ledger.when import dated

SUNDAY = "2026-11-22T10:00:00Z"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I saw her yesterday", "I saw her 2026-11-21"),
        ("last Friday we met", "2026-11-20 we met"),
        ("next Monday", "2026-11-23"),
        ("we met last Sunday", "we met 2026-11-15"),
        ("this Tuesday", "2026-11-17"),
        ("three days ago", "2026-11-19"),
        ("a couple of months ago", "2026-09"),
        ("five years ago", "2021"),
        ("I'm flying in two weeks", "I'm flying ~2026-12-06"),
        ("next week", "2026-11-23–29"),
        ("this weekend", "2026-11-21/22"),
        ("last year", "2025"),
        ("next month", "2026-12"),
        ("vor drei Wochen", "~2026-11-01"),
        ("letzten Freitag", "2026-11-20"),
        ("ich fliege in zwei Tagen", "ich fliege 2026-11-24"),
        ("übermorgen", "2026-11-24"),
        ("il y a deux semaines", "~2026-11-08"),
        ("vendredi dernier", "2026-11-20"),
        ("la semaine prochaine", "2026-11-23–29"),
        ("dans trois jours", "2026-11-25"),
        ("ayer fui", "2026-11-21 fui"),
        ("hace tres meses", "2026-08"),
        ("el fin de semana pasado", "2026-11-14/15"),
        ("el próximo lunes", "2026-11-23"),
        ("我昨天去了", "我2026-11-21去了"),
        ("上周五见面", "2026-11-13见面"),
        ("下个月搬家", "2026-12搬家"),
        ("三天后出发", "2026-11-25出发"),
        ("先週の金曜日に", "2026-11-13に"),
        ("今週の水曜日に", "2026-11-18に"),
        ("来週の月曜日", "2026-11-23"),
        ("3日前に", "2026-11-19に"),
    ],
)  # fmt: skip
def test_an_expression_becomes_the_date_it_means(said: str, meant: str) -> None:
    assert dated(said, time=SUNDAY) == meant


@pytest.mark.parametrize(
    "said",
    [
        "guten Morgen", "am Morgen", "por la mañana", "I read it in two days", "9999 years ago", "the last one", "the next day", "in two minds",
        "mayesterday",
    ],
)  # fmt: skip
def test_what_means_no_date_stays(said: str) -> None:
    assert dated(said, time=SUNDAY) == said


@pytest.mark.parametrize("time", ["", "yesterday", "2026-13-45T00:00:00Z"])
def test_without_the_day_of_the_message_nothing_is_changed(time: str) -> None:
    assert dated("I saw her yesterday", time=time) == "I saw her yesterday"


def test_a_week_over_the_end_of_a_month_names_both_months() -> None:
    assert dated("next week", time="2026-11-24") == "2026-11-30–12-06"


def test_a_date_with_slashes_is_a_day_too() -> None:
    assert dated("yesterday", time="2023/04/10 (Mon) 14:47") == "2023-04-09"


@given(st.text(max_size=80), st.dates())
def test_no_text_and_no_day_fails(text: str, day: object) -> None:
    dated(f"{text} last week {text} tomorrow, two months ago", time=str(day))


def test_a_year_that_no_calendar_has_stays_as_it_was_said() -> None:
    assert dated("900 years ago", time="0500-01-01") == "900 years ago"
