"""The model searches what left its context; the client sees one answer, and no trace of the tools."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from msgspec.structs import replace

from autocompact.core.messages import Dialect, ToolCall
from autocompact.gateway.memory_tools import MOST_ROUNDS, MOST_TOKENS
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import Answer, FakeProvider, Received, Recorded
from autocompact.testing.provider_chat import Chat
from autocompact.testing.provider_faults import FaultKind
from autocompact.testing.provider_prompt import Figures
from autocompact.testing.provider_responses import Responses
from tests.gateway.searches import (
    ASK,
    DIALECTS,
    FACT,
    PATHS,
    READ,
    SEARCH,
    WINDOW,
    ask_chat,
    history,
    indexed,
    names,
    results,
    searching,
    tools_of,
)
from tests.gateway.serving import gateway_before
from tests.gateway.test_passing import post
from tests.lengths import some

pytestmark = pytest.mark.anyio

every_way = pytest.mark.parametrize(
    "dialect, stream",
    some([(dialect, stream) for dialect in DIALECTS for stream in (False, True)], gate=4),
)


@pytest.mark.requirement("E3")
@every_way
async def test_the_model_finds_what_left_its_context_and_the_client_sees_nothing_of_it(
    dialect: Dialect, stream: bool, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "gw.db")
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=store) as url,
    ):
        seen = await ASK[dialect](url, stream=stream, tools=tools_of(dialect))
        metrics = await text_at(f"{url}/autocompact/metrics")
    first, second = provider.requests
    assert FACT.encode() not in first.raw  # it had left the context
    assert names(first) == names(second) == ["read", "memory_search", "memory_expand"]
    assert seen.text == "Let me look.\n\nIn herons."
    assert seen.calls == ()
    assert seen.ended in ("stop", "completed", "end_turn")
    assert "memory_" not in seen.dump
    assert "call_mem1" not in seen.dump
    assert 'autocompact_memory_calls_total{tool="memory_search"} 1.0' in metrics
    assert "autocompact_memory_rounds_total 1.0" in metrics
    assert f"autocompact_memory_prompt_tokens_total {second.tokens}.0" in metrics


async def text_at(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as told:
        return f"{await told.text()}"


@every_way
async def test_usage_is_the_prompt_of_the_clients_context_and_all_that_was_written(
    dialect: Dialect, stream: bool
) -> None:
    def script(asked: Received) -> Answer:
        return Answer(text="Done.", tokens=7) if results(asked) else Answer(calls=(SEARCH,), tokens=30)

    async with (
        FakeProvider(script, window=WINDOW, cache_minimum=10**9) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        seen = await ASK[dialect](url, stream=stream)
    first, second = provider.requests
    assert first.tokens < second.tokens
    assert (seen.prompt, seen.completion) == (first.tokens, 37)


@every_way
async def test_the_follow_up_carries_the_reply_with_its_reasoning_and_nothing_else_changes(
    dialect: Dialect, stream: bool
) -> None:
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        await ASK[dialect](url, stream=stream, tools=tools_of(dialect))
    first, second = provider.requests
    added = second.messages[len(first.messages) :]
    assert second.messages[: len(first.messages)] == first.messages
    assert ("I should look." in json.dumps(added)) == (dialect != "openai_responses")
    field = "input" if dialect == "openai_responses" else "messages"
    assert {**second.body, field: []} == {**first.body, field: []}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_reply_with_a_call_of_the_client_gives_it_that_call_alone(dialect: Dialect) -> None:
    mixed = Answer(text="Both.", calls=(SEARCH, READ))
    for stream in (False, True):
        async with (
            FakeProvider([mixed], window=WINDOW) as provider,
            gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
        ):
            seen = await ASK[dialect](url, stream=stream, tools=tools_of(dialect))
        assert seen.calls == ("call_read1",)
        assert seen.ended in ("tool_calls", "completed", "tool_use")
        assert "memory_" not in seen.dump
        assert len(provider.requests) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_search_before_the_clients_call_leaves_a_history_that_the_api_takes(dialect: Dialect) -> None:
    def script(asked: Received) -> Answer:
        if READ.id in json.dumps(asked.messages[-4:]):
            return Answer(text="All done.")
        return Answer(reasoning="Then read.", calls=(READ,)) if results(asked) else searching(asked)

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        body = {"tools": tools_of(dialect), "stream": False}
        first = await plainly(url, dialect, history(), **body)
        said = history() + answered(dialect, first)
        second = await plainly(url, dialect, said, **body)
    assert "All done." in json.dumps(second)
    assert len(provider.requests) == 3


def answered(dialect: Dialect, reply: Any) -> list[Any]:
    """The reply as a client appends it, with the result of its one call."""
    if dialect == "openai_chat":
        return [reply["choices"][0]["message"], {"role": "tool", "tool_call_id": READ.id, "content": "text"}]
    if dialect == "openai_responses":
        return [*reply["output"], {"type": "function_call_output", "call_id": READ.id, "output": "text"}]
    result = {"type": "tool_result", "tool_use_id": READ.id, "content": "text"}
    return [{"role": "assistant", "content": reply["content"]}, {"role": "user", "content": [result]}]


async def plainly(url: str, dialect: Dialect, said: list[Any], **members: Any) -> Any:
    status, _, body = await posted(url, dialect, said, **members)
    assert status == 200, body
    return json.loads(body)


async def posted(url: str, dialect: Dialect, said: list[Any], **members: Any) -> tuple[int, Any, bytes]:
    field, limit = (
        ("input", "max_output_tokens") if dialect == "openai_responses" else ("messages", "max_tokens")
    )
    body = json.dumps({"model": "m", limit: 500, field: said} | members).encode()
    return await post(f"{url}/v1/{PATHS[dialect]}", body, **{"anthropic-version": "2023-06-01"})


def always_searching(asked: Received) -> Answer:
    return Answer(calls=(replace(SEARCH, id=f"call_{len(asked.messages)}"),))


@every_way
async def test_a_model_that_only_searches_is_stopped(dialect: Dialect, stream: bool) -> None:
    async with (
        FakeProvider(always_searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        seen = await ASK[dialect](url, stream=stream)
    assert len(provider.requests) == MOST_ROUNDS + 1
    assert provider.requests[-1].body["tool_choice"] in ("none", {"type": "none"})
    assert (seen.text or "", seen.calls) == ("", ())
    assert seen.ended in ("stop", "completed", "end_turn")


async def test_in_the_last_round_a_client_keeps_its_own_tools() -> None:
    async with (
        FakeProvider(always_searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        await ask_chat(url, stream=True, tools=tools_of("openai_chat"))
    assert names(provider.requests[-1]) == ["read"]
    assert "tool_choice" not in provider.requests[-1].body


@pytest.mark.parametrize("flag, window", [(False, WINDOW), (True, 1_000_000)])
async def test_without_the_flag_or_a_compaction_nothing_is_added(flag: bool, window: int) -> None:
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=window, keep_from=0.0, memory_tools=flag, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=False, tools=tools_of("openai_chat"))
    assert seen.text == "Fine."
    assert names(provider.requests[0]) == ["read"]


@every_way
async def test_where_the_model_calls_nothing_of_ours_the_answer_is_the_providers_byte_for_byte(
    dialect: Dialect, stream: bool
) -> None:
    reply = Answer(reasoning="Hm.", text="Reading two files.", calls=(READ, ToolCall(id="c2", name="read")))
    told: list[bytes] = []
    async with FakeProvider([reply] * 2, window=WINDOW) as provider:
        for flag in (True, False):
            async with gateway_before(provider, window=WINDOW, memory_tools=flag, store=indexed()) as url:
                _, headers, body = await posted(
                    url, dialect, history(), stream=stream, tools=tools_of(dialect)
                )
            assert headers["x-autocompact-action"] == "compacted"
            told.append(normal(body))
    assert "memory_search" in names(provider.requests[0])
    assert "memory_search" not in names(provider.requests[1])
    assert told[0] == told[1]


def normal(answer: bytes) -> bytes:
    """The answer without what differs between any two: numbers in ids, stamps and usage."""
    return re.sub(rb"(?<=[_:-])\d+|\d{2,}", b"#", answer)


async def test_a_client_with_a_tool_of_that_name_is_left_alone() -> None:
    own = [
        {"type": "function", "function": {"name": "memory_search", "parameters": {"type": "object"}}},
    ]
    async with (
        FakeProvider([Answer(calls=(SEARCH,))], window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=True, tools=own)
    assert seen.calls == (SEARCH.id,)
    assert names(provider.requests[0]) == ["memory_search"]


@pytest.mark.parametrize("members", [{"n": 2}, {"functions": [{"name": "f"}]}])
async def test_requests_that_could_not_hide_the_tools_get_none(members: dict[str, Any]) -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        await posted(url, "openai_chat", history(), **members)
    assert names(provider.requests[0]) == []


async def test_the_list_of_tools_stays_the_same_whatever_the_tool_choice() -> None:
    choices: list[Any] = ["auto", "none", "required", {"type": "function", "function": {"name": "read"}}]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        for choice in choices:
            await posted(url, "openai_chat", history(), tools=tools_of("openai_chat"), tool_choice=choice)
    assert len({json.dumps(asked.body["tools"]) for asked in provider.requests}) == 1
    assert [asked.body["tool_choice"] for asked in provider.requests] == choices


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_error_of_a_later_round_reaches_the_client_as_an_error(dialect: Dialect) -> None:
    for stream in (False, True):
        async with (
            FakeProvider(searching, window=WINDOW) as provider,
            gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
        ):
            provider.fail("slow", pause=0.0)  # the first request is answered
            provider.fail("rate_limit", retry_after="3")
            with pytest.raises((openai.APIError, anthropic.APIError)) as told:
                await ASK[dialect](url, stream=stream)
        assert isinstance(told.value, (openai.RateLimitError, anthropic.RateLimitError)) != stream
        assert "ate limit" in str(told.value)
        assert len(provider.requests) == 2


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", ["rate_limit", "overloaded"])
async def test_a_later_round_that_fails_for_a_moment_is_asked_for_again_unseen_by_the_client(
    dialect: Dialect, kind: FaultKind
) -> None:
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        provider.fail("slow", pause=0.0)
        provider.fail(kind, retry_after="0")
        seen = await ASK[dialect](url, stream=True)
    assert "memory_" not in seen.dump
    assert len(provider.requests) == 3
    assert provider.requests[1].raw == provider.requests[2].raw


@pytest.mark.requirement("E5")
async def test_an_error_amid_a_stream_of_anthropics_is_one_that_its_clients_try_again_for() -> None:
    """Claude Code 2.1.332 gives its turn up for a ``rate_limit_error`` amid a stream, and not for this one."""
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        provider.fail("slow", pause=0.0)
        provider.fail("rate_limit", times=2, retry_after="0")
        _, _, told = await posted(url, "anthropic", history(), stream=True)
    events = [json.loads(line[6:]) for line in told.decode().splitlines() if line.startswith("data: ")]
    assert events[-1]["error"]["type"] == "overloaded_error"
    assert "ate limit" in events[-1]["error"]["message"]


async def test_a_server_that_knows_no_tools_gets_the_request_without_them() -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW, refuses=["tools"]) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        first = await ask_chat(url, stream=False)
        again = await ask_chat(url, stream=True)
    assert (first.text, again.text) == ("Fine.", "Fine.")
    assert [names(asked) != [] for asked in provider.requests] == [True, False, False]
    assert [b"memory_search" in asked.raw for asked in provider.requests] == [True, False, False]


async def test_a_refusal_in_one_namespace_leaves_the_tools_to_the_others() -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW, refuses=["tools"]) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        for key in ("one", "one", "two", "two"):
            assert "Fine." in await post_as(url, key, history())
    offered = [b"memory_search" in asked.raw for asked in provider.requests]
    assert offered == [True, False, False, True, False, False]


async def test_one_client_never_searches_what_another_one_said() -> None:
    mine = history()
    theirs = [{"role": "user", "content": "Mine"}, *mine[1:]]
    theirs = json.loads(json.dumps(theirs).replace(FACT, "Nothing of interest"))
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        await post_as(url, "one", mine)
        other = await post_as(url, "two", theirs)
        own = await post_as(url, "one", theirs)
    assert "I do not know." in other
    assert "I do not know." in own  # another conversation of the same client


async def post_as(url: str, key: str, said: list[Any]) -> str:
    body = json.dumps({"model": "m", "max_tokens": 500, "messages": said}).encode()
    status, _, told = await post(f"{url}/v1/chat/completions", body, Authorization=f"Bearer {key}")
    assert status == 200, told
    return told.decode()


async def test_the_answers_of_the_tools_never_overflow_the_window(tmp_path: Path) -> None:
    window = 16_000  # forty calls without a result take a few thousand themselves
    expand = [
        ToolCall(id=f"call_{n}", name="memory_expand", arguments=f'{{"ref":"m{2 * n + 2}"}}')
        for n in range(40)
    ]

    def script(asked: Received) -> Answer:
        return Answer(text="Enough.") if results(asked) else Answer(calls=tuple(expand))

    async with (
        FakeProvider(script, window=window) as provider,
        gateway_before(
            provider, window=window, memory_tools=True, store=SqliteStore(tmp_path / "gw.db")
        ) as url,
    ):
        seen = await ask_chat(url, stream=True, messages=history(50))
    assert seen.text == "Enough."
    told = json.dumps(provider.requests[1].messages)
    assert "no room for more" in told
    assert max(asked.tokens for asked in provider.requests) <= window - 500


async def test_what_is_wrong_with_a_call_is_for_the_model_to_mend() -> None:
    def script(asked: Received) -> Answer:
        told = results(asked)
        if told:
            return Answer(text=told[-1])
        return Answer(
            calls=(ToolCall(id="c", name="memory_search", arguments='{"scope":"all","query":"x"}'),)
        )

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=False)
    assert seen.text.startswith("Error: scope")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_goes_away_ends_the_round_that_runs(stream: bool) -> None:
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        provider.fail("slow", pause=0.0)
        provider.fail("silent")
        body = {"model": "m", "max_tokens": 500, "messages": history(), "stream": stream}

        async def ask() -> None:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"{url}/v1/chat/completions", json=body) as response,
            ):
                await response.read()

        asking = asyncio.ensure_future(ask())
        await provider.wait_for_requests(2)
        asking.cancel()
        await asyncio.wait([asking])
        await asyncio.wait_for(provider.wait_for_abandoned(), 10)
    assert len(provider.abandoned) == 1


async def test_words_before_a_search_reach_the_client_before_the_search_is_answered() -> None:
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        provider.fail("slow", pause=0.0)
        provider.fail("silent")
        body = {"model": "m", "max_tokens": 500, "messages": history(), "stream": True}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v1/chat/completions", json=body) as response,
        ):
            told = b""
            while b"look." not in told:
                told += await response.content.readany()
    assert b"memory_search" not in told


async def test_what_responses_tell_of_their_request_is_what_the_client_sent() -> None:
    def script(asked: Received) -> Recorded:
        item: Any = {
            "id": "fc_1",
            "type": "function_call",
            "status": "completed",
            "arguments": SEARCH.arguments,
        }
        said: Any = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
        text: Any = {"type": "output_text", "text": "Done.", "annotations": []}
        output = (
            [said | {"content": [text]}] if results(asked) else [item | {"call_id": "c", "name": SEARCH.name}]
        )
        reply: Any = {
            "id": f"resp_{len(results(asked))}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "m",
            "output": output,
            "tools": asked.body["tools"],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
        }
        return Recorded(body=json.dumps(reply).encode())

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        reply = await plainly(url, "openai_responses", history(), tools=tools_of("openai_responses"))
    assert reply["tools"] == tools_of("openai_responses")
    assert [item["type"] for item in reply["output"]] == ["message"]
    assert reply["id"] == "resp_1"  # what `previous_response_id` can go on with


@pytest.mark.parametrize("stream", [False, True])
async def test_an_encoded_answer_is_read_all_the_same(stream: bool) -> None:
    def script(asked: Received) -> Recorded:
        assert asked.headers["accept-encoding"] == "identity"
        answer, api = searching(asked), Chat()
        body = (
            b"".join(api.events(answer, asked, figures=Figures(prompt=9), number=1))
            if stream
            else api.whole(answer, asked, figures=Figures(prompt=9), number=1)
        )
        kind = "text/event-stream" if stream else "application/json"
        return Recorded(body=gzip.compress(body), content_type=kind, headers={"Content-Encoding": "gzip"})

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=stream)
    assert seen.text == "Let me look.\n\nIn herons."


SEALED = Recorded(body=b"\x0b\x02 memory_search", headers={"Content-Encoding": "br"})
"""An answer that nobody here can read."""


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_whose_answers_cannot_be_read_is_asked_without_the_tools(stream: bool) -> None:
    def script(asked: Received) -> Recorded | Answer:
        return SEALED if "memory_search" in names(asked) else Answer(text="Fine.")

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        first = await ask_chat(url, stream=stream)
        second = await ask_chat(url, stream=stream)
    assert (first.text, second.text) == ("Fine.", "Fine.")
    assert ["memory_search" in names(asked) for asked in provider.requests] == [True, False, False]
    assert all(b"memory_" not in asked.raw for asked in provider.requests[1:])


@pytest.mark.parametrize("stream", [False, True])
async def test_a_later_answer_that_cannot_be_read_is_asked_for_without_the_tools(stream: bool) -> None:
    def script(asked: Received) -> Recorded | Answer:
        if results(asked):
            return SEALED
        return searching(asked) if "memory_search" in names(asked) else Answer(text="Fine.")

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=stream)
    assert seen.text.endswith("Fine.")
    assert "memory_" not in seen.dump
    assert b"memory_" not in provider.requests[-1].raw


@pytest.mark.parametrize(
    "kind, said",
    [("bad_gateway", "answered 502"), ("reset", "cannot be reached"), ("unstreamed", "answered 200")],
)
async def test_a_later_round_that_is_no_stream_is_told_as_an_error(kind: FaultKind, said: str) -> None:
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        provider.fail("slow", pause=0.0)
        provider.fail(kind, times=2)  # a connection that was kept open is tried once more
        with pytest.raises(openai.APIError, match=said):
            await ask_chat(url, stream=True)


async def test_a_later_round_that_breaks_off_is_not_ended_as_if_it_were_whole() -> None:
    async with (
        FakeProvider(searching, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        provider.fail("slow", pause=0.0)
        provider.fail("cut")
        with pytest.raises(aiohttp.ClientError):
            await posted(url, "openai_chat", history(), stream=True)


@pytest.mark.parametrize(
    "store, sealed, carried", [(False, "abc", True), (False, None, False), (None, None, True)]
)
async def test_reasoning_items_go_back_where_the_provider_can_read_them(
    store: bool | None, sealed: str | None, carried: bool
) -> None:
    thought: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}

    def script(asked: Received) -> Answer | Recorded:
        if results(asked):
            return Answer(text="Done.")
        reply = json.loads(Responses().whole(searching(asked), asked, figures=Figures(prompt=9), number=1))
        return Recorded(body=json.dumps(reply | {"output": [thought, *reply["output"][1:]]}).encode())

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools=True, store=indexed()) as url,
    ):
        await plainly(url, "openai_responses", history(), store=store)
    first, second = provider.requests
    added = second.messages[len(first.messages) :]
    assert (thought in added) == carried
    assert [("id" in item) for item in added if item["type"] == "function_call"] == [carried]


async def test_with_a_store_that_keeps_no_search_index_nothing_is_offered() -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=MemoryStore()) as url,
    ):
        await ask_chat(url, stream=False)
    (asked,) = provider.requests
    assert names(asked) == []
    assert b"memory_search" not in asked.raw


@pytest.mark.parametrize(
    "off, offered",
    [((), True), (("M",), False), (("some-agent/",), False), (("other", "AGENT"), True), (("",), True)],
)
async def test_they_are_offered_by_default_but_for_models_and_clients_that_are_named(
    off: tuple[str, ...], offered: bool
) -> None:
    body: Any = {"model": "m", "max_tokens": 500, "messages": history()}
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, memory_tools_off=off, store=indexed()) as url,
    ):
        agent = {"User-Agent": "Some-Agent/1.2 (linux)"}
        await post(f"{url}/v1/chat/completions", json.dumps(body).encode(), **agent)
    (asked,) = provider.requests
    assert ("memory_search" in names(asked)) == offered
    assert (b"memory_search finds them" in asked.raw) == offered


@every_way
async def test_what_the_server_does_not_take_of_a_search_costs_the_client_nothing(
    dialect: Dialect, stream: bool
) -> None:
    def script(asked: Received) -> Answer | Recorded:
        if results(asked):
            return Recorded(body=b'{"error":{"message":"no such role"}}', status=400)
        return Answer(text="Without it.") if "memory_search" not in names(asked) else Answer(calls=(SEARCH,))

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=indexed()) as url,
    ):
        seen = await ASK[dialect](url, stream=stream, tools=tools_of(dialect))
        metrics = await text_at(f"{url}/autocompact/metrics")
    assert (seen.text, seen.calls) == ("Without it.", ())
    assert "memory_" not in seen.dump
    assert [names(asked) == ["read"] for asked in provider.requests] == [False, False, True]
    first, _, last = (asked.messages for asked in provider.requests)
    assert (last[1:], len(last)) == (first[1:], len(first))
    assert b"memory_search finds them" in provider.requests[0].raw
    assert b"memory_" not in provider.requests[2].raw
    assert 'autocompact_failures_total{kind="MemoryRefused"} 1.0' in metrics


async def test_a_call_that_cannot_be_read_costs_the_client_nothing() -> None:
    broken = {"id": "c", "type": "function", "function": {"name": "memory_search", "arguments": 5}}

    def script(asked: Received) -> Answer | Recorded:
        if "memory_search" not in names(asked):
            return Answer(text="Without it.")
        chunk: Any = {"index": 0, "delta": {"tool_calls": [broken | {"index": 0}]}, "finish_reason": None}
        ended: Any = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
        events = [{"id": "x", "choices": [each]} for each in (chunk, ended)]
        told = "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"
        return Recorded(body=told.encode(), content_type="text/event-stream")

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=True, tools=tools_of("openai_chat"))
    assert (seen.text, seen.calls) == ("Without it.", ())
    assert "memory_search" not in seen.dump


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("again", ["", "And now that."])
async def test_an_answer_with_a_call_begins_with_the_thinking_of_its_turn(stream: bool, again: str) -> None:
    """Without interleaved thinking there is none after a result, and the API asks for it before the call."""

    def script(asked: Received) -> Answer:
        if results(asked):
            return Answer(reasoning=again, text="Reading.", calls=(READ,))
        return Answer(reasoning="First this.", calls=(SEARCH,))

    thinking: Any = {"type": "enabled", "budget_tokens": 1024}
    asked: Any = {"model": "m", "max_tokens": 1_500, "messages": history(), "thinking": thinking}
    asked["tools"] = tools_of("anthropic")
    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=indexed()) as url,
    ):
        client: Any = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
        async with client:
            if stream:
                async with client.messages.stream(**asked) as events:
                    done: Any = await events.get_final_message()
            else:
                done = await client.messages.create(**asked)
            blocks: Any = [block.model_dump(exclude_none=True) for block in done.content]
            said = answered("anthropic", {"content": blocks})
            await client.messages.create(**asked | {"messages": [*history(), *said]})
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use"]
    assert blocks[0]["thinking"] == (again or "First this.")
    assert len(provider.requests) == 3  # the signature was taken back


async def test_the_model_is_told_which_results_are_the_last_ones() -> None:
    def script(asked: Received) -> Answer:
        told = results(asked)
        if told and "the last search of this turn" in told[-1]:
            return Answer(text="Then so.")
        return always_searching(asked)

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=True, tools=tools_of("openai_chat"))
    assert seen.text == "Then so."
    assert len(provider.requests) == MOST_ROUNDS
    assert len({json.dumps(asked.body["tools"]) for asked in provider.requests}) == 1  # the cache holds


def long_history() -> list[Any]:
    """More than a window of 200,000 tokens holds."""
    said = [{"role": "user", "content": "Start"}]
    for number in range(40):
        said += [
            {"role": "assistant", "content": f"Part {number}: " + "many words of it " * 1_500},
            {"role": "user", "content": f"Go on with {number}."},
        ]
    return said


async def test_a_turn_brings_no_more_tokens_than_the_cap_however_large_the_window() -> None:
    calls = tuple(
        ToolCall(id=f"c{n}", name="memory_expand", arguments=json.dumps({"ref": f"m{2 * n + 2}"}))
        for n in range(20)
    )

    def script(asked: Received) -> Answer:
        return Answer(text="Enough.") if results(asked) else Answer(calls=calls)

    async with (
        FakeProvider(script) as provider,
        gateway_before(provider, window=200_000, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=False, messages=long_history())
    assert seen.text == "Enough."
    first, second = provider.requests
    assert "no room for more" in second.raw.decode()
    assert MOST_TOKENS * 0.5 < second.tokens - first.tokens < MOST_TOKENS * 1.2


@pytest.mark.parametrize(
    "status, said, remembered",
    [
        (404, "No endpoints found that support tool use", True),
        (500, "tools param requires --jinja flag", True),
        (500, "try again", False),
    ],
)
async def test_a_server_that_refuses_tools_in_another_way_gets_none(
    status: int, said: str, remembered: bool
) -> None:
    def script(asked: Received) -> Answer | Recorded:
        if names(asked):
            return Recorded(body=json.dumps({"error": {"message": said}}).encode(), status=status)
        return Answer(text="Fine.")

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=indexed()) as url,
    ):
        told = [(await ask_chat(url, stream=False)).text for _ in range(2)]
    assert told == ["Fine.", "Fine."]
    assert [names(asked) != [] for asked in provider.requests] == (
        [True, False, False] if remembered else [True, False, True, False]
    )


async def test_a_server_that_takes_no_further_tool_still_gets_them_where_the_client_has_fewer() -> None:
    def script(asked: Received) -> Answer | Recorded:
        if len(names(asked)) > 2:
            told = {"error": {"message": "Invalid 'tools': array too long. Expected at most 2"}}
            return Recorded(body=json.dumps(told).encode(), status=400)
        return Answer(text="Fine.")

    async with (
        FakeProvider(script, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=indexed()) as url,
    ):
        for tools in (tools_of("openai_chat"), tools_of("openai_chat"), None):
            assert (await ask_chat(url, stream=False, tools=tools)).text == "Fine."
    assert [len(names(asked)) for asked in provider.requests] == [3, 1, 1, 2]


async def test_what_a_model_thinks_before_it_searches_takes_no_room_of_the_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": SEARCH.name, "arguments": SEARCH.arguments}}
    thought = {
        "id": "r1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls",
                     "message": {"role": "assistant", "content": None, "tool_calls": [call]}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": MOST_TOKENS + 1_000, "total_tokens": MOST_TOKENS + 1_100},
    }  # fmt: skip

    def script(asked: Received) -> Answer | Recorded:
        return Answer(text="Found.") if results(asked) else Recorded(body=json.dumps(thought).encode())

    async with (
        FakeProvider(script) as provider,
        gateway_before(provider, window=200_000, store=indexed()) as url,
    ):
        seen = await ask_chat(url, stream=False, messages=long_history())
    assert seen.text == "Found."
    (result,) = results(provider.requests[-1])
    assert "no room" not in result
