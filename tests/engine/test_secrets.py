"""Secrets in a conversation of the library: what a model's summary repeats, what is archived, what memory answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact import Compactor
from autocompact.core.messages import Message, ToolCall, ToolResult
from autocompact.core.tokens import Estimator
from autocompact.history.recall import Recall
from autocompact.ports import ModelReply
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndex
from tests.engine.support import TalkingModel, work

pytestmark = pytest.mark.anyio

ROWS = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + f"C7abcdEFGH01{row:02}" for row in range(12)]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *ROWS, "-----END PRIVATE KEY-----"])
TOKEN = "ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A"


def leaked(told: str) -> list[str]:
    return [secret for secret in (*ROWS, TOKEN) if secret in told]


@pytest.mark.requirement("E1")
async def test_a_secret_that_a_model_repeats_is_in_no_record_no_archive_and_no_answer_of_memory(
    tmp_path: Path,
) -> None:
    quoted = ModelReply(
        text=f"<summary>Deploy with {TOKEN}. The key:\n{KEY}\nwas read.</summary>", stop_reason="stop"
    )
    store = SqliteStore(tmp_path / "a.db")
    async with Compactor(
        store,
        model=TalkingModel(reply=lambda _: quoted),
        window=8_000,
        counter=Estimator(),
        memory_folder=tmp_path / "memory",
    ) as shared:
        conversation = await shared.open("deploy")
        await conversation.say(f"Deploy the pump with {TOKEN}.")
        call = ToolCall(id="k", name="bash", arguments=f'{{"command": "GH={TOKEN} cat deploy.key"}}')
        await conversation.append(Message(seq=0, role="assistant", parts=(call,)))
        await conversation.append(Message(seq=0, role="tool", parts=(ToolResult(call_id="k", text=KEY),)))
        await conversation.records.note(f"always use {TOKEN}")
        await work(conversation, 15, start=1)

        result = await conversation.compact(f"the key {TOKEN}")

        assert result.success, result.message
        records = await conversation.records.all()
        recall = Recall(store, SqliteIndex(store), key=conversation.internals.replica.key, across=True)
        answers = [
            await recall.call("memory_search", {"query": "deploy key", "scope": "conversation"}),
            *[await recall.call("memory_expand", {"ref": f"m{seq}"}) for seq in (1, 2, 3)],
        ]
        revealing = Recall(store, SqliteIndex(store), key=conversation.internals.replica.key, reveal=True)
        original = await revealing.expand("m3")
    (archive,) = (tmp_path / "memory").glob("CONTEXT_ARCHIVE.md")

    assert "[secret: " in result.summary
    assert leaked(repr(records)) == []
    assert leaked(archive.read_text("utf-8")) == []
    assert leaked("\n".join(answers)) == []
    assert "[secret: private key]" in answers[3]
    assert KEY in original.text


PASSWORD = "Qv7" + "xL2mZr9Tw4Kb8N"


async def test_what_a_compaction_before_a_restart_learned_as_a_secret_is_one_afterwards_where_it_stands_alone(
    tmp_path: Path,
) -> None:
    """Only the first message says what the value is; a process that never read it must not tell it."""
    path = tmp_path / "a.db"
    async with Compactor(SqliteStore(path), window=8_000, counter=Estimator()) as before:
        conversation = await before.open("deploy")
        await conversation.say(f"The password of the pump is PUMP_PASSWORD={PASSWORD}, use it.")
        await work(conversation, 15, start=1)
        first = await conversation.compact()
    assert first.success, first.message

    async with Compactor(SqliteStore(path), window=8_000, counter=Estimator()) as after:
        conversation = await after.open("deploy")
        call = ToolCall(id="k", name="bash", arguments=f'{{"command": "pumpctl open mira {PASSWORD} --all"}}')
        await conversation.append(Message(seq=0, role="assistant", parts=(call,)))
        opened = ToolResult(call_id="k", text=f"opened the valve of mira with {PASSWORD} at once")
        await conversation.append(Message(seq=0, role="tool", parts=(opened,)))
        await conversation.say(f"Now with mira {PASSWORD} once more.")
        await work(conversation, 15, start=20)
        second = await conversation.compact()
        records = await conversation.records.all()
        replica = conversation.internals.replica
        index = SqliteIndex(SqliteStore(path))
        recall = Recall(
            replica.shared.store, index, key=replica.key, across=True, known=replica.transcript.secrets
        )
        found = await recall.call("memory_search", {"query": "opened the valve of mira"})

    assert "opened the valve" in found
    assert PASSWORD not in found
    assert second.success, second.message
    assert "pumpctl open mira" in repr(records)
    assert PASSWORD not in repr(records)
