from __future__ import annotations

import sys
from dataclasses import fields
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from autocompact.core.budget import Budget
from autocompact.errors import InvalidInput
from autocompact.gateway import AccessToken, Config, Limits
from autocompact.gateway.config import LOCAL_HOSTS
from autocompact.gateway.from_settings import access_tokens, config_of, open_gateway
from autocompact.settings import Settings, gateway_database_of, gateway_mode_of, mode_of
from autocompact.settings.values import Limits as LimitSettings
from tests.gateway.serving import NAMESPACE_KEY


def config(settings: Settings, **environ: str) -> Config:
    return config_of(settings, namespace_key=NAMESPACE_KEY, environ=environ)


def gateway(**members: object) -> Settings:
    return msgspec.convert({"gateway": members}, Settings)


def test_with_nothing_set_the_configuration_is_the_default() -> None:
    plain = Config(
        upstreams={"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"},
        namespace_key=NAMESPACE_KEY,
        mode=gateway_mode_of(Settings()),
        unpriced_mode=mode_of(Settings()),
    )
    assert config(Settings()) == plain
    assert {each.name for each in fields(Limits)} == set(LimitSettings.__struct_fields__)


@pytest.mark.skipif(
    sys.version_info >= (3, 12) and find_spec("ctok") is not None, reason="ctok is installed: it can be used"
)
def test_a_gateway_that_shall_count_with_ctok_does_not_start_without_it() -> None:
    with pytest.raises(InvalidInput, match=r"models\.ctok: .*(Python 3\.12|pip install)"):
        config(msgspec.convert({"models": {"ctok": True}}, Settings))


def test_every_setting_reaches_the_configuration(tmp_path: Path) -> None:
    key, tokens = tmp_path / "key", tmp_path / "tokens"
    key.write_text("sk-file\n")
    tokens.write_text("alice:secret\n")
    settings = msgspec.convert(
        {
            "compaction": {"enabled": False},
            "engine": {"ratio": 0.6, "tailTokens": 9},
            "models": {"window": 8192, "windows": {"qwen": 4096}},
            "gateway": {
                "host": "0.0.0.0",
                "allowHosts": ["box.example"],
                "upstreams": {"openai": "http://one.example/", "anthropic": None},
                "upstreamKeys": {"openai": f"file:{key}", "anthropic": "env:KEY"},
                "accessTokenFile": str(tokens),
                "failClosed": True,
                "memoryTools": True,
                "expireAfterDays": 30,
                "limits": {"bodyBytes": 1, "headSeconds": 0.5},
            },
        },
        Settings,
    )
    found = config(settings, KEY=" sk-env ")
    assert found.upstreams == {"openai": "http://one.example"}
    assert found.upstream_keys == {"openai": "sk-file", "anthropic": "sk-env"}
    assert found.access_tokens == (AccessToken.of("secret", name="alice"),)
    assert found.hosts == LOCAL_HOSTS | {"0.0.0.0", "box.example"}
    assert (found.window, found.windows, found.expire_after_days) == (8192, {"qwen": 4096}, 30)
    assert (found.fail_closed, found.memory_tools) == (True, True)
    assert (found.mode.policy.automatic, found.mode.policy.ratio, found.mode.policy.tail_tokens) == (
        False,
        0.6,
        9,
    )
    assert (found.limits.body_bytes, found.limits.head_seconds, found.limits.messages) == (1, 0.5, 100_000)


@pytest.mark.parametrize(
    ("model", "threshold"),
    [("claude-opus-4-5", 92_000), ("gpt-5.2", 92_000), ("qwen3-8b", 144_000), ("gpt-oss-120b", 144_000)],
)
def test_a_model_whose_cache_has_no_known_prices_is_compacted_at_the_mode_of_the_settings(
    model: str, threshold: int
) -> None:
    mode = config(Settings()).mode_for(model)
    assert mode.placement == "user"
    assert mode.policy.threshold(Budget(window=200_000, reserve=16_000), fixed=20_000) == threshold


