"""Masking: old tool outputs become one-line stubs that say what they were and where they are.

The cheapest step of the ladder: tool outputs are most of an agent's context, most of them are read once, and the
archive keeps them all. The call itself stays, so the model still knows what it did.

What a program wrote in the user's place counts as an output too: what came of a command that the user ran, a notice of a
task in the background. Instructions, orders of another agent and a client's summary of what came before do not.

What stays as it is: results the model has not seen yet, the newest ones, small ones, what the user answered, and
errors that no later run of the same thing overcame. What goes first: outputs that a later one outdated - the file
was read again or edited, the command run again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from autocompact.compaction.record import Mask
from autocompact.core.actions import Action, interpret
from autocompact.core.content import Content, content_of
from autocompact.core.lookup import OPENS, OPENS_ALL
from autocompact.core.messages import Message, Text, ToolResult
from autocompact.core.pairing import Place, pairs
from autocompact.core.redacted import (
    EMPTY,
    RedactedCall,
    RedactedMessage,
    RedactedResult,
    RedactedText,
    cut,
    edited,
    filled,
    joined,
    one_line,
    own,
    redacted,
)
from autocompact.core.redaction import Redacted
from autocompact.core.spoken import is_carried, is_skill, is_spoken, standing_words, untagged
from autocompact.core.tokens import Counter, message_cost, truncated
from autocompact.ledger.outcomes import normal, read_outcome
from autocompact.ledger.wrapping import ordered

MIN_TOKENS = 120
"""Results smaller than this stay by default: a stub takes about 50 tokens itself."""

MIN_NOTE_TOKENS = 400
"""Notes of a program smaller than this stay: they may say what to do."""

ANSWERED_BY_USER = frozenset(
    {"askuserquestion", "ask_user", "ask_followup_question", "exitplanmode", "skill"}
)
"""Tools, in lower case, whose results are the user's words or instructions loaded on purpose: never masked."""

LEAST_CUT = 60
"""Tokens below which nothing that helps is left of a result: what is said of the cut takes half of them."""

_LONGEST_ARGUMENT = 60
_LONGEST_OUTCOME = 120
_HEAD = 300
_TAIL = 2_000
_STUB: Final = "[left the context: "
_ARGUMENTS = ("pattern", "query", "url", "uri", "path", "prompt", "description", "id")


class _Output(Struct, kw_only=True):
    """A tool result that could be masked: at ``index`` in the messages, part ``part`` of message ``seq`` of the log.

    ``result`` is what the model is sent, and weighed; what a mask says comes from ``call`` and ``clean``. A note of a program
    has a call that says how it begins, and its text as result.
    """

    index: int
    seq: int
    part: int
    call: RedactedCall
    result: ToolResult
    clean: RedactedResult
    action: Action
    tokens: int
    is_note: bool
    outdated: bool = False


def mask_old_results(
    messages: Sequence[Message],
    tokens: Sequence[int],
    *,
    counter: Counter,
    protect_tokens: int = 0,
    keep_from: int | None = None,
    min_tokens: int = MIN_TOKENS,
    save_tokens: int | None = None,
    pinned: Collection[int] = (),
    redactor: Callable[[Message], RedactedMessage] = redacted,
) -> tuple[Mask, ...]:
    """Stubs for old tool results, each weighing strictly less than what it stands for.

    Args:
        messages: the live log, or a context; made messages (``seq`` 0) are passed over.
        tokens: what each message weighs, index as in ``messages``.
        counter: weighs the stubs.
        protect_tokens: the newest results that together weigh at most this much stay.
        keep_from: results in messages from this ``seq`` on stay; None: no such bound.
        min_tokens: smaller results stay.
        save_tokens: stop as soon as this much is saved; None: mask all there is.
        pinned: messages (``seq``) whose results stay.
        redactor: gives each message without secrets.

    Returns:
        The masks by place. Results after the last word of the model, which it has not seen yet, have none.
    """
    # all of them, also those that stay: a newer read makes an older one outdated
    outputs = list(_outputs(messages, tokens, counter=counter, redactor=redactor))
    _mark_outdated(outputs)
    old = outputs[: _newest(outputs, protect_tokens)]
    # invariant 17: a result behind the last answer was not read yet
    seen = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=-1)
    candidates = [
        output
        for output in old
        if output.index < seen
        and output.seq > 0
        and (keep_from is None or output.seq < keep_from)
        and output.seq not in pinned
        and output.tokens >= (max(min_tokens, MIN_NOTE_TOKENS) if output.is_note else min_tokens)
        and _may_go(output)
    ]
    # stable, so oldest first within each: outdated results say what is no longer true
    candidates.sort(key=lambda output: not output.outdated)
    masks = _masks(candidates, counter=counter, enough=save_tokens)
    return tuple(sorted(masks, key=lambda mask: (mask.seq, mask.part)))


