"""``autocompact what-if``: the table, the JSON, and what cannot be compared."""

from __future__ import annotations

import json
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import autocompact.cli
from autocompact.cli.comparing import table
from autocompact.settings.document import read_document
from autocompact.what_if.billing import pricing_for
from autocompact.what_if.figures import figures_of
from autocompact.what_if.policies import WhatIf
from autocompact.what_if.simulation import Outcome
from tests.cli.program import ANTHROPIC, CODING, DATA, OPENAI, ROOT, Program
from tests.sessions.claude_lines import Claude, call, result, text

SCHEMA: Any = json.loads((Path(autocompact.cli.__file__).parent / "what-if.schema.json").read_bytes())
CONTRACT: Any = Draft202012Validator(SCHEMA)
POLICIES = """{
  // two are enough
  "policies": [
    {"name": "all of it", "kind": "none"},
    {"name": "early", "settings": {"compaction": {"triggers": {"sessionTokens": {"threshold": 20000}}}}},
  ],
}"""
RECORDED = [
    path
    for folder in ("claude_code", "codex", "gemini_cli", "pi", "openhands_sdk")
    for path in sorted((DATA / folder).glob("*"), key=lambda path: path.stat().st_size)[1:2]
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept between runs; none of the machine's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache" / "autocompact" / "what-if"


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    path = tmp_path / "policies.json"
    path.write_text(POLICIES)
    return path


def documents(program: Program, *arguments: str | Path | int) -> list[dict[str, Any]]:
    ended = program("what-if", *arguments, "--json")
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def compacted(folder: Path) -> Path:
    """A session of Claude Code that was compacted once, with usage."""
    log = Claude()
    log.user("Please fix the pump controller. Never push without my approval.")
    for step in range(12):
        usage: dict[str, object] = {"input_tokens": 12_000 + 900 * step, "output_tokens": 100}
        log.reply(
            call(f"r{step}", "Read", file_path=f"/srv/pump/valve_{step}.py"), id=f"a{step}", usage=usage
        )
        log.user([result(f"r{step}", f"def valve_{step}(): return open_valve({step})\n" * 40)])
        if step == 7:
            log.compact("We looked at the valves.")
    log.reply(text("All valves are fine."), id="end")
    path = folder / "pump.jsonl"
    path.write_bytes(log.bytes())
    return path


@pytest.mark.requirement("E10")
def test_the_table_compares_the_policies_and_says_what_is_assumed(program: Program) -> None:
    ended = program("what-if", CODING, "--window", 64_000)
    assert (ended.code, ended.err) == (0, "")
    shown = ended.out.decode()
    assert "Claude Code, claude-sonnet-4-5-20250929, 279 messages" in shown
    assert "111 requests. Window 64,000 tokens; system prompt and tools take 17," in " ".join(shown.split())
    assert "A million tokens cost $3, $0.3 from the cache, $15 of output" in " ".join(shown.split())
    rows = {line[:18].strip(): line[18:].split() for line in shown.splitlines() if "$" in line[18:26]}
    assert {"no compaction", "masks only", "autocompact", "at 50k", "window 32k", "window 1M"} <= set(rows)
    assert int(rows["no compaction"][3]) > 0
    assert int(rows["autocompact"][3]) == 0
    assert float(rows["autocompact"][0][1:]) < float(rows["window 1M"][0][1:])
    assert rows["autocompact"][7] == "100%"
    assert "The context over time: autocompact" in shown
    assert len(re.findall("▲", shown)) == int(rows["autocompact"][4])
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])


