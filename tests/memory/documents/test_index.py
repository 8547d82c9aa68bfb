import pytest

from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.pages import (
    DECISIONS,
    DONE,
    MEMORY,
    OBSERVATION_ARCHIVE,
    OBSERVATIONS,
    RULES,
    TASK_ARCHIVE,
    Pages,
)
from tests.memory.documents.folder import Folder

INDEX = """\
<!-- autocompact: index, written at each upkeep -->

| file | holds | entries | newest |
|---|---|---|---|
| [OBSERVATIONS.md](OBSERVATIONS.md) | what was noticed, with its confirmations | {} | {} |

<!-- autocompact: end of the index -->
"""


@pytest.mark.requirement("C2")
def test_the_index_is_kept_between_its_comments_and_what_stands_around_stays():
    folder = Folder()
    folder.put(MEMORY, "# My memory\r\n\r\nHand-written.")
    folder.put(OBSERVATIONS, "- 2026-10-03: x\n")
    folder.index()
    first = INDEX.format(1, "2026-10-03").replace("\n", "\r\n")
    assert folder.text(MEMORY) == "# My memory\r\n\r\nHand-written.\r\n\r\n" + first
    folder.put(MEMORY, folder.text(MEMORY) + "More.")
    folder.put(OBSERVATIONS, "- 2026-10-03: x\n- 2026-10-04: y\n")
    folder.index()
    second = INDEX.format(2, "2026-10-04").replace("\n", "\r\n")
    assert folder.text(MEMORY) == "# My memory\r\n\r\nHand-written.\r\n\r\n" + second + "More."
    before = dict(folder)
    folder.index()
    assert folder == before


def test_a_folder_without_any_file_of_ours_gets_no_index():
    folder = Folder()
    folder.put(MEMORY, "- [Importer](importer.md): how it rounds\n")
    before = dict(folder)
    folder.index()
    assert folder == before


def test_an_index_whose_end_is_missing_is_begun_anew():
    folder = Folder()
    folder.put(MEMORY, "<!-- autocompact: index, written at each upkeep -->\n\nText.\n")
    folder.put(OBSERVATIONS, "- x\n")
    folder.index()
    assert folder.text(
        MEMORY
    ) == "<!-- autocompact: index, written at each upkeep -->\n\nText.\n\n" + INDEX.format(1, "")


def test_every_file_is_counted_in_its_own_way():
    folder = Folder()
    folder.put(RULES, "1. a\n2. b\n")
    folder.put(OBSERVATIONS, "")
    folder.put(OBSERVATION_ARCHIVE, "- 2026-10-03: x\n")
    folder.put(DONE, "## T-1: x\n- Outcome: done\n- Completed: 2026-10-05\n")
    folder.put(
        TASK_ARCHIVE,
        "| Task | Date | Outcome | Files | Tokens | Pattern |\n|---|---|---|---|---|---|\n| x | 2026-10-04 |\n",
    )
    folder.put(DECISIONS, "# Decisions\n\n## Use UTC\n\nBecause.\n\n## Use tea\n\n### Green\n")
    folder.put(
        CONTEXT_ARCHIVE,
        "# Context archive\n\n## 2026-11-21T10:00:00.000+00:00 c1\n\n- Conversation: `x`\n\nTasks:\n\n- y\n",
    )
    folder.index()
    rows = [line.split(" | ")[-2:] for line in folder.text(MEMORY).split("\n") if line.startswith("| [")]
    assert rows == [
        ["2", " |"],
        ["0", " |"],
        ["1", "2026-10-05 |"],
        ["2", " |"],
        ["1", "2026-10-04 |"],
        ["1", "2026-10-03 |"],
        ["1", "2026-11-21 |"],
    ]


def test_files_that_changed_are_read_again_and_others_are_not():
    pages = Pages({DONE: b"- x\n", RULES: b"1. a\n"})
    before = pages[RULES]
    assert len(pages[DONE].notes) == 1
    after = pages.changed({DONE: b""})
    assert after[RULES] is before
    assert after[DONE].notes == ()
