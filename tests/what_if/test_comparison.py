"""The library's call: what the guide shows is run, in a program and in a notebook's cell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from autocompact import Comparison, InvalidInput, UnreadableSession, compare_policies
from autocompact.what_if.comparison import Assumed, File, compare_files
from autocompact.what_if.policies import given_policies
from tests.cli.program import ANTHROPIC, OPENAI, ROOT

GUIDE = (ROOT / "docs" / "guides" / "what-if.md").read_text("utf-8")
CELLS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
NONE = [{"name": "all of it", "kind": "none"}]


@pytest.fixture(scope="module")
def shell() -> Any:
    made: Any = InteractiveShell
    return made()


@pytest.mark.requirement("E10")
def test_the_cells_of_the_guide_show_a_page_and_figures(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page, figures = CELLS
    run = shell.run_cell
    # the usual policies take their time: two of them do here
    shown = run(page.replace("window=64_000", "window=64_000, policies=[{'name': 'ours'}]"))
    assert shown.success
    html = shown.result._repr_html_()
    assert html.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts allow-downloads"' in html
    assert html.count("<") == 2  # nothing of the page stands outside of the frame
    assert shell.user_ns["comparison"].policies["ours"].failed == 0
    capsys.readouterr()
    assert run(figures).success
    assert re.search(r"^small: \$\d\.\d\d, \d+ compactions$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.anyio
async def test_it_can_be_called_where_a_loop_runs_as_in_a_notebook() -> None:
    found = compare_policies(OPENAI, policies=NONE)
    assert isinstance(found, Comparison)
    assert found.policies["all of it"].requests > 0


def test_how_many_policies_are_through_is_told_where_one_session_is_replayed() -> None:
    seen: list[tuple[int, int]] = []
    policies = given_policies([*NONE, {"name": "ours"}, {"name": "masks", "kind": "masks"}])

    def told(done: int, whole: int) -> None:
        seen.append((done, whole))

    files = [File(path=OPENAI, name="a")]
    (found,) = compare_files(files, assumed=Assumed(policies=policies), processes=2, told=told)
    assert found.result is not None
    assert seen == [(0, 3), (1, 3), (2, 3)]


@pytest.mark.requirement("E10")
def test_the_json_has_the_sessions_their_sum_and_what_to_take(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no session")
    (tmp_path / "a.json").write_bytes(OPENAI.read_bytes())
    found = compare_policies([tmp_path, ANTHROPIC], policies=[*NONE, {"name": "ours"}])
    document = json.loads(found.to_json())
    assert [each["session"] for each in document["sessions"]] == [str(tmp_path / "a.json"), str(ANTHROPIC)]
    assert document["together"]["sessions"] == 2
    assert document["recommended"]["name"] == "ours"
    assert ["notes.txt' is not JSON" in reason for reason in found.left_out] == [True]
    assert found.to_html().count('class="session"') == 2


def test_what_cannot_be_compared_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSession, match=r"missing\.jsonl"):
        compare_policies(tmp_path / "missing.jsonl")
    with pytest.raises(InvalidInput, match="there is nothing to replay in '"):
        compare_policies(tmp_path)
    with pytest.raises(InvalidInput, match=r"policies\.json: the file of policies cannot be read"):
        compare_policies(OPENAI, policies=tmp_path / "policies.json")
    with pytest.raises(InvalidInput, match=r"prices\.json: the price table cannot be read"):
        compare_policies(OPENAI, prices=str(tmp_path / "prices.json"))
