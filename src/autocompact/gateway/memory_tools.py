"""``memory_search`` and ``memory_expand`` within a turn: the model searches what left its context, the client sees nothing.

The two tools are offered from the first compaction of a conversation on, as long as a compaction is active: the
compaction begins a new prefix anyway, and from then on the list of tools stays the same, whatever a request's
``tool_choice`` says, so the provider's prompt cache goes on working. A reply that calls nothing but them is answered
here, and the model is asked again (`autocompact.gateway.rounds`). These rounds are no part of the client's history:
the next request does not bring them, and the model searches again where it needs to.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache, cached_property

import msgspec
from msgspec import Raw

from autocompact.core.excerpts import page
from autocompact.core.messages import Dialect, Message, ToolCall
from autocompact.core.tokens import Counter
from autocompact.engine import Conversation
from autocompact.errors import AutocompactError
from autocompact.gateway.failures import note_failure
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.raw_json import items_of, object_of, parts_of
from autocompact.history.recall import Recall, tool_schemas
from autocompact.ports import Index, Store
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.table_store import TableStore
from autocompact.wire import Reply, Request, json, parse_request
from autocompact.wire.rendering import with_members

NAMES = frozenset({"memory_search", "memory_expand"})

MOST_ROUNDS = 6
"""How often the model is asked again within one turn; the last time it cannot call the tools any more."""

MOST_TOKENS = 20_000
"""Tokens of results that one turn may add to the context: two full searches and as many long originals."""

_QUOTED = tuple(f'"{name}"'.encode() for name in sorted(NAMES))
LEAST_ROOM = 100
"""Tokens that must be left in the window for a result."""

_FRAME_TOKENS = 16
"""Of a result beside its text: the message that it stands in."""

_CUT = "\n[cut: the context has no room for more]"
_NO_ROOM = "Error: the context has no room for more results: go on with what you know."
_LAST = "\n[the last search of this turn: go on with what you know]"
_BROKEN = "Error: the archive cannot be read at the moment: go on with what you know."
_NO_CHOICE: dict[Dialect, bytes] = {
    "openai_chat": b'"none"',
    "openai_responses": b'"none"',
    "anthropic": b'{"type":"none"}',
}

log = logging.getLogger("autocompact.gateway")


def index_of(store: Store) -> Index | None:
    """The search index that a store keeps up to date; None if it keeps none."""
    if isinstance(store, TableStore):
        return store.index
    if isinstance(store, MemoryStore) and isinstance(store.indexer, MemoryIndex):
        return store.indexer
    return None


def may_offer(request: Request) -> bool:
    """Whether the tools can be added to this request without the client's noticing.

    Not if the client has a tool of that name itself, asks for several answers at once or for one in the background,
    or uses the older ``functions``.
    """
    tools = request.fields.get("tools", b"null")
    if tools != b"null" and (not json.is_array(tools) or names_a_tool(tools)):
        return False
    fields = request.fields
    return (
        fields.get("n", b"1") in (b"1", b"null")
        and fields.get("functions", b"null") == b"null"
        and fields.get("background", b"false") in (b"false", b"null")
    )


def names_a_tool(raw: bytes | Raw) -> bool:
    """Whether this JSON holds the name of one of the tools as a string."""
    return any(name in bytes(raw) for name in _QUOTED)


def offered_tools(tools: bytes | None, dialect: Dialect) -> bytes:
    """The value of ``tools`` with ours after the client's, whose bytes stay."""
    given = tools if tools is not None and tools != b"null" else b"[]"
    return _appended(given, _schemas(dialect))


@cache
def _schemas(dialect: Dialect) -> tuple[bytes, ...]:
    return tuple(json.encode(tool) for tool in tool_schemas(dialect))


def _appended(array: bytes, values: Sequence[bytes]) -> bytes:
    """A JSON array with further values at its end."""
    # taken apart and written anew, the client's own tools would lose their bytes, and the prompt cache with them
    inner = array.rstrip()[:-1].rstrip()
    return inner + (b"" if inner == b"[" else b",") + b",".join(values) + b"]"


