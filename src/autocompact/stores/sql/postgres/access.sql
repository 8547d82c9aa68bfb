-- name: add_key
INSERT INTO autocompact.access_keys (id, digest, tenant, record) VALUES (%(id)s, %(digest)s, %(tenant)s, %(record)s);

-- name: put_key
UPDATE autocompact.access_keys SET record = %(record)s WHERE id = %(id)s;

-- name: key
SELECT record FROM autocompact.access_keys WHERE id = %(id)s;

-- name: key_of_digest
SELECT record FROM autocompact.access_keys WHERE digest = %(digest)s;

-- name: keys
SELECT record FROM autocompact.access_keys ORDER BY id;

-- name: spent
SELECT period, requests, tokens, micros, refused FROM autocompact.access_spent WHERE key = %(key)s;

-- name: spend
INSERT INTO autocompact.access_spent AS spent (key, period, requests, tokens, micros, refused)
VALUES (%(key)s, %(period)s, %(requests)s, %(tokens)s, %(micros)s, %(refused)s)
ON CONFLICT (key, period) DO UPDATE SET requests = spent.requests + excluded.requests, tokens = spent.tokens + excluded.tokens,
    micros = spent.micros + excluded.micros, refused = spent.refused + excluded.refused;

-- name: forget_spent
DELETE FROM autocompact.access_spent WHERE key = %(key)s AND length(period) = %(length)s AND period < %(period)s;

-- name: note
INSERT INTO autocompact.access_log (at, actor, action, key, detail, once)
VALUES (%(at)s, %(actor)s, %(action)s, %(key)s, %(detail)s, %(once)s) ON CONFLICT (once) DO NOTHING;

-- name: notes
SELECT at, actor, action, key, detail FROM autocompact.access_log ORDER BY number DESC LIMIT %(limit)s;
