# check, serve's way to its settings, and env.

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from fake_admin_api import Api, Run

from proxy import __version__
from proxy.web.tools import TOOLS, UNPOINTABLE


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_check_shows_the_effective_configuration_which_loads_again(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "upstreams: {umans: {limit: 4}}")
    shown = run("check", "--config", file)
    assert (shown.exit_code, shown.stderr) == (0, "")
    again = run("check", "--config", write(tmp_path / "again.yaml", shown.stdout))
    assert again.stdout == shown.stdout
    assert yaml.safe_load(shown.stdout)["upstreams"]["umans"]["limit"] == 4
    assert json.loads(run("check", "--config", file, "--json").stdout) == yaml.safe_load(shown.stdout)


def test_check_shows_every_error_on_a_line_of_its_own_and_ends_with_78(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "nonsense: 1\nlisten: nowhere\nqueue: {max_wait: 5}\n")
    result = run("check", "--config", file)
    assert (result.exit_code, result.stdout) == (78, "")
    assert [line.split(" ")[0] for line in result.stderr.splitlines()] == [f"{file}:{n}:" for n in (1, 2, 3)]
    as_json = run("check", "--config", file, "--json")
    assert (as_json.exit_code, as_json.stderr) == (78, "")
    assert json.loads(as_json.stdout)["errors"] == result.stderr.splitlines()


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("upstreams: {umans: {auto_restore: on}}", "a duration from 1s to 30d, like 5s, or null for never"),
        ("upstreams: {umans: {auto_reduce: on}}", "true or false"),
        ("upstreams: {umans: {pause: on}}", "a mapping with the keys default, min, max"),
        ("upstreams: {umans: {limit: 0x4}}", 'a whole number from 1 to 100000, or "auto", or null for unlimited'),
        ("admin: {listen: off}", 'host:port, [ipv6]:port or unix:/path, or "off" in quotes'),
        ("nonsense: on", 'true or false, or "on" in quotes if it is meant as text'),
    ],
)
def test_what_yaml_bends_is_told_with_what_its_own_key_allows(
    run: Run, tmp_path: Path, text: str, allowed: str
) -> None:
    told = run("check", "--config", write(tmp_path / "c.yaml", text)).stderr.splitlines()
    assert "without quotes, which YAML reads as" in told[0]
    assert told[0].endswith(f"; allowed: {allowed}")


def test_the_command_line_beats_the_file(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "upstreams: {umans: {limit: 4}, zai: {limit: 1}}")
    options = ["--limit", "umans=2", "--limit", "zai=none", "--upstream", "mine=http://127.0.0.1:9/x?y"]
    assert "command line" in run("check", "--config", file, *options).stderr
    options[-1] = "mine=http://127.0.0.1:9/x"
    upstreams = json.loads(run("check", "--config", file, "--json", *options).stdout)["upstreams"]
    assert upstreams["umans"]["limit"] == 2
    assert upstreams["zai"]["limit"] is None
    assert upstreams["mine"]["url"] == "http://127.0.0.1:9/x"


@pytest.mark.parametrize(
    "option",
    [f"--limit={limit}" for limit in ("umans", "umans=", "umans=few", "=3", f"umans={'9' * 5000}")]
    + [f"--upstream={upstream}" for upstream in ("x", "x=", "=http://x")],
)
@pytest.mark.parametrize("command", ["check", "serve"])
def test_an_option_of_the_wrong_form_is_wrong_usage(run: Run, command: str, option: str) -> None:
    assert run(command, option).exit_code == 2


