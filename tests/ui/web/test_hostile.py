"""What a model, a tool, a title or another site may try, in a real browser: nothing runs, nothing is asked for elsewhere.

`visiting` checks in the end that no dialog opened, no error arose and no request went elsewhere.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from autocompact.testing import Answer
from tests.ui.web.harness import Server, Speaker, Visit, call, visiting

VECTORS = """\
<script>alert(1)</script><img src=x onerror="alert(2)"><svg onload=alert(3)></svg><iframe src="https://evil.example"></iframe>
[a](javascript:alert(4)) [b](data:text/html,<script>alert(5)</script>) [c](vbscript:x) [d](//evil.example)
![pixel](https://evil.example/pixel.png) <a href="javascript:alert(6)">x</a> `</code><script>alert(7)</script>`
</script><script>alert(8)</script> ${alert(9)} `${alert(10)}` {{constructor.constructor('alert(11)')()}}

```html
</code></pre><script>alert(12)</script>
```

<style>@import url(https://evil.example/a.css)</style> <link rel=stylesheet href=https://evil.example/b.css>
"""


def test_a_hostile_answer_does_nothing_while_it_streams_and_after_a_reload(
    visit: Visit, speaker: Speaker
) -> None:
    page = visit.page
    speaker.will_say(Answer(text=VECTORS, reasoning=VECTORS))
    visit.ask("Say something evil.")
    for _ in range(2):
        expect(page.locator(".message.assistant")).to_contain_text("alert(1)")
        expect(page.locator(".message.assistant")).to_contain_text("[image: pixel]")
        assert (
            page.locator(".message script, .message img, .message iframe, .message svg:not(.icon)").count()
            == 0
        )
        links = page.locator(".message a[href]").evaluate_all(
            "(all) => all.map((a) => a.getAttribute('href'))"
        )
        # an address that stands in a text may be clicked, and is nothing but an address
        assert all(link.startswith(("#m", "https://evil.example")) for link in links)
        assert not any('"' in link or "javascript" in link for link in links)
        visit.page.reload()
        visit.ready()


def test_hostile_output_of_a_tool_and_a_hostile_request_do_nothing(
    visit: Visit, speaker: Speaker, server: Server
) -> None:
    page = visit.page
    (server.folder / "evil.md").write_text(VECTORS)
    speaker.will_say(Answer(calls=(call("read_file", path="evil.md"),)), "Read.")
    visit.ask(VECTORS * 5)
    visit.ask("Thank you.")
    page.locator(".fold.tool summary").click()
    expect(page.locator(".fold.tool pre").last).to_contain_text("alert(12)")
    expect(page.locator(".bubble").first).to_contain_text("alert(12)")
    expect(page.locator("h1.title")).to_contain_text("<script>")
    page.locator("#search").click()
    page.locator("#query").fill("constructor alert")
    expect(page.locator(".result").first).to_contain_text("alert(")
    page.keyboard.press("Escape")
    speaker.will_say(f"<summary>{VECTORS}</summary>")
    visit.say("/compact")
    page.locator(".divider .line").click()
    for section in ("Ledger", "Messages", "Summary"):
        page.get_by_role("button", name=section).click()
        expect(page.locator(".opened .content")).to_contain_text("alert(")
    page.reload()
    visit.ready()
    expect(page.locator(".bubble").first).to_contain_text("alert(12)")


def test_a_hostile_title_does_nothing(visit: Visit) -> None:
    page = visit.page
    visit.ask("Good day.")
    title = "<img src=x onerror=alert(1)> \" onmouseover=alert(2) ' ${alert(3)} --> </title>"
    visit.say(f"/title {title}")
    expect(page.locator("h1.title")).to_have_text(title)
    expect(page.locator(".conversations .current .words")).to_have_text(title)
    expect(page.locator(".conversations .current summary")).to_have_accessible_name(f"More for {title}")
    page.locator(".conversations .current summary").click()
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("dialog")).to_contain_text(title)


def test_a_hostile_name_of_a_conversation_that_came_in_a_file_does_nothing(
    quiet: Visit, offline: Server
) -> None:
    page = quiet.page
    name = "a/b #1 100% ?x=');alert(1);('\\ \"<日本>"
    file = offline.folder / "given.json"
    file.write_text(json.dumps([{"role": "user", "content": "Lapwings run."}]))
    bring = [
        sys.executable,
        "-m",
        "autocompact",
        "import",
        str(file),
        "--name",
        name,
        "--db",
        str(offline.db),
    ]
    subprocess.run(bring, check=True, capture_output=True)
    quiet.new()
    page.locator(".conversations a.title", has_text="Lapwings").click()
    expect(page.locator(".bubble")).to_have_text("Lapwings run.")
    page.wait_for_function("name => decodeURIComponent(location.pathname) === '/c/' + name", arg=name)
    page.reload()
    quiet.ready()
    expect(page.locator(".bubble")).to_have_text("Lapwings run.")
    page.locator(".conversations .current summary").click()
    page.get_by_role("button", name="Export…").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("link").first.click()
    assert "Lapwings run." in Path(download.value.path()).read_text("utf-8")


def test_a_link_opens_in_a_window_that_knows_nothing_of_this_one(visit: Visit, speaker: Speaker) -> None:
    page = visit.page
    speaker.will_say("See [there](https://elsewhere.example/page).")
    visit.ask("Where?")
    page.evaluate("window.open = (...given) => { window.opened = given; return null; }")
    page.get_by_role("link", name="there").click()
    assert page.evaluate("window.opened") == [
        "https://elsewhere.example/page",
        "_blank",
        "noopener,noreferrer",
    ]


def test_a_script_that_got_into_the_page_would_not_run(context: BrowserContext, server: Server) -> None:
    with visiting(context, server.url) as visit:
        visit.open()
        ran = visit.page.evaluate(
            """() => new Promise((done) => {
                document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
                const script = document.createElement("div");
                script.innerHTML = "<img src=data:, onerror='window.ran = true'>";
                document.body.append(script);
            })"""
        )
        assert ran == "script-src-attr"
        assert visit.page.evaluate("window.ran") is None
        visit.wrong.clear()  # the violation that was provoked


# Other sites


class _Site(BaseHTTPRequestHandler):
    def __init__(self, body: str, *rest: object) -> None:
        self.body = body.encode()
        super().__init__(*rest)  # pyright: ignore[reportArgumentType] - passed on as it came

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _site(body: str) -> Generator[str]:
    """Another origin of this computer."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Site, body)) as site:
        thread = Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}/"
        site.shutdown()
        thread.join()


_TRIES = """
async ([home, file]) => {
  const tried = {};
  const get = async (name, path, options) => {
    try { const got = await fetch(home + path, options); tried[name] = got.type + " " + (await got.text()).length; }
    catch (error) { tried[name] = "refused"; }
  };
  const polling = "/_nicegui_ws/socket.io/?EIO=4&transport=polling";
  await get("read", "/", {credentials: "include"});
  await get("blind", "/export/x/json", {mode: "no-cors", credentials: "include"});
  await get("polling", polling, {credentials: "include"});
  await get("posting", polling, {method: "POST", body: "40", mode: "no-cors", credentials: "include"});
  tried.socket = await new Promise((done) => {
    const socket = new WebSocket(home.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  tried.script = await new Promise((done) => {
    const script = Object.assign(document.createElement("script"), {src: home + file});
    script.onload = () => done("loaded");
    script.onerror = () => done("refused");
    document.head.append(script);
  });
  return tried;
}
"""


def test_a_page_of_another_origin_can_neither_read_nor_post(browser: Browser, server: Server) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    expect(page.locator("#field")).to_be_visible()
    file = page.locator("script[src$='/page.js']").get_attribute("src")
    with _site("<p>hello</p>") as site:
        page.goto(site)
        tried = page.evaluate(_TRIES, [server.url, file])
        page.evaluate(
            "(home) => document.body.append(Object.assign(document.createElement('iframe'), {src: home}))",
            server.url,
        )
        frame = page.frames[-1]
        assert frame.url in ("", "about:blank", "chrome-error://chromewebdata/")
    context.close()
    assert tried.pop("blind") == "refused"  # the answer may not be embedded elsewhere either
    assert set(tried.values()) == {"refused"}, tried


def test_a_link_from_another_site_leads_to_the_page(browser: Browser, server: Server) -> None:
    context = browser.new_context()
    page = context.new_page()
    with _site(f"<a href='{server.url}'>chat</a>") as site:
        page.goto(site)
        page.get_by_role("link").click()
        expect(page.locator("#field")).to_be_visible()
        page.wait_for_function("() => window.did_handshake")
    context.close()


def _status(server: Server, path: str, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "", "[::2]:1"]
)
def test_a_host_that_is_not_this_computer_is_refused(server: Server, host: str) -> None:
    assert _status(server, "/", host=host) == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_the_names_of_this_computer_are_welcome(server: Server, host: str) -> None:
    assert _status(server, "/favicon.ico", host=f"{host}:{server.port}") == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil", "http://["]
)
def test_a_foreign_origin_is_refused(server: Server, origin: str) -> None:
    host = f"127.0.0.1:{server.port}"
    assert _status(server, "/", host=host, origin=origin) == 403
    upgrade = {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec_websocket_version": "13",
        "cookie": f"autocompact_{server.port}=of-the-tests",
    }
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    assert _status(server, path, host=host, origin=origin, **upgrade) == 403
    assert _status(server, path, host=host, origin=f"http://{host}", **upgrade) == 101


