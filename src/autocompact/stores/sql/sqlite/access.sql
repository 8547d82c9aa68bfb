-- name: add_key
INSERT INTO access_keys (id, digest, tenant, record) VALUES (:id, :digest, :tenant, :record);

-- name: put_key
UPDATE access_keys SET record = :record WHERE id = :id;

-- name: key
SELECT record FROM access_keys WHERE id = :id;

-- name: key_of_digest
SELECT record FROM access_keys WHERE digest = :digest;

-- name: keys
SELECT record FROM access_keys ORDER BY id;

-- name: spent
SELECT period, requests, tokens, micros, refused FROM access_spent WHERE key = :key;

-- name: spend
INSERT INTO access_spent AS spent (key, period, requests, tokens, micros, refused)
VALUES (:key, :period, :requests, :tokens, :micros, :refused)
ON CONFLICT (key, period) DO UPDATE SET requests = spent.requests + excluded.requests, tokens = spent.tokens + excluded.tokens,
    micros = spent.micros + excluded.micros, refused = spent.refused + excluded.refused;

-- name: forget_spent
DELETE FROM access_spent WHERE key = :key AND length(period) = :length AND period < :period;

-- name: note
INSERT INTO access_log (at, actor, action, key, detail, once)
VALUES (:at, :actor, :action, :key, :detail, :once) ON CONFLICT (once) DO NOTHING;

-- name: notes
SELECT at, actor, action, key, detail FROM access_log ORDER BY number DESC LIMIT :limit;
