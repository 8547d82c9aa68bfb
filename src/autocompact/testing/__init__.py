"""Public fakes and conformance tests, for the tests of programs that use autocompact.

Names are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.testing.clock import FakeClock
    from autocompact.testing.provider import Answer, FakeProvider, Received, Recorded
    from autocompact.testing.provider_instructions import SameInstructions
    from autocompact.testing.stores import StoreConformance

_WHERE = {
    "Answer": "provider",
    "FakeClock": "clock",
    "FakeProvider": "provider",
    "Received": "provider",
    "Recorded": "provider",
    "SameInstructions": "provider_instructions",
    "StoreConformance": "stores",
}

__all__ = [
    "Answer",
    "FakeClock",
    "FakeProvider",
    "Received",
    "Recorded",
    "SameInstructions",
    "StoreConformance",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
