import pytest

from autocompact.compaction.modes import MODES, Mode
from autocompact.errors import InvalidInput


def test_every_design_has_a_mode_of_its_name():
    assert set(MODES) == {"default", "database-chat", "usage-driven", "session-layer", "coding-agent"}
    assert all(MODES[name].name == name for name in MODES)


@pytest.mark.parametrize("field", ["summary_tokens", "cap_tokens", "output_tokens"])
def test_a_mode_refuses_sizes_that_are_not_positive(field: str):
    with pytest.raises(InvalidInput, match=field):
        Mode(name="mine", **{field: 0})  # pyright: ignore[reportArgumentType] - the field's name is the parameter
