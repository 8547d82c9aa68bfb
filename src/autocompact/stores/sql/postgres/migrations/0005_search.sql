-- What belongs to a conversation is looked up by that one. With EXISTS the planner gathers all conversations of the tenant for some fifty
-- rows, and looks through those of every tenant for it.
ALTER POLICY tenant ON autocompact.compactions USING (coalesce(
    (SELECT true FROM autocompact.conversations AS one WHERE one.id = compactions.conversation),
    current_setting('autocompact.tenant', true) = '*'
));
ALTER POLICY tenant ON autocompact.messages USING (coalesce(
    (SELECT true FROM autocompact.conversations AS one WHERE one.id = messages.id >> 24),
    current_setting('autocompact.tenant', true) = '*'
));
ALTER POLICY tenant ON autocompact.passages USING (coalesce(
    (SELECT true FROM autocompact.conversations AS one WHERE one.id = passages.id >> 24),
    current_setting('autocompact.tenant', true) = '*'
));

-- Roles of programs may not vacuum, and PostgreSQL itself waits until a fifth of the rows are dead: of a million messages, two hundred
-- thousand deleted ones whose space nobody gets.
ALTER TABLE autocompact.messages SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE autocompact.passages SET (autovacuum_vacuum_scale_factor = 0.02);

-- Search in two steps: which passages hold the terms, for which the index is enough, then the words of the likeliest. To unpack a
-- passage's words and look for one of them takes some ten microseconds, which the functions of 0003, that older programs call, do for
-- every passage and term. All run as the owner (see 0003) and find the tenant's number themselves. A sequential scan would
-- unpack the words of every tenant.

-- Passages of the tenant that hold each term, counted no further than "most". The index reads a posting list to its end, however few
-- places are asked for. So what the planner's statistics know to be common is not counted, and of a long list the index hands
-- out some four times "most" at random, which are too many in any case.
CREATE FUNCTION autocompact.count_passages(terms TEXT[], most BIGINT) RETURNS SETOF BIGINT
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET jit = off
SET gin_fuzzy_search_limit = 0 AS $$
DECLARE
    held CONSTANT DOUBLE PRECISION := (SELECT reltuples FROM pg_class WHERE oid = 'autocompact.passages'::regclass);
    words CONSTANT TEXT[] := autocompact.tenant_words(terms);
    common CONSTANT TEXT[] := ARRAY(
        SELECT one.word FROM pg_stats AS known, unnest(known.most_common_elems::text::text[], known.most_common_elem_freqs) AS one (word, part)
        WHERE known.schemaname = 'autocompact' AND known.tablename = 'passages' AND known.attname = 'words'
            AND one.word = ANY(words) AND one.part * held > 4 * most
    );
BEGIN
    PERFORM set_config('gin_fuzzy_search_limit', (4 * most)::text, true);
    RETURN QUERY SELECT CASE WHEN asked.word = ANY(common) THEN most ELSE (
        SELECT count(*) FROM (
            SELECT 1 FROM autocompact.passages AS one WHERE one.words @> ARRAY[asked.word] LIMIT most
        ) AS held
    ) END FROM unnest(words) WITH ORDINALITY AS asked (word, number) ORDER BY asked.number;
END $$;

-- For each term the passages between two ids that hold it, and one of those beside it if there are any, "most" at most.
CREATE FUNCTION autocompact.passages_with(terms TEXT[], beside TEXT[], first BIGINT, last BIGINT, most BIGINT) RETURNS TABLE (ids BIGINT[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    others CONSTANT TEXT[] := autocompact.tenant_words(beside);
BEGIN
    IF others = '{}' THEN
        RETURN QUERY SELECT ARRAY(
            SELECT one.id FROM autocompact.passages AS one
            WHERE one.words @> ARRAY[asked.word] AND one.id BETWEEN first AND last LIMIT most
        ) FROM unnest(autocompact.tenant_words(terms)) WITH ORDINALITY AS asked (word, number) ORDER BY asked.number;
    ELSE
        RETURN QUERY SELECT ARRAY(
            SELECT one.id FROM autocompact.passages AS one
            WHERE one.words @> ARRAY[asked.word] AND one.words && others AND one.id BETWEEN first AND last LIMIT most
        ) FROM unnest(autocompact.tenant_words(terms)) WITH ORDINALITY AS asked (word, number) ORDER BY asked.number;
    END IF;
END $$;

-- The newest passages between two ids that hold every one of the terms.
CREATE FUNCTION autocompact.newest_with(terms TEXT[], first BIGINT, last BIGINT, most BIGINT) RETURNS SETOF BIGINT
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    every CONSTANT TEXT[] := autocompact.tenant_words(terms);
BEGIN
    RETURN QUERY SELECT held.id FROM (
        SELECT one.id FROM autocompact.passages AS one WHERE one.words @> every AND one.id BETWEEN first AND last
        -- else they are read backwards from the last one, and those of every tenant unpacked
        OFFSET 0
    ) AS held ORDER BY held.id DESC LIMIT most;
END $$;

-- Passages with the names of their conversations and their terms, which have the number of the tenant in front. The policy of
-- conversations holds for the owner, too: of other tenants there is none.
CREATE FUNCTION autocompact.read_passages(wanted BIGINT[]) RETURNS TABLE (
    id BIGINT, seq BIGINT, part BIGINT, start BIGINT, length BIGINT, kind BIGINT, terms BIGINT, name TEXT, words TEXT
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog SET jit = off AS $$
    SELECT one.id, one.seq, one.part, one.start, one.length, one.kind, one.terms, talk.name, array_to_string(one.words, ' ')
    FROM autocompact.passages AS one
    -- one by one: a join would look through all conversations
    CROSS JOIN LATERAL (SELECT held.name FROM autocompact.conversations AS held WHERE held.id = one.id >> 24 OFFSET 0) AS talk
    WHERE one.id = ANY(wanted)
$$;

REVOKE EXECUTE ON FUNCTION autocompact.count_passages(TEXT[], BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.passages_with(TEXT[], TEXT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.newest_with(TEXT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.read_passages(BIGINT[]) FROM PUBLIC;
