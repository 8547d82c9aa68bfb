"""The dialects by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from autocompact.core.messages import Dialect
from autocompact.errors import InvalidInput
from autocompact.wire.anthropic import Anthropic
from autocompact.wire.openai_chat import OpenAIChat
from autocompact.wire.openai_responses import OpenAIResponses
from autocompact.wire.pieces import Codec

CODECS: Mapping[Dialect, Codec] = MappingProxyType(
    {
        "openai_chat": OpenAIChat(),
        "openai_responses": OpenAIResponses(),
        "anthropic": Anthropic(),
    }
)


def codec_for(dialect: Dialect) -> Codec:
    """The codec of ``dialect``.

    Raises:
        InvalidInput: there is none of that name.
    """
    if dialect not in CODECS:
        raise InvalidInput(f"dialect is {dialect!r}: choose one of {', '.join(CODECS)}")
    return CODECS[dialect]
