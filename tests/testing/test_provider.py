from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import aiohttp
import pytest

from autocompact.core.messages import Dialect, ToolCall
from autocompact.models.vocabulary import load_counter
from autocompact.testing import Answer, FakeProvider, Received, Recorded
from autocompact.testing.provider import main
from autocompact.wire import Reply, parse_reply
from autocompact.wire.stream import StreamReader
from tests.testing.asking import HI, PATHS, ask

pytestmark = pytest.mark.anyio
DIALECTS: dict[str, Dialect] = {
    "chat": "openai_chat",
    "responses": "openai_responses",
    "anthropic": "anthropic",
}
KEY = "sk-the-key-of-the-test"
CALLS = (
    ToolCall(id="call_1", name="weather", arguments='{"city":"Paris"}'),
    ToolCall(id="call_2", name="weather", arguments='{"city":"Rome"}'),
)
ANSWERS = {
    "words": Answer(text="Good morning to all of you."),
    "parallel calls": Answer(calls=CALLS),
    "everything": Answer(text="Let me look.", reasoning="They want the weather.", calls=CALLS),
    "nothing": Answer(),
    "a refusal": Answer(text="I will not do that.", stop="refusal"),
    "cut": Answer(text="Good mor", stop="length"),
}


async def _streamed(provider: FakeProvider, api: str, body: dict[str, Any]) -> Reply:
    options = {"stream_options": {"include_usage": True}} if api == "chat" else {}
    told = await ask(provider, PATHS[api], body | {"stream": True} | options)
    assert told.headers["Content-Type"].startswith("text/event-stream")
    reader = StreamReader(DIALECTS[api])
    reader.feed(told.body)
    assert reader.close() == []
    assert reader.problems == []
    return reader.reply()


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("api", PATHS)
async def test_whole_and_streamed_an_answer_says_the_same(api: str, name: str) -> None:
    async with FakeProvider([ANSWERS[name]] * 2) as provider:
        whole = parse_reply((await ask(provider, PATHS[api], HI[api])).body, dialect=DIALECTS[api])
        streamed = await _streamed(provider, api, HI[api])
    assert whole.complete
    assert streamed.complete
    assert streamed.text == whole.text == ANSWERS[name].text
    assert streamed.usage == whole.usage
    assert streamed.stop_reason == whole.stop_reason
    kinds = [
        [type(part) for message in reply.messages for part in message.parts] for reply in (whole, streamed)
    ]
    assert kinds[0] == kinds[1]
    calls = [call for message in whole.messages for call in message.calls]
    assert [(call.id, call.name, json.loads(call.arguments)) for call in calls] == [
        (call.id, call.name, json.loads(call.arguments)) for call in ANSWERS[name].calls
    ]


@pytest.mark.parametrize(
    ("api", "stop"), [("chat", "tool_calls"), ("responses", "completed"), ("anthropic", "tool_use")]
)
async def test_calls_end_an_answer_with_the_apis_own_word(api: str, stop: str) -> None:
    async with FakeProvider([Answer(calls=CALLS)]) as provider:
        assert (await _streamed(provider, api, HI[api])).stop_reason == stop


async def test_usage_is_only_streamed_where_it_was_asked_for() -> None:
    async with FakeProvider() as provider:
        told = await ask(provider, "/chat/completions", HI["chat"] | {"stream": True})
    assert b'"usage"' not in told.body
    assert told.body.endswith(b"data: [DONE]\n\n")
    assert b": keep-alive\n\n" in told.body


async def test_anthropics_events_have_the_real_types_in_the_real_order() -> None:
    async with FakeProvider([Answer(text="Hi", calls=CALLS[:1])]) as provider:
        told = await ask(provider, "/messages", HI["anthropic"] | {"stream": True})
    kinds = [
        line.removeprefix("event: ") for line in told.body.decode().splitlines() if line.startswith("event: ")
    ]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before] == [
        "message_start",
        "ping",
        *block,
        *block,
        "message_delta",
        "message_stop",
    ]


async def test_the_events_of_responses_are_numbered() -> None:
    async with FakeProvider([Answer(text="Hi", reasoning="Hm", calls=CALLS[:1])]) as provider:
        told = await ask(provider, "/responses", HI["responses"] | {"stream": True})
    events = [json.loads(line[6:]) for line in told.body.splitlines() if line.startswith(b"data: ")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"] == [
        event["item"] for event in events if event["type"] == "response.output_item.done"
    ]


