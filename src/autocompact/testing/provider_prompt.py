"""Tokens of a prompt, and how many of them a provider's cache would serve.

Both caches work on segments (a tool, a system block, a message or a block of one), in order: OpenAI's serves the
longest beginning that an earlier request had as well, without being asked; Anthropic's only up to a block that was
marked with ``cache_control`` in an earlier request, and only if the new one has such a mark behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from autocompact.core.tokens import Counter
from autocompact.testing.provider_script import Json, is_array, is_object

MESSAGE_TOKENS = 4
MEDIA_TOKENS = 800
"""Of any picture, file or recording, whatever its size: base64 is not words."""

CACHE_STEP = 128
"""OpenAI serves from its cache in steps of so many tokens ("Prompt caching" in its documentation)."""

LOOK_BACK = 20
"""Blocks before a mark in which Anthropic looks for something cached ("Prompt caching" in its documentation)."""

_SILENT = frozenset(
    {"type", "id", "call_id", "tool_call_id", "tool_use_id", "role", "status", "signature", "cache_control"}
    | {"detail", "media_type", "index", "is_error"}
)
_MEDIA = frozenset(
    {"image", "image_url", "input_image", "input_audio", "file", "input_file", "computer_screenshot"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a prompt: ``text`` is compared and counted; ``fixed`` tokens come on top."""

    text: str
    fixed: int = 0
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Tokens of one request: ``read`` and ``written`` are those of ``prompt`` that the cache served or took."""

    prompt: int
    read: int = 0
    written: int = 0


def segment(value: Any, *, fixed: int = 0) -> Segment:
    """The segment of a message or a block."""
    texts: list[str] = []
    media = _walk(value, texts)
    marked = is_object(value) and bool(value.get("cache_control"))
    return Segment(text="\n".join(texts), fixed=fixed + MEDIA_TOKENS * media, marked=marked)


def tool_segments(tools: Any) -> Iterator[Segment]:
    """The segments of tool definitions, which count as JSON."""
    for tool in tools if is_array(tools) else ():
        plain = {key: value for key, value in tool.items() if key != "cache_control"}
        text = msgspec.json.encode(plain).decode()
        yield Segment(text=text, marked=bool(tool.get("cache_control")))


def _walk(value: Any, texts: list[str]) -> int:
    """Put the words of ``value`` into ``texts``; the number of pictures and files in it."""
    if is_array(value):
        return sum(_walk(item, texts) for item in value)
    if is_object(value):
        if value.get("type") in _MEDIA or _is_base64(value):
            return 1
        return sum(_walk(item, texts) for key, item in value.items() if key not in _SILENT)
    if value is not None and value != "":
        texts.append(value if isinstance(value, str) else str(value))
    return 0


def _is_base64(members: Json) -> bool:
    source = members.get("source")
    return is_object(source) and source.get("type") == "base64"


class PromptCache:
    """Counts prompts, and remembers them as a provider's cache does.

    Args:
        counter: counts each segment.
        minimum: tokens below which nothing is cached; with 0 also OpenAI's steps of 128 are not kept to.
        size: number of earlier requests that are remembered.
    """

    def __init__(self, counter: Counter, *, minimum: int = 1_024, size: int = 64) -> None:
        self._counter = counter
        self._minimum = minimum
        self._prompts: deque[tuple[str, Sequence[Segment]]] = deque(maxlen=size)
        self._marks: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=4 * size)
        self._tokens: dict[str, int] = {}

    def count(self, segments: Sequence[Segment]) -> int:
        """Tokens of the prompt."""
        return sum(map(self._count, segments))

    def _count(self, segment: Segment) -> int:
        if len(self._tokens) > 50_000:
            self._tokens.clear()
        known = self._tokens.get(segment.text)
        if known is None:
            known = self._tokens[segment.text] = self._counter.count(segment.text) if segment.text else 0
        return known + segment.fixed

    def automatic(self, model: str, segments: Sequence[Segment]) -> Figures:
        """OpenAI's way: the longest common beginning with any earlier request."""
        read = max(
            (self._common(earlier, segments) for name, earlier in self._prompts if name == model), default=0
        )
        if self._minimum:
            read -= read % CACHE_STEP
        self._prompts.append((model, segments))
        prompt = self.count(segments)
        return Figures(prompt=prompt, read=read if read >= self._minimum else 0)

    def _common(self, earlier: Sequence[Segment], segments: Sequence[Segment]) -> int:
        tokens = 0
        for old, new in zip(earlier, segments, strict=False):
            if old.text != new.text or old.fixed != new.fixed:
                same = next(
                    (i for i, (a, b) in enumerate(zip(old.text, new.text, strict=False)) if a != b), None
                )
                shorter = min(old.text, new.text, key=len)
                return tokens + self._counter.count(shorter[:same])
            tokens += self._count(new)
        return tokens

    def marked(self, model: str, segments: Sequence[Segment]) -> Figures:
        """Anthropic's way: from mark to mark."""
        prompt = self.count(segments)
        marks = [place + 1 for place, each in enumerate(segments) if each.marked]
        marks = [end for end in marks if self.count(segments[:end]) >= self._minimum]
        if not marks:
            return Figures(prompt=prompt)
        texts = tuple(each.text for each in segments)
        known = {key for name, key in self._marks if name == model}
        ends = {end for mark in marks for end in range(max(1, mark - LOOK_BACK), mark + 1)}
        read = max((end for end in ends if texts[:end] in known), default=0)
        self._marks.extend((model, texts[:end]) for end in marks if texts[:end] not in known)
        read_tokens = self.count(segments[:read])
        return Figures(
            prompt=prompt,
            read=read_tokens,
            written=max(0, self.count(segments[: marks[-1]]) - read_tokens),
        )
