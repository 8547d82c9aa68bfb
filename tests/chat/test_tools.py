from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.chat import CommandRules
from autocompact.chat.tools import Asked, Toolbox, matcher
from autocompact.chat.tools.box import ToolOutcome
from autocompact.chat.tools.command import command_tool, verdict
from autocompact.chat.tools.files import file_tools
from autocompact.chat.tools.matcher import MEMORY
from autocompact.chat.tools.sandbox import sandboxed
from autocompact.chat.tools.search import search_tool
from autocompact.chat.tools.skills import find_skills, skill_tool
from autocompact.chat.tools.workspace import Workspace
from tests.chat.chatting import call

pytestmark = pytest.mark.anyio


async def yes(_asked: Asked) -> bool:
    return True


async def no(_asked: Asked) -> bool:
    return False


async def used(box: Toolbox, tool: str, /, **arguments: object) -> ToolOutcome:
    return await box.call(call(tool, **arguments), asking=yes)


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("import os\n\nPORT = 8080\n")
    (tmp_path / "notes.md").write_text("# Notes\nport 8080\r\n")
    (tmp_path / "data.bin").write_bytes(b"\0\1\2")
    workspace = Workspace(tmp_path)
    return Toolbox([*file_tools(workspace), search_tool(workspace)])


async def test_a_folder_is_listed_with_sizes_and_files_are_found_by_pattern(box: Toolbox) -> None:
    listed = await used(box, "list_files")
    found = await used(box, "list_files", pattern="**/*.py")

    assert listed.text.splitlines() == ["data.bin (3 bytes)", "notes.md (19 bytes)", "src/"]
    assert found.text == "src/app.py (23 bytes)"


async def test_a_file_is_read_with_line_numbers_page_by_page(box: Toolbox) -> None:
    first = await used(box, "read_file", path="src/app.py", lines=1)
    rest = await used(box, "read_file", path="src/app.py", from_line=2)

    assert first.text == "     1\timport os\n[lines 1 to 1 of 3; from_line=2 goes on]"
    assert rest.text == "     2\t\n     3\tPORT = 8080"


async def test_a_page_has_a_size_and_a_long_line_is_cut(tmp_path: Path, box: Toolbox) -> None:
    (tmp_path / "wide.txt").write_text(
        "x" * 5_000 + "\n" + "y" * 1_990 + "\n" * 2 + ("z" * 1_990 + "\n") * 60
    )

    read = await used(box, "read_file", path="wide.txt")

    assert "[line of 5,000 characters]" in read.text.splitlines()[0]
    assert len(read.text) < 65_000
    assert "goes on]" in read.text


async def test_what_is_no_text_or_not_there_is_said(box: Toolbox) -> None:
    data = await used(box, "read_file", path="data.bin")
    gone = await used(box, "read_file", path="gone.txt")
    late = await used(box, "read_file", path="notes.md", from_line=99)

    assert (data.is_error, gone.is_error, late.is_error) == (True, True, True)
    assert "is no text" in data.text
    assert "list_files shows what there is" in gone.text
    assert "has 2 lines" in late.text


async def test_an_edit_changes_the_one_place_and_keeps_line_ends(tmp_path: Path, box: Toolbox) -> None:
    done = await used(box, "edit_file", path="notes.md", old="port 8080\n", new="port 9090\n")
    twice = await used(box, "edit_file", path="src/app.py", old="o", new="0")
    missing = await used(box, "edit_file", path="src/app.py", old="nowhere", new="x")

    assert done.text == "Changed notes.md at line 2."
    assert (tmp_path / "notes.md").read_bytes() == b"# Notes\nport 9090\r\n"
    assert "it must be there once: give more" in twice.text
    assert "0 times" in missing.text
    assert (tmp_path / "src" / "app.py").read_text() == "import os\n\nPORT = 8080\n"


async def test_a_search_gives_path_line_and_text(box: Toolbox) -> None:
    everywhere = await used(box, "search_files", pattern="port .*80", ignore_case=True)
    python = await used(box, "search_files", pattern=r"PORT = \d+", glob="*.py")
    wrong = await used(box, "search_files", pattern="(")

    assert everywhere.text.splitlines() == ["notes.md:2: port 8080", "src/app.py:3: PORT = 8080"]
    assert python.text == "src/app.py:3: PORT = 8080"
    assert "no regular expression" in wrong.text


