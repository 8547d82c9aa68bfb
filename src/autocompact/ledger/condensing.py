"""Condensing a summary by what a reader does not miss: repetitions first, then code.

A passage (a line, a sentence of a long line, a block of code) goes if another place of the summary says it, with all its
numbers and names of code. The later place stays: summaries tell a story first and take stock after it; what a model wrote
to prepare its summary ("Analysis") goes with less. The text of a program is set closer; it says what words
do not (fields, constants, what happens on an error), so it goes only where the summary alone is too large. Nothing is lost,
since the log has everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from msgspec.structs import replace

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter
from autocompact.ledger.claims import opens
from autocompact.ledger.shortening import Passage, Shortened, joined_passages, passages_of
from autocompact.ledger.statements import Statements, content, exact

REPEATED = 0.5
"""Weight of its tokens that another place must have for a passage to be a repetition."""

REPEATED_DRAFT = 0.3
"""The same for what stands in a draft, which the summary below it was made from."""

_DRAFT = LazyPattern(r"\W*(?:<?analysis>?|scratchpad|draft|notes)\W*$", re.IGNORECASE)
_FINAL = LazyPattern(r"\W*(?:<?summary>?|final summary)\W*$", re.IGNORECASE)

_NEAR = 160
_FENCE = LazyPattern(r"[ \t]*(?:```|~~~)")
_MARK = LazyPattern(r"\A[ \t]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)*")
_PROGRAM = LazyPattern(
    r"[ \t]*(?:```|~~~)[ \t]*(?:go|python|py|[jt]sx?|(?:java|type)script|java|rust|rs|c|h|cc|cpp|c\+\+|cs|csharp|ruby|rb|php|swift|kotlin|kt|scala|lua|vue|svelte"
    r"|html|css|scss|elixir|ex|dart|zig|haskell|hs|perl|r|objc)\b",
    re.IGNORECASE,
)
_QUOTES = ('"', "“", "„", "«", "「")
"""Begin what somebody said, word for word: a summary that tells it again has not its words."""

_WORD = LazyPattern(r"\w")
_SHORT_CODE = 4
"""Lines of code, fences aside, that explain more than they take."""

_ABOUT_ITSELF = LazyPattern(
    r"this session is being continued|please continue the conversation|^\s*(?:analysis:\s*$|let me (?:\w+ ){0,2}(?:analy[sz]e|capture|summari[sz]e|go through)\b|let me (?:trace|walk|review|reconstruct)\b[^.\n]{0,60}\b(?:conversation|session|chronolog))"
    r"|another language model started to solve this problem|the conversation history before this point was compacted"
    r"|continue the conversation from where it left off|the (?:conversation is summarized|summary) below|continue with the last task that you were asked|if you need specific details from before",
    re.IGNORECASE,
)


def condensed(summary: Redacted, budget: int, *, counter: Counter, with_code: bool = False) -> Shortened:
    """``summary`` without passages that it can spare, as many as it takes to fit ``budget`` tokens; it may not get there.

    Args:
        summary: Markdown or plain.
        budget: tokens at which it stops.
        counter: measures it.
        with_code: whether long blocks of program text may go as well.
    """
    if counter.count(summary) <= budget:
        return Shortened(text=summary)
    worth = [*worth_reading(summary)]
    written = passages_of("\n".join(worth))
    passages = [
        replace(passage, text=_closer(passage.text)) if _PROGRAM.match(passage.text) else passage
        for passage in written
    ]
    drafted = _drafted(summary)
    excess = sum(counter.count(passage.text) + 1 for passage in passages) - budget
    left = dict(enumerate(passages))
    texts = sum(not passage.heading for passage in passages)
    for index in _spared(passages, with_code=with_code, drafted=drafted):
        if excess <= 0:
            break
        excess -= counter.count(passages[index].text) + 1
        del left[index]
    gone = len(passages) - len(left)
    if not gone and passages == written and len(worth) == summary.count("\n") + 1:
        return Shortened(text=summary, passages=texts)
    shorter = joined_passages(passages, [index for index in left if not passages[index].heading])
    # of headings alone nothing would be left
    return Shortened(text=Redacted(shorter) or summary, left_out=gone, passages=texts)


def worth_reading(summary: str) -> Iterator[str]:
    """The lines that do not only say that this is a summary."""
    return (line for line in summary.split("\n") if not _ABOUT_ITSELF.search(line))


def _closer(code: str) -> str:
    """A block of program text without lines of mere brackets, indented by one blank a level."""
    lines = [line for line in code.split("\n") if _WORD.search(line) or _FENCE.match(line)]
    base = _indent(lines[0])
    deeper = sorted({base, *(_indent(line) for line in lines if _indent(line) > base)})
    level = {depth: base + number for number, depth in enumerate(deeper)}
    return "\n".join(" " * level.get(_indent(line), base) + line.strip() for line in lines)


def _drafted(summary: str) -> frozenset[str]:
    """The lines between a heading that announces a draft and the one of the summary made from it; none without both."""
    lines = summary.split("\n")
    begins = next((at for at, line in enumerate(lines) if _DRAFT.match(line)), len(lines))
    ends = next((at for at in range(begins, len(lines)) if _FINAL.match(lines[at])), begins)
    return frozenset(lines[begins:ends])


def _spared(passages: Sequence[Passage], *, with_code: bool, drafted: Set[str]) -> list[int]:
    """Passages that may go, in the order in which they go: what is said again first, code among it."""
    worth: dict[int, float] = {}
    later: list[str] = []
    current = {passage.section for passage in passages if passage.heading and opens(passage.text)}
    if passages and passages[-1].section:
        current.add(passages[-1].section)
    # from the end, so that what is compared is what comes later, which stays
    for index in range(len(passages) - 1, -1, -1):
        text = passages[index].text
        if passages[index].heading:
            continue
        if _FENCE.match(text):
            long = text.count("\n") - 1 > _SHORT_CODE
            worth[index] = 1.0 - REPEATED if with_code and long and _PROGRAM.match(text) else 1.0
            continue
        quoted = _MARK.sub("", text).startswith(_QUOTES)
        stays = quoted or passages[index].section in current or _leads(passages, index)
        worth[index] = 1.0 if stays else 1.0 - _share(_MARK.sub("", text), later)
        if text in drafted and worth[index] <= 1.0 - REPEATED_DRAFT:
            worth[index] -= REPEATED
        later.append(text)
    return sorted(
        (index for index in worth if worth[index] <= 1.0 - REPEATED), key=lambda index: (worth[index], index)
    )


def _share(text: str, later: Sequence[str]) -> float:
    """How much of ``text`` is said again later in the summary; 0.0 where a number or name is not, or it has no words."""
    if not content(text):
        return 0.0
    after = Statements("\n".join(reversed(later)), wanted=[text])
    # a number or name that is only here would be lost with it, however much of the rest is said again
    return after.share(text, near=_NEAR) if exact(text) <= exact(after.text) else 0.0


def _leads(passages: Sequence[Passage], index: int) -> bool:
    """True if what follows is set below the passage, which says what it is about."""
    after = passages[index + 1] if index + 1 < len(passages) else None
    return after is not None and not after.goes_on and _indent(after.text) > _indent(passages[index].text)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))
