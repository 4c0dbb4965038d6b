# Shell completion: the script of each shell, and what is offered.

import json
import shutil
import subprocess
import sys
import time

import pytest
from fake_admin_api import Api, Run

from proxy.web.tools import TOOLS


def offered(run: Run, line: str, **environment: str) -> list[str]:
    """What bash is offered for the last word of `line`."""
    words = line.split(" ")
    asked = {"_SLOTGATE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    result = run(**asked, **environment)
    assert (result.exit_code, result.stderr) == (0, "")
    return [value.partition(",")[2] for value in result.stdout.splitlines() if value]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_SLOTGATE_COMPLETE={shell}_complete" in result.stdout
    assert run("completion", SHELL=f"/usr/bin/{shell}").stdout == result.stdout
    assert json.loads(run("completion", shell, "--json").stdout) == {"shell": shell, "script": result.stdout}


def test_an_unknown_shell_is_told_which_there_are(run: Run) -> None:
    assert run("completion", "tcsh").exit_code == 2
    result = run("completion", SHELL="/bin/tcsh")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "slotgate: which shell? slotgate completion bash|zsh|fish\n"


def test_bash_takes_its_script() -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not there")
    script = f"eval \"$('{sys.executable}' -m proxy completion bash)\"; complete -p slotgate"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_slotgate_completion" in done.stdout


def test_commands_tools_and_options_are_offered(run: Run) -> None:
    assert {"star", "status"} <= set(offered(run, "slotgate sta"))
    assert offered(run, "slotgate env claude-c") == ["claude-code"]
    assert set(TOOLS) <= set(offered(run, "slotgate env "))
    assert "--json" in offered(run, "slotgate slots --j")


@pytest.mark.parametrize("command", ["limit", "pause", "slots", "reclaim", "history", "events --provider"])
def test_providers_are_offered_by_the_names_that_people_use(api: Api, run: Run, command: str) -> None:
    assert offered(run, f"slotgate {command} ", SLOTGATE_ADMIN=api.url) == ["umans", "local"]
    assert offered(run, f"slotgate {command} um", SLOTGATE_ADMIN=api.url) == ["umans"]


def test_the_proxy_that_is_named_on_the_line_is_asked(api: Api, run: Run) -> None:
    assert offered(run, f"slotgate limit --admin {api.url} lo") == ["local"]


def test_workspaces_are_offered_but_none_that_a_shell_would_take_for_more_than_a_name(api: Api, run: Run) -> None:
    names = ["alpha", "日本", "$(reboot)", "`x`", "a b", "a;b", "-rf", "~root", "a\nplain,b", "*", "\x1b[2J", "'", "!x"]
    entries = [{"workspaceId": name, "starred": False} for name in names]
    api.answers["GET /concurrency/workspaces"] = (200, {"workspaces": entries})
    assert offered(run, "slotgate star ", SLOTGATE_ADMIN=api.url) == ["alpha", "日本"]


def test_ids_of_slots_and_waiters_are_offered_for_the_provider_on_the_line(api: Api, run: Run) -> None:
    places = {"slots": [{"id": "7", "workspaceId": "a"}], "waiters": [{"id": "9", "workspaceId": "$(x)"}]}
    api.answers["GET /concurrency/slots/api.code.umans.ai"] = (200, places)
    assert offered(run, "slotgate reclaim umans ", SLOTGATE_ADMIN=api.url) == ["7", "9"]


def test_zsh_gets_no_help_that_a_client_wrote(api: Api, run: Run) -> None:
    places = {"slots": [{"id": "7", "workspaceId": "a"}], "waiters": [{"id": "9", "workspaceId": "$(x)\n"}]}
    api.answers["GET /concurrency/slots/api.code.umans.ai"] = (200, places)
    asked = {"_SLOTGATE_COMPLETE": "zsh_complete", "COMP_WORDS": "slotgate reclaim umans ", "COMP_CWORD": "3"}
    lines = run(**asked, SLOTGATE_ADMIN=api.url).stdout.splitlines()
    assert lines == ["plain", "7", "slot of a", "plain", "9", "_"]


def test_without_a_proxy_nothing_is_offered_and_nothing_said(run: Run) -> None:
    began = time.monotonic()
    assert offered(run, "slotgate limit ", SLOTGATE_ADMIN="http://127.0.0.1:9") == []
    assert offered(run, "slotgate limit ", SLOTGATE_ADMIN="nonsense://") == []
    assert time.monotonic() - began < 20
