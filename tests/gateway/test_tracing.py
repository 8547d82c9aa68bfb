"""Spans of a request, by OpenTelemetry's own SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.gateway.tracing import OpenTelemetry
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import config
from tests.gateway.test_compaction import big
from tests.gateway.test_passing import post

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]

WINDOW = 8_000
TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_a_request_has_spans_of_what_it_waits_for_and_none_of_what_was_said(tmp_path: Path) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    async with FakeProvider("Fine.", window=WINDOW) as upstream:
        store = SqliteStore(tmp_path / "gw.db")
        gateway = Gateway(config(upstream, window=WINDOW), store=store, tracer=OpenTelemetry(provider))
        async with running(gateway) as url:
            for messages in (big(50), [{"role": "user", "content": 7}]):
                body = json.dumps({"model": "m", "max_tokens": 100, "messages": messages}).encode()
                headers = {
                    "Authorization": "Bearer sk-secret",
                    "traceparent": f"00-{TRACE}-b7ad6b7169203331-01",
                }
                await post(f"{url}/v1/chat/completions", body, **headers)
    spans = kept.get_finished_spans()
    first, second = [span for span in spans if span.name == "autocompact.request"]
    assert first.context is not None
    assert f"{first.context.trace_id:032x}" == TRACE
    assert dict(first.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "autocompact.action": "compacted",
    }
    below = {span.name for span in spans if span.parent and span.parent.span_id == first.context.span_id}
    assert below >= {f"autocompact.{name}" for name in ("recognise", "plan", "upstream", "relay")}
    (plan,) = (
        span
        for span in spans
        if span.name == "autocompact.plan" and span.parent and span.parent.span_id == first.context.span_id
    )
    assert plan.context is not None
    within = {span.name for span in spans if span.parent and span.parent.span_id == plan.context.span_id}
    assert within >= {"autocompact.read", "autocompact.load", "autocompact.lease", "autocompact.commit"}
    # a request that the provider refuses has its status
    assert second.context is not None
    statuses = [
        dict(span.attributes or {}).get("http.response.status_code")
        for span in spans
        if span.name == "autocompact.upstream"
    ]
    assert statuses == [200, 400]
    written = "".join(span.to_json() for span in spans)
    assert "nothing of interest" not in written
    assert "sk-secret" not in written


async def test_a_client_searches_its_conversations_with_traces_as_without(tmp_path: Path) -> None:
    """The store that is traced was taken for one that keeps no search index."""
    async with FakeProvider("Fine.", window=WINDOW) as upstream:
        for number, fail_closed in enumerate((False, True)):
            store = SqliteStore(tmp_path / f"{number}.db")
            chosen = config(upstream, window=WINDOW, fail_closed=fail_closed)
            async with (
                running(Gateway(chosen, store=store, tracer=OpenTelemetry(TracerProvider()))) as url,
                aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session,
            ):
                said = [{"role": "user", "content": "The caterer wants herons."}, *big(50)[1:]]
                body = json.dumps({"model": "m", "max_tokens": 100, "messages": said}).encode()
                await post(f"{url}/v1/chat/completions", body, Authorization="Bearer k")
                async with session.get(f"{url}/autocompact/search", params={"q": "herons"}) as told:
                    assert told.status == 200, await told.text()
                    assert [one["seq"] for one in (await told.json())["results"]] == [1]


def test_without_the_setting_nothing_of_it_is_imported() -> None:
    said = "import sys, autocompact.gateway.app; raise SystemExit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", said], check=False).returncode == 0
