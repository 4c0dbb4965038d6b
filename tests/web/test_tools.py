# The lines that point tools at the proxy: the README has the same, and they are true for every built-in provider.

from pathlib import Path

import pytest

from proxy.config import load, parse_url
from proxy.web.dialects import PATHS, Dialect, path_of
from proxy.web.tools import HOMES, TOOLS

README = (Path(__file__).parents[2] / "README.md").read_text()
BASE = "http://127.0.0.1:8787"
PRESETS = {name: upstream.url for name, upstream in load(None, env={"HOME": "/nowhere"}).upstreams.items()}
HOSTED = {name: url for name, url in PRESETS.items() if url.host != "127.0.0.1"}


@pytest.mark.parametrize("name", TOOLS)
def test_the_readme_points_each_tool_the_way_that_env_does(name: str) -> None:
    tool = TOOLS[name]
    line = tool.pointed(BASE)
    assert line is not None
    rows = [row for row in README.splitlines() if line in row and tool.title.removesuffix("SDK").strip() in row]
    assert rows
    sends = tool.sending(BASE, {"X-A": "b"})
    headers = rows[0].strip("| ").split(" | ")[2:]
    assert [f"`{sends}`" in cell for cell in headers] == ([] if sends is None else [True])
    assert tool.note.removeprefix("it also needs ").partition(" in ~")[0] in rows[0].replace("`", "")


def test_the_tools_own_upstreams_are_where_the_presets_say() -> None:
    assert {name: PRESETS[name] for name in HOMES} == HOMES
    assert {tool.upstream for tool in TOOLS.values()} == set(HOMES)


def test_each_built_in_provider_s_paths_are_known() -> None:
    assert {url.host for url in HOSTED.values()} == set(PATHS)


@pytest.mark.parametrize(
    ("tool", "upstream", "path"),
    [
        ("codex", "groq", "groq/openai/v1"),
        ("aider", "openrouter", "openrouter/api/v1"),
        ("claude-code", "openrouter", "openrouter/api"),
        ("aider", "fireworks", "fireworks/inference/v1"),
        ("aider", "zai", "zai/api/coding/paas/v4"),
        ("claude-code", "zai", "zai/api/anthropic"),
        ("claude-code", "kimi", "kimi/coding"),
        ("claude-code", "umans", "umans"),
        ("claude-code", "groq", None),
        ("aider", "gemini", "gemini/v1beta/openai"),
        ("gemini-cli", "openai", None),
        ("claude-code", "vllm", "vllm"),
        ("aider", "vllm", "vllm/v1"),
    ],
)
def test_a_line_leads_to_the_path_under_which_the_provider_keeps_that_api(
    tool: str, upstream: str, path: str | None
) -> None:
    line = TOOLS[tool].pointed(BASE, upstream=upstream, url=PRESETS[upstream])
    if path is None:
        assert line is None
    else:
        assert line is not None
        assert line.replace('"', "").endswith(f"{BASE}/{path}")


@pytest.mark.parametrize(
    ("upstream", "provider", "path"),
    [
        ("anthropic", "anthropic", "/v1"),
        ("gemini", "google", "/v1beta"),
        ("kimi", "kimi-for-coding", "/coding/v1"),
        ("zai", "zai-coding-plan", "/api/coding/paas/v4"),
        ("ollama", "ollama", "/v1"),
    ],
)
def test_opencode_is_told_of_a_provider_by_its_own_name_for_it(upstream: str, provider: str, path: str) -> None:
    line = TOOLS["opencode"].pointed(BASE, upstream=upstream, url=PRESETS[upstream])
    assert line == f'{{"provider": {{"{provider}": {{"options": {{"baseURL": "{BASE}/{upstream}{path}"}}}}}}}}'


@pytest.mark.parametrize(
    ("url", "openai", "anthropic"),
    [
        ("https://api.groq.com/openai/v1", "", None),
        ("https://openrouter.ai/api", "/v1", ""),
        ("https://api.z.ai/api/anthropic", None, ""),
        ("https://api.anthropic.com/v1", "", None),
        ("http://gateway", "/v1", ""),
        ("http://gateway/llm", "/v1", ""),
        ("http://gateway/v10x", "", None),
        ("http://gateway/v1beta/openai", "", None),
        ("http://gateway/v1/tenant", "/v1", ""),
    ],
)
def test_a_path_that_the_upstream_s_url_brings_is_not_said_twice(
    url: str, openai: str | None, anthropic: str | None
) -> None:
    found = [path_of(dialect, parse_url(url)) for dialect in (Dialect.OPENAI, Dialect.ANTHROPIC)]
    assert found == [openai, anthropic]
