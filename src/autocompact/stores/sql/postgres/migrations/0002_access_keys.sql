-- Access keys of a gateway (autocompact.core.access), by the SHA-256 of each; what they used by minute, day and month; what was
-- done with them. once: what is noted once alone.

CREATE TABLE autocompact.access_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    digest TEXT COLLATE "C" NOT NULL UNIQUE,
    tenant TEXT COLLATE "C" NOT NULL,
    record BYTEA NOT NULL
);

CREATE TABLE autocompact.access_spent (
    key TEXT COLLATE "C" NOT NULL,
    period TEXT COLLATE "C" NOT NULL,
    requests BIGINT NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0,
    micros BIGINT NOT NULL DEFAULT 0,
    refused BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (key, period)
) WITH (fillfactor = 70);

CREATE TABLE autocompact.access_log (
    number BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at TEXT COLLATE "C" NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    key TEXT NOT NULL,
    detail TEXT NOT NULL,
    once TEXT UNIQUE
);
