"""The memory folder on disk: `archive` adds entries, `changes` replaces several files at once, `erasing` removes a conversation."""
