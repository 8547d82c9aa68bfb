-- The newest passages of a tenant that hold every one of the terms, in one call, by the ranges of its newest conversations. Between two ids
-- lie the passages of all tenants, which were gone through; and the planner, which takes the policy of conversations for one that leaves
-- few of them, sorted all of a tenant's to find the first fifteen.

-- The newest conversations of the tenant that hold so many passages together; all, where they hold fewer.
CREATE FUNCTION autocompact.newest_conversations(wanted BIGINT) RETURNS BIGINT[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    ids BIGINT[] := '{}';
    passages BIGINT := 0;
    talk RECORD;
BEGIN
    FOR talk IN
        SELECT one.id, one.passages FROM autocompact.conversations AS one
        WHERE current_setting('autocompact.tenant', true) LIKE '=%' AND one.namespace = substr(current_setting('autocompact.tenant', true), 2)
        ORDER BY one.id DESC
    LOOP
        ids := ids || talk.id;
        passages := passages + talk.passages;
        EXIT WHEN passages >= wanted;
    END LOOP;
    RETURN ids;
END $$;

-- Passages of conversations that hold all terms, the newest first, found by reading one after the other until there are so many. NULL where
-- of the first hundred fewer than a sixth hold them, or all together too few: then the index finds them sooner.
CREATE FUNCTION autocompact.newest_by_reading(talks BIGINT[], terms TEXT[], wanted BIGINT) RETURNS BIGINT[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    every CONSTANT TEXT[] := autocompact.tenant_words(terms);
    found BIGINT[] := '{}';
    looked BIGINT := 0;
    talk BIGINT;
    one RECORD;
BEGIN
    FOREACH talk IN ARRAY talks LOOP
        FOR one IN
            SELECT held.id, held.words @> every AS holds FROM autocompact.passages AS held
            WHERE held.id BETWEEN talk << 24 AND ((talk + 1) << 24) - 1 ORDER BY held.id DESC
        LOOP
            looked := looked + 1;
            IF one.holds THEN
                found := found || one.id;
            END IF;
            IF cardinality(found) >= wanted THEN
                RETURN found;
            END IF;
            IF looked >= 100 AND 6 * cardinality(found) < looked THEN
                RETURN NULL;
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

-- Passages of the tenant that hold all terms, the newest first, "most" at most: of the newest "recent" ones, or of all where these give
-- fewer than "enough". The index reads the terms' posting lists to their ends: where these are long ("reads") the newest passages are
-- read first. Reading a row costs what 0007 says.
CREATE FUNCTION autocompact.newest_in_tenant(terms TEXT[], recent BIGINT, enough BIGINT, most BIGINT, reads BOOLEAN) RETURNS SETOF BIGINT
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET jit = off SET cpu_tuple_cost = 2
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    talks CONSTANT BIGINT[] := autocompact.newest_conversations(recent);
    -- many small ones are found in one range sooner than in a range each
    ranges CONSTANT TEXT := CASE WHEN cardinality(talks) <= 50 THEN (
        SELECT string_agg(format('one.id BETWEEN %s AND %s', talk << 24, ((talk + 1) << 24) - 1), ' OR ') FROM unnest(talks) AS talk
    ) ELSE format('one.id >= %s', talks[cardinality(talks)] << 24) END;
    found BIGINT[] := CASE WHEN reads THEN autocompact.newest_by_reading(talks, terms, most) END;
BEGIN
    IF ranges IS NULL THEN
        RETURN;
    END IF;
    IF found IS NULL THEN
        EXECUTE 'SELECT ARRAY(SELECT held.id FROM (SELECT one.id FROM autocompact.passages AS one WHERE one.words @> $1 AND (' || ranges
            || ') OFFSET 0) AS held ORDER BY held.id DESC LIMIT $2)'
            INTO found USING autocompact.tenant_words(terms), most;
    END IF;
    IF cardinality(found) < least(enough, most) THEN
        found := ARRAY(SELECT autocompact.newest_with(terms, 0, 9223372036854775807, most));
    END IF;
    RETURN QUERY SELECT unnest(found);
END $$;

-- Terms of the tenant that the planner's statistics know to stand in many more than "most" passages; see find_in_tenant (0006). Asked once
-- in a while, it may know more of them: those that are not known are counted at each question, a millisecond each.
CREATE FUNCTION autocompact.common_terms(most BIGINT) RETURNS SETOF TEXT
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET jit = off AS $$
DECLARE
    front CONSTANT TEXT := (autocompact.tenant_words(ARRAY['']))[1];
    rows CONSTANT DOUBLE PRECISION := (SELECT reltuples FROM pg_class WHERE oid = 'autocompact.passages'::regclass);
BEGIN
    RETURN QUERY SELECT substr(one.word, length(front) + 1)
    FROM pg_stats AS known, unnest(known.most_common_elems::text::text[], known.most_common_elem_freqs) AS one (word, part)
    WHERE known.schemaname = 'autocompact' AND known.tablename = 'passages' AND known.attname = 'words'
        AND one.word ^@ front AND one.part * rows > 4 * most;
END $$;

-- Three thousand words of all tenants in place of a thousand; to gather them takes twice as long, 10 s of a million passages.
ALTER TABLE autocompact.passages ALTER COLUMN words SET STATISTICS 300;

-- As find_in_tenant, of terms that common_terms does not know.
CREATE FUNCTION autocompact.find_uncommon(terms TEXT[], most BIGINT) RETURNS TABLE (held BIGINT, ids BIGINT[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET jit = off
SET gin_fuzzy_search_limit = 0 AS $$
BEGIN
    -- of a long posting list some four times "most" at random, which are too many in any case
    PERFORM set_config('gin_fuzzy_search_limit', (4 * most)::text, true);
    RETURN QUERY SELECT cardinality(found.ids)::bigint, CASE WHEN cardinality(found.ids) < most THEN found.ids END FROM (
        SELECT asked.number, ARRAY(
            SELECT one.id FROM autocompact.passages AS one WHERE one.words @> ARRAY[asked.word] LIMIT most
        ) AS ids FROM unnest(autocompact.tenant_words(terms)) WITH ORDINALITY AS asked (word, number)
        OFFSET 0
    ) AS found ORDER BY found.number;
END $$;

REVOKE EXECUTE ON FUNCTION autocompact.newest_conversations(BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.newest_by_reading(BIGINT[], TEXT[], BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.newest_in_tenant(TEXT[], BIGINT, BIGINT, BIGINT, BOOLEAN) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.common_terms(BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.find_uncommon(TEXT[], BIGINT) FROM PUBLIC;
