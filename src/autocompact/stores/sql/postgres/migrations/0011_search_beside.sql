-- Where the rare terms of a question stand, and the common ones beside them, in one call. Older programs call find_terms and passages_with.

-- As find_terms (0009), for each term by its number, from 1; of those in "known" it is known that they are common. Then, where any term is rare, a
-- row with the number 0 and the numbers of the rare ones, "budget" passages at most, and for each of the first "common" others that stand
-- anywhere the passages that hold it and a rare one; these rows have no count. What rare is says autocompact.stores.bounded_search, too: where
-- that comes to something else, since some of what the index counts was deleted, the program asks passages_with.
CREATE FUNCTION autocompact.find_beside(terms TEXT[], known BIGINT[], most BIGINT, budget BIGINT, common BIGINT)
RETURNS TABLE (number BIGINT, held BIGINT, ids BIGINT[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET jit = off
SET max_parallel_workers_per_gather = 0 SET gin_fuzzy_search_limit = 0 SET cpu_tuple_cost = 2 SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    spelt CONSTANT TEXT[] := autocompact.tenant_words(terms);
    asked CONSTANT TEXT[] := ARRAY(
        SELECT one.term FROM unnest(terms) WITH ORDINALITY AS one (term, number) WHERE one.number <> ALL(known) ORDER BY one.number
    );
    numbers CONSTANT BIGINT[] := ARRAY(
        SELECT one.number FROM unnest(terms) WITH ORDINALITY AS one (term, number) WHERE one.number <> ALL(known) ORDER BY one.number
    );
    counts BIGINT[] := array_fill(most, ARRAY[cardinality(terms)]);
    rare BIGINT[] := '{}';
    others TEXT[];
    room BIGINT := budget;
    one RECORD;
BEGIN
    FOR one IN SELECT found.held, found.ids, numbers[found.at] AS number
        FROM autocompact.find_terms(asked, most, budget) WITH ORDINALITY AS found (held, ids, at)
    LOOP
        number := one.number;
        held := one.held;
        ids := one.ids;
        counts[number] := held;
        RETURN NEXT;
    END LOOP;
    FOR one IN SELECT each.number, each.count FROM unnest(counts) WITH ORDINALITY AS each (count, number) ORDER BY each.count, each.number LOOP
        IF one.count BETWEEN 1 AND room THEN
            rare := rare || one.number;
            room := room - one.count;
        END IF;
    END LOOP;
    IF spelt IS NULL OR rare = '{}' THEN
        RETURN;
    END IF;
    number := 0;
    held := NULL;
    ids := rare;
    RETURN NEXT;
    others := ARRAY(SELECT spelt[each] FROM unnest(rare) AS each);
    RETURN QUERY SELECT each.number, NULL::bigint, ARRAY(
        SELECT passage.id FROM autocompact.passages AS passage WHERE passage.words @> ARRAY[spelt[each.number]] AND passage.words && others LIMIT budget
    )
    FROM (
        SELECT which.number FROM generate_series(1, cardinality(terms)::bigint) AS which (number)
        WHERE counts[which.number] > 0 AND which.number <> ALL(rare) ORDER BY which.number LIMIT common
    ) AS each;
END $$;

REVOKE EXECUTE ON FUNCTION autocompact.find_beside(TEXT[], BIGINT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
