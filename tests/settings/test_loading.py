from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from autocompact.errors import InvalidInput
from autocompact.settings import Loaded, Settings, load_settings, project_file, user_file

THRESHOLD = "compaction.triggers.sessionTokens.threshold"
THRESHOLD_VARIABLE = "AUTOCOMPACT_COMPACTION_TRIGGERS_SESSION_TOKENS_THRESHOLD"
C4 = {
    "enabled": True,
    "triggers": {
        "sessionTokens": {"enabled": False, "threshold": 150_000},
        "observationAge": {"enabled": True, "archiveAfterDays": 14, "escalateAfterConfirmations": 3},
        "taskArchive": {"enabled": False, "keepRecentCount": 5, "archiveAfterSessions": 7},
    },
    "summaryModel": "offline",
    "summaryPrompt": "session",
    "archiveFormat": "markdown",
    "preserveTokenMetrics": False,
    "monthlyReview": False,
}


def project(folder: Path, text: str | object) -> Path:
    """Write the project's file."""
    file = folder / ".autocompact" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return file


def nested(path: str, value: object) -> object:
    """The document that gives one setting."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def loaded(folder: Path, *, user: str = "", **environ: str) -> Loaded:
    own = folder / "own" / "settings.json"
    own.parent.mkdir(exist_ok=True)
    if user:
        own.write_text(user)
    return load_settings(folder, environ=environ, user=own)


SOURCE = """{
  // The three layers
  "compaction": {
    "enabled": true,
    "triggers": {
      "sessionTokens": {
        "enabled": true,
        "threshold": 100000, // tokens
        "description": "Pause and summarise when the session is long",
      },
      "observationAge": {
        "enabled": true, "archiveAfterDays": 28, "escalateAfterConfirmations": 5,
        "description": "Weekly: archive // old observations"
      },
      /* once
         a month */
      "taskArchive": {
        "enabled": true, "keepRecentCount": 10, "archiveAfterSessions": 20, "description": "Keep ten tasks,]"
      },
    },
    "summaryModel": "haiku",
    "archiveFormat": "markdown-table",
    "preserveTokenMetrics": true,
    "monthlyReview": true,
  },
}
"""


@pytest.mark.requirement("C4")
def test_the_settings_of_the_source_are_read_with_comments_and_descriptions(tmp_path: Path) -> None:
    compaction = loaded(tmp_path, user=SOURCE).settings.compaction
    assert (compaction.summary_model, compaction.archive_format) == ("haiku", "markdown-table")
    triggers = compaction.triggers
    assert triggers.session_tokens.threshold == 100_000
    assert triggers.session_tokens.description == "Pause and summarise when the session is long"
    assert triggers.observation_age.description == "Weekly: archive // old observations"
    assert triggers.task_archive.description == "Keep ten tasks,]"


@pytest.mark.requirement("C4")
def test_every_field_of_the_compaction_key_is_read(tmp_path: Path) -> None:
    project(tmp_path, {"compaction": C4})
    compaction = loaded(tmp_path).settings.compaction
    assert (compaction.enabled, compaction.summary_model, compaction.summary_prompt) == (
        True,
        "offline",
        "session",
    )
    assert (compaction.archive_format, compaction.preserve_token_metrics) == ("markdown", False)
    assert compaction.monthly_review is False
    triggers = compaction.triggers
    assert (triggers.session_tokens.enabled, triggers.session_tokens.threshold) == (False, 150_000)
    assert (triggers.observation_age.enabled, triggers.observation_age.archive_after_days) == (True, 14)
    assert triggers.observation_age.escalate_after_confirmations == 3
    assert (triggers.task_archive.enabled, triggers.task_archive.keep_recent_count) == (False, 5)
    assert triggers.task_archive.archive_after_sessions == 7


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(
    "text, said",
    [
        (
            '{"compaction": {"triggers": {\n"sessionTokens": {\n"threshold": "x"}}}}',
            ':3: compaction.triggers.sessionTokens.threshold: expected int >= 0 or "100k" or "150k" or "200k" or '
            '"50k" or "never" or null, got \'x\'',
        ),
        (
            '{"compaction": {\n"treshold": 5}}',
            ":2: compaction.treshold: no such setting; there are enabled, triggers, summaryModel, ",
        ),
        (
            '{"compaction": {"summary_model": "m"}}',
            ":1: compaction.summary_model: no such setting (did you mean 'summaryModel'?)",
        ),
        ('{"compaktion": {}}', ":1: compaktion: no such setting (did you mean 'compaction'?)"),
        (
            '{"compaction": {"triggers": true}}',
            "compaction.triggers: expected an object with sessionTokens, ",
        ),
        ('{"compaction": {"enabled": "yes"}}', "compaction.enabled: expected true or false, got 'yes'"),
        (
            '{"compaction": {"archiveFormat": "pdf"}}',
            'compaction.archiveFormat: expected "markdown" or "markdown-table", got \'pdf\'',
        ),
        ('{"models": {"windows": {"m": 0}}}', "models.windows: expected an object whose values are int >= 1"),
        ('{"gateway": {"limits": {"headSeconds": 0}}}', "expected number > 0, got 0"),
        ("[]", ":1: expected an object with compaction, engine, models, chat, gateway"),
        ('{"compaction":\n{"enabled": true,,}}', ":2:19: JSON is malformed: "),
        (
            '{\n// first\n"compaction": {/* one\nline */ "treshold": 5,}}',
            ":4: compaction.treshold: no such setting",
        ),
        ('{"compaction": {"summaryModel": "a // b",\n/* not closed }}', ":2:1: JSON is malformed: "),
        ("{", "settings.json:1:2: the JSON ends here before it is complete"),
    ],
)
def test_what_cannot_be_used_is_said_with_file_line_and_path(tmp_path: Path, text: str, said: str) -> None:
    file = project(tmp_path, text)
    with pytest.raises(InvalidInput) as raised:
        loaded(tmp_path)
    assert str(raised.value).startswith(str(file))
    assert said in str(raised.value)


def test_a_file_that_is_no_text_is_said_to_be_so(tmp_path: Path) -> None:
    file = project(tmp_path, "")
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidInput, match="is no UTF-8"):
        loaded(tmp_path)


def test_the_project_goes_before_the_user_and_the_user_before_the_environment(tmp_path: Path) -> None:
    environ = {THRESHOLD_VARIABLE: "1000", "AUTOCOMPACT_ENGINE_RATIO": "0.6", "AUTOCOMPACT_GATEWAY_PORT": "9"}
    file = project(tmp_path, '{"compaction": {"triggers": {"sessionTokens":\n {"threshold": "50k"}}}}')
    user = '{"compaction": {"triggers": {"sessionTokens": {"threshold": 7}}},\n"engine": {"ratio": 0.7}}'
    found = loaded(tmp_path, user=user, **environ)
    assert [found.value(path) for path in (THRESHOLD, "engine.ratio", "gateway.port", "chat.steps")] == [
        "50k",
        0.7,
        9,
        100,
    ]
    places = [found.origins[path] for path in (THRESHOLD, "engine.ratio", "gateway.port", "chat.steps")]
    assert [(place.source, place.where) for place in places] == [
        ("project", f"{file}:2"),
        ("user", f"{tmp_path / 'own' / 'settings.json'}:2"),
        ("environment", "AUTOCOMPACT_GATEWAY_PORT"),
        ("default", ""),
    ]


def test_an_option_goes_before_everything_and_is_checked_alike(tmp_path: Path) -> None:
    project(tmp_path, {"gateway": {"port": 1}})
    found = load_settings(
        tmp_path, options={"gateway.port": ("--port", 2)}, environ={}, user=tmp_path / "none"
    )
    assert (found.settings.gateway.port, found.origins["gateway.port"].where) == (2, "--port")
    with pytest.raises(InvalidInput, match="--port: expected int from 0 to 65535, got 65536"):
        load_settings(tmp_path, options={"gateway.port": ("--port", 65_536)}, environ={})


def test_variables_hold_figures_switches_lists_and_values_by_name(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        AUTOCOMPACT_GATEWAY_FAIL_CLOSED="true",
        AUTOCOMPACT_GATEWAY_ALLOW_HOSTS="a.example, b.example",
        AUTOCOMPACT_MODELS_WINDOWS="qwen3=32768, x=1",
        AUTOCOMPACT_GATEWAY_UPSTREAMS_OPENAI="null",
        AUTOCOMPACT_MODEL="is of another part",
        AUTOCOMPACT_GATEWAY_PORT="",
        **{THRESHOLD_VARIABLE: "never"},
    ).settings
    assert settings.gateway.fail_closed
    assert settings.gateway.allow_hosts == ("a.example", "b.example")
    assert settings.models.windows == {"qwen3": 32_768, "x": 1}
    assert (settings.gateway.upstreams.openai, settings.gateway.port) == (None, 8787)
    assert settings.compaction.triggers.session_tokens.threshold == "never"


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("AUTOCOMPACT_GATEWAY_PROT", "1", "no such setting (did you mean 'AUTOCOMPACT_GATEWAY_PORT'?)"),
        ("AUTOCOMPACT_GATEWAY_PORT", "x", "AUTOCOMPACT_GATEWAY_PORT: expected int from 0 to 65535, got 'x'"),
        ("AUTOCOMPACT_MODELS_WINDOWS", "qwen3", "expected NAME=VALUE,NAME=VALUE, got 'qwen3'"),
        (
            "AUTOCOMPACT_GATEWAY_UPSTREAMS_OPENAI",
            "ftp://x",
            "expected an address, http(s)://host[:port] or null",
        ),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(tmp_path: Path, name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        loaded(tmp_path, **{name: value})
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "path, given",
    [
        ("compaction.summaryModel", "anthropic:claude-opus-4-1"),
        ("compaction.summaryPrompt", "../elsewhere/SKILL.md"),
        ("compaction.summaryPrompt", "~/.ssh/id_ed25519"),
        ("chat.model", "openai:gpt-5"),
        ("chat.db", "chat.db"),
        ("chat.steps", 100_000),
        ("chat.memoryFolder", "/etc"),
        ("chat.skillFolders", ["skills", "../skills"]),
        ("chat.commands.enabled", True),
        ("chat.mcpFile", "mcp.json"),
        ("gateway.db", "gateway.db"),
        ("gateway.expireAfterDays", 1),
        ("gateway.host", "0.0.0.0"),
        ("gateway.upstreams.openai", "https://elsewhere.example"),
        ("gateway.upstreamKeys.openai", "env:HOME"),
    ],
)
def test_a_repository_cannot_say_what_is_sent_spent_kept_removed_run_or_read_elsewhere(
    tmp_path: Path, path: str, given: object
) -> None:
    text = json.dumps(nested(path, given))
    file = project(tmp_path, text)
    left = loaded(tmp_path)
    assert (left.settings, left.ignored) == (Settings(), {path: f"{file}:1"})
    assert f"{path} ({file}:1)" in left.warning
    assert str(tmp_path / "own" / "settings.json") in left.warning
    own = loaded(tmp_path, user=text)
    assert (own.origins[path].source, own.ignored, own.warning) == ("user", {}, "")


@pytest.mark.parametrize(
    "path, given",
    [
        ("compaction.summaryModel", "offline"),
        ("compaction.summaryPrompt", "handoff"),
        ("compaction.summaryPrompt", "Say it in one sentence."),
        ("compaction.summaryPrompt", None),
        ("compaction.summaryPrompt", "prompts/own.md"),
        ("chat.model", "offline"),
        ("chat.memoryFolder", "notes"),
        ("chat.memoryFolder", "."),
        ("chat.skillFolders", ["skills", ".autocompact/skills"]),
    ],
)
def test_a_repository_may_ask_for_less_and_name_what_is_its_own(
    tmp_path: Path, path: str, given: object
) -> None:
    project(tmp_path, nested(path, given))
    found = loaded(tmp_path)
    assert (found.origins[path].source, found.ignored) == ("project", {})


def test_a_repository_that_says_what_holds_anyway_brings_no_warning(tmp_path: Path) -> None:
    project(tmp_path, {"compaction": {"summaryModel": None}, "chat": {"commands": {"enabled": False}}})
    assert (loaded(tmp_path).settings, loaded(tmp_path).warning) == (Settings(), "")
    found = loaded(tmp_path, user='{"compaction": {"summaryModel": "ollama:x"}}')
    assert (found.settings.compaction.summary_model, found.warning) == ("ollama:x", "")


def test_a_link_out_of_the_project_is_followed_before_it_is_judged(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes").symlink_to(tmp_path)
    (tmp_path / "project" / "loop").symlink_to(tmp_path / "project" / "loop")
    project(tmp_path / "project", {"chat": {"memoryFolder": "notes", "skillFolders": ["loop/x", "a\0b"]}})
    assert set(loaded(tmp_path / "project").ignored) == {"chat.memoryFolder", "chat.skillFolders"}


def test_the_folder_of_a_user_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match=r"AUTOCOMPACT_CHAT_DB: chat\.db: no such user's folder: '~nobody-"
    ):
        loaded(tmp_path, AUTOCOMPACT_CHAT_DB="~nobody-of-that-name/x.db")


def test_a_key_stands_in_no_file_and_in_no_message(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"expected env:NAME or file:PATH or null") as raised:
        loaded(tmp_path, user='{"gateway": {"upstreamKeys": {"openai": "sk-0123456789"}}}')
    assert "sk-0" not in str(raised.value)


def test_paths_are_relative_to_the_folder_of_their_file(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    project(
        tmp_path,
        {
            "compaction": {"summaryPrompt": "SKILL.md"},
            "chat": {"skillFolders": ["skills", str(file)]},
        },
    )
    keys = {"openai": "file:key", "anthropic": "env:KEY"}
    user = {"gateway": {"accessTokenFile": "tokens", "db": "gw.db", "upstreamKeys": keys}}
    found = loaded(tmp_path / ".autocompact", user=json.dumps(user))
    own = tmp_path / ".autocompact" / "own"
    gateway = found.settings.gateway
    assert found.settings.compaction.summary_prompt == str(file)
    assert found.settings.chat.skill_folders == (str(tmp_path / "skills"), str(file))
    assert (gateway.db, gateway.upstream_keys.openai) == (str(own / "gw.db"), f"file:{own / 'key'}")
    assert gateway.upstream_keys.anthropic == "env:KEY"
    assert gateway.access_token_file == str(own / "tokens")
    assert loaded(tmp_path, AUTOCOMPACT_GATEWAY_DB=":memory:").settings.gateway.db == ":memory:"
    project(tmp_path, {"compaction": {"summaryPrompt": "Say it all in French."}})
    settings = loaded(tmp_path, user='{"gateway": {"db": ":memory:"}}').settings
    assert (settings.gateway.db, settings.compaction.summary_prompt) == (":memory:", "Say it all in French.")


def test_the_nearest_project_is_taken_and_none_beyond_the_repository(tmp_path: Path) -> None:
    outer = project(tmp_path, {})
    inner = tmp_path / "repository" / "src"
    inner.mkdir(parents=True)
    assert project_file(inner) == outer
    (tmp_path / "repository" / ".git").mkdir()
    assert project_file(inner) is None
    own = project(tmp_path / "repository", {})
    assert project_file(inner) == own


def test_your_own_file_lies_among_your_data(tmp_path: Path) -> None:
    assert user_file({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "autocompact" / "settings.json"


def test_a_value_is_found_by_its_path_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"did you mean 'gateway.port'"):
        loaded(tmp_path).value("gateway.prot")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / ".autocompact" / "settings.json").mkdir(parents=True)
    with pytest.raises(InvalidInput, match=r"settings\.json: cannot be read: Is a directory"):
        load_settings(tmp_path, environ={}, user=tmp_path / "user.json")


def test_a_link_of_a_repository_that_leads_to_a_device_is_named(tmp_path: Path) -> None:
    (tmp_path / ".autocompact").mkdir()
    (tmp_path / ".autocompact" / "settings.json").symlink_to("/dev/zero")
    with pytest.raises(InvalidInput, match=r"settings\.json: cannot be read: it is a device or a pipe"):
        load_settings(tmp_path, environ={}, user=tmp_path / "user.json")


@pytest.mark.parametrize(
    "text",
    ['"' + '\\"' * 200_000, "/* " * 200_000, '{"a": "' + "/*" * 200_000],
    ids=["text", "comment", "both"],
)
def test_what_is_never_closed_in_a_file_costs_little(tmp_path: Path, text: str) -> None:
    project(tmp_path, text)
    before = time.process_time()
    with pytest.raises(InvalidInput, match=r"settings\.json:1:"):
        load_settings(tmp_path, environ={}, user=tmp_path / "user.json")
    # 0.1 s; where each quote is looked at to the end, minutes
    assert time.process_time() - before < 3


def test_a_file_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    project(tmp_path, '{"compaction": ' + "[" * 100_000)
    with pytest.raises(InvalidInput, match=r"settings\.json: the JSON is nested too deeply"):
        load_settings(tmp_path, environ={}, user=tmp_path / "user.json")
