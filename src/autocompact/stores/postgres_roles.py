"""The database roles: the owner makes the tables, the programs use them and are held to row-level security."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres_server import DIALECT, Server
from autocompact.stores.queries import queries
from autocompact.stores.tenants import Tenants

ADVICE = "make a role for the programs (CREATE ROLE … LOGIN); the owner runs `autocompact migrate --db URL --grant ROLE`"
"""What to do about a role that row-level security does not hold for."""

_PATIENCE_SECONDS = 5.0

_GRANTS = """
GRANT USAGE ON SCHEMA autocompact TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA autocompact TO {role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA autocompact TO {role};
-- who may write these could have a database taken for one of another version
REVOKE INSERT, UPDATE, DELETE ON autocompact.version, autocompact.job_migrations FROM {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA autocompact GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
ALTER DEFAULT PRIVILEGES IN SCHEMA autocompact GRANT EXECUTE ON FUNCTIONS TO {role};
"""

_QUEUE = """SELECT relname FROM pg_catalog.pg_class WHERE relname ^@ 'procrastinate_' AND relkind = %s
    AND relnamespace = (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = to_regclass('procrastinate_jobs'))"""
"""Tables or sequences of the jobs; their functions may be called by all."""

_QUEUE_GRANTS = {
    "r": sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {role}"),
    "S": sql.SQL("GRANT USAGE, SELECT ON SEQUENCE {name} TO {role}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The role of a program in its database.

    Attributes:
        name: of it.
        bypasses: PostgreSQL holds it to no row-level security: a superuser, or one with BYPASSRLS.
        owns: the tables are its own.
    """

    name: str
    bypasses: bool
    owns: bool

    @property
    def remark(self) -> str:
        """What row-level security does not do for it; "" if it does all."""
        if self.bypasses:
            return (
                f"the role {self.name!r} is a superuser or has BYPASSRLS: row-level security does not hold for it, "
                "and the program's own queries alone keep tenants apart"
            )
        if self.owns:
            return (
                f"the role {self.name!r} owns the tables: it can switch row-level security off, "
                "which does not hold for it on the search index's table"
            )
        return ""


def role_of(url: ServerUrl) -> Role:
    """The role that a URL connects as.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses.
        StoreTooNew: a newer program made the tables.
    """
    server = Server(url, connections=1, patience=_PATIENCE_SECONDS)
    server.open()
    try:
        with server.transaction(Tenants.NONE, reads=True) as connection:
            name, bypasses, owns = connection.execute(queries(DIALECT)["role"]).get
            return Role(name=name, bypasses=bypasses, owns=owns)
    finally:
        server.close()


def grant(url: ServerUrl, role: str) -> None:
    """Let a role use the tables, those of the jobs included, and those that later versions make.

    Args:
        url: of the database, as the owner of the tables, which are there.
        role: that the programs connect as.

    Raises:
        StoreError: there is no such role.
        StoreUnavailable: the server cannot be reached, or the user may not do that.
    """
    server = Server(url, connections=1, patience=_PATIENCE_SECONDS)
    server.open()
    try:
        with server.transaction(Tenants.NONE) as connection:
            who = sql.Identifier(role)
            connection.execute(sql.SQL(_GRANTS).format(role=who))
            for kind, rights in _QUEUE_GRANTS.items():
                for (name,) in connection.execute(_QUEUE, [kind]):
                    connection.execute(rights.format(name=sql.Identifier(name), role=who))
    finally:
        server.close()
