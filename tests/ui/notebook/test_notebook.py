"""The chat in a notebook: the example, executed headless in a kernel of its own, offline and with a provider over HTTP."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from autocompact.chat import ChatConfig
from autocompact.chat.events import ReasoningDelta, TextDelta
from autocompact.chat.loop_thread import LoopThread
from autocompact.chat.offline import LABEL
from autocompact.chat.views import MeterReading
from autocompact.errors import InvalidInput, ModelError
from autocompact.runtime.extras import install_command
from autocompact.testing import FakeProvider, Received
from autocompact.ui.notebook import Chat, Shown, meter_html
from examples.make_notebook import NOTEBOOK, notebook

_OURS = ("AUTOCOMPACT_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "LLAMACPP_")


@contextmanager
def providing(provider: FakeProvider) -> Generator[dict[str, str]]:
    aside = LoopThread()
    try:
        aside.hold(provider)
        yield {
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "sk-of-the-tests",
            "AUTOCOMPACT_MODEL": "any",
        }
    finally:
        aside.close()


def classified(asked: Received) -> str:
    """What a model would answer to a ticket, and to the wish for a summary."""
    if "<summary>" in asked.last_text:
        return "<summary>Tickets so far: T-1 is billing (the tax is shown twice), the others are classified.</summary>"
    return "billing" if "tax" in asked.last_text else "bug"


def executed(folder: Path, **env: str) -> tuple[str, str]:
    """The example after it ran: all that it shows as HTML, and as text."""
    document = read(notebook())
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    client: Any = NotebookClient(document, timeout=240, kernel_name="python3")
    client.execute(env={**inherited, "TICKETS_DB": str(folder / "tickets.db"), **env})
    outputs = list(_outputs(document))
    html = "\n".join(str(each.get("data", {}).get("text/html", "")) for each in outputs)
    plain = "\n".join(str(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in outputs)
    return html, plain


def read(text: str) -> Any:
    module: Any = nbformat
    return module.reads(text, as_version=4)


def _outputs(document: Any) -> Generator[dict[str, Any]]:
    for cell in document["cells"]:
        yield from cell.get("outputs", ())


@pytest.mark.requirement("B5", "B7")
def test_tickets_with_a_threshold_of_200_tokens_compact_early_and_end_right(tmp_path: Path) -> None:
    with providing(provider := FakeProvider(classified, window=60_000)) as env:
        html, plain = executed(tmp_path, THRESHOLD="200", **env)
    assert "<b>Compacted:</b>" in html
    assert "<details><summary>Summary</summary>" in html
    assert "T-1 is billing" in html
    assert "&lt;summary&gt;" not in html
    assert " tokens became " in plain
    assert "VBox(" in plain
    final = provider.requests[-1]
    assert "T-1 is billing" in str(final.messages)
    assert "T-4: I was charged" not in str(final.messages) or len(final.messages) < 2 * 6


@pytest.mark.requirement("B5", "B7")
def test_tickets_with_a_very_high_threshold_never_compact(tmp_path: Path) -> None:
    html, plain = executed(tmp_path, THRESHOLD="1000000")
    assert "Compacted:" not in html
    assert "(0, False)" in plain
    assert "The invoice of March shows the tax twice." in html


def test_the_example_is_what_its_script_writes_and_has_no_outputs() -> None:
    assert NOTEBOOK.read_text(encoding="utf-8") == notebook()


@contextmanager
def chatting(folder: Path, **given: Any) -> Generator[Chat]:
    options: dict[str, Any] = {"environ": {}, **given}
    chat = Chat(db=folder / "chats.db", **options)
    try:
        yield chat
    finally:
        chat.close()


def test_a_chat_answers_compacts_undoes_and_is_resumed(tmp_path: Path) -> None:
    with chatting(tmp_path) as chat:
        chat("We decided to paint the shed green. " * 20)
        chat("And the door blue. " * 20)
        assert chat.answer.startswith(LABEL)
        assert chat.compact("the shed").success
        assert "shed green" in chat.compactions()[-1].summary
        chat.undo()
        assert chat.session.conversation.records.active is None
        assert chat.compact("the shed " * 10).record is not None
        id = chat.id
    with chatting(tmp_path, resume=id) as again:
        assert again.meter().used
        assert again.session.conversation.records.active is not None


def test_should_compact_follows_the_reported_tokens(tmp_path: Path) -> None:
    with (
        providing(FakeProvider("Fine. " * 200, window=60_000)) as env,
        chatting(tmp_path, environ=env, threshold=2_500, config=ChatConfig(model="compatible:any")) as chat,
    ):
        seen = [chat.should_compact()]
        while (
            not seen[-1] and len(seen) < 10
        ):  # the answers pass the threshold, so nothing was compacted before them
            chat("Go on.")
            seen.append(chat.should_compact())
        assert seen[-1]
        assert not any(seen[:-1])
        chat.compact()
        assert not chat.should_compact()


def test_a_prompt_and_a_model_of_ones_own_write_the_summary_and_its_length_is_capped(tmp_path: Path) -> None:
    with providing(provider := FakeProvider(classified, window=60_000)) as env:
        own = {
            "summary_prompt": "Say which tickets there are.\nNothing else.",
            "summary_model": "compatible:cheap",
        }
        with chatting(tmp_path, environ=env, **own) as chat:
            chat("Classify: the tax is shown twice. " * 30)
            chat("Classify: it crashes. " * 30)
            assert chat.compact().success
    asked = next(each for each in provider.requests if each.model == "cheap")
    assert "Say which tickets there are." in str(asked.messages)
    limit = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens")
    assert isinstance(limit, int)
    assert 512 <= limit < 1_024


def test_what_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="names no model"):
        Chat("nonsense", db=tmp_path / "a.db", environ={})
    with pytest.raises(InvalidInput, match="there is no conversation 'x'"):
        Chat(db=tmp_path / "a.db", environ={}, resume="x")


def test_a_provider_that_refuses_is_an_error_and_the_chat_goes_on(tmp_path: Path) -> None:
    with providing(provider := FakeProvider("Hello.")) as env, chatting(tmp_path, environ=env) as chat:
        provider.fail("stream_error")
        with pytest.raises(ModelError):
            chat("hello")
        chat("hello again")
        assert chat.answer == "Hello."


def test_the_buttons_send_cancel_and_compact(tmp_path: Path) -> None:
    with (
        providing(provider := FakeProvider("A short answer.", window=60_000)) as env,
        chatting(tmp_path, environ=env) as chat,
    ):
        panel = chat.panel()
        rested = threading.Event()

        def ended(change: dict[str, object]) -> None:
            if change["new"]:
                rested.set()

        panel.cancel.observe(ended, names="disabled")

        def press(button: Any, text: str = "") -> str:
            rested.clear()
            panel.box.value = text
            button.click()
            assert rested.wait(60)
            return panel.log.children[-1].value

        answered = press(panel.send, "Hello & <b>good</b> day. " * 30)
        press(panel.send, "And again. " * 30)
        compacted = press(panel.compact, "greetings")
        provider.fail("stalled")
        panel.box.value = "Stop me."
        rested.clear()
        panel.send.click()
        chat.run(_streaming(chat))
        panel.cancel.click()
        assert rested.wait(60)
        cancelled = panel.log.children[-1].value
    assert answered.partition("</style>")[2].startswith("<p><b>Hello &amp; &lt;b&gt;good&lt;/b&gt; day.")
    assert '<p dir="auto">A short answer.</p>' in answered
    assert "<b>Compacted:</b>" in compacted
    assert "cancelled: the partial answer is kept" in cancelled


async def _streaming(chat: Chat) -> None:
    """Wait until an answer has begun."""
    begun = asyncio.Event()
    stop = chat.session.listen(lambda event: begun.set() if isinstance(event, TextDelta) else None)
    turn = chat.session.view().turn
    if turn is None or not turn.text:
        await begun.wait()
    stop()


def test_a_cell_of_plain_words_is_said_to_a_chat(tmp_path: Path) -> None:
    interactive: Any = importlib.import_module("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    assert shell.run_cell("%load_ext autocompact.ui.notebook").success
    chat = Chat(db=tmp_path / "chats.db", environ={})
    shell.user_ns["tides"], shell.user_ns["x"] = chat, 1
    assert shell.run_cell('%%chat tides\nSay "high water",\n  100 %.').success
    page = chat.run(chat.session.history(limit=5))
    assert page.entries[0].message.text == 'Say "high water",\n  100 %.'
    assert chat.answer
    chat.close()
    for cell, why in (("%%chat x\nhello", "'x' is no Chat"), ("%%chat two words\nhello", "not 'two words'")):
        error = shell.run_cell(cell).error_in_exec
        assert (type(error).__name__, why in str(error)) == (
            "UsageError",
            True,
        )  # IPython shows no traceback of it


def test_code_is_coloured_and_thinking_is_folded_under_its_last_line() -> None:
    shown: list[str] = []
    writing = Shown(shown.append)
    writing.show(
        ReasoningDelta(conversation_id="c", text="First the table.\nThen <b>the moon</b>."), summary=""
    )
    writing.draw()
    assert "<details><summary>Thinking…" in shown[-1]
    assert '<span class="brief">Then &lt;b&gt;the moon&lt;/b&gt;.</span>' in shown[-1]
    writing.show(TextDelta(conversation_id="c", text="```python\nreturn 1\n```"), summary="")
    writing.draw()
    assert "<details><summary>Reasoning</summary>" in shown[-1]
    assert '<span class="k">return</span>' in shown[-1]


def test_hostile_words_are_shown_as_words() -> None:
    shown: list[str] = []
    writing = Shown(shown.append)
    hostile = "<img src=x onerror=alert(1)> [x](javascript:alert(1))\n\n```py\n1\n```"
    writing.show(TextDelta(conversation_id="c", text=hostile), summary="")
    writing.draw()
    meter = MeterReading(used=10, window=100, reserve=5, threshold=80, prepare=0, breakdown={})
    writing.end(meter_html(meter, model="<script>"))
    assert "<img" not in shown[0]
    assert "javascript:" not in shown[0].replace("(javascript:", "")
    assert "<button" not in shown[0]
    assert "<script>" not in shown[-1]


def test_without_the_extra_the_error_names_it() -> None:
    program = "import sys; sys.modules['ipywidgets'] = None; from autocompact.ui.notebook import Chat; Chat()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    said = f"ImportError: a chat in a notebook needs further packages: {install_command('notebook')}"
    assert said in done.stderr
