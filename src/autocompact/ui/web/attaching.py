"""Takes in the files that a person attaches, and gives out those of the messages."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Sequence

from fastapi import FastAPI, Request, Response

from autocompact.chat import ChatService
from autocompact.chat.attachments import LARGEST, Uploads, attachment, image_type
from autocompact.core.messages import Document, Image
from autocompact.errors import AutocompactError, InvalidInput
from autocompact.ui.web.addresses import disposition


def serve_attachments(app: FastAPI, services: Sequence[ChatService], *, uploads: Uploads) -> None:
    """Add the addresses of files: one that takes them, one for each file of a message."""

    @app.post("/attachments")
    async def attach(request: Request, name: str) -> Response:
        content = await _body(request, most=LARGEST)
        if content is None:
            return _told(f"{name} is too large: at most {LARGEST:,} bytes", status=413)
        try:
            part = await asyncio.to_thread(attachment, name, content)
        except InvalidInput as error:
            return _told(str(error), status=415)
        return _told(uploads.add(part, size=len(content)), status=200)

    @app.get("/attached/{id:path}/{seq}/{index}")
    async def attached(id: str, *, seq: int, index: int) -> Response:
        part = await _part(services[0], id, seq=seq, index=index)
        return _told(f"nothing is attached there: {id} m{seq}", status=404) if part is None else _file(part)


async def _body(request: Request, *, most: int) -> bytes | None:
    """The body; None if it has more than ``most`` bytes."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            return None
    return bytes(content)


async def _part(service: ChatService, id: str, *, seq: int, index: int) -> Image | Document | None:
    try:
        session = await service.open(id)
        (message,) = await session.conversation.history(from_seq=seq, through_seq=seq)
        part = message.parts[index]
    except (AutocompactError, ValueError, IndexError):
        return None
    return part if isinstance(part, Image | Document) else None


def _file(part: Image | Document) -> Response:
    text = "" if isinstance(part, Image) else part.text
    try:
        content = b64decode(part.data) if part.data else text.encode()
    except ValueError:  # an imported conversation may hold anything
        return _told("what is attached there is no Base64", status=404)
    # what an image is, its first bytes say; all else is only ever saved
    kind = image_type(content)
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    if not kind:
        headers["content-disposition"] = disposition(
            "file" if isinstance(part, Image) else part.name or "file"
        )
    return Response(content, media_type=kind or "application/octet-stream", headers=headers)


def _told(text: str, *, status: int) -> Response:
    return Response(text, status, media_type="text/plain")