def test_serve_with_a_wrong_configuration_shows_every_error_and_ends_with_78(tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "nonsense: 1\nlisten: nowhere\n")
    command = [sys.executable, "-m", "proxy", "serve", "--config", file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (78, "")
    assert [line.split(" ")[0] for line in done.stderr.splitlines()] == [f"{file}:1:", f"{file}:2:"]


def test_the_version_is_the_package_s(run: Run) -> None:
    assert run("--version").stdout == f"slotgate {__version__}\n"


def test_env_prints_a_line_that_a_shell_can_run(run: Run) -> None:
    result = run("env", "claude-code")
    line = "export ANTHROPIC_BASE_URL=http://127.0.0.1:8787/anthropic"
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{line}\n", "")
    shown = {"tool": "claude-code", "line": line, "where": "", "notes": []}
    assert json.loads(run("env", "claude-code", "--json").stdout) == shown


def test_env_names_the_file_of_a_line_that_is_no_shell_s_beside_it(run: Run) -> None:
    result = run("env", "codex")
    assert result.stdout == 'openai_base_url = "http://127.0.0.1:8787/openai/v1"\n'
    assert "~/.codex/config.toml" in result.stderr


def test_env_knows_where_the_proxy_listens_and_takes_upstream_and_workspace(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "listen: ['unix:/run/s.sock', '[::]:99']\nupstreams: {mine: {url: 'http://x'}}")
    result = run("env", "opencode", "--config", file, "--upstream", "mine", "--workspace", "a b/é")
    options = json.loads(result.stdout)["provider"]["mine"]["options"]
    assert options == {"baseURL": "http://[::1]:99/~a%20b%2F%C3%A9/mine/v1"}


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_s_line_points_to_its_usual_upstream(run: Run, tool: str) -> None:
    result = run("env", tool)
    assert result.exit_code == 0
    assert f"http://127.0.0.1:8787/{TOOLS[tool].upstream}" in result.stdout
    assert "{" not in result.stdout.replace('{"', "")


def test_env_without_a_tool_lists_them_all(run: Run) -> None:
    result = run("env")
    assert result.exit_code == 0
    listed = {line.split()[0] for line in result.stdout.splitlines()[1:]}
    assert set(TOOLS) <= listed
    assert "not cursor: Cursor sends every request through its own servers" in result.stdout
    answer = json.loads(run("env", "--json").stdout)
    assert [tool["tool"] for tool in answer["tools"]] == list(TOOLS)
    assert [tool["tool"] for tool in answer["notPointable"]] == list(UNPOINTABLE)


@pytest.mark.parametrize("tool", UNPOINTABLE)
def test_env_says_honestly_which_tools_cannot_be_pointed(run: Run, tool: str) -> None:
    result = run("env", tool)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"slotgate: {UNPOINTABLE[tool]}\n")
    assert json.loads(run("env", tool, "--json").stdout)["error"]["code"] == "not_pointable"


def test_env_says_which_lines_were_not_tried(run: Run) -> None:
    for tool in ("crush", "goose"):
        assert "it was not tried" in run("env", tool).stderr


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_can_be_in_a_workspace(run: Run, tool: str) -> None:
    assert f"http://127.0.0.1:8787/~a%20b/{TOOLS[tool].upstream}" in run("env", tool, "--workspace", "a b").stdout


def test_env_says_beside_the_line_what_else_a_tool_needs(run: Run) -> None:
    assert "selectedType" in run("env", "gemini-cli").stderr
    assert run("env", "codex", "--upstream", "openai").stderr.count("\n") == 1
    assert "Responses API alone" in run("env", "codex", "--upstream", "groq").stderr
    assert "Responses API alone" in json.loads(run("env", "codex", "--upstream", "xai", "--json").stdout)["notes"][0]


@pytest.mark.parametrize("tool", ["continue", "llm", "cline"])
def test_env_says_that_a_provider_is_met_by_another_api_than_its_own(run: Run, tool: str) -> None:
    assert "Anthropic's API for what speaks OpenAI's" in run("env", tool, "--upstream", "anthropic").stderr
    assert "Anthropic" not in run("env", tool).stderr


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("copilot-cli", "export COPILOT_PROVIDER_TYPE=anthropic COPILOT_PROVIDER_BASE_URL={}"),
        ("pi", '"api": "anthropic-messages", "baseUrl": "{}"'),
        ("aider", "export ANTHROPIC_BASE_URL={}"),
    ],
)
def test_env_has_anthropic_s_own_api_for_tools_that_speak_both(run: Run, tool: str, line: str) -> None:
    result = run("env", tool, "--upstream", "anthropic", "--workspace", "w")
    assert result.stdout == line.format("http://127.0.0.1:8787/~w/anthropic") + "\n"
    assert "Anthropic's API" not in result.stderr


