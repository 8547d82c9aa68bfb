"""A list that somebody else keeps: the log becomes equal to it, and what comes back is what to send in its place."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from anthropic.types import ContentBlock, TextBlock, ToolUseBlock
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from autocompact.compaction.modes import MODES
from autocompact.compaction.repair import problems
from autocompact.core.messages import Dialect, Message, Usage
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import AutocompactError, InvalidInput
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.wire import parse_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D1", "E7")]

WINDOW = 3_000
Item = dict[str, Any]


@dataclass(frozen=True)
class Client:
    """Writes the messages of one API as its client library has them."""

    dialect: Dialect

    @property
    def field(self) -> str:
        return "input" if self.dialect == "openai_responses" else "messages"

    def user(self, text: str) -> Item:
        return {"role": "user", "content": text}

    def reply(self, text: str) -> Item:
        return {"role": "assistant", "content": text}

    def step(self, ids: Sequence[str]) -> list[Item]:
        """Calls made at once, and their results."""
        output = "It printed line after line of the log. " * 4
        if self.dialect == "openai_chat":
            calls = [
                {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}
                for name in ids
            ]
            return [
                {"role": "assistant", "content": None, "tool_calls": calls},
                *({"role": "tool", "tool_call_id": name, "content": output} for name in ids),
            ]
        if self.dialect == "anthropic":
            uses: list[Item] = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in ids]
            results = [{"type": "tool_result", "tool_use_id": name, "content": output} for name in ids]
            return [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
        return [
            *({"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"} for name in ids),
            *({"type": "function_call_output", "call_id": name, "output": output} for name in ids),
        ]

    def read(self, items: Sequence[object]) -> tuple[Message, ...]:
        """The messages that the API would read."""
        body = json.dumps({self.field: items}).encode()
        return tuple(parse_request(body, dialect=self.dialect).messages)


CLIENTS = [Client(dialect) for dialect in ("openai_chat", "anthropic", "openai_responses")]
by_api = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.dialect)


async def opened(store: MemoryStore | SqliteStore, **options: Any) -> Conversation:
    compactor = Compactor(store, window=WINDOW, reserve=300, counter=Estimator(), **options)
    return await compactor.open("followed")


def talk(client: Client, turns: int) -> list[Item]:
    said: list[Item] = []
    for turn in range(turns):
        said += [
            client.user(f"Look at src/part_{turn}.py, please. " + "It is about the totals. " * 8),
            *client.step([f"call-{turn}"]),
            client.reply(f"Part {turn} rounds once. " + "I checked the lines. " * 4),
        ]
    return [*said, client.user("And now?")]


async def live(conversation: Conversation) -> list[object]:
    """The log as JSON, without what was replaced."""
    found: list[Message] = []
    for message in await conversation.history():
        if message.replaces is not None:
            found = [one for one in found if one.seq < (message.replaces or 0)]
        found.append(message)
    return [json.loads(message.raw or b"null") for message in found]


@by_api
async def test_what_is_new_is_appended_and_the_very_objects_come_back(client: Client) -> None:
    conversation = await opened(MemoryStore())
    said = talk(client, 2)
    for length in (1, 4, 4, len(said)):
        told = await conversation.follow(said[:length], dialect=client.dialect)
        assert len(told) == length
        assert all(one is other for one, other in zip(told, said, strict=False))
    assert len(conversation) == len(said)
    assert await live(conversation) == said


@by_api
async def test_the_last_message_edited_is_replaced_and_stays_in_the_log(client: Client) -> None:
    conversation = await opened(MemoryStore())
    said = talk(client, 2)
    await conversation.follow(said, dialect=client.dialect)
    edited = [*said[:-1], client.user("And what about tax?")]
    told = await conversation.follow(edited, dialect=client.dialect)
    assert told == edited
    assert await live(conversation) == edited
    assert len(conversation) == len(said) + 1, "the earlier one is kept"


@by_api
@pytest.mark.parametrize("again", [False, True])
async def test_a_list_that_was_cut_short_or_replaced_is_the_context(client: Client, again: bool) -> None:
    store = MemoryStore()
    conversation = await opened(store)
    said = talk(client, 3)
    await conversation.follow(said, dialect=client.dialect)
    if again:
        conversation = await opened(store)  # another process, which has seen nothing of it
    for other in (said[:5], [client.user("Something else."), client.reply("Yes?"), client.user("Go on.")]):
        told = await conversation.follow(other, dialect=client.dialect)
        assert told == other
        assert await live(conversation) == other


@by_api
async def test_a_list_that_is_only_written_in_another_way_is_the_same(client: Client) -> None:
    conversation = await opened(MemoryStore())
    said = talk(client, 2)
    await conversation.follow(said, dialect=client.dialect)
    turned: list[Item] = [dict(reversed(item.items())) for item in copy.deepcopy(said)]
    if client.dialect == "anthropic":
        turned[0]["content"] = [
            {"type": "text", "text": said[0]["content"], "cache_control": {"type": "ephemeral"}}
        ]
    told = await conversation.follow(turned, dialect=client.dialect)
    assert len(conversation) == len(said)
    assert all(one is other for one, other in zip(told, turned, strict=True))


@by_api
async def test_a_list_beyond_the_window_comes_back_compacted_and_can_be_undone(client: Client) -> None:
    conversation = await opened(MemoryStore(), mode=MODES["default"])
    said = talk(client, 40)
    for length in (41, 81, len(said)):
        await conversation.follow(said[:length], dialect=client.dialect)
    told = await conversation.follow(said, dialect=client.dialect)
    assert conversation.records.active is not None
    assert 1 < len(told) < len(said)
    assert told[-1] is said[-1]
    kept = [item for item in told if any(item is one for one in said)]
    assert len(kept) >= len(told) - 2, "what is not the summary is the caller's own object"
    assert problems(client.read(told)) == []
    assert conversation.usage().used <= WINDOW - 300
    assert await live(conversation) == said

    before = list(told)
    for turn in range(3):  # the prefix stays, so that the provider's cache hits
        said = [*said, client.reply(f"Done {turn}."), client.user("Go on.")]
        told = await conversation.follow(said, dialect=client.dialect)
        assert told[: len(before)] == before
        before = list(told)
    active = conversation.internals.replica.active_id
    await conversation.records.undo()
    assert conversation.internals.replica.active_id != active
    assert await live(conversation) == said


@by_api
async def test_a_summary_never_changes_a_system_prompt_beside_the_list(client: Client) -> None:
    conversation = await opened(MemoryStore(), mode=MODES["database-chat"])
    said = talk(client, 40)
    told = await conversation.follow(said, dialect=client.dialect, system="You are careful.")
    assert conversation.records.active is not None
    assert conversation.internals.replica.state.meter.system == "You are careful."
    roles = {cast("Item", item).get("role") for item in told}
    assert client.dialect == "openai_chat" or "system" not in roles
    assert problems(client.read(told)) == []


@by_api
async def test_calls_that_nobody_answered_never_come_back_alone(client: Client) -> None:
    conversation = await opened(MemoryStore())
    step = client.step(["a", "b"])
    for said in (
        [client.user("Read both."), *step[: len(step) // 2]],
        [client.user("Read both."), *step[: len(step) // 2], client.user("Never mind.")],
        [client.user("Read both."), *step[len(step) // 2 :]],
    ):
        told = await conversation.follow(said, dialect=client.dialect)
        assert problems(client.read(told)) == []
        assert await live(conversation) == said


@by_api
async def test_what_the_provider_reported_is_what_the_meter_goes_by(client: Client) -> None:
    store = MemoryStore()
    conversation = await opened(store)
    said = talk(client, 2)
    await conversation.follow(said, dialect=client.dialect)
    estimated = conversation.usage().used
    usage = {"input_tokens": 900, "output_tokens": 7, "prompt_tokens": 900, "completion_tokens": 7}
    await conversation.heard({"usage": usage})
    assert conversation.usage().used == 900 != estimated
    await conversation.heard(usage=Usage(prompt=950, completion=9))
    assert conversation.usage().used == 950
    said = [*said, client.reply("Fine."), client.user("Thanks.")]
    await conversation.follow(said, dialect=client.dialect)
    reply = (await conversation.history())[-2]
    assert reply.usage == Usage(prompt=950, completion=9), "it is stored with the reply"
    again = await opened(store)
    assert again.usage().used == conversation.usage().used > 950
    await conversation.heard(b'{"choices": []}')  # a response that reports nothing
    with pytest.raises(InvalidInput, match="the reply is of type NoneType"):
        await conversation.heard()
    wrong: Any = 12.5
    with pytest.raises(InvalidInput, match="prompt is of type float"):
        await conversation.heard(usage=Usage(prompt=wrong))
    said = [*said, client.reply("Bye."), client.user("Bye.")]
    await conversation.follow(said, dialect=client.dialect)
    assert (await conversation.history())[-2].usage is None, "what was refused is not stored either"


async def test_what_was_reported_before_a_compaction_is_not_stored_as_usage_of_the_new_context() -> None:
    compactor = Compactor(MemoryStore(), window=100_000, counter=Estimator())
    conversation, client = await compactor.open("one"), Client("openai_chat")
    said = [client.user("It printed line after line of the log. " * 40), client.reply("Fine.")] * 20
    said = [*said, client.user("Go on.")]
    await conversation.follow(said)
    before = conversation.usage().used
    await conversation.heard(usage=Usage(prompt=before, completion=5))
    assert (await conversation.compact()).success
    await conversation.follow([*said, client.reply("Fine."), client.user("Go on.")])
    assert conversation.usage().used < before / 2
    assert [message.usage for message in await conversation.history(from_seq=len(said) + 1)] == [None, None]


async def test_tools_and_a_system_prompt_count() -> None:
    conversation = await opened(MemoryStore())
    said = [{"role": "user", "content": "Hello."}]
    await conversation.follow(said, dialect="anthropic")
    alone = conversation.usage().used
    tools: list[Item] = [{"name": "read", "description": "Read a file. " * 20, "input_schema": {}}]
    await conversation.follow(said, dialect="anthropic", tools=tools)
    with_tools = conversation.usage().used
    blocks = [{"type": "text", "text": "You are careful. " * 20}]
    await conversation.follow(said, dialect="anthropic", tools=tools, system=blocks)
    assert alone < with_tools < conversation.usage().used
    await conversation.follow(
        said, dialect="anthropic", tools=json.dumps(tools, separators=(",", ":")).encode()
    )
    assert conversation.usage().used == with_tools


async def test_what_the_sdks_answer_with_is_an_item_as_it_is() -> None:
    conversation = await opened(MemoryStore())
    said: list[object] = [
        {"role": "user", "content": "Hello."},
        ChatCompletionMessage(role="assistant", content="Hello!"),
    ]
    told = await conversation.follow(said)
    assert all(one is other for one, other in zip(told, said, strict=True))
    assert await live(conversation) == [said[0], {"role": "assistant", "content": "Hello!"}]

    answer: list[ContentBlock] = [
        TextBlock(type="text", text="I look."),
        ToolUseBlock(type="tool_use", id="t", name="read", input={"path": "half \ud800"}),
    ]
    result = {"type": "tool_result", "tool_use_id": "t", "content": "It is there."}
    said = [said[0], {"role": "assistant", "content": answer}, {"role": "user", "content": [result]}]
    conversation = await opened(MemoryStore())
    told = await conversation.follow(said, dialect="anthropic")
    assert all(one is other for one, other in zip(told, said, strict=True))
    log = await conversation.history()
    assert [call.name for call in log[1].calls] == ["read"]


async def test_json_is_an_item_too() -> None:
    conversation = await opened(MemoryStore())
    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    await conversation.follow(said)
    raw = [b'{"role": "user",  "content": "Hello."}', b'{"role":"assistant","content":"Hello!"}']
    assert await conversation.follow(raw) == raw
    assert len(conversation) == 2
    many = [json.dumps(item).encode() for item in talk(CLIENTS[0], 40)]
    told = await conversation.follow(many)
    assert all(isinstance(item, bytes) for item in told)
    assert len(told) < len(many)


async def test_the_same_object_may_stand_in_a_list_more_than_once() -> None:
    again, answer = b'{"role":"user","content":"Go on."}', b'{"role":"assistant","content":"Done."}'
    said = [json.dumps(item).encode() for item in talk(CLIENTS[0], 40)] + [answer, again] * 3
    told = await (await opened(MemoryStore())).follow(said)
    assert len(told) < len(said)
    assert told[-1] is again


BAD: list[tuple[Any, Item, str]] = [
    (None, {}, "messages is of type NoneType: give the whole list"),
    ("Hello.", {}, "messages is of type str: give the whole list"),
    ([], {}, "messages is empty"),
    ([{"role": "user", "content": "x"}, 3], {}, r"messages\[1\] is of type int"),
    ([{"role": "user", "content": "x"}, {"content": "x"}], {}, r"messages\[1\].*role"),
    ([{"role": "user", "content": "x"}, {"role": "x", "content": "x"}], {}, r"messages\[1\].role"),
    ([{"role": "tool", "content": "x"}], {}, r"messages\[0\].tool_call_id"),
    (
        [{"role": "user", "content": {1, 2}}, {"role": "user", "content": object()}],
        {},
        r"messages\[1\] cannot",
    ),
    ([b"{"], {}, r"messages\[0\]"),
    ([b"3"], {}, r"messages\[0\]: expected an object"),
    ([{"role": "user", "content": "x"}], {"dialect": "soap"}, "dialect is 'soap': choose one of"),
    ([{"role": "user", "content": "x"}], {"tools": "read"}, "tools is of type str"),
    ([{"role": "user", "content": "x"}], {"tools": [3]}, r"tools\[0\] is of type int"),
    ([{"role": "user", "content": "x"}], {"system": 3}, "system is of type int"),
]


@pytest.mark.parametrize("messages, options, sentence", BAD, ids=[sentence for _, _, sentence in BAD])
async def test_what_is_no_list_of_messages_is_refused_and_nothing_is_stored(
    messages: Any, options: Item, sentence: str
) -> None:
    conversation = await opened(MemoryStore())
    good = [{"role": "user", "content": "Good."}]
    await conversation.follow(good)
    with pytest.raises(InvalidInput, match=sentence):
        await conversation.follow(messages, **options)
    assert await live(conversation) == good
    assert await conversation.follow(good) == good


async def test_messages_that_others_wrote_meanwhile_are_replaced_by_the_list() -> None:
    store = MemoryStore()
    one, other = await opened(store), await opened(store)
    said = [{"role": "user", "content": "Hello."}]
    await one.follow(said)
    await other.say("Somebody else.")  # does not know of the list's beginning yet
    said = [*said, {"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Go on."}]
    assert await one.follow(said) == said
    assert await live(one) == said
    assert len(one) == 4


async def test_calls_at_the_same_time_take_turns() -> None:
    conversation = await opened(MemoryStore())
    lists = [[{"role": "user", "content": f"{number}"}] for number in range(5)]
    told = await asyncio.gather(*(conversation.follow(each) for each in lists))
    assert told == lists
    assert await live(conversation) == lists[-1]


class Caller:
    """A framework with a list of its own, to which anything may happen between two model calls."""

    def __init__(self, client: Client, folder: Path | None) -> None:
        self.client = client
        self.store = MemoryStore() if folder is None else SqliteStore(folder / "chats.db")
        self.items: list[Item] = [client.user("Begin.")]
        self.number = 0

    def happens(self, what: str, size: int) -> None:
        self.number += 1
        name, client = f"n{self.number}", self.client
        match what:
            case "talk":
                self.items += [
                    client.reply(f"Reply {name}. " * (1 + 20 * size)),
                    client.user(f"Ask {name}. " * (1 + 20 * size)),
                ]
            case "step":
                self.items += client.step([f"{name}-{place}" for place in range(1 + size % 3)])
            case "half a step":
                step = client.step([f"{name}-a", f"{name}-b"])
                self.items += step[: len(step) // 2]
            case "edit":
                place = max(0, len(self.items) - 1 - size)
                self.items[place:] = [client.user(f"Edited {name}.")]
            case "cut":
                del self.items[max(1, len(self.items) - size) :]
            case "shift":
                self.items[: min(size, len(self.items) - 1)] = []
            case _:
                self.items = [client.user(f"All new {name}. " * (1 + size))]


HAPPENS = st.sampled_from(["talk"] * 6 + ["step"] * 4 + ["half a step", "edit", "cut", "shift", "new"])
BESIDE = st.sampled_from(["nothing"] * 5 + ["undo", "compact", "another process", "heard", "others"])


@pytest.mark.parametrize("on_disk", [False, True])
@settings(deadline=None)
@given(
    client=st.sampled_from(CLIENTS),
    mode=st.sampled_from(sorted(MODES)),
    steps=st.lists(st.tuples(HAPPENS, st.integers(0, 6), BESIDE), min_size=1, max_size=25),
)
def test_whatever_happens_to_the_list_the_log_is_equal_to_it_and_the_context_is_valid_and_fits(
    tmp_path_factory: pytest.TempPathFactory,
    on_disk: bool,
    client: Client,
    mode: str,
    steps: list[tuple[str, int, str]],
) -> None:
    async def run() -> None:
        caller = Caller(client, tmp_path_factory.mktemp("chats") if on_disk else None)
        policy = replace(MODES[mode].policy, tokens=None)
        chosen = replace(MODES[mode], policy=policy)
        conversation = await opened(caller.store, mode=chosen)
        for what, size, beside in steps:
            caller.happens(what, size)
            told = await conversation.follow(caller.items, dialect=client.dialect)
            assert await live(conversation) == caller.items
            assert conversation.usage().used <= WINDOW - 300
            assert problems(conversation.context().messages) == []
            assert problems(client.read(told)) == []
            if conversation.records.active is None and not problems(client.read(caller.items)):
                assert all(one is other for one, other in zip(told, caller.items, strict=True))
            await _beside(beside, conversation)
            if beside == "another process":
                conversation = await opened(caller.store, mode=chosen)
        await conversation.internals.background.wait_idle()
        await caller.store.aclose()

    asyncio.run(run())


async def _beside(what: str, conversation: Conversation) -> None:
    await conversation.internals.background.wait_idle()
    match what:
        case "undo":
            try:
                await conversation.records.undo()
            except AutocompactError:
                assert conversation.records.active is None
        case "compact":
            await conversation.compact()
        case "heard":
            await conversation.heard(
                usage=Usage(prompt=conversation.internals.replica.cost().tokens, completion=3)
            )
        case "others":
            await conversation.say("A note of the program.")
        case _:
            pass


@by_api
async def test_the_very_objects_come_back_where_neighbours_of_one_role_follow_a_summary(
    client: Client,
) -> None:
    conversation = await opened(MemoryStore())
    said = [*talk(client, 30), client.user("Wait."), client.user("Go on.")]
    await conversation.follow(said, dialect=client.dialect)
    assert conversation.records.active is not None
    again = copy.deepcopy([*said, client.reply("Yes."), client.user("Fine.")])
    for _ in range(2):
        again = copy.deepcopy(again)
        told = await conversation.follow(again, dialect=client.dialect)
        made = [item for item in told if not any(item is one for one in again)]
        assert [item for item in made if item in again] == []
