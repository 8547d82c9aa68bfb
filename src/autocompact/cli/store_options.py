"""The options that say which kept conversations, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, TypeVar

import click

from autocompact.cli.values import store_option
from autocompact.stores.naming import StorePlace

F = TypeVar("F", bound=Callable[..., None])


class Where(TypedDict):
    """The options that say which conversations."""

    db: StorePlace | None
    namespace: str


db_option = store_option(
    "--db",
    help="The store: a file, or postgresql://…  [default: chat.db of the settings, else in your data folder]",
)
namespace_option = click.option(
    "--namespace",
    default="default",
    metavar="NAME",
    show_default=True,
    help="Conversations of another namespace are never seen.",
)
reveal_option = click.option(
    "--reveal", is_flag=True, help="Show secrets as they are.  [default: replaced by what they are]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")


def where_options(command: F) -> F:
    """``--db`` and ``--namespace``."""
    return db_option(namespace_option(command))
