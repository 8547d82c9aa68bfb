-- name: namespace_of
SELECT namespace FROM conversations WHERE id = :conversation;

-- name: name_of
SELECT name FROM conversations WHERE id = :conversation;

-- name: conversation
SELECT id FROM conversations WHERE namespace = :namespace AND name = :name;

-- name: space
SELECT id, passages FROM search_namespaces WHERE name = :name;

-- name: add_space
INSERT INTO search_namespaces (name) VALUES (:name) ON CONFLICT (name) DO UPDATE SET name = name RETURNING id;

-- name: count_passages
UPDATE search_namespaces SET passages = passages + :more WHERE name = :name;

-- name: drop_space
DELETE FROM search_namespaces WHERE name = :name AND passages <= 0;

-- name: merge
INSERT INTO passage_terms (passage_terms, rank) VALUES ('merge', :pages);

-- name: last_passage
SELECT coalesce(max(id), :first) FROM passages WHERE id BETWEEN :first AND :last;

-- name: add_passage
INSERT INTO passages (id, seq, part, start, length, kind, terms) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: add_terms
INSERT INTO passage_terms (rowid, terms) VALUES (?, ?);

-- name: delete_terms
DELETE FROM passage_terms WHERE rowid IN (SELECT id FROM passages WHERE id BETWEEN :first AND :last);

-- name: delete_passages
DELETE FROM passages WHERE id BETWEEN :first AND :last;

-- name: passages
SELECT id, seq, part, start, length, kind, terms FROM passages WHERE id IN (SELECT value FROM json_each(:ids));

-- name: count_places
SELECT (
    SELECT count(*) FROM (
        SELECT 1 FROM passage_terms WHERE passage_terms MATCH value AND rowid BETWEEN :first AND :last LIMIT :most
    )
) FROM json_each(:terms) ORDER BY key;

-- name: places
SELECT note_places(passage_terms) FROM passage_terms
WHERE passage_terms MATCH :match AND rowid BETWEEN :first AND :last LIMIT :most;

-- name: newest_places
SELECT note_places(passage_terms) FROM passage_terms
WHERE passage_terms MATCH :match AND rowid BETWEEN :first AND :last ORDER BY rowid DESC LIMIT :most;
