# `slotgate env TOOL`: the line that points a tool at the proxy.

import click

from proxy.cli.failure import Failure
from proxy.cli.finding import settings_of
from proxy.cli.options import config_option, with_output
from proxy.cli.output import Output
from proxy.web.tools import TOOLS, first_base_url


@click.command(epilog=f"TOOL is one of: {', '.join(TOOLS)}.")
@click.argument("tool", metavar="TOOL", type=click.Choice(list(TOOLS)))
@click.option("--upstream", metavar="NAME", help="Another upstream than the tool's usual one.")
@click.option("--workspace", metavar="NAME", help="Which workspace the tool's requests belong to.")
@config_option
@with_output
def env(output: Output, *, tool: str, upstream: str | None, workspace: str | None, config: str | None) -> None:
    """Print the line that points TOOL at the proxy.

    A line for a shell can be run at once: eval "$(slotgate env claude-code)". A provider that keeps its API under a
    path of its own (https://api.example.com/api/anthropic) needs that path in the upstream's url.
    """
    settings = settings_of(config)
    base = first_base_url(map(str, settings.listen))
    if base is None:
        raise Failure("no_address", "the proxy listens on unix sockets only, which have no URL")
    entry = TOOLS[tool]
    name = upstream or entry.upstream
    if name not in settings.upstreams:
        raise Failure(
            "unknown_upstream", f"there is no upstream {name}; --upstream NAME: {', '.join(settings.upstreams)}"
        )
    if workspace is not None and not 1 <= len(workspace) <= 128:
        raise click.BadParameter("a workspace's name has 1 to 128 characters", param_hint="--workspace")
    line = entry.pointed(base, upstream=name, workspace=workspace)
    output.answer({"tool": tool, "line": line, "where": entry.where})
    output.say(line)
    if entry.where:
        output.remark(f"slotgate: this goes into {entry.where}")
