"""A recorded session made ready for simulation: everything that is the same under each policy, worked out once.

Tokens are the provider's. The recording tells how many of them one of our own is, and what each request carries besides
the messages (system prompt, tool schemas): both are fitted to the usage that was reported until the first compaction.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice, pairwise, takewhile
from statistics import median

from autocompact.core.actions import Action, interpret
from autocompact.core.factors import first_factor
from autocompact.core.messages import Message, Part
from autocompact.core.plurals import plural
from autocompact.core.redacted import RedactedCall, RedactedMessage, Redactor, redacted
from autocompact.core.redaction import Redacted
from autocompact.core.stamps import instant_of
from autocompact.core.tokens import Counter, message_cost
from autocompact.core.windows import window_for
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import rules_of
from autocompact.sessions import Session
from autocompact.what_if.needs import BARE_NUMBER, argument_text, content, names, vocabulary
from autocompact.what_if.replay import MOST_UNSEEN

LEAST_ADDED, LEAST_STEPS = 300, 3
"""Of our own tokens a request must have added so many, and so many requests, to tell the factor of the model's tokenizer."""

FACTORS = (0.4, 2.5)
"""Bounds of that factor: families have 0.9 to 1.6 (`autocompact.core.factors`), Codex sends less than it records."""

NEXT_CALLS = 40
"""Calls after a compaction whose needs count (as in ``benchmarks/retention.py``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call of the model.

    Attributes:
        index: of the first message of the reply, in the session.
        at: when it was sent: the time of the message before.
        output: tokens of the reply.
    """

    index: int
    at: datetime
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAgain:
    """A file that was read before, and not edited since.

    Attributes:
        seq: of the message with the call.
        earlier: ``seq`` of the message with the earlier output.
        path: the file.
        tokens: of the earlier output or the new one, whichever is smaller.
    """

    seq: int
    earlier: int
    path: Redacted
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The provider's token counts, fitted to what the recording reports.

    Attributes:
        fixed: tokens that every request carries besides the messages.
        factor: tokens of the provider for one of our own.
        notes: what is missing, a sentence each.
    """

    fixed: int
    factor: float
    notes: tuple[str, ...] = ()


class Remembering:
    """A counter that counts each text once, however many policies ask; of a text it holds no more than its hash."""

    def __init__(self, counter: Counter) -> None:
        self.name = counter.name
        self._counter = counter
        self._known: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        key = (len(text), hash(text))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._counter.count(text)
        return found


class ReadOnce:
    """Redacts each message once, however many policies and compactions meet it. Implements `Reader`."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[Part, ...]], RedactedMessage] = {}

    def __call__(self, message: Message) -> RedactedMessage:
        """``message`` without the secrets in it."""
        # by what it says: each policy has messages of its own, with other usage
        key = (message.seq, message.parts)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = redacted(message)
        return found


