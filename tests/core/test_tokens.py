from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.tokens import (
    CALL_TOKENS,
    MESSAGE_TOKENS,
    Cost,
    Counter,
    Estimator,
    breakdown,
    json_bytes,
    message_cost,
    truncated,
)
from autocompact.models.vocabulary import load_counter


class Words:
    """Counts words, and how often it was asked."""

    name = "words"

    def __init__(self) -> None:
        self.calls = 0

    def count(self, text: str) -> int:
        self.calls += 1
        return len(text.split())


def weight(*parts: Part) -> int:
    """Tokens of a message of ``parts`` beyond its own framing."""
    return message_cost(Message(seq=1, role="assistant", parts=parts), Words()).tokens - MESSAGE_TOKENS


def test_costs_add_and_subtract_by_field() -> None:
    one, other = Cost(tokens=5, bytes=50, images=1), Cost(tokens=2, bytes=20)
    assert one + other == Cost(tokens=7, bytes=70, images=1)
    assert one + other - other == one


def test_every_kind_of_part_weighs_what_it_says() -> None:
    assert weight() == 0
    assert weight(Text(text="one two three")) == 3
    assert weight(ToolCall(id="c", name="read", arguments="a b")) == CALL_TOKENS + 3
    assert weight(ToolResult(call_id="c", text="a b")) == CALL_TOKENS + 2
    assert weight(Reasoning(text="a b")) == 2
    assert weight(Image(width=1_000, height=1_000)) == 1_333
    assert weight(Document(name="notes", text="a b")) == 3
    assert weight(Document(name="notes", media_type="text/plain", data="A" * 400)) == 101
    assert weight(Opaque(kind="refusal", raw=b'{"a": 1}')) == 2


def test_pictures_inside_a_tool_result_weigh_and_count() -> None:
    shot = Image(width=1_000, height=1_000)
    result = ToolResult(call_id="c", text="done", media=(shot, Document(text="a b"), shot))
    cost = message_cost(Message(seq=1, role="tool", parts=(result, shot)), Words())
    assert cost.images == 3
    assert cost.tokens == MESSAGE_TOKENS + CALL_TOKENS + 3 * 1_333 + 3


def test_reasoning_weighs_what_is_sealed_in_it_where_that_is_more_than_its_words() -> None:
    raw = json.dumps({"thinking": "short", "signature": "Ab3+" * 1_000}).encode()
    assert weight(Reasoning(text="short", raw=raw)) == (3_000 - 650) // 4
    words = "word " * 1_000
    assert (
        weight(Reasoning(text=words, raw=json.dumps({"thinking": words, "signature": "A" * 300}).encode()))
        == 1_000
    )


def test_all_texts_of_a_message_are_counted_in_one_call() -> None:
    counter = Words()
    parts = (Text(text="a"), ToolCall(id="1", name="b", arguments="c"), ToolCall(id="2", name="d"))
    message_cost(Message(seq=1, role="assistant", parts=parts), counter)
    assert counter.calls == 1


def test_a_message_that_still_is_what_came_has_the_bytes_it_came_with() -> None:
    raw = b'{"role": "user",   "content": "hi"}'
    message = Message(seq=1, role="user", parts=(Text(text="hi"),), raw=raw)
    assert message_cost(message, Words()).bytes == len(raw)
    assert message_cost(message.with_parts([Text(text="a" * 1_000)]), Words()).bytes > 1_000


def test_a_part_that_still_is_what_came_has_the_bytes_it_came_with() -> None:
    def size(*parts: Part) -> int:
        return message_cost(Message(seq=1, role="user", parts=parts), Words()).bytes

    assert size(Opaque(kind="x", raw=b"{" + b" " * 98 + b"}")) - size() == 101


def test_bytes_of_a_made_message_are_those_of_its_json_within_a_few() -> None:
    text = 'line\n"quoted" \\ tab\t é 漢字 ' * 50
    messages: list[tuple[Part, dict[str, object]]] = [
        (Text(text=text), {"type": "text", "text": text}),
        (
            ToolCall(id="call_1", name="read", arguments=text),
            {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": text}},
        ),
        (
            ToolResult(call_id="call_1", text=text),
            {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": text}]},
        ),
        (
            ToolResult(call_id="c", media=(Image(media_type="image/png", data="A" * 5_000),)),
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5_000},
                    }
                ],
            },
        ),
        (
            Document(media_type="text/plain", name="n", text=text),
            {
                "type": "document",
                "title": "n",
                "source": {"type": "text", "media_type": "text/plain", "data": text},
            },
        ),
    ]
    for part, sent in messages:
        body = json.dumps({"role": "user", "content": [sent]}, ensure_ascii=False, separators=(",", ":"))
        cost = message_cost(Message(seq=1, role="user", parts=(part,)), Words())
        assert cost.bytes == pytest.approx(len(body.encode()), abs=60)


