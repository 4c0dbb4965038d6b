# What concerns the whole of a running proxy: starred workspaces, and its configuration read again.

import click

from proxy.cli.admin import Admin
from proxy.cli.completing import complete_workspace
from proxy.cli.control import remark_unless_persisted
from proxy.cli.options import name, of_running_proxy
from proxy.cli.output import Output


@click.command()
@click.argument("workspace", type=name, shell_complete=complete_workspace)
@of_running_proxy
def star(admin: Admin, output: Output, workspace: str) -> None:
    """Let a WORKSPACE's requests go before those of others."""
    _star(admin, output, workspace, starred=True)


@click.command()
@click.argument("workspace", type=name, shell_complete=complete_workspace)
@of_running_proxy
def unstar(admin: Admin, output: Output, workspace: str) -> None:
    """Let a WORKSPACE's requests wait like those of others."""
    _star(admin, output, workspace, starred=False)


@click.command()
@of_running_proxy
def reload(admin: Admin, output: Output) -> None:
    """Make the proxy read its configuration again."""
    answer = admin.post("reload")
    output.answer(answer)
    output.say(f"changed: {', '.join(answer['changed'])}" if answer["changed"] else "nothing changed")
    if answer["needsRestart"]:
        output.remark(f"slotgate: only a restart changes {', '.join(answer['needsRestart'])}")


def _star(admin: Admin, output: Output, workspace: str, *, starred: bool) -> None:
    answer = admin.put("concurrency", "workspaces", workspace, body={"starred": starred})
    output.answer(answer)
    word = "starred" if answer["starred"] else "not starred"
    output.say(f"{answer['workspaceId']}: {word}, {answer['inFlight']} in flight, {answer['queued']} queued")
    remark_unless_persisted(output, answer)
