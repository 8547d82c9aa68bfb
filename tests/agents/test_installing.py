"""`autocompact install`, `uninstall` and `status`, and the marketplace in this repository."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from autocompact.agents.claude_plugin import marketplace_files
from autocompact.agents.hook_state import HookState, Receipt
from autocompact.agents.known import AGENTS
from tests.agents.events import hooked
from tests.cli.program import Program
from tests.house.source import ROOT

pytestmark = pytest.mark.requirement("F1")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "QWEN_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def program(capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(capfdbinary)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plugin(home: Path) -> Path:
    return home / ".claude" / "skills" / "autocompact"


def test_a_dry_run_shows_the_files_and_makes_none(home: Path, program: Program) -> None:
    done = program("install", "claude-code", "--dry-run")
    assert done.code == 0
    assert b"+++ " + str(plugin(home) / "hooks" / "hooks.json").encode() in done.out
    assert "Nothing was changed" in done.err
    assert files(home) == {}


def test_an_installation_touches_only_its_own_folder_and_a_second_one_nothing(
    home: Path, program: Program
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"model": "opus"}')
    shown = program("install", "claude-code", "--dry-run").out
    assert program("install", "claude-code").out == shown
    there = files(home)
    assert {name for name in there if "skills/autocompact/" not in name} == {".claude/settings.json"}
    again = program("install", "claude-code")
    assert (again.code, again.out, files(home)) == (0, b"", there)
    assert "Nothing to do" in again.err
    hooks = json.loads((plugin(home) / "hooks" / "hooks.json").read_bytes())["hooks"]
    assert set(hooks) == {"PreCompact", "PostCompact", "SessionStart", "UserPromptSubmit"}
    assert hooks["PreCompact"][0]["hooks"][0]["command"].endswith("2>/dev/null || true")


def test_after_an_uninstallation_everything_is_as_it_was(home: Path, program: Program) -> None:
    (home / ".claude" / "skills" / "mine").mkdir(parents=True)
    (home / ".claude" / "skills" / "mine" / "SKILL.md").write_text("mine")
    before = files(home / ".claude")
    program("install", "claude-code")
    dry = program("uninstall", "claude-code", "--dry-run")
    assert plugin(home).exists()
    assert program("uninstall", "claude-code").out == dry.out
    assert (files(home / ".claude"), plugin(home).exists()) == (before, False)
    assert "it is not installed" in program("uninstall", "claude-code").err


def test_what_the_user_changed_is_kept_in_a_backup_and_what_they_added_stays(
    home: Path, program: Program
) -> None:
    program("install", "claude-code")
    (plugin(home) / "commands" / "lost.md").write_text("my own words")
    (plugin(home) / "notes.md").write_text("mine")
    done = program("install", "claude-code")
    assert b"-my own words" in done.out
    (backup,) = (home / "data" / "autocompact" / "backups").iterdir()
    assert files(backup) == {"commands/lost.md": b"my own words"}
    program("uninstall", "claude-code")
    assert files(plugin(home)) == {"notes.md": b"mine"}


def test_without_an_archive_the_hooks_say_so(home: Path, program: Program) -> None:
    program("install", "claude-code", "--no-archive")
    assert b"--no-archive" in files(plugin(home))["hooks/hooks.json"]
    assert "installed  (" in program("status").out.decode()


def test_what_an_uninstallation_left_does_not_stand_in_the_way_of_the_next_installation(
    home: Path, program: Program
) -> None:
    program("install", "claude-code")
    (plugin(home) / "notes.md").write_text("mine")
    program("uninstall", "claude-code")
    assert program("install", "claude-code").code == 0
    assert {"notes.md", "hooks/hooks.json"} <= files(plugin(home)).keys()
    program("uninstall", "claude-code")
    assert files(plugin(home)) == {"notes.md": b"mine"}


def test_what_somebody_else_puts_into_a_folder_that_we_left_is_left_alone(
    home: Path, program: Program
) -> None:
    program("install", "claude-code")
    (plugin(home) / "notes.md").write_text("mine")
    program("uninstall", "claude-code")
    (plugin(home) / "SKILL.md").write_text("somebody else's")
    before = files(plugin(home))
    assert program("install", "claude-code").code == 2
    assert files(plugin(home)) == before


def test_a_folder_that_is_not_ours_is_left_alone(home: Path, program: Program) -> None:
    plugin(home).mkdir(parents=True)
    (plugin(home) / "SKILL.md").write_text("somebody else's")
    done = program("install", "claude-code")
    assert (done.code, "not from us" in done.err) == (2, True)
    assert program("uninstall", "claude-code").code == 2
    assert files(plugin(home)) == {"SKILL.md": b"somebody else's"}


@pytest.mark.parametrize("mark", ["{", "[]", '{"files": 3}', '{"files": {"../../settings.json": "x"}}'])
def test_a_damaged_mark_removes_nothing(home: Path, program: Program, mark: str) -> None:
    program("install", "claude-code")
    (home / ".claude" / "settings.json").write_text("{}")
    (plugin(home) / ".autocompact.json").write_text(mark)
    before = files(home)
    assert program("uninstall", "claude-code").code == 2
    assert files(home) == before


def test_status_says_what_is_installed_and_what_was_put_back(home: Path, program: Program) -> None:
    assert program("status").out.startswith(b"claude-code  not installed")
    assert [line.split()[0] for line in program("status").out.decode().splitlines()] == list(AGENTS)
    program("install", "claude-code")
    state = HookState(home / "data" / "autocompact" / "agents" / "claude-code" / "0a1b2c3d-e")
    state.add_receipt(
        Receipt(
            time="2026-11-22T12:00:00Z",
            trigger="auto",
            through_seq=90,
            stated=30,
            referenced=10,
            missing=60,
            missing_after=40,
            rules=3,
            rules_stated=1,
            rules_stated_after=3,
            contradictions=1,
            tokens=1_400,
            seconds=0.25,
        )
    )
    told = program("status", "claude-code").out.decode().splitlines()
    assert told[0].startswith("claude-code  installed  (")
    assert told[1] == (
        "2026-11-22T12:00:00Z  0a1b2c3d  auto: the summary states 30 of 100 (rules 1 of 3, 3 with ours), 60 missing, "
        "1 contradicted; 40 missing with the 1,400 tokens put beside it (0.25 s)"
    )
    (told_json,) = json.loads(program("status", "claude-code", "--json").out)["agents"]
    assert (told_json["agent"], told_json["has_plugin"], told_json["installed"]) == (
        "claude-code",
        True,
        True,
    )
    (made,) = told_json["compactions"]
    assert (made["session"][:8], made["missing"], made["missing_after"]) == ("0a1b2c3d", 60, 40)
    everyone = json.loads(program("status", "--json").out)["agents"]
    assert [each["agent"] for each in everyone] == list(AGENTS)
    assert [each["agent"] for each in everyone if each["installed"]] == ["claude-code"]
    (plugin(home) / "hooks" / "hooks.json").write_text("{}")
    assert "brings it up to date" in program("status").out.decode()
    (plugin(home) / ".autocompact.json").write_text("{")
    assert "is damaged" in program("status").out.decode()


def test_what_lies_beside_the_sessions_or_cannot_be_read_hides_nothing_else(
    home: Path, program: Program
) -> None:
    program("install", "claude-code")
    (home / ".codex" / "hooks.json").mkdir(parents=True)
    sessions = home / "data" / "autocompact" / "agents" / "claude-code"
    sessions.mkdir(parents=True)
    (sessions / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    done = program("status")
    told = done.out.decode().splitlines()
    assert (done.code, [line.split()[0] for line in told]) == (0, list(AGENTS))
    assert told[0].startswith("claude-code  installed  (")
    (codex,) = [line for line in told if line.startswith("codex")]
    assert "hooks.json' cannot be read: Is a directory" in codex


WITH_PLUGIN = [agent.name for agent in AGENTS.values() if not agent.instead]
WITHOUT = [agent.name for agent in AGENTS.values() if agent.instead]


@pytest.mark.parametrize("agent", WITH_PLUGIN)
def test_every_plugin_is_installed_once_and_leaves_nothing(home: Path, program: Program, agent: str) -> None:
    dry = program("install", agent, "--dry-run")
    assert (dry.code, files(home)) == (0, {})
    assert program("install", agent).out == dry.out
    there = files(home)
    assert there
    assert (program("install", agent).out, files(home)) == (b"", there)
    assert f"{agent:<12} installed  (" in program("status").out.decode()
    program("install", agent, "--no-archive")
    assert b"--no-archive" in b"".join(files(home).values())
    assert f"{agent:<12} installed  (" in program("status", agent).out.decode()
    program("uninstall", agent)
    assert {name for name in files(home) if not name.startswith("data/")} == set()
    assert "it is not installed" in program("uninstall", agent).err


@pytest.mark.parametrize("agent", WITH_PLUGIN)
def test_every_plugin_runs_this_installation_and_no_module_of_the_project(
    home: Path, program: Program, agent: str
) -> None:
    program("install", agent)
    ours = b"".join(content for name, content in files(home).items() if not name.startswith("data/"))
    assert sys.executable.encode() in ours
    assert ours.count(b"-m") == ours.count(b"-P")


def test_a_hook_does_not_run_what_lies_in_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in ("json", "msgspec", "autocompact", "traceback"):
        (project / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    hooked(tmp_path, {"hook_event_name": "Stop", "session_id": "s"}, cwd=project)
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not WITHOUT, reason="every agent has a plugin")
@pytest.mark.parametrize("agent", WITHOUT)
def test_where_nothing_useful_is_possible_it_says_what_works_instead(
    home: Path, program: Program, agent: str
) -> None:
    for command in ("install", "uninstall"):
        done = program(command, agent)
        assert (done.code, AGENTS[agent].instead in done.err) == (2, True)
    assert files(home) == {}


MINE = """\
{
    "hooks": {
        "SessionStart": [ {"hooks": [{"type": "command", "command": "mine"}]} ],
        "Stop": []
    }
}
"""


def test_hooks_of_the_user_stay_as_they_are(home: Path, program: Program) -> None:
    (home / ".codex").mkdir()
    file = home / ".codex" / "hooks.json"
    file.write_text(MINE)
    done = program("install", "codex")
    hooks = json.loads(file.read_text())["hooks"]
    assert set(hooks) == {"SessionStart", "Stop", "PreCompact"}
    assert [group["hooks"][0]["command"] == "mine" for group in hooks["SessionStart"]] == [True, False]
    assert [line for line in done.out.decode().splitlines()[2:] if line.startswith("-")] == [
        '-        "SessionStart": [ {"hooks": [{"type": "command", "command": "mine"}]} ],',
        '-        "Stop": []',
    ]
    assert program("install", "codex").out == b""
    program("uninstall", "codex")
    assert file.read_text() == MINE


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        "{}\n",
        '{"hooks": {"PreCompact": [ ]}}',
        '{\r\n\t"hooks": {\r\n\t\t"PreCompact": [ ]\r\n\t}\r\n}\r\n',
    ],
)
def test_a_file_of_hooks_is_to_the_byte_what_it_was(home: Path, program: Program, content: str) -> None:
    (home / "dotfiles").mkdir()
    (home / ".codex").mkdir()
    kept = home / "dotfiles" / "hooks.json"
    kept.write_bytes(content.encode())
    kept.chmod(0o640)
    file = home / ".codex" / "hooks.json"
    file.symlink_to(kept)
    program("install", "codex")
    program("install", "codex", "--no-archive")
    assert json.loads(file.read_bytes())["hooks"]["SessionStart"]
    program("uninstall", "codex")
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (content.encode(), 0o640)
    assert file.is_symlink()


def test_what_the_user_added_to_a_file_of_hooks_meanwhile_stays(home: Path, program: Program) -> None:
    (home / ".codex").mkdir()
    file = home / ".codex" / "hooks.json"
    file.write_text(MINE)
    program("install", "codex")
    file.write_text(file.read_text().replace('"Stop": []', '"Stop": [{"hooks": []}]'))
    program("uninstall", "codex")
    assert file.read_text() == MINE.replace('"Stop": []', '"Stop": [{"hooks": []}]')


def test_a_file_of_hooks_that_is_read_only_is_left_alone(home: Path, program: Program) -> None:
    (home / ".codex").mkdir()
    file = home / ".codex" / "hooks.json"
    file.write_text(MINE)
    file.chmod(0o400)
    done = program("install", "codex")
    assert (done.code, "read-only" in done.err, file.read_text()) == (2, True, MINE)


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"hooks": []}', '{"hooks": {"SessionStart": {}}}', "\ufeff{}"]
)
def test_a_file_of_hooks_in_another_form_is_left_alone(home: Path, program: Program, content: str) -> None:
    (home / ".codex").mkdir()
    file = home / ".codex" / "hooks.json"
    file.write_text(content)
    done = program("install", "codex")
    assert (done.code, "hooks.json" in done.err) == (2, True)
    assert file.read_text() == content


def test_plugins_of_others_beside_ours_stay(home: Path, program: Program) -> None:
    folder = home / ".config" / "opencode" / "plugin"
    folder.mkdir(parents=True)
    (folder / "theirs.js").write_text("export const Theirs = async () => ({});")
    program("install", "opencode")
    program("uninstall", "opencode")
    assert list(files(folder)) == ["theirs.js"]
    (folder / "autocompact.js").write_text("mine")
    done = program("install", "opencode")
    assert (done.code, "not from us" in done.err) == (2, True)
    assert files(folder)["autocompact.js"] == b"mine"


def test_an_agent_that_is_not_known_is_named_with_those_that_are(program: Program) -> None:
    done = program("install", "emacs")
    assert (done.code, "'claude-code'" in done.err) == (2, True)


def test_the_marketplace_of_the_repository_is_the_plugin() -> None:
    for path, text in marketplace_files(version=version("autocompact")).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, "write it anew: make docs"
