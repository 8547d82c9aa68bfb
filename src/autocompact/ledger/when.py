"""Dates that are said from the day of the message: "yesterday", "last Friday", "in two weeks", 上周五.

A note is read long after the message was written, so such words give way to the date they mean: a day is ``2026-11-21``, a
week ``2026-11-16–22`` (Monday to Sunday), a weekend ``2026-11-21/22``, a month ``2026-10``, a year ``2025``, and what is said
in weeks ``~2026-12-06``. English, German, French, Spanish, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta

from autocompact.core.patterns import LazyPattern

_STAMP = LazyPattern(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_NUMBERS: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein eine einem einer un une uno una 一",
            "two couple zwei deux dos 二 两",
            "three drei trois tres 三",
            "four vier quatre cuatro 四",
            "five fünf cinq cinco 五",
            "six sechs seis 六",
            "seven sieben sept siete 七",
            "eight acht huit ocho 八",
            "nine neun neuf nueve 九",
            "ten zehn dix diez 十",
        ),
        start=1,
    )
    for word in words.split()
}
_WEEKDAYS: Mapping[str, int] = {
    word: day
    for day, words in enumerate(
        (
            "monday montag lundi lunes 一 月",
            "tuesday dienstag mardi martes 二 火",
            "wednesday mittwoch mercredi miércoles 三 水",
            "thursday donnerstag jeudi jueves 四 木",
            "friday freitag vendredi viernes 五 金",
            "saturday samstag sonnabend samedi sábado 六 土",
            "sunday sonntag dimanche domingo 日 天",
        )
    )
    for word in words.split()
}
_UNITS: Mapping[str, str] = {
    word: unit
    for unit, words in {
        "day": "day days tag tagen jour jours día días 天 日",
        "week": "week weeks woche wochen semaine semaines semana semanas 周 星期 週間 週",
        "month": "month months monat monaten mois mes meses 月 か月 ヶ月 ヵ月",
        "year": "year years jahr jahren an ans année années año años 年",
        "weekend": "weekend wochenende week-end 周末 週末",
    }.items()
    for word in words.split()
}
_DAYS: Mapping[str, int] = {
    word: away
    for away, words in {
        -2: "the day before yesterday|vorgestern|avant-hier|anteayer|前天|一昨日|おととい",
        -1: "yesterday|last night|gestern|hier|ayer|昨天|昨日|きのう",
        0: "today|tonight|this morning|this afternoon|this evening|heute|aujourd'hui|hoy|今天|今日",
        1: "tomorrow|morgen|demain|mañana|明天|明日",
        2: "the day after tomorrow|übermorgen|après-demain|pasado mañana|后天|明後日",
    }.items()
    for word in words.split("|")
}
_N = (
    r"(?P<{0}>\d{{1,3}}|(?:a |an )?couple(?= of| weeks| days| months)|"
    + "|".join(sorted((word for word in _NUMBERS if word.isascii() or word == "fünf"), key=len, reverse=True))
    + r")(?: of)?"
)
_UNIT = "|".join(sorted((word for word in _UNITS if ord(word[0]) < 0x3000), key=len, reverse=True))
_PERIOD = "|".join(word for word in _UNIT.split("|") if _UNITS[word] != "day")
_DAY = "|".join(word for word in _WEEKDAYS if ord(word[0]) < 0x3000)
_EAST_N = r"(?P<{0}>\d{{1,3}}|[一二两三四五六七八九十])\s*(?:个)?"
_EAST_UNIT = "週間|か月|ヶ月|ヵ月|天|日|周|星期|週|月|年"

_SPOKEN = "|".join(sorted((word for word in _DAYS if ord(word[0]) < 0x3000), key=len, reverse=True))
_WRITTEN = "|".join(sorted((word for word in _DAYS if ord(word[0]) >= 0x3000), key=len, reverse=True))
_PATTERN = LazyPattern(
    rf"(?<![\w-])(?:(?P<near>(?<!la )(?<!el )(?<!guten )(?<!heute )(?<!jeden )(?<!am )(?:{_SPOKEN}))"
    rf"|{_N.format('n_ago')} (?P<u_ago>{_UNIT}) ago|(?:vor|il y a|hace) {_N.format('n_before')} (?P<u_before>{_UNIT})"
    rf"|(?P<soon>in|dans|dentro de) {_N.format('n_in')} (?P<u_in>{_UNIT})(?! time)"
    rf"|(?P<side>last|next|this|letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?|nächste[nrs]?|kommende[nrs]?|diese[nrs]?) (?P<what>{_PERIOD}|{_DAY})"
    rf"|(?:l[ae] |l'|el )?(?P<what_after>semaine|mois|année|an|semana|mes|año|fin de semana|{_DAY}) (?P<side_after>derni[eè]re?|pass[ée]e?|prochaine?|pasad[ao]|que viene|próxim[ao])"
    rf"|(?:la |el )?(?P<side_es>próxim[ao]) (?P<what_es>semana|mes|año|{_DAY})"
    r")(?![\w-])"
    rf"|(?P<near_east>{_WRITTEN})"
    rf"|{_EAST_N.format('n_back')}(?P<u_back>{_EAST_UNIT})(?:之?前)|{_EAST_N.format('n_on')}(?P<u_on>{_EAST_UNIT})(?:之?后|後)"
    r"|(?P<side_east>上个?|下个?|本|这个?|先|来|今)(?:周|星期|週)の?(?P<day_east>[一二三四五六日天月火水木金土])(?:曜日?)?"
    r"|(?P<whole>上周末|下周末|上周|上星期|下周|下星期|上个月|下个月|去年|明年|先週|来週|先月|来月|昨年|来年)",
    re.IGNORECASE,
)  # fmt: skip
_WHOLE: Mapping[str, tuple[str, int]] = {
    "上周末": ("weekend", -1), "下周末": ("weekend", 1), "上周": ("week", -1), "上星期": ("week", -1), "下周": ("week", 1), "下星期": ("week", 1),
    "上个月": ("month", -1), "下个月": ("month", 1), "去年": ("year", -1), "明年": ("year", 1), "先週": ("week", -1), "来週": ("week", 1),
    "先月": ("month", -1), "来月": ("month", 1), "昨年": ("year", -1), "来年": ("year", 1),
}  # fmt: skip
_BEFORE = LazyPattern(r"last|letzt|vergang|vorig|derni|pass|pasad|上|先", re.IGNORECASE)
_COMING = LazyPattern(
    r"\b(?:will|'ll|won't|going to|i'm|we're|he's|she's|they're|is|are|plan\w*|starts?|begins?|leaves?|arrives?|due|need|must|should"
    r"|(?:i|we|er|sie|es|du|ihr) (?:fly|go|move|leave|start|have)|in \w+ (?:tag\w*|woche\w*|monat\w*|jahr\w*))\b",
    re.IGNORECASE,
)
"""Without one of these, English "in two days" says how long something took."""

_THIS = LazyPattern(r"this|diese|本|这|今", re.IGNORECASE)


def dated(text: str, *, time: str) -> str:
    """``text`` with the dates that its words mean; as it is where the day of the message is unknown.

    Args:
        text: a sentence or a part of one.
        time: stamp of the message, beginning with year, month and day.
    """
    stamp = _STAMP.match(time)
    if stamp is None:
        return text
    try:
        day = date(int(stamp[1]), int(stamp[2]), int(stamp[3]))
    except ValueError:
        return text
    may_come = _COMING.found_in(text)
    return _PATTERN.compiled.sub(
        lambda found: _meant(found, day) if may_come or (found["soon"] or "").lower() != "in" else found[0],
        text,
    )


def _meant(found: re.Match[str], day: date) -> str:
    """The date that one expression means; the expression itself where no calendar has it."""
    groups = {name: value.lower() for name, value in found.groupdict().items() if value}
    try:
        return _READ[next(name for name in _READ if name in groups)](groups, day)
    except (ValueError, OverflowError):
        return found[0]


def _near(groups: Mapping[str, str], day: date) -> str:
    return str(day + timedelta(days=_DAYS[groups.get("near") or groups["near_east"]]))


def _counted(number: str, unit: str, *, sign: int) -> Callable[[Mapping[str, str], date], str]:
    def read(groups: Mapping[str, str], day: date) -> str:
        said = groups[number].removeprefix("a ").removeprefix("an ")
        return _away(day, sign * (int(said) if said.isdigit() else _NUMBERS[said]), unit=_UNITS[groups[unit]])

    return read


def _sided(side: str, what: str) -> Callable[[Mapping[str, str], date], str]:
    def read(groups: Mapping[str, str], day: date) -> str:
        name, said = groups[what], groups[side]
        step = -1 if _BEFORE.match(said) else 0 if _THIS.match(said) else 1
        if name in _WEEKDAYS:
            return str(_weekday(day, _WEEKDAYS[name], step=step))
        return _period(day, "weekend" if name == "fin de semana" else _UNITS[name], step=step)

    return read


def _of_week(groups: Mapping[str, str], day: date) -> str:
    """A weekday of the week before, of this or of the next one, as Chinese and Japanese say it."""
    step = -1 if _BEFORE.match(groups["side_east"]) else 0 if _THIS.match(groups["side_east"]) else 1
    return str(_monday(day) + timedelta(weeks=step, days=_WEEKDAYS[groups["day_east"]]))


def _whole(groups: Mapping[str, str], day: date) -> str:
    unit, step = _WHOLE[groups["whole"]]
    return _period(day, unit, step=step)


_READ: Mapping[str, Callable[[Mapping[str, str], date], str]] = {
    "near": _near,
    "near_east": _near,
    "u_ago": _counted("n_ago", "u_ago", sign=-1),
    "u_before": _counted("n_before", "u_before", sign=-1),
    "u_in": _counted("n_in", "u_in", sign=1),
    "u_back": _counted("n_back", "u_back", sign=-1),
    "u_on": _counted("n_on", "u_on", sign=1),
    "what": _sided("side", "what"),
    "what_after": _sided("side_after", "what_after"),
    "what_es": _sided("side_es", "what_es"),
    "day_east": _of_week,
    "whole": _whole,
}
"""How an expression is read, by a group that only it has."""


def _away(day: date, count: int, *, unit: str) -> str:
    if unit == "day":
        return str(day + timedelta(days=count))
    if unit in ("week", "weekend"):
        return f"~{day + timedelta(weeks=count)}"
    return _month(day, count) if unit == "month" else str(date(day.year + count, 1, 1).year)


def _period(day: date, unit: str, *, step: int) -> str:
    monday = _monday(day) + timedelta(weeks=step)
    match unit:
        case "week":
            sunday = monday + timedelta(days=6)
            return f"{monday}–{sunday.day:02}" if sunday.month == monday.month else f"{monday}–{sunday:%m-%d}"
        case "weekend":
            return f"{monday + timedelta(days=5)}/{(monday + timedelta(days=6)).day:02}"
        case "month":
            return _month(day, step)
        case _:
            return str(date(day.year + step, 1, 1).year)


def _month(day: date, count: int) -> str:
    months = day.year * 12 + day.month - 1 + count
    return f"{date(months // 12, months % 12 + 1, 1):%Y-%m}"


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _weekday(day: date, wanted: int, *, step: int) -> date:
    """The nearest such day before (-1) or after (1) ``day``, not ``day`` itself; of this week for 0."""
    if step == 0:
        return _monday(day) + timedelta(days=wanted)
    away = (wanted - day.weekday()) % 7
    return day + timedelta(days=(away or 7) if step > 0 else away - 7)