def test_without_the_pages_cookie_nothing_is_exported(server: Server) -> None:
    host = f"127.0.0.1:{server.port}"
    assert _status(server, "/export/any/json", host=host) == 403
    wrong = f"autocompact_{server.port}=other"
    assert _status(server, "/export/any/json", host=host, cookie=wrong) == 403
    right = f"a=b; autocompact_{server.port}=of-the-tests"
    assert _status(server, "/export/any/json", host=host, cookie=right) == 404


def test_an_image_that_came_damaged_in_a_file_is_not_found(offline: Server) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}
    file = offline.folder / "damaged.json"
    file.write_text(json.dumps([{"role": "user", "content": [image]}]))
    bring = [
        sys.executable,
        "-m",
        "autocompact",
        "import",
        str(file),
        "--name",
        "damaged",
        "--db",
        str(offline.db),
    ]
    subprocess.run(bring, check=True, capture_output=True)
    cookie = f"autocompact_{offline.port}=of-the-tests"
    host = f"127.0.0.1:{offline.port}"
    assert _status(offline, "/attached/damaged/1/0", host=host, cookie=cookie) == 404


def test_the_page_says_what_it_may_load(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/")
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    body = response.read().decode()
    (style,) = re.findall(r'"(/page/[0-9a-f]{12}/page\.css)"', body)
    connection.request("GET", style)
    kept = connection.getresponse()
    assert kept.status == 200
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    kept.read()
    (frame,) = re.findall(r'"(/diagrams/[0-9a-f]{32}/)"', body)
    connection.request("GET", f"{frame}frame.html")
    # WebKit takes 'self' for nothing in a frame without an origin
    scripts = connection.getresponse().headers["content-security-policy"].partition("script-src")[2]
    assert f"{server.url}{frame}" in scripts.partition(";")[0].split()
    connection.close()
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert "http:" not in policy
    assert "https:" not in policy
    assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
    assert body.count("<script ") == body.count("<script nonce=")
    assert json.dumps("https://") not in body
