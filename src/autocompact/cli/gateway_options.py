"""The options that say how a gateway runs, as settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from autocompact.errors import InvalidInput
from autocompact.settings import all_settings

F = TypeVar("F", bound=Callable[..., Any])

_PATHS = {
    "host": "gateway.host",
    "port": "gateway.port",
    "allow_host": "gateway.allowHosts",
    "db": "gateway.db",
    "window": "models.window",
    "windows": "models.windows",
    "threshold": "compaction.triggers.sessionTokens.threshold",
    "compact": "compaction.enabled",
    "summary_model": "compaction.summaryModel",
    "memory_tools": "gateway.memoryTools",
    "memory_tools_off": "gateway.memoryToolsOff",
    "check_provider_compaction": "gateway.checkProviderCompaction",
    "fail_closed": "gateway.failClosed",
    "access_token_file": "gateway.accessTokenFile",
    "access_keys": "gateway.accessKeys",
    "expire_after_days": "gateway.expireAfterDays",
    "page": "chat.page",
    "page_key": "chat.pageKey",
}
"""The setting of each option that sets one."""

_LIMITS = "gateway.limits."

_OPTIONS = (
    click.option(
        "--upstream",
        multiple=True,
        metavar="NAME=URL,…",
        help="Where requests go: base addresses without /v1. May be repeated.  [default: "
        "openai=https://api.openai.com,anthropic=https://api.anthropic.com]",
    ),
    click.option(
        "--upstream-key",
        multiple=True,
        metavar="NAME=WHERE",
        help="Bring this key in place of the clients' own: openai=env:NAME or openai=file:PATH. May be repeated.",
    ),
    click.option(
        "--access-token-file",
        metavar="FILE",
        help="Tokens that clients must have, one a line: NAME:TOKEN or a SHA-256. Belongs to --upstream-key.",
    ),
    click.option(
        "--access-keys/--no-access-keys",
        default=None,
        help="Ask clients for keys that autocompact keys create made. Belongs to --upstream-key.  [default: off]",
    ),
    click.option(
        "--db",
        metavar="FILE|URL",
        help="Where conversations are kept: a file, or postgresql://…; :memory: forgets them.  [default: gateway.db in your data folder]",
    ),
    click.option(
        "--window", metavar="N", help="Tokens of the models' window.  [default: by model, else 200000]"
    ),
    click.option("--windows", metavar="NAME=N,…", help="Windows of models by the beginning of their names."),
    click.option(
        "--threshold",
        metavar="N",
        help="Tokens at which to compact, or 50k, 100k, 150k, 200k, never.  [default: 50 to 80 % of the window]",
    ),
    click.option(
        "--compact/--no-compact", default=None, help="Compact by itself, or only when asked.  [default: on]"
    ),
    click.option(
        "--summary-model",
        metavar="NAME",
        help="Model that makes the summaries, with the key that the environment has for it.  [default: offline]",
    ),
    click.option(
        "--memory-tools/--no-memory-tools",
        default=None,
        help="Let the models search what left their contexts; clients see nothing of it.  [default: on]",
    ),
    click.option(
        "--memory-tools-off",
        multiple=True,
        metavar="NAME",
        help="Not these models, or clients by their User-Agent: the beginning of the name. May be repeated.",
    ),
    click.option(
        "--check-provider-compaction/--no-check-provider-compaction",
        default=None,
        help="Where a provider compacts by itself, put beside its summary what that lacks.  [default: off]",
    ),
    click.option(
        "--fail-closed/--fail-open",
        default=None,
        help="Refuse a request that could not be compacted, instead of forwarding it as it came.  [default: open]",
    ),
    click.option(
        "--expire-after-days",
        metavar="N",
        help="Remove conversations that were not used for so long.  [default: never]",
    ),
    click.option(
        "--limit",
        multiple=True,
        metavar="NAME=N",
        help="A limit on clients: bodyBytes, messages, concurrent, connections, headSeconds … (gateway.limits in the "
        "settings). May be repeated.",
    ),
)


def gateway_options(command: F) -> F:
    """The options that `serve` and `wrap` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def as_settings(given: Mapping[str, Any]) -> dict[str, tuple[str, object]]:
    """The options that were given, by the path of their setting, with their names.

    Raises:
        InvalidInput: an option is written otherwise than its help says.
    """
    found: dict[str, tuple[str, object]] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        option = f"--{name.replace('_', '-')}"
        if name in _PATHS:
            found[_PATHS[name]] = (option, value)
        elif name == "upstream":
            found |= {f"gateway.upstreams.{each}": (option, url) for each, url in _upstreams(",".join(value))}
        else:
            found |= {path: (option, each) for path, each in _named(value, option=option)}
    return found


def _upstreams(text: str) -> Iterator[tuple[str, str | None]]:
    """Both upstreams: what is not named has none."""
    from autocompact.gateway.config import PROVIDERS, parse_upstreams

    upstreams = parse_upstreams(text)
    yield from ((name, upstreams.get(name)) for name in PROVIDERS)


def _named(items: Sequence[str], *, option: str) -> Iterator[tuple[str, str]]:
    """The settings of ``NAME=VALUE``, each item of ``--limit`` or ``--upstream-key``."""
    section = _LIMITS if option == "--limit" else "gateway.upstreamKeys."
    known = {
        each.path.removeprefix(section): each.path for each in all_settings() if each.path.startswith(section)
    }
    for item in items:
        name, _, value = item.partition("=")
        if name not in known or not value:
            shown = repr(item) if section == _LIMITS else "a value"
            raise InvalidInput(f"{option}: {shown} is not NAME=…, NAME one of {', '.join(known)}")
        yield known[name], value
