"""Files with a request: recognised by what they hold, sent as each API wants them, kept once."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig
from autocompact.chat.attachments import LARGEST_TEXT, MOST, Uploads, attachment
from autocompact.core.messages import Document, Image
from autocompact.errors import InvalidInput
from autocompact.testing import Answer, FakeProvider
from tests.chat.chatting import ANTHROPIC, CHAT, RESPONSES, call, chatting

pytestmark = pytest.mark.anyio

PDF = b"%PDF-1.4\n1 0 obj<</Type/Page>>endobj\n%%EOF"


def png(width: int, height: int) -> bytes:
    """A grey picture."""
    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_a_file_is_what_it_holds_and_not_what_it_is_called() -> None:
    image = attachment("notes.txt", png(30, 20))
    assert isinstance(image, Image)
    assert (image.media_type, image.width, image.height) == ("image/png", 30, 20)
    pdf = attachment("C:\\papers\\a\x07.pdf", PDF)
    assert isinstance(pdf, Document)
    assert (pdf.media_type, pdf.name) == ("application/pdf", "a.pdf")
    text = attachment("picture.png", b"Tide at sechs Uhr")
    assert isinstance(text, Document)
    assert (text.media_type, text.text, text.data) == ("text/plain", "Tide at sechs Uhr", "")


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "is empty"),
        (b"\0\1\2", "cannot be read"),
        (b"\xff\xfe", "is empty"),
        (b"\xff\xfea", "cannot be read"),
        (b"\xe4\x01", "cannot be read"),
        (b"\xe4\x9d", "cannot be read"),
        (b"a" * (LARGEST_TEXT + 1), "at most"),
    ],
)
def test_what_no_model_reads_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        attachment("x.bin", content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_a_text_is_read_however_programs_save_it(encoding: str) -> None:
    text = attachment("tide.txt", "Höchststand: 6 Uhr\n\x1b[1mBergen\x1b[0m\n".encode(encoding))
    assert isinstance(text, Document)
    assert text.text == "Höchststand: 6 Uhr\n\x1b[1mBergen\x1b[0m\n"


def test_uploads_wait_for_their_message_and_are_bounded() -> None:
    uploads = Uploads()
    part = attachment("a.txt", b"a")
    first = uploads.add(part, size=60_000_000)
    second = uploads.add(part, size=60_000_000)
    assert uploads.get([second]) == (part,)
    with pytest.raises(InvalidInput, match="attach them again"):
        uploads.get([first])
    with pytest.raises(InvalidInput, match="at most"):
        uploads.get([second] * (MOST + 1))
    uploads.drop([second, "none"])
    with pytest.raises(InvalidInput, match="attach them again"):
        uploads.get([second])


@pytest.mark.parametrize("model", [CHAT, ANTHROPIC, RESPONSES])
async def test_images_pdf_and_text_reach_each_api_and_are_kept_once(tmp_path: Path, model: str) -> None:
    picture = png(30, 20)
    files = [attachment("p.png", picture), attachment("a.pdf", PDF), attachment("n.txt", b"Bergen 06:12")]
    async with (
        FakeProvider(["Seen.", "Again.", "Edited."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=model)) as service,
    ):
        session = await service.create()
        await session.send("Look.", attachments=files)
        await session.wait()
        sent = str(provider.requests[-1].body)
        for content in (
            b64encode(picture).decode(),
            b64encode(PDF).decode(),
            "Bergen 06:12",
            "n.txt",
            "Look.",
        ):
            assert sent.count(content) == 1
        (stored,) = await session.conversation.history(from_seq=1, through_seq=1)
        assert [type(part).__name__ for part in stored.parts] == ["Image", "Document", "Document", "Text"]
        assert session.title == "Look."

        await session.edit(1, "Look again.")
        await session.wait()
        assert b64encode(picture).decode() in str(provider.requests[-1].body)


async def test_files_alone_are_a_message_and_wait_for_no_answer(tmp_path: Path) -> None:
    slow = Answer(calls=(call("list_files"),))
    async with (
        FakeProvider([slow, "Seen."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT, workspace=tmp_path)) as service,
    ):
        session = await service.create()
        assert await session.send_later("", attachments=[attachment("n.txt", b"06:12")]) is None
        with pytest.raises(InvalidInput, match="once the answer has ended"):
            await session.send_later("", attachments=[attachment("n.txt", b"06:12")])
        await session.wait()
        assert "06:12" in str(provider.requests[0].body)
        with pytest.raises(InvalidInput, match="empty message"):
            await session.send("  ")
