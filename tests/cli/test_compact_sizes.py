"""``autocompact compact`` with sizes that do not go together, and with a last message that is larger than all of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from autocompact.models.vocabulary import load_counter
from tests.cli.program import CODING, Program
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.cli.test_compact import compacted, texts_of
from tests.lengths import some

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


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_request_of_one_letter_takes_no_more_time_than_its_length(
    program: Program, tmp_path: Path, letter: str
) -> None:
    """The check of the summary took minutes: it looked for a capital from each of the letters on."""
    path = tmp_path / "chat.json"
    said = [("user" if n % 2 else "assistant", f"Part {n}: " + "word " * 400) for n in range(40)]
    messages = [{"role": role, "content": text} for role, text in (*said, ("user", letter * 300_000))]
    path.write_text(json.dumps(messages))
    assert compacted(program, path, "--window", 800_000, "--to", 500_000, "--summary-tokens", 400_000)


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
    assert "characters left out: all of it is archived as m122]" in last
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


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("name", ["summary-tokens", "tail-tokens"])
def test_a_part_larger_than_the_whole_context_is_refused(program: Program, name: str) -> None:
    """A tail of 90,000 tokens within 8,000 was a context of 158 tokens: nothing of what was asked for."""
    ended = program("compact", CODING, "--to", "3k", f"--{name}", "90k")
    assert ended.code == 2
    assert f"{name} is 90,000, but to is 3,000 tokens for the whole context: choose less" in ended.err


@pytest.mark.requirement("E5")
def test_a_tail_as_large_as_the_context_is_what_the_context_has_room_for(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "chat.json"
    said = [
        {"role": "user" if n % 2 else "assistant", "content": f"{n}: " + "word " * 60} for n in range(120)
    ]
    path.write_text(json.dumps([*said, {"role": "user", "content": "And now?"}]))
    document = compacted(program, path, "--window", 64_000, "--to", 4_000, "--tail-tokens", 4_000)
    assert 3_000 < document["receipt"]["tokens_after"] <= 4_000


SAME_SIZE = ("12k", "12K", "12,000", "12_000", "0.012m", " 12000 ")


def test_sizes_are_written_as_people_write_them(program: Program) -> None:
    usual = program("compact", CODING, "--window", "64000", "--to", "12000", "--preview")
    for size in some(SAME_SIZE, gate=3):
        asked = program("compact", CODING, "--window", "64k", "--to", size, "--preview")
        assert asked.code == 0
        assert asked.report == usual.report


@pytest.mark.parametrize("size", ["12kb", "1.2345k", "1,2", "k", "twelve", "-", "١٢k٫"])
def test_what_is_no_size_is_refused_with_the_forms_that_are(program: Program, size: str) -> None:
    ended = program("compact", CODING, "--to", size)
    assert ended.code == 2
    assert "is not a whole number: write 12000 or 12k" in ended.err


def test_on_a_terminal_the_report_is_shown_and_the_context_is_kept_off_the_screen(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "TERM": "xterm"}
    with PseudoTerminal("compact", str(CODING), "--to", "3k", cwd=tmp_path, env=environment) as terminal:
        assert terminal.ended() == 0
        shown = terminal.text
    assert "summarised" in shown
    assert "--to 3k --out compacted.md" in shown
    assert "Conversation Summary" not in shown
    with PseudoTerminal(
        "compact", str(CODING), "--to", "3k", "--out", "-", cwd=tmp_path, env=environment
    ) as terminal:
        assert terminal.ended() == 0
        shown = terminal.text
    assert "Conversation Summary" in shown
    assert list(tmp_path.glob("-")) == []


def test_the_report_says_what_out_replaced_and_which_folder_was_made(
    program: Program, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "compacted.md"
    first = program("compact", CODING, "--to", "3000", "--out", str(out))
    second = program("compact", CODING, "--to", "3000", "--out", str(out))
    assert "in place of" not in first.err
    folder = f"The folder {str(out.parent)!r} was not there and has been made."
    assert folder in first.err
    assert folder not in second.err
    assert "in place of the file that was there" in " ".join(second.err.split())
