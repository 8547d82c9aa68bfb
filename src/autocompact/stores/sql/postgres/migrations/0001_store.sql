-- Conversations with their logs, compactions, leases and search index, in a schema of their own.

-- checksum: of the row but for passages, which the search index counts, see autocompact.stores.checksums. edits: messages that
-- replace others. records: rows in compactions.
CREATE TABLE autocompact.conversations (
    id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    last_seq BIGINT NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    created TEXT COLLATE "C" NOT NULL,
    updated TEXT COLLATE "C" NOT NULL,
    active TEXT,
    compressed_context TEXT,
    compressed_at TEXT,
    state BYTEA NOT NULL DEFAULT '',
    indexed_seq BIGINT NOT NULL DEFAULT 0,
    edits BIGINT,
    records BIGINT,
    checksum BIGINT,
    passages BIGINT NOT NULL DEFAULT 0,
    UNIQUE (namespace, name)
);

CREATE INDEX conversations_to_index ON autocompact.conversations (id) WHERE indexed_seq < last_seq;

CREATE INDEX conversations_by_update ON autocompact.conversations (namespace, updated, name);

-- id = conversation << 24 | seq, see autocompact.stores.rows.
CREATE TABLE autocompact.messages (
    id BIGINT PRIMARY KEY,
    role TEXT NOT NULL,
    replaces BIGINT,
    body BYTEA NOT NULL,
    checksum BIGINT
);

-- Bodies are compressed before they are stored.
ALTER TABLE autocompact.messages ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE INDEX messages_edits ON autocompact.messages (id) WHERE replaces IS NOT NULL;

CREATE TABLE autocompact.compactions (
    number BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    conversation BIGINT NOT NULL REFERENCES autocompact.conversations (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    record BYTEA NOT NULL,
    checksum BIGINT,
    UNIQUE (conversation, id)
);

CREATE UNIQUE INDEX compactions_prepared ON autocompact.compactions (conversation) WHERE status = 'prepared';

-- The newest lease of each conversation; it stays when it was given back (expires 0), for its fence.
CREATE TABLE autocompact.leases (
    fence BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    holder TEXT NOT NULL,
    expires BIGINT NOT NULL,
    UNIQUE (namespace, name)
);

-- The number in front of every term of a namespace.
CREATE TABLE autocompact.search_namespaces (
    id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name TEXT COLLATE "C" NOT NULL UNIQUE
);

-- id = conversation << 24 | number from 1 without gaps; start and length in characters of the part's text; words: the terms
-- in their order, each with the number of its namespace in front.
CREATE TABLE autocompact.passages (
    id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    part BIGINT NOT NULL,
    start BIGINT NOT NULL,
    length BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    terms BIGINT NOT NULL,
    words TEXT[] COLLATE "C" NOT NULL
);

CREATE INDEX passages_words ON autocompact.passages USING gin (words) WITH (fastupdate = off);

-- How many conversations were deleted in all, and after how many of them the tables were vacuumed.
CREATE TABLE autocompact.deletions (
    deleted BIGINT NOT NULL,
    purged BIGINT NOT NULL
);

INSERT INTO autocompact.deletions (deleted, purged) VALUES (0, 0);

-- Random bytes that the programs on this database share: with it a gateway makes namespaces of its clients' credentials.
CREATE TABLE autocompact.secrets (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
