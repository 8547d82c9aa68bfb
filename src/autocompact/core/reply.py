"""A model's reply to the request for a summary: taken apart, and checked before anything depends on it.

Tags are looked for outside of code fences first, so that a summary may talk about ``<summary>`` in a code block;
where all of the reply stands in one fence, inside of it. ``<details><summary>`` is HTML and no tag of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from autocompact.core.language import detect
from autocompact.core.patterns import LazyPattern
from autocompact.core.summary_tags import SummaryTag, blocks_of, chosen
from autocompact.core.tokens import Counter

ProblemKind: TypeAlias = Literal["empty", "truncated", "too_large", "refusal", "wrong_language"]

_TAG = LazyPattern(
    r"(?P<html><details[^<>]{0,200}>\s*)?<(?P<close>/)?(?P<name>summary|analysis|scratchpad|think(?:ing)?)(?:\s[^<>]{0,200})?>",
    re.IGNORECASE,
)
_FENCE = LazyPattern(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_WRAPPED = LazyPattern(r"\A\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)
_CUT = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "incomplete",
    }
)
_ENDED = frozenset({"stop", "end_turn", "stop_sequence", "eos", "eos_token", "completed"})
_REFUSAL = LazyPattern(
    r"\W*(?:(?:i['’]?m |i am )?(?:so |very )?sorry\b|(?:unfortunately,? )?i (?:can(?:['’]t|not)|am (?:unable|not able)"
    r"|won['’]t|do(?:n['’]t| not) (?:have|see))|i['’]m (?:unable|not able)|as an ai\b|(?:there is|there['’]s|i see) no (?:conversation|"
    r"previous)|(?:please|could you(?: please)?) (?:provide|share|paste)|es tut mir leid|tut mir leid|ich kann (?:\w+ )?"
    r"nicht|leider kann ich|je suis désolée?|désolée?\b|je ne peux pas|lo siento|no puedo|desculpe|não posso|mi dispiace"
    r"|non posso|извините|к сожалению|我(?:无法|不能)|抱歉|对不起|很抱歉|申し訳|すみません|죄송)",
    re.IGNORECASE,
)
_HEADING = LazyPattern(r"^#{1,6} |^\*\*[^*\n]+\*\*:?\s*$|^[-*] ", re.MULTILINE)
_CODE = LazyPattern(r"```.*?(?:```|\Z)|`[^`\n]*`|\S*[/_\\.=(){}<>\d]\S*|^#.*$", re.DOTALL | re.MULTILINE)
_REFUSAL_LENGTH = 800
FEW = 500
"""Tokens of which a short summary may well be larger: that is nobody's mistake."""
_TELLING_WORDS = 40
_SENTENCE_END = LazyPattern(r"[.!?](?=\s)|[。！？]|(?<=\S)(?=\n)")


class ParsedSummary(Struct, frozen=True, kw_only=True):
    """The summary in a reply, and what stood around it.

    Attributes:
        text: the summary, without tags and without the model's thinking.
        tagged: it stood between tags, as asked for; else it is everything the reply says.
        complete: no tag was left open.
        odd: the tags were not one pair around it: quoted in it, nested, repeated, or one was missing.
    """

    text: str
    tagged: bool
    complete: bool
    odd: bool = False


class Ok(Struct, frozen=True, kw_only=True):
    """A summary that can be used; ``notes`` say what is not as asked for."""

    text: str
    notes: tuple[str, ...] = ()


class Problem(Struct, frozen=True, kw_only=True):
    """Reason why a reply cannot be used as a summary: a sentence for the receipt."""

    kind: ProblemKind
    message: str


