-- name: conversation
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM autocompact.conversations
WHERE namespace = %(namespace)s AND name = %(name)s;

-- name: conversation_by_id
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM autocompact.conversations
WHERE id = %(conversation)s;

-- name: add_conversation
INSERT INTO autocompact.conversations (namespace, name, created, updated, edits, records)
VALUES (%(namespace)s, %(name)s, %(now)s, %(now)s, 0, 0) RETURNING id;

-- name: conversations
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM autocompact.conversations
WHERE namespace = %(namespace)s AND (%(updated)s::text IS NULL OR (updated, name) < (%(updated)s::text, %(name)s::text))
ORDER BY updated DESC, name DESC LIMIT nullif(%(limit)s::bigint, -1);

-- name: named_conversations
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records, checksum FROM autocompact.conversations
WHERE namespace = %(namespace)s AND name = ANY(ARRAY(SELECT json_array_elements_text(%(names)s::json)))
ORDER BY updated DESC, name DESC;

-- name: namespaces
SELECT DISTINCT namespace FROM autocompact.conversations ORDER BY namespace;

-- name: idle
SELECT name FROM autocompact.conversations AS one
WHERE namespace = %(namespace)s AND updated < %(before)s AND NOT EXISTS (
    SELECT 1 FROM autocompact.leases WHERE namespace = one.namespace AND name = one.name AND expires > %(now)s AND expires <= %(latest)s
) ORDER BY updated, name;

-- name: is_idle
SELECT 1 FROM autocompact.conversations AS one
WHERE namespace = %(namespace)s AND name = %(name)s AND updated < %(before)s AND NOT EXISTS (
    SELECT 1 FROM autocompact.leases WHERE namespace = one.namespace AND name = one.name AND expires > %(now)s AND expires <= %(latest)s
);

-- name: extend_conversation
UPDATE autocompact.conversations
SET last_seq = %(last_seq)s, indexed_seq = %(indexed_seq)s, title = %(title)s, updated = %(now)s, edits = %(edits)s, checksum = %(checksum)s
WHERE id = %(conversation)s;

-- name: delete_conversation
DELETE FROM autocompact.conversations WHERE id = %(conversation)s;

-- name: add_message
INSERT INTO autocompact.messages (id, role, replaces, body, checksum)
SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bytea[], %s::bigint[]);

-- name: messages
SELECT id, role, replaces, body, checksum FROM autocompact.messages WHERE id BETWEEN %(first)s AND %(last)s ORDER BY id;

-- name: message
SELECT id, role, replaces, body, checksum FROM autocompact.messages WHERE id = %(id)s;

-- name: edits
SELECT id FROM autocompact.messages WHERE id BETWEEN %(first)s AND %(last)s AND replaces IS NOT NULL ORDER BY id;

-- name: delete_messages
DELETE FROM autocompact.messages WHERE id BETWEEN %(first)s AND %(last)s;

-- name: record
SELECT number, conversation, id, status, record, checksum FROM autocompact.compactions
WHERE conversation = %(conversation)s AND id = %(id)s;

-- name: prepared
SELECT number, conversation, id, status, record, checksum FROM autocompact.compactions
WHERE conversation = %(conversation)s AND status = 'prepared';

-- name: compactions
SELECT number, conversation, id, status, record, checksum FROM autocompact.compactions
WHERE conversation = %(conversation)s ORDER BY number;

-- name: drop_prepared
DELETE FROM autocompact.compactions WHERE conversation = %(conversation)s AND status = 'prepared' AND id <> %(id)s;

-- name: put_record
INSERT INTO autocompact.compactions (conversation, id, status, record) VALUES (%(conversation)s, %(id)s, %(status)s, %(record)s)
ON CONFLICT (conversation, id) DO UPDATE SET status = excluded.status, record = excluded.record RETURNING number;

-- name: seal_record
UPDATE autocompact.compactions SET checksum = %(checksum)s WHERE number = %(number)s;

-- name: count_records
UPDATE autocompact.conversations SET records = (SELECT count(*) FROM autocompact.compactions WHERE conversation = %(conversation)s)
WHERE id = %(conversation)s;

-- name: unsealed
SELECT id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, indexed_seq, edits,
    records FROM autocompact.conversations WHERE id = %(conversation)s;

-- name: seal
UPDATE autocompact.conversations SET checksum = %(checksum)s WHERE id = %(conversation)s;

-- name: name_of
SELECT name FROM autocompact.conversations WHERE id = %(conversation)s;

-- name: put_state
UPDATE autocompact.conversations SET state = %(state)s WHERE id = %(conversation)s;

-- name: activate
UPDATE autocompact.conversations SET active = %(active)s, compressed_context = %(summary)s, compressed_at = %(at)s, updated = %(now)s
WHERE id = %(conversation)s;

-- name: put_summary
UPDATE autocompact.conversations SET compressed_context = %(summary)s WHERE id = %(conversation)s;

-- name: lease
SELECT fence, expires FROM autocompact.leases WHERE namespace = %(namespace)s AND name = %(name)s;

-- name: give_lease
INSERT INTO autocompact.leases (namespace, name, holder, expires) VALUES (%(namespace)s, %(name)s, %(holder)s, %(expires)s) RETURNING fence;

-- name: extend_lease
UPDATE autocompact.leases SET expires = %(expires)s WHERE fence = %(fence)s AND expires > 0 RETURNING fence;

-- name: end_lease
UPDATE autocompact.leases SET expires = 0 WHERE fence = %(fence)s;

-- name: delete_lease
DELETE FROM autocompact.leases WHERE namespace = %(namespace)s AND name = %(name)s;

-- name: to_index
SELECT namespace, name FROM autocompact.conversations WHERE indexed_seq < last_seq;

-- name: indexed
UPDATE autocompact.conversations SET indexed_seq = %(seq)s WHERE id = %(conversation)s;

-- name: deleted
UPDATE autocompact.deletions SET deleted = deleted + 1;

-- name: unpurged
SELECT deleted FROM autocompact.deletions WHERE deleted > purged;

-- name: purged
UPDATE autocompact.deletions SET purged = greatest(purged, %(deleted)s);

-- name: lock
SELECT set_config('lock_timeout', %(patience)s, true), set_config('autocompact.tenant', %(tenant)s, true), pg_advisory_xact_lock(%(key)s);

-- name: tenant
SELECT set_config('autocompact.tenant', %(tenant)s, true),
    set_config('lock_timeout', coalesce(%(patience)s::text, current_setting('lock_timeout')), true);

-- name: role
SELECT rolname, rolsuper OR rolbypassrls, pg_has_role(rolname, relowner, 'USAGE')
FROM pg_catalog.pg_roles, pg_catalog.pg_class WHERE rolname = current_user AND pg_class.oid = 'autocompact.passages'::regclass;

-- name: add_secret
INSERT INTO autocompact.secrets (name, value) VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO NOTHING;

-- name: secret
SELECT value FROM autocompact.secrets WHERE name = %(name)s;

-- name: put_row
UPDATE autocompact.conversations
SET last_seq = %(last_seq)s, title = %(title)s, updated = %(updated)s, active = %(active)s, compressed_context = %(compressed_context)s,
    compressed_at = %(compressed_at)s, state = %(state)s, indexed_seq = %(indexed_seq)s, edits = %(edits)s
WHERE id = %(conversation)s;

-- name: orphans
SELECT count(*) FROM autocompact.messages AS one
WHERE NOT EXISTS (SELECT 1 FROM autocompact.conversations WHERE id = one.id >> 24);

-- name: every_name
SELECT namespace, name FROM autocompact.conversations ORDER BY namespace, name;
