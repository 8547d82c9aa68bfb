"""Requests to models over HTTP: timeouts count silence, not total time, and passing failures are retried.

A long answer may take minutes, and one that hangs looks the same to a limit on the total time. So there is none: an
answer is given up when no byte has come for a while, which is why it is streamed wherever the server can.

A failed attempt is a value until the last moment (`Failure`), so that no driver's exception, which may hold the
request's headers, hangs on the error that is raised.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

from autocompact.core.messages import Dialect
from autocompact.errors import InvalidInput, ModelError, ModelRefused, ModelUnavailable
from autocompact.models.failures import Failure, Secret, asked_wait, failure
from autocompact.models.proxies import proxy_for
from autocompact.models.reading import BodySink, ReplySink
from autocompact.ports import Clock, SystemClock
from autocompact.wire import Reply
from autocompact.wire.deltas import StreamEvent

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

MOST_BYTES = 64_000_000
"""Of an answer: 128,000 tokens, streamed one by one in events of 500 bytes."""

_MOST_ERROR_BYTES = 65_536
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds without a byte after which a request is given up.

    Attributes:
        connect: until the connection stands.
        first_byte: until the answer begins; a model reads a long prompt before it says anything.
        between: between two pieces of the answer.
        advice: what to do about it, said where it was given up; "" for nothing.
    """

    connect: float = 10
    first_byte: float = 120
    between: float = 60
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Retry policy for requests that failed for a passing reason.

    A request that ended in silence is not: that took long enough.

    Attributes:
        attempts: in all; 1 is never again.
        first_wait: seconds before the second attempt; it doubles each time, with jitter.
        longest_wait: seconds between two attempts at most. A server that asks for more (Retry-After) is not asked
            again: sooner would be of no use, and that late everybody waits.
    """

    attempts: int = 3
    first_wait: float = 0.5
    longest_wait: float = 30


class _Sink(Protocol):
    def feed(self, chunk: bytes) -> bytes | None: ...


class _Failed(Exception):
    """Raised when one attempt failed."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__()  # stamina logs the representation: no words of the provider in it


