# What `--help` says.

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
