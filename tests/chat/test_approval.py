"""What the agent does to files and with tools of others is asked first, and an answer may stand."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, ChatSession, events
from autocompact.chat.approvals import Approvals
from autocompact.chat.from_settings import chat_setup
from autocompact.chat.tools import Asked, Toolbox
from autocompact.chat.tools.files import file_tools
from autocompact.chat.tools.search import search_tool
from autocompact.chat.tools.workspace import Workspace
from autocompact.chat.views import Question
from autocompact.settings import Settings
from autocompact.testing import Answer, FakeProvider
from tests.chat.chatting import CHAT, call, chatting

pytestmark = pytest.mark.anyio


def answering(session: ChatSession, *, allow: bool, remember: bool = False) -> list[Question]:
    """Answer each question of the session; the questions are kept."""
    asked: list[Question] = []

    def hear(event: object) -> None:
        if isinstance(event, events.QuestionAsked):
            asked.append(event.question)
            asyncio.get_running_loop().call_soon(
                lambda: session.answer(event.question.id, allow=allow, remember=remember)
            )

    session.listen(hear)
    return asked


def collecting(session: ChatSession, most: int) -> tuple[list[Question], asyncio.Event]:
    """The questions as they come, and an event for the ``most``-th."""
    asked: list[Question] = []
    there = asyncio.Event()

    def hear(event: object) -> None:
        if isinstance(event, events.QuestionAsked):
            asked.append(event.question)
        if len(asked) == most:
            there.set()

    session.listen(hear)
    return asked, there


WRITES = Answer(calls=(call("write_file", "c1", path="new.txt", content="one\ntwo\n"),))
EDITS = Answer(calls=(call("edit_file", "c2", path="new.txt", old="two", new="three"),))


async def test_a_file_is_written_after_the_person_saw_the_change_and_said_yes(tmp_path: Path) -> None:
    async with (
        FakeProvider([WRITES, EDITS, "Done."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT, workspace=tmp_path)) as service,
    ):
        session = await service.create()
        asked = answering(session, allow=True)
        await session.send("Write.")
        await session.wait()

        assert (tmp_path / "new.txt").read_text() == "one\nthree\n"
        assert [(each.tool, each.text) for each in asked] == [
            ("write_file", "Make new.txt: 8 bytes."),
            ("edit_file", "Change new.txt: 10 bytes."),
        ]
        assert asked[0].diff.splitlines()[1:] == ["+one", "+two"]
        assert asked[1].diff.splitlines()[1:] == [" one", "-two", "+three"]
        assert Path(asked[0].folder).name == tmp_path.name


@pytest.mark.parametrize("remember", [False, True])
async def test_a_refusal_reaches_the_model_and_may_stand(tmp_path: Path, remember: bool) -> None:
    async with (
        FakeProvider([WRITES, "I see.", WRITES, "Again."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT, workspace=tmp_path)) as service,
    ):
        session = await service.create()
        asked = answering(session, allow=False, remember=remember)
        for _ in range(2):
            await session.send("Write.")
            await session.wait()

        assert not (tmp_path / "new.txt").exists()
        assert "the person said no" in str(provider.requests[-1].body)
        assert len(asked) == (1 if remember else 2)


async def test_a_standing_yes_holds_for_the_workspace_after_a_restart_and_for_no_other(
    tmp_path: Path,
) -> None:
    kept, one, two = tmp_path / "data" / "approvals.json", tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    config = ChatConfig(model=CHAT, workspace=one, approvals_file=kept)
    both = Answer(
        calls=(
            call("write_file", "c1", path="a.txt", content="a"),
            call("write_file", "c2", path="b.txt", content="b"),
        )
    )
    for folder, questions in ((one, 2), (one, 0), (two, 2)):
        async with (
            FakeProvider([both, "Done."]) as provider,
            chatting(tmp_path, provider, config=replace(config, workspace=folder)) as service,
        ):
            session = await service.create()
            asked, there = collecting(session, 2)
            await session.send("Write both.")
            if questions:
                await there.wait()
                session.answer(asked[0].id, allow=True, remember=True)  # it answers the other one, too
            await session.wait()
            assert len(asked) == questions
            assert (folder / "b.txt").read_text() == "b"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_a_file_that_was_changed_while_the_person_thought_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("one\ntwo\n")
    box = Toolbox(file_tools(Workspace(tmp_path)))

    async def slow(_: Asked) -> bool:
        (tmp_path / "new.txt").write_text("by somebody else\n")
        return True

    outcome = await box.call(call("edit_file", path="new.txt", old="two", new="three"), asking=slow)

    assert "changed meanwhile" in outcome.text
    assert (tmp_path / "new.txt").read_text() == "by somebody else\n"


@pytest.mark.parametrize(
    "name", [".env", "src/.env.local", ".ssh/id_rsa", ".git/config", "keys/server.PEM", ".Netrc"]
)
async def test_a_file_that_may_hold_secrets_is_asked_for_each_time(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("PASSWORD=tide\n")
    workspace = Workspace(tmp_path)
    box = Toolbox([*file_tools(workspace, asks=False), search_tool(workspace)])
    asked: list[Asked] = []

    async def no(about: Asked) -> bool:
        asked.append(about)
        return False

    for one in (call("read_file", path=name), call("edit_file", path=name, old="tide", new="x")):
        outcome = await box.call(one, asking=no)
        assert outcome.is_error
        assert "PASSWORD" not in outcome.text
    assert [about.subject for about in asked] == ["", ""]
    found = await box.call(call("search_files", pattern="PASSWORD"), asking=no)
    assert "Nothing matches" in found.text


def test_a_damaged_file_of_answers_asks_again(tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    file.write_text("{")

    assert Approvals(file, folder=tmp_path).decided("files are written") is None


def test_a_home_folder_is_no_workspace_unless_it_is_chosen() -> None:
    home = Path.home()
    for folder in (home, home.parent, Path(home.anchor)):
        assert chat_setup(Settings(), folder=folder).config.workspace is None
    assert chat_setup(Settings(), folder=home / "work").config.workspace == home / "work"
