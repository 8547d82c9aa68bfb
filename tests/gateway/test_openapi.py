"""The description says what there is, and what there is does as described: schemathesis finds nothing."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autocompact.gateway import AccessToken, Gateway
from autocompact.gateway.access import Access
from autocompact.gateway.admin import Administration
from autocompact.gateway.endpoints import ENDPOINTS
from autocompact.gateway.exchange import GENERATING
from autocompact.gateway.openapi import described
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import config
from tests.gateway.test_compaction import WINDOW, big, send
from tests.lengths import turns

pytestmark = pytest.mark.anyio

EXAMPLES = turns(3, long=6)
OURS = ("--exclude-path-regex", "^/v1", "--checks", "all")
EXISTING = ("--include-path-regex", "{id}", "--exclude-method", "DELETE", "--phases", "coverage,fuzzing")
"""On a conversation that is there: most of the names that are made up are of none."""
PROVIDERS = (
    "--phases",
    "coverage,fuzzing",
    "--include-path-regex",
    "^/v1",
    "--checks",
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,ignored_auth",  # what is right and what is wrong, the provider decides
)


async def test_the_table_of_endpoints_is_what_administration_answers() -> None:
    async with FakeProvider() as provider:
        gateway = Gateway(config(provider), store=MemoryStore())
        administration = Administration(
            gateway.config,
            access=Access(gateway.config, keys=None, metrics=gateway.metrics),
            turns=gateway.turns,
            retention=gateway.retention,
            metrics=gateway.metrics,
        )
    assert {endpoint.name for endpoint in ENDPOINTS} == set(administration.handlers)
    assert len({endpoint.name for endpoint in ENDPOINTS}) == len(ENDPOINTS)


def test_every_endpoint_is_described_and_nothing_else() -> None:
    paths = described(version="1", closed=False)["paths"]
    ours = {(path, method) for path, methods in paths.items() for method in methods if path[:4] != "/v1/"}
    assert ours == {(endpoint.path, endpoint.method.lower()) for endpoint in ENDPOINTS}
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names)
    assert set(GENERATING) < {path for path in paths if path.startswith("/v1/")}


def test_every_reference_leads_to_a_valid_schema() -> None:
    document = described(version="1", closed=True)
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    assert set(_references(document)) == {f"#/components/schemas/{name}" for name in schemas}


def _references(document: Any) -> list[str]:
    """What every ``$ref`` in it names."""
    return re.findall(r'"\$ref": ?"([^"]+)"', json.dumps(document))


@pytest.mark.parametrize(
    "chosen", [OURS, EXISTING, PROVIDERS], ids=["administration", "conversation", "provider"]
)
async def test_schemathesis_finds_nothing(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    closed: Any = {
        "upstream_keys": {"openai": "sk-upstream", "anthropic": "sk-upstream"},
        "access_tokens": (AccessToken.of("token"),),
    }
    async with FakeProvider("Fine.", models=["m"]) as provider:
        gateway = Gateway(
            config(provider, window=WINDOW, **closed), store=SqliteStore(tmp_path / "conversations.db")
        )
        async with running(gateway) as url:
            names = [
                (await send(url, big(50, first=f"Conversation {number}"), key="token"))[0]
                for number in range(5)
            ]
            if chosen is EXISTING:
                name: str = names[0]["x-autocompact-conversation"]
                (tmp_path / "schemathesis.toml").write_text(f'[parameters]\n"path.id" = "{name}"\n')
            command = (
                "-m schemathesis.cli run --no-color --generation-deterministic --continue-on-failure "
                f"--max-examples {EXAMPLES} --warnings off"
            )
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *command.split(),
                *("--header", "Authorization: Bearer token"),
                *chosen,
                f"{url}/autocompact/openapi.json",
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            told, _ = await process.communicate()
    words = "\n".join(line[:500] for line in told.decode().splitlines())
    assert process.returncode == 0, words
    assert "No issues found" in words
