"""The memory files' formats and what upkeep makes of them: bytes in, decisions out.

- `document`: a file as lines that keep their bytes, and edits that touch no other line.
- `outline`, `dates`, `dialects`, `reading`, `notes`: what stands in it: headings, list items, dates, confirmations, fields.
- `pages`: the files of a folder by name, each read once; `unread`: what looks like an entry and is none.
- `meaning`: when two observations say the same, and when they are near enough to ask.
- `observations`, `rules`, `tasks`, `task_table`, `session`, `index`: the layers, each a plan of edits; `wording` and `removal`
  make these.
- `context_archive`, `archive_entries`: the entries of CONTEXT_ARCHIVE.md, written and read.
"""
