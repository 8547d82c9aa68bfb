-- Row-level security: a transaction sees the conversations of the tenant (namespace) that it names, and none where it names none.
-- The setting autocompact.tenant is "=" and the namespace, or "*" for what is done for all of them (upkeep, doctor, migrations). It is
-- set for a transaction and ends with it, so a pooler hands nobody a connection with another's. Owners are held to it, too
-- (FORCE); superusers and roles with BYPASSRLS never are. The policies hold once 0004 switches them on: programs of before name no
-- tenant, and would see nothing.

CREATE POLICY tenant ON autocompact.conversations
    USING (current_setting('autocompact.tenant', true) IN ('*', '=' || namespace));

CREATE POLICY tenant ON autocompact.leases
    USING (current_setting('autocompact.tenant', true) IN ('*', '=' || namespace));

CREATE POLICY tenant ON autocompact.search_namespaces
    USING (current_setting('autocompact.tenant', true) IN ('*', '=' || name));

-- What belongs to a conversation is seen by whom that is: its own policy holds within these. "*" also sees what belongs to none.
CREATE POLICY tenant ON autocompact.compactions USING (
    EXISTS (SELECT 1 FROM autocompact.conversations AS one WHERE one.id = compactions.conversation)
    OR current_setting('autocompact.tenant', true) = '*'
);

CREATE POLICY tenant ON autocompact.messages USING (
    EXISTS (SELECT 1 FROM autocompact.conversations AS one WHERE one.id = messages.id >> 24)
    OR current_setting('autocompact.tenant', true) = '*'
);

-- PostgreSQL asks no GIN index before a policy (its operators might leak what they see), so the functions below, which run as the
-- owner, look terms up. They take no number of a namespace: they find that of the transaction's tenant.
CREATE POLICY tenant ON autocompact.passages USING (
    EXISTS (SELECT 1 FROM autocompact.conversations AS one WHERE one.id = passages.id >> 24)
    OR current_setting('autocompact.tenant', true) = '*'
);

-- Terms as the index of the transaction's tenant has them; NULL where it names no tenant, or all.
CREATE FUNCTION autocompact.tenant_words(terms TEXT[]) RETURNS TEXT[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT (SELECT coalesce(array_agg(space.id || '_' || term ORDER BY number), '{}') FROM unnest(terms) WITH ORDINALITY AS one (term, number))
    FROM autocompact.search_namespaces AS space
    WHERE current_setting('autocompact.tenant', true) LIKE '=%' AND space.name = substr(current_setting('autocompact.tenant', true), 2)
$$;

-- Passages between two ids that hold each term, counted no further than "most".
CREATE FUNCTION autocompact.count_places(terms TEXT[], first BIGINT, last BIGINT, most BIGINT) RETURNS SETOF BIGINT
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY SELECT (
        SELECT count(*) FROM (
            SELECT 1 FROM autocompact.passages AS one
            WHERE one.words @> ARRAY[asked.word] AND one.id BETWEEN first AND last LIMIT most
        ) AS held
    ) FROM unnest(autocompact.tenant_words(terms)) WITH ORDINALITY AS asked (word, number) ORDER BY asked.number;
END $$;

-- Passages between two ids that hold every one of the terms, and one of those beside it if there are any; and where in each the first
-- one stands, from 1. The newest ones, or any.
CREATE FUNCTION autocompact.places(
    terms TEXT[], beside TEXT[], first BIGINT, last BIGINT, most BIGINT, newest BOOLEAN
) RETURNS TABLE (id BIGINT, places INTEGER[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    every CONSTANT TEXT[] := autocompact.tenant_words(terms);
    others CONSTANT TEXT[] := autocompact.tenant_words(beside);
BEGIN
    IF newest THEN
        RETURN QUERY SELECT one.id, array_positions(one.words, every[1]) FROM autocompact.passages AS one
            WHERE one.words @> every AND one.id BETWEEN first AND last ORDER BY one.id DESC LIMIT most;
    ELSIF others = '{}' THEN
        RETURN QUERY SELECT one.id, array_positions(one.words, every[1]) FROM autocompact.passages AS one
            WHERE one.words @> every AND one.id BETWEEN first AND last LIMIT most;
    ELSE
        RETURN QUERY SELECT one.id, array_positions(one.words, every[1]) FROM autocompact.passages AS one
            WHERE one.words @> every AND one.words && others AND one.id BETWEEN first AND last LIMIT most;
    END IF;
END $$;

REVOKE EXECUTE ON FUNCTION autocompact.tenant_words(TEXT[]) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.count_places(TEXT[], BIGINT, BIGINT, BIGINT) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION autocompact.places(TEXT[], TEXT[], BIGINT, BIGINT, BIGINT, BOOLEAN) FROM PUBLIC;
