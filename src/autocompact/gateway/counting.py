"""Requests about a conversation that add nothing to it: for the count of its tokens, or for the provider's compaction of it.

They are about what really goes upstream, so they bring the context of the conversation. A client that compacts by itself
(`/compact` of Codex) would else send the whole history at once, which the window may have no room for any more.

Nothing is kept of them, and nothing is compacted for them. A conversation that nobody asked about since the gateway was
started is not known by its beginning yet: such a request of it goes upstream as it came.
"""

from __future__ import annotations

from autocompact.gateway.conversations import Conversations
from autocompact.gateway.memory_tools import offered_tools
from autocompact.gateway.native import asks_now, history_is_elsewhere, is_managed
from autocompact.gateway.turns import rendered
from autocompact.wire import Renderer, Request


async def as_sent(
    request: Request, *, conversations: Conversations, namespace: str, with_tools: bool = True
) -> bytes:
    """The body with the context of its conversation, as the next request with these messages would bring it.

    Args:
        request: about the conversation.
        conversations: of the gateway.
        namespace: the client's.
        with_tools: the memory tools come along where the conversation has them.

    Raises:
        InvalidRequest: a message is not what the API describes.
    """
    left_alone = history_is_elsewhere(request) or (is_managed(request) and not asks_now(request))
    if left_alone or not request.messages.listed:
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
            if with_tools and conversation.internals.replica.transcript.lookup.tools
            else None
        )
        return rendered(request, conversation, renderer=Renderer(request.dialect), tools=tools)