def stub_results(
    messages: Sequence[Message],
    *,
    counter: Counter,
    without: Collection[int],
    redactor: Callable[[Message], RedactedMessage] = redacted,
) -> tuple[Mask, ...]:
    """Stubs for all results of ``messages`` but those in the messages ``without`` (by ``seq``), where they save tokens."""
    tokens = [message_cost(message, counter).tokens for message in messages]
    outputs = _outputs(messages, tokens, counter=counter, redactor=redactor)
    candidates = [
        output for output in outputs if output.seq > 0 and output.seq not in without and _may_go(output)
    ]
    return tuple(_masks(candidates, counter=counter, enough=None))


def cut_results(
    messages: Sequence[Message],
    *,
    counter: Counter,
    save_tokens: int,
    pinned: Collection[int] = (),
    redactor: Callable[[Message], RedactedMessage] = redacted,
) -> tuple[Mask, ...]:
    """The largest tool results cut in their middle, all to the same size: for results that the model must still see.

    A cut result is part of the record, which is stored and shown, so it has no secrets, unlike one that stays whole.

    Args:
        messages: a part of a context that holds calls and results; made messages (``seq`` 0) are passed over.
        counter: weighs the results.
        save_tokens: what all of them together have to lose.
        pinned: messages (``seq``) whose results stay.
        redactor: gives each message without secrets.

    Returns:
        The masks by place; none if so little would be left of each that it says nothing.
    """
    outputs = [
        replace(output, tokens=_weigh(output.result, counter))
        for output in _outputs(messages, [0] * len(messages), counter=counter, redactor=redactor)
        if output.seq > 0 and output.seq not in pinned
    ]
    most = _level([output.tokens for output in outputs], save_tokens)
    # one level for all: the largest give most, and small ones stay whole
    large = [output for output in outputs if output.tokens > most]
    texts = [_cut_text(output, most, counter=counter) for output in large if most >= LEAST_CUT]
    masks = [
        Mask(seq=output.seq, part=output.part, stub=text)
        for output, text in zip(large, texts, strict=False)
        if _weigh(ToolResult(call_id=output.result.call_id, text=text), counter) <= most
    ]
    # all or none: a part of the saving does not make the request fit
    return tuple(masks) if len(masks) == len(large) else ()


def _level(sizes: Iterable[int], save: int) -> int:
    """The size to which the larger of ``sizes`` must come down so that ``save`` is saved; 0 if none is enough."""
    total = 0
    largest_first = sorted(sizes, reverse=True)
    for count, (size, below) in enumerate(pairwise([*largest_first, 0]), 1):
        total += size
        level = (total - save) // count
        if level >= below:
            return level
    return 0


def _cut_text(output: _Output, most: int, *, counter: Counter) -> Redacted:
    """Beginning and end of a result, in a message of at most ``most`` tokens."""
    note = filled("\n[" + OPENS_ALL, output.seq)
    frame = _weigh(ToolResult(call_id=output.result.call_id, text=note), counter) + 1
    shorter = edited(output.clean.text, partial(truncated, tokens=most - frame, counter=counter))
    return joined("", (shorter, note))


def _masks(candidates: Iterable[_Output], *, counter: Counter, enough: int | None) -> Iterator[Mask]:
    saved = 0
    for output in candidates:
        if enough is not None and saved >= enough:
            return
        # the longer one says more; a short result may be smaller than it
        for stub in (_stub(output), _short_stub(output)):
            weight = _weigh(ToolResult(call_id=output.result.call_id, text=stub), counter)
            if weight < output.tokens:
                saved += output.tokens - weight
                yield Mask(seq=output.seq, part=output.part, stub=stub)
                break


def _outputs(
    messages: Sequence[Message],
    tokens: Sequence[int],
    *,
    counter: Counter,
    redactor: Callable[[Message], RedactedMessage],
) -> Iterator[_Output]:
    """The results of calls and the notes of programs, in order."""
    found = {pair.result: pair.call for pair in pairs(messages)}
    for index, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            at = found.get(Place(index, place))
            if at is not None:
                call = redactor(messages[at.message]).parts[at.part]
                assert isinstance(call, RedactedCall), "a pair begins with a call"
                assert isinstance(part, ToolResult), "a pair ends with a result"
                clean = redactor(message).parts[place]
                assert isinstance(clean, RedactedResult), "a redacted part is of its part's kind"
                result = part
            elif isinstance(part, Text) and _is_output(message, part.text):
                said = redactor(message).parts[place]
                assert isinstance(said, RedactedText), "a redacted part is of its part's kind"
                call, clean = _as_output(said.text, at=filled("{}.{}", message.seq, place))
                result = ToolResult(call_id="", text=part.text)
            else:
                continue
            yield _Output(
                index=index,
                seq=message.seq,
                part=message.place_of(place),
                call=call,
                result=result,
                clean=clean,
                action=interpret(call),
                # weighed already, unless several parts share the message
                tokens=tokens[index] if len(message.parts) == 1 else _weigh(result, counter),
                is_note=at is None,
            )