async def test_wrong_arguments_and_unknown_tools_are_answered_not_raised(box: Toolbox) -> None:
    missing = await used(box, "read_file")
    unknown = await used(box, "format_disk")
    broken = await box.call(call("read_file").__class__(id="1", name="read_file", arguments="{"), asking=yes)

    assert "cannot be called like that" in missing.text
    assert "There are: list_files, read_file" in unknown.text
    assert "no JSON object" in broken.text
    assert all(answer.is_error for answer in (missing, unknown, broken))


@pytest.mark.parametrize(
    "command, wanted",
    [
        ("git status", "run"),
        ("git status src", "run"),
        ("git status --short", "ask"),
        ("git log --oneline -n5", "run"),
        ("git log -n 5 -- src", "run"),
        ("git log --output=x", "ask"),
        ("git log --oneline --ext-diff", "ask"),
        ("cat src/app.py", "run"),
        ("cat /proc/self/environ", "ask"),
        ("cat ../x", "ask"),
        ("cat .env", "ask"),
        ("cat src/link/passwd", "ask"),
        ("cat .git/config", "ask"),
        ("make test SHELL=./x", "ask"),
        ("env ls", "ask"),
        ("git push", "refuse"),
        ("/usr/bin/git push", "refuse"),
        ("true; git push", "refuse"),
        ("true && (git push)", "refuse"),
        ("echo $(git push)", "refuse"),
        ("git status; id", "ask"),
        ("git status > /etc/passwd", "ask"),
        ("git status `id`", "ask"),
        ("git status\nid", "ask"),
        ("make test", "run"),
        ("make", "ask"),
        ("./git status", "ask"),
        ("/usr/bin/git status", "ask"),
        ("git status && make test", "ask"),
        ("git -c alias.x=!id status", "ask"),
        ("GIT_SSH=./x git status", "ask"),
        ("env git status", "ask"),
        ("git status\rid", "ask"),
        ("git status $IFS", "ask"),
        ("git -c a=b push", "refuse"),
        ("git --git-dir x push origin", "refuse"),
        ("A=b git push", "refuse"),
        ("env A=b git push", "refuse"),
        ("env -S 'git push'", "refuse"),
        ("sudo -n timeout 5 git push", "refuse"),
        ("sudo -u me git push", "refuse"),
        ("timeout --signal KILL 5 git push", "refuse"),
        ("busybox rm x", "refuse"),
        ("find . -name x -delete", "refuse"),
        ("find . -exec rm {} +", "refuse"),
        ("find . -name rm", "ask"),
        ("sudo find . -execdir git push ;", "refuse"),
        ("echo rm", "ask"),
        ("sh -c 'git push'", "refuse"),
        ('bash -c "true; git push"', "refuse"),
        ("eval 'git push'", "refuse"),
        ("true\ngit push", "refuse"),
        ("g'i't pu\"sh\"", "refuse"),
        ("{ git push; }", "refuse"),
        ("git commit -m 'git push works'", "ask"),
        ("echo 'git push' | sh", "refuse"),
        ("printf 'git push' | /bin/bash -s", "refuse"),
        ("git \\\npush", "refuse"),
        ("if true; then git push; fi", "refuse"),
        ("while ! git push; do :; done", "refuse"),
        ("trap 'git push' EXIT", "refuse"),
        ("runuser -u me git push", "refuse"),
        ("awk 'BEGIN{system(\"rm x\")}'", "refuse"),
        ("make test deploy", "ask"),
        ("python tools/x.py", "run"),
        ("python tools/x.py src", "ask"),
        ("sed -n src", "ask"),
        ("sed -n 'w ../x' src", "ask"),
        ("tar xfI src src", "ask"),
        ("git show HEAD:.env", "ask"),
        ("gitx status", "ask"),
        ("git 'status", "ask"),
    ],
)
def test_rules_for_commands(tmp_path: Path, command: str, wanted: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "link").symlink_to("/etc")
    allow = (
        "git status",
        "make test",
        "git log --oneline -n*",
        "cat",
        "env",
        "python tools/*",
        "sed -n *",
        "tar",
        "git show",
    )
    rules = CommandRules(enabled=True, allow=allow, deny=("git push", "rm"))

    assert verdict(command, rules, folder=tmp_path) == wanted


