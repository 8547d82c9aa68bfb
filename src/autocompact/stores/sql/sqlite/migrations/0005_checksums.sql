-- A checksum for each message, record and conversation (see autocompact.stores.checksums), and how many edits and
-- records a conversation has, so that a row that an index lost is missed. NULL in rows of older versions.

ALTER TABLE messages ADD COLUMN checksum INTEGER;
ALTER TABLE compactions ADD COLUMN checksum INTEGER;
ALTER TABLE conversations ADD COLUMN edits INTEGER;
ALTER TABLE conversations ADD COLUMN records INTEGER;
ALTER TABLE conversations ADD COLUMN checksum INTEGER;
