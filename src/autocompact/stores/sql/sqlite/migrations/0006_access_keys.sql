-- Access keys of a gateway (autocompact.core.access), by the SHA-256 of each; what they used by minute, day and month; what was
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
