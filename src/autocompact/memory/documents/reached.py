"""What a session reached: one task for each request after which files changed or a commit was made.

A task is named by what came of it: the title of its commits, else what the agent's report at the end of the turn says was
done or is different now. Where the report says neither, but explains, asks or lists, the request names the task if it says in
one sentence what is wanted; a remark, a pasted log or a command of the client does not, and the files that changed do. Its
outcome says, as far as the log shows it, how the tests ended, which files changed, the commits, how long it took and how many
tokens it added.

A request that only asked, or after which nothing changed, is no task: the summary of the session has the answer. One that
came while the agent was at work belongs to what it was at work on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, edited, filled, joined, one_line
from autocompact.core.redaction import Redacted
from autocompact.core.stamps import instant_of
from autocompact.ledger.claims import claim
from autocompact.ledger.findings import announces, only_intends
from autocompact.ledger.outcomes import committed
from autocompact.ledger.passages import passages, sentences
from autocompact.ledger.scan import Call, Said, scan
from autocompact.memory.documents.archive_entries import ArchivedTask
from autocompact.memory.documents.requests import says_something
from autocompact.memory.documents.session import tasks_in_summary

NAMED_FILES = 5
"""Files that a task names; the others are counted."""
LONGEST_NAME = 160
"""Characters of a task's name."""

