"""Companion logs of a conversation, in namespaces that no conversation uses.

They lie in the same store, so that every store can keep them, several programs can write them, and no search finds
them. Whoever deletes the conversation deletes them too.
"""

from __future__ import annotations

from autocompact.core.messages import text_message
from autocompact.errors import Conflict
from autocompact.ports import Key, Store

_NOTES, _DRAFTS, _TURNS, _TITLES, _ARCHIVES = "#notes", "#drafts", "#turns", "#titles", "#archives"
_PINS, _TAGS = "#pins", "#tags"
_SUFFIXES = (_NOTES, _DRAFTS, _TURNS, _TITLES, _ARCHIVES, _PINS, _TAGS, "#chat")
_TRIES = 8

EXAMPLE = "example"
"""The name of the conversation that the chat shows to new users,"""
EXAMPLE_BEGINS = "The tide table on our harbour page is an hour off since the end of March."
"""and what it begins with: a person's own conversation may have that name, too."""


def notes_key(key: Key) -> Key:
    """Key of the chat's notes on a conversation."""
    return _beside(key, _NOTES)


def draft_key(key: Key) -> Key:
    """Key of the journal of a conversation's running turn."""
    return _beside(key, _DRAFTS)


def turn_key(key: Key) -> Key:
    """Under which name a turn of a conversation is leased. Not the draft's: a lease goes with what is deleted."""
    return _beside(key, _TURNS)


def title_key(key: Key) -> Key:
    """Key of the titles that a person gave to a conversation; the last one counts."""
    return _beside(key, _TITLES)


def pins_key(key: Key) -> Key:
    """Key of the log that tells whether a conversation is pinned in the list: it is after an odd number of entries."""
    return _beside(key, _PINS)


def tags_key(key: Key) -> Key:
    """Key of the tags that a person gave to a conversation; the last entry counts."""
    return _beside(key, _TAGS)


def archives_key(key: Key) -> Key:
    """Key of the list of memory folders that have entries of a conversation."""
    return _beside(key, _ARCHIVES)


def companions(key: Key) -> tuple[Key, ...]:
    """Keys of all companion logs of a conversation, except the list of its memory folders."""
    return (
        notes_key(key),
        draft_key(key),
        turn_key(key),
        title_key(key),
        pins_key(key),
        tags_key(key),
    )


def is_companion(namespace: str) -> bool:
    """True if a namespace holds such logs, and no conversations."""
    return namespace.endswith(_SUFFIXES)


def _beside(key: Key, suffix: str) -> Key:
    return Key(conversation=key.conversation, namespace=f"{key.namespace}{suffix}")


async def archive_folders(store: Store, key: Key) -> tuple[str, ...]:
    """The memory folders that have, or may have, entries of a conversation."""
    return tuple(dict.fromkeys(message.text for message in await store.read(archives_key(key))))


async def note_archive_folder(store: Store, key: Key, *, folder: str) -> None:
    """Remember, before anything is archived there, that a memory folder has entries of a conversation.

    Raises:
        StoreError: it could not be stored.
    """
    for attempt in range(1, _TRIES + 1):
        known = await store.read(archives_key(key))
        if any(message.text == folder for message in known):
            return
        last = len(known)
        try:
            note = text_message(last + 1, "system", folder, synthetic=True)
            await store.append(archives_key(key), [note], after=last)
        except Conflict:
            if attempt == _TRIES:
                raise
        else:
            return


async def is_example(store: Store, key: Key) -> bool:
    """True if a conversation is the chat's example: it is in no search, no archive and no report."""
    if key.conversation != EXAMPLE:
        return False
    first = await store.read(key, from_seq=1, through_seq=1)
    return bool(first) and first[0].text.startswith(EXAMPLE_BEGINS)


async def hidden_names(store: Store, namespace: str) -> frozenset[str]:
    """Conversations that a search of others does not look into."""
    is_there = await is_example(store, Key(conversation=EXAMPLE, namespace=namespace))
    return frozenset({EXAMPLE}) if is_there else frozenset()
