"""Google ADK: what agents send stays within the window, and the session's events stay as they are.

    app = App(name="trip", root_agent=agent, plugins=[Autocompact(compactor)])

Before each model call the plugin puts the context in place of the request's contents; each event is stored before the next
step. A session has a conversation for each of its agents, as each of them is shown another history.

What is no part of the history goes along where it stands and is not stored: the contents of instructions and memories that
ADK puts into one request alone. The ids of calls that ADK makes up, and leaves out of requests, are numbers in the log. What
another agent said stands in the log as an agent's words, not as the user's. Calls that a run left unanswered are replaced in
the log, as ADK leaves them out of later requests. Needs the extra ``google-adk``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Protocol, cast

from autocompact.runtime.extras import install_command

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events import Event
    from google.adk.models import BaseLlm
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins import BasePlugin
    from google.adk.sessions import Session
    from google.genai import types
except ImportError as error:
    raise ImportError(
        f"the adapter for Google ADK needs {error.name}: {install_command('google-adk')}", name=error.name
    ) from error

from autocompact.adapters.conversations import Conversations, has_shrunk
from autocompact.core.messages import Dialect, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.ports import Item

MADE_UP = "adk-"
"""What the ids begin with that ADK gives to calls of models that give none."""

NUMBERED = "call-"
_QUOTED = "For context:"
"""What the first text begins with in which ADK shows an agent what another one said or did."""


def conversation_name(session: Session, agent: str) -> str:
    """The name of an agent's conversation in a session."""
    return f"{session.app_name}/{session.user_id}/{session.id}/{agent}"


class Autocompact(BasePlugin):
    """Keeps the agents of an app within their windows.

    Args:
        compactor: keeps the conversations.
        name_of: the name of the conversation of an agent in a session; `conversation_name` by default.
    """

    def __init__(
        self, compactor: Compactor, *, name_of: Callable[[Session, str], str] = conversation_name
    ) -> None:
        super().__init__(name="autocompact")
        self._conversations = Conversations(compactor)
        self._name_of = name_of
        self._agents: dict[str, _Agent] = {}
        self._shown: dict[str, dict[str, Shown]] = {}

    async def before_agent_callback(self, *, agent: Any, callback_context: CallbackContext) -> None:
        """Note the agent: its model is asked once more after an overflow."""
        self._agents[callback_context.agent_name] = agent

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Put the context in place of the request's contents."""
        session, agent = callback_context.session, callback_context.agent_name
        shown = Shown.of(llm_request, session=session)
        self._shown.setdefault(_key(session), {})[agent] = shown
        conversation = await self._opened(session, agent)
        llm_request.contents = await _context(conversation, shown, request=llm_request)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Take over the usage that was reported."""
        conversation = await self._opened(callback_context.session, callback_context.agent_name)
        await conversation.heard(llm_response)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """The answer to a smaller context, where the request was too large."""
        session, agent = callback_context.session, callback_context.agent_name
        shown = self._shown.get(_key(session), {}).get(agent)
        conversation = await self._opened(session, agent)
        if shown is None or agent not in self._agents or not await has_shrunk(conversation, error):
            return None
        llm_request.contents = await _context(conversation, shown, request=llm_request)
        last: LlmResponse | None = None
        async for response in self._agents[agent].canonical_model.generate_content_async(llm_request):
            last = response
        if last is not None:
            await conversation.heard(last)
        return last

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Store what an agent said, or its tools."""
        session, agent = invocation_context.session, event.author
        shown = self._shown.get(_key(session), {}).get(agent)
        if shown is not None and not event.partial and event.content is not None and event.content.parts:
            shown.history.append(event.content)
            following = (await self._opened(session, agent)).internals.following
            await following.record(numbered(shown.history)[0], dialect=BRIDGE)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Forget what only a run needs."""
        self._shown.pop(_key(invocation_context.session), None)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:  # noqa: ARG002 - ADK's signature
        """Forget what only a run needs."""
        self._shown.pop(_key(invocation_context.session), None)

    async def _opened(self, session: Session, agent: str) -> Conversation:
        return await self._conversations.get(self._name_of(session, agent))


class _Agent(Protocol):
    @property
    def canonical_model(self) -> BaseLlm: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The contents of a request, and which of them are the history.

    Attributes:
        history: what the session's events say; those that follow are added.
        first: contents before it that stand in each request: a static instruction.
        between: contents of this request alone: an instruction of the moment, memories.
        behind: how many of the history stand behind these.
    """

    history: list[types.Content]
    first: list[types.Content]
    between: list[types.Content]
    behind: int

    @classmethod
    def of(cls, request: LlmRequest, *, session: Session) -> Shown:
        """The contents of a request that was not changed."""
        end = getattr(request, "_static_instruction_prefix_end_index", None) or 0
        first, rest = request.contents[:end], request.contents[end:]
        start = len(rest)
        while start and _is_said(rest[start - 1]):
            start -= 1
        said = _said_last(session.events, at_most=len(rest) - start)
        own = [content.parts in said or _is_quoted(content) for content in rest[start:]]
        between = [content for content, known in zip(rest[start:], own, strict=True) if not known]
        if len(between) == len(rest):  # what an agent was given as its task is in no event
            return cls(history=rest, first=first, between=[], behind=0)
        history = rest[:start] + [content for content, known in zip(rest[start:], own, strict=True) if known]
        behind = sum(own[own.index(False) :]) if between else 0
        return cls(history=history, first=first, between=between, behind=behind)

    def around(self, context: list[types.Content]) -> list[types.Content]:
        """The contents of the request, with this context in place of the history."""
        place = max(0, len(context) - self.behind)
        return [*self.first, *context[:place], *self.between, *context[place:]]