@given(st.text())
def test_json_bytes_are_exact(text: str) -> None:
    assert json_bytes(text) == len(json.dumps(text, ensure_ascii=False).encode()) - 2


def test_lone_surrogates_break_nothing() -> None:
    text = "a\ud800b"
    assert json_bytes(text) >= len(json.dumps(text)) - 2
    assert Estimator().count(text) > 0
    assert message_cost(text_message(1, "user", text), load_counter()).tokens > MESSAGE_TOKENS


ENGLISH = """The harbour was quiet when we arrived, and nobody had told the crew that the second shipment would be late.
We waited in the small office behind the customs hall, drank bad coffee, and went through the list once more:
which crates were ours, who had signed for them, and why the dates on two of the papers did not agree. At noon the
clerk came back with a new form. It asked for the same things as the old one, only in a different order, and it had
to be stamped by the same person who was, as he explained with some regret, on leave until the end of the month."""

CHINESE = """昨天下午我们在会议室里讨论了新的计划。大家都同意先把旧系统里的数据整理好，再开始写新的程序。
有人担心时间不够，因为测试的人手比去年少了一半；也有人认为只要分工清楚，两个星期就可以完成第一部分。
最后我们决定：星期一之前写完说明，星期三以前做出一个能运行的版本，然后请用户来试一试，听听他们的意见。"""

JAPANESE = """昨日の午後、会議室で新しい計画について話し合いました。まず古いシステムのデータを整理してから、
新しいプログラムを書き始めることに全員が賛成しました。テストを担当する人が去年の半分しかいないので、
時間が足りないのではないかと心配する声もありましたが、役割をはっきり決めれば二週間で終わるという意見が多かったです。"""

CODE = '''
class Inventory:
    """Keeps count of what is in the warehouse."""

    def __init__(self, items=None, *, strict=True):
        self._items = dict(items or {})
        self.strict = strict

    def remove(self, name, quantity=1):
        if quantity > self._items.get(name, 0):
            if self.strict:
                raise ValueError(f"only {self._items.get(name, 0)} of {name!r} left")
            quantity = self._items.pop(name, 0)
        self._items[name] -= quantity
        return quantity

    def __iter__(self):
        for name, count in sorted(self._items.items(), key=lambda item: -item[1]):
            if count > 0:
                yield name, count
'''


def json_text(chance: random.Random) -> str:
    rows = [
        {
            "id": chance.randrange(10**6),
            "name": chance.choice(["north", "south", "harbour office"]),
            "price": round(chance.random() * 100, 2),
            "createdAt": f"2026-0{chance.randrange(1, 9)}-1{chance.randrange(9)}T08:30:00Z",
            "tags": ["new", "blue"],
            "active": chance.random() < 0.5,
        }
        for _ in range(12)
    ]
    return json.dumps(rows)


def base64_text(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(1_100)).decode()


def hex_text(chance: random.Random) -> str:
    return chance.randbytes(750).hex()


def always(text: str) -> Callable[[random.Random], str]:
    def make(_: random.Random) -> str:
        return text

    return make


def random_text(alphabet: str) -> Callable[[random.Random], str]:
    def make(chance: random.Random) -> str:
        return "".join(chance.choices(alphabet, k=1_500))

    return make


@pytest.mark.requirement("A8")
@pytest.mark.parametrize(
    ("make", "most"),
    [
        (always(ENGLISH), 0.17),
        (always(CODE), 0.17),
        (json_text, 0.17),
        (always(CHINESE), 0.15),
        (always(JAPANESE), 0.15),
        (base64_text, 0.25),
        (hex_text, 0.25),
        (random_text(string.ascii_lowercase + string.digits), 0.25),
        (random_text(string.ascii_lowercase), 0.25),
        (random_text(string.ascii_uppercase), 0.25),
    ],
    ids=["english", "code", "json", "chinese", "japanese", "base64", "hex", "alnum", "lower", "upper"],
)
def test_the_estimate_is_near_the_exact_count(make: Callable[[random.Random], str], most: float) -> None:
    exact, estimate = load_counter(), Estimator()
    texts = [make(random.Random(seed)) for seed in range(10)]
    errors = [abs(estimate.count(text) / exact.count(text) - 1) for text in texts]
    assert sum(errors) / len(errors) <= most


