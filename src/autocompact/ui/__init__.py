"""Front ends: the chat on a web page, in a terminal and in a notebook.

- `web`: the page (extra ``chat``). `terminal`: the same chat in a terminal. `notebook`: in Jupyter (extra ``notebook``).
- `pages`: HTML documents and SVG shapes. Pure, and lower than all rooms that draw (`memory.report`, `what_if`).
- `charts`, `text`, `deletion`: bars, columns and lines for terminals, shared with the command line.

Front ends talk to `autocompact.chat.ChatService` alone. Start reading with `web.app` or `terminal.dialogue`.
"""
