"""Every command that a document shows is run, or is named here with the reason why it is not.

Commands of a page run one after the other in an empty home, beside the examples of the repository. Of those that are not
run, the program and its options must exist.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from autocompact.cli import program
from autocompact.cli.upkeep import compress_context
from tests.house.source import ROOT, read, repository_files
from tests.warm import scripts

OURS = {"autocompact": program, "compress-context": compress_context}

# Programs that are not ours, and why a test does not run them.
OTHERS = {
    "pip": "installs: benchmarks/install.py and test_release.py do",
    "make": "the gate is made of these targets",
    "python": "an example (test_examples.py), or a measurement that takes minutes and its data",
    "PYTHONPATH=KIT": "a measurement with a package from PyPI",
    "claude": "needs an account",
    "codex": "needs an account",
    "cp": "files of the user's own agent",
    "curl": "needs the gateway running: tests/gateway/test_admin.py asks the same",
    "createdb": "needs a server: tests/cli/test_servers.py has one of its own",
    "psql": "needs a server: tests/cli/test_servers.py asks the same",
    "npm": "installs",
    "uv": "installs",
    "uvx": "installs",
    "pipx": "installs",
    "mkdir": "of the system",
    "export": "of the shell",
}

# Ours that are not run here, by their beginning, and why.
NOT_RUN = {
    "autocompact serve": "runs until Ctrl-C: tests/cli/test_serve.py",
    "autocompact wrap": "starts the agent: tests/cli/test_wrap.py, tests/real",
    "autocompact mcp": "serves until its client ends: tests/mcp",
    "autocompact chat": "a dialogue: tests/cli/test_chat.py",
    "autocompact compactions NAME": "a session with compactions of its own: tests/cli/test_store_commands.py",
    "autocompact undo": "a session with compactions of its own: tests/cli/test_store_commands.py",
    "autocompact restore": "a session with compactions of its own: tests/cli/test_store_commands.py",
    "autocompact replay SESSION --model": "needs a model: tests/cli/test_replay.py",
    "autocompact compact SESSION --model": "needs a model: tests/cli/test_models.py",
    "autocompact what-if ~/": "a folder of the user's own sessions: tests/cli/test_what_if.py",
    "autocompact import examples/sessions/fix-invoice-rounding.jsonl --db postgresql:": "needs a server: tests/cli/test_servers.py",
    'autocompact search "half to even" --db postgresql:': "needs a server: tests/cli/test_servers.py",
    "autocompact move --from": "needs a server: tests/cli/test_servers.py",
    "autocompact migrate --db postgresql:": "needs a server: tests/cli/test_servers.py",
    "autocompact keys revoke": "the id of a key that was made: tests/stores/test_access.py",
    "autocompact worker --db postgresql:": "needs a server: tests/jobs/test_jobs.py",
    "autocompact observe": "the page's second command holds from the next day on: tests/cli/test_upkeep.py",
}
_NOTHING_TO_DO = 3
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = ("", "bash", "sh", "console")
_INLINE = re.compile(r"(?<!`)`((?:autocompact|compress-context)\s[^`]+)`(?!`)")
_COMMENT = re.compile(r"\s+#\s.*$")


def _pages() -> Iterator[Path]:
    written = Path("docs/reference/cli.md")
    return (
        path
        for path in repository_files()
        if path.suffix == ".md"
        and path.parts[0] in ("README.md", "CONTRIBUTING.md", "docs")
        and path != written
    )


def commands(text: str) -> Iterator[str]:
    """The commands of a page, as one types them; the last one of a pipe is the one that counts as ours."""
    for language, block in _BLOCK.findall(text):
        if language not in _SHELL:
            continue
        for line in block.splitlines():
            typed = _COMMENT.sub("", line.removeprefix("$ "))
            if typed.split(" ")[0] in {*OURS, *OTHERS} or re.search(r"\| autocompact ", typed):
                yield typed


def _ours(command: str) -> str:
    """The part of a command line that calls our program."""
    parts = [part.strip() for part in re.split(r"\s\|\s", command)]
    return next((part for part in parts if part.split(" ")[0] in OURS), "")


def _reason(command: str) -> str:
    """Why a command is not run; "" if it is."""
    if ours := _ours(command):
        return next((why for beginning, why in NOT_RUN.items() if ours.startswith(beginning)), "")
    return OTHERS[command.split(" ")[0]]


def unknown_options(command: str) -> list[str]:
    """The options of a command of ours that the program does not have."""
    words = shlex.split(command.replace("…", "").replace("[", "").replace("]", ""))
    words = words[: words.index("--")] if "--" in words else words
    if ">" in words:
        words = words[: words.index(">")]
    node, rest = OURS[words[0]], words[1:]
    context = click.Context(node, info_name=words[0], **node.context_settings)
    while (
        isinstance(node, click.Group) and rest and (inner := node.get_command(context, rest[0])) is not None
    ):
        node, rest, context = inner, rest[1:], click.Context(inner, info_name=rest[0], parent=context)
    if isinstance(node, click.Group) and rest and not rest[0].startswith("-"):
        return rest[:1]
    known = {name for each in node.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    given = [word.partition("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)]
    return [] if "wrap" in words[:2] else [word for word in given if word not in known]


@pytest.mark.parametrize("page", list(_pages()), ids=str)
def test_every_option_that_a_page_shows_exists(page: Path) -> None:
    text = read(page)
    shown = [ours for command in commands(text) if (ours := _ours(command))]
    shown += [re.sub(r"\s+", " ", each) for each in _INLINE.findall(_BLOCK.sub("", text))]
    assert [(each, wrong) for each in shown if (wrong := unknown_options(each))] == []


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader of the pages has at hand: the examples, one of them kept, and some folders. It is copied, not used."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name in ("build", ".autocompact", "backups", ".claude"):
        (folder / name).mkdir()
    (folder / "my-summary.md").write_text("# Summary\n\nThe importer is repeatable now.\n", encoding="utf-8")
    (folder / "bin").mkdir()
    scripts(folder / "bin")
    done = _run("autocompact import $SESSION", folder, _environment(folder))
    assert done.returncode == 0, done.stderr
    return folder


def _environment(home: Path, *, warm: bool = True) -> dict[str, str]:
    """What a shell has; ours are started without their imports, or as they are installed."""
    installed = f"{Path(sys.executable).parent}:{os.defpath}"
    return {
        "HOME": str(home),
        "NAME": "fix-invoice-rounding",
        "PATH": f"{home / 'bin'}:{installed}" if warm else installed,
        "SESSION": "examples/sessions/fix-invoice-rounding.jsonl",
    }


@pytest.mark.parametrize(
    "page", [page for page in _pages() if any(not _reason(each) for each in commands(read(page)))], ids=str
)
def test_the_commands_of_a_page_run(page: Path, home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    environment = _environment(tmp_path, warm=page.name != "README.md")
    for command in commands(read(page)):
        if not _reason(command):
            typed = re.sub(r"\b(?<!\$)(SESSION|NAME)\b", r"$\1", command)
            done = _run(typed, tmp_path, environment)
            nothing = done.returncode == _NOTHING_TO_DO and command.startswith("compress-context")
            assert done.returncode == 0 or nothing, f"{command}\n{done.stdout}\n{done.stderr}"


def _run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_wrong_option_and_a_wrong_command_are_found() -> None:
    assert unknown_options("autocompact compact x --no-such --out y") == ["--no-such"]
    assert unknown_options("autocompact no-such-command") == ["no-such-command"]
    assert list(commands("```\n$ autocompact list   # all\noutput\n```\n")) == ["autocompact list"]
