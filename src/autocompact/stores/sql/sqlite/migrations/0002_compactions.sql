-- Compactions, the summary in force (requirement A3), leases, and how far the search index goes.

ALTER TABLE conversations ADD COLUMN active TEXT;
ALTER TABLE conversations ADD COLUMN compressed_context TEXT;
ALTER TABLE conversations ADD COLUMN compressed_at TEXT;
ALTER TABLE conversations ADD COLUMN state BLOB NOT NULL DEFAULT x'';
ALTER TABLE conversations ADD COLUMN indexed_seq INTEGER NOT NULL DEFAULT 0;

CREATE INDEX conversations_to_index ON conversations (id) WHERE indexed_seq < last_seq;

CREATE TABLE compactions (
    number INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (conversation, id)
) STRICT;

CREATE UNIQUE INDEX compactions_prepared ON compactions (conversation) WHERE status = 'prepared';

-- The newest lease of each conversation; it stays when it was given back (expires 0), for its fence.
CREATE TABLE leases (
    fence INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    expires INTEGER NOT NULL,
    UNIQUE (namespace, name)
) STRICT;
