"""Secrets in a conversation that goes through a gateway: what it keeps of it beside the log has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import Answer, FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_admin import get
from tests.gateway.test_compaction import WINDOW, send

pytestmark = pytest.mark.anyio

ROWS = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + f"C7abcdEFGH01{row:02}" for row in range(12)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *ROWS, "-----END PRIVATE KEY-----"])
TOKEN = "ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A"


def leaked(told: object) -> list[str]:
    shown = told if isinstance(told, str) else json.dumps(told)
    return [secret for secret in (*ROWS, TOKEN) if secret in shown]


def talk() -> list[dict[str, object]]:
    """A conversation of an agent: a key is printed early, in two parts of one message as well."""
    messages: list[dict[str, object]] = [
        {"role": "user", "content": f"Deploy with {TOKEN}: read deploy.key"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "k",
                    "type": "function",
                    "function": {
                        "name": "bash",
                        "arguments": json.dumps({"command": f"GH={TOKEN} cat deploy.key"}),
                    },
                }
            ],
        },
        {"role": "tool", "tool_call_id": "k", "content": KEY},
        {"role": "assistant", "content": f"I decided to use {TOKEN} because deploy.key needs it."},
        {
            "role": "user",
            "content": [{"type": "text", "text": KEY[:300]}, {"type": "text", "text": KEY[300:]}],
        },
    ]
    for turn in range(140):
        messages.append({"role": "assistant", "content": f"Part {turn} is in valve_{turn}.py now."})
        messages.append(
            {"role": "user", "content": f"Go on with part {turn}. " + "The pump runs dry again. " * 20}
        )
    return messages


@pytest.mark.requirement("E1")
async def test_what_the_gateway_keeps_beside_the_log_has_no_secret(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "gw.db")
    async with (
        FakeProvider([Answer(text="Fine.")] * 9, window=WINDOW) as provider,
        gateway_before(provider, store=store, window=WINDOW) as url,
    ):
        headers, _ = await send(url, talk())
        one = f"{url}/autocompact/conversations/{headers['x-autocompact-conversation']}"
        told = [
            await get(f"{url}/autocompact/conversations"),
            await get(one),
            await get(f"{url}/autocompact/search?q=deploy.key"),
            await get(f"{url}/autocompact/search?q=PRIVATE+KEY+token"),
        ]
        log = await get(f"{one}/messages?limit=5")
        sent = provider.requests[-1]

    assert headers["x-autocompact-action"] == "compacted"
    assert [status for status, _ in told] == [200] * 4
    assert "[secret: " in json.dumps(told)
    assert leaked([body for _, body in told]) == []
    assert "Conversation Summary" in sent.raw.decode()
    assert leaked(sent.raw.decode()) == []
    assert leaked(log[1])  # the log itself is what was sent
