"""How the program meets the machine that it runs on, for all rooms that may touch it.

- `files`: files for their owner alone, replaced whole. `off_loop`: slow work beside an event loop.
- `extras`: the command that installs an optional part.

Imports nothing of ours but `errors`.
"""
