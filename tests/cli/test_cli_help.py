# What `--help` says.

import shlex
import signal
import subprocess
import sys

import pytest
from fake_admin_api import Run

from proxy.cli import cli


def test_no_command_s_description_is_cut_off_in_the_list(run: Run) -> None:
    listed = run("--help").stdout.partition("Commands:")[2]
    assert len(listed.strip().splitlines()) == len(cli.commands)
    assert "..." not in listed


@pytest.mark.parametrize("command", [name for name in cli.commands if name != "serve"])
def test_each_command_that_answers_has_json(run: Run, command: str) -> None:
    assert "--json" in run(command, "--help").stdout


def test_a_command_starts_without_what_only_others_need() -> None:
    slow = ("rich", "asyncio", "aiohttp", "sqlite3", "structlog", "prometheus_client")
    script = f"import sys, proxy.cli; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("redirected", [">&-", ">/dev/full"])
@pytest.mark.parametrize("command", ["env", "env --json", "--help"])
def test_a_stdout_that_takes_nothing_is_no_traceback(redirected: str, command: str) -> None:
    line = f"{shlex.quote(sys.executable)} -m proxy {command} {redirected}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    told = "" if redirected == ">&-" else "slotgate: No space left on device\n"
    assert (done.returncode, done.stderr) == (1 if told else 0, told)


def test_an_interrupt_while_it_starts_is_no_traceback() -> None:
    """A finder of modules is asked for `proxy.cli` just when the command begins to load."""
    script = (
        "import os, signal, sys\n"
        "from proxy.__main__ import main\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'proxy.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
