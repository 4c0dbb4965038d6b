# `slotgate env TOOL`: the line that points a tool at the proxy.
#
# Rule: a line that would not work is refused. Upstreams are those of the configuration, and those that only the command
#       line of the running proxy names, if one runs.

import click

from proxy.cli.failure import Failure
from proxy.cli.finding import find_admin, settings_of
from proxy.cli.options import admin_options, name, with_output
from proxy.cli.output import Output
from proxy.config import BaseUrl, parse_url
from proxy.config.report import nearest
from proxy.web.tools import TOOLS, first_base_url


@click.command(epilog=f"TOOL is one of: {', '.join(TOOLS)}.")
@click.argument("tool", metavar="TOOL", type=click.Choice(list(TOOLS)))
@click.option("--upstream", metavar="NAME", help="Another upstream than the tool's usual one.")
@click.option("--workspace", metavar="NAME", type=name, help="Which workspace the tool's requests belong to.")
@admin_options
@with_output
def env(
    output: Output,
    *,
    tool: str,
    upstream: str | None,
    workspace: str | None,
    admin: str | None,
    token_file: str | None,
    config: str | None,
) -> None:
    """Print the line that points TOOL at the proxy.

    A line for a shell can be run at once: eval "$(slotgate env claude-code)". The paths under which the built-in
    providers keep their APIs are known; another provider's belongs in its upstream's url.
    """
    settings = settings_of(config)
    base = first_base_url(map(str, settings.listen))
    if base is None:
        raise Failure("no_address", "the proxy listens on unix sockets only, which have no URL")
    entry = TOOLS[tool]
    chosen = upstream or entry.upstream
    urls = {name: upstream.url for name, upstream in settings.upstreams.items()}
    if chosen not in urls:
        urls |= _of_running_proxy(admin, token_file, config)
    if chosen not in urls:
        words = f"there is no upstream {chosen}; {nearest(chosen, urls)}--upstream NAME: {', '.join(urls)}"
        raise Failure("unknown_upstream", words)
    line = entry.pointed(base, upstream=chosen, url=urls[chosen], workspace=workspace)
    if line is None:
        speaks = "" if entry.dialect is None else f", which speaks {entry.dialect}'s"
        words = f"the upstream {chosen} ({urls[chosen]}) is not known to have an API for {entry.title}{speaks}"
        raise Failure("no_such_api", words)
    notes = [entry.note, entry.abroad if chosen != entry.upstream else ""]
    output.answer({"tool": tool, "line": line, "where": entry.where, "notes": [note for note in notes if note]})
    output.say(line)
    if entry.where:
        output.remark(f"slotgate: this goes into {entry.where}")
    for note in filter(None, notes):
        output.remark(f"slotgate: {note}")


def _of_running_proxy(admin: str | None, token_file: str | None, config: str | None) -> dict[str, BaseUrl]:
    try:
        upstreams = find_admin(admin, token_file, config).get("config")["upstreams"]
    except Failure:
        return {}  # it does not run, or must not be asked
    return {name: parse_url(upstream["url"]) for name, upstream in upstreams.items()}
