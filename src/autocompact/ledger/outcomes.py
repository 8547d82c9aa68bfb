"""What came of a command: exit code, counts, error lines - read from its output, whichever program ran it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from autocompact.core.actions import HEREDOC
from autocompact.core.code_calls import COMPLETED
from autocompact.core.messages import UNRECORDED
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, cut, edited, joined, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.clipping import clipped

# as many digits as a code of Windows has (3221225477): an output may hold more than Python converts
_EXIT = LazyPattern(
    r"^Exit [Cc]ode:? (-?\d{1,10})|exited with code (-?\d{1,10})|with exit code (-?\d{1,10})|exit code: (-?\d{1,10})"
    r"|\"exit_code\": ?(-?\d{1,10})|<exit_code>(-?\d{1,10})</exit_code>|^exit(?: status|:) ?(\d{1,10})",
    re.MULTILINE,
)
_COUNTS = LazyPattern(
    r"\b\d{1,9} (?:passed|failed|passing|failing|skipped|warnings?|errors?|issues?|problems?|tests?|files? changed)\b"
    r"|^test result:|^ *Tests?: |^TOTAL\b.*\d%|coverage[:=]? ?\d|^Ran \d{1,9} tests",
    re.MULTILINE,
)
_COMMIT = LazyPattern(
    r"^(?:\[[^\]\n]{1,80} |Commit )(?P<hash>[0-9a-f]{7,12})\]? (?P<title>.*)$", re.MULTILINE
)
"""git's own line, and aider's of a commit that it made."""

_FAILED = LazyPattern(
    r"^(?:(?:\[[^\]\n]{1,40}\] ){0,4}(?:--- FAIL|FAIL\b|FAILED\b|not ok\b)|error(?:\[|:)|panic:|fatal:|E  |ERROR: (?:file or directory )?not found: )|\b[1-9]\d{0,8} failed",
    re.MULTILINE,
)
# How checks end in words, for where another command's exit code stands in for theirs.
_ENDS_BADLY = LazyPattern(
    r"^(?:make(?:\[\d{1,4}\])?: \*\*\* |[^\n]{0,40}sh:[^\n]{0,60}\bcommand not found\b|npm (?:ERR!|error) |ERROR:? |error Command failed|FAILURE: |exit status [1-9])"
    r"|(?i:\b(?:task|build|command|job|step|script|compilation|check|tests?) failed\b)"
    r"|^\S{1,300}?[:(]\d{1,9}[:,]\d{1,9}\)?:? (?:- )?(?:fatal )?error\b"
    r"|^(?:\W{0,4}|Found )[1-9]\d{0,8} (?:errors?|issues?|problems?|failures?|failing)\b(?! \(0 errors\b)|, [1-9]\d{0,8} (?:errors?|failures?)\b",
    re.MULTILINE,
)
_NOT_RUN = LazyPattern(
    r"The user doesn't want to proceed|Sibling tool call errored|tool use was rejected|interrupted by user"
    r"|Command aborted|doesn't want to take this action",
    re.IGNORECASE,
)
_NOT_EDITED = LazyPattern(
    r"\A\W{0,3}(?:<tool_use_error>)?(?:error|failed|failure|invalid|could ?n[o']t|cannot|can't|unable to|no replacement"
    r"|no (?:such|changes?|match(?:es)?)\b|permission denied)\b"
    r"|verification failed|No replacement was performed|did not appear verbatim|[Ss]tring to replace (?:was )?not found"
    r"|new syntax error|changes have NOT been applied|has not been read yet|modified since read|not find (?:the )?(?:exact|expected)",
    re.IGNORECASE,
)
_FIRST = 600
_OTHER_STATUS = LazyPattern(
    r"\|\s*(?:tail|head|tee|cat|grep|egrep|rg|sed|awk|less|sort|uniq|cut|tr|wc)\b|\|\|\s*(?:true|:|echo|exit 0)(?:\s|$)|;\s*(?:echo|true)\b"
)
_ERROR = LazyPattern(
    r"[a-z](?:Error|Exception)\b|\b(?:[Ee]rror|ERROR|fatal|panic|FAIL(?:ED)?|undefined|[Nn]ot found|No such file|[Cc]annot"
    r"|denied|refused|[Uu]nexpected|timed out|assert)\b|^CONFLICT \(|✗|✖",
    re.MULTILINE,
)
_WRAPPERS = LazyPattern(
    r"</?(?:tool_use_error|stdout|stderr)>|^<(?P<of>status|retrieval_status|task_id|task_type|exit_code|timestamp)>[^<\n]{0,80}</(?P=of)>$|^(?:Exit code -?\d+|Chunk ID: .*|Wall time: .*|Process (?:exited|running) with .*|Original token count: .*"
    r"|Output:|Script error:|Script (?:completed|failed|running with cell ID \S{1,40})|SESSION_ID=\d+"
    r"|Command running in background with ID: .*)$",
    re.MULTILINE,
)
_SHELL_BEGINS = LazyPattern(
    r"\ACommand: [^\x00]{0,4000}?\nDirectory: .*\n(?:Output|Stdout): (?:\(empty\)(?=\n|\Z))?"
)
_SHELL_ENDS = LazyPattern(
    r"^(?:(?:Error|Stderr): \((?:none|empty)\)|Exit Code: (?:-?\d+|\(none\))|Signal: (?:\S+|\(none\))|Background PIDs: .*"
    r"|Process Group PGID: .*|Shell cwd was reset to .*|<(?:shellId: \d+ completed|exited) with exit code -?\d+>"
    r"|\[The command completed with exit code -?\d+\.\]|\[Command finished with exit code -?\d+\]"
    r"|\[Current working directory: .*\]|\[Python interpreter: .*\]|\(Current directory: .*\)|\(Open file: .*\)|bash-\$"
    r"|\[\d+ more lines in file\. Use offset=\d+ to continue\.?\]"
    r"|(?:\([\w.-]{1,40}\) )?[\w.-]{1,40}@[\w.-]{1,60}(?: |:)[^\n%$#]{1,80} ?[%$#] ?)$",
    re.MULTILINE,
)
"""What the tools of Gemini CLI and Qwen Code, Claude Code, Copilot CLI, OpenHands, SWE-agent and pi write below an output, and
the shell that waits for the next command, where a terminal was read."""

_FIRST_LINES = LazyPattern(r"\S.*")
_CUT = LazyPattern(r" ?(?:tail|head)\b[^;&]*")
_SHOWN = LazyPattern(r"^\[File: (?P<path>/?[^\s\[\]:]{1,300}) \(\d+ lines total\)\]", re.MULTILINE)
_COMMENTS = LazyPattern(r"\A(?:[ \t]*(?:#[^\n]*)?\n)+")
_CD = LazyPattern(r"(?:\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)(?:[ \t]+2>[ \t]*/dev/null)?\s*(?:&&|;|\n))+")
_SPACE = LazyPattern(r"\s+")
_END = 1_500
_COUNT, _LONGEST_ERROR = 160, 200
HEAD = 2_000
TAIL = 6_000
LONGEST_CUT = 200


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of a command.

    Attributes:
        failed: whether it went wrong.
        exit: its exit code, where the output says it.
        counts: the line with pass/fail counts, coverage or file counts, "" if there is none.
        errors: at most three lines that say what went wrong; empty unless it failed.
        known: False where the session only has that the command ran.
    """

    failed: bool
    exit: int | None
    counts: Redacted
    errors: tuple[Redacted, ...]
    known: bool = True


