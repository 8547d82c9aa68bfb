"""What client programs write around a tool's output, and the orders and answers that they deliver in their own words.

What they put around the words of a user is taken off by `autocompact.core.spoken`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, cast

import msgspec

from autocompact.core.code_calls import COMPLETED, script_results
from autocompact.core.patterns import LazyPattern
from autocompact.core.spoken import without_elements

_REMINDER = LazyPattern(r"<(system-reminder)>")
_ARROWS = LazyPattern(r"\n *\d+→")
_IS_NUMBERED = LazyPattern(r" *\d+(?:\t|\. )")
_NUMBERED = LazyPattern(rf"\n{_IS_NUMBERED.source}")
"""With the line break before it, which is found at once."""

_TASK = LazyPattern(r"<task-id>([^<]{1,100})</task-id>")
_CODE = LazyPattern(r"<summary>[^<]{0,600}\bexit code (\d{1,4})\b")
_STATUS = LazyPattern(r"<status>([^<]{1,100})</status>")

_LEAD = LazyPattern(
    r"\s*<(teammate-message|cross-session-message|hook_prompt|[a-z]{2,20}(?:-[a-z]{2,20}){0,3}-event)\b[^>]{0,500}>"
)
_HOOK = LazyPattern(
    r"\s*(?:(?:Stop|SubagentStop|UserPromptSubmit|PreToolUse|PostToolUse) hook feedback:"
    r"|\[Auditor\] (?=<verification_findings\b)|\[System\] (?=Your \w{1,20} plan has been approved\b))\s*"
)
"""Of Claude Code; Claude Science has a reviewer that wants what it found answered or mended, and says how a plan that the
user approved is to be carried out."""

_FINDINGS = LazyPattern(r"</?verification_findings\b[^>]{0,100}>\s?")
_IDLE = LazyPattern(r"\s*\{\s*\"type\"\s*:")
_BEGINNING, _FIRST_WORDS = 4_000, 3_000

_INSTRUCTIONS = LazyPattern(
    r"AGENTS\.md|CLAUDE\.md|GEMINI\.md|copilot-instructions|<user_instructions>|<INSTRUCTIONS>"
)
_LAUNCHED = LazyPattern(
    r"\W*(?:async )?(?:agent|sub-?agent|task)\b[^\n]{0,60}?"
    r"\b(?:(launched|started|spawned|running)\b|(?:completed|finished|report(?:s|ed)?)(?![\w-]))",
    re.IGNORECASE,
)
"""What comes first: that an agent goes on (the group), or that it is through and what follows is its report."""

_AGENT = LazyPattern(r"\bagent_?id\W{1,4}([\w-]+)", re.IGNORECASE)
_SHORT_NOTICE = 300
_BACKGROUND = LazyPattern(
    r"running in (?:the )?background with ID: ?(?P<id>[\w-]+)|agentId: ?(?P<agent>[\w-]+)"
    r"|(?:session|process) (?:running with (?:session )?)?ID:? (?P<session>\d+)|\bshellId: (?P<shell>\d+) (?:is )?(?:still )?running"
    r"|Background PIDs: (?P<pid>\d+)|\AScript running with cell ID (?P<cell>\w+)",
    re.IGNORECASE,
)
_RUNS_ON = LazyPattern(
    r"(?:(?:Command: |Chunk ID: |Wall time: )[^\n]{0,2000}\n){0,4}Process running with session ID (\d+)"
    r"|Script running with cell ID (\w+)|Command [^\n]{0,80}\bbackground[^\n]{0,40} with ID: ?([\w-]+)"
    r"|<shellId: (\d+) is still running"
)
"""What a client says first of a command that it no longer waits for: Codex, Claude Code."""

_UNFINISHED = LazyPattern(r"<status>(?:running|pending)</status>")


_PRINTED = ("stdout", "output", "content", "result", "text")
"""Members of a result in JSON that hold what a tool printed or read; it has one of them."""

_BESIDE_IT = frozenset(
    "exit_code exitCode exit_status returncode return_code signal status success ok stderr error is_error isError timed_out"
    " timedOut interrupted isImage truncated metadata resources duration duration_ms duration_seconds elapsed wall_time cwd pid"
    " filename file_name file_path path content_type mime_type size_bytes total_lines showing_lines encoding structuredContent"
    " _meta".split()
)
"""Members that tools put beside it. An object with others is what a program printed, and is told as it stands."""

_CODES = ("exit_code", "exitCode", "exit_status", "returncode", "return_code")
_FAILED = ("failed", "failure", "error")
"""What a member ``status`` says of a call that went wrong."""

_BLOCK = LazyPattern(r"\s*(?:\{|\[\s*\{\s*\"type\")")


def printed(result: str) -> str:
    """What a tool printed, where its program hands that on in JSON; else ``result`` as it is.

    Known are the streams of a command (``{"stdout": ..., "stderr": ..., "exit_code": ...}``), a file's or a tool's text under
    one name (``{"content": ..., "filename": ...}``), an error alone, the content blocks of MCP, and what a script of Codex did.
    """
    if not _BLOCK.match(result):
        told = script_results(result) if result.startswith("Script ") else None
        return result if told is None else told
    try:
        found = msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return result
    words = _of_object(cast("Mapping[str, object]", found)) if isinstance(found, dict) else _of_blocks(found)
    return result if words is None else words


def _of_object(fields: Mapping[str, object]) -> str | None:
    names = [name for name in _PRINTED if name in fields]
    beside = fields.keys() - names
    if len(names) > 1 or not (beside <= _BESIDE_IT or "stdout" in fields):
        return None
    text = _words(fields[names[0]]) if names else ""
    errors = [_words(fields[name]) for name in ("stderr", "error") if fields.get(name) is not None]
    if text is None or None in errors or not (names or any(errors)):
        return None
    codes = [code for name in _CODES if type(code := fields.get(name)) is int]
    pieces = (*(f"Exit code {code}" for code in codes[:1]), text, *filter(None, errors))
    said = "\n".join(piece.strip("\n") for piece in pieces if piece.strip())
    return said if names and not _went_wrong(fields) else f"error: {said}"


def _went_wrong(fields: Mapping[str, object]) -> bool:
    """True if the object says in words of its own that the call failed."""
    denied = any(fields.get(name) is False for name in ("success", "ok"))
    failed = any(fields.get(name) is True for name in ("is_error", "isError", "timed_out", "timedOut"))
    return denied or failed or fields.get("status") in _FAILED


def _words(value: object) -> str | None:
    return value if isinstance(value, str) else _of_blocks(value)


_BLOCKS = frozenset(["text", "image", "audio", "resource", "resource_link"])
_OF_A_BLOCK = frozenset(
    "type text annotations _meta data mimeType resource uri name title description size cache_control".split()
)


def _of_blocks(value: object) -> str | None:
    """The text of content blocks as MCP has them; None for anything else, and where there is none."""
    if not isinstance(value, list):
        return None
    blocks = [
        cast("Mapping[str, object]", each) for each in cast("list[object]", value) if isinstance(each, dict)
    ]
    if len(blocks) < len(cast("list[object]", value)) or not all(map(_is_block, blocks)):
        return None
    texts = (block.get("text") for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str) and text) or None


def _is_block(block: Mapping[str, object]) -> bool:
    return block.get("type") in _BLOCKS and block.keys() <= _OF_A_BLOCK


def holds_instructions(note: str) -> bool:
    """True if a note of the program is a file of instructions, which the client sends along with every request."""
    return _INSTRUCTIONS.search(note, 0, 400) is not None


def ordered(text: str) -> str:
    """The orders of a lead agent or of a hook in ``text``, without what the client wraps around them; "" for none.

    A lead's notice in JSON (that it is idle, say) is no order.
    """
    if _HOOK.match(text):
        return _FINDINGS.sub("", _HOOK.sub("", text, count=1)).strip()
    if not _LEAD.match(text):
        return ""
    orders: list[str] = []
    at = 0
    while opening := _LEAD.match(text, at):
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        inside = text[opening.end() : end if end >= 0 else len(text)].strip()
        if inside and not _IDLE.match(inside):
            orders.append(inside)
        if end < 0:
            break
        at = end + len(closing)
    return "\n\n".join(orders)


def launched(output: str) -> str:
    """The id of an agent that goes on in the background and reports later; "" where ``output`` is its report."""
    named = _AGENT.search(output, 0, _BEGINNING)
    said = _LAUNCHED.match(output, 0, _BEGINNING)
    if said and not said[1]:
        return ""
    if len(output) < _SHORT_NOTICE:
        return named[1] if named else "agent" if said else ""
    return named[1] if said and named else ""


def names_background(output: str) -> re.Match[str] | None:
    """Where the output of a command or an agent says by which id it goes on in the background; None if it does not."""
    if output.startswith(f"{COMPLETED}\n"):
        return None  # what a script's programs say of sessions is about their own
    beginning = output[:_FIRST_WORDS]
    return _BACKGROUND.search(beginning) if _BACKGROUND.found_in(beginning) else None


def background_id(output: str) -> str:
    """The id under which a command goes on in the background, so that nobody knows yet what comes of it; "" if it does not."""
    told = _RUNS_ON.match(output)
    return next(filter(None, told.groups()), "") if told else ""


def finished(report: str) -> str:
    """What an agent reports in the end, without the id and the usage that Claude Code writes below it."""
    at = report.rfind(_AGENT_ID)
    if _STARTED_AS.fullmatch(report):
        return ""
    return report[:at].rstrip() if at >= 0 and _BELOW_A_REPORT.match(report, at) else report


_STARTED_AS = LazyPattern(r"\s*\{\s*\"(?:task_name|agent_id|agent_name|nickname)\"\s*:[^{}]{1,300}\}\s*")
"""All that Codex answers where an agent was started: its name."""

_AGENT_ID = "agentId: "
_BELOW_A_REPORT = LazyPattern(
    r"agentId: [\w-]{1,80} \((?:for resuming|use SendMessage)[^)\n]{0,200}\)\s*(?:<usage>[^<]{0,400}</usage>\s*)?\Z"
)


def reported(output: str) -> str:
    """What an agent in the background reports, without what the client puts around it; "" while it is at work."""
    if _UNFINISHED.search(output, 0, _BEGINNING):
        return ""
    before, opening, inside = output.partition("<output>")
    return inside.partition("</output>")[0].strip() if opening else before


def unnumbered(text: str) -> str:
    """A tool's output without line numbers (``12→``), which are no identifiers, and without the client's notes."""
    if "<system-reminder>" in text:
        text = without_elements(text, opening=_REMINDER)
    if "→" in text:
        text = _without(_ARROWS, text)
    return _without(_NUMBERED, text) if _IS_NUMBERED.match(text) else text


def _without(numbers: LazyPattern, text: str) -> str:
    return numbers.sub("\n", f"\n{text}")[1:]


class TaskNotice(NamedTuple):
    """What a client reports on a task in the background: its id, its status, and what it came to, "" while unknown.

    The exit code is that of a command; None where it is not told.
    """

    task: str
    status: str
    report: str
    exit: int | None = None


def task_notices(text: str) -> list[TaskNotice]:
    """The tasks that a client reports on, in a message of its own or behind the output of whichever tool ran meanwhile."""
    found: list[TaskNotice] = []
    for notice in text.split("<task-notification>")[1:]:
        task = _TASK.search(notice)
        status = _STATUS.search(notice, task.end()) if task else None
        if task and status:
            inside = notice.partition("<result>")[2].partition("</result>")[0]
            code = _CODE.search(notice)
            found.append(
                TaskNotice(task[1].strip(), status[1].strip(), inside.strip(), int(code[1]) if code else None)
            )
    return found