def _is_said(content: types.Content) -> bool:
    """True for what stands on the user's side and is no result."""
    return content.role == "user" and not any(part.function_response for part in content.parts or ())


def _is_quoted(content: types.Content) -> bool:
    """True for what another agent said or did."""
    text = content.parts[0].text if content.parts else None
    return content.role == "user" and bool(text) and str(text).startswith(_QUOTED)


def _said_last(events: Sequence[Event], *, at_most: int) -> list[list[types.Part] | None]:
    """The parts of the last contents that the user gave."""
    given = (event.content.parts for event in reversed(events) if event.author == "user" and event.content)
    return list(islice(given, at_most))


async def _context(conversation: Conversation, shown: Shown, *, request: LlmRequest) -> list[types.Content]:
    """The contents to send; those that stand in them unchanged are the very objects that came."""
    written, ids = numbered(shown.history)
    tools = [
        tool.model_dump(mode="json", exclude_none=True)
        for tool in request.config.tools or ()
        if isinstance(tool, types.Tool)
    ]
    system = _text(cast("Any", request.config).system_instruction)
    context = await conversation.follow(written, dialect=BRIDGE, system=system, tools=tools or None)
    own = {id(copy): content for copy, content in zip(written, shown.history, strict=True)}
    return shown.around([own.get(id(content)) or with_ids(content, ids) for content in context])


def _key(session: Session) -> str:
    return conversation_name(session, "")


def _text(instruction: Any) -> str:
    """The words of a system instruction, in whichever form."""
    match instruction:
        case None:
            return ""
        case str():
            return instruction
        case types.Content():
            return _text(instruction.parts)
        case list():
            return "\n\n".join(map(_text, cast("list[Any]", instruction)))
        case _:
            return getattr(instruction, "text", None) or ""


# The ids of calls


def numbered(contents: Sequence[types.Content]) -> tuple[list[types.Content], dict[str, str | None]]:
    """The contents with a number as the id of each call that has none, or one that ADK made up; and the ids they had.

    A result is that of the call whose id it has, or of the first one of its name that has none yet. Contents in which
    nothing changes are the very objects that came.
    """
    numbers, ids = count(1), dict[str, str | None]()
    waiting: list[tuple[types.FunctionCall, str]] = []

    def call(part: types.Part) -> types.Part:
        given = part.function_call
        if given is None or not _is_made_up(given.id):
            return part
        number = f"{NUMBERED}{next(numbers)}"
        ids[number] = given.id
        waiting.append((given, number))
        return part.model_copy(update={"function_call": given.model_copy(update={"id": number})})

    def result(part: types.Part) -> types.Part:
        given = part.function_response
        if given is None or not _is_made_up(given.id):
            return part
        answered = next((each for each in waiting if _answers(given, each[0])), None)
        if answered is None:
            return part
        if given.id is None:
            waiting.remove(answered)
        return part.model_copy(update={"function_response": given.model_copy(update={"id": answered[1]})})

    return [_changed(_changed(content, call), result) for content in contents], ids


