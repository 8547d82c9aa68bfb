-- Of the passages that may come to the shortlist the server finds out which ones do: the others are not handed out. Older programs call
-- read_places.

-- The "most" likeliest of passages, the newest among equals, with the names of their conversations, and where in each the terms stand that are
-- asked for of it: positions from 1, those of a term behind those of the one before and a comma. "kinds" says for each passage which of
-- the sets of terms that is, and "weights" what each term of a set weighs. What a term gives a passage is what autocompact.core.search.shortlist says:
-- of its weight the more the more often it stands there, a half where that is as often as "saturation".
CREATE FUNCTION autocompact.read_likeliest(
    wanted BIGINT[], kinds BIGINT[], asked TEXT[], weights TEXT[], saturation DOUBLE PRECISION, most BIGINT
) RETURNS TABLE (
    id BIGINT, seq BIGINT, part BIGINT, start BIGINT, length BIGINT, kind BIGINT, terms BIGINT, name TEXT, places TEXT
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET jit = off AS $$
DECLARE
    front CONSTANT TEXT := (autocompact.tenant_words(ARRAY['']))[1];
BEGIN
    RETURN QUERY SELECT one.id, one.seq, one.part, one.start, one.length, one.kind, one.terms, talk.name, one.places
    FROM (
        SELECT held.*, found.places FROM unnest(wanted, kinds) AS each (id, kind)
        -- joined with nothing, an array is unpacked once, not for each term
        CROSS JOIN LATERAL (
            SELECT passage.id, passage.seq, passage.part, passage.start, passage.length, passage.kind, passage.terms, passage.words || '{}' AS words
            FROM autocompact.passages AS passage WHERE passage.id = each.id OFFSET 0
        ) AS held
        CROSS JOIN LATERAL (
            SELECT string_agg(array_to_string(at.places, ' '), ',') AS places,
                sum(at.weight * cardinality(at.places) / (cardinality(at.places) + saturation)) AS score
            FROM (
                SELECT one.weight, array_positions(held.words, front || one.term) AS places
                FROM (
                    SELECT unnest(string_to_array(asked[each.kind], ' ')) AS term,
                        unnest(string_to_array(weights[each.kind], ' '))::double precision AS weight
                ) AS one
                -- else they are looked for each time that they are named
                OFFSET 0
            ) AS at
        ) AS found
        ORDER BY found.score DESC, held.id DESC LIMIT most
    ) AS one
    -- one by one: a join would look through all conversations
    CROSS JOIN LATERAL (SELECT held.name FROM autocompact.conversations AS held WHERE held.id = one.id >> 24 OFFSET 0) AS talk;
END $$;

REVOKE EXECUTE ON FUNCTION autocompact.read_likeliest(BIGINT[], BIGINT[], TEXT[], TEXT[], DOUBLE PRECISION, BIGINT) FROM PUBLIC;
