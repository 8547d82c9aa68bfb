"""What ``settings.json`` means to the chat."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from autocompact.chat import ChatConfig, CommandRules
from autocompact.chat.from_settings import chat_setup
from autocompact.compaction.modes import MODES
from autocompact.history.paths import data_folder
from autocompact.memory.paths import memory_folder
from autocompact.settings import Settings, memory_folder_of
from autocompact.testing import FakeProvider
from tests.chat.chatting import CHAT, asked, chatting

pytestmark = pytest.mark.anyio


def settings(**sections: object) -> Settings:
    return msgspec.convert(sections, Settings)


def threshold(tokens: object, *, enabled: bool = True) -> dict[str, object]:
    return {"triggers": {"sessionTokens": {"threshold": tokens, "enabled": enabled}}}


def test_with_nothing_set_the_agent_works_in_the_folder_and_runs_no_commands(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()

    place = chat_setup(Settings(), folder=tmp_path)

    assert place.db is None
    assert place.config == ChatConfig(
        workspace=tmp_path,
        memory_folder=tmp_path / ".autocompact",
        approvals_file=data_folder() / "approvals.json",
    )
    assert not place.config.commands.enabled


def test_the_memory_folder_is_the_one_that_upkeep_works_in(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "src"
    folder.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()

    place = chat_setup(Settings(), folder=folder)

    assert place.config.workspace == folder
    assert place.config.memory_folder == tmp_path / "project" / ".autocompact"
    assert place.config.memory_folder == memory_folder_of(Settings(), folder=folder) == memory_folder(folder)


def test_each_setting_reaches_the_chat(tmp_path: Path) -> None:
    chat = {
        "model": "claude-haiku-4-5",
        "db": "chats.db",
        "workspace": "work",
        "memoryFolder": "memory",
        "skillFolders": ["skills"],
        "mcpFile": "mcp.json",
        "instructions": "Be brief.",
        "steps": 7,
        "commands": {"enabled": True, "allow": ["git status"], "deny": ["git push"], "seconds": 5},
    }
    given = settings(
        chat=chat,
        models={"window": 32_000, "windows": {"qwen": 8_000}, "reserve": 1_000},
        engine={"mode": "coding-agent"},
        compaction={"summaryModel": "offline", "preserveTokenMetrics": False, **threshold(9_000)},
    )

    place = chat_setup(given, folder=tmp_path, namespace="me")

    assert place.db == tmp_path / "chats.db"
    config = place.config
    assert config.mode.policy.tokens == 9_000
    assert config.mode.name == MODES["coding-agent"].name
    assert (config.model, config.summary_model, config.namespace) == ("claude-haiku-4-5", "offline", "me")
    assert (config.window, config.windows, config.reserve) == (32_000, {"qwen": 8_000}, 1_000)
    assert config.workspace == tmp_path / "work"
    assert (config.memory_folder, config.mcp_file) == (tmp_path / "memory", tmp_path / "mcp.json")
    assert not config.keep_metrics
    assert config.skill_folders == (tmp_path / "skills",)
    assert (config.instructions, config.steps) == ("Be brief.", 7)
    assert config.commands == CommandRules(
        enabled=True, allow=("git status",), deny=("git push",), seconds=5.0
    )


@pytest.mark.requirement("A12", "D1")
@pytest.mark.parametrize(
    "compaction, compacts",
    [
        (threshold(2_000), True),
        (threshold(0), False),
        (threshold("never"), False),
        (threshold(2_000, enabled=False), False),
        ({"enabled": False, **threshold(2_000)}, False),
    ],
)
async def test_a_threshold_compacts_a_chat_and_0_or_off_never_does(
    tmp_path: Path, compaction: dict[str, object], compacts: bool
) -> None:
    given = settings(
        chat={"model": CHAT}, compaction={"summaryModel": "offline", **compaction}, models={"window": 200_000}
    )
    place = chat_setup(given, folder=tmp_path)
    async with (
        FakeProvider("Noted. " + "word " * 300) as provider,
        chatting(tmp_path, provider, config=place.config) as service,
    ):
        session = await service.create()
        for number in range(8):
            await asked(session, f"Fact {number}: the berth of boat {number} is B{number * 7}.")
        records, meter = await session.compactions(), session.meter()

    assert any(record.status == "active" for record in records) == compacts
    assert (meter.threshold > 0) == compacts
