"""The schemas of tools."""

from __future__ import annotations

from pathlib import Path

from autocompact.adapters.schemas import ToolSchemas


def test_tools_that_are_made_for_each_request_have_their_own_schemas() -> None:
    schemas = ToolSchemas(Path.as_posix)
    for number in range(50):
        # each is gone before the next is made, which often gets the same place in memory
        assert schemas.of([Path(f"tool-{number}")]) == [f"tool-{number}"]


def test_the_schemas_of_the_same_tools_are_made_once() -> None:
    made: list[str] = []
    schemas = ToolSchemas(made.append)
    tools = ["read_file", "write_file"]

    assert schemas.of(tools) is schemas.of([*tools])
    assert made == tools