@pytest.mark.parametrize("api", PATHS)
async def test_without_a_script_the_last_words_are_echoed(api: str) -> None:
    async with FakeProvider() as provider:
        assert (await _streamed(provider, api, HI[api])).text == "Say hi"
        assert provider.requests[0].last_text == "Say hi"


async def test_the_last_words_may_stand_in_several_blocks() -> None:
    blocks = [
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "two"},
    ]
    async with FakeProvider() as provider:
        await ask(provider, PATHS["chat"], {"model": "m", "messages": [{"role": "user", "content": blocks}]})
        await ask(provider, PATHS["chat"], b"{}")
    assert [asked.last_text for asked in provider.requests] == ["one\ntwo", ""]


async def test_where_nothing_is_streamed_an_error_in_the_stream_is_a_server_error() -> None:
    async with FakeProvider() as provider:
        provider.fail("stream_error")
        assert (await ask(provider, PATHS["chat"], HI["chat"])).status == 500


async def test_replies_come_in_order_and_then_the_script_is_at_its_end() -> None:
    async with FakeProvider(["one", Answer(text="two")]) as provider:
        told = [await ask(provider, PATHS["chat"], HI["chat"]) for _ in range(3)]
    assert [each.json["choices"][0]["message"]["content"] for each in told[:2]] == ["one", "two"]
    assert told[2].status == 400
    assert "no reply left: its script has 2" in told[2].error


async def test_a_function_answers_what_it_was_asked_also_after_a_wait() -> None:
    go = asyncio.Event()

    async def reply(asked: Received) -> Answer:
        await go.wait()
        return Answer(text=f"{asked.model}: {len(asked.messages)}")

    async with FakeProvider(reply) as provider:
        waiting = asyncio.create_task(ask(provider, PATHS["chat"], HI["chat"]))
        await provider.wait_for_requests(1)
        assert not waiting.done()
        go.set()
        assert (await waiting).json["choices"][0]["message"]["content"] == "m: 1"


async def test_a_recorded_reply_goes_out_byte_for_byte() -> None:
    recorded = Recorded(
        body=b'{ "odd" : true }', status=299, content_type="application/x", headers={"x-id": "7"}
    )
    async with FakeProvider([recorded]) as provider:
        told = await ask(provider, PATHS["chat"], HI["chat"])
    assert (told.status, told.body, told.headers["x-id"]) == (299, b'{ "odd" : true }', "7")


async def test_what_arrived_is_kept_but_for_the_key() -> None:
    raw = b'{"model":"m",  "messages":[{"role":"user","content":"x"}]}'
    async with FakeProvider(api_key=KEY) as provider:
        await ask(provider, PATHS["chat"], raw, headers={"Authorization": f"Bearer {KEY}", "X-Team": "blue"})
    (asked,) = provider.requests
    assert asked.raw == raw
    assert (asked.headers["authorization"], asked.headers["x-team"]) == ("***", "blue")
    assert KEY not in str(asked)


@pytest.mark.parametrize("api", PATHS)
async def test_a_missing_key_a_wrong_key_and_the_right_one(api: str) -> None:
    async with FakeProvider("fine", api_key=KEY) as provider:
        keys: tuple[dict[str, str], ...] = ({}, {"Authorization": "Bearer wrong"}, {"x-api-key": KEY})
        told = [await ask(provider, PATHS[api], HI[api], headers=each) for each in keys]
    assert [each.status for each in told] == [401, 401, 200]
    assert told[0].error != told[1].error


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff", b'{"a":"\xff"}'])
async def test_a_body_that_is_no_object_is_refused(api: str, body: bytes) -> None:
    async with FakeProvider() as provider:
        told = await ask(provider, PATHS[api], body)
    assert told.status == 400
    assert "JSON" in told.error


@pytest.mark.parametrize("api", PATHS)
async def test_an_unknown_model_is_not_found(api: str) -> None:
    async with FakeProvider(models=["gpt-x"]) as provider:
        told = await ask(provider, PATHS[api], HI[api])
        listed = await ask(provider, "/models", b"", method="GET")
    assert told.status == 404
    assert "m" in told.error
    assert [each["id"] for each in listed.json["data"]] == ["gpt-x"]


