"""Whose conversations a transaction is about: a database that knows tenants shows it no others.

PostgreSQL compares each row with the transaction's setting ``autocompact.tenant`` (row-level security, see
``sql/postgres/migrations/0003_tenants.sql``); a file of one's own has no such thing.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias


class Tenants(Enum):
    """Those that have no name.

    Attributes:
        NONE: no tenant: the tables that belong to all alone (access keys, secrets). What forgets to say whose, sees nothing.
        EVERY: all tenants: upkeep, the doctor, a list of the namespaces.
    """

    NONE = ""
    EVERY = "*"


Tenant: TypeAlias = str | Tenants
"""A namespace, or one of `Tenants`."""


def tenant_setting(tenant: Tenant) -> str:
    """The value of ``autocompact.tenant``: no namespace looks like one of `Tenants`."""
    return tenant.value if isinstance(tenant, Tenants) else f"={tenant}"
