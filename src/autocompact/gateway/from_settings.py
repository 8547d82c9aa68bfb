"""A gateway as the settings have it: its configuration, its keys and tokens, its store and its summary model."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.gateway.app import Gateway
from autocompact.gateway.config import LOCAL_HOSTS, PROVIDERS, AccessToken, Config, Limits, Provider
from autocompact.gateway.tracing import OpenTelemetry
from autocompact.models.environment import FAMILIES, model_from_environment
from autocompact.models.reconstructed import require_ctok
from autocompact.ports import Model, Workers
from autocompact.runtime.files import close_to_others, make_file, make_folder
from autocompact.settings import Settings, gateway_database_of, gateway_mode_of, mode_of
from autocompact.settings.upkeep import prices_of
from autocompact.stores.access import AccessKeys
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.namespace_key import key_of, passing_key
from autocompact.stores.opening import open_store
from autocompact.stores.sqlite_file import check_file, errors

_OFFLINE = "offline"
_DIGEST_DIGITS = 64

log = logging.getLogger("autocompact.gateway")


def open_gateway(
    settings: Settings, *, environ: Mapping[str, str] | None = None, workers: Workers | None = None
) -> Gateway:
    """The gateway that ``settings`` describe; serving it opens and closes its store.

    Args:
        settings: as they hold.
        workers: see `Gateway`.
        environ: in place of the process's environment, for keys, models and the user's data folder.

    Raises:
        InvalidInput: a key, a token or a model that is not there, or settings that do not go together.
        StoreUnavailable: the database, or the key beside it, cannot be read or written; the server cannot be reached.
        StoreError: the file is no database of ours, damaged, or of a newer version.
    """
    given = os.environ if environ is None else environ
    # before any file is made: a model or a key that is not there must leave nothing behind
    summaries = summaries_of(settings.compaction.summary_model, given)
    config = config_of(settings, namespace_key=passing_key(), environ=given)
    database = gateway_database_of(settings, environ=given)
    tracer = OpenTelemetry() if settings.gateway.traces else None
    if database is None:
        index = MemoryIndex() if config.memory_tools else None
        return Gateway(config, store=MemoryStore(indexer=index), summaries=summaries, tracer=tracer)
    store = open_store(database)
    if isinstance(database, Path):
        if settings.gateway.db is None:
            make_folder(database.parent)
        _private_file(database)
        config = replace(config, database=str(database.resolve()))
    config = replace(config, namespace_key=key_of(database))
    keys = AccessKeys(store) if config.access_keys else None
    return Gateway(config, store=store, summaries=summaries, workers=workers, keys=keys, tracer=tracer)


def _private_file(database: Path) -> None:
    """Make the file, readable by its owner alone as what SQLite puts beside it; one that cannot be used is refused."""
    with errors(database):
        check_file(database)
    try:
        make_file(database)
        close_to_others(database)
    except OSError as error:
        raise StoreUnavailable(
            f"{str(database)!r} cannot be written ({error.strerror}): choose another --db"
        ) from error


def config_of(
    settings: Settings, *, namespace_key: bytes, environ: Mapping[str, str] | None = None
) -> Config:
    """The configuration that ``settings`` describe.

    Raises:
        InvalidInput: a key or a token that is not there, or settings that do not go together.
    """
    if settings.models.ctok:
        require_ctok()
    gateway = settings.gateway
    given = os.environ if environ is None else environ
    upstreams: dict[Provider, str | None] = {
        "openai": gateway.upstreams.openai,
        "anthropic": gateway.upstreams.anthropic,
    }
    keys: dict[Provider, str | None] = {
        "openai": gateway.upstream_keys.openai,
        "anthropic": gateway.upstream_keys.anthropic,
    }
    # With keys of ours, an upstream without one would get the clients' access tokens.
    served: list[Provider] = [name for name in PROVIDERS if keys[name] or not any(keys.values())]
    return Config(
        upstreams={name: address.rstrip("/") for name in served if (address := upstreams[name])},
        namespace_key=namespace_key,
        window=settings.models.window,
        windows=settings.models.windows,
        ctok=settings.models.ctok,
        mode=gateway_mode_of(settings),
        unpriced_mode=mode_of(settings),
        fail_closed=gateway.fail_closed,
        memory_tools=gateway.memory_tools,
        memory_tools_off=gateway.memory_tools_off,
        check_provider_compaction=gateway.check_provider_compaction,
        hosts=LOCAL_HOSTS | {gateway.host, *gateway.allow_hosts},
        upstream_keys={name: _key(name, where, environ=given) for name in PROVIDERS if (where := keys[name])},
        access_tokens=access_tokens(Path(gateway.access_token_file)) if gateway.access_token_file else (),
        access_keys=gateway.access_keys,
        prices=prices_of(settings),
        expire_after_days=gateway.expire_after_days,
        limits=Limits(**msgspec.structs.asdict(gateway.limits)),
    )


def access_tokens(file: Path) -> tuple[AccessToken, ...]:
    """The tokens in a file, one a line: ``NAME:TOKEN``, ``NAME:sha256:DIGEST``, or a bare SHA-256.

    After it may stand ``expireAfterDays=N``: after how many days this client's conversations expire. Empty lines and
    those that begin with ``#`` are skipped.

    Raises:
        InvalidInput: the file cannot be read, holds no token, or a line is written otherwise; never shows a token.
    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the file of the access tokens {str(file)!r} cannot be read: {error}") from error
    tokens = tuple(_tokens(lines, file=file))
    if not tokens:
        raise InvalidInput(f"{file}: holds no access token, one a line: NAME:TOKEN")
    if len({token.digest for token in tokens}) < len(tokens):
        raise InvalidInput(f"{file}: holds a token twice: each names one client")
    return tokens


