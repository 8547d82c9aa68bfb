"""Single settings are written into the file; whatever nobody asked about stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.errors import InvalidInput
from autocompact.settings import load_settings
from autocompact.settings.editing import change_settings, changed_text

FILE = Path("settings.json")
TEXT = """{
    // how I like it
    "engine": {
        "mode": "coding-agent", // the mode
        "ratio": 0.7 /* seven tenths */
    },
    "chat": {"model": "offline", "steps": 9},
    "models": {
        "window": 8000, // small
    },
}
"""


def test_a_value_is_replaced_in_its_place() -> None:
    assert changed_text(TEXT, {"engine.ratio": 0.8}, file=FILE) == TEXT.replace("0.7", "0.8")
    assert changed_text(TEXT, {"chat.model": "ollama:a"}, file=FILE) == TEXT.replace("offline", "ollama:a")


def test_a_new_value_stands_after_its_neighbours_and_their_comments() -> None:
    changed = changed_text(TEXT, {"engine.tailTokens": 5, "models.reserve": 7, "chat.page": False}, file=FILE)

    assert '"ratio": 0.7, /* seven tenths */\n        "tailTokens": 5\n    },' in changed
    assert '"window": 8000, // small\n        "reserve": 7,\n    },' in changed
    assert '"steps": 9,' in changed
    assert "// how I like it" in changed


def test_sections_that_are_missing_are_made() -> None:
    path = "compaction.triggers.sessionTokens.threshold"

    assert changed_text("", {path: 5}, file=FILE) == (
        '{\n  "compaction": {\n    "triggers": {\n      "sessionTokens": {\n        "threshold": 5\n      }\n    }\n  }\n}\n'
    )
    assert '    "compaction": {\n        "triggers": {\n' in changed_text(TEXT, {path: 5}, file=FILE)


def test_a_value_is_removed_with_its_line_and_a_section_that_it_empties() -> None:
    assert changed_text(TEXT, {"models.window": None}, file=FILE) == TEXT.replace(
        '"window": 8000, // small', "// small"
    )
    assert changed_text(TEXT, {"chat.model": None, "chat.steps": None}, file=FILE) == TEXT.replace(
        '    "chat": {"model": "offline", "steps": 9},\n', ""
    )
    two = '{"chat": {"model": "a:b",\n "steps": 1}}'
    assert changed_text(two, {"chat.steps": None}, file=FILE).split() == [
        '{"chat":',
        '{"model":',
        '"a:b"',
        "}}",
    ]


def test_lines_end_as_they_did_and_a_mark_at_the_beginning_stays() -> None:
    changed = changed_text('\ufeff{\r\n  "chat": {}\r\n}\r\n', {"chat.steps": 5}, file=FILE)

    assert changed.startswith("\ufeff{")
    assert "\n" not in changed.replace("\r\n", "")


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"chat.steps": 0}, "chat.steps: expected int >= 1, got 0"),
        ({"chat.modell": "x"}, "chat.modell: no such setting"),
    ],
)
def test_what_cannot_be_set_leaves_the_file_as_it_was(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(TEXT)

    with pytest.raises(InvalidInput, match=said):
        change_settings(file, {"chat.model": "offline", **changes})

    assert file.read_text() == TEXT


def test_a_file_that_is_no_settings_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"chat": {"colour": 1}}')

    with pytest.raises(InvalidInput, match="colour"):
        change_settings(file, {"chat.steps": 5})

    assert file.read_text() == '{"chat": {"colour": 1}}'


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "chat.instructions": st.one_of(st.none(), st.text(max_size=9)),
        "chat.steps": st.one_of(st.none(), st.integers(1, 99)),
        "chat.commands.allow": st.one_of(st.none(), st.lists(st.text(max_size=3), max_size=2)),
        "engine.ratio": st.one_of(st.none(), st.sampled_from([0.5, 0.75])),
        "engine.mode": st.one_of(st.none(), st.just("usage-driven")),
        "models.windows": st.one_of(st.none(), st.dictionaries(st.text(max_size=3), st.integers(1, 9))),
        "models.window": st.one_of(st.none(), st.integers(1, 9)),
        "gateway.limits.messages": st.one_of(st.none(), st.integers(1, 9)),
    },
)


@given(
    text=st.sampled_from([TEXT, "{}", '{"chat":{"steps":3}}', "// nothing\n{ // here\n}"]),
    one=VALUES,
    two=VALUES,
)
def test_what_is_set_is_read_again_and_the_rest_too(
    tmp_path_factory: pytest.TempPathFactory, text: str, one: dict[str, object], two: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("settings")
    file = folder / "settings.json"
    file.write_text(text)
    before = load_settings(folder, environ={}, user=file)

    changed = changed_text(changed_text(text, one, file=FILE), two, file=FILE)
    file.write_text(changed, newline="")
    after = load_settings(folder, environ={}, user=file)

    wanted = {**one, **two}
    for path, value in wanted.items():
        if value is None:
            assert after.origins[path].source == "default"
        else:
            found = after.value(path)
            assert json.dumps(found) == json.dumps(value)
    for path in set(before.origins) - set(wanted):
        assert after.value(path) == before.value(path), changed
    for comment in ("// how I like it", "/* seven tenths */", "// small", "// nothing", "// here"):
        assert (comment in changed) == (comment in text)