def committed(counts: str) -> str:
    """Hash and title of the commit that the counts of an outcome begin with; "" for none."""
    commit = _COMMIT.match(counts)
    return f"{commit['hash']} {commit['title'].partition('; ')[0]}" if commit else ""


_QUIET = LazyPattern(
    r"(?<![\w./-])git\s+(?:-[cC]\s+\S+\s+|--?[\w-]+(?:=\S+)?\s+){0,9}+commit\b(?=[^\n]{0,200}\s(?:-\w*q\w*|--quiet)\s)[^\n]{0,200}?"
    r"(?:<<-?[ \t]*['\"]?\w+['\"]?\)?\"?[^\n]{0,200}+\n|\s(?:-\w*m|--message)[ =]?(?:\"\$\(cat[ \t]+<<-?[ \t]*['\"]?\w+['\"]?\n|['\"]))"
    r"[ \t]*(?P<title>[^\n\"']{3,200})"
)


_NOTHING = LazyPattern(r"\b(?:nothing (?:added )?to commit|no changes added to commit)\b")


_LOGGED = LazyPattern(
    r"^(?:\* )?(?P<hash>[0-9a-f]{7,12}) (?:\([^)\n]{1,200}\) )?(?P<title>[^\n]{3,200})$", re.MULTILINE
)


def quiet_commit(command: str, *, output: str) -> str:
    """Title of the commit that ``command`` makes and prints nothing of, with its hash where a log behind it shows that; "" for none.

    Where ``output`` says that it made none, neither.
    """
    commit = _QUIET.search(command)
    # of a checkout that is clean after the commit a status says the same
    nothing = "git status" not in command and _NOTHING.search(output) is not None
    if commit is None or nothing or output == UNRECORDED or was_not_run(output):
        return ""
    title = commit["title"].rstrip()
    return next(
        (f"{line['hash']} {title}" for line in _LOGGED.finditer(output) if line["title"] == title), title
    )


def was_not_run(output: str) -> bool:
    """Whether a person refused or stopped the call, so that its output says nothing of what it would have done."""
    return _NOT_RUN.search(output, 0, 500) is not None


def edited_file(output: str) -> str:
    """The file that the output of an edit says it shows: an agent with a file open names none in its call."""
    shown = _SHOWN.search(output)
    return shown["path"] if shown else ""


