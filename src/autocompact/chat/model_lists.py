"""The models that a server lists, which is also the test of its address and of a key."""

from __future__ import annotations

from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from autocompact.errors import ModelRefused, ModelUnavailable
from autocompact.models.failures import Secret, failure

Api: TypeAlias = Literal["openai", "anthropic"]

_VERSION = "2023-06-01"
_OK = 200
_TRY = "Say OK."


class _Listed(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Listed]


async def model_names(base_url: str, *, key: str, seconds: float, api: Api = "openai") -> tuple[str, ...]:
    """Names of the models behind a base URL, in the order of the server.

    Args:
        base_url: of the API: Anthropic's without, OpenAI's with ``/v1``.
        key: "" where none is asked for.
        seconds: until it must have answered.
        api: whose API it is.

    Raises:
        ModelRefused: the key is not accepted, or there is no such list.
        ModelUnavailable: nobody answers there, or not in time.
    """
    url = f"{base_url}/v1/models?limit=1000" if api == "anthropic" else f"{base_url}/models"
    body = await _asked("GET", url, key=key, seconds=seconds, api=api)
    try:
        listed = msgspec.json.decode(body, type=_List)
    except msgspec.DecodeError as error:
        raise ModelRefused(
            f"{_host(url)} answers, but gives no list of models: check the base URL (most end with /v1)"
        ) from error
    return tuple(model.id for model in listed.data if model.id)


async def try_model(base_url: str, model: str, *, key: str, seconds: float) -> None:
    """Ask a model of an OpenAI-compatible server for one token: some servers list their models to everybody.

    Raises:
        ModelRefused: the key or the model is not accepted.
        ModelUnavailable: nobody answers there, or not in time.
    """
    asked = {"model": model, "messages": [{"role": "user", "content": _TRY}], "max_tokens": 1}
    url = f"{base_url}/chat/completions"
    await _asked("POST", url, key=key, seconds=seconds, api="openai", body=msgspec.json.encode(asked))


async def _asked(method: str, url: str, *, key: str, seconds: float, api: Api, body: bytes = b"") -> bytes:
    import aiohttp

    secret, who = Secret(key), _host(url)
    headers = {"Content-Type": "application/json"} if body else {}
    if api == "anthropic":
        headers |= {"anthropic-version": _VERSION, "x-api-key": secret.reveal()}
    elif secret:
        headers["Authorization"] = f"Bearer {secret.reveal()}"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as client,
            # a redirect would take the key to another place
            client.request(
                method, url, headers=headers, data=body or None, allow_redirects=False
            ) as response,
        ):
            content = await response.read()
            if response.status != _OK:
                raise failure(response.status, content, who=who, clean=secret.hidden_in).error
            return content
    except TimeoutError as error:
        raise ModelUnavailable(f"{who} did not answer within {seconds:g} seconds") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ModelUnavailable(f"nobody answers at {who}: is it running, and the address right?") from error


def _host(url: str) -> str:
    return urlsplit(url).netloc or url
