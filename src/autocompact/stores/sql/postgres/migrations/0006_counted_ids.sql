-- Counting the passages that hold a term finds them: of a term that is rare they are returned with the count, as nothing else is asked for
-- then. Older programs call count_passages and count_places.

-- For each term how many passages of the tenant hold it, counted no further than "most", and which, where they are fewer. See
-- count_passages (0005).
CREATE FUNCTION autocompact.find_in_tenant(terms TEXT[], most BIGINT) RETURNS TABLE (held BIGINT, ids BIGINT[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET jit = off
SET gin_fuzzy_search_limit = 0 AS $$
DECLARE
    rows CONSTANT DOUBLE PRECISION := (SELECT reltuples FROM pg_class WHERE oid = 'autocompact.passages'::regclass);
    words CONSTANT TEXT[] := autocompact.tenant_words(terms);
    common CONSTANT TEXT[] := ARRAY(
        SELECT one.word FROM pg_stats AS known, unnest(known.most_common_elems::text::text[], known.most_common_elem_freqs) AS one (word, part)
        WHERE known.schemaname = 'autocompact' AND known.tablename = 'passages' AND known.attname = 'words'
            AND one.word = ANY(words) AND one.part * rows > 4 * most
    );
BEGIN
    PERFORM set_config('gin_fuzzy_search_limit', (4 * most)::text, true);
    RETURN QUERY SELECT coalesce(cardinality(found.ids), most), CASE WHEN cardinality(found.ids) < most THEN found.ids END FROM (
        SELECT asked.number, CASE WHEN asked.word = ANY(common) THEN NULL ELSE ARRAY(
            SELECT one.id FROM autocompact.passages AS one WHERE one.words @> ARRAY[asked.word] LIMIT most
        ) END AS ids FROM unnest(words) WITH ORDINALITY AS asked (word, number)
        -- else the array is made once for each time that it is named
        OFFSET 0
    ) AS found ORDER BY found.number;
END $$;

-- The same of the passages between two ids.
CREATE FUNCTION autocompact.find_between(terms TEXT[], first BIGINT, last BIGINT, most BIGINT) RETURNS TABLE (held BIGINT, ids BIGINT[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN QUERY SELECT cardinality(found.ids)::bigint, CASE WHEN cardinality(found.ids) < most THEN found.ids END FROM (
        SELECT asked.number, ARRAY(
            SELECT one.id FROM autocompact.passages AS one
            WHERE one.words @> ARRAY[asked.word] AND one.id BETWEEN first AND last LIMIT most
        ) AS ids FROM unnest(autocompact.tenant_words(terms)) WITH ORDINALITY AS asked (word, number)
        OFFSET 0
    ) AS found ORDER BY found.number;
END $$;

REVOKE EXECUTE ON FUNCTION autocompact.find_in_tenant(TEXT[], BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.find_between(TEXT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
