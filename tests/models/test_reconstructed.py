"""ctok's reconstruction of Claude's vocabularies: counts only where it is asked for, and says what it lacks."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from autocompact.core.factors import first_factor
from autocompact.models.reconstructed import load_ctok
from autocompact.models.vocabulary import default_counter, load_counter

pytestmark = pytest.mark.requirement("A8")

TOO_OLD = sys.version_info < (3, 12)
THERE = not TOO_OLD and importlib.util.find_spec("ctok") is not None
WHY = (
    f"ctok needs Python 3.12, this is {sys.version.split()[0]}"
    if TOO_OLD
    else "the extra ctok is not installed"
)
counts = pytest.mark.skipif(not THERE, reason=WHY)

TEXTS = (
    "antidisestablishmentarianism 1234567",
    "def total(x):\n\treturn {'a': x[0], \"b\": -3.14}  # ...\n\n\n    pass\r\n",
    "お誕生日おめでとう・カナ 2026年、東京　ok",
    "NASA's “naïve” tokenizers aren't it \x1b[1m😀\ud800",
)
"""Of which ctok 1.3.0 makes the tokens of `EARLIER` and `LATER`, frame taken off."""

EARLIER, LATER = [12, 29, 23, 18], [15, 32, 24, 24]


@counts
@pytest.mark.parametrize(("name", "tokens"), [("ctok", EARLIER), ("ctok4.7", LATER)])
def test_counts_are_those_of_ctok_without_the_frame_of_a_message(name: Any, tokens: list[int]) -> None:
    counter = load_counter(name)
    assert counter.name == name
    assert [counter.count(text) for text in TEXTS] == tokens
    assert counter.count("") == 0
    # far more than one stride, each of which ends in a line break that ctok counts into the frame
    lines = "".join(f"total({number}) = 'part {number}', ok\n" for number in range(5_000))
    whole = import_module("ctok").token_count(lines, "4.6" if name == "ctok" else "4.7")
    assert counter.count(lines) == pytest.approx(whole, rel=0.001)


@counts
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-opus-4-6", "ctok"),
        ("anthropic/claude-3-5-sonnet-20241022", "ctok"),
        ("claude-opus-4-7", "ctok4.7"),
        ("us.anthropic.claude-sonnet-5-v1:0", "ctok4.7"),
        ("gpt-5", "o200k_base"),
    ],
)
def test_a_model_of_claude_is_counted_with_its_generation_where_that_is_asked_for(
    model: str, name: str
) -> None:
    assert default_counter(model, ctok=True).name == name


def test_no_model_is_counted_with_it_unasked() -> None:
    assert default_counter("claude-opus-4-6").name == default_counter("claude-opus-5").name == "o200k_base"


@pytest.mark.parametrize(("model", "counter"), [("claude-opus-4-6", "ctok"), ("claude-opus-4-7", "ctok4.7")])
def test_its_tokens_have_a_factor_of_their_own_until_the_provider_reports(model: str, counter: str) -> None:
    """Reported is more than the tokens of the texts, for the frame of each message and call is in it."""
    assert 1.0 < first_factor(model, counter=counter) < 1.05


def test_a_python_that_is_too_old_is_said() -> None:
    with pytest.raises(ImportError, match=r"ctok needs Python 3\.12 or newer, and this is Python 3\.11\.7: "):
        load_ctok("ctok", python=(3, 11, 7))


def test_without_the_extra_the_command_that_installs_it_is_said() -> None:
    check = (
        "import sys\n"
        "from autocompact.models.reconstructed import load_ctok\n"
        "sys.modules['ctok'] = None\n"
        "try:\n    load_ctok('ctok', python=(3, 12, 1))\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("the package ctok is not installed")
    assert "[ctok]" in done.stdout
