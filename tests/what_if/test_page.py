"""The page of a comparison: it loads nothing, shows every policy, and works in a browser, light and dark, wide and narrow."""

from __future__ import annotations

import re
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import anyio
import pytest
from playwright.sync_api import Browser, Page, expect

from autocompact.what_if.course import course_of
from autocompact.what_if.drawings import (
    LAYERS,
    MOST_POINTS,
    context_drawing,
    cost_drawing,
    sampled,
)
from autocompact.what_if.figures import Together, figures_of
from autocompact.what_if.hovering import context_data, cost_data, reason
from autocompact.what_if.losses import Kept, Loss
from autocompact.what_if.page import page_of, section_of
from autocompact.what_if.policies import Kind, WhatIf
from autocompact.what_if.replays import replayed
from autocompact.what_if.simulation import Layers, Outcome, Point, simulate
from tests.ui.web.harness import Visit, browsing
from tests.what_if.recordings import COUNTER, course, made, prices, work

HOSTILE = f'{"/srv/projects" * 5}/<script>alert(1)</script>&".jsonl'
KINDS: tuple[Kind, ...] = ("none", "recorded", "masks", "summaries", "engine")


def outcomes(
    turns: int = 60, *, kinds: tuple[Kind, ...] = KINDS, model: str = "claude-opus-4-5"
) -> list[Outcome]:
    recorded = work(turns, files=20, compactions=[made(81, minutes=20.1)])

    def simulated(kind: Kind) -> Outcome:
        ready, policy = course(recorded, window=20_000, fixed=1_500), WhatIf(name=f"<{kind}>", kind=kind)
        return anyio.run(partial(simulate, ready, policy, pricing=prices(model)))

    # in a thread of its own: the browser of these tests keeps a loop running in this one
    with ThreadPoolExecutor(1) as thread:
        return list(thread.map(simulated, kinds))


def section(found: list[Outcome]) -> str:
    recorded = work(60, files=20, compactions=[made(81, minutes=20.1)])
    ready = course_of(recorded, name=HOSTILE, counter=COUNTER, window=20_000, fixed=1_500)
    return section_of(replayed(ready, found), number=1)


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    return outcomes()


