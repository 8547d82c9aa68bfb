"""The memory files' formats and what upkeep makes of them: bytes in, decisions out.

- `document`: a file as lines that keep their bytes, and edits that touch no other line.
- `outline`, `dates`, `notes`: what stands in it: headings, list items, dates, confirmations.
- `meaning`: when two observations say the same, and when two rules contradict each other; `words` and `languages` are
  the lists it goes by.
- `observations`, `rules`, `tasks`, `task_table`, `index`: the layers, each a plan of edits.
- `context_archive`: the entries of CONTEXT_ARCHIVE.md.
"""
