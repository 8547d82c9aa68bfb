"""Pairs of observations that a model judges."""

import asyncio
from collections.abc import Sequence

from autocompact.memory.documents.rules import Pair, Rule
from autocompact.memory.judging import judge
from autocompact.models.function import FunctionModel

PAIRS = [
    Pair(first=Rule(number=1, text=f"Use {one}"), second=Rule(number=None, text=f"{one}, use it"))
    for one in ("rg", "UTC", "tabs", "ghp_" + "x7Kq2VbN9sLw4TzR8mYd3HfJ6cPa1Ge5UoXi")
]


NEGATED = Pair(
    first=Rule(number=None, text="Leave emoji out"),
    second=Rule(number=None, text="No emoji"),
    differ="negation",
)


def judged(answer: str, pairs: Sequence[Pair] = PAIRS) -> tuple[dict[tuple[str, str], str], list[str]]:
    asked: list[str] = []

    def reply(messages: list[dict[str, object]]) -> str:
        asked.append(str(messages))
        return answer

    return dict(asyncio.run(judge(FunctionModel(reply), pairs))), asked


def test_all_pairs_are_judged_in_one_request_without_secrets():
    verdicts, asked = judged("1 same\n2: Contradicts\n- 3. different, as tabs are")
    assert [verdicts.get((each.first.text, each.second.text)) for each in PAIRS] == [
        "same",
        "contradicts",
        "different",
        None,
    ]
    assert len(asked) == 1
    assert '"pair": 2, "first": "Use UTC", "second": "UTC, use it"' in asked[0]
    assert "x7Kq2VbN9sLw4" not in asked[0]


def test_what_is_no_verdict_or_two_of_one_pair_judges_nothing():
    assert (
        judged("They are all the same.\n1 same\n1 different\n2 perhaps\n3 same, no: different\n99 same")[0]
        == {}
    )


def test_forms_in_which_models_reply_are_read():
    reply = 'Pair 1: **same**\n{"pair": 2, "verdict": "contradicts"}\n| 3 | different |'
    assert list(judged(reply)[0].values()) == ["same", "contradicts", "different"]


def test_a_negation_is_pointed_out_and_only_a_verdict_that_weighs_it_is_another_one():
    verdicts, asked = judged("1 same\n2 same despite the negation", [NEGATED])
    assert list(verdicts.values()) == ["same"]
    assert '"second": "No emoji", "differ": "negation"}' in asked[0]
    assert list(judged("1. Same despite the negation.", [NEGATED])[0].values()) == ["restated"]


def test_nobody_is_asked_without_a_pair():
    assert asyncio.run(judge(FunctionModel(lambda _: "1 same"), [])) == {}
