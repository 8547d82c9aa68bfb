import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.errors import InvalidInput
from autocompact.memory.documents.document import BOM, Edit, read_document

LINES = st.lists(st.sampled_from([b"a", b"", b"caf\xe9", "é".encode(), b"\t- x"]), max_size=8)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(lines=LINES, ends=st.lists(ENDS, min_size=8, max_size=8), bom=st.booleans(), last=st.booleans())
def test_without_edits_every_byte_is_the_same(lines: list[bytes], ends: list[bytes], bom: bool, last: bool):
    content = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    content = (BOM if bom else b"") + (content if last else content.rstrip(b"\r\n"))
    assert read_document(content, name="x").edited([]) == content


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_new_lines_take_the_line_end_of_the_file(end: bytes):
    document = read_document(b"a" + end + b"b" + end, name="x")
    assert document.edited([Edit(start=1, end=1, lines=("n",))]) == b"a" + end + b"n" + end + b"b" + end


def test_in_a_file_of_mixed_line_ends_each_line_keeps_its_own():
    document = read_document(b"a\nb\r\nc\r\nd", name="x")
    edits = [
        Edit(start=0, end=1, lines=("A",)),
        Edit(start=2, end=2, lines=("n",)),
        Edit(start=3, end=4, lines=("D",)),
    ]
    assert document.edited(edits) == b"A\nb\r\nn\r\nc\r\nD"


def test_a_last_line_without_end_gets_one_before_what_follows():
    document = read_document(b"a", name="x")
    assert document.edited([Edit(start=1, end=1, lines=("b",))]) == b"a\nb\n"
    assert read_document(BOM, name="x").edited([Edit(start=0, end=0, lines=("b",))]) == BOM + b"b\n"
    moved = read_document(b"a\r\nb", name="x")
    assert moved.edited([Edit(start=0, end=1)]) == b"b"


def test_a_file_in_windows_1252_stays_so_and_other_characters_become_references():
    document = read_document(b"caf\xe9 \x93x\x94 \x96 \x80\x81\nx\n", name="x")
    assert document.texts == ("café “x” – €\x81", "x")
    edit = Edit(start=1, end=1, lines=("thé ’ 北 \x81\x80",))
    assert document.edited([edit]) == b"caf\xe9 \x93x\x94 \x96 \x80\x81\nth\xe9 \x92 &#21271; \x81\x80\nx\n"
    assert document.edited([Edit(start=0, end=1, lines=("“cafés”",))]) == b"\x93caf\xe9s\x94\nx\n"


def test_half_a_surrogate_pair_is_replaced_for_no_file_can_hold_it():
    assert (
        read_document(b"", name="x").edited([Edit(start=0, end=0, lines=("a\ud800",))])
        == "a\ufffd\n".encode()
    )


def test_what_is_no_text_is_refused_by_name():
    with pytest.raises(InvalidInput, match=r"DONE\.md holds NUL bytes.*Save it as UTF-8"):
        read_document("x".encode("utf-16"), name="DONE.md")
