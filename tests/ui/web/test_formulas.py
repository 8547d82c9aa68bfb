"""Formulas are drawn by KaTeX, read out as MathML, copied as they were written, and can do no harm."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.web.harness import Server, Speaker, Visit, shot, visiting
from tests.ui.web.test_looks import LOW_CONTRAST, TOO_WIDE

FORMULAS = """\
It costs $5 or $6; among words $x^2$ and \\(y_1\\).

$$\\sum_{n=1}^\\infty \\frac{1}{n^2} = \\frac{\\pi^2}{6}$$

So:
\\[
\\begin{aligned}a &= b \\label{eq:a_1} \\\\ &= c\\end{aligned}
\\]

and $$z \\tag{1}$$ | `$code$`
"""
WRITTEN = [
    "x^2",
    "y_1",
    r"\sum_{n=1}^\infty \frac{1}{n^2} = \frac{\pi^2}{6}",
    "\\begin{aligned}a &= b \\label{eq:a_1} \\\\ &= c\\end{aligned}",
    r"z \tag{1}",
]
ENVIRONMENTS = """\
So:
\\begin{align}
a &= b \\\\
- c &= d
\\end{align}
and \\begin{equation} E = mc^2 \\end{equation} then

\\begin{multline*}
e + f
\\end{multline*}

\\begin{flalign*}
g &= h
\\end{flalign*}
"""
CHEMISTRY = """\
Water is $\\ce{H2O}$, and

$$\\ce{SO4^2- + Ba^2+ -> BaSO4 v}$$

