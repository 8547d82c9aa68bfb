-- name: namespace_of
SELECT namespace FROM autocompact.conversations WHERE id = %(conversation)s;

-- name: name_of
SELECT name FROM autocompact.conversations WHERE id = %(conversation)s;

-- name: conversation
SELECT id FROM autocompact.conversations WHERE namespace = %(namespace)s AND name = %(name)s;

-- name: space
SELECT id FROM autocompact.search_namespaces WHERE name = %(name)s;

-- name: add_space
INSERT INTO autocompact.search_namespaces (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING;

-- name: passages_of
SELECT coalesce(sum(passages), 0)::bigint FROM autocompact.conversations WHERE namespace = %(name)s;

-- name: count_passages
UPDATE autocompact.conversations SET passages = passages + %(more)s WHERE id = %(conversation)s;

-- name: last_passage
SELECT coalesce(max(id), %(first)s) FROM autocompact.passages WHERE id BETWEEN %(first)s AND %(last)s;

-- name: add_passage
INSERT INTO autocompact.passages (id, seq, part, start, length, kind, terms, words)
SELECT id, seq, part, start, length, kind, terms, string_to_array(words, ' ') FROM unnest(
    %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[]
) AS new (id, seq, part, start, length, kind, terms, words);

-- name: delete_passages
DELETE FROM autocompact.passages WHERE id BETWEEN %(first)s AND %(last)s;

-- name: passages
SELECT id, seq, part, start, length, kind, terms FROM autocompact.passages WHERE id = ANY(%(ids)s::bigint[]);

-- name: count_places
SELECT * FROM autocompact.count_places(%(terms)s::text[], %(first)s, %(last)s, %(most)s);

-- name: places
SELECT * FROM autocompact.places(%(every)s::text[], %(beside)s::text[], %(first)s, %(last)s, %(most)s, %(newest)s);