@given(st.text())
def test_the_estimate_of_any_text_is_positive_and_of_none_is_zero(text: str) -> None:
    assert (Estimator().count(text) > 0) == bool(text)


LOG = "\n".join(
    f"line {number}: the worker finished step {number * 7} in {number % 9} ms" for number in range(500)
)


@pytest.mark.requirement("A12")
@pytest.mark.parametrize("counter", [load_counter(), Estimator()], ids=["exact", "estimate"])
def test_a_long_text_keeps_head_and_tail_and_says_how_much_is_left_out(counter: Counter) -> None:
    short = truncated(LOG, 200, counter=counter)
    assert 120 <= counter.count(short) <= 200
    head, marker, tail = short.partition("\n[... ")
    left_out = int(tail.split(" tokens", 1)[0].replace(",", ""))
    assert LOG.startswith(head)
    assert LOG.endswith(tail.split("]\n", 1)[1])
    assert marker
    assert left_out == pytest.approx(counter.count(LOG) - counter.count(short), abs=20)


def test_cuts_fall_on_line_breaks_where_one_is_near() -> None:
    head, _, tail = truncated(LOG, 400, counter=load_counter()).partition("\n[... ")
    assert head.endswith(" ms\n")
    assert tail.split("]\n", 1)[1].startswith("line ")


def test_a_text_that_fits_is_returned_as_it_is() -> None:
    assert truncated(ENGLISH, 1_000, counter=load_counter()) is ENGLISH


@pytest.mark.parametrize("tokens", [-5, 0, 3])
def test_with_no_room_only_the_marker_is_left(tokens: int) -> None:
    total = load_counter().count(LOG)
    assert truncated(LOG, tokens, counter=load_counter()) == f"[... {total:,} tokens left out ...]"


@given(
    st.lists(
        st.sampled_from(["word ", "漢字", "\n", " " * 60, "x" * 90, "Ab9/", "😀", "\ud800"]), max_size=200
    ),
    st.integers(0, 120),
    st.sampled_from([load_counter(), Estimator()]),
)
def test_the_result_never_takes_more_than_allowed_or_the_marker(
    pieces: list[str], tokens: int, counter: Counter
) -> None:
    text = "".join(pieces)
    marker = counter.count(f"\n[... {counter.count(text):,} tokens left out ...]\n")
    assert counter.count(truncated(text, tokens, counter=counter)) <= max(tokens, marker)


class Crowd:
    """A counter whose counts do not add up: a whole is more than its parts."""

    name = "crowd"

    def count(self, text: str) -> int:
        return int(len(text.split()) ** 1.3)


def test_the_result_fits_also_where_counts_do_not_add_up() -> None:
    short = truncated("word " * 2_000, 300, counter=Crowd())
    assert 0 < Crowd().count(short) <= 300
    assert short.startswith("word word ")


@pytest.mark.parametrize("text", ["-" * 20_000, " " * 20_000])
def test_rules_and_blanks_with_their_long_tokens_are_cut_too(text: str) -> None:
    counter = load_counter()
    assert 10 < counter.count(truncated(text, 60, counter=counter)) <= 60


def test_the_breakdown_names_what_fills_a_context_and_leaves_out_what_is_empty() -> None:
    summary = text_message(0, "user", "so far a b", synthetic=True)
    messages = [
        text_message(1, "system", "be kind"),
        summary,
        text_message(2, "user", "a b c"),
        text_message(3, "user", "a"),
    ]
    assert breakdown(messages, tools=30, counter=Words()) == {
        "tools": 30,
        "system prompt": MESSAGE_TOKENS + 2,
        "summary": MESSAGE_TOKENS + 4,
        "user": 2 * MESSAGE_TOKENS + 4,
    }
    assert breakdown([], tools=0, counter=Words()) == {}


def test_a_long_text_is_estimated_as_the_sum_of_its_lines_within_a_percent() -> None:
    lines = [f"line {number:05} of the build log\n" for number in range(10_000)]
    whole, parts = Estimator().count("".join(lines)), Estimator().count("".join(lines[:100])) * 100
    assert whole == pytest.approx(parts, rel=0.01)
    assert Estimator().count("") == 0