async def test_a_command_runs_in_the_workspace_without_the_keys_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("")
    box = Toolbox([command_tool(tmp_path, CommandRules(enabled=True))])

    answer = await used(box, "run_command", command="ls; exit 3")
    environment = await used(box, "run_command", command="env")

    assert answer.text == "Exit code 3.\nhere.txt"
    names = {line.partition("=")[0] for line in environment.text.splitlines()}
    assert "PATH" in names
    assert not any("KEY" in name or "TOKEN" in name for name in names)


async def test_a_command_that_the_person_forbids_does_not_run(tmp_path: Path) -> None:
    box = Toolbox([command_tool(tmp_path, CommandRules(enabled=True))])

    answer = await box.call(call("run_command", command="touch made"), asking=no)

    assert answer.is_error
    assert "the person said no" in answer.text
    assert not (tmp_path / "made").exists()


async def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    rules = CommandRules(enabled=True, seconds=0.3, sandbox=False)
    box = Toolbox([command_tool(tmp_path, rules)])

    answer = await used(box, "run_command", command="sleep 600 & echo $!; sleep 600")

    assert "stopped after 0.3 seconds" in answer.text
    child = int(answer.text.split()[-1])
    await asyncio.to_thread(_wait_until_gone, child)


async def test_a_cancelled_command_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    box = Toolbox([command_tool(tmp_path, CommandRules(enabled=True, sandbox=False))])
    running = asyncio.create_task(used(box, "run_command", command="echo $$ > pid; sleep 600"))
    pid = await asyncio.to_thread((tmp_path / "pid").read_text)
    running.cancel()
    await asyncio.wait([running])

    await asyncio.to_thread(_wait_until_gone, int(pid))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
async def test_under_bubblewrap_a_command_writes_the_workspace_alone_and_ends_with_all_it_started(
    tmp_path: Path,
) -> None:
    workspace, beside = tmp_path / "work", tmp_path / "beside"
    workspace.mkdir()
    beside.mkdir()
    rules = CommandRules(enabled=True, seconds=20)
    asked: list[Asked] = []

    async def asking(about: Asked) -> bool:
        asked.append(about)
        return True

    box = Toolbox([command_tool(workspace, rules)])
    line = f"touch here; touch {beside}/there; touch /usr/there; sleep 600 & echo done"
    answer = await box.call(call("run_command", command=line), asking=asking)

    assert asked[0].note == (
        "It runs under bubblewrap: it can write this folder alone, "
        "and does not see ~/.ssh and other usual places of keys."
    )
    assert answer.text.startswith("Exit code 0.")
    assert answer.text.endswith("done")
    assert (workspace / "here").exists()
    assert list(beside.iterdir()) == []
    assert "/usr/there': Read-only file system" in answer.text


def test_under_bubblewrap_what_holds_keys_is_covered(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".netrc").write_text("")
    words = sandboxed("bwrap", "ls", folder=tmp_path / "work", home=tmp_path)
    line = " ".join(words)

    assert f"--tmpfs {tmp_path / '.ssh'}" in line
    assert f"--ro-bind /dev/null {tmp_path / '.netrc'}" in line
    assert ".aws" not in line
    assert words[-3:] == ["/bin/sh", "-c", "ls"]


