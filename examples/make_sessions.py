"""Writes two of the example sessions: ``python examples/make_sessions.py``. They are in the public domain (CC0 1.0).

``find-a-leak.json`` is an agent that reads forty long logs and says little of each; ``plan-a-garden.json`` is a conversation of
nothing but words. What each of them teaches of compaction: docs/guides/what-if-gallery.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).with_name("sessions")
MODEL = "gpt-4.1"

STREETS = (
    "Mill Lane",
    "Quay Street",
    "Station Road",
    "Chapel Hill",
    "Orchard Way",
    "Ferry Road",
    "North Bank",
    "Tan Yard",
)
HOURS, METERS = 24, 3

PLANTS = (
    (
        "broad beans",
        "in late February",
        "a trench with last year's compost",
        "pinch out the tips once the first pods set",
    ),
    (
        "early potatoes",
        "when the blackthorn flowers",
        "a ridge 60 centimetres from the next",
        "earth up before each cold night",
    ),
    (
        "onion sets",
        "by the end of March",
        "the driest bed, 10 centimetres apart",
        "bend no necks, they fall by themselves",
    ),
    (
        "parsnips",
        "once the soil is above 8 degrees",
        "a row that was not manured",
        "thin to a hand's breadth in June",
    ),
    (
        "beetroot",
        "every three weeks from April",
        "half shade behind the beans",
        "pull them at the size of a tennis ball",
    ),
    (
        "courgettes",
        "indoors in April, out after the ice saints",
        "the old compost heap",
        "two plants, not four",
    ),
    ("runner beans", "in the middle of May", "hazel poles along the west fence", "pick every second day"),
    (
        "leeks",
        "in March under glass",
        "the bed that the potatoes leave in July",
        "drop them into deep holes and water, no soil",
    ),
    ("kale", "in May in a seedbed", "the bed of the peas", "net it before the white butterflies come"),
    (
        "garlic",
        "in October",
        "a sunny edge, 15 centimetres apart",
        "lift when a third of the leaves are yellow",
    ),
)
WORRIES = (
    "the slugs took everything last year", "there is little water in August", "I am away for two weeks in July",
    "the neighbour's birch takes the light from four o'clock", "my back does not like digging", "the clay is hard after rain",
)  # fmt: skip


def leak() -> list[dict[str, object]]:
    """An agent reads the meters of a town, one log after the other."""
    log: list[dict[str, object]] = [
        _said(
            "system",
            "You look after the water network of a small town. Read logs with read_log before you say anything.",
        ),
        _said(
            "user",
            "Since Monday we lose about 40 cubic metres a night. Please go through the logs of all districts in logs/ and find "
            "the leak. Never close a valve yourself: the hospital hangs on this network, so ask me first. Litres, not gallons.",
        ),
    ]
    for number in range(40):
        street = STREETS[number % len(STREETS)]
        path = f"logs/district-{number // len(STREETS) + 1}/{street.lower().replace(' ', '-')}.log"
        call = f"call_{number:03}"
        log.append(_called(call, path))
        log.append({"role": "tool", "tool_call_id": call, "content": "\n".join(_readings(number, street))})
        if number % 8 == 7:
            log.append(
                _said("assistant", f"{_finding(number, street)} Shall I go on with the next district?")
            )
            log.append(_said("user", "Yes, go on."))
    log.append(
        _said(
            "assistant",
            "The leak is in Ferry Road, district 5: meter FR-52 draws 1,690 litres an hour from 01:00 to 04:00, when its neighbours "
            "draw 60. That makes 40 cubic metres a night with the hours around it. Valve V-52 would shut it off; it also feeds the "
            "hospital's laundry. May it be closed tonight from 01:00 to 03:00, or do you want a crew there first?",
        )
    )
    return log


def garden() -> list[dict[str, object]]:
    """Somebody plans a vegetable garden, month by month, and has one rule."""
    log: list[dict[str, object]] = [
        _said("system", "You help people to plan their gardens. Be concrete: say when, where and how much."),
        _said(
            "user",
            "I have 80 square metres, clay, at 300 metres above the sea, and want vegetables for three people. Never recommend "
            "slug pellets or any other poison, we have hedgehogs. Shall we plan it bed by bed?",
        ),
        _said(
            "assistant",
            "Gladly. Eight beds of 1.20 by 6 metres leave paths of 40 centimetres. Which vegetable comes first?",
        ),
    ]
    for turn in range(60):
        log += _advised(turn)
    return log


def _advised(turn: int) -> Iterator[dict[str, object]]:
    plant, when, where, care = PLANTS[turn % len(PLANTS)]
    after = PLANTS[(turn + 3) % len(PLANTS)][0]
    bed, worry = turn % 8 + 1, WORRIES[turn % len(WORRIES)]
    year = 2027 + turn // len(PLANTS)
    yield _said(
        "user",
        f"What about {plant} in bed {bed} in {year}? Remember that {worry}, and that bed {(bed + 2) % 8 + 1} had {after} before.",
    )
    kilos = 6 + (turn * 7) % 23
    yield _said(
        "assistant",
        f"Sow or plant {plant} {when} {year}, in {where}; in bed {bed} there is space for {kilos} kilograms. Then {care}. Because "
        f"{worry}, cover the soil with {2 + turn % 4} centimetres of leaves once it is warm, and put a board beside the row: "
        f"what hides under it in the morning you carry to the hedge, which the hedgehogs will like. After {plant} comes {after} "
        f"in the same bed, with {kilos // 3} litres of compost to the metre, so that no family follows itself for four years. "
        f"Write on the label: bed {bed}, {plant}, {year}, {kilos} kg. If the spring is cold, wait {3 + turn % 9} days rather than "
        f"sow into wet clay: a seed that swells at {4 + turn % 5} degrees rots, and one that is a week late catches up by midsummer. "
        f"That leaves {max(0, 80 - turn)} square metres to plan. Which bed is next?",
    )


def _readings(number: int, street: str) -> Iterator[str]:
    yield f"# {street}, district {number // len(STREETS) + 1}: litres an hour"
    code = "".join(word[0] for word in street.split())
    for hour in range(HOURS):
        for meter in range(METERS):
            usual = (
                60 + (hour * 37 + meter * 11 + number * 5) % 160
                if 6 <= hour <= 22
                else 40 + (number + meter) % 25
            )
            leaks = number == 37 and meter == 1 and (hour <= 5 or hour == 23)
            flow = 1_690 if leaks else usual
            pressure = 4.2 - flow / 4_000 + meter / 100
            yield f"2026-10-{12 + meter:02} {hour:02}:00  meter {code}-{number + 15}{meter}  flow {flow:5} l/h  pressure {pressure:.2f} bar  ok"


def _finding(number: int, street: str) -> str:
    return (
        f"District {number // len(STREETS) + 1} is read as far as {street}: nights are between 40 and 64 litres an hour and meter, "
        f"{'but for one meter of Ferry Road, which draws 1,690' if number == 39 else 'so nothing leaks there'}."
    )


def _said(role: str, text: str) -> dict[str, object]:
    return {"role": role, "content": text}


def _called(call: str, path: str) -> dict[str, object]:
    function = {"name": "read_log", "arguments": json.dumps({"path": path})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call, "type": "function", "function": function}],
    }


def sessions() -> dict[str, str]:
    """Each session by the name of its file."""
    made = {"find-a-leak.json": leak(), "plan-a-garden.json": garden()}
    return {
        name: json.dumps({"model": MODEL, "messages": log}, indent=1, ensure_ascii=False) + "\n"
        for name, log in made.items()
    }


if __name__ == "__main__":
    for file, text in sessions().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
