"""Files, threads and installed extras: what any package that may touch the machine needs.

- `files`: files for their owner alone, replaced whole. `off_loop`: slow work beside an event loop.
- `extras`: the command that installs an optional part.

Imports nothing of ours but `errors`.
"""
