"""The parts of the page that only depend on values."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest

from autocompact.chat.highlighting import highlighted
from autocompact.chat.views import ConversationLine, MeterReading
from autocompact.compaction.record import Receipt
from autocompact.history.recall import Found
from autocompact.ui.web.calls import Call, LogPlace
from autocompact.ui.web.meter import meter_html
from autocompact.ui.web.record import receipt_rows
from autocompact.ui.web.render import brief, call_html, diff_html, duration, reasoning_html
from autocompact.ui.web.search import found_html
from autocompact.ui.web.sidebar import MOST, list_html

READING = MeterReading(
    used=8_000,
    window=16_000,
    reserve=2_000,
    threshold=10_800,
    prepare=7_500,
    breakdown={"summary": 3_000, "<answers>": 5_000},
)


def test_the_meter_marks_the_threshold_and_what_is_prepared() -> None:
    html = meter_html(READING)
    assert 'class="gauge near"' in html
    assert 'class="threshold" style="left:67.50%"' in html
    assert 'class="ready"' not in html
    ready = meter_html(replace(READING, prepared=True))
    assert 'class="ready"' in ready
    assert "A compaction is prepared." in ready
    assert "A compaction is being prepared." in meter_html(replace(READING, preparing=True))


def test_the_meter_says_when_nothing_is_compacted_by_itself_and_why() -> None:
    html = meter_html(replace(READING, threshold=0, prepare=0, note="the breaker <is> open"))
    assert "Automatic compaction is off." in html
    assert 'class="threshold"' not in html
    assert "the breaker &lt;is&gt; open" in html
    assert 'class="gauge calm"' in html
    assert 'class="gauge over"' in meter_html(replace(READING, used=11_000))


def test_the_breakdown_is_escaped_and_begins_with_the_largest_part() -> None:
    html = meter_html(READING)
    assert "<answers>" not in html
    assert html.index("&lt;answers&gt;") < html.index("</i>summary")


@pytest.mark.parametrize(
    "seconds, words", [(0.0, "1 ms"), (0.25, "250 ms"), (0.97, "1.0 s"), (59.0, "59.0 s"), (125, "2 min 5 s")]
)
def test_durations_are_said_as_a_person_reads_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_of_many_conversations_the_last_used_are_listed_and_the_filter_finds_the_others() -> None:
    lines = [
        ConversationLine(id=f"c{n}", title=f"<Talk> {n}", messages=n, created="", updated="2026-04-01T08:00Z")
        for n in range(MOST + 1_500)
    ]
    html = list_html(lines, current="c1")
    assert html.count("<a ") == MOST
    assert "and 1,500 more" in html
    assert html.count('aria-current="page"') == 1
    assert "<Talk>" not in html
    found = list_html(lines, current="c1", words=" tALK> 1599")
    assert 'href="/c/c1599"' in found
    assert found.count("<a ") == 1
    assert "Nothing found for &#x27;&lt;x&gt;&#x27;" in list_html(lines, current="c1", words="<x>")
    counted = [list_html(lines[n : n + 1], current="") for n in (0, 1, 1_234)]
    for words, line in zip(("empty", "1 message<", "1,234 messages"), counted, strict=True):
        assert words in line


def test_conversations_stand_under_the_day_that_they_were_used_last() -> None:
    days = ("2026-11-26", "2026-11-25", "2026-11-20", "2026-11-01", "2026-04-01", "")
    lines = [
        ConversationLine(
            id=f"c{n}", title="x", messages=1, created="", updated=day and f"{day}T12:00:00Z", pinned=n == 0
        )
        for n, day in enumerate((days[2], *days))
    ]
    html = list_html(lines, current="", today=date(2026, 11, 26))
    assert re.findall("<h2>(.*?)</h2>", html) == [
        *("Pinned", "Today", "Yesterday", "Previous 7 days", "Previous 30 days", "April 2026", "Earlier")
    ]
    assert html.count(">Unpin<") == 1
    assert "<h2>" not in list_html(lines, current="", today=date(2026, 11, 26), words="x")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ('{"path": "a b", "n": 3}', "a b 3"),
        ('{"tasks": [{"text": "Find it", "state": "doing"}, {"text": "Mend it"}, {}]}', "Find it, Mend it,"),
        ("*** patch\n+x", "*** patch +x"),
        ("[1]", "[1]"),
        ("", ""),
    ],
)
def test_the_arguments_of_a_call_are_one_line(arguments: str, words: str) -> None:
    assert brief(arguments) == words


def test_code_is_coloured_where_its_language_is_known_and_escaped() -> None:
    assert '<span class="' in highlighted("x = '<b>'", "python")
    assert "<b>" not in highlighted("x = '<b>'", "python")
    assert highlighted("x", "no such language") == ""


def test_a_difference_is_escaped_line_by_line() -> None:
    html = diff_html("+<b>\n-old\n same")
    assert "<span class='added'>+&lt;b&gt;" in html
    assert "<span class='removed'>-old" in html
    assert "same" in diff_html("")


def test_a_result_is_shown_from_shortly_before_its_match_which_is_marked_and_escaped() -> None:
    found = Found(reference="m1", source="the user", excerpt=f"{'filler words ' * 90}<b>zebra</b> & crossing")
    shown = found_html(found, {"zebra", "cross"})
    assert "&lt;b&gt;<mark>zebra</mark>&lt;/b&gt; &amp; <mark>crossing</mark>" in shown
    assert shown.count("filler") < 12
    assert "<pre>… " in shown
    assert "<mark>" not in found_html(found)


def test_a_summary_of_the_archive_is_called_one_and_another_conversation_by_its_title() -> None:
    archived = Found(
        reference="CONTEXT_ARCHIVE.md#2", source="summary of the conversation a", excerpt="The tide."
    )
    assert '<span class="archived">archive: a summary, not the words themselves</span>' in found_html(
        archived
    )
    found = Found(reference="a:m3", source="the user", excerpt="The tide.", time="2026-11-26T10:00:00Z")
    titles = {"a": "High <b>water</b>"}
    assert "<b>m3</b> · High &lt;b&gt;water&lt;/b&gt; · the user · 2026-11-26" in found_html(
        found, titles=titles
    )
    assert "archived" not in found_html(found)
    assert "<b>a:m3</b>" in found_html(found)


def test_a_result_shows_what_belongs_to_it_and_that_it_is_outdated() -> None:
    found = Found(
        reference="m1",
        source="the user",
        excerpt="Which animal?",
        beside="→ [m2] the assistant: <a> zebra",
        note="older: m9 has this file later",
    )
    shown = found_html(found, {"zebra"})
    assert "the user · older: m9 has this file later</p>" in shown
    assert '<p class="beside">→ [m2] the assistant: &lt;a&gt; <mark>zebra</mark></p>' in shown


def test_of_a_model_that_thinks_the_last_line_is_seen_and_how_long_it_takes() -> None:
    html = reasoning_html("look at the seal\nthe <b>valve</b> is fine\n", key="k", running=True, seconds=12.3)
    assert "Thinking… 12.3 s</span>" in html
    assert '<span class="brief">the &lt;b&gt;valve&lt;/b&gt; is fine</span>' in html
    assert "Thought for 2 min 3 s" in reasoning_html("hm", key="k", seconds=123)
    assert "<span>Reasoning</span>" in reasoning_html("hm", key="k")
    assert reasoning_html(" \n", key="k", running=True) == ""


@pytest.mark.parametrize("nested", ["[" * 900 + "]" * 900, "[" * 300_000 + "]" * 300_000])
def test_arguments_that_a_model_nested_without_end_are_shown_as_they_are(nested: str) -> None:
    call = Call(place=LogPlace(1, 0), id="c", name="look", arguments=f'{{"at":{nested}}}')
    assert "[[[[" in call_html(call)


def test_a_receipt_has_the_figures_of_the_meter_where_they_are_others() -> None:
    receipt = Receipt(tokens_before=90, tokens_after=30, bytes_before=300, bytes_after=100, rung="summarise")
    assert ("On the meter", "100 → 40") in receipt_rows(receipt, metered=(100, 40))
    assert ("On the meter", "") in receipt_rows(receipt, metered=(90, 30))
    assert ("On the meter", "") in receipt_rows(receipt, metered=None)