_LOOKED_AT = 12
"""Statements of a report among which one that says what was done is looked for: further down are details."""
_NEVER_DONE = ("withdrawn", "superseded", "reverted")
_TEMPORARY = LazyPattern(r"/(?:private/|var/)?tmp/|/dev/|.*/\.claude/plans/|(?:.*/)?\.git/(?:.*\.lock|\w+)\Z")
_TESTS = LazyPattern(r"\b\d{1,9} (?:tests? )?(?:passed|failed|passing|failing)\b", re.IGNORECASE)
_FIGURE = LazyPattern(r"\d+")
_FAILED = LazyPattern(r"[1-9]\d* (?:tests? )?fail", re.IGNORECASE)
_CHECKED = LazyPattern(
    r"(?i:\b(?:tests?|lint\w*|build|checks?|ci|pruebas)\b.*(?:\b(?:pass\w*|clean|green|succe\w+|ok|grün|bestanden|durch|passent|réussi\w*|pasan)\b|✅))"
    r"|测试.*通过|テスト.*(?:通|成功)"
)
"""That the checks pass says nothing of what was done."""
_OF_CHECKS = LazyPattern(
    r"(?:all|both|the|\d+)?\s*(?:\w+ )?(?:tests?|lint\w*|build|checks?|ci)\b", re.IGNORECASE
)
_MESSAGE = LazyPattern(
    r"\bgit (?:-\S+ \S+ )?commit\b[^\n]*?\s-\w*m[ =]?[\"'](?:\$\(cat <<-?\s*\W?\w+\W?\n)?(?P<title>[^\n\"']+)"
)
_NOW = LazyPattern(
    r"(?<!\.)(?<!right )\b(?:now(?!\(|,? that\b)|no longer|jetzt|nun|nicht mehr|désormais|maintenant|ne \w+ plus|ahora|ya no|adesso|agora|теперь|больше не)\b"
    r"|\A(?:the|this) (?:fix|change|patch|update)\b|现在|不再|今は|ようになりました|이제",
    re.IGNORECASE,
)
"""A statement that tells what is different since."""
_PLAN = LazyPattern(
    r"(?:\A|, )(?:so |now )?(?:you|we|I) (?:can|could|should|may|might|need|will|must)\b", re.IGNORECASE
)
"""What is to come, after what was done: "With the bug fixed, we can now submit"."""
_ENDED = LazyPattern(
    r"[^,;:]{0,60}\b(?:is|are|has|have) (?:all |now |been )*(?:done|finished|complete|completed)",
    re.IGNORECASE,
)
"""That work has ended says nothing of what it was."""
_POINTING = LazyPattern(
    r"(?:[A-Za-z]{3,}ed|made|wrote|rewrote|split) (?:it|this|that|these|those|them|everything)\b[^:]*",
    re.IGNORECASE,
)
"""A deed whose object stands somewhere else: "Documented it in the guide"."""
_VERIFIED = LazyPattern(
    r"(?:verified|tested|checked|validated|confirmed) (?:with|that|by|via|it|in|on|against)\b", re.IGNORECASE
)
"""What was done to see that the work is right."""
_DETAIL = LazyPattern(r"\w+ (?:the |an? |unused |missing )*\S{0,40} ?imports?(?: \S+){0,4}", re.IGNORECASE)
"""A deed that goes with every other."""
_MARKDOWN_LINK = LazyPattern(r"\[([^\]\n]+)\]\([^)\n]*\)?")
_SCRATCH = LazyPattern(r"\bmktemp\b|\b(?:cd|-C) [\"']?(?:/private|/var)?/tmp\b")
"""A repository made for a try: its commits are none of the session's."""
_ADVICE = LazyPattern(r"\b(?:you|we) (?:can|could|should|may|might|need)\b", re.IGNORECASE)
_ASIDE = LazyPattern(
    r"\W*\(|(?:this (?!fix|change|patch|update)|these|those|it|it's|good|great|note|if|when|unless|whether)\b",
    re.IGNORECASE,
)
"""How a statement begins that is about something else than what was done."""
_MARK = LazyPattern(r"[✅✔☑🎉✓✨🚀]\ufe0f?\s*")
_AT = LazyPattern(r"(?:`[^`]+`|[\w./-]+\.\w{1,5})(?: \([^()]*\))?\s*(?:[-–—:]|→)\s+")
"""The file that a statement begins with."""
_PASTED = LazyPattern(
    r"<[a-z/]|```|===|\{|\[[0-9a-f]{7,}|.*(?:\.\w{1,4}:\d+|\b[A-Z]+ +\w+\.\w+:|\bat \S+ \()"
)
_REMARK = LazyPattern(
    r"(?:\(|(?:I|I've|I'm|I'd|I'll|it|it's|that|that's|this|these|those|there|hmm+|erm+|well|so|but|if|(?:what|why|how|when|where|who)(?:'?s)?|which|is|are|do"
    r"|does|did|has|have|was|were|(?:now,? )?you(?:r|'re)?)\b)|.*(?:\?|？)\Z|.*\bI (?:thought|think|guess|wonder|suppose)\b",
    re.IGNORECASE,
)
"""What a request says beside what is wanted: a remark, or a question."""
_CHOICE = LazyPattern(r"(?:do|option|number|go with|take|use|yes,?) (?:\d|[a-d]\b)", re.IGNORECASE)
"""A choice among what the agent had offered."""
_AGAIN = LazyPattern(r"(?:(?:try|do|run|check) (?:it |that |this )?again|retry)\b", re.IGNORECASE)
"""What is to be done again stands somewhere else."""
_ASKS_FOR = LazyPattern(
    r"(?:(?:yes|yeah|ok|okay|sure|great|cool|nice|no|hm+|and|so|then|now|well|also)[,.!]? +)*"
    r"(?:(?:can|could|would|will) (?:we|you)(?: please)?(?: also)?|let's(?: also)?|please|maybe|(?:I'd|I would) like (?:you )?to"
    r"|I (?:want|need) (?:you )?to|kannst du(?: bitte)?|bitte|peux-tu|pouvez-vous|puedes)\s+(?=\S)",
    re.IGNORECASE,
)
_LINKING = LazyPattern(r"\A(?:also|and|then|next|please|ok(?:ay)?|yes),? +(?=\w)", re.IGNORECASE)
_LABEL = LazyPattern(r"([^:：]{1,40})[:：]\s+(?=\S)")
_SPEAKER = LazyPattern(r"(?:I|we)(?:'ve| have)? (?:also |now |just )?(?=[a-z])", re.IGNORECASE)
_DEED = LazyPattern(
    r"(?:added|implemented|updated|created|wrote|written|rewrote|replaced|refactored|removed|deleted|dropped|renamed|moved|merged"
    r"|fixed|changed|split|extracted|reverted|restored|enabled|disabled|made|switched|configured|documented|simplified|improved"
    r"|cleaned|migrated|converted|introduced|bumped|upgraded|reworked|extended|corrected|strengthened|wired|ported)\b",
    re.IGNORECASE,
)
"""How a report in English begins to say what was done; in other languages `claim` tells."""
_PAST = LazyPattern(
    r"(?!(?:bas|relat|unrelat|need|inde|notic|propos|suggest|expect|suppos|recommend|requir|plann?|fail|block|detail|locat|assum|us)ed\b)"
    r"[a-z]{2,}[^\Waeiou]ed (?!on\b|to\b|from\b)"
    r"|(?:[\w-]+ ){1,4}(?:written|created|added|updated|moved|removed|saved|renamed) (?:to|in|into|from|at|under)\b",
    re.IGNORECASE,
)
"""A regular verb in the past ("Rounded the cart"), or a participle with a place ("Design written to docs")."""
_OF_REPORTS = "previous request files file modified summary change changes changed implementation implement implemented complete completed fix fixed fixes following update updated right two three both count counts"


