-- That something was deleted must outlive the process, so that the next one can clear the file of its traces.

CREATE TABLE deletions (
    deleted INTEGER NOT NULL,
    purged INTEGER NOT NULL
) STRICT;

INSERT INTO deletions (deleted, purged) VALUES (0, 0);
