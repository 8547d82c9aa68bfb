"""What autocompact does inside the coding agents that people have: their sessions, and plugins for them.

- `transcripts`: the sessions that agents record, and which one is meant.
"""