@dataclass(slots=True)
class _Turn:
    """From one request to the next."""

    request: Said
    calls: list[Call] = field(default_factory=list[Call])
    report: Redacted = EMPTY
    is_over: bool = False
    ended: str = ""


@dataclass(slots=True)
class _Done:
    """What was done in a turn."""

    turn: _Turn
    end: int
    files: list[Redacted]
    commits: list[Redacted]
    is_alone: bool = False
    """A later turn committed it and nothing else."""


def tasks_of(
    record: Compaction,
    messages: Sequence[Message],
    *,
    cwd: str = "",
    tokens: Callable[[int], int] = lambda _: 0,
) -> tuple[ArchivedTask, ...] | None:
    """The tasks that the summary of ``record`` lists, else those that ``messages`` show; None if neither tells.

    Args:
        record: the compaction.
        messages: what it is about, a part of the log or all of it.
        cwd: the folder that the session ran in.
        tokens: tokens of the message of a ``seq``.
    """
    states = {entry.seq: entry.state for entry in record.ledger.entries if entry.kind == "request"}
    return tasks_in_summary(record.summary) or tasks_reached(messages, cwd=cwd, states=states, tokens=tokens)


def tasks_reached(
    messages: Sequence[Message],
    *,
    cwd: str = "",
    states: Mapping[int, str] | None = None,
    tokens: Callable[[int], int] = lambda _: 0,
) -> tuple[ArchivedTask, ...] | None:
    """The tasks of a session, oldest first; None if no tool was called in it, so that nothing can be told.

    Args:
        messages: the log, or a part of it.
        cwd: the folder that the session ran in; files below it are named from there.
        states: the state of requests by ``seq``, as the ledger has it.
        tokens: tokens of the message of a ``seq``.
    """
    turns = _turns(messages)
    if not any(turn.calls for turn in turns):
        return None
    ends = [turn.request.seq - 1 for turn in turns[1:]] + [messages[-1].seq]
    known = states or {}
    return tuple(
        ArchivedTask(text=_name(each), outcome="; ".join(_outcome(each, known, tokens=tokens)))
        for each in _done(turns, ends, cwd=cwd)
    )


def _turns(messages: Sequence[Message]) -> list[_Turn]:
    """The turns; a request that came before the agent had reported on the one before belongs to that."""
    found = scan(messages, with_names=False)
    turns = list(_begun(messages, found.said))
    starts = [turn.request.seq for turn in turns]

    def turn_of(seq: int) -> _Turn:
        return turns[bisect_right(starts, seq) - 1]

    for call in found.calls:
        turn_of(call.seq).calls.append(call)
    for said in found.said:
        if said.by == "assistant" and said.time:
            turn_of(said.seq).ended = said.time
    for spoken in found.spoken:
        if spoken.voice in ("closing", "assistant"):
            turn = turn_of(spoken.seq)
            turn.is_over = not turn.calls or spoken.seq > turn.calls[-1].seq
            turn.report = spoken.text
    return list(_whole(turns))


def _begun(messages: Sequence[Message], said: Iterable[Said]) -> Iterator[_Turn]:
    """A turn for each request. What the log begins with belongs to a request that came before it."""
    last = 0
    for request in (each for each in said if each.by in ("user", "lead")):
        if not last and request.seq > messages[0].seq:
            yield _Turn(_before(messages[0]))
        if request.seq > last:
            yield _Turn(request)
        last = request.seq
    if not last and messages:
        yield _Turn(_before(messages[0]))


def _before(message: Message) -> Said:
    return Said(seq=message.seq, by="user", text=EMPTY, time=message.time)


def _whole(turns: Iterable[_Turn]) -> Iterator[_Turn]:
    begun: _Turn | None = None
    for turn in turns:
        if begun is not None:
            turn.calls[:0] = begun.calls
            turn.request = begun.request
        begun = turn if turn.calls and not turn.is_over else None
        if begun is None:
            yield turn
    if begun is not None:
        yield begun