class Transport:
    """Sends requests to one server.

    Args:
        base_url: ``http(s)://host[:port]/path``, what comes before the API's own paths.
        model: the model's name, for messages.
        secret: the key.
        header: name and format of the header that it goes into, e.g. ``("Authorization", "Bearer {}")``.
        headers: further ones; they are not shown anywhere either.
        patience: when to give up.
        retries: when to try again.
        most_bytes: of one answer.
        clock: tells how far away a Retry-After date is.

    Raises:
        InvalidInput: ``base_url`` or the key cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        secret: Secret,
        header: tuple[str, str],
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        retries: Retries | None = None,
        most_bytes: int = MOST_BYTES,
        clock: Clock | None = None,
    ) -> None:
        # a line break in a header would be refused by the client with a message that shows the key
        if not (secret.reveal().isascii() and secret.reveal().isprintable()):
            raise InvalidInput("the API key holds characters that no key has: was more copied than the key?")
        self.base_url = checked_url(base_url)
        self._who = f"{model!r} at {urlsplit(self.base_url).netloc}"
        self._secret = secret
        self._header = header
        self._headers = dict(headers or {})
        self._patience = patience or Patience()
        self._retries = retries or Retries()
        self._most_bytes = most_bytes
        self._clock = clock or SystemClock()
        # connections belong to the event loop that opened them, and a program may run one loop after another
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    async def reply(self, path: str, body: bytes, *, dialect: Dialect) -> Reply:
        """The whole answer to a request, whether it was streamed or not.

        Raises:
            ModelError: and its kinds.
        """

        async def attempt() -> Reply | Failure:
            # anew for each attempt: half an answer of the first must not be part of the second
            sink = ReplySink(dialect)
            return await self._send(path, body, sink=sink) or self._read(sink)

        return await self._retried(attempt)

    async def stream(
        self, path: str, body: bytes, *, dialect: Dialect
    ) -> AsyncGenerator[StreamEvent | Reply]:
        """The answer to a request as it comes, then the whole; a server that does not stream gives only that.

        What has begun is not tried again: its beginning was given away.

        Raises:
            ModelError: and its kinds.
        """
        events: asyncio.Queue[StreamEvent | None] = asyncio.Queue()

        async def attempt() -> Reply | Failure:
            sink = ReplySink(dialect, emit=events.put_nowait)
            outcome = await self._send(path, body, sink=sink) or self._read(sink)
            if isinstance(outcome, Failure) and sink.emitted:
                return replace(outcome, again=False)
            return outcome

        asking = asyncio.create_task(self._retried(attempt))
        asking.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield await asking
        finally:
            asking.cancel()
            # its outcome was given, or nobody waits for it any more
            await asyncio.gather(asking, return_exceptions=True)

    async def fetch(self, path: str, body: bytes) -> bytes:
        """The body of the answer to a request.

        Raises:
            ModelError: and its kinds.
        """

        async def attempt() -> bytes | Failure:
            sink = BodySink()
            return await self._send(path, body, sink=sink) or sink.body()

        return await self._retried(attempt)

    async def aclose(self) -> None:
        """Close the connections."""
        sessions = [*self._sessions.values()]
        self._sessions.clear()
        for session in sessions:
            await session.close()

    async def _retried(self, attempt: Callable[[], Awaitable[T | Failure]]) -> T:
        import stamina

        retries = self._retries
        outcome: T | Failure = Failure(error=ModelError(f"{self._who} was not asked: no attempt is allowed"))
        with suppress(_Failed):
            async for trial in stamina.retry_context(
                on=self._again,
                attempts=retries.attempts,
                timeout=None,
                wait_initial=retries.first_wait,
                wait_max=retries.longest_wait,
                wait_jitter=retries.first_wait,
            ):
                with trial:
                    outcome = await attempt()
                    if isinstance(outcome, Failure):
                        # failures are values; only the retry loop needs an exception
                        raise _Failed(outcome)
        if isinstance(outcome, Failure):
            raise outcome.error
        return outcome

    def _again(self, exc: Exception) -> bool | float:
        again = exc.failure.again if isinstance(exc, _Failed) else False
        # a server may ask for hours: then the caller decides, not a sleeping task
        return again if isinstance(again, bool) or again <= self._retries.longest_wait else False

    async def _send(self, path: str, body: bytes, *, sink: _Sink) -> Failure | None:
        """Send the request and pour the answer into ``sink``; why that failed, if it did."""
        import aiohttp

        taken = 0
        try:
            async with (
                # of silence, not of the whole: a model may think for minutes and stream for more
                asyncio.timeout(self._patience.first_byte) as limit,
                (await self._opened()).post(
                    self.base_url + path,
                    # bytes are written in one call that blocks the loop for large bodies; a file goes in pieces
                    data=io.BytesIO(body),
                    headers=self._all_headers(),
                    allow_redirects=False,  # the key is for this server alone
                    proxy=proxy_for(self.base_url),
                ) as response,
            ):
                # a redirect is refused here too, with its status
                if response.status != _OK:
                    return await self._refusal(response)
                async for chunk in response.content.iter_any():
                    limit.reschedule(asyncio.get_running_loop().time() + self._patience.between)
                    taken += len(chunk)
                    told = self._too_large() if taken > self._most_bytes else self._fed(sink, chunk)
                    if told is not None:
                        return told
        except aiohttp.ClientSSLError as exc:
            return Failure(error=ModelRefused(self._said("cannot be trusted", exc)))
        except aiohttp.ConnectionTimeoutError as exc:
            return Failure(error=ModelUnavailable(self._said("cannot be reached", exc)), again=True)
        except TimeoutError:
            # not tried again: the request may be running at the provider, and it would be paid for twice
            seconds = self._patience.between if taken else self._patience.first_byte
            message = f"{self._who} said nothing for {seconds:g} seconds: the request was given up"
            message += self._patience.advice
            return Failure(error=ModelUnavailable(message))
        except (aiohttp.ClientError, OSError) as exc:
            problem = "broke off its answer" if taken else "cannot be reached"
            return Failure(error=ModelUnavailable(self._said(problem, exc)), again=True)
        return None

    async def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            self._sessions[loop] = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._patience.connect),
                # nothing of one request may reach another
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            for ended in [each for each in self._sessions if each.is_closed()]:
                await self._sessions.pop(ended).close()
        return self._sessions[loop]

    def _all_headers(self) -> dict[str, str]:
        name, form = self._header
        key = {name: form.format(self._secret.reveal())} if self._secret else {}
        return {"Content-Type": "application/json", **key, **self._headers}

    async def _refusal(self, response: aiohttp.ClientResponse) -> Failure:
        body = b""
        async for chunk in response.content.iter_any():
            body += chunk
            # an error page of any size says what it says in its beginning
            if len(body) > _MOST_ERROR_BYTES:
                break
        # Retry-After may be a date
        wait = asked_wait(response.headers, now=self._clock.now())
        return failure(response.status, body, who=self._who, wait=wait, clean=self._secret.hidden_in)

    def _fed(self, sink: _Sink, chunk: bytes) -> Failure | None:
        told = sink.feed(chunk)
        return None if told is None else self._told(told)

    def _told(self, body: bytes) -> Failure:
        return failure(_OK, body, who=self._who, clean=self._secret.hidden_in)

    def _too_large(self) -> Failure:
        message = f"{self._who} sent more than {self._most_bytes:,} bytes: the answer was given up"
        return Failure(error=ModelError(message))

    def _read(self, sink: ReplySink) -> Reply | Failure:
        # some servers answer 200 and put the error into the stream
        told = sink.error()
        if told is not None:
            return self._told(told)
        try:
            reply = sink.reply()
        except InvalidInput as exc:
            return Failure(error=ModelError(self._said("answered with something else", exc)))
        if reply.complete:
            return reply
        return Failure(error=ModelUnavailable(f"{self._who} broke off its answer"), again=True)

    def _said(self, problem: str, exc: Exception) -> str:
        return f"{self._who} {problem}: {self._secret.hidden_in(str(exc))[:300] or type(exc).__name__}"


def checked_url(url: str) -> str:
    """The address without a slash at its end.

    Raises:
        InvalidInput: it is not ``http(s)://host[:port][/path]``.
    """
    problem = InvalidInput(
        "the base URL must look like https://host[:port][/path], without user, password and query"
    )
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise problem from None  # what urlsplit says repeats the address
    if not usable or "@" in parts.netloc or parts.query or parts.fragment:
        raise problem
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
