from pathlib import Path
from typing import Any

import pytest

from proxy.config import Provider, Settings, load
from proxy.config.entries import DIALECTS, over, read_presets
from proxy.errors import ConfigErrors
from proxy.ratelimits import dialects

HOME = {"HOME": "/home/somebody"}


def read(text: str, **more: Any) -> Settings:
    return load(Path("f"), env=HOME, text=text, **more)


def refused(text: str, **more: Any) -> list[str]:
    with pytest.raises(ConfigErrors) as raised:
        read(text, **more)
    return str(raised.value).splitlines()


# --- presets -----------------------------------------------------------------------------------------------------


def test_the_presets_are_all_there_and_none_sets_a_limit() -> None:
    it = load(None, env=HOME)
    assert {name: str(up.url) for name, up in it.upstreams.items()} == {
        "anthropic": "https://api.anthropic.com",
        "openai": "https://api.openai.com",
        "umans": "https://api.code.umans.ai",
        "zai": "https://api.z.ai",
        "moonshot": "https://api.moonshot.ai",
        "kimi": "https://api.kimi.com",
        "deepseek": "https://api.deepseek.com",
        "openrouter": "https://openrouter.ai",
        "groq": "https://api.groq.com",
        "mistral": "https://api.mistral.ai",
        "gemini": "https://generativelanguage.googleapis.com",
        "xai": "https://api.x.ai",
        "cerebras": "https://api.cerebras.ai",
        "together": "https://api.together.ai",
        "fireworks": "https://api.fireworks.ai",
        "synthetic": "https://api.synthetic.new",
        "ollama": "http://127.0.0.1:11434",
        "llamacpp": "http://127.0.0.1:8080",
        "vllm": "http://127.0.0.1:8000",
        "lmstudio": "http://127.0.0.1:1234",
    }
    assert all(up.preset == name and up.provider_id == up.url.authority for name, up in it.upstreams.items())
    assert [provider.limit for provider in it.providers.values()] == [None] * 20


def test_local_servers_need_no_cooldown() -> None:
    it = load(None, env=HOME)
    resting = {name for name, up in it.upstreams.items() if it.providers[up.provider_id].cooldown_s}
    assert it.upstreams.keys() - resting == {"ollama", "llamacpp", "vllm", "lmstudio"}


def test_umans_has_its_gate_and_its_pause_floor() -> None:
    umans = load(None, env=HOME).providers["api.code.umans.ai"]
    assert umans.usage
    assert (umans.usage.url, umans.usage.field) == ("https://api.code.umans.ai/v1/usage", "usage.concurrent_sessions")
    assert umans.pause.min_s == 5.0


def test_without_presets_only_what_the_file_names_is_there() -> None:
    it = read("presets: false\nupstreams: {a: {url: http://h}, umans: {limit: 4}}")
    assert list(it.upstreams) == ["a", "umans"]
    assert it.upstreams["umans"].preset == "umans"
    assert str(it.upstreams["umans"].url) == "https://api.code.umans.ai"


def test_the_file_is_merged_over_the_preset_key_by_key() -> None:
    it = read("upstreams: {umans: {limit: 4, pause: {max: 1m}, usage: {timeout: 5s}}, ollama: {url: http://gpu:1}}")
    umans = it.providers["api.code.umans.ai"]
    assert (umans.limit, umans.pause.min_s, umans.pause.max_s, umans.pause.default_s) == (4, 5.0, 60.0, 30.0)
    assert umans.usage
    assert (umans.usage.timeout_s, umans.usage.field) == (5.0, "usage.concurrent_sessions")
    assert (it.upstreams["ollama"].preset, it.providers["gpu:1"].cooldown_s) == ("ollama", 0.0)


def test_null_takes_away_what_the_preset_says() -> None:
    umans = read("upstreams: {umans: {usage: null, pause: null}}").providers["api.code.umans.ai"]
    assert (umans.usage, umans.pause.min_s) == (None, 0.0)


def test_a_preset_lends_its_rules_but_not_its_address() -> None:
    it = read("upstreams: {mine: {url: 'http://10.0.0.5:1/v2', preset: umans}, openai: {preset: vllm}}")
    mine = it.upstreams["mine"]
    assert (mine.preset, mine.provider_id) == ("umans", "10.0.0.5:1")
    usage = it.providers["10.0.0.5:1"].usage
    assert usage
    assert usage.url == "http://10.0.0.5:1/v1/usage"
    assert (str(it.upstreams["openai"].url), it.upstreams["openai"].preset) == ("https://api.openai.com", "vllm")
    assert it.providers["api.openai.com"].cooldown_s == 0.0
    assert len(refused("upstreams: {mine: {preset: umans}}")) == 1


def test_merging_changes_neither_side() -> None:
    base: dict[str, Any] = {"a": {"b": 1, "c": 2}, "d": {"e": 1}, "f": 1}
    top: dict[str, Any] = {"a": {"b": 3}, "d": None, "g": 2}
    assert over(base, top) == {"a": {"b": 3, "c": 2}, "d": None, "f": 1, "g": 2}
    assert (base["a"], top["a"]) == ({"b": 1, "c": 2}, {"b": 3})


# --- providers ---------------------------------------------------------------------------------------------------


