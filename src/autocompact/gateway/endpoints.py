"""What administration answers: one table of endpoints, of which both the routes and the OpenAPI document are made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from autocompact.compaction.record import Receipt
from autocompact.core.access import Scope
from autocompact.history.recall import MOST_RESULTS, RESULTS

MOST_LISTED = 1_000
MOST_FOCUS = 10_000
MOST_CURSOR = 400
MOST_QUERY = 2_000

Method: TypeAlias = Literal["GET", "POST", "DELETE"]


class Error(msgspec.Struct, kw_only=True):
    """What is wrong.

    Attributes:
        message: what is wrong, and what to do.
        type: kind of error.
        param: always null.
        code: kind of error for programs, null for most.
    """

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class Refused(msgspec.Struct, kw_only=True):
    """An error of the gateway's own, in OpenAI's format."""

    error: Error


class Health(msgspec.Struct, kw_only=True):
    """The process answers; ``name`` and ``version`` say what it is."""

    status: Literal["ok"] = "ok"
    name: Literal["autocompact"] = "autocompact"
    version: str


class Ready(msgspec.Struct, kw_only=True):
    """Whether requests can be served: ``problems`` is empty if they can."""

    status: Literal["ready", "not ready"]
    upstreams: list[str]
    problems: list[str]


class Line(msgspec.Struct, kw_only=True):
    """A conversation in a list.

    Attributes:
        id: its name.
        messages: how many its log has.
        created: ISO 8601, UTC.
        updated: of the last message or compaction.
        title: first words of the first request.
        compressed_at: since when the active compaction is active, null for none.
    """

    id: str
    messages: int
    created: str
    updated: str
    title: str
    compressed_at: str | None


class Page(msgspec.Struct, kw_only=True):
    """Conversations, the last updated first.

    Attributes:
        conversations: of this page.
        next: ``after`` of the next page, null on the last one.
        expire_after_days: without an update, conversations are removed after so many days; null is never.
    """

    conversations: list[Line]
    next: str | None
    expire_after_days: int | None


class Record(msgspec.Struct, kw_only=True):
    """A compaction: what it covers, the summary, and the receipt."""

    id: str
    status: str
    from_seq: int
    through_seq: int
    summary: str
    receipt: Receipt


class Conversation(msgspec.Struct, kw_only=True):
    """A conversation with the receipts of its compactions; ``active`` is the id of the active one."""

    id: str
    messages: int
    active: str | None
    compactions: list[Record]


class LoggedMessage(msgspec.Struct, kw_only=True):
    """A message of the log; ``raw`` is the JSON in which the client sent it."""

    seq: int
    role: str
    raw: Any


class Messages(msgspec.Struct, kw_only=True):
    """A part of the log; ``next`` is ``from_seq`` of the next one, null at the end."""

    messages: list[LoggedMessage]
    next: int | None


class Result(msgspec.Struct, kw_only=True):
    """A place that answers a search.

    Attributes:
        conversation: its name.
        seq: the message.
        source: whose words they are.
        excerpt: the lines around the best match.
        time: ISO 8601 stamp of the message, empty if unknown.
        match: share of the query's weight that the place holds, 0 to 1; rare words weigh more.
        beside: what belongs to it: the output of a call, the answer to a question.
        note: that the same stands elsewhere, or that there is a later version of the file.
    """

    conversation: str
    seq: int
    source: str
    excerpt: str
    time: str
    match: float
    beside: str
    note: str


class Results(msgspec.Struct, kw_only=True):
    """What was found, the likeliest first."""

    results: list[Result]


class Compacted(msgspec.Struct, kw_only=True):
    """A compaction that was asked for took effect."""

    success: bool
    message: str
    summary: str


class Undone(msgspec.Struct, kw_only=True):
    """The compaction that is active now, null for none."""

    active: str | None


class Deleted(msgspec.Struct, kw_only=True):
    """How many conversations were removed."""

    deleted: int


class Used(msgspec.Struct, kw_only=True):
    """What a key used in a period; ``refused`` are requests that were not let in."""

    requests: int
    tokens: int
    dollars: float
    refused: int


class KeyLine(msgspec.Struct, kw_only=True):
    """An access key: what it may do, how much of what, and what it has used in this minute, day and month."""

    id: str
    name: str
    tenant: str
    user: str
    scopes: list[str]
    models: list[str]
    routes: list[str]
    allowance: dict[str, float]
    used: dict[str, Used]
    created: str
    expires: str | None
    revoked: str | None


class Keys(msgspec.Struct, kw_only=True):
    """All access keys, the oldest first."""

    keys: list[KeyLine]


class Entry(msgspec.Struct, kw_only=True):
    """An entry of the audit log."""

    at: str
    actor: str
    action: str
    key: str
    detail: str


class Log(msgspec.Struct, kw_only=True):
    """The newest entries of the audit log, the newest first."""

    entries: list[Entry]


class Focus(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the summary should concentrate on."""

    focus: Annotated[str, msgspec.Meta(max_length=MOST_FOCUS)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the query."""

    name: str
    schema: Mapping[str, object]
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    Attributes:
        method: of HTTP.
        path: with ``{id}`` for a conversation.
        name: of the operation, and of the method of `autocompact.gateway.admin.Administration`.
        summary: one line.
        answer: what comes with status 200; None is status 204 without a body.
        media: content type.
        parameters: of the query.
        body: what may be sent.
        refusals: statuses of the gateway's own errors, besides those that every request may get.
        open: it needs no access token.
        scope: that an access key needs for it.
    """

    method: Method
    path: str
    name: str
    summary: str
    answer: type[msgspec.Struct] | Literal["text", "object"] | None = None
    media: str = "application/json"
    parameters: Sequence[Parameter] = ()
    body: type[msgspec.Struct] | None = None
    refusals: Sequence[int] = ()
    open: bool = False
    scope: Scope = "conversations"

    def match(self, path: str) -> str | None:
        """The conversation that ``path`` names, "" for none; None if it is another path."""
        before, braces, after = self.path.partition("{id}")
        if not braces:
            return "" if path == self.path else None
        found = re.fullmatch(f"{re.escape(before)}([^/]+){re.escape(after)}", path)
        return found[1] if found else None


_ONE = "/autocompact/conversations/{id}"
_LIMIT = Parameter(
    name="limit",
    schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 100},
    description="How many at most.",
)

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/autocompact",
        name="overview",
        summary="A page for people: how to point an agent here, and the conversations of a key with their receipts",
        answer="text",
        media="text/html",
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/",
        name="overview_at_root",
        summary="The same, unless the chat page is there",
        answer="text",
        media="text/html",
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/health",
        name="health",
        summary="The process answers",
        answer=Health,
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/ready",
        name="ready",
        summary="The store can be read and written, and there is an upstream; status 503 if not",
        answer=Ready,
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/metrics",
        name="metrics",
        summary="Counters for Prometheus, of all clients together",
        answer="text",
        media="text/plain",
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/metrics",
        name="metrics_too",
        summary="The same",
        answer="text",
        media="text/plain",
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/openapi.json",
        name="description",
        summary="This description",
        answer="object",
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/conversations",
        name="conversations",
        summary="Your conversations, the last updated first",
        answer=Page,
        parameters=(
            _LIMIT,
            Parameter(
                name="after",
                schema={"type": "string", "maxLength": MOST_CURSOR},
                description="`next` of the page before.",
            ),
        ),
        refusals=(400,),
    ),
    Endpoint(
        method="DELETE",
        path="/autocompact/conversations",
        name="delete_all",
        scope="manage",
        summary="Remove all your conversations with everything that was kept of them",
        answer=Deleted,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/search",
        name="search",
        summary="Search all your conversations, or one of them; 404 if the store keeps no search index",
        answer=Results,
        parameters=(
            Parameter(
                name="q",
                schema={"type": "string", "maxLength": MOST_QUERY},
                description="Words, names, a question.",
                required=True,
            ),
            Parameter(
                name="conversation",
                schema={"type": "string"},
                description="Only in this one; all of them if it is empty.",
            ),
            Parameter(
                name="k",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": RESULTS},
                description="Results at most.",
            ),
        ),
        refusals=(400, 404),
    ),
    Endpoint(
        method="GET",
        path=_ONE,
        name="conversation",
        summary="One, with the receipts of its compactions",
        answer=Conversation,
        refusals=(404,),
    ),
    Endpoint(
        method="DELETE",
        path=_ONE,
        name="delete",
        scope="manage",
        summary="Remove its log, summaries, index and what memory holds of it",
        refusals=(404,),
    ),
    Endpoint(
        method="GET",
        path=f"{_ONE}/messages",
        name="messages",
        summary="Its log, in the client's own JSON, whatever was compacted",
        answer=Messages,
        parameters=(
            _LIMIT,
            Parameter(
                name="from_seq",
                schema={"type": "integer", "minimum": 1, "maximum": 1 << 24, "default": 1},
                description="Number of the first message.",
            ),
        ),
        refusals=(400, 404),
    ),
    Endpoint(
        method="POST",
        path=f"{_ONE}/compact",
        name="compact",
        scope="manage",
        summary="Compact now; 409 if nothing could be gained, or another compaction runs",
        answer=Compacted,
        body=Focus,
        refusals=(400, 404, 409, 413),
    ),
    Endpoint(
        method="POST",
        path=f"{_ONE}/undo",
        name="undo",
        scope="manage",
        summary="Take the active compaction back; 409 if there is none",
        answer=Undone,
        refusals=(404, 409),
    ),
    Endpoint(
        method="GET",
        path="/autocompact/admin",
        name="admin",
        summary="A page that shows keys, their use, and the audit log; it asks for an access key with the scope admin",
        answer="text",
        media="text/html",
        open=True,
    ),
    Endpoint(
        method="GET",
        path="/autocompact/keys",
        name="keys",
        summary="All access keys, with what they may do and what they used; 404 if the gateway asks for none",
        answer=Keys,
        refusals=(404,),
        scope="admin",
    ),
    Endpoint(
        method="DELETE",
        path="/autocompact/keys/{id}",
        name="revoke",
        summary="Revoke an access key",
        refusals=(404,),
        scope="admin",
    ),
    Endpoint(
        method="GET",
        path="/autocompact/log",
        name="log",
        summary="The newest entries of the audit log",
        answer=Log,
        parameters=(_LIMIT,),
        refusals=(400, 404),
        scope="admin",
    ),
)
