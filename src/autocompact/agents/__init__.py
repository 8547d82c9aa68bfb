"""What autocompact does inside the coding agents that people have: their sessions, and plugins for them.

- `known`: the table of the agents; start here. Help, status and documents are made from it.
- `installing`, `hooks_file`: put a plugin into an agent's folder, or its hooks into the user's file of hooks, and take it out again;
  `claude_plugin`, `qwen_extension` and the scripts in ``files`` are what they put there; `commands` is how a plugin runs autocompact.
- `hook`: what the hooks of a plugin run; it never fails. `claude_code` answers Claude Code, Codex and Qwen Code, `pi` and `opencode`
  answer their extensions.
- `repairing`: the text that is put beside the summary of an agent's own compaction; `in_place`: the one that takes its place.
- `transcripts`: the sessions that agents record, and which one is meant. `pinned`: texts that are pinned in them.
"""