def test_the_provider_is_the_urls_host_and_its_port_where_it_is_not_the_usual_one() -> None:
    text = "upstreams: {a: {url: 'https://H:443/x'}, b: {url: 'http://h:443'}, c: {url: 'http://[::1]:5'}}"
    it = read(text)
    assert [it.upstreams[name].provider_id for name in "abc"] == ["h", "h:443", "[::1]:5"]


def test_upstreams_of_one_provider_share_its_settings() -> None:
    it = read("upstreams: {a: {url: 'http://h/1'}, b: {url: 'http://h/2', limit: 2, counted: {methods: [PUT]}}}")
    assert it.providers["h"].upstreams == ("a", "b")
    assert it.providers["h"].limit == 2
    assert it.upstreams["a"].counted.methods == it.upstreams["b"].counted.methods == {"PUT"}


@pytest.mark.parametrize(
    "setting",
    [
        *("limit: 2", "limit: null", "cooldown: 1s", "auto_reduce: true", "auto_restore: 1h", "absorb: 1", "pause: {}"),
        *("slot_timeout: 1m", "max_hold: 1h", "counted: {methods: [PUT]}", "usage: {url: /u, field: x}"),
    ],
)
def test_a_providers_settings_stand_in_one_upstream_only(setting: str) -> None:
    text = f"upstreams:\n  a: {{url: 'http://h/1', limit: 2}}\n  b: {{url: 'http://h/2', {setting}}}"
    key = setting.split(":")[0]
    assert refused(text) == [
        f"f:3: upstreams.b.{key}: found a setting of the provider h, whose settings stand in upstreams.a; "
        "allowed: all of a provider's settings in one upstream"
    ]


def test_mistakes_in_the_refused_settings_are_reported_too() -> None:
    found = refused("upstreams: {a: {url: http://h, limit: 2}, b: {url: http://h, absorb: x}}")
    assert [line.split(": ")[2] for line in found] == [
        "found a setting of the provider h, whose settings stand in upstreams.a; allowed",
        'found "x"; allowed',
    ]


def test_what_presets_say_clashes_with_nothing() -> None:
    it = read("upstreams: {mine: {url: 'https://api.code.umans.ai/x', limit: 3}}")
    provider = it.providers["api.code.umans.ai"]
    assert (provider.upstreams, provider.limit, provider.pause.min_s) == (("umans", "mine"), 3, 5.0)
    assert provider.usage
    assert provider.usage.url == "https://api.code.umans.ai/v1/usage"


def test_a_usage_url_is_resolved_against_the_upstream_that_names_it() -> None:
    text = """
upstreams:
  a: {url: http://one/base, provider: shared}
  b: {url: http://two/base/, provider: shared, usage: {url: "usage?x=1", field: n}}
  c: {url: http://three, usage: {url: "http://elsewhere:1/u", field: n}}
"""
    it = read(text)
    assert [it.providers[name].usage.url for name in ("shared", "three")] == [  # type: ignore[union-attr]
        "http://two/base/usage?x=1",
        "http://elsewhere:1/u",
    ]


def test_a_host_reaches_one_upstream_only() -> None:
    found = refused("upstreams:\n  a: {url: http://h, hosts: [X.y, z]}\n  b: {url: http://i, hosts: [z, x.Y]}")
    assert [line.split(";")[0] for line in found] == [
        'f:3: upstreams.b.hosts[0]: found "z", which reaches upstreams.a already',
        'f:3: upstreams.b.hosts[1]: found "x.y", which reaches upstreams.a already',
    ]


# --- the command line --------------------------------------------------------------------------------------------


def test_the_command_line_beats_the_file() -> None:
    it = read(
        "upstreams: {a: {url: http://h, limit: 3, absorb: 1}, b: {url: http://h, hosts: [x]}}",
        upstreams={"new": "http://n:1", "openai": "http://o"},
        limits={"b": 5, "new": 6, "openai": None},
    )
    assert (it.providers["h"].limit, it.providers["h"].absorb, it.upstreams["b"].hosts) == (5, 1, ("x",))
    assert (it.providers["n:1"].limit, it.providers["o"].limit) == (6, None)
    assert it.upstreams["openai"].preset == "openai"


def test_the_command_line_may_not_contradict_itself() -> None:
    text = "upstreams: {a: {url: http://h}, b: {url: http://h}}"
    assert read(text, limits={"a": 2, "b": 2}).providers["h"].limit == 2
    assert refused(text, limits={"a": 2, "b": 3})[0].startswith(
        "command line: upstreams.a.limit: found different limits for a and b"
    )


def test_every_upstream_has_its_provider() -> None:
    it = load(None, env=HOME)
    for name, up in it.upstreams.items():
        provider = it.providers[up.provider_id]
        assert isinstance(provider, Provider)
        assert name in provider.upstreams


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_that_is_no_upstream_may_be_named_as_preset(name: str) -> None:
    it = read(f"upstreams: {{a: {{url: http://h, preset: {name}}}}}")
    assert it.upstreams["a"].preset == name
    assert name not in it.upstreams


def test_every_dialect_can_be_chosen() -> None:
    assert {*DIALECTS, *read_presets()} >= dialects._DIALECTS.keys()
    assert not {*DIALECTS} & read_presets().keys()
