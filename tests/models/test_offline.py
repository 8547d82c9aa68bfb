from __future__ import annotations

import threading

import pytest

from autocompact.core.messages import Message, ToolCall, text_message
from autocompact.core.reply import Ok, check_reply
from autocompact.core.tokens import Estimator
from autocompact.models.offline import OfflineModel
from autocompact.ports import Model

pytestmark = pytest.mark.anyio
ASK = text_message(0, "user", "Summarise everything in Latin.", synthetic=True)
TALK = [
    text_message(1, "system", "You help."),
    text_message(2, "user", "Please fix the rounding in src/invoice.py, totals must be rounded half up."),
    Message(
        seq=3,
        role="assistant",
        parts=(ToolCall(id="1", name="edit_file", arguments='{"path":"src/invoice.py"}'),),
    ),
    text_message(4, "assistant", "I changed round_total in src/invoice.py; 12 tests pass."),
]


@pytest.mark.requirement("E6")
async def test_a_summary_is_made_of_the_conversation_and_not_of_the_question_about_it() -> None:
    model: Model = OfflineModel()
    reply = await model.complete([*TALK, ASK], max_tokens=300)
    await model.aclose()
    assert "totals must be rounded half up" in reply.text
    assert "src/invoice.py" in reply.text
    assert "Latin" not in reply.text
    assert (reply.model, reply.stop_reason, reply.usage) == ("offline", "stop", None)
    assert reply == await model.complete([*TALK, ASK], max_tokens=300)


async def test_the_summary_passes_the_check_of_any_models_reply() -> None:
    reply = await OfflineModel().complete([*TALK, ASK], max_tokens=300)
    checked = check_reply(
        reply.text, stop_reason=reply.stop_reason, replaced_tokens=1_000, counter=Estimator(), language="en"
    )
    assert isinstance(checked, Ok)


async def test_the_cap_is_kept() -> None:
    counter = Estimator()
    talk = [
        text_message(seq, "user", f"Change number {seq} in file_{seq}.py to {seq * 7}.")
        for seq in range(1, 80)
    ]
    reply = await OfflineModel(counter=counter).complete(talk, max_tokens=200)
    assert 100 < counter.count(reply.text) <= 200 + counter.count("<summary>\n\n</summary>")


async def test_a_document_in_one_message_is_summarised_too() -> None:
    document = text_message(1, "user", "<conversation>\n[user] Fix src/a.py\n</conversation>", synthetic=True)
    assert (await OfflineModel().complete([document])).text.startswith("<summary>\n")


async def test_tokens_are_counted_with_the_tools() -> None:
    model = OfflineModel()
    assert await model.count(TALK, tools=b'[{"name":"a"}]') > await model.count(TALK) > 20


class Noting:
    """Counts, and notes which threads asked it to."""

    name = "noting"

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def count(self, text: str) -> int:
        self.threads.add(threading.get_ident())
        return Estimator().count(text)


@pytest.mark.parametrize("times, beside", [(1, False), (2_000, True)])
async def test_a_long_conversation_is_summarised_beside_the_event_loop(times: int, beside: bool) -> None:
    counter = Noting()
    said = text_message(2, "user", "Please fix the rounding in src/invoice.py. " * times)
    reply = await OfflineModel(counter=counter).complete([TALK[0], said, ASK], max_tokens=300)
    assert "src/invoice.py" in reply.text
    assert counter.threads
    assert (threading.get_ident() not in counter.threads) is beside
