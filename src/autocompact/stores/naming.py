"""What names a store: the path of a file."""

from __future__ import annotations

import re
from os import PathLike

from autocompact.errors import InvalidInput

# A path that went through `pathlib` has one slash left, and may stand behind the folder it was taken as relative to.
_SERVER = re.compile(r"(?:^|[/\\])postgres(?:ql)?(?:\+\w+)?:[/\\]", re.IGNORECASE)


def check_file_name(path: str | PathLike[str]) -> None:
    """Refuse the URL of a PostgreSQL server where a file is needed, before anything quotes its password as a path.

    Raises:
        InvalidInput: it is such a URL, which the message does not repeat.
    """
    if _SERVER.search(str(path)):
        raise InvalidInput(
            "the conversation store is a file, and what was given is the URL of a PostgreSQL server: name a file"
        )
