"""Files that the hooks of one session hand to each other, known to what is quick to load and to what does the work."""

GIVEN, PENDING, BLIND = "given.json", "pending.json", "blind.json"
"""Texts beside a summary: one that was given, one that waits for its turn, one that was made before the summary."""

GROWN = 65_536
"""Bytes by which a transcript may have grown since it was read: notes of the program, not the agent's work."""
