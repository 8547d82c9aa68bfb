"""A provider of language models on 127.0.0.1: real HTTP, no model.

    async with FakeProvider(["<summary>Done.</summary>"], window=8_000) as provider:
        model = OpenAICompatible("any", base_url=provider.url)
        ...
        assert provider.requests[0].messages[-1]["role"] == "user"

It speaks OpenAI Chat Completions and Responses and Anthropic Messages, whole and streamed, counts tokens, keeps a
prompt cache, refuses what the real APIs refuse with the errors they answer with, and fails on demand. Its rules are
written down apart from the code that they judge, so that a test can fail.

``python -m autocompact.testing.provider --port 8099`` runs one that echoes.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import msgspec
from aiohttp import web

from autocompact.core.messages import Dialect
from autocompact.core.tokens import Counter, Estimator
from autocompact.testing.provider_anthropic import Messages
from autocompact.testing.provider_chat import Chat
from autocompact.testing.provider_compaction import compacting
from autocompact.testing.provider_faults import Fault, FaultKind, Sending, answer_under, refusal_of
from autocompact.testing.provider_prompt import Figures, PromptCache, Segment
from autocompact.testing.provider_refusals import (
    Flavour,
    Refusal,
    anthropic_error,
    error,
    not_json,
    openai_error,
    overflow,
    refused_member,
    too_many_bytes,
    unauthorised,
    unknown_model,
)
from autocompact.testing.provider_responses import Responses
from autocompact.testing.provider_script import Answer, Json, Received, Recorded, Reply, Rule, Script, within

__all__ = ["Answer", "FakeProvider", "FaultKind", "Flavour", "Received", "Recorded", "Reply", "Script"]

_KEYS = frozenset({"authorization", "x-api-key", "api-key"})
_STREAM = "text/event-stream; charset=utf-8"
_WHOLE = "application/json"


class Api(Protocol):
    """An API that the provider speaks."""

    dialect: Dialect

    def check(self, body: Json, *, counting: bool) -> Iterator[Refusal]:
        """Every rule that the request breaks, the first one first."""
        ...

    def segments(self, body: Json) -> list[Segment]:
        """The prompt, for counting and caching."""
        ...

    def whole(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> bytes:
        """The reply in one piece."""
        ...

    def events(self, answer: Answer, asked: Received, *, figures: Figures, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        ...

    def stream_error(self) -> bytes:
        """Bytes that the server sends when it fails in the midst of a stream."""
        ...


class FakeProvider:
    """The server: an asynchronous context manager, on a free port.

    Args:
        replies: what to answer: a list, one after the other (`Answer` with calls and reasoning, a plain text, or a
            `Recorded` response), a text for every request, or a function of the request, which may be a coroutine
            function. None echoes the words of the last message.
        window: tokens that request and answer may take together; None is without limit.
        flavour: whose overflow error a server of OpenAI's API answers with.
        models: names that exist; None takes every name.
        api_key: the key that is asked for; None asks for none, as local servers do.
        counter: counts the tokens.
        refuses: members of a request that are refused as unknown (``max_tokens``, ``stream_options``…).
        summary: what it writes where a request asks it to compact by itself, or a function of the request.
        rules: further rules: each is called with a valid request and returns why it is refused, or None
            (`SameInstructions`).
        counts: whether there are endpoints that count tokens.
        output_counts: whether the tokens asked for as output count against the window, besides the prompt.
        max_output: tokens that an answer takes at most.
        max_bytes: of a request's body.
        cache_minimum: tokens from which on a prompt is cached; real providers begin at 1,024, 0 caches everything.
        port: 0 is any free one.

    Attributes:
        requests: everything that arrived, in order, refused ones included.
        abandoned: requests whose client went away before the answer was complete.
    """

    def __init__(
        self,
        replies: Script = None,
        *,
        window: int | None = None,
        flavour: Flavour = "openai",
        models: Sequence[str] | None = None,
        api_key: str | None = None,
        counter: Counter | None = None,
        refuses: Collection[str] = (),
        summary: str | Callable[[Received], str] = "Summary of what was said so far.",
        rules: Collection[Rule] = (),
        counts: bool = True,
        output_counts: bool = True,
        max_output: int = 32_000,
        max_bytes: int | None = None,
        cache_minimum: int = 1_024,
        port: int = 0,
    ) -> None:
        self._replies = replies
        self._window = window
        self._flavour: Flavour = flavour
        self._models = models
        self._api_key = api_key
        self._counter = counter or Estimator()
        self._refuses = tuple(refuses)
        self._summary = summary
        self._rules = tuple(rules)
        self._counts = counts
        self._output_counts = output_counts
        self._max_output = max_output
        self._max_bytes = max_bytes
        self._cache = PromptCache(self._counter, minimum=cache_minimum)
        self._port = port
        self._number = self._answered = 0
        self._faults: deque[Fault] = deque()
        self._runner: web.AppRunner | None = None
        self._closing = asyncio.Event()
        self._news = asyncio.Event()
        self.requests: list[Received] = []
        self.abandoned: list[Received] = []

    @property
    def url(self) -> str:
        """URL that the provider listens on, without ``/v1``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """URL that the provider listens on, with ``/v1``, as OpenAI's clients want it."""
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 30)
        for path, api in (
            ("/chat/completions", Chat()),
            ("/responses", Responses()),
            ("/responses/compact", Responses()),
            ("/responses/input_tokens", Responses()),
            ("/messages", Messages()),
            ("/messages/count_tokens", Messages()),
        ):
            app.router.add_post(f"/v1{path}", self._handler(api))
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_route("*", "/{path:.*}", self._no_such_path)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *failure: object) -> None:
        del failure
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def fail(self, kind: FaultKind, *, times: int = 1, retry_after: str = "", pause: float = 0.02) -> None:
        """Let the next ``times`` requests fail; calls add up, in order.

        Args:
            kind: how (see `FaultKind`).
            times: how many requests.
            retry_after: value of that header where the kind is an error response: seconds or an HTTP date.
            pause: seconds between the pieces of a slow answer.
        """
        self._faults.extend([Fault(kind=kind, retry_after=retry_after, pause=pause)] * times)

    async def wait_for_requests(self, number: int) -> None:
        """Wait until so many requests have arrived in all."""
        while len(self.requests) < number:
            await self._news.wait()

    async def wait_for_abandoned(self, number: int = 1) -> None:
        """Wait until so many requests were given up by their clients."""
        while len(self.abandoned) < number:
            await self._news.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _handler(self, api: Api) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            raw = await request.read()
            fault = self._faults.popleft() if self._faults else None
            asked, outcome = self._judged(api, request, raw=raw, fault=fault)
            self.requests.append(asked)
            self._tell()
            try:
                if isinstance(outcome, Refusal):
                    return _refused(outcome)
                sending = Sending(request=request, fault=fault, closing=self._closing)
                return await self._answer(api, asked, figures=outcome, sending=sending)
            except (asyncio.CancelledError, ConnectionError):
                self.abandoned.append(asked)
                self._tell()
                raise

        return handle

    def _judged(
        self, api: Api, request: web.Request, *, raw: bytes, fault: Fault | None
    ) -> tuple[Received, Refusal | Figures]:
        """The request, and either why it is refused or what it weighs."""
        headers = {
            name.lower(): "***" if name.lower() in _KEYS else value for name, value in request.headers.items()
        }
        body = _object(raw)
        asked = Received(path=request.path, headers=headers, raw=raw, body=body or {}, dialect=api.dialect)
        refusal = self._injected(api, fault) or self._unwelcome(api, request, raw=raw)
        if refusal is None and body is None:
            refusal = not_json(api.dialect)
        refusal = refusal or self._invalid(api, asked)
        if refusal is not None:
            return asked, refusal
        segments = api.segments(asked.body)
        asked = replace(asked, tokens=self._cache.count(segments))
        refusal = self._overflow(api, asked)
        if refusal is not None:
            return asked, refusal
        figures = self._figures(api, asked, segments=segments)
        return replace(asked, cached=figures.read), figures

    def _injected(self, api: Api, fault: Fault | None) -> Refusal | None:
        if fault is None or fault.kind == "stream_error":
            return None
        return refusal_of(fault, api.dialect, flavour=self._flavour, window=self._window or 8_192)

    def _unwelcome(self, api: Api, request: web.Request, *, raw: bytes) -> Refusal | None:
        """The refusal of a request whose head is wrong, whatever its body says."""
        if not self._counts and request.path.endswith(("/count_tokens", "/input_tokens")):
            return _unknown_path(request)
        if self._max_bytes is not None and len(raw) > self._max_bytes:
            return too_many_bytes(api.dialect)
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        given = request.headers.get("x-api-key") or request.headers.get("api-key") or given
        if self._api_key is not None and given != self._api_key:
            return unauthorised(api.dialect, missing=not given)
        if api.dialect == "anthropic" and "anthropic-version" not in request.headers:
            return anthropic_error("anthropic-version: header is required")
        return None

    def _invalid(self, api: Api, asked: Received) -> Refusal | None:
        if not asked.model:
            return error(
                api.dialect,
                "model: Field required"
                if api.dialect == "anthropic"
                else "you must provide a model parameter",
                status=400,
                types=("invalid_request_error", "invalid_request_error"),
            )
        if self._models is not None and asked.model not in self._models:
            return unknown_model(api.dialect, asked.model)
        refused = next((name for name in self._refuses if asked.body.get(name) not in (None, False)), None)
        if refused is not None:
            return refused_member(api.dialect, refused)
        return next(api.check(asked.body, counting=asked.counting), None) or self._against_rules(asked)

    def _against_rules(self, asked: Received) -> Refusal | None:
        reason = next(filter(None, (rule(asked) for rule in self._rules)), None)
        if reason is None:
            return None
        types = ("invalid_request_error", "invalid_request_error")
        return error(asked.dialect, f"FakeProvider: {reason}", status=400, types=types)

    def _overflow(self, api: Api, asked: Received) -> Refusal | None:
        if self._window is None or asked.counting:
            return None
        return overflow(
            api.dialect,
            self._flavour,
            window=self._window,
            prompt=asked.tokens,
            output=(asked.max_output or 0) if self._output_counts else 0,
        )

    def _figures(self, api: Api, asked: Received, *, segments: list[Segment]) -> Figures:
        if asked.counting:
            return Figures(prompt=asked.tokens)
        if api.dialect == "anthropic":
            return self._cache.marked(asked.model, segments)
        return self._cache.automatic(asked.model, segments)

    async def _answer(
        self, api: Api, asked: Received, *, figures: Figures, sending: Sending
    ) -> web.StreamResponse:
        if asked.counting:
            counted = {"object": "response.input_tokens"} if api.dialect == "openai_responses" else {}
            body = msgspec.json.encode({**counted, "input_tokens": figures.prompt})
            return await sending.send([body], content_type=_WHOLE)
        self._number += 1
        number = self._number
        reply = await self._said(asked, sending.fault)
        if isinstance(reply, Refusal):
            return _refused(reply)
        if isinstance(reply, Recorded):
            return _recorded(reply)
        answer = within(answer_under(sending.fault, reply), self._room(asked), counter=self._counter)
        fault = sending.fault.kind if sending.fault else ""
        if not asked.streamed and fault == "stream_error":
            return _refused(
                error(api.dialect, "Internal server error", status=500, types=("server_error", "api_error"))
            )
        if not asked.streamed or fault == "unstreamed":
            whole = api.whole(answer, asked, figures=figures, number=number)
            return await sending.send([whole], content_type=_WHOLE)
        events = list(api.events(answer, asked, figures=figures, number=number))
        return await sending.send(events, content_type=_STREAM, stream_error=api.stream_error())

    def _room(self, asked: Received) -> int:
        """Tokens that the answer may take."""
        limits = [self._max_output]
        if asked.max_output is not None:
            limits.append(asked.max_output)
        if self._window is not None:
            limits.append(max(0, self._window - asked.tokens))
        return min(limits)

    async def _said(self, asked: Received, fault: Fault | None) -> Answer | Recorded | Refusal:
        """The next answer of the script, with the provider's own compaction where one is due."""
        how = "" if asked.dialect == "openai_chat" else compacting(asked)
        reply = await self._reply(asked, fault)
        if not how or not isinstance(reply, Answer):
            return reply
        summary = self._summarised(asked)
        if how == "alone":
            return Answer(stop="compaction", compaction=summary)
        return replace(reply, compaction=summary)

    def _summarised(self, asked: Received) -> str:
        return self._summary(asked) if callable(self._summary) else self._summary

    async def _reply(self, asked: Received, fault: Fault | None) -> Answer | Recorded | Refusal:
        """The next answer of the script; one of which the client gets nothing is not used up."""
        if fault is not None and fault.wordless:
            return Answer()
        reply = await self._scripted(asked)
        if fault is None or fault.harmless:
            self._answered += 1
        return reply

    async def _scripted(self, asked: Received) -> Answer | Recorded | Refusal:
        replies = self._replies
        if replies is None:
            return Answer(text=asked.last_text)
        if isinstance(replies, str):
            return Answer(text=replies)
        if callable(replies):
            made = replies(asked)
            reply = await made if inspect.isawaitable(made) else made
        elif self._answered < len(replies):
            reply = replies[self._answered]
        else:
            return error(
                asked.dialect,
                f"FakeProvider has no reply left: its script has {len(replies)}.",
                status=400,
                types=("script_ended", "script_ended"),
            )
        return Answer(text=reply) if isinstance(reply, str) else reply

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        given = request.headers.get("x-api-key") or given
        if self._api_key is not None and given != self._api_key:
            anthropic = "anthropic-version" in request.headers
            return _refused(unauthorised("anthropic" if anthropic else "openai_chat", missing=not given))
        names = self._models or ("fake-model",)
        listed = [
            {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "fake"} for name in names
        ]
        return web.json_response({"object": "list", "data": listed})

    async def _no_such_path(self, request: web.Request) -> web.StreamResponse:
        return _refused(_unknown_path(request))