def test_under_bubblewrap_keys_in_the_workspace_are_covered_and_a_workspace_among_keys_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / ".ssh" / "work").mkdir(parents=True)
    keys = str(tmp_path / ".ssh")

    def order(folder: Path) -> tuple[int, int]:
        words = sandboxed("bwrap", "ls", folder=folder, home=tmp_path)
        return words.index(keys), words.index("--bind")

    covered, bound = order(tmp_path)
    assert covered > bound
    covered, bound = order(tmp_path / ".ssh" / "work")
    assert covered < bound


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_under_bubblewrap_a_home_folder_as_workspace_shows_no_keys(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("KEY")
    words = sandboxed("bwrap", "cat .ssh/id; touch here", folder=tmp_path, home=tmp_path)
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert "KEY" not in done.stdout
    assert (tmp_path / "here").exists()


async def test_without_bubblewrap_the_person_is_told_so(tmp_path: Path) -> None:
    asked: list[Asked] = []

    async def asking(about: Asked) -> bool:
        asked.append(about)
        return False

    box = Toolbox([command_tool(tmp_path, CommandRules(enabled=True, sandbox=False))])
    await box.call(call("run_command", command="true"), asking=asking)

    assert asked[0].note == "It runs without a sandbox, with all your rights: the settings say so."


def _wait_until_gone(pid: int) -> None:
    """Returns once the process is no more, or only waits to be fetched."""
    status = Path(f"/proc/{pid}/stat")
    while status.exists():
        with contextlib.suppress(OSError):
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return


async def test_of_long_output_beginning_and_end_are_shown(tmp_path: Path) -> None:
    box = Toolbox([command_tool(tmp_path, CommandRules(enabled=True, output_bytes=200))])

    answer = await used(box, "run_command", command="seq 1 100000")

    assert answer.text.startswith("Exit code 0.\n1\n2\n")
    assert answer.text.endswith("99999\n100000")
    assert "bytes left out]" in answer.text
    assert len(answer.text) < 300


async def test_skills_are_found_in_folders_and_a_users_own_goes_before_the_systems(tmp_path: Path) -> None:
    for place, words in (("system", "old way"), ("user", "my way")):
        folder = tmp_path / place / "release"
        folder.mkdir(parents=True)
        text = f"---\nname: release\ndescription: How to release, {words}\n---\nDo it {words}.\n"
        (folder / "SKILL.md").write_text(text)
    (tmp_path / "user" / "broken").mkdir()
    (tmp_path / "user" / "broken" / "SKILL.md").write_text("nothing")
    folders = (tmp_path / "system", tmp_path / "user")

    found = find_skills(folders)
    answer = await used(Toolbox([skill_tool(folders)]), "read_skill", name="release")
    unknown = await used(Toolbox([skill_tool(folders)]), "read_skill", name="deploy")

    assert [each.skill.description for each in found.values()] == ["How to release, my way"]
    assert answer.text.endswith("Do it my way.")
    assert "There are: release." in unknown.text


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y|(a|aa)+$", "((a{1000}){1000}){1000}b"])
async def test_a_pattern_that_never_comes_to_an_end_is_stopped(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "bait.txt").write_text("a" * 1_900 + "b\n")
    box = Toolbox([search_tool(Workspace(tmp_path), seconds=0.5)])

    answer = await used(box, "search_files", pattern=pattern)
    after = await used(Toolbox([search_tool(Workspace(tmp_path))]), "search_files", pattern="^a+b$")

    assert "stopped after 0.5 seconds" in answer.text or answer.text.startswith("Nothing matches")
    assert answer.is_error == ("stopped" in answer.text)
    assert after.text.startswith("bait.txt:1: aaaa")


async def test_of_many_matches_the_first_are_shown(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("again\n" * 500)
    box = Toolbox([search_tool(Workspace(tmp_path))])

    answer = await used(box, "search_files", pattern="again")

    assert answer.text.count("many.txt:") == 100
    assert "more than 100 matches" in answer.text


@pytest.mark.parametrize("path", [".git/config", "sub/.git/hooks/pre-commit", ".GIT/config"])
async def test_nothing_is_written_where_the_version_control_finds_programs(tmp_path: Path, path: str) -> None:
    box = Toolbox(file_tools(Workspace(tmp_path)))

    answer = await used(box, "write_file", path=path, content="[core]\nfsmonitor = id\n")

    assert answer.is_error
    assert "version control" in answer.text
    assert Workspace(tmp_path).entries("") == []


async def test_no_tool_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    (own,) = (each for each in file_tools(Workspace(tmp_path)) if each.name == "read_file")
    other = replace(own, description="Another one.")

    assert Toolbox([own, other]).tools == (own, replace(other, name="read_file_2"))


@pytest.mark.skipif(os.name != "posix", reason="the limits of a process are POSIX's")
def test_a_search_works_where_the_system_allows_no_other_limit_of_memory() -> None:
    asked = {"pattern": "B+", "ignore_case": True, "longest": 99, "shown": 99, "most": 9}
    done = subprocess.run(
        ["/bin/sh", "-c", f"ulimit -v {MEMORY // 2048}; exec {sys.executable} -I -S {matcher.__file__}"],
        input=json.dumps(asked).encode() + b"\n4\na\nbb",
        capture_output=True,
        check=True,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"error": ""}, [[2, "bb"]]]


async def test_an_edit_of_several_lines_keeps_the_line_ends_of_windows(tmp_path: Path, box: Toolbox) -> None:
    (tmp_path / "notes.md").write_bytes(b"one\r\ntwo\r\n")
    await used(box, "edit_file", path="notes.md", old="two", new="2\r\n3\n4")

    assert (tmp_path / "notes.md").read_bytes() == b"one\r\n2\r\n3\r\n4\r\n"