class Memory:
    """The memory tools in one turn: the requests of its rounds, and the answers to their calls.

    Args:
        conversation: whose archive is searched, as it stands now; no other conversation can be reached.
        index: the index of its store.
        body: the request with the tools.
        tools: the client's own ``tools``; None without.
        dialect: the API of the request.
        room: tokens that the window has for the rounds of this turn: what the model says in them and the results.
    """

    def __init__(
        self,
        conversation: Conversation,
        index: Index,
        *,
        body: bytes,
        tools: bytes | None,
        dialect: Dialect,
        room: int,
    ) -> None:
        record, counter = conversation.records.active, conversation.internals.replica.shared.counter
        self.dialect: Dialect = dialect
        self._recall = Recall(
            conversation.internals.replica.shared.store,
            index,
            key=conversation.internals.replica.key,
            compaction=lambda: record,
            counter=counter,
            known=conversation.internals.replica.transcript.secrets,
        )
        self._counter: Counter = counter
        self._body = body
        self._tools = tools
        self._added: list[bytes] = []
        self._room = room
        self._results = MOST_TOKENS

    def body(self, *, last: bool) -> bytes:
        """The request of a later round; in the last one the model can call none of our tools."""
        name = "input" if self.dialect == "openai_responses" else "messages"
        values = {name: _appended(self._listed(name), self._added)}
        return with_members(self._request, values | (self._without_ours() if last else {}))

    def _without_ours(self) -> dict[str, bytes]:
        """The members that keep the model from calling our tools."""
        if self._tools is not None and json.items(self._tools, path="tools"):
            return {"tools": self._tools}
        # not an empty list: with calls in the history, Anthropic refuses a request that describes no tool
        return {"tool_choice": _NO_CHOICE[self.dialect]}

    @cached_property
    def _request(self) -> Request:
        """The request taken apart, which most turns never need."""
        return parse_request(self._body, dialect=self.dialect)

    def _listed(self, name: str) -> bytes:
        start, end = self._request.spans[name]
        given = self._request.raw[start:end]
        # Responses take a lone text as the user's one message
        if json.is_array(given):
            return given
        return json.array([json.encode({"role": "user", "content": json.fragment(given)})])

    async def answer(self, reply: Reply, *, metrics: Metrics, last: bool) -> bool:
        """Answer the calls of ``reply``, which are all ours, for the next round; False if there are none.

        Args:
            reply: of the model.
            metrics: counts the calls.
            last: the model is told that these are the last results of its turn.
        """
        calls = [call for message in reply.messages for call in message.calls]
        if not calls:
            return False
        # what the model said goes back to it with the results
        self._room -= reply.usage.completion if reply.usage is not None else 0
        answers = [await self._answer(call, metrics=metrics) for call in calls]
        answers[-1] += _LAST if last else ""
        # Responses keeps what it answered unless it is told not to, and then takes an id for the item itself
        stored = self._request.fields.get("store", b"null") != b"false"
        self._added += _said(reply.messages, self.dialect, stored=stored)
        self._added += _answered(calls, answers, dialect=self.dialect)
        return True

    async def _answer(self, call: ToolCall, *, metrics: Metrics) -> str:
        room = min(self._room, self._results)
        if room < LEAST_ROOM:
            return _NO_ROOM
        metrics.recalled(call.name)
        try:
            text = await self._recall.call(call.name, call.arguments)
        except AutocompactError as error:
            note_failure(error, "a memory tool failed", metrics=metrics)
            text = _BROKEN
        shown = page(text, offset=0, max_tokens=room, counter=self._counter)
        brought = self._counter.count(shown.text) + _FRAME_TOKENS
        self._room -= brought
        self._results -= brought
        return shown.text + (_CUT if shown.end is not None else "")


def _said(messages: Sequence[Message], dialect: Dialect, *, stored: bool) -> list[bytes]:
    """The model's reply as the next request gives it back, its reasoning included."""
    match dialect:
        case "openai_chat":
            return [message.raw or b"{}" for message in messages]
        case "anthropic":
            return [_without_blanks(message.raw or b"{}") for message in messages]
        case "openai_responses":
            return _items([message.raw or b"{}" for message in messages], stored=stored)


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


_BLOCK = msgspec.json.Decoder(_Block)


def _without_blanks(raw: bytes) -> bytes:
    """Anthropic's answer without texts of white space alone, which it writes and does not take back."""
    message = parts_of(raw)
    blocks = [(block, json.decode(block, _BLOCK, path="content")) for block in items_of(message["content"])]
    kept = [block for block, read in blocks if read.type != "text" or read.text.strip()]
    return object_of(message | {"content": json.array(kept)})


def _items(raws: Sequence[bytes], *, stored: bool) -> list[bytes]:
    """Items as they came; where the provider keeps nothing and sealed nothing, without what refers to its copy."""
    items = [parts_of(raw) for raw in raws]
    thoughts = [item for item in items if item.get("type") == b'"reasoning"']
    if stored or all(item.get("encrypted_content", b"null") != b"null" for item in thoughts):
        return list(raws)
    spoken = (item for item in items if item not in thoughts)
    return [object_of({name: item[name] for name in item if name != "id"}) for item in spoken]


def _answered(calls: Sequence[ToolCall], answers: Sequence[str], *, dialect: Dialect) -> list[bytes]:
    """The results as messages of the API."""
    pairs = list(zip(calls, answers, strict=True))
    match dialect:
        case "openai_chat":
            results = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in pairs]
        case "openai_responses":
            results = [
                {"type": "function_call_output", "call_id": call.id, "output": text} for call, text in pairs
            ]
        case "anthropic":
            blocks = [
                {"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in pairs
            ]
            return [json.encode({"role": "user", "content": blocks})]
    return [json.encode(result) for result in results]
