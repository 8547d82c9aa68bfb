"""The few words that a repaired summary needs in the language of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import LiteralString

from autocompact.core.redacted import own
from autocompact.core.redaction import Redacted

_ADDED: Mapping[str, LiteralString] = {
    "en": "From the conversation, not stated above",
    "de": "Aus dem Gespräch, oben nicht genannt",
    "fr": "Tiré de la conversation, non mentionné ci-dessus",
    "es": "De la conversación, no mencionado arriba",
    "pt": "Da conversa, não mencionado acima",
    "it": "Dalla conversazione, non detto sopra",
    "zh": "来自对话，上文未提及",
    "ja": "会話より、上に記載のないもの",
    "ko": "대화에서, 위에 없는 내용",
    "ru": "Из разговора, выше не сказано",
}
ADDED: Mapping[str, Redacted] = {language: own(words) for language, words in _ADDED.items()}
"""Heading of what was put back behind a summary, by ISO 639-1 code, the languages of `autocompact.core.language.WORDS`."""
