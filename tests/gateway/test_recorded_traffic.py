"""Recorded sessions of Claude Code and Codex as the traffic that these agents would send through the gateway.

Each request holds the whole history so far, as the agent's API has it, and asks for a stream; the session goes on with
what was recorded, whatever the provider says. Half-way the gateway is another process, as it were: a new one over the
same database.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import aiohttp
import msgspec
import pytest

from autocompact.compaction.repair import repair
from autocompact.core.messages import Dialect
from autocompact.ports import Key
from autocompact.sessions import read_session
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from autocompact.wire import Exported, export_messages
from autocompact.wire.canonical import without_marks
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Wire
from tests.lengths import some

DATA = Path(__file__).parents[3] / "shared" / "data"
PACK = pytest.mark.skipif(
    not DATA.is_dir(), reason="the data pack is not beside the repository (../shared/data)"
)
pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7"), PACK]

WINDOW = 32_000
OUTPUT = 1_000
REQUESTS = 12
LEAST_BYTES = 250_000
"""Sessions whose messages are shorter would be compacted once or never."""

MOST_BYTES = 700_000
"""What longer ones show, these show in less time."""

PATHS = {speaker.dialect: speaker.path for speaker in SPEAKERS}


def dialect_of(name: str) -> Dialect:
    return "anthropic" if name.startswith("claude_code") else "openai_responses"


def history_of(name: str) -> Exported:
    """The session as the agent's API has it."""
    return export_messages(repair(read_session(DATA / name).messages), dialect=dialect_of(name))


def fitting(folder: str, *, every: int) -> list[str]:
    """Each ``every``-th session of a folder whose messages have a size that suits the window."""
    if not DATA.is_dir():
        return []
    names = [f"{folder}/{path.name}" for path in sorted((DATA / folder).iterdir())]
    sizes = {name: sum(map(len, history_of(name).messages)) for name in names}
    return [name for name in names if LEAST_BYTES <= sizes[name] <= MOST_BYTES][::every]


class _Item(msgspec.Struct):
    role: str = ""
    type: str = "message"


def asks(items: Sequence[bytes]) -> list[int]:
    """Lengths of the history at which the agent asked the model: what it got stands next."""
    decoded = [msgspec.json.decode(item, type=_Item) for item in items]
    of_model = [
        item.role == "assistant" or item.type in ("reasoning", "function_call", "custom_tool_call")
        for item in decoded
    ]
    after = enumerate(pairwise(of_model), 1)
    return [length for length, (before, model) in after if model and not before] + [len(items)]


def body(exported: Exported, items: Sequence[bytes], *, dialect: Dialect) -> bytes:
    """The request with these items, streamed."""
    limit, listed = ("max_tokens", "messages") if dialect == "anthropic" else ("max_output_tokens", "input")
    fields = {"model": b'"m"', limit: b"%d" % OUTPUT, "stream": b"true"}
    if exported.system is not None:
        fields["instructions"] = exported.system
    fields[listed] = b"[" + b",".join(items) + b"]"
    members = (b'"%b":%b' % (field.encode(), value) for field, value in fields.items())
    return b"{" + b",".join(members) + b"}"


async def sent(provider: FakeProvider, bodies: Sequence[bytes], *, path: str, store: SqliteStore) -> set[str]:
    """Send the requests one after the other; the conversations that they were taken for."""
    names: set[str] = set()
    async with (
        gateway_before(provider, window=WINDOW, store=store, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=path)
        for each in bodies:
            status, headers, told = await client.post(each)
            assert status == 200, told
            assert b"Understood." in told
            names.add(headers["x-autocompact-conversation"])
    return names


@pytest.mark.parametrize("name", some([*fitting("claude_code", every=3), *fitting("codex", every=1)], gate=8))
async def test_a_recorded_session_is_kept_within_the_window_and_its_log_is_what_was_sent(
    name: str, tmp_path: Path
) -> None:
    dialect = dialect_of(name)
    exported = history_of(name)
    places = asks(exported.messages)
    places = places[:: -(-len(places) // REQUESTS)]
    bodies = [body(exported, exported.messages[:place], dialect=dialect) for place in places]
    half = len(bodies) // 2
    async with FakeProvider("Understood.", window=WINDOW) as provider:
        names: set[str] = set()
        for part in (bodies[:half], bodies[half:]):
            names |= await sent(provider, part, path=PATHS[dialect], store=SqliteStore(tmp_path / "gw.db"))
    assert len(provider.requests) == len(bodies)  # each once: none was refused
    assert max(asked.tokens for asked in provider.requests) <= WINDOW - OUTPUT
    assert len(names) == 1
    async with SqliteStore(tmp_path / "gw.db") as store:
        (namespace,) = await store.namespaces()
        key = Key(conversation=names.pop(), namespace=namespace)
        log = await store.read(key)
        compactions = await store.compactions(key)
    assert [message.raw for message in log] == [without_marks(raw) for raw in exported.messages[: places[-1]]]
    assert len(compactions) >= 2