@dataclass(frozen=True, kw_only=True)
class Course:
    """A session and what is known of it, whatever the policy.

    Attributes:
        session: what was recorded.
        name: for people.
        counter: counts our own tokens.
        model: whose prices, cache and window count.
        window: tokens of the model's window.
        usage: of the provider.
        requests: each call of the model, in order.
        has_times: the messages say when they were said.
        read: redacts the messages.
    """

    session: Session
    name: str
    counter: Counter
    model: str
    window: int
    usage: Usage
    requests: tuple[Request, ...]
    has_times: bool
    read: ReadOnce = field(default_factory=ReadOnce)

    def tokens(self, own: int) -> int:
        """The provider's tokens for so many of our own."""
        return round(own * self.usage.factor)

    def own(self, tokens: int) -> int:
        """Our tokens for so many of the provider's."""
        return round(tokens / self.usage.factor)

    @cached_property
    def prompt(self) -> frozenset[int]:
        """The messages (``seq``) of the system prompt, which the session begins with."""
        return frozenset(m.seq for m in takewhile(lambda m: m.role == "system", self.session.messages))

    @cached_property
    def rules(self) -> Ledger:
        """The standing instructions of the session that were in force at its end."""
        return rules_of(self.session.messages, redactor=Redactor(read=self.read))

    @cached_property
    def read_again(self) -> tuple[ReadAgain, ...]:
        """Every file that was read again without an edit in between, in order."""
        return tuple(_read_again(self.session.messages, course=self))

    @cached_property
    def calls(self) -> tuple[tuple[int, frozenset[str]], ...]:
        """Each message with calls: its ``seq`` and the names in their arguments."""
        calling = [message for message in self.session.messages if message.calls]
        own = vocabulary(call for message in calling for call in message.calls)
        return tuple(
            (
                message.seq,
                frozenset(
                    name
                    for call in message.calls
                    for name in names(argument_text(call)) - own
                    if not BARE_NUMBER.match(name)
                ),
            )
            for message in calling
        )

    @cached_property
    def occurrences(self) -> Mapping[str, Sequence[int]]:
        """The messages (``seq``, ascending) in which each name stands that a call ever uses."""
        wanted = frozenset(name for _, used in self.calls for name in used)
        found: dict[str, list[int]] = {}
        for message in self.session.messages if wanted else ():
            for name in names(content(message)) & wanted:
                found.setdefault(name, []).append(message.seq)
        return found

    def wanted_after(self, seq: int) -> Mapping[str, int]:
        """The names that the `NEXT_CALLS` calls from message ``seq`` on use, each with the message of the first such call."""
        start = bisect_left(self.calls, seq, key=lambda call: call[0])
        found: dict[str, int] = {}
        for called, used in islice(self.calls, start, start + NEXT_CALLS):
            for name in used:
                found.setdefault(name, called)
        return found

    def request_of(self, seq: int) -> int:
        """The number of the request, from 1, whose reply message ``seq`` belongs to."""
        return bisect_left(self.requests, seq, key=lambda request: request.index)

    def read_again_between(self, first: int, last: int) -> Sequence[ReadAgain]:
        """Files that messages ``first`` to ``last`` read again."""
        start = bisect_left(self.read_again, first, key=lambda each: each.seq)
        return self.read_again[start : bisect_right(self.read_again, last, key=lambda each: each.seq)]


def course_of(
    session: Session, *, name: str, counter: Counter, window: int, model: str = "", fixed: int | None = None
) -> Course:
    """``session`` made ready.

    Args:
        session: what was recorded.
        name: for people.
        counter: counts our own tokens.
        window: tokens of the model's window.
        model: to count and price as; "" is the session's own.
        fixed: tokens of system prompt and tools, where the caller knows better than the recording.
    """
    counter = Remembering(counter)
    model = model or session.model
    usage = _usage(session, counter, model=model, window=window, fixed=fixed)
    own = [message_cost(message, counter).tokens for message in session.messages]
    asked = tuple(
        Request(index=index, at=at, output=_output(session.messages, index, own=own, factor=usage.factor))
        for index, at in requests(session.messages)
    )
    return Course(
        session=session,
        name=name,
        counter=counter,
        model=model,
        window=window,
        usage=usage,
        requests=asked,
        has_times=any(message.time for message in session.messages),
    )


def requests(messages: Sequence[Message]) -> Iterator[tuple[int, datetime]]:
    """The index of each reply's first message, and when its request was sent: at the time of the message before."""
    at = datetime(2020, 1, 1, tzinfo=UTC)
    before = ""
    for index, message in enumerate(messages):
        if message.role == "assistant" and before != "assistant" and index:
            yield index, at
        before = message.role
        if said := instant_of(message.time):
            at = max(at, said)


def _output(messages: Sequence[Message], index: int, *, own: Sequence[int], factor: float) -> int:
    """Tokens of the reply that begins at ``index``: a recording may have a figure from before its end."""
    reported = counted = 0
    for place in range(index, len(messages)):
        message = messages[place]
        if message.role != "assistant":
            break
        counted += own[place]
        reported = max(reported, message.usage.completion if message.usage else 0)
    return max(reported, round(counted * factor))