def was_not_edited(output: str) -> bool:
    """Whether the output of an edit says that nothing was changed, which not every program marks as an error."""
    output = _WRAPPERS.sub("", output[:_FIRST]).lstrip()
    return bool(_exit_code(output)) or _NOT_EDITED.search(without_wrappers(output).lstrip()) is not None


def is_status_hidden(command: str) -> bool:
    """Whether the exit code of ``command`` is that of a pipe's end, of ``|| true`` or of an ``echo`` after it."""
    return _OTHER_STATUS.search(command) is not None


def is_exit_code_missing(output: str) -> bool:
    """Whether ``output`` is that of a script, which leaves out how its commands ended."""
    return output.startswith(f"{COMPLETED}\n") and _exit_code(output) is None


def read_outcome(output: Redacted, *, is_error: bool, hidden: bool = False) -> Outcome:
    """What came of the command that printed ``output``.

    Only the beginning and the end of a long output are looked at: that is where programs say what came of it.

    Args:
        output: what it printed, with what the agent's program says around it.
        is_error: whether that program says that it failed.
        hidden: whether its exit code is that of another command (`is_status_hidden`), so that a good one means nothing.
    """
    if len(output) > HEAD + TAIL:
        output = joined("\n", (cut(output, end=HEAD), cut(output, -TAIL)))
    code = _exit_code(output)
    # a bad code is believed even there: with pipefail it is that of the check
    if hidden and not code:
        failed = is_error or _says_failed(output)
    else:
        failed = is_error or (code not in (None, 0)) or (code is None and _FAILED.search(output) is not None)
    counts = edited(output, _counts)
    return Outcome(
        failed=failed,
        exit=code,
        counts=counts,
        errors=tuple(pieces(output, error_lines)) if failed else (),
        known=output != UNRECORDED,
    )


def without_result(outcome: Outcome) -> Outcome:
    """``outcome`` of a command that goes on in the background: what it printed so far says nothing of how it ends."""
    return replace(outcome, failed=False, counts=EMPTY, errors=(), known=False)


def _says_failed(output: str) -> bool:
    return (
        _FAILED.search(output) is not None
        or _ENDS_BADLY.search(output, max(0, len(output) - _END)) is not None
    )


def _counts(output: str) -> str:
    commit = _COMMIT.search(output)
    counts = list(_lines(_COUNTS, output))
    return "; ".join(_short(line, _COUNT) for line in (*([commit.group()] if commit else []), *counts[-1:]))


def _short(line: str, length: int) -> str:
    return line if len(line) <= length else clipped(line, length)


def _exit_code(output: str) -> int | None:
    code = None
    # the last one: what a program printed of others stands before
    for match in _EXIT.finditer(output):
        code = int(match[match.lastindex or 0])
    return code


def without_wrappers(output: str) -> str:
    """``output`` without the lines that the client's program writes around it."""
    return _SHELL_ENDS.sub("", _WRAPPERS.sub("", _SHELL_BEGINS.sub("", output)))


def error_lines(output: str) -> tuple[str, ...]:
    """The lines of an output that say what went wrong: at most three, the first line if none says so plainly."""
    output = without_wrappers(output)
    found = list(dict.fromkeys(_short(line, _LONGEST_ERROR) for line in _lines(_ERROR, output)))
    if not found:
        first = _FIRST_LINES.search(output)
        return (_short(first.group().rstrip(), _LONGEST_ERROR),) if first else ()
    return tuple(found[:3])


def _lines(pattern: LazyPattern, text: str) -> Iterator[str]:
    """The lines in which ``pattern`` matches, without white space around them."""
    at = 0
    while match := pattern.search(text, at):
        # not line by line: most outputs have many lines and few hits
        at = text.find("\n", match.end())
        at = at if at >= 0 else len(text)
        yield text[text.rfind("\n", 0, match.start()) + 1 : at].strip()


def without_comments(command: str) -> str:
    """The command without the comments that stand before it; one of nothing but comments as it is."""
    rest = _COMMENTS.sub("", command)
    return rest if rest.strip() else command


def normal(command: str) -> str:
    """The command without what does not change its meaning: comments, leading ``cd``, cut of the output, white space."""
    # first the documents: what stands in one may look like a comment or a pipe
    command = without_comments(HEREDOC.sub(r"\1…", command))
    if changed := _CD.match(command):
        command = command[changed.end() :]
    return _uncut(_SPACE.sub(" ", command).strip())


def _uncut(command: str) -> str:
    """The command without what only shortens or mixes its output: ``2>&1 | tail -5``."""
    end, before = len(command), -1
    while end != before:
        before = end
        for needless in (" ", "2>&1", "2>/dev/null"):
            end -= len(needless) * command.endswith(needless, 0, end)
        bar = command.rfind("|", max(0, end - LONGEST_CUT), end)
        if bar >= 0 and _CUT.fullmatch(command, bar + 1, end):
            end = bar
    return command[:end]
