from __future__ import annotations

import pytest

from autocompact.errors import InvalidInput
from autocompact.models.anthropic import Anthropic
from autocompact.models.environment import DEFAULT_ANTHROPIC, DEFAULT_OPENAI, model_from_environment
from autocompact.models.openai_compatible import OpenAICompatible

OPENAI = {"OPENAI_API_KEY": "sk-one"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-one"}
LOCAL = {"OPENAI_BASE_URL": "http://localhost:8080"}
OLLAMA = {"OLLAMA_HOST": "0.0.0.0"}

OPENAI_AT = "base_url='https://api.openai.com/v1')"
ANTHROPIC_AT = "base_url='https://api.anthropic.com/v1')"
LOCAL_AT = "base_url='http://localhost:8080/v1')"


@pytest.mark.parametrize(
    ("name", "environ", "found"),
    [
        (None, {}, "None"),
        ("haiku", {}, "None"),
        ("haiku", OPENAI | OLLAMA, "None"),
        ("haiku", OPENAI | ANTHROPIC, f"Anthropic('{DEFAULT_ANTHROPIC}', {ANTHROPIC_AT}"),
        ("haiku", LOCAL, f"OpenAICompatible('{DEFAULT_ANTHROPIC}', {LOCAL_AT}"),
        ("gpt-5", {}, "None"),
        (None, LOCAL, "None"),
        (None, OLLAMA, "None"),
        (None, OPENAI, f"OpenAICompatible('{DEFAULT_OPENAI}', {OPENAI_AT}"),
        (None, OPENAI | ANTHROPIC, f"Anthropic('{DEFAULT_ANTHROPIC}', {ANTHROPIC_AT}"),
        (None, OPENAI | {"AUTOCOMPACT_MODEL": "gpt-4o"}, f"OpenAICompatible('gpt-4o', {OPENAI_AT}"),
        ("gpt-4o", OPENAI, f"OpenAICompatible('gpt-4o', {OPENAI_AT}"),
        ("gpt-5", OPENAI | ANTHROPIC, f"OpenAICompatible('gpt-5', {OPENAI_AT}"),
        ("o3-mini", ANTHROPIC, "None"),
        ("qwen3", LOCAL, f"OpenAICompatible('qwen3', {LOCAL_AT}"),
        ("qwen3:8b", LOCAL | OPENAI | ANTHROPIC, f"OpenAICompatible('qwen3:8b', {LOCAL_AT}"),
        ("claude-opus-5", LOCAL | OPENAI | ANTHROPIC, f"Anthropic('claude-opus-5', {ANTHROPIC_AT}"),
        ("claude-opus-5", LOCAL, f"OpenAICompatible('claude-opus-5', {LOCAL_AT}"),
        ("openai:claude-x", OPENAI | ANTHROPIC, f"OpenAICompatible('claude-x', {OPENAI_AT}"),
        ("openai:m", LOCAL, f"OpenAICompatible('m', {LOCAL_AT}"),
        ("anthropic:any", ANTHROPIC, f"Anthropic('any', {ANTHROPIC_AT}"),
        ("anthropic:any", OPENAI, "None"),
        (
            "any",
            ANTHROPIC | {"ANTHROPIC_BASE_URL": "https://other"},
            "Anthropic('any', base_url='https://other/v1')",
        ),
        ("qwen3:8b", OLLAMA, "OpenAICompatible('qwen3:8b', base_url='http://127.0.0.1:11434/v1')"),
        ("ollama:m", OLLAMA | OPENAI, "OpenAICompatible('m', base_url='http://127.0.0.1:11434/v1')"),
    ],
)
def test_the_first_provider_that_the_environment_knows_is_taken(
    name: str | None, environ: dict[str, str], found: str
) -> None:
    assert repr(model_from_environment(name, environ=environ)) == found


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:9999", "http://127.0.0.1:9999/v1"),
        ("gpu-box", "http://gpu-box:11434/v1"),
        (":7777", "http://127.0.0.1:7777/v1"),
        ("http://gpu-box", "http://gpu-box:80/v1"),
        ("https://gpu-box/ollama/", "https://gpu-box:443/ollama"),
        ("[::]:11434", "http://[::1]:11434/v1"),
        ("[fe80::1]", "http://[fe80::1]:11434/v1"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert (
        repr(model_from_environment("m", environ={"OLLAMA_HOST": host}))
        == f"OpenAICompatible('m', base_url={url!r})"
    )


@pytest.mark.parametrize("host", ["gpu-box:port", "gpu-box:99999", "[::1", "http://[::1"])
def test_an_address_of_ollama_that_is_none_is_said_with_the_variable(host: str) -> None:
    with pytest.raises(InvalidInput, match=r"OLLAMA_HOST is .*: it must be a host, HOST:PORT, or a URL"):
        model_from_environment("m", environ={"OLLAMA_HOST": host})


@pytest.mark.parametrize("kind", [OpenAICompatible, Anthropic])
def test_a_model_can_be_made_from_the_environment_of_the_process(
    kind: type[OpenAICompatible] | type[Anthropic], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_BASE_URL", "http://localhost:1/v1")
        monkeypatch.setenv(f"{name}_API_KEY", "sk-from-here")
    model = kind.from_environment("m", window=5)
    assert model.window == 5
    assert repr(model) == f"{kind.__name__}('m', base_url='http://localhost:1/v1')"
    found = model_from_environment("m")
    assert found is not None
    assert "localhost" in repr(found)