@pytest.mark.requirement("E10")
@pytest.mark.parametrize("path", [CODING, OPENAI, ANTHROPIC], ids=lambda path: path.stem)
def test_the_json_keeps_to_its_schema(program: Program, path: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    (document,) = documents(program, path, "--window", 32_000)
    CONTRACT.validate(document)
    parts = SCHEMA["$defs"]
    assert list(document) == list(parts["session"]["properties"])
    fields = parts["session"]["properties"]["policies"]["items"]["properties"]
    for policy in document["policies"]:
        assert list(policy) == [*parts["figures"]["properties"], *fields]
        assert policy["tokens"] == policy["cache_read"] + policy["cache_written"]
        assert policy["compactions"] == len(policy["losses"])
        assert all(list(loss) == list(fields["losses"]["items"]["properties"]) for loss in policy["losses"])


def test_a_session_that_was_compacted_is_compared_with_what_its_program_did(
    program: Program, tmp_path: Path
) -> None:
    (document,) = documents(program, compacted(tmp_path), "--priced-as", "claude-haiku-4-5")
    by_name = {policy["name"]: policy for policy in document["policies"]}
    assert {"as recorded", "recorded summaries"} <= set(by_name)
    assert (by_name["as recorded"]["rules"], by_name["as recorded"]["rules_kept"]) == (1, 0)
    assert by_name["as recorded"]["losses"][0]["unstated"] == ["Never push without my approval."]
    assert document["model"] == "claude-haiku-4-5"
    assert document["prices"]["input"] == 1


def test_policies_of_ones_own_are_compared_instead(program: Program, policies: Path) -> None:
    (document,) = documents(program, CODING, "--policies", policies)
    assert [policy["name"] for policy in document["policies"]] == ["all of it", "early"]
    assert document["policies"][1]["peak"] < document["policies"][0]["peak"]


def test_files_stay_beside_the_summary_where_the_settings_have_a_budget_for_them(
    program: Program, tmp_path: Path
) -> None:
    log = Claude()
    log.user("Please fix the pump controller.")
    for step in range(40):
        valve = 0 if step % 3 == 0 else step
        log.reply(call(f"r{step}", "Read", file_path=f"/srv/pump/valve_{valve}.py"), id=f"a{step}")
        log.user([result(f"r{step}", f"def valve_{valve}(): return open_valve({valve})\n" * 40)])
    log.reply(text("Next I change valve_0.py."), id="end")
    session, path = tmp_path / "pump.jsonl", tmp_path / "policies.json"
    session.write_bytes(log.bytes())
    engine = {"mode": "session-layer", "tailTokens": 1_000, "target": 0.6}
    policies = [
        {
            "name": name,
            "settings": {
                "engine": {**engine, "workingSetTokens": tokens},
                "compaction": {"triggers": {"sessionTokens": {"threshold": 12_000}}},
            },
        }
        for name, tokens in (("without", 0), ("with files", 2_000))
    ]
    path.write_text(json.dumps({"policies": policies}))
    (document,) = documents(program, session, "--policies", path, "--window", 64_000)
    without, with_files = document["policies"]
    first, second = (policy["losses"][0] for policy in (without, with_files))
    assert (first["request"], first["rung"]) == (second["request"], "summarise")
    assert first["after"] + 300 < second["after"] <= first["after"] + 2_100
    assert second["left"] < first["left"]
    # what was read again stood in the context still
    assert with_files["reads_spared"] > without["reads_spared"]


def test_what_was_replayed_once_is_taken_from_the_cache_until_something_changes(
    program: Program, policies: Path, tmp_path: Path, cache: Path
) -> None:
    session = tmp_path / "a.json"
    shutil.copy(OPENAI, session)
    first = program("what-if", session, "--policies", policies)
    anew, taken = (
        program("what-if", session, "--policies", policies, "--json", *how) for how in (["--no-cache"], [])
    )
    assert anew.out == taken.out
    (kept,) = cache.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert program("what-if", session, "--policies", policies).out == first.out
    page = tmp_path / "page.html"
    assert program("what-if", session, "--policies", policies, "--html", page).code == 0
    assert "a.json" in page.read_text("utf-8")
    assert list(cache.iterdir()) == [kept]
    # the same bytes by another name are the same session
    shutil.copy(session, tmp_path / "b.json")
    assert "b.json" in program("what-if", tmp_path / "b.json", "--policies", policies).out.decode()
    assert list(cache.iterdir()) == [kept]
    program("what-if", session, "--policies", policies, "--window", 9_000)
    session.write_bytes(ANTHROPIC.read_bytes())
    program("what-if", session, "--policies", policies)
    assert len(list(cache.iterdir())) == 3
    kept.write_bytes(b"broken")
    (document,) = documents(program, OPENAI, "--policies", policies)
    assert document["messages"] > 0
    shutil.rmtree(cache)
    program("what-if", session, "--policies", policies, "--no-cache")
    assert not cache.exists()


def test_a_folder_is_compared_session_by_session_and_together(
    program: Program, policies: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions" / "deep"
    folder.mkdir(parents=True)
    shutil.copy(OPENAI, folder / "a.json")
    shutil.copy(ANTHROPIC, folder / "b.json")
    (folder / "notes.txt").write_text("no session")
    (folder / "asked.json").write_text('[{"role": "user", "content": "Hi."}]')
    ended = program("what-if", tmp_path / "sessions", "--policies", policies)
    assert ended.code == 0
    assert "left out: " in ended.err
    assert "notes.txt' is not JSON: no line of it can be read.\n" in ended.err
    assert "asked.json': no reply of a model was recorded" in ended.err
    shown = ended.out.decode()
    assert "a.json" in shown
    assert "2 sessions together" in shown
    *sessions, last, taken = documents(
        program, tmp_path / "sessions", CODING, "--policies", policies, "--recommend"
    )
    for document in (*sessions, last, taken):
        CONTRACT.validate(document)
    assert [document["messages"] > 0 for document in sessions] == [True] * 3
    assert (last["together"]["sessions"], last["together"]["left_out"]) == (3, [])
    for summed, *each in zip(last["together"]["policies"], *(d["policies"] for d in sessions), strict=True):
        assert summed["tokens"] == sum(policy["tokens"] for policy in each)


def test_policies_that_only_some_sessions_have_are_told_and_left_out_of_the_sum(program: Program) -> None:
    # the usual policies go by the window: that of GPT-4.1 takes more thresholds, and is itself one of those tried
    ended = program("what-if", OPENAI, ANTHROPIC)
    told = " ".join(ended.out.decode().split())
    assert "Not in the sum, because not every session was replayed under it: 'at 200k' (1 of 2)" in told
    *_, last = documents(program, OPENAI, ANTHROPIC)
    assert {"name": "at 200k", "sessions": 1} in last["together"]["left_out"]
    assert "at 200k" not in {policy["name"] for policy in last["together"]["policies"]}


def test_sessions_are_replayed_in_processes_of_their_own_with_the_same_figures(
    program: Program, tmp_path: Path
) -> None:
    for number in range(3):  # together large enough for processes to pay
        shutil.copy(CODING, tmp_path / f"{number}.jsonl")
    (tmp_path / "3.txt").write_text("no session")
    policies = tmp_path / "policies.json"
    policies.write_text('{"policies": [{"name": "all", "kind": "none"}]}')
    common = (tmp_path, "--policies", policies, "--no-cache")
    one, two = (program("what-if", *common, "--processes", count, "--json") for count in (1, 2))
    assert one.out == two.out
    assert one.out.count(b"\n") == 4
    assert one.err == two.err
    assert "3.txt" in two.err


def test_prices_are_those_of_the_users_table(program: Program, policies: Path, tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    table.write_text(
        '{"source": "our contract", "date": "2026-11-01", "models": {"gpt-4.1": {"input": 100, "output": 0}}}'
    )
    (document,) = documents(program, OPENAI, "--prices", table, "--policies", policies)
    assert document["prices"]["source"] == "our contract"
    assert document["policies"][0]["cost"] == pytest.approx(document["policies"][0]["tokens"] / 10_000)
    shown = program("what-if", OPENAI, "--prices", table, "--policies", policies).out.decode()
    assert "A million tokens cost $100, $0 of output (our contract, 2026-11-01)." in " ".join(shown.split())


def test_what_is_missing_is_said(program: Program, policies: Path, tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.json"
    nameless.write_text(
        json.dumps([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}])
    )
    shown = " ".join(program("what-if", nameless, "--policies", policies).out.decode().split())
    assert "no usage is recorded" in shown
    assert "the session names no model, so it has no price: --priced-as NAME says which" in shown
    assert "nothing is known of the provider's prompt cache" in shown
    (document,) = documents(program, nameless, "--policies", policies, "--priced-as", "no-such-model")
    assert document["prices"] is None
    assert document["policies"][0]["cost"] is None
    assert any("'no-such-model' is not known" in note for note in document["notes"])


def test_only_figures_are_shown_as_the_best() -> None:
    outcome = Outcome(policy=WhatIf(name="a"), pricing=pricing_for("claude-opus-4-5"), peak=5)
    few, many = figures_of(outcome), replace(figures_of(outcome), name="b", peak=9)
    _, best, _ = table([few, many])
    assert re.findall(r"\x1b\[32m *([^ ]+?)\x1b", best) == ["5"]


def test_a_client_that_had_the_cache_hold_for_an_hour_is_billed_so(
    program: Program, policies: Path, tmp_path: Path
) -> None:
    log = Claude()
    log.user("Please look at the pump.")
    usage: dict[str, object] = {"input_tokens": 9_000, "cache_creation": {"ephemeral_1h_input_tokens": 8_000}}
    log.reply(text("I look."), id="a", usage=usage)
    path = tmp_path / "hour.jsonl"
    path.write_bytes(log.bytes())
    (document,) = documents(program, path, "--policies", policies, "--priced-as", "claude-sonnet-4-5")
    assert (document["prices"]["input"], document["prices"]["write"]) == (3, 6)
    assert any("hold for an hour" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nothing.jsonl",), "nothing.jsonl"),
        ((str(CODING), "--policies", "missing.json"), "missing.json: the file of policies cannot be read"),
        ((str(CODING), "--prices", "missing.json"), "missing.json: the price table cannot be read"),
        ((str(CODING), "--window", "none"), "--window"),
        ((".",), "there is nothing to replay in '.'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    program: Program, arguments: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = program("what-if", *arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert told in ended.err


def test_the_files_of_the_guide_are_accepted(program: Program, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "what-if.md").read_text("utf-8")
    policies, prices = (tmp_path / name for name in ("policies.json", "prices.json"))
    for path, block in zip(
        (policies, prices), re.findall(r"```json\n(.*?)```", guide, re.DOTALL), strict=True
    ):
        path.write_text(block)
    (document,) = documents(
        program, CODING, "--policies", policies, "--prices", prices, "--priced-as", "claude-opus-4-5"
    )
    assert [each["name"] for each in document["policies"]] == ["as it was", "at 80k", "small model"]
    assert document["prices"]["source"] == "our contract"


@pytest.mark.skipif(not RECORDED, reason="the data pack is not here")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem[:30]}")
def test_real_sessions_are_compared(program: Program, path: Path, tmp_path: Path) -> None:
    kinds = ("none", "recorded", "masks", "summaries", "engine")
    policies = tmp_path / "kinds.json"
    policies.write_text(
        json.dumps({"policies": [{"name": kind, "kind": kind, "window": 50_000} for kind in kinds]})
    )
    (document,) = documents(program, path, "--policies", policies)
    CONTRACT.validate(document)
    ours = document["policies"][-1]
    assert ours["rules_kept"] == ours["rules"]


@pytest.mark.requirement("E10")
def test_a_page_is_written_whole_and_not_over_the_session(
    program: Program, policies: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "page.html"
    ended = program("what-if", OPENAI, ANTHROPIC, "--policies", policies, "--html", out)
    assert ended.code == 0
    assert str(out) in ended.err
    html = out.read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert html.count('class="session"') == 2
    assert "All sessions together" in html
    copy = shutil.copy(ANTHROPIC, tmp_path / "b.json")
    for wrong in (tmp_path, Path(copy)):
        refused = program("what-if", OPENAI, copy, "--html", wrong)
        assert refused.code == 2
        assert "--html" in refused.err
    assert Path(copy).read_bytes() == ANTHROPIC.read_bytes()


@pytest.mark.requirement("E10")
def test_a_policy_is_recommended_with_settings_that_the_program_accepts(
    program: Program, tmp_path: Path
) -> None:
    policies = tmp_path / "policies.json"
    policies.write_text(
        '{"policies": [{"name": "all", "kind": "none"}, {"name": "early", "settings": {"engine": {"background": false}, '
        '"compaction": {"triggers": {"sessionTokens": {"threshold": 30000}}}}}]}'
    )
    common = (CODING, "--policies", policies, "--window", 64_000, "--recommend")
    page = tmp_path / "page.html"
    shown = program("what-if", *common, "--html", page).out.decode()
    assert "Take 'early'." in shown
    pasted = json.loads(shown[shown.index("{\n") :])
    assert pasted == {
        "compaction": {"triggers": {"sessionTokens": {"threshold": 30_000}}},
        "engine": {"background": False},
    }
    assert "Take “early”" in page.read_text("utf-8")
    *_, last = documents(program, *common)
    assert last["recommended"]["settings"] == pasted
    assert last["recommended"]["reason"].startswith("'early' takes ")
    path = tmp_path / ".autocompact" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(pasted))
    assert read_document(path)["engine.background"].value is False


def test_where_everything_fails_nothing_is_recommended(program: Program, tmp_path: Path) -> None:
    policies = tmp_path / "policies.json"
    policies.write_text('{"policies": [{"name": "tiny", "window": 2000}]}')
    ended = program("what-if", CODING, "--policies", policies, "--recommend")
    assert "Nothing can be recommended" in ended.out.decode()
    *_, last = documents(program, CODING, "--policies", policies, "--recommend")
    assert last == {"recommended": None}
