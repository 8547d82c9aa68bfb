"""A disk that takes no more under a gateway with traffic, and two gateways on one database."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from autocompact.errors import StoreUnavailable
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.cli.test_serve import free_port, serving
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Speaker, encoded
from tests.gateway.test_compaction import listed, post_get, send, words
from tests.gateway.test_passing import post

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


class Talk:
    """A conversation of a client that goes on and on."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.actions: list[str] = []

    async def turn(self, url: str, text: str = "") -> None:
        self.messages.append({"role": "user", "content": text or words(len(self.messages))})
        headers, _ = await send(url, self.messages)
        self.actions.append(headers["x-autocompact-action"])
        self.messages.append({"role": "assistant", "content": "Fine."})

    async def stored(self, url: str) -> list[Any]:
        """What the gateway keeps of it, as the client sent it; it must be kept once."""
        (kept,) = await listed(url)
        path = f"{url}/autocompact/conversations/{kept['id']}/messages?limit=1000"
        return [message["raw"] for message in await get_json(path)]


async def get_json(path: str) -> list[Any]:
    import aiohttp

    headers = {"Authorization": "Bearer k"}
    async with aiohttp.ClientSession() as session, session.get(path, headers=headers) as told:
        return (await told.json())["messages"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of another process")
async def test_while_the_disk_takes_no_more_requests_are_answered_and_compacted_and_then_all_is_stored(
    tmp_path: Path,
) -> None:
    import resource

    talk, port = Talk(), free_port()
    url, file = f"http://127.0.0.1:{port}", tmp_path / "gw.db"
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        serving(provider, "--port", port, "--db", str(file), "--window", WINDOW, cold=True) as process,
    ):
        while "compacted" not in talk.actions:
            await talk.turn(url)
        limits = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))
        compacted = len(talk.actions)
        for _ in range(15):
            await talk.turn(url)  # too much for the window if it went as it came
        stored = len(await talk.stored(url))
        metrics = await post_get(f"{url}/autocompact/metrics")
        full = await post_get(f"{url}/autocompact/ready")
        (name,) = [each["id"] for each in await listed(url)]
        refused = {
            path: await post_get(f"{url}/autocompact/conversations/{name}/{path}", "POST")
            for path in ("compact", "undo")
        }
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
        for _ in range(3):
            await talk.turn(url)
        kept = await talk.stored(url)
        freed = await post_get(f"{url}/autocompact/ready")
        process.terminate()
        assert process.stderr is not None
        log = (await process.stderr.read()).decode()
    assert set(talk.actions[compacted:]) == {"compacted"}
    assert stored < len(talk.messages) - 6
    assert kept == talk.messages[: len(kept)]
    assert len(kept) == len(talk.messages) - 1  # the last reply comes with the next request
    assert 'autocompact_failures_total{kind="StoreUnavailable"}' in metrics
    assert re.search(r"messages could not be stored  reason='StoreUnavailable'  detail=.*gw\.db", log)
    assert "Traceback" not in log
    assert all("disk" in told and "invalid_request" not in told for told in refused.values()), refused
    assert ('"not ready"' in full, '"ready"' in freed) == (True, True)


class UnavailableStore(MemoryStore):
    async def load(self, *place: Any, **rest: Any) -> Any:
        raise StoreUnavailable("the disk is gone")


@by_api
@pytest.mark.parametrize("fail_closed", [False, True], ids=["open", "closed"])
async def test_without_a_store_a_request_is_compacted_for_itself_unless_that_is_to_be_refused(
    speaker: Speaker, fail_closed: bool
) -> None:
    said = [*speaker.begun(), speaker.user("Start")]
    for number in range(60):
        said += [{"role": "assistant", "content": "Done."}, speaker.user(words(number))]
    body = encoded(speaker.request(said, output=100))
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=UnavailableStore(), fail_closed=fail_closed) as url,
    ):
        answers = [await post(f"{url}{speaker.path}", body) for _ in range(2)]
    if fail_closed:
        assert ([status for status, _, _ in answers], provider.requests) == ([503, 503], [])
        assert all(int(headers["retry-after"]) > 0 for _, headers, _ in answers)
        return
    assert [headers["x-autocompact-action"] for _, headers, _ in answers] == ["compacted", "compacted"]
    first, second = provider.requests
    assert first.raw == second.raw
    assert words(59) in first.raw.decode()
    assert words(1) not in first.raw.decode()


