# `slotgate env TOOL`: the line that points a tool at the proxy.
#
# Rule 1: a line that would not work is refused.
# Rule 2: addresses and upstreams are those of the configuration. The running proxy, if there is one, knows more: what
#         its command line names, and what is in a configuration that cannot be read from here.

import functools

import click

from proxy.cli.failure import BadConfig, Failure
from proxy.cli.finding import find_admin, settings_of
from proxy.cli.options import admin_options, name, with_output
from proxy.cli.output import Output
from proxy.config import BaseUrl, parse_url
from proxy.config.report import nearest
from proxy.web.tools import TOOLS, UNPOINTABLE, first_base_url


@click.command(epilog=f"TOOL is one of: {', '.join(TOOLS)}. Without one, all are listed.")
@click.argument("tool", metavar="[TOOL]", required=False, type=click.Choice([*TOOLS, *UNPOINTABLE]))
@click.option("--upstream", metavar="NAME", help="Another upstream than the tool's usual one.")
@click.option("--workspace", metavar="NAME", type=name, help="Which workspace the tool's requests belong to.")
@admin_options
@with_output
def env(
    output: Output,
    *,
    tool: str | None,
    upstream: str | None,
    workspace: str | None,
    admin: str | None,
    token_file: str | None,
    config: str | None,
) -> None:
    """Print the line that points TOOL at the proxy.

    A line for a shell can be run at once: eval "$(slotgate env claude-code)". The paths under which the built-in
    providers keep their APIs are known; another provider's belongs in its upstream's url.

    A workspace is in the base URL, so every tool can have one: --workspace "$(basename "$PWD")". A tool that can send
    headers of its own may say X-Slotgate-Workspace instead.
    """
    if tool is None:
        _list(output)
        return
    if tool in UNPOINTABLE:
        raise Failure("not_pointable", UNPOINTABLE[tool])
    running = functools.partial(_of_running_proxy, admin, token_file, config)
    try:
        settings = settings_of(config)
    except BadConfig:
        listen, urls = running()
        if not listen:
            raise
    else:
        listen = [str(address) for address in settings.listen]
        urls = {name: upstream.url for name, upstream in settings.upstreams.items()}
    base = first_base_url(listen)
    if base is None:
        raise Failure("no_address", "the proxy listens on unix sockets only, which have no URL")
    entry = TOOLS[tool]
    chosen = upstream or entry.upstream
    if chosen not in urls:
        urls |= running()[1]
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


def _list(output: Output) -> None:
    """Every tool."""
    known = [{"tool": name, "title": tool.title, "upstream": tool.upstream} for name, tool in TOOLS.items()]
    not_here = [{"tool": name, "reason": reason} for name, reason in UNPOINTABLE.items()]
    output.answer({"tools": known, "notPointable": not_here})
    rows = [[name, tool.title, tool.upstream, tool.where or "the shell"] for name, tool in TOOLS.items()]
    output.table(("tool", "called", "upstream", "goes into"), rows)
    for tool, reason in UNPOINTABLE.items():
        output.say(f"not {tool}: {reason}")


def _of_running_proxy(
    admin: str | None, token_file: str | None, config: str | None
) -> tuple[list[str], dict[str, BaseUrl]]:
    """Where clients reach it and its upstreams' URLs; both empty if it does not run, or must not be asked."""
    try:
        shown = find_admin(admin, token_file, config).get("config")
    except Failure:
        return [], {}
    listen = shown["listen"]
    urls = {name: parse_url(upstream["url"]) for name, upstream in shown["upstreams"].items()}
    return [listen] if isinstance(listen, str) else listen, urls
