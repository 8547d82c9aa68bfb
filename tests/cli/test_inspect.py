"""``autocompact inspect``: where the window went."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.program import ANTHROPIC, CODING, DATA, OPENAI, Program
from tests.lengths import some
from tests.sessions.claude_lines import Claude, call, result, text

RECORDED = sorted(
    path
    for folder in ("claude_code", "codex", "pi")
    for path in (DATA / folder).glob("*")
    if path.stat().st_size < 1_000_000
)


def pump(folder: Path) -> Path:
    """A session with a file that is read three times, equal outputs, a compaction, and reported usage."""
    log = Claude()
    log.user("Please fix the pump controller.")
    for step in range(6):
        usage: dict[str, object] = {"input_tokens": 20_000 * (step + 1), "output_tokens": 100}
        log.reply(text(f"Step {step}."), id=f"a{step}", usage=usage)
    log.compact("We fixed the valve, and wrote the pressure down.")
    listing = "\n".join(f"{line:>5}→def valve_{line}(): return pressure({line})" for line in range(60))
    for step in range(3):
        usage = {"input_tokens": 5_000 + 3_000 * step, "output_tokens": 100}
        log.reply(call(f"r{step}", "Read", file_path="/srv/pump/valve.py"), id=f"b{step}", usage=usage)
        log.user([result(f"r{step}", listing)])
    for step in range(2):
        log.reply(call(f"t{step}", "Bash", command="make test"), id=f"c{step}")
        log.user([result(f"t{step}", "the pressure test fails at line 12 of the valve\n" * 12)])
    path = folder / "pump.jsonl"
    path.write_bytes(log.bytes())
    return path


def test_the_window_of_a_session(program: Program, tmp_path: Path) -> None:
    shown = program("inspect", pump(tmp_path), "--window", 100_000).told
    assert shown.replace(str(tmp_path), "FOLDER") == snapshot("""\
FOLDER/pump.jsonl: Claude Code, claude-x, 17 messages
The context takes 12,780 of 100,000 tokens, 13%: 11,100 tokens with the last
reply, as the provider reported, and 1,680 since, estimated.
In the log: 4,057 tokens: 3,064 counted with o200k_base, times 1.32 for the
provider's own.
All figures below are counted with o200k_base.
8,723 tokens are outside of the log: system prompt, tool schemas, attachments.

By role
  tool results  ████████████     2,868  93.6%  5 messages
  assistant     █░░░░░░░░░░░       125   4.1%  5 messages
  summary       █░░░░░░░░░░░        71   2.3%  1 message

By tool, calls and results
  Read  ████████████     2,613  85.3%  3 calls
  Bash  ██░░░░░░░░░░       340  11.1%  2 calls

By file
  valve.py  ████████████     2,613  85.3%  read 3×

Largest parts
      848  m9     result of Read valve.py
      848  m11    result of Read valve.py
      848  m13    result of Read valve.py
      152  m15    result of Bash make test
      152  m17    result of Bash make test
       67         summary of an earlier compaction
       23  m8     call of Read valve.py
       23  m10    call of Read valve.py
       23  m12    call of Read valve.py
       18  m14    call of Bash make test

More than once: 1,848 tokens (60%) that a later output shows again
    1,696  valve.py read 3× (m9, m11, m13)
      152  Bash make test: same output 2× (m15, m17)

The context over time, as the provider reported it
  120,100                         ████
                              ████████
                          ████████████
                      ████████████████
                  ████████████████████
        0     ████████████████████████▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄
                                  ▲
          m1                                                                m17
          ▲ compacted, last through m7: --through 7 shows the time before