@pytest.fixture(scope="module")
def written(found: list[Outcome], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_of([section(found)], None), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with browsing() as opened:
        yield opened


def visited(browser: Browser, path: Path, *, width: int = 1000, dark: bool = False) -> tuple[Page, Visit]:
    page = browser.new_page(
        viewport={"width": width, "height": 1_200},
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )
    visit = Visit(page, path.as_uri())
    page.goto(path.as_uri())
    return page, visit


def elements(drawn: str) -> ElementTree.Element:
    match = re.search(r"<svg.*?</svg>", drawn, re.DOTALL)
    assert match
    return ElementTree.fromstring(match[0])


@pytest.mark.requirement("E10")
def test_the_context_is_drawn_as_a_stacked_area_with_each_compaction(found: list[Outcome]) -> None:
    ours = found[-1]
    root = elements(context_drawing(ours, most=ours.peak, window=20_000))
    drawn = [each.get("class") for each in root.iter("polygon")]
    assert drawn == [kind for kind, _ in LAYERS if any(getattr(p.layers, kind) for p in ours.points)]
    assert {"fixed", "new"} < set(drawn)
    assert len([each for each in root.iter("g") if each.get("class") == "compaction"]) == ours.compactions > 1
    title = next(root.iter("title")).text or ""
    assert re.fullmatch(
        r"\w+ before request \d+: [\d,]+ to [\d,]+ tokens, \d+ messages? left; \d+ of \d+ needs kept", title
    )


def test_where_requests_fail_the_drawing_says_how_many(found: list[Outcome]) -> None:
    drawn = context_drawing(found[0], most=20_000, window=20_000)
    assert f"{found[0].failed} requests fail" in drawn
    assert 'class="failing"' in drawn
    assert 'class="window"' in drawn
    assert 'class="failing"' not in context_drawing(found[-1], most=20_000, window=40_000)


def test_each_policy_has_a_line_of_its_cost_unless_nothing_has_a_price(found: list[Outcome]) -> None:
    root = elements(cost_drawing(found))
    assert len(list(root.iter("polyline"))) == len(found)
    assert len([each for each in root.iter("path") if each.get("class") == "stop"]) == sum(
        bool(o.failed) for o in found
    )
    unpriced = outcomes(4, kinds=("none",), model="nobody-1")
    assert cost_drawing(unpriced) == ""
    assert "Cost so far" not in section(unpriced)


def test_a_long_session_is_drawn_by_its_largest_requests_and_around_its_compactions() -> None:
    (long,) = outcomes(400, kinds=("engine",))
    points = sampled(long)
    assert len(points) <= 2 * MOST_POINTS < len(long.points)
    shown = {point.request for point in points}
    assert {1, 800} <= shown
    assert long.peak == max(point.layers.total for point in points)
    if len(long.losses) < MOST_POINTS / 3:
        assert {loss.request for loss in long.losses} <= shown


def test_what_the_pointer_shows_are_the_figures_of_the_requests(found: list[Outcome]) -> None:
    data = context_data(found[0])
    assert data["request"] == [point.request for point in found[0].points]
    assert data["failed"] == [int(point.failed) for point in found[0].points]
    assert [sum(layers) for layers in data["layers"]] == [point.layers.total for point in found[0].points]
    costs = cost_data(found)
    assert costs is not None
    for outcome, policy in zip(found, costs["policies"], strict=True):
        assert sum(policy["paid"]) == pytest.approx(outcome.dollars, abs=0.01)
        assert policy["cost"][-1] == pytest.approx(outcome.dollars, abs=0.0001)
        sent = sum(policy["read"]), sum(policy["written"])
        summaries = sum(loss.before for loss in outcome.losses if loss.summary)
        assert sum(sent) + summaries == outcome.bill.prompt
        assert [*policy["reasons"]] == [
            point.request - 1 for point in outcome.points if point.failed or point.request in turns(outcome)
        ]


def turns(outcome: Outcome) -> set[int]:
    return {loss.request for loss in outcome.losses}


def test_a_long_session_shows_the_requests_that_cost_most() -> None:
    found = outcomes(400, kinds=("none", "engine"))
    costs = cost_data(found)
    assert costs is not None
    assert len(costs["request"]) <= MOST_POINTS + 2 < len(found[0].points)
    ours = costs["policies"][1]
    points = [found[1].points[number - 1] for number in costs["request"]]
    assert ours["cost"] == [round(point.dollars or 0, 4) for point in points]
    dearest = max(
        b.dollars - a.dollars for a, b in pairwise(found[1].points) if a.dollars and b.dollars is not None
    )
    assert max(ours["paid"]) == pytest.approx(dearest, abs=0.0001)


@pytest.mark.parametrize(
    ("how", "summary", "told"),
    [
        ({}, 0, "summarise, prefix broken: 9,000 tokens became 4,000, 3,000 of them paid for in full"),
        (
            {"cold": True, "read": 0},
            250,
            "summarise, cache had expired: 9,000 tokens became 4,000, 4,000 of them paid for in full, and a model wrote a "
            "summary of 250",
        ),
        ({"failed": True}, 0, "not sent: larger than the window"),
    ],
)
def test_why_a_request_costs_more_is_said(how: dict[str, Any], summary: int, told: str) -> None:
    point = Point(request=7, seq=30, layers=Layers(kept=4_000), read=1_000, dollars=1.0)
    loss = Loss(
        request=7,
        seq=30,
        rung="summarise",
        before=9_000,
        after=4_000,
        summary=summary,
        left=20,
        needs=Kept(),
        rules=Kept(),
        missing=(),
        missed=(),
        unstated=(),
    )
    assert reason(replace(point, **how), loss, cached=True) == told


def test_a_pause_is_a_reason_and_growth_is_none(found: list[Outcome]) -> None:
    point = found[-1].points[1]
    assert reason(point, None, cached=True) == ""
    cold = replace(point, cold=True, read=0)
    assert reason(cold, None, cached=True) == f"cache expired: {point.layers.total:,} tokens paid for in full"
    loss = found[-1].losses[0]
    assert reason(point, loss, cached=False).startswith(f"{loss.rung}: {loss.before:,} tokens became ")


def test_the_page_loads_nothing_and_shows_names_as_they_are(written: Path) -> None:
    html = written.read_text("utf-8")
    assert re.findall(r"<[^>]*\s(?:src|href)\s*=", html) == []
    assert set(re.findall(r"https?://[^\"' ]+", html)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert HOSTILE not in html


def test_several_sessions_have_a_table_of_their_sums(found: list[Outcome]) -> None:
    figures = [figures_of(each) for each in found]
    html = page_of(
        [section(found), section(found)],
        Together.of([figures, (*figures, replace(figures[0], name="<more>"))]),
    )
    assert "All sessions together" in html
    assert "every session was replayed under it: &#x27;&lt;more&gt;&#x27; (1 of 2)" in html
    assert html.count('class="session"') == 2
    assert "sessions are drawn" not in html
    assert "The first 1 of 3 sessions are drawn." in page_of([section(found)], Together.of([figures] * 3))
    assert f"${2 * (figures[-1].cost or 0):,.2f}" in html


@pytest.mark.requirement("E10")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1_000, 400])
def test_the_page_works_in_a_browser(browser: Browser, written: Path, *, dark: bool, width: int) -> None:
    page, visit = visited(browser, written, width=width, dark=dark)
    assert page.locator(".chart.context:visible").count() == 1
    page.get_by_label("Policy", exact=True).select_option(label="<masks>")
    expect(page.locator("tr.chosen td").first).to_have_text("<masks>")
    assert page.locator(".chart.context:visible").get_attribute("data-shows") == "2"
    page.locator("tr[data-policy='4']").click()
    expect(page.get_by_label("Policy", exact=True)).to_have_value("4")
    expect(page.locator(".cost.chosen text")).to_have_text("<engine>")
    money = page.locator(".chart.money")
    money.locator("svg").hover()
    rows = money.locator(".tip tr")
    expect(rows.first).to_contain_text("this oneso far")
    assert rows.count() == 1 + len(KINDS)
    expect(money.locator(".tip tr.named td").first).to_have_text(
        money.locator(".tip p").inner_text().split(":")[0]
    )
    page.locator(".chart.context:visible svg").hover()
    tip = page.locator(".chart.context:visible .tip")
    expect(tip).to_contain_text("request ")
    expect(tip).to_contain_text("system prompt and tools")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    size = page.locator(".chart.context:visible svg text").first.bounding_box()
    assert size is not None
    assert size["height"] >= 10  # pixels: the names of the axis can be read on a phone
    missing = page.locator("div:not([hidden]) > .scroll > table.left td:last-child").first.bounding_box()
    assert missing is not None
    assert missing["x"] + missing["width"] <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(21, 24, 29)" if dark else "rgb(255, 255, 255)")
    assert visit.wrong == []
    page.close()


def test_a_drawing_is_saved_as_svg_and_as_png(browser: Browser, written: Path, tmp_path: Path) -> None:
    page, visit = visited(browser, written)
    for of, kind in (("context", "svg"), ("context", "png"), ("money", "svg")):
        with page.expect_download() as download:
            page.locator(f"button[data-of={of}][data-save={kind}]").click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        content = path.read_bytes()
        if kind == "png":
            assert content.startswith(b"\x89PNG")
            assert int.from_bytes(content[16:20]) == 1_440
        else:
            root = ElementTree.fromstring(content)
            assert root.get("width") == "720"
            # outside of the page the picture itself says what it shows
            words = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
            assert ("kept from before" in words) == (of == "context")
            assert any(word and word.startswith(("Tokens of the context", "Cost so far")) for word in words)
            # the paper around the name of a line is behind its letters
            assert (b"paint-order: stroke" in content) == (of == "money")
            assert b"var(" not in content
            assert re.search(rb"rgb\(\d+, \d+, \d+\)", content)
    assert visit.wrong == []
    page.close()
