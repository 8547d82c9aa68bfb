from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.errors import InvalidInput
from autocompact.models.skills import is_text, load_skill


@pytest.mark.requirement("B2")
@pytest.mark.parametrize("text", ["Say what matters,\nin two lines.", "Summarise this in French. "])
def test_a_prompt_can_be_given_as_text(text: str) -> None:
    assert load_skill(text).body == text.strip()


@pytest.mark.requirement("A5")
def test_the_text_of_a_skill_file_is_one() -> None:
    skill = load_skill("\n---\nname: mine\ndescription: For me.\n---\nThe prompt.\n")
    assert (skill.name, skill.description, skill.body) == ("mine", "For me.", "The prompt.")


@pytest.mark.parametrize("name", ["compct", "my prompts/new one/SKILL.md", "prompt of mine.md"])
def test_the_name_of_a_file_is_no_prompt(name: str, tmp_path: Path) -> None:
    assert not is_text(name)
    with pytest.raises(InvalidInput, match="neither a file nor one of"):
        load_skill(tmp_path / name)
