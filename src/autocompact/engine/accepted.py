"""Checks the parts that a compactor is made of where they are handed in; the error names the likely mistake."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from autocompact.compaction.modes import MODES, Mode
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput
from autocompact.models.function import Count, Function, FunctionCounter, FunctionModel
from autocompact.ports import Clock, ConversationStore, Model

_STORE = ("append", "load", "read", "commit", "compactions", "acquire", "release", "aclose")
_MODEL = ("complete", "count", "aclose")


def checked_store(store: ConversationStore) -> ConversationStore:
    """The store.

    Raises:
        InvalidInput: it is none.
    """
    if _lacks(store, _STORE):
        given: object = store
        path = str(given) if isinstance(given, str | Path) else "chats.db"
        hint = "MemoryStore()" if path == ":memory:" else f"SqliteStore({path!r})"
        raise InvalidInput(f"store is {_named(given)}: give a store{_or_called(given) or f', e.g. {hint}'}")
    return store


def checked_model(model: Model | Function | None, *, name: str) -> Model | None:
    """The model; a function as the model that it is.

    Raises:
        InvalidInput: it is neither.
    """
    if model is None:
        return None
    if not _lacks(model, _MODEL) and isinstance(getattr(model, "name", None), str):
        return model  # pyright: ignore[reportReturnType] - it has what a model has
    if callable(model) and not isinstance(model, type):
        return FunctionModel(model)
    lacking = (
        "" if isinstance(model, str | type) else f" (it lacks {', '.join(_lacks(model, _MODEL) or ['name'])})"
    )
    hint = f", e.g. OpenAICompatible({model!r})" if isinstance(model, str) else ""
    raise InvalidInput(
        f"{name} is {_named(model)}{lacking}: give a model{hint}{_or_called(model)}, or a function that takes messages "
        "and returns the reply's text"
    )


def checked_mode(mode: Mode) -> Mode:
    """The mode.

    Raises:
        InvalidInput: it is none.
    """
    if isinstance(mode, Mode):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
        return mode
    names = ", ".join(MODES)
    raise InvalidInput(f"mode is {_named(mode)}: give a Mode, e.g. MODES['default']; there are {names}")


def checked_counter(counter: Counter | Count | None) -> Counter | None:
    """The counter of tokens; a function as the counter that it is.

    Raises:
        InvalidInput: it is neither.
    """
    if counter is None or not _lacks(counter, ("count", "name")):
        return counter  # pyright: ignore[reportReturnType] - it has what a counter has
    if callable(counter) and not isinstance(counter, type):
        return FunctionCounter(counter)
    raise InvalidInput(
        f"counter is {_named(counter)}: give an object with a `name` and `count(text) -> int`{_or_called(counter)}, or a "
        "function that takes a text and returns its tokens"
    )


def checked_clock(clock: Clock | None) -> Clock | None:
    """The clock.

    Raises:
        InvalidInput: it is none.
    """
    if clock is not None and _lacks(clock, ("now", "monotonic")):
        raise InvalidInput(f"clock is {_named(clock)}: give an object with `now()` and `monotonic()`")
    return clock


def checked_folder(folder: object) -> Path | None:
    """The memory folder.

    Raises:
        InvalidInput: it is no path.
    """
    if folder is None or isinstance(folder, str | Path):
        return None if folder is None else Path(folder)
    raise InvalidInput(f"memory_folder is {_named(folder)}: give the path of a folder")


def check_name(name: object, *, of: str) -> None:
    """Check the name of a conversation or a namespace.

    Raises:
        InvalidInput: it is no text, empty, or holds half a surrogate pair, which no file can hold.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"the name of {of} is {name!r}: give a text that is not blank")
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise InvalidInput(f"the name of {of} holds half a surrogate pair: {name!r}")


def _lacks(given: object, names: Iterable[str]) -> list[str]:
    """The names that ``given`` lacks; all of them for a class, since only its objects have them."""
    if isinstance(given, type):
        return list(names)
    return [name for name in names if not hasattr(given, name)]


def _named(given: object) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return repr(given) if isinstance(given, str | int | float | Path | None) else f"a {type(given).__name__}"


def _or_called(given: object) -> str:
    return f", e.g. {given.__name__}(...)" if isinstance(given, type) else ""
