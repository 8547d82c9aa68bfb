-- What all migrations amount to: the schema of the newest version. A test holds the two equal.

-- checksum: of the row, NULL where an older version wrote it, see autocompact.stores.checksums. edits: messages that replace
-- others. records: rows in compactions.
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    active TEXT,
    compressed_context TEXT,
    compressed_at TEXT,
    state BLOB NOT NULL DEFAULT x'',
    indexed_seq INTEGER NOT NULL DEFAULT 0,
    edits INTEGER,
    records INTEGER,
    checksum INTEGER,
    UNIQUE (namespace, name)
) STRICT;

-- id = conversation << 24 | seq, see autocompact.stores.rows.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    role TEXT NOT NULL,
    replaces INTEGER,
    body BLOB NOT NULL,
    checksum INTEGER
) STRICT;

CREATE INDEX messages_edits ON messages (id, replaces) WHERE replaces IS NOT NULL;

CREATE INDEX conversations_to_index ON conversations (id) WHERE indexed_seq < last_seq;

CREATE TABLE compactions (
    number INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    record BLOB NOT NULL,
    checksum INTEGER,
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

-- The number in front of every term of a namespace, and how many passages it has.
CREATE TABLE search_namespaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    passages INTEGER NOT NULL DEFAULT 0
) STRICT;

-- id = conversation << 24 | number from 1 without gaps; start and length in characters of the part's text.
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    terms INTEGER NOT NULL
) STRICT;

CREATE VIRTUAL TABLE passage_terms USING fts5 (
    terms,
    content = '',
    contentless_delete = 1,
    tokenize = "ascii tokenchars '_'"
);

-- How many conversations were deleted in all, and how many of them left no trace in the file any more (see purge).
CREATE TABLE deletions (
    deleted INTEGER NOT NULL,
    purged INTEGER NOT NULL
) STRICT;

-- Access keys of a gateway, by the SHA-256 of each (autocompact.core.access); what they used by minute, day and month; what was
-- done with them. once: what is noted once alone.
CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    record BLOB NOT NULL
) STRICT;

CREATE TABLE access_spent (
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    requests INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    micros INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, period)
) STRICT;

CREATE TABLE access_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    key TEXT NOT NULL,
    detail TEXT NOT NULL,
    once TEXT UNIQUE
) STRICT;
