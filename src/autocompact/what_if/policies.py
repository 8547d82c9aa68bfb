"""The policies that a session is replayed under: those that are always compared, and a file of the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta, Struct, ValidationError, convert, field

from autocompact.core.budget import HIGHEST_RATIO
from autocompact.core.windows import budget_for
from autocompact.errors import InvalidInput
from autocompact.settings import Settings
from autocompact.settings.document import decode_document
from autocompact.settings.values import Compaction, Engine, Positive, Preset, SessionTokens, Triggers

Kind: TypeAlias = Literal["none", "recorded", "masks", "summaries", "engine"]
"""How the context develops.

    none       nothing is ever compacted: a request that is too large fails
    recorded   as the recording program compacted
    masks      old tool outputs become stubs at the threshold, and nothing else
    summaries  at the moments of the recording, with its summaries, checked and put right by autocompact
    engine     by autocompact, offline
"""

POLICY_FORM = (
    'A file of policies is {"policies": [...]}; each has a name, and where it needs them a kind '
    f"({', '.join(get_args(Kind))}), a window in tokens, and settings as in settings.json"
)
"""What ends an error in such a file."""

WINDOWS = (32_000, 128_000, 200_000, 1_000_000)
"""Windows that are tried besides the session's own, in tokens."""


UNPREPARED: Preset = "100k"
"""The threshold at which compactions are tried unprepared as well, where the window has room for it."""


class WhatIf(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A policy to compare.

    Attributes:
        name: unique among those that are compared.
        kind: how the context develops.
        window: tokens of the model's window; null is the session's.
        settings: as in ``settings.json``; without a mode, threshold or ratio the gateway's rhythm.
    """

    name: Annotated[str, Meta(min_length=1)]
    kind: Kind = "engine"
    window: Positive | None = None
    settings: Settings = field(default_factory=Settings)


class PolicyFile(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A file of policies."""

    policies: Annotated[tuple[WhatIf, ...], Meta(min_length=1)]


def read_policies(path: Path) -> tuple[WhatIf, ...]:
    """The policies in a file: JSON; comments and trailing commas are allowed.

    Raises:
        InvalidInput: it cannot be read, or is no such file; the message names file and place.
    """
    found = decode_document(path, PolicyFile, what="file of policies", form=POLICY_FORM).policies
    return _named_once(found, where=f"{path}: ")


def given_policies(policies: Sequence[Mapping[str, object]]) -> tuple[WhatIf, ...]:
    """The policies that a program gives, in the form that they have in a file.

    Raises:
        InvalidInput: one of them is none; the message says which, and what is expected.
    """
    try:
        found = convert({"policies": policies}, PolicyFile).policies
    except ValidationError as error:
        raise InvalidInput(f"these are no policies: {error}. {POLICY_FORM}") from None
    return _named_once(found, where="")


def _named_once(policies: tuple[WhatIf, ...], *, where: str) -> tuple[WhatIf, ...]:
    known: set[str] = set()
    for index, policy in enumerate(policies):
        if policy.name in known:
            raise InvalidInput(
                f"{where}there are two policies {policy.name!r} - at `$.policies[{index}].name`: a name stands for one policy"
            )
        known.add(policy.name)
    return policies


def default_policies(*, window: int, has_records: bool, has_summaries: bool) -> tuple[WhatIf, ...]:
    """The policies that are compared where the user names none.

    Args:
        window: tokens of the session's window.
        has_records: its program compacted it.
        has_summaries: with summaries.
    """
    found = [WhatIf(name="no compaction", kind="none")]
    if has_records:
        found.append(WhatIf(name="as recorded", kind="recorded"))
    found.append(WhatIf(name="masks only", kind="masks"))
    if has_summaries:
        found.append(WhatIf(name="recorded summaries", kind="summaries"))
    found.append(WhatIf(name="autocompact"))
    return (*found, *_thresholds(window), *_windows(window))


def _thresholds(window: int) -> Iterator[WhatIf]:
    most = HIGHEST_RATIO * budget_for("", window=window).limit
    presets: Sequence[Preset] = get_args(Preset)
    fitting = [each for each in presets if each != "never" and int(each[:-1]) * 1_000 <= most]
    for preset in fitting:
        yield WhatIf(name=f"at {preset}", settings=at_threshold(preset))
        # one of them shows what preparing is worth
        if preset == (UNPREPARED if UNPREPARED in fitting else fitting[-1]):
            yield WhatIf(
                name=f"{preset}, unprepared",
                settings=at_threshold(preset, engine=Engine(background=False)),
            )


def _windows(window: int) -> Iterator[WhatIf]:
    for other in WINDOWS:
        if other != window:
            shown = f"{other // 1_000}k" if other < 1_000_000 else f"{other // 1_000_000}M"
            yield WhatIf(name=f"window {shown}", window=other)


def at_threshold(threshold: Preset | int, *, engine: Engine | None = None) -> Settings:
    """Settings that compact at so many tokens."""
    triggers = Triggers(session_tokens=SessionTokens(threshold=threshold))
    return Settings(compaction=Compaction(triggers=triggers), engine=engine or Engine())