@by_api
async def test_without_a_store_what_the_provider_refuses_as_too_large_is_sent_smaller(
    speaker: Speaker,
) -> None:
    """The client got the provider's 400 for a request that is valid, because a compaction could not be stored."""
    said = [*speaker.begun(), speaker.user("Start")]
    for number in range(60):
        said += [{"role": "assistant", "content": "Done."}, speaker.user(words(number))]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=4 * WINDOW, store=UnavailableStore(), keep_from=0.0) as url,
    ):
        body, version = encoded(speaker.request(said, output=100)), {"anthropic-version": "2023-06-01"}
        status, headers, _ = await post(f"{url}{speaker.path}", body, **version)
    assert (status, headers["x-autocompact-action"]) == (200, "retried")
    whole, smaller = provider.requests
    assert whole.messages == speaker.request(said)["input" if "responses" in speaker.path else "messages"]
    assert words(59) in smaller.raw.decode()


async def test_two_gateways_take_turns_in_one_conversation_as_one_would(tmp_path: Path) -> None:
    talk, file = Talk(), tmp_path / "gw.db"
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(file)) as one,
        gateway_before(provider, window=WINDOW, store=SqliteStore(file)) as other,
    ):
        for _ in range(25):
            for url in (one, other):
                await talk.turn(url)
                await listed(url)  # waits until what was said is stored
        metrics = [await post_get(f"{url}/autocompact/metrics") for url in (one, other)]
        kept = await talk.stored(other)
    first = talk.actions.index("compacted")
    assert set(talk.actions[first:]) == {"compacted"}
    assert kept == talk.messages[: len(kept)]
    assert not [line for line in "".join(metrics).splitlines() if line.startswith("autocompact_failures")]


@pytest.mark.requirement("E2")
@pytest.mark.parametrize("operation", ["undo", "compact"])
async def test_what_is_done_by_hand_through_one_gateway_holds_in_the_other_from_its_next_but_one_request(
    tmp_path: Path, operation: str
) -> None:
    talk, file = Talk(), tmp_path / "gw.db"
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW, keep_from=0.0, store=SqliteStore(file)) as one,
        gateway_before(provider, window=WINDOW, keep_from=0.0, store=SqliteStore(file)) as other,
    ):
        while operation == "undo" and "compacted" not in talk.actions:
            await talk.turn(one)
        while operation == "compact" and len(talk.actions) < 15:
            await talk.turn(one)
        before = talk.actions[-1]
        await listed(one)  # waits until what was said is stored
        (kept,) = await listed(other)
        told = await post_get(f"{other}/autocompact/conversations/{kept['id']}/{operation}", "POST")
        assert "error" not in told, told
        for _ in range(2):
            await talk.turn(one, "Go on.")
            await listed(one)  # waits until what was said is stored
        after = talk.actions[-1]
        stored = await talk.stored(other)
        metrics = await post_get(f"{one}/autocompact/metrics")
    assert (before, after) == (
        ("compacted", "forwarded") if operation == "undo" else ("forwarded", "compacted")
    )
    assert stored == talk.messages[:-1]
    assert not [line for line in metrics.splitlines() if line.startswith("autocompact_failures")]


class FailingStore(SqliteStore):
    failing = True

    async def load(self, *place: Any, **rest: Any) -> Any:
        if self.failing:
            self.failing = False
            raise OSError("something unforeseen")
        return await super().load(*place, **rest)


async def test_a_retry_sends_the_context_as_it_stands_where_the_whole_request_had_been_sent(
    tmp_path: Path,
) -> None:
    talk, file = Talk(), tmp_path / "gw.db"
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        async with gateway_before(provider, window=WINDOW, store=SqliteStore(file)) as url:
            for _ in range(40):  # more than the window holds
                await talk.turn(url)
        said, number = talk.messages[:-1], len(provider.requests)
        async with gateway_before(provider, window=WINDOW, store=FailingStore(file)) as url:
            headers, _ = await send(url, said)
    whole, retried = provider.requests[number:]
    assert whole.messages == said
    assert headers["x-autocompact-action"] == "retried"
    assert retried.raw == provider.requests[number - 1].raw
