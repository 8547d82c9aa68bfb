"""Families of models: the vocabulary that each counts with, and tokens of it for one of ours (o200k_base).

A weight is counted once, with one vocabulary, and multiplied by a factor until the provider reports. Where the model's own
vocabulary counts (`autocompact.models.vocabulary`), the factor is 1.

Learned by ``benchmarks/token_factors.py`` on recorded sessions in November 2026. Claude's figure is what its provider
reported: 1.22 over 605 stretches of 28 sessions, of which 1.2 errs as much as each session's factor from the others. That of
Opus 4.7 and later is the same times what ctok 1.3.0 counts with their vocabulary for one token of the earlier one (1.34). The
open families were counted with their published vocabularies. OpenAI's models have o200k_base itself, and a family without
data is taken as it.

One factor a family: with one by kind of text (file reads 1.16, calls 1.21, other text 1.29 for Claude) the error of stretches
of 1,500 tokens and more at the 90th percentile is 16.1 instead of 17.3 %, and every weight that is kept would need two figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from autocompact.core.windows import longest_match, plain_name

OURS = "o200k_base"
"""The vocabulary that counts where a model's own is not known or not installed."""

CTOK, LATER_CTOK = "ctok", "ctok4.7"
"""ctok's reconstructions of Claude's two vocabularies: until Opus 4.6, and from Opus 4.7 on."""

CLAUDE, LATER_CLAUDE = 1.2, 1.6

TOKENS: Mapping[str, float] = MappingProxyType(
    {
        "qwen": 1.07,
        "qwen3.5": 1.11,
        "deepseek": 1.02,
        "tekken": 1.11,
        "llama3": 0.99,
        "llama4": 0.98,
        CTOK: 1.16,
        LATER_CTOK: 1.56,
    }
)
"""Tokens of a vocabulary for one of ours; 1 for any other, OpenAI's and our estimator's among them."""

FACTORS: Mapping[str, float] = MappingProxyType(
    {
        "claude": CLAUDE,
        "claude-opus-4-7": LATER_CLAUDE,
        "claude-opus-4-8": LATER_CLAUDE,
        "claude-opus-4-9": LATER_CLAUDE,
        "claude-opus-5": LATER_CLAUDE,
        "claude-sonnet-5": LATER_CLAUDE,
        "claude-haiku-5": LATER_CLAUDE,
        "qwen": TOKENS["qwen"],
        "deepseek": TOKENS["deepseek"],
        "mistral": TOKENS["tekken"],
        "codestral": TOKENS["tekken"],
        "llama": TOKENS["llama3"],
    }
)
"""Of models whose vocabulary is not known, by the beginning of the name (`plain_name`); the longest match wins."""

VOCABULARIES: Mapping[str, str] = MappingProxyType(
    {
        "qwen1-5": "qwen",
        "qwen2": "qwen",
        "qwen3": "qwen",
        "qwen3-5": "qwen3.5",
        "qwen3-6": "qwen3.5",
        "qwq": "qwen",
        "qvq": "qwen",
        "deepseek-chat": "deepseek",
        "deepseek-reasoner": "deepseek",
        "deepseek-v3": "deepseek",
        "deepseek-v4": "deepseek",
        "deepseek-r1": "deepseek",
        "deepseek-r1:": "",  # Ollama's: a distilled Qwen or Llama, by its size
        "deepseek-r1:671b": "deepseek",
        "deepseek-r1-0528-qwen3": "qwen",
        "deepseek-r1-distill-llama": "llama3",
        "deepseek-r1-distill-qwen": "qwen",
        "devstral": "tekken",
        "magistral": "tekken",
        "ministral": "tekken",
        "mistral-large-2512": "tekken",
        "mistral-large-3": "tekken",
        "mistral-nemo": "tekken",
        "mistral-small": "tekken",
        "open-mistral-nemo": "tekken",
        "pixtral-12b": "tekken",
        "voxtral": "tekken",
        "llama-3": "llama3",
        "llama-v3": "llama3",
        "llama3": "llama3",
        "meta-llama-3": "llama3",
        "llama-4": "llama4",
        "llama-v4": "llama4",
        "llama4": "llama4",
    }
)
"""Of models whose vocabulary is published, by the beginning of the name; "" if the name does not tell.

Sources: the models' own tokenizer files, compared on 2026-11-27 (DeepSeek's V3, R1 and V4 have one vocabulary); for Mistral the
table of mistral-common 1.13.1, and its vocabulary for the open models that came after that. Names that a provider moves on
to another model (``qwen-max``, ``mistral-medium-latest``) say nothing about it.
"""


@lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str:
    """The vocabulary that a model counts with; "" if it is not known, as for OpenAI's, which tiktoken knows."""
    return longest_match(VOCABULARIES, plain_name(model)) or ""


@lru_cache(maxsize=256)
def reconstruction_of(model: str) -> str:
    """The vocabulary of ctok that is Claude's of this model; "" for a model of another family."""
    factor = longest_match(FACTORS, plain_name(model))
    return {CLAUDE: CTOK, LATER_CLAUDE: LATER_CTOK}.get(factor or 0, "")


@lru_cache(maxsize=256)
def first_factor(model: str, *, counter: str = OURS) -> float:
    """The factor of a model that nothing was reported for; 1.0 if its family is unknown.

    Args:
        model: its name.
        counter: the vocabulary that counted (`autocompact.core.tokens.Counter.name`).
    """
    own = vocabulary_of(model)
    if own == counter:
        return 1.0
    tokens = TOKENS[own] if own else longest_match(FACTORS, plain_name(model)) or 1.0
    return tokens / TOKENS.get(counter, 1.0)