@pytest.mark.parametrize(
    "where, said",
    [
        ("env:NONE", "the key for openai: the environment variable 'NONE' is not set, or empty"),
        ("file:none", "the key for openai: the file 'none' cannot be read"),
    ],
)
def test_a_key_that_is_not_there_is_said_before_anything_is_written(
    where: str, said: str, tmp_path: Path
) -> None:
    settings = gateway(upstreamKeys={"openai": where})
    with pytest.raises(InvalidInput) as raised:
        open_gateway(settings, environ={"XDG_DATA_HOME": str(tmp_path)})
    assert str(raised.value) == said
    assert list(tmp_path.iterdir()) == []


def test_the_tokens_of_the_guide_can_be_used_as_they_stand_there(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "gateway.md").read_text()
    file = tmp_path / "tokens"
    file.write_text(guide[guide.index("# name:token") :].partition("```")[0])
    file.chmod(0o600)

    assert [(token.name, token.expire_after_days) for token in access_tokens(file)] == [
        ("alice", None),
        ("bob", 30),
    ]


def test_tokens_are_named_hashed_and_may_expire_on_their_own(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    digests = [sha256(word.encode()).hexdigest() for word in ("two", "three", "four")]
    file.write_text(
        f"# who may use it\n\nalice:one:1 expireAfterDays=30\nbob:sha256:{digests[0].upper()}\n"
        f"{digests[1]}\nsha256:{digests[2]}   expireAfterDays=0\n"
    )
    assert access_tokens(file) == (
        AccessToken.of("one:1", name="alice", expire_after_days=30),
        AccessToken(digest=digests[0], name="bob"),
        AccessToken(digest=digests[1], name=digests[1][:8]),
        AccessToken(digest=digests[2], name=digests[2][:8], expire_after_days=0),
    )


@pytest.mark.parametrize(
    "text, said",
    [
        ("# nobody\n", "holds no access token"),
        ("alice:one\n\nsecret\n", "tokens:3: expected NAME:TOKEN"),
        ("alice:secret for ever\n", "tokens:1: after a token may stand expireAfterDays=N"),
        ("alice:secret expireAfterDays=soon\n", "tokens:1: after a token may stand expireAfterDays=N"),
        ("alice:\n", "tokens:1: the access token 'alice' is empty"),
        ("alice:sha256:secret\n", "tokens:1: the access token 'alice' is no SHA-256"),
        ("alice:secret\nbob:secret\n", "holds a token twice"),
    ],
)
def test_a_line_that_is_no_token_is_named_without_it(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    with pytest.raises(InvalidInput) as raised:
        access_tokens(file)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)


def test_keys_without_tokens_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="upstream keys and access tokens or keys belong together"):
        config(gateway(upstreamKeys={"openai": "env:KEY"}), KEY="sk")
    with pytest.raises(InvalidInput, match="cannot be read"):
        config(gateway(accessTokenFile=str(tmp_path / "none")))


def test_an_upstream_without_a_key_is_not_sent_the_clients_tokens(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("alice:secret\n")
    settings = gateway(upstreamKeys={"openai": "env:KEY"}, accessTokenFile=str(tokens))
    assert set(config(settings, KEY="sk").upstreams) == {"openai"}


def test_conversations_lie_among_the_users_data_unless_said_otherwise(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    open_gateway(Settings(), environ=environ)
    assert gateway_database_of(Settings(), environ=environ) == tmp_path / "autocompact" / "gateway.db"
    assert (tmp_path / "autocompact" / "gateway.db.key").exists()
    assert (tmp_path / "autocompact").stat().st_mode & 0o777 == 0o700
    other = gateway(db=str(tmp_path / "other.db"))
    open_gateway(other, environ=environ)
    assert (tmp_path / "other.db.key").exists()


def test_in_memory_nothing_is_written(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    open_gateway(gateway(db=":memory:", memoryTools=True), environ=environ)
    assert list(tmp_path.iterdir()) == []


def test_a_summary_model_that_nobody_offers_is_said(tmp_path: Path) -> None:
    settings = msgspec.convert({"compaction": {"summaryModel": "gpt-x"}}, Settings)
    with pytest.raises(InvalidInput, match="no key and no server for the summary model 'gpt-x'"):
        open_gateway(settings, environ={"XDG_DATA_HOME": str(tmp_path)})
    for name in ("offline", "haiku"):
        offline = msgspec.convert({"compaction": {"summaryModel": name}}, Settings)
        open_gateway(offline, environ={"XDG_DATA_HOME": str(tmp_path)})
