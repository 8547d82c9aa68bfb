"""Command lines: which ones only look, which ones check, and whether one checks all that another did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, takewhile

from msgspec import Struct

from autocompact.core.patterns import LazyPattern

LONGEST = 160
"""Characters of a command that are shown."""

_LOOKS = LazyPattern(
    r"(?:(?:for \w+ in [^;]{0,300}; ?do|set -[a-z]+;) )?"
    r"(?:ls|cat|head|tail|nl|sed -n|grep|egrep|rg|find|fd|wc|pwd|echo|which|type|command -v|file|stat|xxd|md5|jq|tree|test -"
    r"|ps|pgrep|lsof|df|du|free|uptime|date|env|printenv|id|whoami|uname|hostname|sleep|journalctl"
    r"|(?:sudo )?systemctl (?:status|show|cat|is-\w+|list-\w+)|(?:\w+=\S+ )?kubectl (?:-\S+ \S+ )*(?:get|describe|logs|top|explain)"
    r"|docker (?:ps|logs|images|inspect|stats)|(?:pip|npm|pnpm|yarn) (?:list|ls|show|view|freeze|outdated|why)"
    r"|git (?:-[cC] \S+ |--[\w-]+(?:=\S+)? )*(?:status|diff|log|show|branch|fetch|rev-parse|config(?: --global)?(?: --get)?|cat-file|ls-files|ls-tree"
    r"|rev-list|worktree list|stash list|blame|ls-remote|check-ignore|check-attr|for-each-ref|show-ref|merge-base|name-rev|describe|shortlog|reflog"
    r"|remote(?: -v| show \S+| get-url \S+)?(?= *(?:$|[|;&]))|tag(?: -l| --list)?(?= *(?:$|[|;&]))|notes list|symbolic-ref --short)|gh (?:pr|issue|run) (?:view|list|diff|checks))(?= |$)"
)
_CHECKS = LazyPattern(
    r"\b(?:test|tests|pytest|jest|vitest|mocha|rspec|phpunit|fmt|format|lint|eslint|ruff|golangci-lint|mypy|pyright|tsc|vet|clippy|check"
    r"|build|compile|make|cargo|gradle|mvn|npm|pnpm|yarn|bun|tox|nox|deploy|migrate|install|docker|terraform|kubectl"
    r"|commit|push|merge|rebase|cherry-pick|release|publish|pr create)\b"
)
_GIT = LazyPattern(r"git (?:-[cC] \S+ |--[\w-]+(?:=\S+)? )*(?P<step>[a-z][a-z-]*)")
_SCRIPT = LazyPattern(
    r"(?P<program>python3?|node|ruby|perl|php|bash|sh|bun|elixir) (?:[\w.~-]*/)*(?P<script>[\w.-]+\.\w+)(?P<told>(?: .*)?)\Z"
)
_SETTING = LazyPattern(r"[A-Za-z_]\w*=\S*\Z")
_PLACE = LazyPattern(r".*[/.:]")
_JOINT = LazyPattern(r" ?(?:&&|\|\|?|;) ?")
_PARTS = LazyPattern(r"&&|\|\|?|;|\n")
_QUOTED = LazyPattern(r"'[^']*+'|\"(?:\\.|[^\"\\])*+\"", re.DOTALL)
_LEADING_CD = LazyPattern(
    r"(?:\s*+cd[ \t]++(?P<folder>\"[^\"]*\"|'[^']*'|[^\s;&|]++)(?:[ \t]+2>[ \t]*/dev/null)?[ \t]*+(?:&&|;|\n))+"
)
_COMMIT = LazyPattern(
    r"(\bgit commit\b)(?:[^'\";&|]|'[^']*+'|\"(?:\\.|[^\"\\])*+\")*+(?:['\"].*)?", re.DOTALL
)
"""A commit with its message, which may read like commands; where no quote ends the message, all that follows is taken for it."""

_TOLD = 2
"""Words behind a program that say what it does: those of gh, npm and aws are two."""

_PLUMBING = frozenset(
    "cd echo export set true sleep tail head grep sed cat tee wc sort uniq cut tr awk for do done if then fi".split()
)
_WORD = LazyPattern(r"[A-Za-z][\w:-]*")
_EVERYWHERE = frozenset({"", ".", "..."})
_RUNNERS = frozenset(
    "uv poetry pipenv python python3 -m npx bunx run exec env time sudo bundle mise asdf direnv doppler".split()
)
_PATTERN = LazyPattern(
    r"(?P<flag>-k|-run|--grep|--testNamePattern)[ =](?P<quote>['\"]?)(?P<name>[\w/]+)(?P=quote)"
)
"""What tests are chosen by a part of their name: a plain word, no expression."""

_NARROWING = frozenset(
    "-k -m -run --run -t -g -E --grep --filter --tests --testNamePattern --lf --last-failed --ff --sw --stepwise --ignore"
    " --prefix --cwd --directory --deselect --exclude --skip --only --collect-only --dry-run -n --no-run --help --version -h".split()
)


def is_look(command: str) -> bool:
    """Whether it only looks at something, so that its failure is an answer and its success no news.

    What it looks at may go through any filter; a step of git or a check behind the look is what it is for.
    """
    if _LOOKS.match(command) is None:
        return False
    parts = _JOINT.split(_QUOTED.sub("''", command))
    return not any(_LOOKS.match(part) is None and (is_check(part) or _GIT.match(part)) for part in parts[1:])


def is_check(command: str) -> bool:
    """Whether it tests, builds, delivers: what came of it matters."""
    return _CHECKS.search(command) is not None


def parts(command: str) -> list[str]:
    """The commands of a command line one by one, what stands in quotes left out of each."""
    return [part.strip() for part in _PARTS.split(_QUOTED.sub("''", command))]


def actions(command: str) -> frozenset[str]:
    """What a command line does, each program with the plain words behind it: "git push origin", "npm run deploy"."""
    return frozenset(_actions(command))


def last_action(command: str) -> str:
    """The last thing that a command line does and not only looks at; "" for none."""
    return next(reversed([*_actions(command)]), "")


def _actions(command: str) -> Iterator[str]:
    for part in parts(command):
        words = part.split()
        while words and (is_setting(words[0]) or words[0] in _RUNNERS):
            del words[0]
        line = " ".join(words)
        if words and words[0] not in _PLUMBING and not is_look(line):
            # git's own flags stand before what it does
            rest = line[git.start("step") :].split() if (git := _GIT.match(line)) else words[1:]
            yield " ".join((words[0], *islice(takewhile(_WORD.fullmatch, rest), _TOLD)))


def folder_of(command: str) -> str:
    """The folder that a command line goes into before all else, as it names it; "" where it goes nowhere."""
    gone = _LEADING_CD.match(command)
    return gone["folder"].strip("'\"").removeprefix("./").rstrip("/") if gone else ""


def is_setting(word: str) -> bool:
    """Whether a word before a program sets a variable for it: "CI=1"."""
    return _SETTING.match(word) is not None


def short(command: str) -> str:
    """The command, cut to what is shown."""
    return command if len(command) <= LONGEST else command[: LONGEST - 1] + "…"


_LINTERS = frozenset("ruff eslint clippy flake8 pylint rubocop biome oxlint shellcheck stylelint".split())


def _is_lint(words: frozenset[str]) -> bool:
    return bool(words & _LINTERS) or any("lint" in word for word in words)


class Check(Struct, frozen=True, kw_only=True):
    """A check, taken apart, so that two runs of it can be compared whatever their flags and runners.

    Attributes:
        words: the program and what it is told, without the runners before it, settings and flags.
        places: the files and folders it is told to look at; none: all of them.
        narrowing: flags that make it look at less, with their values.
        step: what it does whatever it is told ("git push", a script with its arguments but without its folder); "" of others.
    """

    words: frozenset[str]
    places: frozenset[str]
    narrowing: frozenset[str]
    step: str = ""

    def covers(self, other: Check, *, around: bool = True) -> bool:
        """Whether it looked at all that ``other`` looked at, or does the same step; what is committed was added.

        Args:
            other: the earlier one.
            around: it ran in the folder of the other, or in one around that.
        """
        if other.step and (self.step == other.step or (self.step, other.step) == ("git commit", "git add")):
            return True
        if self._is_every_lint and _is_lint(other.words):
            return around or self.words == other.words
        mine = self.places | (self.words - other.words)
        everything = not mine or (bool(other.places) and all(_is_in(place, mine) for place in other.places))
        return everything and all(_is_wider(one, other.narrowing) for one in self.narrowing)

    @property
    def _is_every_lint(self) -> bool:
        """Whether it looks at all there is in its folder with every linter: "make lint"."""
        is_task = any(word.partition(":")[0] == "lint" for word in self.words)
        return is_task and not (self.places or self.narrowing)


def _is_wider(narrowing: str, others: frozenset[str]) -> bool:
    """Whether ``narrowing`` lets through all that ``others`` together do; part of a test's name fits that test and more."""
    if narrowing in others:
        return True
    mine = _PATTERN.fullmatch(narrowing)
    theirs = map(_PATTERN.fullmatch, others)
    return mine is not None and any(
        other is not None and mine["flag"] == other["flag"] and mine["name"] in other["name"]
        for other in theirs
    )


