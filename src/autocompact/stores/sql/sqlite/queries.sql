-- name: conversation
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM conversations
WHERE namespace = :namespace AND name = :name;

-- name: conversation_by_id
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM conversations
WHERE id = :conversation;

-- name: add_conversation
INSERT INTO conversations (namespace, name, created, updated, edits, records)
VALUES (:namespace, :name, :now, :now, 0, 0) RETURNING id;

-- name: conversations
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM conversations
WHERE namespace = :namespace AND (:updated IS NULL OR (updated, name) < (:updated, :name))
ORDER BY updated DESC, name DESC LIMIT :limit;

-- name: named_conversations
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM conversations
WHERE namespace = :namespace AND name IN (SELECT value FROM json_each(:names))
ORDER BY updated DESC, name DESC;

-- name: namespaces
SELECT DISTINCT namespace FROM conversations ORDER BY namespace;

-- name: idle
SELECT name FROM conversations AS one
WHERE namespace = :namespace AND updated < :before AND NOT EXISTS (
    SELECT 1 FROM leases WHERE namespace = one.namespace AND name = one.name AND expires > :now AND expires <= :latest
) ORDER BY updated, name;

-- name: is_idle
SELECT 1 FROM conversations AS one
WHERE namespace = :namespace AND name = :name AND updated < :before AND NOT EXISTS (
    SELECT 1 FROM leases WHERE namespace = one.namespace AND name = one.name AND expires > :now AND expires <= :latest
);

-- name: extend_conversation
UPDATE conversations
SET last_seq = :last_seq, indexed_seq = :indexed_seq, title = :title, updated = :now, edits = :edits, checksum = :checksum
WHERE id = :conversation;

-- name: delete_conversation
DELETE FROM conversations WHERE id = :conversation;

-- name: add_message
INSERT INTO messages (id, role, replaces, body, checksum) VALUES (?, ?, ?, ?, ?);

-- name: messages
SELECT id, role, replaces, body, checksum FROM messages WHERE id BETWEEN :first AND :last ORDER BY id;

-- name: message
SELECT id, role, replaces, body, checksum FROM messages WHERE id = :id;

-- name: edits
SELECT id FROM messages WHERE id BETWEEN :first AND :last AND replaces IS NOT NULL ORDER BY id;

-- name: delete_messages
DELETE FROM messages WHERE id BETWEEN :first AND :last;

-- name: record
SELECT number, conversation, id, status, record, checksum FROM compactions
WHERE conversation = :conversation AND id = :id;

-- name: prepared
SELECT number, conversation, id, status, record, checksum FROM compactions
WHERE conversation = :conversation AND status = 'prepared';

-- name: compactions
SELECT number, conversation, id, status, record, checksum FROM compactions
WHERE conversation = :conversation ORDER BY number;

-- name: drop_prepared
DELETE FROM compactions WHERE conversation = :conversation AND status = 'prepared' AND id <> :id;

-- name: put_record
INSERT INTO compactions (conversation, id, status, record) VALUES (:conversation, :id, :status, :record)
ON CONFLICT (conversation, id) DO UPDATE SET status = excluded.status, record = excluded.record RETURNING number;

-- name: seal_record
UPDATE compactions SET checksum = :checksum WHERE number = :number;

-- name: count_records
UPDATE conversations SET records = (SELECT count(*) FROM compactions WHERE conversation = :conversation)
WHERE id = :conversation;

-- name: unsealed
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records FROM conversations WHERE id = :conversation;

-- name: seal
UPDATE conversations SET checksum = :checksum WHERE id = :conversation;

-- name: name_of
SELECT name FROM conversations WHERE id = :conversation;

-- name: names
SELECT id, namespace, name FROM conversations NOT INDEXED ORDER BY id;

-- name: indexed_names
SELECT id, namespace, name FROM conversations INDEXED BY sqlite_autoindex_conversations_1 ORDER BY namespace, name;

-- name: put_state
UPDATE conversations SET state = :state WHERE id = :conversation;

-- name: activate
UPDATE conversations SET active = :active, compressed_context = :summary, compressed_at = :at, updated = :now
WHERE id = :conversation;

-- name: put_summary
UPDATE conversations SET compressed_context = :summary WHERE id = :conversation;

-- name: lease
SELECT fence, expires FROM leases WHERE namespace = :namespace AND name = :name;

-- name: give_lease
INSERT INTO leases (namespace, name, holder, expires) VALUES (:namespace, :name, :holder, :expires) RETURNING fence;

-- name: extend_lease
UPDATE leases SET expires = :expires WHERE fence = :fence AND expires > 0 RETURNING fence;

-- name: end_lease
UPDATE leases SET expires = 0 WHERE fence = :fence;

-- name: delete_lease
DELETE FROM leases WHERE namespace = :namespace AND name = :name;

-- name: to_index
SELECT namespace, name FROM conversations WHERE indexed_seq < last_seq;

-- name: indexed
UPDATE conversations SET indexed_seq = :seq WHERE id = :conversation;

-- name: deleted
UPDATE deletions SET deleted = deleted + 1;

-- name: unpurged
SELECT deleted FROM deletions WHERE deleted > purged;

-- name: purged
UPDATE deletions SET purged = max(purged, :deleted);

-- name: put_row
UPDATE conversations
SET last_seq = :last_seq, title = :title, updated = :updated, active = :active, compressed_context = :compressed_context,
    compressed_at = :compressed_at, state = :state, indexed_seq = :indexed_seq, edits = :edits
WHERE id = :conversation;