async def test_an_unknown_path_is_not_found() -> None:
    async with FakeProvider() as provider:
        told = await ask(provider, "/embeddings", b"{}")
    assert (told.status, told.error) == (404, "Invalid URL (POST /v1/embeddings)")


@pytest.mark.parametrize("api", PATHS)
async def test_a_body_of_too_many_bytes_is_refused(api: str) -> None:
    async with FakeProvider(max_bytes=20) as provider:
        assert (await ask(provider, PATHS[api], HI[api])).status == 413


async def test_anthropic_wants_its_version_named() -> None:
    async with (
        FakeProvider() as provider,
        aiohttp.ClientSession() as session,
        session.post(f"{provider.base_url}/messages", json=HI["anthropic"]) as response,
    ):
        assert response.status == 400
        assert "anthropic-version: header is required" in await response.text()


@pytest.mark.parametrize("api", PATHS)
async def test_tokens_are_those_of_the_counter_and_grow_with_what_is_sent(api: str) -> None:
    counter = load_counter()
    text = "Zürich – 東京 – naïve café " * 20
    longer: dict[str, Any] = (
        HI[api] | {"input": text}
        if api == "responses"
        else HI[api] | {"messages": [{"role": "user", "content": text}]}
    )
    async with FakeProvider("ok", counter=counter) as provider:
        for body in (HI[api], longer, longer | {"tools": [{"name": "f", "description": "does much"}]}):
            await ask(provider, PATHS[api], body)
    short, long, with_tools = (asked.tokens for asked in provider.requests)
    assert counter.count(text) <= long <= counter.count(text) + 8
    assert short < long < with_tools


@pytest.mark.parametrize(
    ("api", "path"), [("anthropic", "/messages/count_tokens"), ("responses", "/responses/input_tokens")]
)
async def test_counting_gives_the_figure_that_usage_then_reports(api: str, path: str) -> None:
    async with FakeProvider() as provider:
        counted = (await ask(provider, path, HI[api])).json["input_tokens"]
        reply = await _streamed(provider, api, HI[api])
    assert reply.usage is not None
    assert counted == reply.usage.prompt


async def test_a_picture_has_a_price_of_its_own_whatever_its_bytes() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}
    async with FakeProvider("ok") as provider:
        await ask(provider, PATHS["chat"], {"model": "m", "messages": [{"role": "user", "content": [image]}]})
        blocks = [{"type": "document", "source": source}]
        await ask(
            provider,
            PATHS["anthropic"],
            HI["anthropic"] | {"messages": [{"role": "user", "content": blocks}]},
        )
    assert [800 <= asked.tokens < 820 for asked in provider.requests] == [True, True]


def _talk(*texts: str) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_openai_serves_the_longest_common_beginning_from_its_cache(api: str) -> None:
    name = "messages" if api == "chat" else "input"
    first, second = "alpha beta " * 600, "gamma delta " * 600
    async with FakeProvider("ok") as provider:
        replies = [
            await _streamed(provider, api, {"model": "m", name: talk})
            for talk in (_talk(first), _talk(first, second, "more"), _talk("X" + first, second), _talk(first))
        ]
        other = await _streamed(provider, api, {"model": "another", name: _talk(first)})
    reads = [reply.cache_read for reply in replies]
    assert reads[0] == reads[2] == other.cache_read == 0
    assert reads[1] == reads[3] > 1_000
    assert reads[1] % 128 == 0
    assert replies[1].usage is not None
    assert reads[1] <= provider.requests[0].tokens < replies[1].usage.prompt


async def test_a_short_prompt_is_cached_where_the_minimum_is_taken_away() -> None:
    async with FakeProvider("ok", cache_minimum=0) as provider:
        await _streamed(provider, "chat", HI["chat"])
        again = await _streamed(provider, "chat", HI["chat"])
    assert again.cache_read == provider.requests[1].tokens