""")


def test_the_time_before_a_compaction_can_be_looked_at(program: Program, tmp_path: Path) -> None:
    path = pump(tmp_path)
    document = json.loads(program("inspect", path, "--json", "--through", 7).out)
    assert document["messages"] == 7
    assert document["compactions"] == []
    assert [role["name"] for role in document["roles"]] == ["assistant", "user"]


def test_the_json_adds_up(program: Program) -> None:
    document = json.loads(program("inspect", CODING, "--json").out)
    total = document["tokens"]
    assert document["source"] == {
        "format": "claude_code",
        "model": "claude-sonnet-4-5-20250929",
        "messages": 279,
        "skipped_lines": 0,
        "garbled_lines": 0,
    }
    assert sum(role["tokens"] for role in document["roles"]) == total == document["log_tokens"]
    assert sum(role["times"] for role in document["roles"]) == 279
    assert 0 < sum(tool["tokens"] for tool in document["tools"]) < total
    assert sum(each["tokens"] for each in document["files"]) < total
    assert document["usage"]["points_reported"] is True
    assert (document["usage"]["reported"], document["usage"]["log"]) == (78_550, total)
    assert [point["seq"] for point in document["usage"]["points"]] == sorted(
        point["seq"] for point in document["usage"]["points"]
    )
    tokens = [piece["tokens"] for piece in document["largest"]]
    assert tokens == sorted(tokens, reverse=True)


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
def test_usage_is_counted_where_nobody_reported_it(program: Program, path: Path) -> None:
    document = json.loads(program("inspect", path, "--json").out)
    points = document["usage"]["points"]
    assert document["usage"]["points_reported"] is False
    assert points[-1] == {"seq": document["messages"], "tokens": document["tokens"]}
    assert all(earlier["tokens"] < later["tokens"] for earlier, later in pairwise(points))
    assert "over time, counted" in program("inspect", path).out.decode()


def test_counted_usage_starts_anew_with_the_summary_and_broken_lines_are_told(
    program: Program, tmp_path: Path
) -> None:
    log = Claude()
    log.user("Please fix the pump controller.")
    for step in range(4):
        log.reply(text("The valve is checked. " * 200), id=f"a{step}", usage={"input_tokens": 0})
    log.compact("We fixed the valve.")
    log.user("Now the sensor, please.")
    log.lines.append(b'{"type":"user","uuid":\n')
    path = tmp_path / "pump.jsonl"
    path.write_bytes(log.bytes())
    shown = " ".join(program("inspect", path).out.decode().split())
    assert "1 compaction before this: of " in shown
    assert "1 line could not be used: not JSON" in shown
    document = json.loads(program("inspect", path, "--json").out)
    assert document["usage"]["points_reported"] is False
    *_, full, after = (point["tokens"] for point in document["usage"]["points"])
    assert full > 4 * 800
    assert after == document["tokens"] < 120


def test_long_lists_are_cut_and_say_so(program: Program, tmp_path: Path) -> None:
    log = Claude()
    log.user("Please read it all, twice.")
    for step in range(24):
        name = f"/srv/pump/valve{step % 12}.py"
        log.reply(call(f"r{step}", "Read", file_path=name), id=f"b{step}")
        log.user([result(f"r{step}", "".join(f"def {name}_{line}(): return {line}\n" for line in range(20)))])
    path = tmp_path / "pump.jsonl"
    path.write_bytes(log.bytes())
    lines = program("inspect", path).out.decode().splitlines()
    assert sum(line.startswith("  and 2 more") for line in lines) == 2


def test_no_line_is_wider_than_the_terminal(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 80, 110):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = program("inspect", CODING).out.decode().splitlines()
        assert max(map(len, lines[1:])) <= columns


def test_no_secret_is_shown(program: Program, tmp_path: Path) -> None:
    key = "sk_live_" + "9aX2kQ7mZ4tR8vB1nC5d"
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": f"STRIPE_KEY={key} is our key"}]))
    assert key not in program("inspect", path).out.decode()
    assert key not in program("inspect", path, "--json").out.decode()


@pytest.mark.skipif(not RECORDED, reason="the data pack is not beside the repository (../shared/data)")
@pytest.mark.parametrize("path", some(RECORDED, gate=8), ids=lambda path: path.name[:24])
def test_every_recorded_session_can_be_looked_at(program: Program, path: Path) -> None:
    document = json.loads(program("inspect", path, "--json").out)
    assert sum(role["tokens"] for role in document["roles"]) == document["tokens"]
    assert all(repeat["tokens"] > 0 and len(repeat["seqs"]) > 1 for repeat in document["repeats"])


def _codex(
    folder: Path, *, model: str, window: int | None, tokens: int, then_compacted: bool = False
) -> Path:
    """A Codex session whose last request took ``tokens``."""

    def line(kind: str, **payload: object) -> object:
        return {"timestamp": f"2026-03-01T10:00:0{len(lines)}Z", "type": kind, "payload": payload}

    def said(role: str, text: str) -> object:
        kind = "input_text" if role == "user" else "output_text"
        return line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    lines: list[object] = []
    lines.append(line("turn_context", cwd="/srv", model=model))
    lines.append(said("user", "mend the pump"))
    lines.append(said("assistant", "I did."))
    usage = {
        "last_token_usage": {"input_tokens": tokens - 4, "output_tokens": 4},
        "model_context_window": window,
    }
    lines.append(line("event_msg", type="token_count", info=usage))
    if then_compacted:
        lines.append(line("compacted", message="The pump is mended."))
    path = folder / "rollout.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


@pytest.mark.parametrize(
    ("model", "window", "said"),
    [
        ("gpt-5.5", 258_400, "takes 97,000 of 258,400 tokens (from the session), 38%: "),
        ("gpt-5", None, "takes 97,000 of 272,000 tokens (that of gpt-5), 36%: "),
        ("mine", None, "takes 97,000 of 200,000 tokens (assumed: --window says otherwise), 48%: "),
    ],
)
def test_the_head_is_what_the_provider_reported_of_a_window_whose_source_is_named(
    program: Program, tmp_path: Path, model: str, window: int | None, said: str
) -> None:
    ended = program("inspect", _codex(tmp_path, model=model, window=window, tokens=97_000))
    shown = " ".join(ended.out.decode().split())
    assert said in shown
    assert "are outside of the log: system prompt, tool schemas, attachments." in shown
    given = program(
        "inspect", _codex(tmp_path, model=model, window=window, tokens=97_000), "--window", "128k"
    )
    assert "takes 97,000 of 128,000 tokens, 76%: " in " ".join(given.out.decode().split())


def test_a_figure_from_before_a_compaction_is_not_shown_as_the_present_one(
    program: Program, tmp_path: Path
) -> None:
    path = _codex(tmp_path, model="gpt-5", window=None, tokens=97_000, then_compacted=True)
    shown = " ".join(program("inspect", path).out.decode().split())
    assert "97,000 of" not in shown
    assert "The context takes" in shown


def test_bytes_that_are_no_text_are_told(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "pump.jsonl"
    path.write_bytes(
        b'{"role":"user","content":"Open the caf\xe9."}\n{"role":"assistant","content":"It is open."}\n'
    )
    shown = program("inspect", path).out.decode()
    assert "Not UTF-8: bytes in 1 line (the first is line 1): read as U+FFFD (�)." in shown
    assert json.loads(program("inspect", path, "--json").out)["source"]["garbled_lines"] == 1
