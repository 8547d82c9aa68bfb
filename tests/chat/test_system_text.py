"""The system text that goes to the provider: the prompt, then a summary that is placed there."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, run_command
from autocompact.chat.remote import system_text
from autocompact.compaction.modes import DATABASE_CHAT
from autocompact.core.messages import text_message
from autocompact.testing import FakeProvider
from autocompact.testing.provider import Received
from autocompact.testing.provider_script import text_of
from tests.chat.chatting import APIS, asked, chatting

pytestmark = pytest.mark.anyio

OWN = "Speak of boats as of old friends."
SECTION = "# Conversation Summary"


def texts_of_system(request: Received) -> list[str]:
    """The system texts of a request, in the order in which the model reads them."""
    outside = [text_of(request.body[name]) for name in ("system", "instructions") if request.body.get(name)]
    inside = [text_of(each.get("content")) for each in request.messages if each.get("role") == "system"]
    return [*outside, *inside]


@pytest.mark.requirement("B2")
@pytest.mark.parametrize("model", APIS)
async def test_the_summary_stands_after_the_system_prompt_and_in_the_same_text(
    tmp_path: Path, model: str
) -> None:
    config = ChatConfig(model=model, summary_model="offline", mode=DATABASE_CHAT, instructions=OWN)
    async with FakeProvider("Noted.") as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        for number in range(8):
            await asked(session, f"Fact {number}: the berth of boat {number} is B{number * 7}. " * 20)
        prompt = session.system
        await run_command("/compact", session=session, service=service)
        await asked(session, "Where is boat 3?")
        request = provider.requests[-1]

    (text,) = texts_of_system(request)
    assert OWN in prompt
    assert text.startswith(f"{prompt}\n\n{SECTION}")
    assert text.count(SECTION) == 1
    assert request.last_text.endswith("Where is boat 3?")


def test_the_system_messages_at_the_head_of_a_context_follow_the_prompt() -> None:
    said, later = text_message(2, "user", "Good day."), text_message(3, "system", "Be brief.")
    context = [text_message(1, "system", "Earlier: much."), said, later]

    assert system_text("A prompt.", context) == ("A prompt.\n\nEarlier: much.", [said, later])
    assert system_text("", context) == ("Earlier: much.", [said, later])
    assert system_text("A prompt.", [said]) == ("A prompt.", [said])
    assert system_text("", []) == ("", [])
