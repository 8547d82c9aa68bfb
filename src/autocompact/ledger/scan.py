"""One pass over the messages: what was said, what was called, what came back, which names stood where.

Each message is redacted before anything else looks at it. Everything the ledger says is worked out from this; no other place walks over the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count, dropwhile, pairwise
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field, structs

from autocompact.core.actions import Action, ends, interpret, told
from autocompact.core.messages import Message
from autocompact.core.pairing import Pairing, Place
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import (
    EMPTY,
    RedactedCall,
    RedactedMessage,
    RedactedPart,
    RedactedReasoning,
    RedactedResult,
    RedactedText,
    Redactor,
    cut,
    edited,
    filled,
    joined,
    pieces,
)
from autocompact.core.redaction import Redacted
from autocompact.core.spoken import (
    REMINDER,
    attached,
    is_carried,
    is_example,
    is_spoken,
    standing_words,
    untagged,
)
from autocompact.core.strides import LINE, in_lines
from autocompact.core.text_calls import with_calls
from autocompact.ledger.commands import is_check
from autocompact.ledger.outcomes import (
    TAIL,
    Outcome,
    edited_file,
    is_exit_code_missing,
    is_status_hidden,
    read_outcome,
    was_not_edited,
    without_result,
)
from autocompact.ledger.replies import asks, replied
from autocompact.ledger.sightings import NoSightings, Piece, Sightings, Spoken, Voice
from autocompact.ledger.stretches import as_sent, readable
from autocompact.ledger.tickets import SHORTEST, begins, closed, described, pointed_to, shown
from autocompact.ledger.wrapping import (
    background_id,
    finished,
    holds_instructions,
    launched,
    ordered,
    reported,
    task_notices,
    unnumbered,
)

Speaker: TypeAlias = Literal["user", "lead", "reply", "summary", "assistant", "program", "client"]
"""``lead``: an agent or hook that gives the orders; ``reply``: the user, as the result of a tool reports it; ``summary``: a
client's summary of what came before; ``program``: notes and instruction blocks in messages of the user's role; ``client``:
system messages after the system prompt."""


_SHORT = 400
"""Characters of the result of an edit below which it shows nothing of the file."""

_STATUS = LazyPattern(r"<status>(\w{1,20})</status>")
_NO_NEWS = LazyPattern(r"write_stdin failed:|\s*\Z")
_THINKING = LazyPattern(r"</?think(?:ing)?>\s*")
_TITLE = LazyPattern(r"^[ \t]*\*\*[^*\n]{1,200}\*\*[ \t]*$", re.MULTILINE)
_DIRECTIVES = LazyPattern(
    r"^::[a-z][a-z-]{1,40}\{[^\n]{0,1000}\}[ \t]*\n?"
    r"|<oai-mem-citation>(?:(?!<oai-mem-citation>).){0,4000}?</oai-mem-citation>\s?",
    re.MULTILINE | re.DOTALL,
)
"""What Codex's model writes for its program: a branch was made, a memory was used."""


class Call(Struct):
    """One tool call with its answer, as far as there is one.

    Attributes:
        seq: the message.
        action: what it does.
        id: its place in the log.
        output: the answer; of a command that goes on longer, with what later calls brought of it.
        is_error: whether it went wrong.
        answered: the message of the answer, 0 while there is none.
        outcome: what came of a command.
        begun: the call whose command goes on, where this one asks for the rest of its output.
    """

    seq: int
    action: Action
    id: Redacted
    output: Redacted = EMPTY
    is_error: bool = False
    answered: int = 0
    outcome: Outcome | None = None
    begun: Call | None = None

    @property
    def ends(self) -> bool:
        """True if the agent says by it that it is done."""
        return ends(self.action)

    @property
    def subject(self) -> Redacted:
        """The file or command it is about."""
        return self.action.files[0][0] if self.action.files else self.action.command


