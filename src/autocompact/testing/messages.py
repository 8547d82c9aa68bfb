"""Random logs for hypothesis: what a store must give back exactly as it was given."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from autocompact.wire.request import parse_message

_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
_SPACE = st.sampled_from([b"", b" ", b"\n\t", b"   "])


def texts() -> st.SearchStrategy[str]:
    """Short and long, of every script, with control characters, line ends of every kind and half surrogates."""
    return st.one_of(
        st.text(max_size=40),
        st.text(alphabet="ab\r\n\t\x00 \u2028é漢😀", max_size=300),
        st.sampled_from(["", "cut \ud83d", "word " * 200]),
    )


def parts() -> st.SearchStrategy[Part]:
    """Every kind of part, with its raw block and without."""
    raw = st.none() | st.binary(max_size=200)
    images = st.builds(
        Image, data=texts(), media_type=texts(), width=st.none() | st.integers(0, 9000), raw=raw
    )
    documents = st.builds(Document, name=texts(), text=texts(), url=texts(), raw=raw)
    return st.one_of(
        st.builds(Text, text=texts(), raw=raw),
        st.builds(Reasoning, text=texts(), raw=raw),
        st.builds(ToolCall, id=texts(), name=texts(), arguments=texts(), raw=raw),
        st.builds(
            ToolResult,
            call_id=texts(),
            text=texts(),
            is_error=st.booleans(),
            media=st.lists(images | documents, max_size=2).map(tuple),
            raw=raw,
        ),
        images,
        documents,
        st.builds(Opaque, kind=texts(), raw=st.binary(max_size=200)),
    )


def made_messages() -> st.SearchStrategy[Message]:
    """Messages that did not come over the wire, of any parts in any role."""
    return st.builds(
        Message,
        seq=st.just(0),
        role=st.sampled_from(_ROLES),
        parts=st.lists(parts(), max_size=4).map(tuple),
        synthetic=st.booleans(),
        id=texts(),
        time=texts(),
        model=texts(),
        usage=st.none() | st.builds(Usage, prompt=st.integers(0, 2**40), completion=st.integers(0, 2**40)),
    )


@st.composite
def wire_messages(draw: st.DrawFn) -> Message:
    """Messages that came as JSON, with odd white space, unknown fields and numbers that no parser would write so.

    Some were changed since, so that their parts are not what the JSON says.
    """
    space = draw(_SPACE)
    text = msgspec.json.encode(draw(texts()).encode("utf-8", "replace").decode())
    body = (
        b"{" + space + b'"role":' + space + b'"assistant"' + space + b',"x_unknown":[1e2,-0.50,null],'
        b'"content"' + space + b":" + text + space + b"}"
    )
    message = parse_message(body, seq=1, dialect="openai_chat")
    return message.with_parts(draw(st.lists(parts(), max_size=2))) if draw(st.booleans()) else message


@st.composite
def logs(draw: st.DrawFn, max_size: int = 12) -> list[Message]:
    """Numbered messages, some of which replace earlier ones."""
    drawn = draw(st.lists(made_messages() | wire_messages(), max_size=max_size))
    messages: list[Message] = []
    for seq, message in enumerate(drawn, start=1):
        replaces = draw(st.none() | st.integers(1, seq - 1)) if seq > 1 else None
        messages.append(replace(message, seq=seq, replaces=replaces))
    return messages
