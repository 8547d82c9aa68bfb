-- The search index, see autocompact.stores.sqlite_index.

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