HEADERS = ("--header", "X-Slotgate-Workspace: a \"b\" 'c'", "--header", "X-B:d")


def test_env_prints_the_line_that_sends_headers_of_one_s_own(run: Run) -> None:
    result = run("env", "claude-code", "--header", "X-Slotgate-Workspace: w")
    assert result.stdout.splitlines()[1:] == ["export ANTHROPIC_CUSTOM_HEADERS='X-Slotgate-Workspace: w'"]
    answer = json.loads(run("env", "codex", *HEADERS, "--json").stdout)
    assert 'beside model_provider = "slotgate"' in answer["headers"]["where"]
    assert answer["headers"]["where"] in run("env", "codex", *HEADERS).stderr
    (line,) = run("env", "codex", "--workspace", "w", *HEADERS).stdout.splitlines()
    provider = tomllib.loads(line)["model_providers"]["slotgate"]
    assert provider["base_url"] == "http://127.0.0.1:8787/~w/openai/v1"
    assert provider["name"], "Codex does not start without one"
    assert provider["env_key"] == "OPENAI_API_KEY", "else it sends no key"
    result = run("env", "cline", *HEADERS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no setting is known by which Cline CLI sends headers" in result.stderr
    assert run("env", "codex", "--header", "no header").exit_code == 2


@pytest.mark.parametrize("tool", [name for name, tool in TOOLS.items() if tool.headers])
def test_headers_are_spelled_as_the_tool_s_setting_wants_them(run: Run, tool: str) -> None:
    """As a shell, TOML, YAML or JSON reads the line."""
    line = run("env", tool, *HEADERS).stdout.splitlines()[-1]
    wanted = {"X-Slotgate-Workspace": "a \"b\" 'c'", "X-B": "d"}
    if line.startswith("export "):
        variable = line.split("=")[0].removeprefix("export ")
        shown = subprocess.run(
            ["sh", "-c", f'{line}; printf %s "${variable}"'], capture_output=True, text=True, check=True
        )
        found = dict(each.split(": ", 1) for each in re.split(r"\n|, ", shown.stdout))
    elif " = {" in line:
        (found,) = tomllib.loads(line).values()
        found = found["slotgate"]["http_headers"] if tool == "codex" else found
    else:  # a line of JSON's inside is one of YAML, too
        found = yaml.safe_load(line.replace("http_options=", "http_options: "))
        while len(found) == 1:
            (found,) = found.values()
        found = found.get("headers", found.get("extra_headers", found))
    assert found == wanted


@pytest.mark.parametrize("tool", ["opencode", "kilo", "crush"])
def test_what_goes_into_a_file_of_json_is_one_document(run: Run, tool: str) -> None:
    result = run("env", tool, *HEADERS)
    ((entry,),) = (provider.values() for provider in json.loads(result.stdout).values())
    assert "http://127.0.0.1:8787/" in str(entry)
    assert result.stderr.count("goes into") == 1


def test_env_refuses_an_upstream_that_has_no_api_for_the_tool(run: Run) -> None:
    result = run("env", "claude-code", "--upstream", "groq")
    words = "the upstream groq (https://api.groq.com) is not known to have an API for Claude Code"
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"slotgate: {words}, which speaks Anthropic's\n"


def test_env_knows_the_upstreams_of_the_running_proxy_s_command_line(api: Api, run: Run, tmp_path: Path) -> None:
    api.answers["GET /config"] = (200, {"listen": "[::1]:9", "upstreams": {"mine": {"url": "http://x/api/v2"}}})
    file = write(tmp_path / "c.yaml", f"admin: {{listen: '{api.url.removeprefix('http://')}'}}")
    line = "export OPENAI_BASE_URL=http://127.0.0.1:8787/mine\n"
    assert run("env", "openai-sdk", "--upstream", "mine", "--config", file).stdout == line


@pytest.mark.parametrize(
    ("listen", "base"),
    [
        (["unix:/s", "127.0.0.1:27787"], "http://127.0.0.1:27787"),
        (["0.0.0.0:9"], "http://localhost:9"),
        (["[::]:9"], "http://localhost:9"),
    ],
)
def test_env_points_to_the_named_proxy(api: Api, run: Run, tmp_path: Path, listen: list[str], base: str) -> None:
    api.answers["GET /config"] = (200, {"listen": "127.0.0.1:0", "upstreams": {"mine": {"url": "http://x/api/v2"}}})
    api.answers["GET /status"] = (200, {"listen": listen})
    named = api.url.replace("127.0.0.1", "localhost")
    line = f"export OPENAI_BASE_URL={base}/mine\n"
    assert run("env", "openai-sdk", "--upstream", "mine", "--admin", named).stdout == line
    file = write(tmp_path / "c.yaml", "listen: 127.0.0.1:1")
    assert run("env", "openai-sdk", "--upstream", "mine", SLOTGATE_ADMIN=named, SLOTGATE_CONFIG=file).stdout == line
    assert run("env", "codex", "--admin", named).stderr.endswith("there is no upstream openai; --upstream NAME: mine\n")


def test_env_of_a_named_proxy_that_does_not_say_is_refused(api: Api, run: Run) -> None:
    result = run("env", "codex", "--admin", "http://127.0.0.1:9")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not running at http://127.0.0.1:9" in result.stderr
    api.answers["GET /status"] = (200, {"listen": 3})
    assert "is not slotgate's admin API" in run("env", "codex", "--admin", api.url).stderr
    api.answers["GET /status"] = (200, {"listen": ["unix:/s"]})
    assert "unix sockets only" in run("env", "codex", "--admin", api.url).stderr


@pytest.mark.parametrize("listen", ["127.0.0.1:9", ["unix:/s", "127.0.0.1:9"]])
def test_env_asks_the_running_proxy_where_the_configuration_cannot_be_read_from_here(
    api: Api, run: Run, tmp_path: Path, listen: object
) -> None:
    address = api.url.removeprefix("http://")
    file = write(
        tmp_path / "c.yaml", f"admin: {{listen: '{address}'}}\nupstreams: {{mine: {{url: '${{UNSET_HERE}}'}}}}"
    )
    del api.answers["GET /config"]
    assert run("env", "openai-sdk", "--upstream", "mine", "--config", file).exit_code == 78
    api.answers["GET /config"] = (200, {"listen": listen, "upstreams": {"mine": {"url": "http://x"}}})
    result = run("env", "openai-sdk", "--upstream", "mine", "--config", file)
    assert result.stdout == "export OPENAI_BASE_URL=http://127.0.0.1:9/mine/v1\n"


def test_env_suggests_the_upstream_that_was_meant(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", 'admin: {listen: "off"}')
    result = run("env", "codex", "--upstream", "opnai", "--config", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith('slotgate: there is no upstream opnai; did you mean "openai"? --upstream NAME: ')


def test_env_refuses_what_would_not_work(run: Run, tmp_path: Path) -> None:
    alone = write(
        tmp_path / "alone.yaml", "admin: {listen: 'off'}\npresets: false\nupstreams: {mine: {url: 'http://x'}}"
    )
    unix = write(tmp_path / "unix.yaml", "listen: unix:/run/s.sock")
    assert run("env", "codex", "--config", alone).exit_code == 1
    assert "mine" in run("env", "codex", "--config", alone).stderr
    assert run("env", "codex", "--config", unix).exit_code == 1
    assert run("env", "codex", "--workspace", "").exit_code == 2
    assert run("env", "codex", "--workspace", "x" * 129).exit_code == 2
    assert run("env", "codex", "--workspace", "x\n").exit_code == 2
    assert run("env", "notepad").exit_code == 2
    assert run("env", "codex", "--config", str(tmp_path / "none")).exit_code == 78
