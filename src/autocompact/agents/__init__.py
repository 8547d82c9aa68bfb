"""What autocompact does inside the coding agents that people have: their sessions, and plugins for them.

- `transcripts`: the sessions that agents record, and which one is meant.
- `pinned`: texts that are pinned in them.
- `hook`: what the hooks of a plugin run; it never fails. `claude_code` is what they do in Claude Code.
- `repairing`: the text that is put beside the summary of an agent's own compaction.
- `installing`: puts a plugin into an agent's folder and takes it out again; `claude_plugin` has its files.
"""
