"""What a compactor is made of: refused where it is handed in, with a sentence that says what was meant."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from autocompact import MODES, AutocompactError, Compactor, MemoryStore, Message, SqliteStore
from autocompact.core.messages import Text
from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.gateway.config import Config
from tests.engine.support import TalkingModel

pytestmark = pytest.mark.anyio


def refused(*, store: Any = None, **given: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        Compactor(MemoryStore() if store is None else store, **given)
    assert isinstance(error.value, AutocompactError)
    return str(error.value)


@pytest.mark.parametrize("window", [0, -1, True, 1.5, math.nan, "8000"])
async def test_a_window_is_what_was_said_or_refused(window: object) -> None:
    assert refused(window=window).startswith(
        f"window is {window!r}: give a whole number of tokens, 1 or more"
    )


async def test_a_window_of_a_model_is_checked_as_well() -> None:
    model = TalkingModel()
    model.window = 0  # pyright: ignore[reportAttributeAccessIssue] - models may say how much they take
    assert refused(model=model) == (
        "the window of the model 'talking-model' is 0: give a whole number of tokens, 1 or more"
    )


@pytest.mark.parametrize(
    "store, said",
    [
        (":memory:", "store is ':memory:': give a store, e.g. MemoryStore()"),
        ("chats.db", "store is 'chats.db': give a store, e.g. SqliteStore('chats.db')"),
        (Path("chats.db"), "give a store, e.g. SqliteStore('chats.db')"),
        (MemoryStore, "store is the class MemoryStore: give a store, e.g. MemoryStore(...)"),
        ({}, "store is a dict: give a store, e.g. SqliteStore('chats.db')"),
        (0, "store is 0: give a store"),
    ],
)
async def test_what_is_no_store_is_told_how_to_make_one(store: object, said: str) -> None:
    assert said in refused(store=store)


@pytest.mark.parametrize("mode", ["default", "no such mode", None, 5])
async def test_a_mode_by_name_is_told_where_modes_are(mode: object) -> None:
    said = refused(mode=mode)
    assert said.startswith(f"mode is {mode!r}: give a Mode, e.g. MODES['default']")
    assert all(name in said for name in MODES)


async def test_a_memory_folder_is_a_path() -> None:
    assert refused(memory_folder=5) == "memory_folder is 5: give the path of a folder"


async def test_messages_of_a_dialect_that_there_is_not_are_refused() -> None:
    async with Compactor(MemoryStore()) as compactor:
        conversation = await compactor.open("c")
        await conversation.say("Hello")
        dialect: Any = "openai"
        with pytest.raises(InvalidInput, match="dialect is 'openai': choose one of openai_chat"):
            conversation.messages(dialect=dialect)


@pytest.mark.parametrize("name", ["model", "summary_model"])
@pytest.mark.parametrize(
    "model, said",
    [
        ("gpt-5", "is 'gpt-5': give a model, e.g. OpenAICompatible('gpt-5'), or a function"),
        (TalkingModel, "is the class TalkingModel: give a model, e.g. TalkingModel(...)"),
        (object(), "is a object (it lacks complete, count, aclose): give a model"),
    ],
)
async def test_what_is_no_model_is_told_what_one_is(name: str, model: object, said: str) -> None:
    assert refused(**{name: model}).startswith(f"{name} {said}")


async def test_a_model_without_a_name_is_told_so() -> None:
    model = TalkingModel()
    model.name = None  # pyright: ignore[reportAttributeAccessIssue] - that is what this test is about
    assert "(it lacks name)" in refused(model=model)


@pytest.mark.parametrize("given", [{"counter": 5}, {"clock": 5}, {"windows": [1]}, {"reserve": -1}])
async def test_every_other_part_is_checked_too(given: dict[str, object]) -> None:
    (name,) = given
    assert refused(**given).startswith(f"{name} ")


async def test_a_memory_folder_may_be_text(tmp_path: Path) -> None:
    assert Compactor(MemoryStore(), memory_folder=str(tmp_path)).memory_folder == tmp_path


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("name", ["", "  ", None, 5, "a\ud800"])
async def test_a_conversation_has_a_name_that_every_store_can_hold(
    tmp_path: Path, kind: str, name: Any
) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "chats.db")
    async with Compactor(store) as shared:
        with pytest.raises(InvalidInput, match=r"^the name of a conversation "):
            await shared.open(name)
        with pytest.raises(InvalidInput, match=r"^the name of a namespace "):
            await shared.open("task", namespace=name)
        assert await store.conversations("default") == ()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_closed_compactor_says_so_whatever_is_asked(tmp_path: Path, kind: str) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "chats.db")
    async with Compactor(store, window=8_000) as shared:
        conversation = await shared.open("task")
        await conversation.say("Hello.")
    with pytest.raises(InvalidInput, match="was closed: make a new one"):
        await shared.open("other")
    with pytest.raises(InvalidInput, match="was closed"):
        await conversation.append(Message(seq=0, role="user", parts=(Text(text="Still there?"),)))
    with pytest.raises(InvalidInput, match="was closed"):
        await conversation.ready()
    result = await conversation.compact()
    assert not result.success
    assert "was closed" in result.message
    await shared.aclose()  # twice is once


@pytest.mark.parametrize("fails", ["store", "model"])
async def test_what_cannot_be_closed_keeps_nothing_else_open(fails: str) -> None:
    """A store that failed left the connections of the models open."""
    closed: list[str] = []

    async def close(name: str) -> None:
        closed.append(name)
        if name == fails:
            raise StoreUnavailable("the disk is gone")

    class Store(MemoryStore):
        async def aclose(self) -> None:
            await close("store")

    class Model(TalkingModel):
        async def aclose(self) -> None:
            await close("model")

    with pytest.raises(StoreUnavailable):
        await Compactor(Store(), model=Model(), summary_model=Model(), window=8_000).aclose()
    assert closed == ["store", "model", "model"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that exists and cannot be read")
async def test_decisions_that_cannot_be_read_stop_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "DECISIONS.md").symlink_to("/proc/self/mem")
    shared = Compactor(MemoryStore(), model=TalkingModel(), memory_folder=tmp_path)
    summariser = shared.summariser(None)
    assert summariser is not None
    assert shared.informed(summariser).decisions == ""
    assert "DECISIONS.md could not be read" in caplog.messages


@pytest.mark.parametrize("window", [0, -5, True])
def test_a_gateway_takes_no_window_that_is_none(window: int) -> None:
    with pytest.raises(InvalidInput, match=r"^window is"):
        Config(upstreams={"openai": "http://127.0.0.1:9"}, namespace_key=b"k" * 16, window=window)


async def test_a_function_counts_tokens() -> None:
    def words(text: str) -> int:
        return len(text.split())

    async with Compactor(MemoryStore(), counter=words, window=8_000) as compactor:
        conversation = await compactor.open("c")
        await conversation.say("one two three " * 500)
        assert 1_500 <= conversation.usage().used < 1_700


@pytest.mark.parametrize("answer", ["7", -1, 1.5, None])
async def test_a_function_that_does_not_return_a_count_is_named(answer: Any) -> None:
    def words(text: str) -> Any:
        return answer

    async with Compactor(MemoryStore(), counter=words) as compactor:
        conversation = await compactor.open("c")
        with pytest.raises(
            InvalidInput, match=r"the counter 'function:words' returned .*: return the number"
        ):
            await conversation.say("Hello")
