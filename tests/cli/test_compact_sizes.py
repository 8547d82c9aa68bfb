"""``autocompact compact`` with sizes that do not go together, and with a last message that is larger than all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocompact.vocabulary import load_counter
from tests.cli.program import CODING, Program
from tests.cli.test_compact import compacted, texts_of

PASTED = "Please sum this up.\n" + "\n".join(f"row {n} of the table that was pasted" for n in range(2_500))


@pytest.mark.requirement("E5")
def test_a_target_that_the_window_has_no_room_for_is_refused(program: Program) -> None:
    ended = program("compact", CODING, "--window", 10_000, "--to", 60_000)
    assert ended.code == 2
    assert "60,000" in ended.err
    assert "10,000" in ended.err
    assert "8,750" in ended.err
    assert ended.out == b""
    assert compacted(program, CODING, "--window", 10_000, "--to", 8_000)["receipt"]["tokens_after"] <= 8_000


def pasted(tmp_path: Path) -> Path:
    """A chat whose last message is 87,000 characters long."""
    messages = [{"role": "system", "content": "You are terse."}]
    for n in range(60):
        messages.append(
            {"role": "user", "content": f"What does module {n} of the invoices do, in a few words?"}
        )
        messages.append(
            {"role": "assistant", "content": f"Module {n} rounds the totals of part {n} to cents. " * 8}
        )
    messages.append({"role": "user", "content": PASTED})
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": messages}))
    return path


@pytest.mark.requirement("E5")
def test_a_large_last_message_is_cut_where_there_is_nothing_else_to_compact(
    program: Program, tmp_path: Path
) -> None:
    """All but it fitted the tail, so it stayed whole, and a smaller tail was advised, which would not have helped."""
    path = tmp_path / "chat.json"
    said = [("user", "Hello"), ("assistant", "Good day."), ("user", PASTED)]
    path.write_text(json.dumps([{"role": role, "content": text} for role, text in said]))
    document = compacted(program, path, "--window", 64_000, "--summary-tokens", 1_500)
    assert document["receipt"]["tokens_after"] <= 1_500
    assert [note.partition(" from ")[0] for note in document["receipt"]["notes"]] == [
        "the last request (m3) was cut"
    ]
    assert texts_of(document["messages"], role="user")[0] == "Hello"


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("options", [("--to", 4_000, "--summary-tokens", 500), ("--to", 4_000)])
def test_a_large_message_that_is_the_only_one_is_cut(
    program: Program, tmp_path: Path, options: tuple[str | int, ...]
) -> None:
    """Nothing could be folded, so it was refused: it \"cannot be made smaller than 249 tokens, but only 4,000 fit\"."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": PASTED}]))
    document = compacted(program, path, "--window", 64_000, *options)
    assert document["receipt"]["tokens_after"] <= 4_000
    (last,) = texts_of(document["messages"], role="user")
    assert last.startswith("Please sum this up.")
    assert last.endswith(PASTED[-100:])
    assert "the last request (m1) was cut" in document["receipt"]["notes"][0]


@pytest.mark.requirement("E5")
def test_a_last_message_larger_than_the_summary_is_shown_by_its_beginning_and_end(
    program: Program, tmp_path: Path
) -> None:
    path = pasted(tmp_path)
    assert len(PASTED) > 87_000
    document = compacted(program, path, "--summary-tokens", 1_500, "--tail-tokens", 0)
    assert document["receipt"]["tokens_after"] <= 1_500 + 200
    last = texts_of(document["messages"], role="user")[-1]
    assert last.startswith("Please sum this up.")
    assert last.endswith(PASTED[-100:])
    assert 'characters left out: memory_expand("m122") shows all of it]' in last
    assert [note.partition(" from ")[0] for note in document["receipt"]["notes"]] == [
        "the last request (m122) was cut"
    ]
    ended = program("compact", path, "--summary-tokens", 1_500, "--tail-tokens", 0)
    assert "the last request (m122) was cut from" in " ".join(ended.err.split())

    whole = compacted(program, path, "--tail-tokens", 0)
    assert PASTED in texts_of(whole["messages"], role="user")[-1]
    assert "\n".join(texts_of(whole["messages"])).count("Please sum this up.") == 1

    near = compacted(program, path, "--to", 6_000)
    assert near["receipt"]["tokens_after"] <= 6_000
    assert load_counter().count(texts_of(near["messages"], role="user")[-1]) > 2_000
