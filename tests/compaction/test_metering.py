"""Usage that a log's replies reported, read again."""

from __future__ import annotations

from msgspec.structs import replace

from autocompact.compaction.metering import replayed
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Message, Usage
from autocompact.core.tokens import Estimator
from autocompact.core.usage import Gauge, Load
from tests.core.strategies import numbered, said

WORDS = "the valve is checked and the pressure written down " * 20


def log(*, outside: int) -> Transcript:
    """Ten turns, each reply with the usage of a provider that counts as we do, and of which we do not see ``outside``."""
    messages: list[Message] = []
    transcript = Transcript(counter=Estimator())
    for message in numbered(said("user" if turn % 2 == 0 else "assistant", WORDS) for turn in range(20)):
        if message.role == "assistant":
            sent = sum(transcript.cost(each.seq).tokens for each in messages)
            message = replace(message, usage=Usage(prompt=outside + sent, completion=0))
        transcript.append(message)
        messages.append(message)
    return transcript


def load(transcript: Transcript) -> Load:
    return Load(tokens=sum(transcript.cost(message.seq).tokens for message in transcript.live()))


def test_the_last_report_counts_and_what_no_load_explains_is_kept() -> None:
    transcript = log(outside=30_000)
    gauge = replayed(Gauge(), transcript, since=0, load=load(transcript), window=0)
    last = transcript[20].usage
    assert last is not None
    assert gauge.read(load(transcript)).reported == last.prompt
    assert gauge.unseen == 30_000


def test_replies_of_an_earlier_context_do_not_count() -> None:
    transcript = log(outside=30_000)
    assert replayed(Gauge(), transcript, since=20, load=load(transcript), window=0).anchor is None


def test_only_replies_report() -> None:
    transcript = Transcript(
        (replace(said("user", "Hello."), seq=1, usage=Usage(prompt=9_000)),), counter=Estimator()
    )
    assert replayed(Gauge(), transcript, since=0, load=load(transcript), window=0) == Gauge()
