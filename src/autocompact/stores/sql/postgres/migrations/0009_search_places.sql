-- Which terms are common and where terms stand, found out at less cost. Older programs call find_uncommon.

-- For each term how many passages of the tenant hold it, counted no further than "most", and which, of the rarest ones as far as "budget" passages
-- go. How many places its index has PostgreSQL says to EXPLAIN alone, which is for VOLATILE functions; to count the passages as find_in_tenant
-- (0006) does is to look each of them up, three quarters of the time. Some places may be dead, few of them (see 0005)
-- in a large tenant: a quarter more than the budget is read, and what is beyond it counts with them.
CREATE FUNCTION autocompact.find_terms(terms TEXT[], most BIGINT, budget BIGINT) RETURNS TABLE (held BIGINT, ids BIGINT[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off SET jit = off
SET max_parallel_workers_per_gather = 0 SET gin_fuzzy_search_limit = 0 AS $$
DECLARE
    words CONSTANT TEXT[] := coalesce(autocompact.tenant_words(terms), '{}');
    counts BIGINT[] := '{}';
    rare BIGINT[];
    word TEXT;
    plan JSON;
BEGIN
    -- of a long posting list the index hands out some of its places at random, which are too many in any case
    PERFORM set_config('gin_fuzzy_search_limit', (4 * most)::text, true);
    FOREACH word IN ARRAY words LOOP
        EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF, FORMAT JSON)'
            ' SELECT FROM autocompact.passages AS one WHERE one.words @> ARRAY[$1] LIMIT 1' INTO plan USING word;
        -- without an index there is no such step, and all are looked up
        counts := counts || coalesce((plan #>> '{0,Plan,Plans,0,Plans,0,Actual Rows}')::numeric, 0)::bigint;
    END LOOP;
    PERFORM set_config('gin_fuzzy_search_limit', '0', true);
    rare := ARRAY(SELECT one.number FROM (
        SELECT each.number, sum(each.count) OVER (ORDER BY each.count, each.number) AS places
        FROM unnest(counts) WITH ORDINALITY AS each (count, number)
    ) AS one WHERE one.places <= 1.25 * budget);
    RETURN QUERY SELECT coalesce(cardinality(found.ids), least(counts[found.number], most)), CASE WHEN cardinality(found.ids) < most THEN found.ids END
    FROM (
        SELECT asked.number, CASE WHEN asked.number = ANY(rare) THEN ARRAY(
            SELECT one.id FROM autocompact.passages AS one WHERE one.words @> ARRAY[asked.word] LIMIT most
        ) END AS ids FROM unnest(words) WITH ORDINALITY AS asked (word, number)
        -- else the array is made once for each time that it is named
        OFFSET 0
    ) AS found ORDER BY found.number;
END $$;

-- Passages with the names of their conversations, and where in each the terms stand that are asked for of it, one after the other, from 1,
-- a 0 behind those of each term. See read_passages (0005), which returns all that is said.
CREATE FUNCTION autocompact.read_places(wanted BIGINT[], asked TEXT[]) RETURNS TABLE (
    id BIGINT, seq BIGINT, part BIGINT, start BIGINT, length BIGINT, kind BIGINT, terms BIGINT, name TEXT, places INTEGER[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET jit = off AS $$
DECLARE
    front CONSTANT TEXT := (autocompact.tenant_words(ARRAY['']))[1];
BEGIN
    RETURN QUERY SELECT one.id, one.seq, one.part, one.start, one.length, one.kind, one.terms, talk.name, ARRAY(
        SELECT unnest(array_positions(one.words, front || term) || 0) FROM unnest(string_to_array(one.asked, ' ')) AS term
    )
    FROM (
        -- joined with nothing, an array is unpacked once, not for each term
        SELECT held.id, held.seq, held.part, held.start, held.length, held.kind, held.terms, held.words || '{}' AS words, each.asked
        FROM unnest(wanted, asked) AS each (id, asked)
        CROSS JOIN LATERAL (SELECT * FROM autocompact.passages AS passage WHERE passage.id = each.id OFFSET 0) AS held
        OFFSET 0
    ) AS one
    -- one by one: a join would look through all conversations
    CROSS JOIN LATERAL (SELECT held.name FROM autocompact.conversations AS held WHERE held.id = one.id >> 24 OFFSET 0) AS talk;
END $$;

-- Passages of conversations that hold all terms, the newest first, found by reading one after the other until there are so many. NULL where
-- of the first hundred fewer than a ninth hold them, or all together too few: then the index finds them sooner. It was a sixth (0008): the
-- index takes up to 12 ms of a tenth of a million, where its pages are not in memory, and reading 900 passages takes 7.
CREATE OR REPLACE FUNCTION autocompact.newest_by_reading(talks BIGINT[], terms TEXT[], wanted BIGINT) RETURNS BIGINT[]
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
            IF looked >= 100 AND 9 * cardinality(found) < looked THEN
                RETURN NULL;
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION autocompact.find_terms(TEXT[], BIGINT, BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.read_places(BIGINT[], TEXT[]) FROM PUBLIC;
