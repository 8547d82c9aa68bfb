-- Search in two steps: which passages hold the terms, for which the index is enough, then the words of the likeliest. To unpack a
-- passage's words and look for one of them takes some ten microseconds, which the functions of 0003, that older programs call, do for
-- every passage and term. All run as the owner (see 0003) and find the tenant's number themselves. A sequential scan would
-- unpack the words of every tenant.

-- Passages of the tenant that hold each term, counted no further than "most", at most 1,501. The index hands out at random some 6,000
-- places of a term that has more of them, which are too many in any case, so counting does not grow with what is stored.
CREATE FUNCTION autocompact.count_passages(terms TEXT[], most BIGINT) RETURNS SETOF BIGINT
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET gin_fuzzy_search_limit = 6000 AS $$
BEGIN
    RETURN QUERY SELECT (
        SELECT count(*) FROM (
            SELECT 1 FROM autocompact.passages AS one WHERE one.words @> ARRAY[asked.word] LIMIT most
        ) AS held
    ) FROM unnest(autocompact.tenant_words(terms)) WITH ORDINALITY AS asked (word, number) ORDER BY asked.number;
END $$;

-- For each term the passages between two ids that hold it, and one of those beside it if there are any, "most" at most.
CREATE FUNCTION autocompact.passages_with(terms TEXT[], beside TEXT[], first BIGINT, last BIGINT, most BIGINT) RETURNS TABLE (ids BIGINT[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off AS $$
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
SET enable_seqscan = off AS $$
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
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT one.id, one.seq, one.part, one.start, one.length, one.kind, one.terms, talk.name, array_to_string(one.words, ' ')
    FROM autocompact.passages AS one JOIN autocompact.conversations AS talk ON talk.id = one.id >> 24 WHERE one.id = ANY(wanted)
$$;

REVOKE EXECUTE ON FUNCTION autocompact.count_passages(TEXT[], BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.passages_with(TEXT[], TEXT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.newest_with(TEXT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.read_passages(BIGINT[]) FROM PUBLIC;