takes $\\pu{123 kJ//mol}$.
"""
STACKED = (
    r"\underset{x}{\arg\max}",
    r"\overset{!}{=}",
    r"a \stackrel{\text{def}}{=} b",
    r"a \bmod n",
    r"\mathop{\sum\sum}_i",
    "a\x0b < b",
)
WIDE = " + ".join(f"a_{{{n}}}" for n in range(60))
HOSTILE = (
    r"\href{javascript:alert(1)}{x}",
    r"\href{https://evil.example}{x}",
    r"\includegraphics{https://evil.example/pixel.png}",
    r"\htmlData{action=delete}{x}",
    r"\htmlStyle{position: fixed}{x}",
    r"\color{url(https://evil.example)}x",
    r"\def\a{\a\a}\a",
    "{" * 1_900 + "}" * 1_900,
    r"\frac{",
    r"\nosuchcommand",
)
ENDLESS = r"\def\a{" + "x" * 2_000 + "}" + r"\a" * 900
"""It takes KaTeX minutes, with fewer macros than it allows by itself."""
OUTSIDE = """() => [...document.querySelectorAll(".drawn-math *")].map((each) => each.getBoundingClientRect().height)
    .filter((height) => height > 2000).length"""
NUMBERS = """() => [...document.querySelectorAll(".message.assistant .prose")].flatMap((prose) => {
    // a number is drawn by a counter, which no script can read: count as the browser does
    let number = getComputedStyle(prose).counterReset.includes("katexEqnNo") ? 0 : NaN;
    return [...prose.querySelectorAll(".katex-html *")].filter((each) =>
        getComputedStyle(each, "::before").counterIncrement.includes("katexEqnNo")).map(() => ++number);
})"""
WATCH = """() => {
    window.lost = [];
    window.seen = new Set();
    const look = () => {
        for (const math of document.querySelectorAll(".live .drawn-math")) seen.add(math.dataset.latex);
        for (const source of document.querySelectorAll(".live code.math")) if (seen.has(source.textContent)) lost.push(source.textContent);
        requestAnimationFrame(look);
    };
    look();
}"""
SELECT = """() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector(".message.assistant .prose"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return new Promise((done) => {
        document.addEventListener("copy", (event) => done(event.clipboardData.getData("text/plain")), { once: true });
        document.execCommand("copy");
    });
}"""


def drawn(page: Page) -> list[Any]:
    return page.locator(".message .drawn-math").evaluate_all("all => all.map((each) => each.dataset.latex)")


def test_formulas_are_drawn_and_read_out_and_katex_comes_with_the_first(
    browser: Browser, server: Server, speaker: Speaker
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    with visiting(context, server.url) as visit:
        page = visit.page
        page.on("request", lambda request: asked.append(request.url))
        visit.new()
        visit.ask("No formula.")
        assert not [url for url in asked if "katex" in url]
        speaker.will_say(FORMULAS)
        visit.ask("Formulas.")
        expect(page.locator(".message .drawn-math")).to_have_count(len(WRITTEN))
        assert drawn(page) == WRITTEN
        assert page.locator(".drawn-math math").count() == len(WRITTEN)
        assert page.locator(".formula .katex-display").count() == 3
        expect(page.locator(".drawn-math .katex-html").first).to_have_attribute("aria-hidden", "true")
        page.wait_for_function("() => document.fonts.check('16px KaTeX_Math')")
        assert all("/katex/" not in url or url.startswith(server.url) for url in asked)
        assert not [url for url in asked if url.endswith((".woff", ".ttf"))]
        expect(page.locator(".message .prose").last).to_contain_text("It costs $5 or $6")
        shot(page, "formulas-light")
        page.emulate_media(color_scheme="dark")
        expect(page.locator("body.body--dark")).to_be_visible()
        shot(page, "formulas-dark")
        assert page.evaluate(LOW_CONTRAST) == []
    context.close()


def test_environments_are_drawn_without_marks_and_numbered_within_their_message(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    for _ in range(2):
        speaker.will_say(ENVIRONMENTS)
        visit.ask("Formulas.")
    last = page.locator(".message.assistant").last
    expect(page.locator(".message .drawn-math .katex-display")).to_have_count(8)
    expect(page.locator(".message code.math, .message .formula > code")).to_have_count(0)
    expect(last.locator("li")).to_have_count(0)
    assert page.evaluate(NUMBERS) == [1, 2, 3] * 2
    assert not page.locator(".formula").evaluate_all(
        "all => all.filter((each) => each.scrollWidth > each.clientWidth).length"
    )
    shot(page, "formulas-environments")
    copied = page.evaluate(SELECT)
    assert "$" not in copied
    for each in (
        "\\begin{align}",
        "\\end{align}",
        "\\begin{equation} E = mc^2 \\end{equation}",
        "\\begin{multline*}",
    ):
        assert each in copied


def test_chemistry_is_drawn_and_its_part_of_katex_comes_with_the_first(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    speaker.will_say("$a$", CHEMISTRY)
    visit.ask("Formulas.")
    expect(page.locator(".message .drawn-math")).to_have_count(1)
    assert not [url for url in asked if "mhchem" in url]
    visit.ask("Chemistry.")
    expect(page.locator(".message .drawn-math")).to_have_count(4)
    expect(page.locator(".message .formula > code, .message code.math")).to_have_count(0)
    words = page.locator(".drawn-math annotation").all_text_contents()
    assert words[1:] == [r"\ce{H2O}", r"\ce{SO4^2- + Ba^2+ -> BaSO4 v}", r"\pu{123 kJ//mol}"]
    expect(page.locator(".formula .drawn-math mover").first).to_be_attached()  # the arrow
    shot(page, "formulas-chemistry")


def test_signs_made_of_signs_are_drawn_and_read_out_as_rows(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say("\n\n".join(f"$${each}$$" for each in STACKED))
    visit.ask("Formulas.")
    expect(page.locator(".message .drawn-math")).to_have_count(len(STACKED))
    assert page.locator(".drawn-math :is(mi, mo, mn, mtext) *").count() == 0
    assert page.locator(".drawn-math math").evaluate_all(
        "all => all.every((each) => [...each.querySelectorAll('*')].every((part) => part.namespaceURI === each.namespaceURI))"
    )
    expect(page.locator(".drawn-math mover > mrow")).to_have_text(["=", "="])
    shot(page, "formulas-stacked")


def test_a_drawn_formula_stays_while_more_of_the_answer_comes_and_one_that_comes_is_its_source(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    page.evaluate(WATCH)
    speaker.slow()
    speaker.will_say(f"First $a^2$ and\n\n$$\nb^2\n$$\n\n{'more words ' * 30}\n\n\\[\n{WIDE}\n\\]\n")
    visit.say("Formulas.")
    expect(page.locator(".live .formula > code:not(.math)")).to_contain_text("a_{0}")
    assert page.locator(".live .drawn-math").count() == 2
    visit.idle()
    expect(page.locator(".message .drawn-math")).to_have_count(3)
    seen, lost = page.evaluate("() => [[...seen], lost]")
    assert {"a^2", "b^2"} <= set(seen)
    assert lost == []


def test_a_hostile_formula_stays_as_its_source_and_one_without_an_end_holds_up_nothing(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say(
        "\n\n".join(f"$${each}$$" for each in (*HOSTILE, ENDLESS, r"\rule{9999em}{9999em}", "x^2"))
    )
    visit.ask("Formulas.")
    page.locator("#field").fill("I can write")
    formulas, sources = page.locator(".message .formula"), page.locator(".message .formula > code")
    formulas.first.scroll_into_view_if_needed()
    expect(sources.first).to_have_attribute("title", r"Not drawn: \href is not allowed")
    formulas.last.scroll_into_view_if_needed()
    expect(page.locator(".message .drawn-math")).to_have_count(2)  # once the one without an end was given up
    expect(sources).to_have_text([*HOSTILE, ENDLESS])
    expect(sources.last).to_have_attribute("title", "Not drawn: it takes too long")
    assert page.evaluate(OUTSIDE) == 0
    assert (
        page.locator(".message a[href*=evil], .message [style*=fixed], .message [data-action=delete]").count()
        == 0
    )


def test_formulas_far_from_what_is_in_sight_are_drawn_when_one_comes_near(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say("\n\n".join(f"$$x_{{{n}}}$$\n\n" + "Words. " * 99 for n in range(60)))
    visit.ask("Formulas.")
    expect(page.locator(".message code.math").first).to_have_text("x_{0}")
    expect(page.locator(".message .drawn-math").last).to_be_visible()
    assert page.locator(".message .drawn-math").count() < 40
    page.locator(".message .formula").first.scroll_into_view_if_needed()
    expect(page.locator(".message .formula").first.locator(".drawn-math")).to_be_visible()


@pytest.mark.parametrize("marks", ["Words: ${}$", "$$\n{}\n$$", "- ${}$", "> ${}$"])
def test_a_wide_formula_scrolls_on_a_narrow_screen(visit: Visit, speaker: Speaker, marks: str) -> None:
    page = visit.page
    speaker.will_say(marks.format(rf"\underbrace{{{WIDE}}}_n"))
    visit.ask("Formulas.")
    page.set_viewport_size({"width": 400, "height": 800})
    expect(page.locator(".message .drawn-math")).to_have_count(1)
    scrolls = page.locator(".formula, .drawn-math.wide")
    expect(scrolls).to_have_attribute("tabindex", "0")
    assert scrolls.evaluate("(each) => each.scrollWidth > each.clientWidth")
    assert not page.evaluate(TOO_WIDE)
    shot(page, "formulas-narrow")
    page.set_viewport_size({"width": 1280, "height": 800})


def test_what_is_copied_has_the_formulas_as_they_were_written(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say("So $a^2$ is\n\n$$b^2$$\n\nand **more**.")
    visit.ask("Formulas.")
    expect(page.locator(".message .drawn-math")).to_have_count(2)
    assert page.evaluate(SELECT).split("\n") == ["So $a^2$ is", "", "$$b^2$$", "", "and more."]