def _is_in(place: str, folders: frozenset[str]) -> bool:
    return any(place == one or place.startswith((one.rstrip("/") + "/", one + "::")) for one in folders)


def parse_checks(command: str) -> frozenset[Check]:
    """The checks in a command line (`autocompact.ledger.outcomes.normal`), one for each command that is one."""
    parts = _JOINT.split(_COMMIT.sub(r"\1", command))
    return frozenset(_check(part.split()) for part in parts if is_check(part) and not is_look(part))


def parse_steps(command: str) -> frozenset[Check]:
    """The steps of git and the scripts in a command line that are no checks."""
    parts = _JOINT.split(_COMMIT.sub(r"\1", command))
    return frozenset(_check(part.split()) for part in parts if not is_check(part) and _step(part))


def _step(part: str) -> str:
    if git := _GIT.match(part):
        return f"git {git['step']}"
    script = _SCRIPT.match(part)
    return f"{script['program']} {script['script']}{script['told']}" if script else ""


def _check(line: list[str]) -> Check:
    words: set[str] = set()
    places: set[str] = set()
    narrowing: set[str] = set()
    before = ""
    for word in line:
        flag = word.partition("=")[0]
        if flag in _NARROWING and before not in ("python", "python3"):
            narrowing.add(word)
        elif before in _NARROWING:
            narrowing.add(f"{before} {word}")
        elif words and _PLACE.match(word) and not word.startswith(("-", "+")):
            places.add(word.removeprefix("./"))
        elif not (word.startswith(("-", "+")) or _SETTING.match(word) or word in _RUNNERS):
            words.add(word)
        before = word if word != "-m" or before not in ("python", "python3") else ""
    return Check(
        words=frozenset(words),
        places=frozenset(places - _EVERYWHERE),
        narrowing=frozenset(narrowing),
        step=_step(" ".join(line)),
    )
