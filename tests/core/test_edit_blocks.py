"""Blocks of edits in a model's words."""

from __future__ import annotations

import pytest

from autocompact.core.edit_blocks import bare, edit_blocks, is_path, normal_path, search_texts

BLOCK = "<<<<<<< SEARCH\nseal = 1\n=======\nseal = 2\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "text, path, kept",
    [
        (f"So:\n\nsrc/pump.py\n```python\n{BLOCK}\n```\nDone.", "src/pump.py", "So:\n\nDone."),
        (f"### `src/pump.py`:\n\n```\n{BLOCK}\n```", "src/pump.py", ""),
        (f"```python\nsrc\\pump.py\n{BLOCK}\n```", "src/pump.py", ""),
        (f"~~~python src/pump.py\n\n{BLOCK}\n~~~", "src/pump.py", ""),
        (f"./Makefile\n<source>sh\n{BLOCK}\n</source>", "Makefile", ""),
    ],
)
def test_the_file_of_a_block_is_named_before_its_fence_or_first_in_it(
    text: str, path: str, kept: str
) -> None:
    lines, blocks = edit_blocks(text.split("\n"))
    assert blocks == [(path, "seal = 1", "seal = 2")]
    assert "\n".join(lines) == kept


def test_blocks_in_one_fence_are_of_one_file() -> None:
    lines, blocks = edit_blocks(f"a.py\n```\n{BLOCK}\n\n{BLOCK}\n{BLOCK}".split("\n"))
    assert [path for path, _, _ in blocks] == ["a.py"] * 3
    assert lines == []


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        f"```\n{BLOCK}",
        f"```\n```\n{BLOCK}",
        f"\n{BLOCK}",
        "a.py\n```\n<<<<<<< SEARCH\nhalf",
        f"a.py\n```\n<<<<<<< SEARCH\nhalf\n=======\n{BLOCK.replace('=======', '')}",
        "a.py\n>>>>>>> REPLACE",
    ],
)
def test_a_block_without_a_file_or_an_end_stays(text: str) -> None:
    assert edit_blocks(text.split("\n")) == (text.split("\n"), [])


def test_what_blocks_search_for_is_found_wherever_they_stand() -> None:
    assert [*search_texts(f"failed:\n{BLOCK}\n<<<<<<< SEARCH\nhalf".split("\n"))] == ["seal = 1"]


def test_names_of_files_have_a_folder_or_an_ending() -> None:
    assert [is_path(name) for name in ("a.py", "src/a", "Makefile", "For the pump", "x")] == [True] * 3 + [
        False
    ] * 2
    assert normal_path(".\\src\\a.\\_b.py ") == "src/a._b.py"
    assert bare("\n  a \n b\n") == "a\nb"
