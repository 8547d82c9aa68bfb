"""What holds for a model behind any of the three APIs."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import get_args

import pytest

from autocompact.core.messages import ToolCall, Usage, text_message
from autocompact.errors import InvalidInput, ModelError, ModelOverflow, ModelRefused
from autocompact.models.anthropic import Anthropic
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.testing import Answer, FakeProvider, Recorded
from autocompact.testing.provider import Flavour
from tests.models.support import (
    ANTHROPIC_BODY,
    APIS,
    CHAT_BODY,
    KEY,
    ONCE,
    RESPONSES_BODY,
    anthropic,
    chat,
    conversation,
    responses,
)

pytestmark = pytest.mark.anyio
HELLO = [text_message(1, "system", "Be brief."), text_message(2, "user", "Hello there")]
ASK = text_message(9, "user", "Summarise.", synthetic=True)


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_is_streamed_and_comes_with_usage_reason_and_name(api: str) -> None:
    async with FakeProvider("Good morning to you.") as provider, APIS[api](provider) as model:
        reply = await model.complete(HELLO, max_tokens=100)
    (asked,) = provider.requests
    assert reply.text == "Good morning to you."
    assert reply.usage is not None
    assert reply.usage.prompt == asked.tokens
    assert reply.usage.completion > 0
    assert reply.stop_reason in {"stop", "end_turn", "completed"}
    assert reply.model == "fake"
    assert asked.streamed
    assert asked.max_output == 100


@pytest.mark.parametrize("api", APIS)
async def test_a_request_of_megabytes_is_sent(api: str) -> None:
    text = "word " * 600_000
    async with FakeProvider("Long.") as provider, APIS[api](provider) as model:
        assert (await model.complete([text_message(1, "user", text)], max_tokens=100)).text == "Long."
    assert len(provider.requests[0].raw) > 3_000_000


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_that_was_cut_by_its_length_says_so(api: str) -> None:
    async with FakeProvider("word " * 400) as provider, APIS[api](provider) as model:
        reply = await model.complete(HELLO, max_tokens=50)
    assert reply.stop_reason in {"length", "max_tokens", "max_output_tokens"}
    assert reply.usage is not None
    assert reply.usage.completion == 50
    assert 0 < len(reply.text) < 400


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_does_not_stream_is_understood(api: str) -> None:
    async with FakeProvider("Good morning.") as provider:
        provider.fail("unstreamed")
        async with APIS[api](provider) as model:
            reply = await model.complete(HELLO, max_tokens=100)
    assert (reply.text, reply.usage and reply.usage.prompt) == ("Good morning.", provider.requests[0].tokens)


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_refuses_to_stream_is_asked_without_from_then_on(api: str) -> None:
    async with FakeProvider("Good morning.", refuses=["stream"]) as provider, APIS[api](provider) as model:
        texts = [(await model.complete(HELLO, max_tokens=100)).text for _ in range(2)]
    assert texts == ["Good morning."] * 2
    assert [asked.streamed for asked in provider.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("api", "body", "dialect"),
    [
        ("chat", CHAT_BODY, "openai_chat"),
        ("responses", RESPONSES_BODY, "openai_responses"),
        ("anthropic", ANTHROPIC_BODY, "anthropic"),
    ],
)
async def test_the_live_prefix_goes_out_byte_for_byte_with_one_instruction_behind_it(
    api: str, body: bytes, dialect: str
) -> None:
    messages, tools = conversation(body, dialect)
    async with FakeProvider("Fine.") as provider, APIS[api](provider) as model:
        await model.complete([*messages, ASK], max_tokens=100, tools=tools)
    (asked,) = provider.requests
    raws = [message.raw for message in messages if message.raw is not None]
    places = [asked.raw.index(raw) for raw in raws if not raw.startswith((b'"', b"["))]
    assert places == sorted(places)
    assert all(asked.raw[one:two].rstrip().endswith(b",") for one, two in pairwise(places))
    assert tools in asked.raw
    assert "Summarise." in json.dumps(asked.messages[-1])


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("api", APIS)
async def test_tokens_are_counted_by_the_endpoint_where_there_is_one(api: str) -> None:
    async with FakeProvider() as provider, APIS[api](provider) as model:
        counted = await model.count(HELLO)
    (asked,) = provider.requests
    assert asked.counting
    assert counted == asked.tokens > 0


@pytest.mark.requirement("D7")
@pytest.mark.parametrize(
    ("api", "body", "dialect"),
    [
        ("chat", CHAT_BODY, "openai_chat"),
        ("responses", RESPONSES_BODY, "openai_responses"),
        ("anthropic", ANTHROPIC_BODY, "anthropic"),
    ],
)
async def test_without_an_endpoint_a_probe_of_16_tokens_with_the_tools_tells_the_count(
    api: str, body: bytes, dialect: str
) -> None:
    messages, tools = conversation(body, dialect)
    async with FakeProvider("A long answer. " * 50, counts=False) as provider, APIS[api](provider) as model:
        counts = [await model.count(messages, tools=tools), await model.count(messages)]
    missed, with_tools, without = provider.requests
    assert missed.counting
    assert counts == [with_tools.tokens, without.tokens]
    assert counts[0] > counts[1]
    assert (with_tools.max_output, without.max_output) == (16, 16)
    assert tools in with_tools.raw


async def test_the_tools_of_chat_completions_are_counted_by_the_endpoint_in_its_own_form() -> None:
    messages, tools = conversation(CHAT_BODY, "openai_chat")
    async with FakeProvider() as provider, chat(provider) as model:
        await model.count(messages, tools=tools)
    (asked,) = provider.requests
    assert asked.body["tools"] == [
        {
            "type": "function",
            "name": "weather",
            "description": "Tells the weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }
    ]
    assert asked.body["instructions"] == "Be brief."


async def test_a_count_that_is_no_figure_leads_to_the_probe() -> None:
    def reply(asked: object) -> str:
        return "x"

    async with FakeProvider(reply) as provider, chat(provider) as model:
        provider.fail("garbage")
        assert await model.count(HELLO) == provider.requests[1].tokens
    assert [asked.counting for asked in provider.requests] == [True, False]


async def test_a_wrong_key_is_not_probed_for() -> None:
    async with FakeProvider(api_key=KEY) as provider, chat(provider, api_key="sk-wrong") as model:
        with pytest.raises(ModelRefused):
            await model.count(HELLO)
    assert len(provider.requests) == 1


async def test_a_server_that_never_reports_usage_cannot_count() -> None:
    body = b'{"choices":[{"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}'
    async with FakeProvider(lambda _: Recorded(body=body), counts=False) as provider, chat(provider) as model:
        with pytest.raises(ModelError, match="does not report"):
            await model.count(HELLO)
        reply = await model.complete(HELLO)
    assert (reply.text, reply.usage, reply.model) == ("x", None, "fake")


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_openai_is_told_not_to_call_tools(api: str) -> None:
    body, dialect = {"chat": (CHAT_BODY, "openai_chat"), "responses": (RESPONSES_BODY, "openai_responses")}[
        api
    ]
    messages, tools = conversation(body, dialect)
    async with FakeProvider("Fine.") as provider, APIS[api](provider) as model:
        await model.complete([*messages, ASK], tools=tools)
        await model.complete([*messages, ASK], tools=b" [ ] ")
    first, second = provider.requests
    assert first.body["tool_choice"] == "none"
    assert not {"tools", "tool_choice"} & set(second.body)


async def test_anthropic_is_forbidden_to_call_only_after_it_called_instead_of_answering() -> None:
    messages, tools = conversation(ANTHROPIC_BODY, "anthropic")
    call = ToolCall(id="toolu_2", name="weather", arguments="{}")
    async with FakeProvider([Answer(calls=(call,)), "A summary."]) as provider, anthropic(provider) as model:
        reply = await model.complete([*messages, ASK], tools=tools)
    first, second = provider.requests
    assert "tool_choice" not in first.body
    assert second.body["tool_choice"] == {"type": "none"}
    assert reply.text == "A summary."
    assert reply.usage == Usage(
        prompt=first.tokens + second.tokens, completion=reply.usage.completion if reply.usage else 0
    )


async def test_two_requests_of_which_one_reports_no_usage_report_that_of_the_other() -> None:
    messages, tools = conversation(ANTHROPIC_BODY, "anthropic")
    block = b'{"type":"tool_use","id":"toolu_2","name":"weather","input":{}}'
    silent = Recorded(body=b'{"content":[%s],"stop_reason":"tool_use"}' % block)
    async with FakeProvider([silent, "A summary."]) as provider, anthropic(provider) as model:
        reply = await model.complete([*messages, ASK], tools=tools)
    assert reply.usage is not None
    assert reply.usage.prompt == provider.requests[1].tokens


@pytest.mark.parametrize(
    ("api", "body", "dialect"),
    [
        ("chat", CHAT_BODY, "openai_chat"),
        ("responses", RESPONSES_BODY, "openai_responses"),
        ("anthropic", ANTHROPIC_BODY, "anthropic"),
    ],
)
async def test_the_summary_of_a_live_conversation_is_served_from_the_prompt_cache(
    api: str, body: bytes, dialect: str
) -> None:
    messages, tools = conversation(body, dialect)
    async with FakeProvider("Fine.", cache_minimum=0) as provider, APIS[api](provider) as model:
        await model.complete(messages, tools=tools)
        await model.complete([*messages, ASK], tools=tools)
        await model.complete([messages[0], ASK, *messages[1:]], tools=tools)
    live, summary, changed = provider.requests
    assert live.cached == 0
    assert summary.cached > 0.8 * live.tokens
    assert changed.cached < summary.cached


async def test_a_member_that_a_server_does_not_know_is_left_out_from_then_on() -> None:
    refused = ["stream_options", "max_tokens", "tool_choice"]
    messages, tools = conversation(CHAT_BODY, "openai_chat")
    async with FakeProvider("Fine.", refuses=refused) as provider, chat(provider) as model:
        for _ in range(2):
            assert (await model.complete([*messages, ASK], max_tokens=50, tools=tools)).text == "Fine."
    assert len(provider.requests) == 5
    assert provider.requests[-1].max_output == 50
    assert set(refused) & set(provider.requests[-1].body) == set()


async def test_a_cap_is_never_given_up() -> None:
    async with (
        FakeProvider("Fine.", refuses=["max_tokens", "max_completion_tokens"]) as provider,
        chat(provider) as model,
    ):
        with pytest.raises(ModelRefused, match="max_completion_tokens"):
            await model.complete(HELLO, max_tokens=50)
    assert len(provider.requests) == 2


@pytest.mark.parametrize("api", APIS)
async def test_a_request_that_is_too_large_is_an_overflow_with_the_providers_words(api: str) -> None:
    async with FakeProvider(window=60) as provider, APIS[api](provider) as model:
        with pytest.raises(ModelOverflow, match=r"exceeds the context window|maximum") as told:
            await model.complete([text_message(1, "user", "many words " * 100)], max_tokens=16)
    assert told.value.status == 400
    assert len(provider.requests) == 1


@pytest.mark.parametrize("flavour", get_args(Flavour))
async def test_the_overflow_of_each_server_is_recognised(flavour: Flavour) -> None:
    async with FakeProvider(window=60, flavour=flavour) as provider, chat(provider) as model:
        with pytest.raises(ModelOverflow):
            await model.complete([text_message(1, "user", "many words " * 100)], max_tokens=16)


async def test_further_members_and_headers_are_sent_with_each_request() -> None:
    async with (
        FakeProvider("Fine.") as provider,
        chat(provider, extra={"temperature": 0, "stream": False}, headers={"x-team": "blue"}) as model,
    ):
        await model.complete(HELLO, max_tokens=5)
    (asked,) = provider.requests
    assert (asked.body["temperature"], asked.body["stream"]) == (0, False)
    assert asked.headers["x-team"] == "blue"


def test_the_window_is_the_given_one_or_that_of_the_name() -> None:
    assert OpenAICompatible("gpt-4o").window == 128_000
    assert OpenAICompatible("gpt-4o", window=9).window == 9
    assert Anthropic("made-up").window is None


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1/v1"),
        ("http://127.0.0.1:1/v1/", "http://127.0.0.1:1/v1"),
        (" https://host/v1beta/openai ", "https://host/v1beta/openai"),
    ],
)
def test_the_base_url_of_openai_may_stand_with_or_without_version(given: str, asked: str) -> None:
    assert repr(OpenAICompatible("m", base_url=given)) == f"OpenAICompatible('m', base_url={asked!r})"


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("https://host", "https://host/v1"),
        ("https://host/v1", "https://host/v1"),
        ("https://host/anthropic/", "https://host/anthropic/v1"),
    ],
)
def test_the_base_url_of_anthropic_may_stand_with_or_without_version(given: str, asked: str) -> None:
    assert repr(Anthropic("m", base_url=given)) == f"Anthropic('m', base_url={asked!r})"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host:80",
        "ftp://host",
        "http://host:0",
        "http://[::1",
        "http://host:secret",
        "https://me:secret@host",
        "https://host?key=secret",
    ],
)
def test_an_address_that_is_none_or_holds_a_credential_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidInput) as told:
        OpenAICompatible("m", base_url=url)
    assert "secret" not in f"{told.value} {told.value.__cause__}"


async def test_the_instructions_of_responses_stay_outside_of_its_list() -> None:
    messages, _ = conversation(RESPONSES_BODY, "openai_responses")
    async with FakeProvider("Fine.") as provider, responses(provider, retries=ONCE) as model:
        await model.complete([*messages, ASK])
    assert provider.requests[0].body["instructions"] == "Be brief."
