from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.condensing import condensed

COUNTER = Estimator()

STORY = """\
This session is being continued from a previous conversation that ran out of context.

Analysis:
1. The user asked to make the upload worker retry failed batches.
2. I read worker.py and found that errors were swallowed by a bare except.
3. I added a retry with backoff to the upload worker, at most 5 attempts.

Files:
- **worker.py** - The retry:
  ```python
  def upload(batch):
      for attempt in range(5):
          try:
              return send(batch)
          except NetworkError:
              sleep(2 ** attempt)
  ```
- **settings.toml** - The agreed settings:
  ```toml
  [retry]
  attempts = 5
  backoff = 2
  jitter = 0
  factor = 3
  ```

Problem solving:
- Errors were swallowed by a bare except in worker.py, which the user did not see.
- A retry with backoff was added to the upload worker: at most 5 attempts.

Pending tasks:
- Make the upload worker retry failed batches of the night run, too.
"""


def test_what_fits_stays_as_it_is() -> None:
    short = condensed(redact(STORY), 10_000, counter=COUNTER)
    assert (short.text, short.left_out) == (STORY, 0)


def test_repetitions_go_before_anything_else_and_the_last_place_stays() -> None:
    short = condensed(redact(STORY), COUNTER.count(STORY) - 45, counter=COUNTER)
    assert "This session is being continued" not in short.text
    assert "3. I added a retry with backoff" not in short.text
    assert "A retry with backoff was added to the upload worker: at most 5 attempts." in short.text
    assert "def upload" in short.text
    assert 0 < short.left_out < short.passages


def test_program_text_is_set_closer_and_stays_as_what_is_current_and_what_leads() -> None:
    short = condensed(redact(STORY), 10, counter=COUNTER)
    assert (
        "  ```python\n  def upload(batch):\n   for attempt in range(5):\n    try:\n     return send(batch)"
        in short.text
    )
    assert "- **worker.py** - The retry:" in short.text
    assert "attempts = 5" in short.text
    assert "- Make the upload worker retry failed batches of the night run, too." in short.text


def test_program_text_goes_where_the_summary_alone_is_too_large_data_does_not() -> None:
    short = condensed(redact(STORY), 10, counter=COUNTER, with_code=True)
    assert "def upload" not in short.text
    assert "- **worker.py** - The retry:" in short.text
    assert "attempts = 5" in short.text


def test_brackets_alone_tell_nothing() -> None:
    code = "# Code\n```go\nfunc f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n```\nIt is f that returns the one."
    text = condensed(redact(code), 5, counter=COUNTER).text
    assert text == "# Code\n```go\nfunc f() {\n if x {\n  return 1\n```\nIt is f that returns the one."


def test_a_passage_without_a_word_is_no_repetition() -> None:
    text = "The build failed.\n\n— — —\n\n…\n\n— — —\n\nThe build of the parser failed.\n\nEnd."
    assert "End." in condensed(redact(text), 4, counter=COUNTER).text


def test_a_passage_with_a_number_that_no_other_has_is_no_repetition() -> None:
    text = "The build of the parser failed with 17 errors.\n\nLater the build of the parser failed with errors.\n\nEnd."
    assert condensed(redact(text), 5, counter=COUNTER).text == text
    again = text.replace("17 ", "")
    assert (
        "The build of the parser failed with errors." not in condensed(redact(again), 5, counter=COUNTER).text
    )


def test_a_name_that_no_later_place_has_and_the_words_of_the_user_are_no_repetition() -> None:
    text = '- test_prefix_match checks the prefix of the hash.\n- "check the prefix of the hash, please"\nIt checks the prefix of the hash.\n\nEnd.'
    assert condensed(redact(text), 5, counter=COUNTER).text == text
    plain = text.replace("test_prefix_match", "It")
    assert "- It checks" not in condensed(redact(plain), 5, counter=COUNTER).text


def test_a_draft_of_the_summary_goes_before_the_summary_does() -> None:
    said = "The parser reads the header of the table first."
    draft = f"Analysis:\nThe parser of the night reads headers slowly.\n\nSummary:\n{said}\n\nEnd."
    assert "night" not in condensed(redact(draft), 5, counter=COUNTER).text
    assert said in condensed(redact(draft), 5, counter=COUNTER).text
    alone = draft.replace("Analysis:", "Story:")
    assert "night" in condensed(redact(alone), 5, counter=COUNTER).text


@given(
    st.lists(
        st.sampled_from(
            [
                "# Next steps",
                "```py",
                "```",
                "- item one of the list",
                "",
                "  - item one of the list",
                "One. Two!",
                "9 x",
            ]
        ),
        max_size=20,
    ).map("\n".join),
    st.integers(0, 60),
)
def test_what_is_left_stood_there_in_that_order(text: str, budget: int) -> None:
    short = condensed(redact(text), budget, counter=COUNTER)
    rest = iter(text)
    assert all(character in rest for character in short.text if not character.isspace())
    assert 0 <= short.left_out <= short.passages