def _tokens(lines: list[str], *, file: Path) -> Iterator[AccessToken]:
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        days = None
        if len(words) > 1:
            name, _, figure = words[1].partition("=")
            if len(words) > 2 or name != "expireAfterDays" or not figure.isdecimal():
                raise InvalidInput(
                    f"{file}:{number}: after a token may stand expireAfterDays=N and nothing else"
                )
            days = int(figure)
        try:
            yield _token(words[0], days=days)
        except InvalidInput as error:
            raise InvalidInput(f"{file}:{number}: {error}") from None


def _token(word: str, *, days: int | None) -> AccessToken:
    name, colon, token = word.partition(":")
    if not colon or name == "sha256":
        digest = word.removeprefix("sha256:")
        if len(digest) != _DIGEST_DIGITS:
            raise InvalidInput("expected NAME:TOKEN, NAME:sha256:DIGEST or a SHA-256 of 64 digits")
        return AccessToken(digest=digest.lower(), name=digest[:8], expire_after_days=days)
    if token.startswith("sha256:"):
        digest = token.removeprefix("sha256:").lower()
        return AccessToken(digest=digest, name=name, expire_after_days=days)
    return AccessToken.of(token, name=name, expire_after_days=days)


def _key(provider: Provider, where: str, *, environ: Mapping[str, str]) -> str:
    """The key behind ``env:NAME`` or ``file:PATH``; never part of a message."""
    kind, _, name = where.partition(":")
    if kind == "env":
        key = environ.get(name, "").strip()
        told = f"the environment variable {name!r} is not set, or empty"
    else:
        try:
            key, told = Path(name).read_text("utf-8").strip(), f"the file {name!r} is empty"
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"the key for {provider}: the file {name!r} cannot be read") from error
    if not key:
        raise InvalidInput(f"the key for {provider}: {told}")
    return key


def summaries_of(name: str | None, environ: Mapping[str, str]) -> Model | None:
    """The model that makes the summaries, by its name; None makes them offline.

    Raises:
        InvalidInput: the environment has neither a key nor a server for it.
    """
    if name is None or name == _OFFLINE:
        return None
    model = model_from_environment(name, environ=environ)
    if model is None and name in FAMILIES:
        log.warning("no provider for the summary model: summaries are made offline", extra={"model": name})
    elif model is None:
        raise InvalidInput(f"the environment has no key and no server for the summary model {name!r}")
    return model