class Said(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Words that were said in the conversation.

    Attributes:
        seq: the message.
        by: who said it.
        text: the words.
        time: ISO 8601 stamp of the message, "" where unknown.
    """

    seq: int
    by: Speaker
    text: Redacted
    time: str = ""


class Scan(Struct):
    """What one pass found.

    Attributes:
        calls: the tool calls, each with its answer.
        said: the words of all speakers.
        spoken: the words of the agent alone, thoughts and reports of its sub-agents included.
        sightings: which names stood where.
        asked: what the user or a lead said.
        turns: requests so far.
        tickets: the words of those that the agent read and that are open, by their ids.
        agents: ids of the agents that were started in the background.
        background: commands that go on in the background, by their ids.
        ended: ids of the tasks of which the client said that they are through.
        last_seq: the last message.
    """

    calls: list[Call] = field(default_factory=list[Call])
    said: list[Said] = field(default_factory=list[Said])
    spoken: list[Spoken] = field(default_factory=list[Spoken])
    sightings: Sightings = field(default_factory=Sightings)
    asked: list[Redacted] = field(default_factory=list[Redacted])
    turns: int = 0
    tickets: dict[str, Spoken] = field(default_factory=dict[str, Spoken])
    agents: set[str] = field(default_factory=set[str])
    background: dict[str, Call] = field(default_factory=dict[str, Call])
    ended: set[str] = field(default_factory=set[str])
    last_seq: int = 0


def scan(
    messages: Iterable[Message],
    *,
    redactor: Redactor | None = None,
    with_names: bool = True,
) -> Scan:
    """Walk over the messages once. The system prompt is left out: it stays in the context anyway.

    Args:
        messages: in order.
        redactor: gives each message without secrets; others may share it.
        with_names: note where each name stands, which is most of the work.
    """
    found = Scan(sightings=Sightings() if with_names else NoSightings())
    pairing = Pairing()
    calls: dict[Place, Call] = {}
    redactor = redactor or Redactor()
    texts = [(message, readable(message)) for message in with_calls(_after_prompt(messages))]
    # a secret is known by its place once ("TOKEN=…"), and must go wherever else it stands, also before: so all is
    # read before the first is redacted
    redactor.learn(text for _, text in texts)
    # what is not told of a result in JSON may name a secret that is repeated elsewhere
    sent = ((as_sent(message), text) for message, text in texts if text is not message)
    redactor.learn(whole for whole, text in sent if whole.parts != text.parts)
    for index, (message, text) in enumerate(texts):
        found.last_seq = message.seq
        answered = {pair.result: pair.call for pair in pairing.push(message)}
        read = _in_lines(redactor(text))
        if message.role == "system":
            found.said.append(Said(seq=message.seq, by="client", text=read.text, time=message.time))
            continue
        files = _attached(read)
        for place, part in enumerate(read.parts):
            here = Place(index, place)
            if isinstance(part, RedactedCall):
                calls[here] = _call(found, part, seq=message.seq, place=place)
            elif isinstance(part, RedactedResult):
                call = calls.pop(answered.get(here, here), None)
                asked = call is not None and asks(call.action.name)
                words = edited(part.text, partial(replied, asked=asked, question=_question(call)))
                said = Said(seq=message.seq, by="reply", text=words, time=message.time)
                _result(found, part, said=said, call=call)
            elif isinstance(part, RedactedText):
                words = edited(part.text, _without_tags)
                _texts(found, _said(read, words, time=message.time, attached=place in files))
            elif isinstance(part, RedactedReasoning) and part.text:
                _speak(found, edited(part.text, _without_titles), seq=message.seq, voice="reasoning")
                found.sightings.add(Piece(seq=message.seq, source="reasoning", text=part.text))
    _close_turn(found)
    return found


def _question(call: Call | None) -> str:
    """What a call asks the user; "" where it asks nothing, or several things."""
    asked = call.action.arguments.get("question") if call is not None else None
    return asked if isinstance(asked, str) else ""


def _in_lines(message: RedactedMessage) -> RedactedMessage:
    """``message`` with no line that is too long to be read as one; cut only now, as a secret would be parted before."""
    if all(map(_is_line, message.parts)):
        return message
    parts = (
        part if isinstance(part, RedactedCall) else structs.replace(part, text=edited(part.text, in_lines))
        for part in message.parts
    )
    return structs.replace(message, parts=tuple(parts))


def _is_line(part: RedactedPart) -> bool:
    return isinstance(part, RedactedCall) or len(part.text) <= LINE


def _after_prompt(messages: Iterable[Message]) -> Iterator[Message]:
    """``messages`` without the system messages that the conversation begins with."""
    numbers = count(1)
    return dropwhile(lambda message: message.role == "system" and message.seq == next(numbers), messages)


def _without_tags(text: str) -> str:
    """``text`` without the tags that some models put around their thoughts, and without what they write for their program."""
    text = _THINKING.sub("", text) if "think" in text else text
    return _DIRECTIVES.sub("", text) if "::" in text or "<oai-mem" in text else text


def _without_titles(thoughts: str) -> str:
    """``thoughts`` without the headings that stand for them where the provider keeps the rest to itself."""
    return _TITLE.sub("", thoughts) if "**" in thoughts else thoughts


def _attached(message: RedactedMessage) -> range:
    """Places of the parts that are files beside the user's words."""
    if message.role != "user" or len(message.parts) < 2:
        return range(0)
    return attached([part.text if isinstance(part, RedactedText) else "" for part in message.parts])


def _said(message: RedactedMessage, text: Redacted, *, time: str, attached: bool) -> Iterator[Said]:
    """Who says a text: an order of a lead agent may stand in the user's place, or in a note of the program.

    The instruction blocks that a client puts before the user's words are the program's, and so is what it ``attached``.
    """
    said = partial(Said, seq=message.seq, time=time)
    if message.role == "assistant":
        yield said(by="assistant", text=text)
    elif attached:
        yield said(by="program", text=text)
    elif orders := edited(text, ordered):
        yield said(by="lead", text=orders)
    elif is_carried(text):
        yield said(by="summary", text=text)
    else:
        asks = message.is_request and is_spoken(text)
        blocks = edited(text, _instructions) if asks else text
        if blocks and not is_example(blocks):
            yield said(by="program", text=blocks)
        if asks and (words := edited(text, _after_instructions)):
            yield said(by="user", text=words)


def _instructions(text: str) -> str:
    return text[: standing_words(text)[0]]


def _after_instructions(text: str) -> str:
    return text[standing_words(text)[0] :].lstrip()


def _texts(found: Scan, texts: Iterable[Said]) -> None:
    for said in texts:
        _text(found, said)


def _text(found: Scan, said: Said) -> None:
    found.said.append(said)
    if said.by == "program" and _notices(found, said.text, seq=said.seq):
        return  # the rest is what the client says of itself
    if said.by == "assistant":
        _speak(found, said.text, seq=said.seq, voice="assistant")
    elif said.by in ("user", "lead"):
        _close_turn(found)
        found.turns += 1
        found.asked.append(said.text)
    if said.by == "program" and _stands(said.text, begun=bool(found.calls or found.spoken)):
        return  # its names stand in every request
    source = "user" if said.by in ("user", "lead") else "assistant" if said.by == "assistant" else "summary"
    text = edited(said.text, untagged) if said.by == "program" else said.text
    found.sightings.add(Piece(seq=said.seq, source=source, text=text))


def _stands(text: str, *, begun: bool) -> bool:
    """True if a note of the program is instructions; a reminder after the agent's first words is a remark."""
    names = standing_words(text)[1]
    return holds_instructions(text) or any(not (begun and name.startswith(REMINDER)) for name in names)


def _speak(found: Scan, text: Redacted, *, seq: int, voice: Voice) -> None:
    if text.strip():
        found.spoken.append(Spoken(seq=seq, voice=voice, text=text, turn=found.turns))


def _close_turn(found: Scan) -> None:
    """Mark the words after the last call as those that close the turn."""
    called = next((call.seq for call in reversed(found.calls) if not call.ends), 0)
    for words in reversed(found.spoken):
        if words.voice == "assistant" and words.turn == found.turns and words.seq > called:
            words.voice = "closing"
        elif words.voice not in ("reasoning", "closing"):
            break


def _notices(found: Scan, text: Redacted, *, seq: int) -> bool:
    """Take in what the client says of tasks in the background; False if it says nothing of them."""
    notices = task_notices(text)
    reports = pieces(text, lambda text: (notice.report for notice in task_notices(text)))
    for notice, report in zip(notices, reports, strict=True):
        if notice.status != "running":
            found.ended.add(notice.task)
        run = found.background.get(notice.task)
        if run is not None and run.outcome is not None and notice.exit is not None:
            run.outcome = structs.replace(run.outcome, failed=bool(notice.exit), exit=notice.exit, known=True)
        if report and notice.task in found.agents:
            _speak(found, report, seq=seq, voice="report")
            found.sightings.add(Piece(seq=seq, source="result", text=report))
    return bool(notices)


def _report(found: Scan, call: Call, *, text: Redacted) -> Redacted:
    """What a sub-agent reports in the result of ``call``; that it was started is no report."""
    if call.action.verb == "spawn":
        if agent := edited(text, launched):
            found.agents.add(agent)
            return EMPTY
        return edited(text, finished)
    return edited(text, reported) if call.action.task in found.agents else EMPTY


def _ran(found: Scan, call: Call, *, part: RedactedResult) -> None:
    """What came of a command, as far as its result tells."""
    hidden = _is_hidden(call.action.command, part.text)
    outcome = read_outcome(part.text, is_error=part.is_error, hidden=hidden)
    if is_exit_code_missing(part.text):
        outcome = structs.replace(outcome, known=outcome.failed or bool(outcome.counts))
    if (task := background_id(part.text)) and outcome.exit is None:
        outcome = without_result(outcome)
        found.background[task] = call
    call.outcome = outcome


def _polled(found: Scan, poll: Call, *, output: Redacted) -> None:
    """Update the outcome of the command in the background that ``poll`` looks at, from what it shows."""
    run = poll.begun = found.background[poll.action.task]
    # whoever reads of the look wants to know at what
    poll.action = structs.replace(poll.action, text=run.action.command)
    if poll.is_error or _NO_NEWS.match(output):
        return
    run.output = joined("\n", (cut(run.output, -TAIL), output))
    told = _STATUS.search(output, 0, _SHORT)
    status = told[1] if told else ""
    if task := background_id(output):
        found.background[task] = run  # a look that takes long goes on itself, under an id of its own
    if task or status in ("running", "pending"):
        return
    run.answered = poll.answered
    ended = read_outcome(
        run.output, is_error=status == "failed", hidden=_is_hidden(run.action.command, output)
    )
    is_known = status == "completed" or ended.exit is not None or ended.failed or bool(ended.counts)
    run.outcome = structs.replace(ended, known=is_known)
    found.ended |= {id for id, one in found.background.items() if one is run}
    if not is_exit_code_missing(output):  # else it may go on: then the next look says more
        found.background = {id: one for id, one in found.background.items() if one is not run}


def _is_hidden(command: str, output: str) -> bool:
    """Whether no exit code tells how ``command`` ended: "pytest | tail" ends with that of tail, and a script may keep it to itself."""
    return is_exit_code_missing(output) or (is_check(command) and is_status_hidden(command))


def _tickets(found: Scan, call: Call, *, text: Redacted) -> None:
    """Take in what tickets ask for, and which of them are closed, or read again."""
    ids = frozenset[str]() if call.is_error else shown(call.action) or pointed_to(call.action, found.asked)
    for name in (ids | closed(call.action)) & found.tickets.keys():
        found.tickets.pop(name).voice = "closed"
    told = edited(text, described) if ids else EMPTY
    if len(told) < SHORTEST:
        return
    places = begins(told, ids)
    # the ids are words of the call
    names = pieces(call.action.text, lambda _call: (name for _, name in places))
    starts = (*(start for start, _ in places), len(told))
    for name, (start, end) in zip(names, pairwise(starts), strict=True):
        of = filled("asked for in {}", name)
        words = Spoken(
            seq=call.answered, voice="ticket", text=cut(told, start, end=end), turn=found.turns, of=of
        )
        found.spoken.append(words)
        found.tickets[name] = words


def _call(found: Scan, part: RedactedCall, *, seq: int, place: int) -> Call:
    call = Call(seq=seq, action=interpret(part), id=filled("{}.{}", seq, place))
    found.calls.append(call)
    source = "edit" if call.action.verb in ("edit", "create") else "call"
    # of what the agent offers to choose from the answer says what holds
    text = EMPTY if asks(call.action.name) else call.action.text
    found.sightings.add(Piece(seq=seq, source=source, text=text, where=call.subject))
    _speak(found, told(call.action), seq=seq, voice="assistant")
    return call


def _result(found: Scan, part: RedactedResult, *, said: Said, call: Call | None) -> None:
    """Take in a result; ``said`` is what the user says inside of it."""
    text = edited(part.text, unnumbered)
    if call is not None:
        call.output, call.answered = part.text, said.seq
        edits = call.action.verb in ("edit", "create", "delete")
        if edits and not call.action.files and (path := edited(part.text, edited_file)):
            call.action = structs.replace(call.action, files=((path, "edited"),))
        # many clients report an edit that did not match as an ordinary result
        call.is_error = part.is_error or (edits and was_not_edited(part.text))
        if call.action.command:
            _ran(found, call, part=part)
        elif call.action.task in found.background and call.action.verb == "poll":
            _polled(found, call, output=part.text)
        _tickets(found, call, text=text)
        report = _report(found, call, text=text)
        _speak(found, report, seq=said.seq, voice="report")
        started = call.action.verb == "spawn" and not report
        if started or (edits and len(text) < _SHORT):
            text = EMPTY  # that an agent was started, that a file was written or was not: the client's words
    if said.text:
        found.said.append(said)
    _notices(found, part.text, seq=said.seq)
    found.sightings.add(
        Piece(seq=said.seq, source="result", text=text, where=call.subject if call else EMPTY)
    )
