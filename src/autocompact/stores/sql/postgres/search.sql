-- name: place_of
SELECT namespace, (SELECT id FROM autocompact.search_namespaces WHERE name = one.namespace),
    (SELECT coalesce(max(id), %(first)s) FROM autocompact.passages WHERE id BETWEEN %(first)s AND %(last)s)
FROM autocompact.conversations AS one WHERE id = %(conversation)s;

-- name: conversation
SELECT id, passages FROM autocompact.conversations WHERE namespace = %(namespace)s AND name = %(name)s;

-- name: space
SELECT id FROM autocompact.search_namespaces WHERE name = %(name)s;

-- name: add_space
INSERT INTO autocompact.search_namespaces (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING;

-- name: passages_of
SELECT coalesce(sum(passages), 0)::bigint FROM autocompact.conversations WHERE namespace = %(name)s;

-- name: add_passages
WITH added AS (
    INSERT INTO autocompact.passages (id, seq, part, start, length, kind, terms, words)
    SELECT id, seq, part, start, length, kind, terms, string_to_array(words, ' ') FROM unnest(
        %(id)s::bigint[], %(seq)s::bigint[], %(part)s::bigint[], %(start)s::bigint[], %(length)s::bigint[], %(kind)s::bigint[],
        %(terms)s::bigint[], %(words)s::text[]
    ) AS new (id, seq, part, start, length, kind, terms, words)
)
UPDATE autocompact.conversations SET passages = passages + %(more)s WHERE id = %(conversation)s;

-- name: delete_passages
DELETE FROM autocompact.passages WHERE id BETWEEN %(first)s AND %(last)s;

-- name: newest_in_tenant
SELECT * FROM autocompact.newest_in_tenant(%(terms)s::text[], %(recent)s, %(enough)s, %(most)s, %(reads)s);

-- name: find_in_tenant
SELECT held, ids FROM autocompact.find_in_tenant(%(terms)s::text[], %(most)s);

-- name: find_terms
SELECT held, ids FROM autocompact.find_terms(%(terms)s::text[], %(most)s, %(budget)s);

-- name: find_beside
SELECT number, held, ids FROM autocompact.find_beside(%(terms)s::text[], %(known)s::bigint[], %(most)s, %(budget)s, %(common)s);

-- name: common_terms
SELECT * FROM autocompact.common_terms(%(most)s);

-- name: find_between
SELECT held, ids FROM autocompact.find_between(%(terms)s::text[], %(first)s, %(last)s, %(most)s);

-- name: passages_with
SELECT ids FROM autocompact.passages_with(%(terms)s::text[], %(beside)s::text[], %(first)s, %(last)s, %(most)s);

-- name: newest_with
SELECT * FROM autocompact.newest_with(%(terms)s::text[], %(first)s, %(last)s, %(most)s);

-- name: read_passages
SELECT * FROM autocompact.read_passages(%(ids)s::bigint[]);

-- name: read_likeliest
SELECT * FROM autocompact.read_likeliest(
    %(ids)s::bigint[], %(kinds)s::bigint[], %(asked)s::text[], %(weights)s::text[], %(saturation)s, %(most)s
);