def _done(turns: Iterable[_Turn], ends: Iterable[int], *, cwd: str) -> list[_Done]:
    """The turns in which something was done. A turn that only commits belongs to those that it commits."""
    found: list[_Done] = []
    waiting: list[_Done] = []
    for turn, end in zip(turns, ends, strict=True):
        each = _Done(turn, end, _files(turn.calls, cwd=cwd), list(_commits(turn.calls)))
        if not each.files and each.commits and waiting:
            for earlier in waiting:
                earlier.commits += each.commits
                earlier.is_alone = len(waiting) == 1
        elif each.files or each.commits:
            found.append(each)
            waiting.append(each)
        if each.commits:
            waiting = []
    return found


def _files(calls: Iterable[Call], *, cwd: str) -> list[Redacted]:
    folder = f"{cwd.rstrip('/')}/" if cwd else ""
    return list(
        dict.fromkeys(
            edited(path, lambda text: text.removeprefix(folder))
            for call in calls
            if call.answered and not call.is_error and not (call.outcome and call.outcome.failed)
            for path, effect in call.action.files
            if effect != "read" and not _TEMPORARY.match(path)
        )
    )


def _commits(calls: Iterable[Call]) -> Iterator[Redacted]:
    """Hash and title of each commit; the title alone where git was quiet."""
    for call in calls:
        if call.outcome and not call.outcome.failed and not _SCRATCH.search(call.action.command):
            made = edited(call.outcome.counts, committed) or edited(call.action.command, _quiet_commit)
            if made:
                yield made


def _quiet_commit(command: str) -> str:
    given = _MESSAGE.search(command)
    return f" {given['title'].strip()}" if given else ""


def _title(commit: str) -> str:
    return commit.partition(" ")[2]


# What it is called


def _name(done: _Done) -> Redacted:
    own = set(_commits(done.turn.calls))
    titles = [commit for commit in done.commits if commit in own]
    told = edited(done.turn.report, _reached)
    if not titles and not told and done.is_alone:
        titles = done.commits
    if titles:
        # a commit that was made anew (amended, rebased) has its title twice
        return _cut(joined("; ", dict.fromkeys(edited(commit, _title) for commit in titles)))
    told = told or edited(done.turn.report, _headed) or edited(done.turn.request.text, _wanted)
    return _cut(told or filled("Changed {}", joined(", ", done.files)))


def _cut(text: Redacted) -> Redacted:
    text = one_line(text)
    return text if len(text) <= LONGEST_NAME else edited(text, lambda whole: f"{whole[: LONGEST_NAME - 1]}…")


def _reached(report: str) -> str:
    """What ``report`` says was done or is different now, in one statement; "" if it says neither."""
    told = [(each, plain) for each in _statements(report) if _tells(plain := _plain(each))][:_LOOKED_AT]
    ranked = [
        (rank, place, plain)
        for place, (each, plain) in enumerate(told)
        if (rank := _rank(each, plain)) is not None
    ]
    best = min(ranked, default=(0, 0, ""))[2]
    return best[:1].upper() + best[1:]


def _rank(statement: str, plain: str) -> int | None:
    """How surely a statement tells what was done, 0 the most; None if it does not. ``plain`` is without its label."""
    if _POINTING.fullmatch(plain) or _ENDED.fullmatch(plain) or _PLAN.search(plain):
        return None
    if _VERIFIED.match(plain):
        return None
    if _DETAIL.fullmatch(plain):
        return 4
    if _DEED.match(plain):
        return 0
    if (at := _AT.match(plain)) and _DEED.match(plain, at.end()):
        return 1
    if _ASIDE.match(plain):
        return None
    if claim(plain) == "done" or _PAST.match(plain) or _DEED.match(_MARK.sub("", statement)):
        return 2
    return 3 if _NOW.search(plain) and not _ADVICE.search(plain) else None


def _headed(report: str) -> str:
    """The heading that ``report`` begins with, "" if it has none that says something."""
    first = report.lstrip().partition("\n")[0]
    title = _plain(first.strip("#* ")) if first.startswith(("#", "**")) and len(first) < LONGEST_NAME else ""
    return title if _tells(title) else ""


