from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from autocompact.settings import all_settings, made_schema, schema
from tests.house.source import ROOT

EXAMPLE = (
    (ROOT / "docs" / "guides" / "settings.md")
    .read_text(encoding="utf-8")
    .split("```json\n")[1]
    .split("```")[0]
)


def valid(document: object) -> bool:
    try:
        jsonschema.validate(document, json.loads(schema()))
    except jsonschema.ValidationError:
        return False
    return True


@pytest.mark.requirement("C4")
def test_the_schema_that_comes_along_is_that_of_the_values() -> None:
    assert schema() == made_schema(), "write it anew: make docs"
    jsonschema.Draft202012Validator.check_schema(json.loads(schema()))


def test_the_example_of_the_guide_is_valid_and_is_read(tmp_path: Path) -> None:
    from autocompact.settings import load_settings

    assert valid(json.loads(EXAMPLE))
    file = tmp_path / ".autocompact" / "settings.json"
    file.parent.mkdir()
    file.write_text(EXAMPLE)
    found = load_settings(tmp_path, environ={}, user=tmp_path / "none")
    assert found.settings.models.windows == {"qwen3": 32_768}


@pytest.mark.parametrize(
    "document",
    [
        {"compaktion": {}},
        {"compaction": {"triggers": {"sessionTokens": {"threshold": -1}}}},
        {"compaction": {"triggers": {"sessionTokens": {"threshold": "70k"}}}},
        {"gateway": {"port": 70_000}},
        {"gateway": {"upstreamKeys": {"openai": "sk-key"}}},
    ],
)
def test_an_editor_sees_what_the_program_would_refuse(document: object) -> None:
    assert not valid(document)


def test_each_setting_has_a_meaning_a_name_of_its_own_and_a_default_that_it_accepts() -> None:
    assert len({each.variable for each in all_settings()}) == len(all_settings())
    for each in all_settings():
        assert each.meaning.endswith(".")
        plain: object = msgspec.to_builtins(each.default)
        assert each.accept(plain, where=each.path) == each.default
