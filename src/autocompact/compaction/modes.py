"""Named ways to run the engine: one per design that autocompact unites, and the default.

A mode is nothing but settings; take one and `dataclasses.replace` what should differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import get_args

from autocompact.compaction.record import Placement
from autocompact.core.budget import Policy, preset
from autocompact.core.figures import check_choice, check_flag, check_whole
from autocompact.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A mode: how a conversation is compacted.

    Attributes:
        name: what it is called.
        policy: when.
        skill: name of a shipped prompt (``compact``, ``session``, ``handoff``), the path of a file of yours, or a
            prompt of your own as text.
        placement: where the summary goes.
        summary_tokens: size of summary plus ledger in the context.
        working_set_tokens: of files that will be needed next, word for word beside the summary; 0 for none.
        cap_tokens: longest summary asked of a model.
        output_tokens: tool outputs are cut to this length where they are summarised as a document.
        inline_request: the last request stands inside the summary message, unless it holds more than words.
        mask_first: try first whether it is enough to show old tool outputs as stubs.
        reuse_prefix: ask for the summary with the live messages, which a provider's cache holds; else, and where
            another model makes it, with a document in which tool outputs are cut to ``output_tokens``.
        recount: ask the provider for the exact size of the context after a compaction.
        background: prepare compactions ahead.

    Raises:
        InvalidInput: a setting that cannot be used.
    """

    name: str
    policy: Policy = field(default_factory=Policy)
    skill: str = "compact"
    placement: Placement = "user"
    summary_tokens: int = 6_000
    working_set_tokens: int = 0
    cap_tokens: int = 1_500
    output_tokens: int = 500
    inline_request: bool = False
    mask_first: bool = True
    reuse_prefix: bool = True
    recount: bool = False
    background: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
            raise InvalidInput(f"policy is {self.policy!r}: give a Policy, e.g. Policy(tokens=100_000)")
        for name in ("summary_tokens", "cap_tokens", "output_tokens"):
            check_whole(getattr(self, name), name=name, least=1)
        check_whole(self.working_set_tokens, name="working_set_tokens")
        for name in ("inline_request", "mask_first", "reuse_prefix", "recount", "background"):
            check_flag(getattr(self, name), name=name)
        check_choice(self.placement, get_args(Placement), name="placement")


DEFAULT = Mode(name="default")

DATABASE_CHAT = Mode(
    name="database-chat",
    policy=Policy(ratio=0.8, tail_tokens=0),
    placement="system",
    summary_tokens=500,
    cap_tokens=500,
    mask_first=False,
    reuse_prefix=False,
    background=False,
)
"""Design A: at 80 % of the window everything becomes a section of the system prompt; later ones merge."""

USAGE_DRIVEN = Mode(
    name="usage-driven",
    policy=Policy(tokens=100_000, tail_tokens=0),
    summary_tokens=512,
    cap_tokens=512,
    inline_request=True,
    mask_first=False,
    background=False,
)
"""Design B: driven by the provider's reported usage; the history becomes the one summary message."""

SESSION_LAYER = Mode(
    name="session-layer",
    policy=replace(preset("session-100k"), target=0.1, tail_tokens=2_000),
    skill="session",
    summary_tokens=6_000,
    cap_tokens=3_000,
    mask_first=False,
    background=False,
)
"""Design C: at 100k tokens the session pauses, is summarised by task, archived, and goes on about 90 % smaller."""

CODING_AGENT = Mode(
    name="coding-agent",
    policy=Policy(tokens=200_000, tail_tokens=0),
    skill="handoff",
    summary_tokens=6_000,
    cap_tokens=2_500,
    inline_request=True,
    mask_first=False,
    recount=True,
)
"""Design D: before every model call; the history becomes system prompt plus one hand-off message."""

MODES = {mode.name: mode for mode in (DEFAULT, DATABASE_CHAT, USAGE_DRIVEN, SESSION_LAYER, CODING_AGENT)}


def at_preset(mode: Mode, name: str) -> Mode:
    """``mode`` with the threshold of a named preset: "session-50k", "session-150k", "never"….

    Raises:
        InvalidInput: there is none of that name.
    """
    return replace(mode, policy=replace(mode.policy, tokens=preset(name).tokens))