def _answers(result: types.FunctionResponse, call: types.FunctionCall) -> bool:
    return result.name == call.name and (result.id == call.id or not (result.id and call.id))


def _is_made_up(given: str | None) -> bool:
    return not given or given.startswith(MADE_UP)


def _changed(content: types.Content, change: Callable[[types.Part], types.Part]) -> types.Content:
    parts = [change(part) for part in content.parts or ()]
    same = all(one is other for one, other in zip(parts, content.parts or (), strict=True))
    return content if same else content.model_copy(update={"parts": parts})


def with_ids(content: types.Content, ids: Mapping[str, str | None]) -> types.Content:
    """The content with the ids that its calls had."""

    def restored(part: types.Part) -> types.Part:
        update: dict[str, object] = {}
        for name in ("function_call", "function_response"):
            given = getattr(part, name)
            if given is not None and given.id in ids:
                update[name] = given.model_copy(update={"id": ids[given.id]})
        return part.model_copy(update=update) if update else part

    return _changed(content, restored)


# The contents


class AdkBridge:
    """A content is a message of the Anthropic API; a part that this API has no word for stands in it as it is."""

    name = "google_adk"
    dialect: Dialect = "anthropic"
    types: tuple[type, ...] = (types.Content,)

    def write(self, message: types.Content) -> list[Item]:
        """The message; what another agent said is an agent's."""
        role = "assistant" if message.role == "model" or _is_quoted(message) else "user"
        other = {"quoted": True} if _is_quoted(message) else {}
        parts = [part.model_dump(mode="json", exclude_none=True) for part in message.parts or ()]
        return [{"role": role, "content": [_written(part) for part in parts], **other}]

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[types.Content]:
        """A content for each; results stand in one of their own, before what else the message says."""
        return [content for item in items for content in _contents(item, names)]

    def dump(self, message: types.Content) -> Any:
        """The content as ADK's sessions keep it."""
        return message.model_dump(mode="json", exclude_none=True)

    def load(self, value: Any) -> types.Content:
        """The content."""
        return types.Content.model_validate_json(json.dumps(value))

    def usage(self, reply: Any) -> Usage | None:
        """The usage in a response."""
        reported = reply.usage_metadata
        if reported is None or not reported.prompt_token_count:
            return None
        thoughts = reported.thoughts_token_count or 0
        return Usage(
            prompt=reported.prompt_token_count, completion=(reported.candidates_token_count or 0) + thoughts
        )


BRIDGE = AdkBridge()

_STANDARD, _OF_URLS = str.maketrans("-_", "+/"), str.maketrans("+/", "-_")
"""ADK's JSON holds bytes as base64 in the alphabet of URLs."""


def _written(part: Item) -> Item:
    match part:
        case {"function_call": {"name": name, "id": id, **call}, **rest}:
            given = call.pop("args", {})
            return _block("tool_use", rest | call, id=id, name=name, input=given)
        case {"function_response": {"id": id, **result}, **rest}:
            response, media = result.pop("response", None), result.pop("parts", [])
            told = {"is_error": True} if response and "error" in response else {}
            content = [*([] if response is None else [_response(response)]), *map(_media, media)]
            return _block("tool_result", rest | result, tool_use_id=id, content=content, **told)
        case {"text": text, "thought": True, **rest}:
            return _block("thinking", rest, thinking=text)
        case {"text": text, **rest}:
            return _block("text", rest, text=text)
        case _:
            return _media(part)


def _block(kind: str, rest: Mapping[str, Any], **members: Any) -> Item:
    """A block with what the API has no word for."""
    return {"type": kind, **members, **({"google_adk": dict(rest)} if rest else {})}


