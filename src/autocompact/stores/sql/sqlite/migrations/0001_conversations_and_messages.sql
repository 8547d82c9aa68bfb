-- Conversations and their logs.

CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    UNIQUE (namespace, name)
) STRICT;

-- id = conversation << 24 | seq, see autocompact.stores.rows.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    role TEXT NOT NULL,
    replaces INTEGER,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX messages_edits ON messages (id, replaces) WHERE replaces IS NOT NULL;