def _unknown_path(request: web.Request) -> Refusal:
    return openai_error(f"Invalid URL ({request.method} {request.path})", status=404)


def _object(raw: bytes) -> Json | None:
    """The JSON object that the body is; None for anything else."""
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _refused(refusal: Refusal) -> web.StreamResponse:
    return web.Response(
        status=refusal.status,
        body=msgspec.json.encode(refusal.body),
        content_type="application/json",
        headers=refusal.headers,
    )


def _recorded(reply: Recorded) -> web.StreamResponse:
    headers = {"Content-Type": reply.content_type, **(reply.headers or {})}
    return web.Response(status=reply.status, body=reply.body, headers=headers)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a provider that echoes until it is interrupted; its base URL goes to stdout."""
    parser = argparse.ArgumentParser(prog="python -m autocompact.testing.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 is any free one")
    parser.add_argument("--window", type=int, default=None, help="tokens; without limit by default")
    parser.add_argument(
        "--flavour", default="openai", help="whose overflow errors (openai, vllm, llama_cpp…)"
    )
    parser.add_argument("--reply", default=None, help="what it always says; by default the last message")
    given = parser.parse_args(arguments)

    async def serve() -> None:
        provider = FakeProvider(given.reply, window=given.window, flavour=given.flavour, port=given.port)
        async with provider:
            sys.stdout.write(f"{provider.base_url}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        sys.stderr.write("\n")


if __name__ == "__main__":
    main()
