"""Files are attached by button, paste and drop, shown in the history, and sent."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.chat.test_attachments import PDF, png
from tests.ui.web.harness import Server, Speaker, Visit, shot

GIVE = """([kind, name, type, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, { type }));
    const field = document.getElementById("field");
    field.dispatchEvent(kind === "paste"
        ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_files_come_by_button_paste_and_drop_and_reach_the_model(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    picture = png(300, 200)
    chips = page.locator("#attached li")
    page.locator("#files").set_input_files(
        [
            {"name": "tide.png", "mimeType": "image/png", "buffer": picture},
            {"name": "tide.pdf", "mimeType": "application/pdf", "buffer": PDF},
        ]
    )
    expect(page.locator("#attached li[data-id]")).to_have_count(2)
    page.evaluate(GIVE, ["paste", "pasted.txt", "text/plain", "Oslo 07:40"])
    page.evaluate(GIVE, ["drop", "dropped.md", "text/markdown", "Bergen 06:12"])
    expect(page.locator("#attached li[data-id]")).to_have_count(4)
    page.get_by_role("button", name="Remove tide.pdf").click()
    expect(chips).to_have_count(3)
    page.locator("#files").set_input_files([{"name": "a.zip", "mimeType": "a/b", "buffer": b"PK\0\0"}])
    expect(page.locator("#unattached")).to_contain_text("a.zip cannot be read by a model")
    expect(chips).to_have_count(3)
    shot(page, "attached")
    visit.ask("What do you see?")
    expect(chips).to_have_count(0)

    sent = json.dumps(speaker.provider.requests[-1].body)
    for content in (b64encode(picture).decode(), "Oslo 07:40", "Bergen 06:12", "dropped.md"):
        assert content in sent
    assert b64encode(PDF).decode() not in sent
    asked = page.locator(".message.user")
    expect(asked.locator("img.attached")).to_be_visible()
    assert page.evaluate("document.querySelector('img.attached').naturalWidth") == 300
    expect(asked.locator(".chip")).to_have_text(["pasted.txt", "dropped.md"])
    shot(page, "attached-sent")
    page.reload()
    visit.ready()
    expect(asked.locator("img.attached")).to_be_visible()
    with page.expect_download() as download:
        asked.locator(".chip a").last.click()
    assert download.value.suggested_filename == "dropped.md"


@pytest.mark.parametrize("headers", [{}, {"origin": "https://evil.example"}])
def test_nobody_else_attaches_or_reads_files(
    context: BrowserContext, server: Server, headers: dict[str, str]
) -> None:
    with context.browser.new_context() as stranger:  # pyright: ignore[reportOptionalMemberAccess] - it has one
        for path in ("/attachments?name=a", "/attached/x/1/0"):
            ask = stranger.request.post if "?" in path else stranger.request.get
            assert ask(f"{server.url}{path}", headers=headers).status == 403
