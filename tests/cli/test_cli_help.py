# What `--help` says.

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
