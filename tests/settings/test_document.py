"""Files of the user's own that stand beside the settings: an error says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.errors import InvalidInput
from autocompact.what_if.billing import read_prices
from autocompact.what_if.policies import given_policies, read_policies

START = '{"policies": [\n  {"name": "é", "window": 9000}, // a comment, with "quotes" and {\n  '


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("", "1:1", "ends here before it is complete"),
        (START + '{"name": "b", "sett', "3:22", "ends here before it is complete"),
        (START + '{"name": "b" "kind": "none"}]}', "3:16", "JSON is malformed"),
        (START + '{"name": "b", "kind": "magic"}]}', "3:25", "(none, recorded, masks, summaries, engine)"),
        (START + '{"kind": "none"}]}', "3:3", "Object missing required field `name`"),
        (START + '{"name": "b", "settings": {"engine": {"ration": 1}}}]}', "3:40", "unknown field `ration`"),
        ("[1, 2]", "1:1", "Expected `object`, got `array`"),
        ("7", "1:1", "Expected `object`, got `int`"),
    ],
)
def test_an_error_in_a_file_of_policies_says_line_and_column(
    text: str, place: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "policies.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_policies(path)
    assert str(refused.value).startswith(f"{path}:{place}: ")
    assert told in str(refused.value)


def test_an_error_in_a_price_table_says_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        '{"source": "us", "date": "2026-11",\n "models": {"gpt-4.1": {"input": 1, "output": -1}}}'
    )
    with pytest.raises(InvalidInput, match=r"prices\.json:2:12: this is no price table: .*has source, date"):
        read_prices(path)


def test_policies_that_a_program_gives_are_checked_as_those_of_a_file() -> None:
    (policy,) = given_policies([{"name": "early", "settings": {"engine": {"ratio": 0.5}}}])
    assert policy.settings.engine.ratio == 0.5
    with pytest.raises(InvalidInput, match=r"these are no policies: .*\[0\]\.kind.*each has a name"):
        given_policies([{"name": "a", "kind": "magic"}])
    with pytest.raises(InvalidInput, match="there are two policies 'a'"):
        given_policies([{"name": "a"}, {"name": "a"}])
