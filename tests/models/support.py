"""What the tests of the models share: providers, models that ask them at once again, and a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from autocompact.core.messages import Message
from autocompact.models.anthropic import Anthropic
from autocompact.models.http import Patience, Retries
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.models.remote import RemoteModel
from autocompact.testing import FakeProvider
from autocompact.wire import parse_request

AT_ONCE = Retries(attempts=3, first_wait=0, longest_wait=5)
ONCE = Retries(attempts=1)
SHORT = Patience(connect=5, first_byte=0.1, between=0.1)
KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"

Make: TypeAlias = Callable[..., RemoteModel]


def _quick(options: dict[str, Any]) -> dict[str, Any]:
    return {"retries": AT_ONCE, **options}


def chat(provider: FakeProvider, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("fake", base_url=provider.url, **_quick(options))


def responses(provider: FakeProvider, **options: Any) -> OpenAICompatible:
    return chat(provider, api="responses", **options)


def anthropic(provider: FakeProvider, **options: Any) -> Anthropic:
    return Anthropic("fake", base_url=provider.url, **_quick(options))


APIS: dict[str, Make] = {"chat": chat, "responses": responses, "anthropic": anthropic}

CHAT_BODY = (
    b'{"model":"fake", "messages": [{"role":"system","content":"Be brief."}, '
    b'{ "role": "user", "content": "Weather in Paris?", "name": "ann" },'
    b'{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",'
    b'"function":{"name":"weather","arguments":"{ \\"city\\": \\"Paris\\" }"}}]},'
    b'{"role":"tool","tool_call_id":"call_1","content":"18 \\u00b0C"}], '
    b'"tools":[{"type":"function","function":{"name":"weather","description":"Tells the weather",'
    b'"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}'
)
ANTHROPIC_BODY = (
    b'{"model":"fake","max_tokens":99,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],'
    b'"messages":[{"role":"user", "content":"Weather in Paris?"},{"role":"assistant","content":[{"type":"tool_use",'
    b'"id":"toolu_1","name":"weather","input":{ "city":"Paris" }}]},{"role":"user","content":[{"type":"tool_result",'
    b'"tool_use_id":"toolu_1","content":"18 \\u00b0C","cache_control":{"type":"ephemeral"}}]},'
    b'{"role":"assistant","content":"18 degrees."}],'
    b'"tools":[{"name":"weather","description":"Tells the weather","input_schema":{"type":"object"}}]}'
)
RESPONSES_BODY = (
    b'{"model":"fake","instructions":"Be brief.","input":[{"role":"user", "content":"Weather in Paris?"},'
    b'{"type":"function_call", "call_id":"call_1","name":"weather","arguments":"{}","id":"fc_1"},'
    b'{"type":"function_call_output","call_id":"call_1", "output":"18"}],'
    b'"tools":[{"type":"function","name":"weather","parameters":{"type":"object"}}]}'
)


def conversation(body: bytes, dialect: Any) -> tuple[list[Message], bytes]:
    """The messages and the tools of a request."""
    request = parse_request(body, dialect=dialect)
    return list(request.messages), request.tools or b""
