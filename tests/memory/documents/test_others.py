"""Files of other programs: what they say that they hold, which of them a text names, and their share of a background."""

import pytest

from autocompact.memory.documents.others import background, description_of, linked_in, text_of
from autocompact.memory.documents.pages import MEMORY, OBSERVATIONS
from tests.memory.documents.folder import Folder

RULE = b"---\ndescription: How tests are written\nglobs: **/*.test.ts\nalwaysApply: false\n---\n# Testing\n\n- Use vitest\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (RULE.decode(), "How tests are written"),
        ("---\ndescription: 'quoted'\n---\n", "quoted"),
        ("---\ndescription: >-\n  over two\n  lines\nglobs:\n---\n# T", "over two lines"),
        ("---\ndescription: |\n  last one\n---\n# T", "last one"),
        ("---\ndescription:\nglobs: *.md\n---\nText.\n\n## Title ##\n", "Title"),
        ("---\nno end\n# Title", "Title"),
        ("# a | b", "a \\| b"),
        ("# " + "x" * 200, "x" * 119 + "…"),
        ("no heading", ""),
        ("", ""),
    ],
)
def test_a_file_is_described_by_its_front_matter_or_its_heading(text: str, told: str):
    assert description_of(text) == told


def test_links_wiki_links_and_names_in_code_lead_to_files():
    text = "- [A](a.md), [B](<./b c.md>), [C](c%20d.md), [[deploys]], [[e|shown]], `f.mdc`, `make`"
    assert linked_in(text) == {"a.md", "b", "c d.md", "deploys.md", "e.md", "f.mdc"}


def test_what_is_no_text_is_empty():
    assert text_of(b"a\0b", name="x.md") == ""


def test_long_files_share_what_short_ones_leave():
    told = background({"long.md": "x" * 90, "short.md": " y ", "empty.md": " \n"}, most=41)
    assert told == f"File long.md:\n\n{'x' * 40}\n[long.md goes on]\n\nFile short.md:\n\ny"
    assert background({"a.md": "text"}, most=0) == ""


def test_topic_files_that_nothing_leads_to_stand_in_the_index():
    folder = Folder()
    folder.put(MEMORY, "- [Importer](importer.md): how it rounds\n")
    topics = {
        "importer.md": b"# Importer",
        "api/a (1).mdc": RULE,
        "x|y.md": b"- 2026-10-03: Seen\n",
        "bin.md": b"\0",
    }
    folder.index(topics)
    rows = [line for line in folder.text(MEMORY).splitlines() if line.startswith("| [")]
    assert rows == [
        "| [api/a (1).mdc](<api/a (1).mdc>) | How tests are written | 1 |  |",
        "| [x\\|y.md](x%7Cy.md) |  | 1 | 2026-10-03 |",
        "| [bin.md](bin.md) |  | 0 |  |",
    ]
    before = dict(folder)
    folder.index(topics)
    assert folder == before


def test_another_programs_folder_gets_no_empty_index_and_no_file():
    folder = Folder()
    folder.index({"activeContext.md": b"# Now"})
    assert folder == {}
    folder.put(MEMORY, "- [Importer](importer.md)\n")
    before = dict(folder)
    folder.index({"importer.md": b"# Importer"})
    assert folder == before
    folder.put(OBSERVATIONS, "- 2026-10-03: x\n")
    folder.index({"importer.md": b"# Importer"})
    assert "importer.md)" not in folder.text(MEMORY).partition("<!--")[2]