def parse_summary(reply: str) -> ParsedSummary:
    """The summary in ``reply``; never raises.

    Of several summaries the last one that says something counts (models repeat the earlier one first, or draft), unless
    it is much shorter than another; of nested ones the outer. Tags that are quoted are words. Without tags the whole
    reply is it. A closing tag alone ends a summary that began with the reply: the opening one was the end of the prompt.
    """
    answer = _answer(reply)
    found = list(_tags(answer))
    tags = [
        SummaryTag(start, end, tag.startswith("/")) for start, end, tag in found if tag.endswith("summary")
    ]
    if not tags:
        edges = [0, *(edge for start, end, _ in found for edge in (start, end)), len(answer)]
        words = "".join(answer[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
        return ParsedSummary(text=words.strip(), tagged=False, complete=True)
    blocks, odd = blocks_of(answer, tags)
    # models repeat the earlier summary, draft, or quote the tags
    block = chosen(blocks)
    return ParsedSummary(
        text=_without_thinking_tags(block.text),
        tagged=True,
        complete=block.complete and all(each.text or each.complete for each in blocks),
        odd=odd or len(blocks) > 1,
    )


def _without_thinking_tags(text: str) -> str:
    """Remove remains of tags around thinking; tags that are words of the summary stay."""
    spans = [(start, end) for start, end, tag in _tags(text) if not tag.endswith("summary")]
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    return "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)).strip()


def strip_summary_tags(reply: str) -> str:
    """The reply for a person: all its words, without the tags and without the model's thinking."""
    answer = _answer(reply)
    edges = [0, *(edge for start, end, _ in _tags(answer) for edge in (start, end)), len(answer)]
    return "".join(answer[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)).strip()


def _answer(reply: str) -> str:
    """The reply without the fence around all of it and without the model's thinking.

    Thinking that is not closed ends where the summary opens. A closing tag alone ends thinking that began with the
    reply.
    """
    # a code fence around the whole answer is not part of it
    if wrapped := _WRAPPED.match(reply):
        reply = wrapped[2]
    pieces: list[str] = []
    position = 0
    thinking = ""
    begun = False
    for start, end, tag in _tags(reply):
        if tag.endswith("summary"):
            begun = begun or not thinking
            if thinking and tag == "summary":
                position, thinking = start, ""
        elif thinking:
            position, thinking = (end, "") if tag == f"/{thinking}" else (position, thinking)
        else:
            # a closing tag at the very beginning: the prompt ended with the
            # opening one, so all before it is thinking
            if begun or not tag.startswith("/"):
                pieces.append(reply[position:start])
            position, thinking = end, "" if tag.startswith("/") else tag
            begun = True
    return "".join(pieces if thinking else (*pieces, reply[position:]))


def _tags(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and name ("/summary") of each tag outside of code fences."""
    fences = _fenced(text)
    fence = next(fences, None)
    html = 0
    for match in _TAG.finditer(text):
        # both run forward once, so long replies cost O(n)
        while fence is not None and fence[1] <= match.start():
            fence = next(fences, None)
        if fence is not None and fence[0] <= match.start():
            continue
        name = f"{match['close'] or ''}{match['name'].lower()}"
        # HTML has a summary element of its own, within details
        if name == "summary" and match["html"]:
            html += 1
        elif name == "/summary" and html:
            html -= 1
        else:
            yield match.start() + len(match["html"] or ""), match.end(), name


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each code block; one that is not closed is none."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        # a longer fence closes a shorter one, not the other way
        elif line[1].startswith(opened[1]):
            yield opened.start(), line.end()
            opened = None


def check_reply(
    reply: str,
    *,
    replaced_tokens: int,
    counter: Counter,
    stop_reason: str = "",
    language: str = "",
    budget: int | None = None,
    asked_tokens: int = 0,
    sections: tuple[str, ...] = (),
) -> Ok | Problem:
    """Check that ``reply`` can replace what it summarises.

    Args:
        reply: the model's words.
        replaced_tokens: tokens of what the summary takes the place of.
        counter: measures it.
        stop_reason: the provider's word for why the reply ended.
        language: ISO 639-1 code of the conversation; "" leaves the language unchecked.
        budget: tokens that were asked for: more is noted.
        asked_tokens: limit on the reply in the request. A summary that was cut off there is used without its last,
            unfinished sentence; one that was cut off before half of it is not.
        sections: headings that were asked for: a missing one is noted.
    """
    parsed = parse_summary(reply)
    cut = stop_reason.lower() in _CUT and not (parsed.tagged and parsed.complete)
    # cut off at the cap: all but the last sentence is good, and asking again would be cut off again
    if cut and asked_tokens and 2 * counter.count(parsed.text) >= asked_tokens:
        parsed = replace(parsed, text=_finished(parsed.text), complete=True, odd=False)
        stop_reason = ""
    else:
        cut = False
    if problem := _problem(parsed, stop_reason.lower()) or _wrong_language(parsed.text, language):
        return problem
    tokens = counter.count(parsed.text)
    # invariant 4, before anything is folded
    if tokens >= replaced_tokens:
        few = " (there is too little to summarise yet)" if replaced_tokens < FEW else ""
        message = f"it has {tokens:,} tokens, no less than the {replaced_tokens:,} it would replace{few}"
        return Problem(kind="too_large", message=message)
    notes = (
        *_format_notes(parsed),
        f"the reply was cut off at {asked_tokens:,} tokens: its unfinished end is left out" if cut else "",
        f"{tokens:,} tokens where {budget:,} were asked for"
        if budget is not None and tokens > budget
        else "",
        _missing(sections, parsed.text),
    )
    return Ok(text=parsed.text, notes=tuple(filter(None, notes)))


def _format_notes(parsed: ParsedSummary) -> Iterator[str]:
    """Yield a note for each deviation of the tags from what was asked for."""
    if not parsed.tagged:
        yield "the reply had no <summary> tags"
    if not parsed.complete:
        yield "the closing </summary> tag was missing"
    elif parsed.odd:
        yield "the <summary> tags were odd: the outermost, longest block was taken"


def _missing(sections: Iterable[str], text: str) -> str:
    """A note of the headings that ``text`` does not hold, "" if it holds all."""
    missing = [section for section in sections if section.casefold() not in text.casefold()]
    return f"no section {', '.join(missing)}" if missing else ""


def _finished(text: str) -> str:
    """``text`` through its last whole line or sentence; as it is if there is none."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]].rstrip() if ends else text


def _problem(parsed: ParsedSummary, stop_reason: str) -> Problem | None:
    closed = parsed.tagged and parsed.complete
    if stop_reason in _CUT and not closed:
        return Problem(kind="truncated", message=f"the reply was cut off ({stop_reason})")
    if not parsed.text:
        return Problem(kind="empty", message="the model's reply was empty")
    # a model that ended by itself has only forgotten the tag
    if not parsed.complete and stop_reason not in _ENDED:
        return Problem(
            kind="truncated", message="the reply ends within the summary: its closing tag is missing"
        )
    if stop_reason in ("content_filter", "refusal", "safety") or _is_refusal(parsed.text):
        return Problem(
            kind="refusal", message=f"the model did not summarise, it replied: {_first(parsed.text)!r}"
        )
    return None


def _is_refusal(text: str) -> bool:
    # a long text that begins with "I cannot" is a summary of somebody who could not
    return len(text) < _REFUSAL_LENGTH and bool(_REFUSAL.match(text)) and not _HEADING.search(text)


def _first(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 120 else f"{line[:119]}…"


def _wrong_language(text: str, language: str) -> Problem | None:
    """Judged by the prose alone, and only if there is enough of it: names and code are English everywhere."""
    if not language:
        return None
    prose = _CODE.sub(" ", text)
    found = detect([prose])
    if found == language or (found == "en" and len(prose.split()) < _TELLING_WORDS):
        return None
    return Problem(
        kind="wrong_language", message=f"the summary is in {found!r}, the conversation in {language!r}"
    )
