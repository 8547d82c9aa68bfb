"""A conversation is open before the packages of its model are loaded, and only those that it needs are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from autocompact.runtime.extras import install_command

OPENING = """
import asyncio, sys
from pathlib import Path
from autocompact.chat import ChatConfig, opened
from autocompact.errors import InvalidInput

KEYS = {"OPENAI_API_KEY": "sk-of-the-tests", "ANTHROPIC_API_KEY": "sk-of-the-tests"}

async def main(path, model):
    async with opened(Path(path), config=ChatConfig(model=model), environ=KEYS) as service:
        try:
            session = await service.create()
        except InvalidInput as error:
            print(error)
            return
        print(session.model)
        responder = session.responder
        await asyncio.wrap_future(responder._loaded)
        print(*sorted({"anthropic", "openai", "pydantic_ai"} & sys.modules.keys()))
"""


def printed(program: str) -> str:
    """What a program prints, in a process without keys."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": "src"},
        timeout=120,
    )
    assert not done.stderr
    return done.stdout


def opening(folder: Path, model: str, *, before: str = "") -> list[str]:
    """What a program prints that opens a conversation with ``model``."""
    program = f"{OPENING}\n{before}\nasyncio.run(main({str(folder / 'chats.db')!r}, {model!r}))"
    return printed(program).splitlines()


def test_only_the_packages_of_the_model_are_loaded(tmp_path: Path) -> None:
    assert opening(tmp_path, "openai:gpt-5-mini") == ["openai:gpt-5-mini", "openai pydantic_ai"]
    assert opening(tmp_path, "anthropic:claude-haiku-4-5") == [
        "anthropic:claude-haiku-4-5",
        "anthropic pydantic_ai",
    ]


def test_models_and_mcp_servers_that_are_loaded_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    program = """
import asyncio, sys
from pathlib import Path
from autocompact.chat import ChatConfig, opened

KEYS = {"OPENAI_API_KEY": "sk-of-the-tests", "ANTHROPIC_API_KEY": "sk-of-the-tests"}

async def main(folder):
    config = ChatConfig(model="openai:gpt-5-mini", mcp_file=folder / "mcp.json")
    async with opened(folder / "chats.db", config=config, environ=KEYS) as service:
        engines = [service._shared.engines.get(name) for name in ("openai:gpt-5-mini", "anthropic:claude-haiku-4-5")]
        print(await service._shared.toolkit.served_tools())
        for engine in engines:
            await asyncio.wrap_future(engine.responder._loaded)

asyncio.run(main(Path(sys.argv[1])))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "src"},
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("()\n", 0), done.stderr


def test_what_is_missing_is_told_at_once_with_what_to_install(tmp_path: Path) -> None:
    (told,) = opening(tmp_path, "openai:gpt-5-mini", before="sys.modules['pydantic_ai'] = None")

    assert install_command("chat") in told


def test_a_program_that_is_left_at_once_does_not_wait_for_packages(tmp_path: Path) -> None:
    """Were it to wait, the module that never ends loading would hold it."""
    (tmp_path / "openai.py").write_text("import threading; threading.Event().wait()")
    before = f"sys.path.insert(0, {str(tmp_path)!r}); main = leave"
    program = """
async def leave(path, model):
    async with opened(Path(path), config=ChatConfig(model=model), environ=KEYS) as service:
        print((await service.create()).model)
"""
    assert opening(tmp_path, "openai:gpt-5-mini", before=program + before) == ["openai:gpt-5-mini"]


def test_a_model_that_is_loaded_after_its_end_is_closed() -> None:
    program = """
import asyncio, threading
from autocompact.chat.model_choices import access, choice_of
from autocompact.chat.lazy_responder import LazyResponder
from autocompact.chat.loading import LOADING

async def leave():
    with LOADING:
        responder = LazyResponder(
            access(choice_of("openai:gpt-5-mini"), environ={"OPENAI_API_KEY": "sk-of-the-tests"}),
            extra={},
            silence=1,
        )
        await responder.aclose()

made = []

def keep(frame, event, _):
    if event == "return" and frame.f_code.co_qualname == "RemoteResponder.__init__":
        made.append(frame.f_locals["self"])

threading.setprofile(keep)
asyncio.run(leave())
for thread in threading.enumerate():
    if thread.name == "autocompact-load":
        thread.join()
print([each._model.client.is_closed() for each in made])
"""
    assert printed(program) == "[True]\n"
