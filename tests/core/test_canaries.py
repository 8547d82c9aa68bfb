"""Secrets planted wherever a message can carry text: what is made of the conversation has none of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import SummaryReply, answer, plan
from autocompact.compaction.transcript import Transcript
from autocompact.core.chunks import document
from autocompact.core.messages import Document, Message, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.stores.encoding import encode_record
from autocompact.stores.rules import title_of

COUNTER = Estimator()
ROWS = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + f"C7abcdEFGH01{row:02}" for row in range(9)]
PEM = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *ROWS, "-----END RSA PRIVATE KEY-----"])
CANARIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "token": ("ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A", ()),
    "password": ("DB_PASSWORD=tr0ub4dor-" + "Hx93kQ", ("tr0ub4dor-Hx93kQ",)),
    "url": ("postgres://pump:s3cr3tPumpWord@db.example.com/x", ("s3cr3tPumpWord",)),
    "aws": ("AKIA" + "Z7QWERTYUIOPASDF", ()),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", ()),
    "pem": (PEM, tuple(ROWS)),
    "numbered": ("\n".join(f"{n:6}\t{row}" for n, row in enumerate(PEM.split("\n"), 1)), tuple(ROWS)),
}
PLACES: dict[str, Callable[[str], Part]] = {
    "user": lambda secret: Text(text=f"Use this from now on: {secret}\nand never commit it."),
    "reasoning": lambda secret: Reasoning(text=f"The user gave me\n{secret}\nfor retry_upload."),
    "assistant": lambda secret: Text(text=f"I decided to use {secret} because retry_upload needs it."),
    "command": lambda secret: ToolCall(id="c", name="bash", arguments=json.dumps({"command": f"deploy {secret} x.py"})),
    "path": lambda secret: ToolCall(id="c", name="edit", arguments=json.dumps({"file_path": f"/w/{secret}/x.py", "new_string": secret})),
    "plan": lambda secret: ToolCall(id="c", name="todo", arguments=json.dumps({"todos": [{"content": f"use {secret}", "status": "pending"}]})),
    "free": lambda secret: ToolCall(id="c", name="bash", arguments=f"deploy {secret}"),
    "name": lambda secret: ToolCall(id="c", name=f"tool {secret}", arguments="{}"),
    "result": lambda secret: ToolResult(call_id="c", text=f"retry_upload says\n{secret}\n" + "more words here\n" * 200),
    "error": lambda secret: ToolResult(call_id="c", text=f"Exit code 1\nError: denied for {secret}", is_error=True),
    "document": lambda secret: Document(name=f"{secret}.txt", text=f"keep\n{secret}"),
}  # fmt: skip


def conversation(place: str, secret: str, *, split_at: int) -> Transcript:
    """A long conversation with ``secret`` at one place near its beginning, and once more at its end."""
    parts = [PLACES[place](secret)]
    if place in ("user", "assistant") and split_at:
        half = min(split_at, len(secret) - 1)
        parts = [PLACES[place](secret[:half]), Text(text=secret[half:])]
        parts[0] = Text(text=secret[:half])
    messages = [Message(seq=1, role="user", parts=(Text(text="Make the upload robust."),))]

    def add(role: str, *parts: Part) -> None:
        messages.append(Message(seq=len(messages) + 1, role=role, parts=parts))  # pyright: ignore[reportArgumentType] - one of the roles below

    def planted() -> None:
        if place in ("user", "document"):
            add("user", *parts)
            add("assistant", Text(text="Understood."))
        elif place in ("reasoning", "assistant"):
            add("assistant", *parts, Text(text="Done."))
        else:
            call = next(
                (part for part in parts if isinstance(part, ToolCall)),
                ToolCall(id="c", name="bash", arguments="{}"),
            )
            result = next(
                (part for part in parts if isinstance(part, ToolResult)), ToolResult(call_id="c", text="fine")
            )
            add("assistant", call)
            add("tool", result)

    planted()
    for turn in range(12):
        add(
            "assistant",
            ToolCall(id=f"t{turn}", name="bash", arguments=json.dumps({"command": f"cat part{turn}.py"})),
        )
        add("tool", ToolResult(call_id=f"t{turn}", text=f"valve_{turn} is open\n" * 40))
        add("user", Text(text=f"Look at part {turn} now."))
    planted()
    add("assistant", Text(text="All done."))
    add("user", Text(text=f"Go on. The key is {secret}"))
    return Transcript(messages, counter=COUNTER)


@pytest.mark.requirement("E1")
@given(
    place=st.sampled_from(sorted(PLACES)),
    kind=st.sampled_from(sorted(CANARIES)),
    split_at=st.sampled_from([0, 60, 150, 400]),
    inline=st.booleans(),
    first=st.sampled_from(["mask", "summarise"]),
    quoted=st.booleans(),
)
def test_no_record_and_no_document_holds_a_planted_secret(
    place: str, kind: str, *, split_at: int, inline: bool, first: str, quoted: bool
) -> None:
    secret, found = CANARIES[kind]
    wanted = found or (secret,)
    log = conversation(place, secret, split_at=split_at if kind == "pem" else 0)
    goal = Goal(
        limit=3_000, target=1_500, summary_tokens=900, tail_tokens=200, inline_request=inline,
        first_rung="mask" if first == "mask" else "summarise", focus=redact(f"on {secret}"), notes=(redact(f"note {secret}"),),
    )  # fmt: skip
    reply = SummaryReply(text=redact(f"The key is:\n{secret}\nand it works."), model="m") if quoted else None

    record = answer(plan(log, goal), reply)
    told = [*document(list(log.live()), output_tokens=100, counter=COUNTER), title_of(log.live())]

    assert record is not None
    leaks = [row for row in wanted if row in repr(record) or any(row in text for text in told)]
    assert leaks == []
    assert encode_record(record)


@pytest.mark.requirement("F8")
def test_a_title_holds_no_half_of_a_secret() -> None:
    halves = ("ghp_" + "x8Kd03mZq7Lw2Rt5", "Vb9Nc4Fh6Jp1Ys0A")
    split = Message(seq=1, role="user", parts=(Text(text=f"Use {halves[0]}"), Text(text=f"{halves[1]} now")))
    cut = Message(seq=1, role="user", parts=(Text(text=" " * 19_980 + "x" * 6 + " " + "".join(halves)),))

    assert title_of([split]) == "Use [secret: GitHub token] [secret: GitHub token] now"
    assert title_of([cut]) == "xxxxxx"
    assert title_of([Message(seq=1, role="user", parts=(Text(text=" " * 30_000), Text(text="late")))]) == ""
