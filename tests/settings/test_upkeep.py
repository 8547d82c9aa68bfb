from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.core.prices import Price
from autocompact.errors import InvalidInput
from autocompact.settings import databases_of, load_settings
from autocompact.settings.upkeep import prices_of


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def test_prices_have_a_side_for_requests_and_one_for_replies(tmp_path: Path, nowhere: Path):
    environ = {
        "AUTOCOMPACT_MODELS_INPUT_PRICES": "gpt-5=1.5,qwen=0",
        "AUTOCOMPACT_MODELS_OUTPUT_PRICES": "gpt-5=12,qwen=0",
    }
    settings = load_settings(tmp_path, environ=environ, user=nowhere).settings
    assert prices_of(settings) == {"gpt-5": Price(input=1.5, output=12), "qwen": Price(input=0, output=0)}


@pytest.mark.parametrize("given, lacking", [("INPUT", "outputPrices"), ("OUTPUT", "inputPrices")])
def test_a_price_with_one_side_only_is_refused(tmp_path: Path, nowhere: Path, given: str, lacking: str):
    settings = load_settings(
        tmp_path, environ={f"AUTOCOMPACT_MODELS_{given}_PRICES": "qwen=1"}, user=nowhere
    ).settings
    with pytest.raises(InvalidInput, match=rf"models\.{lacking}: no price for 'qwen'"):
        prices_of(settings)


def test_conversations_are_in_the_files_of_chat_and_gateway_unless_in_memory(tmp_path: Path, nowhere: Path):
    home = {"XDG_DATA_HOME": str(tmp_path)}
    settings = load_settings(tmp_path, environ=home, user=nowhere).settings
    found = databases_of(settings, environ=home)
    assert [Path(str(place)).name for place in found] == ["conversations.db", "gateway.db"]
    own = {**home, "AUTOCOMPACT_CHAT_DB": str(tmp_path / "mine.db"), "AUTOCOMPACT_GATEWAY_DB": ":memory:"}
    settings = load_settings(tmp_path, environ=own, user=nowhere).settings
    assert databases_of(settings, environ=own) == (tmp_path / "mine.db",)