async def test_anthropic_caches_from_mark_to_mark() -> None:
    def marked(text: str) -> dict[str, Any]:
        return {
            "role": "user",
            "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
        }

    first, second = "alpha beta " * 600, "gamma delta " * 600
    turns = (
        [marked(first)],
        [*_talk(first, "ok"), marked(second)],
        _talk(first, "ok", second),
        [*_talk("X" + first, "ok"), marked(second)],
    )
    async with FakeProvider("ok") as provider:
        replies = [
            await _streamed(provider, "anthropic", HI["anthropic"] | {"messages": turn}) for turn in turns
        ]
        whole = await ask(
            provider,
            PATHS["anthropic"],
            HI["anthropic"] | {"messages": turns[2], "cache_control": {"type": "ephemeral"}},
        )
    assert [reply.cache_read > 0 for reply in replies] == [False, True, False, False]
    assert [reply.cache_write > 0 for reply in replies] == [True, True, False, True]
    assert replies[1].cache_read == replies[0].cache_write
    assert [reply.usage and reply.usage.prompt for reply in replies] == [
        asked.tokens for asked in provider.requests[:4]
    ]
    usage = whole.json["usage"]
    assert usage["cache_read_input_tokens"] == replies[1].cache_read + replies[1].cache_write
    assert usage["input_tokens"] == 0


async def test_marks_below_the_minimum_cache_nothing() -> None:
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    tools = [{"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}}]
    async with FakeProvider("ok") as provider:
        for _ in range(2):
            reply = await _streamed(
                provider, "anthropic", HI["anthropic"] | {"system": system, "tools": tools}
            )
            assert (reply.cache_read, reply.cache_write) == (0, 0)


@pytest.mark.parametrize("api", PATHS)
async def test_the_answer_is_cut_where_the_window_ends(api: str) -> None:
    async with FakeProvider("word " * 500, window=60, flavour="llama_cpp") as provider:
        body = HI[api] if api != "anthropic" else HI[api] | {"max_tokens": 40}
        reply = await _streamed(provider, api, body)
    assert reply.stop_reason in {"length", "max_tokens", "max_output_tokens"}
    assert reply.usage is not None
    assert reply.usage.prompt + reply.usage.completion <= 60


@pytest.mark.parametrize(
    ("flavour", "words"),
    [
        ("openai", "However, you requested 1006 tokens"),
        ("anthropic", "input length and `max_tokens` exceed context limit: 6 + 1000 > 100"),
        ("vllm", "you requested 1000 output tokens and your prompt contains at least 6 input tokens"),
        ("llama_cpp", None),
        ("gemini", None),
        ("ollama", None),
    ],
)
async def test_some_servers_mind_an_answer_that_would_not_fit_and_some_cut_it(
    flavour: Any, words: str | None
) -> None:
    async with FakeProvider("ok", window=100, flavour=flavour) as provider:
        told = await ask(provider, PATHS["chat"], HI["chat"] | {"max_tokens": 1_000})
    assert (told.status == 400) == (words is not None)
    assert words is None or words in told.error


async def test_a_refused_request_uses_up_no_reply() -> None:
    async with FakeProvider(["one", "two"]) as provider:
        for kind in ("server_error", "cut", "garbage", "empty"):
            provider.fail(kind)
        with pytest.raises(aiohttp.ClientPayloadError):
            await asyncio.gather(*(ask(provider, PATHS["chat"], HI["chat"]) for _ in range(2)))
        for _ in range(2):
            await ask(provider, PATHS["chat"], HI["chat"])
        told = await ask(provider, PATHS["chat"], HI["chat"])
    assert told.json["choices"][0]["message"]["content"] == "one"


async def test_a_rate_limit_names_the_wait() -> None:
    async with FakeProvider() as provider:
        provider.fail("rate_limit", retry_after="7")
        told = await ask(provider, PATHS["chat"], HI["chat"])
    assert (told.status, told.headers["Retry-After"]) == (429, "7")


async def test_the_module_runs_a_provider_that_says_where_it_is() -> None:
    command = (sys.executable, "-m", "autocompact.testing.provider", "--reply", "hello", "--window", "500")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", json=HI["chat"]) as answer,
    ):
        assert (await answer.json())["choices"][0]["message"]["content"] == "hello"
    process.terminate()
    await process.wait()


def test_an_unknown_option_of_the_module_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--no-such-option"])
    assert "--no-such-option" in capsys.readouterr().err