def _is_output(message: Message, text: str) -> bool:
    """True for a text in the user's place that a program wrote and that is neither an instruction, an order nor a summary."""
    if message.role != "user" or (not message.synthetic and is_spoken(text)):
        return False
    return not (standing_words(text)[0] or is_skill(text) or is_carried(text) or ordered(text))


def _as_output(note: Redacted, *, at: Redacted) -> tuple[RedactedCall, RedactedResult]:
    """A note of a program as a call, no two of which are the same, and its result."""
    begins = one_line(cut(edited(note, untagged), end=_HEAD))
    call = RedactedCall(name=own("note"), arguments=at, values={"description": begins})
    return call, RedactedResult(text=note, is_error=False, media=())


def _weigh(result: ToolResult, counter: Counter) -> int:
    """Tokens of a message of nothing but ``result``, so that a result and its stub compare like with like."""
    return message_cost(Message(seq=0, role="tool", parts=(result,)), counter).tokens


def _newest(outputs: Sequence[_Output], protect_tokens: int) -> int:
    """The index from which on the results weigh at most ``protect_tokens`` together."""
    index = len(outputs)
    while index and outputs[index - 1].tokens <= protect_tokens:
        index -= 1
        protect_tokens -= outputs[index].tokens
    return index


def _may_go(output: _Output) -> bool:
    # an error that nothing has mended yet is what the agent is working on
    if output.result.is_error and not output.outdated:
        return False
    return output.call.name.lower() not in ANSWERED_BY_USER and not output.result.text.startswith(_STUB)


def _mark_outdated(outputs: Iterable[_Output]) -> None:
    latest: dict[tuple[str, str], _Output] = {}
    reads: dict[str, list[_Output]] = {}
    for output in outputs:
        action = output.action
        key = ("run", normal(action.command)) if action.command else (action.name, output.call.arguments)
        if key in latest and action.verb != "poll":
            latest[key].outdated = True
        latest[key] = output
        if output.result.is_error:
            continue
        for path, effect in action.files:
            if effect != "read" or _is_whole(action):
                for earlier in reads.pop(path, ()):
                    earlier.outdated = True
            if effect == "read":
                reads.setdefault(path, []).append(output)


def _is_whole(action: Action) -> bool:
    """True if a read shows the whole file."""
    return len(action.arguments) == 1 if not action.command else action.command.startswith("cat ")


def _stub(output: _Output) -> Redacted:
    text = output.clean.text
    argument = _main_argument(output.action)
    what = filled('{} "{}"', output.call.name, argument) if argument else output.call.name
    lines = text.count("\n") + 1
    size = filled("{:,} tokens, {:,} line{}", output.tokens, lines, own("s" if lines > 1 else ""))
    content = content_of(output.action, text)
    return filled(
        _STUB + "{} ({}, {}){}; " + OPENS,
        what,
        own(content),
        size,
        _outcome(output, content),
        output.seq,
    )


def _short_stub(output: _Output) -> Redacted:
    return filled(_STUB + OPENS, output.seq)


def _main_argument(action: Action) -> Redacted:
    """Main argument of the call (command line, file, pattern, address), on one line, cut to size."""
    candidates = (
        edited(cut(action.command, end=10 * _LONGEST_ARGUMENT), normal),
        *(path for path, _ in action.files[:1]),
        *(value for key in _ARGUMENTS if isinstance(value := action.arguments.get(key), str)),
    )
    return _cut(next(filter(None, candidates), EMPTY), _LONGEST_ARGUMENT)


def _outcome(output: _Output, content: Content) -> Redacted:
    """Outcome of a command: that it failed and its last error line, or the line that counts.

    What a command shows of files and history can hold any words, so there only an exit code is believed.
    """
    result = output.clean
    if not result.is_error and output.action.verb not in ("run", "poll"):
        return EMPTY
    ends = joined("\n", (cut(result.text, end=_HEAD), cut(cut(result.text, _HEAD), -_TAIL)))
    outcome = read_outcome(ends, is_error=result.is_error)
    shows_words = content not in ("test output", "build log", "other") and not result.is_error
    if not outcome.failed or (shows_words and not outcome.exit):
        tells = outcome.counts and not shows_words
        return filled(", {}", _cut(outcome.counts, _LONGEST_OUTCOME)) if tells else EMPTY
    code = filled(" with exit code {}", outcome.exit) if outcome.exit else EMPTY
    errors = () if shows_words else outcome.errors[-1:]
    told = (filled(": {}", _cut(line, _LONGEST_OUTCOME)) for line in errors)
    return joined("", (own(", failed"), code, *told))


def _cut(text: Redacted, length: int) -> Redacted:
    line = one_line(text)
    return line if len(line) <= length else filled("{}…", cut(line, end=length - 1))


def merged_masks(earlier: Iterable[Mask], later: Iterable[Mask]) -> tuple[Mask, ...]:
    """The masks of both, in order; of two for the same result the later one."""
    masks = {(mask.seq, mask.part): mask for mask in (*earlier, *later)}
    return tuple(masks[place] for place in sorted(masks))
