"""Where the provider manages the context itself, requests and replies pass untouched, and nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aiohttp
import pytest

from autocompact.testing import FakeProvider, Recorded
from autocompact.testing.provider_compaction import readable_block, sealed_item
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded
from tests.gateway.test_overflow import event, long_history

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000
CHAT, RESPONSES, MESSAGES = SPEAKERS

EDITS: Json = {"edits": [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 3}}]}
THINKING: Json = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
"""What Claude Code 2.1 sends with every request."""

COMPACT: Json = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50000}}]}
SUMMARY: Json = {"role": "assistant", "content": [readable_block("What was said so far.")]}
ITEM: Json = sealed_item("What was said so far.", 1)

MEMBERS: Sequence[tuple[Speaker, Json]] = (
    (CHAT, {"context_management": [{"type": "compaction"}]}),
    (RESPONSES, {"context_management": [{"type": "compaction", "compact_threshold": 100_000}]}),
    (RESPONSES, {"conversation": "conv_1"}),
    (RESPONSES, {"conversation": {"id": "conv_1"}}),
    (RESPONSES, {"prompt": {"id": "pmpt_1", "version": "2"}}),
    (MESSAGES, {"context_management": EDITS}),
    (MESSAGES, {"context_management": COMPACT}),
    (MESSAGES, {"context_management": {"edits": [*THINKING["edits"], *EDITS["edits"]]}}),
    (MESSAGES, {"compaction": {"type": "summarize"}}),
)

LEFT_LONG: Sequence[tuple[Speaker, Json]] = (
    (MESSAGES, {"context_management": THINKING}),
    (MESSAGES, {"context_management": {"edits": []}}),
    (MESSAGES, {"context_management": {"edits": [{"type": "some_edit_20270101"}]}}),
    (MESSAGES, {"context_management": {"edits": [{"type": 1}, {}]}}),
    (MESSAGES, {"context_management": "odd"}),
    (RESPONSES, {"context_management": []}),
    (RESPONSES, {"context_management": [{"type": "something_else"}]}),
)

BLOCKS: Sequence[tuple[Speaker, Json]] = ((RESPONSES, ITEM), (MESSAGES, SUMMARY))


def managed(answer: Any) -> bytes:
    """A reply that no codec of ours knows, with the white space of its own."""
    return b'{ "odd" :' + encoded(answer) + b"\n}"


async def all_sent(speaker: Speaker, bodies: Sequence[bytes], *, reply: Recorded) -> list[Any]:
    """Send the bodies through the gateway; what came back, and that nothing was changed or kept on the way."""
    told: list[Any] = []
    async with (
        FakeProvider([reply] * len(bodies)) as provider,
        gateway_before(provider, window=WINDOW, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        for body in bodies:
            status, headers, answer = await client.post(body)
            assert "x-autocompact-conversation" not in headers
            assert headers["x-autocompact-action"] == "forwarded"
            told.append((status, answer))
        async with session.get(
            f"{url}/autocompact/conversations", headers={"Authorization": "Bearer k"}
        ) as kept:
            assert (await kept.json())["conversations"] == []
    assert [asked.raw for asked in provider.requests] == list(bodies)
    return told


def growing(speaker: Speaker, members: Json, *, before: Sequence[Json] = ()) -> list[bytes]:
    """Four requests of one conversation, each larger than the window."""
    history = [*before, *long_history(speaker, 80)]
    lengths = (len(history) - 6, len(history) - 4, len(history) - 2, len(history))
    return [encoded(speaker.request(history[:length]) | members) for length in lengths]


@pytest.mark.parametrize(
    "speaker, members", [pytest.param(*each, id=next(iter(each[1]))) for each in MEMBERS]
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_context_that_the_provider_manages_passes_untouched_both_ways(
    speaker: Speaker, members: Json, stream: bool
) -> None:
    answer = event({"type": "odd", "compaction": members}) if stream else managed(members)
    reply = Recorded(body=answer, content_type="text/event-stream" if stream else "application/json")
    bodies = growing(speaker, members | {"stream": stream})
    assert await all_sent(speaker, bodies, reply=reply) == [(200, answer)] * len(bodies)


async def test_what_builds_on_a_stored_response_is_for_the_provider_to_find_or_to_refuse() -> None:
    bodies = growing(RESPONSES, {"previous_response_id": "resp_1"})
    async with FakeProvider() as bare, aiohttp.ClientSession() as session:
        status, _, refusal = await Wire(session, bare.url, path=RESPONSES.path).post(bodies[0])
    told = await all_sent(RESPONSES, bodies, reply=Recorded(body=b"never asked for"))
    assert told == [(status, refusal)] * len(bodies)
    assert b"resp_1" in refusal


@pytest.mark.parametrize("speaker, block", [pytest.param(*each, id=each[0].dialect) for each in BLOCKS])
async def test_a_history_with_the_providers_own_compaction_in_it_is_left_alone(
    speaker: Speaker, block: Json
) -> None:
    reply = Recorded(body=managed(block))
    bodies = growing(speaker, {}, before=[speaker.user("Begin."), block])
    assert await all_sent(speaker, bodies, reply=reply) == [(200, reply.body)] * len(bodies)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_words_about_compaction_are_no_compaction(speaker: Speaker) -> None:
    history = [speaker.user('The block is {"type": "compaction", "previous_response_id": "x"}.')]
    history += long_history(speaker, 80)[len(speaker.begun()) :]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        status, headers, _ = await Wire(session, url, path=speaker.path).post(
            encoded(speaker.request(history))
        )
    assert (status, headers["x-autocompact-action"]) == (200, "compacted")


@pytest.mark.parametrize(
    "speaker, members", [pytest.param(*each, id=encoded(each[1]).decode()[:70]) for each in LEFT_LONG]
)
async def test_an_edit_that_leaves_the_history_as_long_as_it_is_keeps_nobody_from_compacting(
    speaker: Speaker, members: Json
) -> None:
    body = encoded(speaker.request(long_history(speaker, 80)) | members)
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        status, headers, _ = await Wire(session, url, path=speaker.path).post(body)
    assert (status, headers["x-autocompact-action"]) == (200, "compacted")
    (asked,) = provider.requests
    assert encoded(members)[1:-1] in asked.raw


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_members_that_are_null_manage_nothing(speaker: Speaker) -> None:
    nothing = dict.fromkeys(
        ("context_management", "previous_response_id", "conversation", "prompt", "compaction")
    )
    body = encoded(speaker.request(long_history(speaker, 80)) | nothing)
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        status, headers, _ = await Wire(session, url, path=speaker.path).post(body)
    assert (status, headers["x-autocompact-action"]) == (200, "compacted")
    assert all(provider.requests[0].body[name] is None for name in nothing)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_a_compacted_conversation_that_the_provider_takes_over_goes_on_whole(speaker: Speaker) -> None:
    history = long_history(speaker, 80)
    own = encoded(speaker.request(history))
    managed_by = encoded(speaker.request(history) | {"context_management": EDITS})
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        actions = [(await client.post(body))[1]["x-autocompact-action"] for body in (own, managed_by, own)]
    assert actions == ["compacted", "forwarded", "compacted"]
    first, second, third = (asked.raw for asked in provider.requests)
    assert (second, third) == (managed_by, first)
