"""Requests that only ask how many tokens they have: what is counted is what would really go upstream.

Nothing is kept of them, and nothing is compacted for them. A conversation that nobody asked about since the gateway was
started is not known by its beginning yet: its tokens are those of the request as it came.
"""

from __future__ import annotations

from autocompact.gateway.conversations import Conversations
from autocompact.gateway.memory_tools import offered_tools
from autocompact.gateway.native import is_managed
from autocompact.gateway.turns import rendered
from autocompact.wire import Renderer, Request


async def as_sent(request: Request, *, conversations: Conversations, namespace: str) -> bytes:
    """The body with the context of its conversation, as the next request with these messages would bring it.

    Args:
        request: whose tokens are asked for.
        conversations: of the gateway.
        namespace: the client's.

    Raises:
        InvalidRequest: a message is not what the API describes.
    """
    if is_managed(request) or not request.messages.listed:
        return request.raw
    incoming = await conversations.incoming(request, namespace=namespace)
    kept = conversations.going_on(incoming)
    if kept is None or incoming.is_native:
        return request.raw
    async with kept.lock:
        conversation, logged = kept.conversation, len(kept.digests)
        if conversation.records.active is None or incoming.digests[logged - 1 : logged] != kept.digests[-1:]:
            return request.raw
        tools = (
            offered_tools(request.tools, request.dialect)
            if conversation.internals.replica.transcript.lookup.tools
            else None
        )
        return rendered(request, conversation, renderer=Renderer(request.dialect), tools=tools)