def _response(response: Mapping[str, Any]) -> Item:
    """The words of a result: those of its only member, or all of it as JSON."""
    match response:
        case {"result": str() as text, **rest} if not rest:
            return _block("text", {"member": "result"}, text=text)
        case _:
            return _block("text", {"json": True}, text=json.dumps(response, ensure_ascii=False))


def _media(part: Item) -> Item:
    match part:
        case {"inline_data": {"mime_type": kind, "data": data, **more}, **rest} if kind.startswith("image/"):
            return _block("image", rest | more, source=_source(kind, data))
        case {"inline_data": {"mime_type": "application/pdf" as kind, "data": data, **more}, **rest}:
            return _block("document", rest | more, source=_source(kind, data))
        case {"file_data": {"file_uri": uri, **more}, **rest} if more.get("mime_type", "").startswith(
            "image/"
        ):
            return _block("image", rest | more, source={"type": "url", "url": uri})
        case {"file_data": {"file_uri": uri, **more}, **rest}:
            return _block("document", rest | more, source={"type": "url", "url": uri})
        case {"inline_data": {"mime_type": kind}}:
            return _block(f"google_adk_{kind.partition('/')[0]}", part)
        case _:
            return _block("google_adk", part)


def _source(kind: str, data: str) -> Item:
    return {"type": "base64", "media_type": kind, "data": data.translate(_STANDARD)}


def _contents(item: Item, names: Mapping[str, str]) -> list[types.Content]:
    role = "model" if item["role"] == "assistant" and not item.get("quoted") else "user"
    blocks: list[Item] = (
        [{"type": "text", "text": item["content"]}] if isinstance(item["content"], str) else item["content"]
    )
    results = [block for block in blocks if block["type"] == "tool_result"]
    others = [block for block in blocks if block["type"] != "tool_result"]
    groups = [group for group in (results, others) if group] or [blocks]
    return [
        BRIDGE.load({"role": role, "parts": [_read(block, names) for block in group]}) for group in groups
    ]


def _read(block: Item, names: Mapping[str, str]) -> Item:
    rest: Item = block.get("google_adk", {})
    match block:
        case {"type": "tool_use", "id": id, "name": name, "input": given}:
            call = {"id": id, "name": name, "args": given}
            return _with_members("function_call", call, rest=rest)
        case {"type": "tool_result", "tool_use_id": id, "content": content}:
            return _with_members("function_response", _result(id, content, names=names), rest=rest)
        case {"type": "thinking", "thinking": text}:
            return {"text": text, "thought": True, **rest}
        case {"type": "text", "text": text}:
            return {"text": text, **rest}
        case {"type": "image" | "document", "source": {"type": "base64", "media_type": kind, "data": data}}:
            return _with_members(
                "inline_data", {"mime_type": kind, "data": data.translate(_OF_URLS)}, rest=rest
            )
        case {"type": "image" | "document", "source": {"type": "url", "url": uri}}:
            return _with_members("file_data", {"file_uri": uri}, rest=rest)
        case _:
            return rest or {"text": json.dumps(block, ensure_ascii=False)}


_OF_PARTS = frozenset(types.Part.model_fields)
"""Members of a part; any other one belongs to what the part holds."""


def _with_members(name: str, held: Item, *, rest: Item) -> Item:
    """A part, with what stood beside: members of its own and of what it holds."""
    inner = {key: value for key, value in rest.items() if key not in _OF_PARTS}
    return {name: held | inner} | {key: value for key, value in rest.items() if key in _OF_PARTS}


def _result(call_id: str, content: Any, *, names: Mapping[str, str]) -> Item:
    result: Item = {"id": call_id, "name": names.get(call_id, "")}
    if isinstance(content, str):
        return result | {"response": {"result": content}}
    blocks = cast("list[Item]", content)
    texts = [block for block in blocks if block["type"] == "text"] or [_block("text", {}, text="")]
    media = [_read(block, names) for block in blocks if block["type"] != "text"]
    kind: Item = texts[0].get("google_adk", {})
    text: str = texts[0]["text"]
    response: Any = json.loads(text) if "json" in kind else {kind.get("member", "result"): text}
    return result | {"response": response} | ({"parts": media} if media else {})