def _statements(report: str) -> Iterator[str]:
    """Headings, sentences and list items, in order. What leads to a list goes before its first item."""
    above = ""
    for passage in passages(report):
        lead = passage.about if passage.about != above else ""
        above = passage.about
        *before, last = sentences(lead) or [""]
        yield from before
        items = passage.text.split("; ") if passage.items else sentences(passage.text)
        if last and passage.items:
            yield f"{last}: {items[0]}"
            items = items[1:]
        elif last:
            yield last
        yield from items


def _plain(statement: str) -> str:
    """The statement without a mark, a label such as "Summary:" and who says it."""
    statement = _MARKDOWN_LINK.sub(r"\1", _MARK.sub("", statement))
    label = _LABEL.match(statement)
    if label and not _says(label[1]):
        statement = statement[label.end() :]
    return (
        _SPEAKER.sub("", statement.rstrip(" .。:："), count=1)
        if _SPEAKER.match(statement)
        else statement.rstrip(" .。:：")
    )


def _says(text: str) -> bool:
    return says_something(text, besides=_OF_REPORTS)


def _tells(statement: str) -> bool:
    is_promise = announces(statement) or only_intends(statement)
    is_short = len(statement) < LONGEST_NAME // 2
    is_check = is_short and _CHECKED.search(statement) is not None
    # "The limit is now 100, tests pass" tells more than that they do
    is_check = is_check and not (_NOW.search(statement) and not _OF_CHECKS.match(statement))
    return not (is_promise or is_check or statement.endswith(("?", "？"))) and _says(statement)


def _wanted(request: str) -> str:
    """What ``request`` wants, in one sentence and without its politeness; "" if it does not say so."""
    for line in request.splitlines():
        # what follows is an output or a command of the client
        if _PASTED.match(line.lstrip()):
            break
        if line.startswith("#") or line.rstrip().endswith((":", "：")):
            continue
        for sentence in sentences(" ".join(line.strip(" -*•").split())):
            polite = _ASKS_FOR.match(sentence)
            wanted = sentence[polite.end() :].rstrip("?？ ") if polite else _LINKING.sub("", sentence)
            is_other = (
                _CHOICE.match(wanted) or _AGAIN.match(wanted) or (polite is None and _REMARK.match(wanted))
            )
            if says_something(wanted) and not is_other:
                return wanted[:1].upper() + wanted[1:]
    return ""


# What is known of it


def _outcome(done: _Done, states: Mapping[int, str], *, tokens: Callable[[int], int]) -> Iterator[str]:
    turn = done.turn
    tests = _tests(turn.calls)
    state = states.get(turn.request.seq, "")
    if state in _NEVER_DONE:
        yield state
    elif not turn.is_over:
        yield "open"
    else:
        yield "partly done" if any(map(_FAILED.search, tests)) else "done"
    if tests:
        yield ", ".join(tests)
    if done.files:
        named = ", ".join(done.files[:NAMED_FILES]) + ", …" * (len(done.files) > NAMED_FILES)
        yield f"{len(done.files)} {'file' if len(done.files) == 1 else 'files'}: {named.translate(_PLAIN)}"
    if hashes := [made for commit in done.commits if (made := commit.partition(" ")[0])]:
        yield f"commit {', '.join(hashes)}"
    yield from _lasted(turn.request.time, turn.ended)
    if count := sum(map(tokens, range(turn.request.seq, done.end + 1))):
        yield f"{count / 1000:.1f}K tokens" if count >= 1_000 else f"{count} tokens"


def _tests(calls: Iterable[Call]) -> list[str]:
    """How the largest test run ended, the last one of those: what runs after it are parts of it."""
    best: tuple[int, list[str]] = (0, [])
    for call in calls:
        told = _TESTS.findall(call.outcome.counts) if call.outcome else []
        total = sum(int(_FIGURE.findall(each)[0]) for each in told)
        best = (total, told) if told and total >= best[0] else best
    return best[1]


_PLAIN = str.maketrans({"(": "", ")": "", ";": ","})
"""Brackets would end the outcome, a semicolon the part of it."""


def _lasted(start: str, end: str) -> Iterator[str]:
    begun, ended = instant_of(start), instant_of(end)
    if begun and ended:
        seconds = round((ended - begun).total_seconds())
        hours, minutes = divmod(round(seconds / 60), 60)
        if seconds >= 60:
            yield f"{hours} h {minutes} min" if hours else f"{minutes} min"
        elif seconds > 0:
            yield f"{seconds} s"
