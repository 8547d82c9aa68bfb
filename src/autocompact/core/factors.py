"""Tokens that a model's own tokenizer makes of one token of ours (o200k_base), by family, until its provider reports.

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

CLAUDE, LATER_CLAUDE = 1.2, 1.6

FACTORS: Mapping[str, float] = MappingProxyType(
    {
        "claude": CLAUDE,
        "claude-opus-4-7": LATER_CLAUDE,
        "claude-opus-4-8": LATER_CLAUDE,
        "claude-opus-4-9": LATER_CLAUDE,
        "claude-opus-5": LATER_CLAUDE,
        "claude-sonnet-5": LATER_CLAUDE,
        "claude-haiku-5": LATER_CLAUDE,
        "qwen": 1.07,
        "qwq": 1.07,
        "deepseek": 1.02,
        "mistral": 1.11,
        "ministral": 1.11,
        "magistral": 1.11,
        "devstral": 1.11,
        "codestral": 1.11,
        "llama": 0.99,
        "meta-llama": 0.99,
    }
)
"""By the beginning of the model's name (`plain_name`); the longest match wins."""


@lru_cache(maxsize=256)
def first_factor(model: str) -> float:
    """The factor of a model that nothing was reported for; 1.0 if its family is unknown."""
    found = longest_match(FACTORS, plain_name(model))
    return 1.0 if found is None else found
