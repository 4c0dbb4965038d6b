# What a person reads when the proxy has started.

from proxy.web.greeting import greeting

PRESETS = dict.fromkeys(["anthropic", "openai", "gemini", "umans"])


def test_the_greeting_has_both_addresses_and_a_line_for_each_common_tool() -> None:
    text = greeting(["127.0.0.1:8787"], "127.0.0.1:8788", PRESETS)
    assert "http://127.0.0.1:8787\n" in text
    assert "http://127.0.0.1:8788\n" in text
    for title in ("Claude Code", "Codex", "opencode", "Gemini CLI", "aider", "OpenAI SDK"):
        assert f"\n  {title} " in text
    assert "export ANTHROPIC_BASE_URL=http://127.0.0.1:8787/anthropic\n" in text
    assert "/gemini   # slotgate env gemini-cli says what else\n" in text
    assert 'openai_base_url = "http://127.0.0.1:8787/openai/v1"   # in ~/.codex/config.toml' in text


def test_a_tool_whose_upstream_is_not_configured_is_left_out() -> None:
    text = greeting(["127.0.0.1:1"], None, {"anthropic": 4})
    assert "Claude Code" in text
    assert "Codex" not in text
    assert "admin     off" in text


def test_with_other_upstreams_alone_their_names_are_told() -> None:
    assert "http://127.0.0.1:1/NAME, where NAME is one of: mine, yours" in greeting(
        ["127.0.0.1:1"], None, {"mine": 2, "yours": None}
    )


def test_what_is_bound_everywhere_is_shown_as_bound_and_pointed_to_on_this_machine() -> None:
    text = greeting(["unix:/run/s.sock", "[::]:9"], "unix:/run/a.sock", PRESETS)
    assert "unix:/run/s.sock, http://[::]:9\n" in text
    assert "unix:/run/a.sock\n" in text
    assert "=http://[::1]:9/anthropic\n" in text


def test_unix_sockets_alone_have_no_url_to_set() -> None:
    assert "export" not in greeting(["unix:/run/s.sock"], None, PRESETS)


def test_no_upstream_at_all_gets_no_line() -> None:
    assert greeting(["127.0.0.1:1"], None, {}).splitlines()[-2:] == ["  admin     off", "  limits    none"]


def test_the_limits_in_force_are_told() -> None:
    assert "  limits    mine 2\n" in greeting(["127.0.0.1:1"], None, {"mine": 2, "yours": None})


def test_a_limit_that_is_to_be_learned_is_told_too() -> None:
    upstreams = {"mine": 2, "yours": None, "learn": "auto"}
    assert "  limits    mine 2, learn auto\n" in greeting(["127.0.0.1:1"], None, upstreams)


def test_somebody_without_any_limit_is_told_that_nothing_waits_and_how_to_set_one() -> None:
    text = greeting(["127.0.0.1:1"], None, {"mine": None})
    assert "none yet, so nothing waits; set one: slotgate limit mine N" in text