def _usage(session: Session, counter: Counter, *, model: str, window: int, fixed: int | None) -> Usage:
    """Fit what was reported until the first compaction: ``prompt = fixed + factor * own``."""
    points = list(_reported(session, counter))
    factor = _factor(points) or first_factor(model, counter=counter.name)
    if fixed is not None:
        return Usage(fixed=fixed, factor=factor)
    if not points:
        note = "no usage is recorded: system prompt and tools outside of the messages count as 0, --fixed N says otherwise"
        return Usage(fixed=0, factor=factor, notes=(note,))
    found = max(0, round(median(prompt - factor * own for own, prompt in points[:LEAST_STEPS])))
    if found > MOST_UNSEEN * max(window, window_for(session.model) or 0):
        note = (
            f"the first requests report {found:,} tokens more than the file shows: it begins in the midst of a session, "
            "system prompt and tools count as 0, --fixed N says otherwise"
        )
        return Usage(fixed=0, factor=factor, notes=(note,))
    return Usage(fixed=found, factor=factor)


def _reported(session: Session, counter: Counter) -> Iterator[tuple[int, int]]:
    """Our own tokens of each request, and those that the provider reported for it."""
    made = [max((record.through_seq, *(mask.seq for mask in record.masks))) for record in session.compactions]
    end, own, before = min(made, default=len(session.messages)), 0, ""
    for message in session.messages[:end]:
        if message.role == "assistant" and before != "assistant" and message.usage and message.usage.prompt:
            yield own, message.usage.prompt
        own += message_cost(message, counter).tokens
        before = message.role


def _factor(points: Sequence[tuple[int, int]]) -> float:
    """The median of what was reported over our own count, for what each request added; 0 if the points do not tell.

    Whole requests do not tell: a client drops old outputs now and then, and says nothing of it.
    """
    added = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    shares = [prompt / own for own, prompt in added if own >= LEAST_ADDED and prompt > 0]
    found = median(shares) if len(shares) >= LEAST_STEPS else 0.0
    return found if FACTORS[0] <= found <= FACTORS[1] else 0.0


def _read_again(messages: Iterable[Message], *, course: Course) -> Iterator[ReadAgain]:
    """Go through calls and results once; an edit makes the next reading of its file a first one."""
    reads: dict[str, tuple[int, Redacted]] = {}
    last: dict[Redacted, tuple[int, int]] = {}
    for message in messages:
        calls = [part for part in course.read(message).parts if isinstance(part, RedactedCall)]
        for call, clean in zip(message.calls, calls, strict=True):
            action = interpret(clean)
            for path in _changed(action):
                last.pop(path, None)
            if (path := _read(action)) is not None:
                reads[call.id] = message.seq, path
        for result in message.results:
            called, path = reads.pop(result.call_id, (0, None))
            if path is None or result.is_error:
                continue
            tokens = course.tokens(course.counter.count(result.text))
            if path in last:
                earlier, before = last[path]
                yield ReadAgain(seq=called, earlier=earlier, path=path, tokens=min(tokens, before))
            last[path] = message.seq, tokens


def _changed(action: Action) -> Iterator[Redacted]:
    return (path for path, effect in action.files if effect != "read")


def _read(action: Action) -> Redacted | None:
    """The one file that a call shows; None if it does something else."""
    shown = [path for path, effect in action.files if effect == "read"]
    return shown[0] if len(shown) == len(action.files) == 1 and action.verb in ("read", "run") else None


def usage_notes(course: Course) -> tuple[str, ...]:
    """Notes on what the recording does not tell, a sentence each."""
    notes = list(course.usage.notes)
    if not course.has_times:
        notes.append("no message has a time: the provider's cache is taken to hold the whole session")
    most = max((record.receipt.tokens_before for record in course.session.compactions), default=0)
    if 0 < 2 * most < course.window:
        notes.append(
            f"its program compacted at {most:,} tokens or less, far below the window of {course.window:,}: "
            "--window N gives the real one"
        )
    if course.session.skipped:
        notes.append(f"{plural(len(course.session.skipped), 'line')} could not be read")
    return tuple(notes)
