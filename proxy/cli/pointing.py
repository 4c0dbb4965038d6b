# `slotgate env TOOL`: the line that points a tool at the proxy, and the one that makes it send headers.
#
# Rule 1: a line that would not work is refused.
# Rule 2: a proxy that is named by --admin or $SLOTGATE_ADMIN says itself where it listens and what its upstreams are.
# Rule 3: else addresses and upstreams are those of the configuration. The running proxy, if there is one, knows more:
#         what its command line names, and what is in a configuration that cannot be read from here.

import functools
from collections.abc import Callable

import click

from proxy.cli.admin import Admin
from proxy.cli.failure import BadConfig, Failure
from proxy.cli.finding import find_admin, settings_of
from proxy.cli.options import admin_options, header, name, understood, with_output
from proxy.cli.output import Output
from proxy.config import BaseUrl, parse_url
from proxy.config.report import nearest
from proxy.web.dialects import Dialect
from proxy.web.tools import HOMES, TOOLS, UNPOINTABLE, Tool, first_base_url

# The base URL, None where there are unix sockets only; the upstreams; those that only the running proxy may know.
Known = tuple[str | None, dict[str, BaseUrl], Callable[[], dict[str, BaseUrl]]]


@click.command(epilog=f"TOOL is one of: {', '.join(TOOLS)}. Without one, all are listed.")
@click.argument("tool", metavar="[TOOL]", required=False, type=click.Choice([*TOOLS, *UNPOINTABLE]))
@click.option("--upstream", metavar="NAME", help="Another upstream than the tool's usual one.")
@click.option("--workspace", metavar="NAME", type=name, help="Which workspace the tool's requests belong to.")
@click.option(
    "--header", "headers", metavar="'NAME: VALUE'", type=header, multiple=True, help="Have it sent; may be repeated."
)
@admin_options
@with_output
def env(
    output: Output,
    *,
    tool: str | None,
    upstream: str | None,
    workspace: str | None,
    headers: tuple[tuple[str, str], ...],
    admin: str | None,
    token_file: str | None,
    config: str | None,
) -> None:
    """Print the line that points TOOL at the proxy.

    A line for a shell can be run at once: eval "$(slotgate env claude-code)". The paths under which the built-in
    providers keep their APIs are known; another provider's belongs in its upstream's url.

    A workspace is in the base URL, so every tool can have one: --workspace "$(basename "$PWD")". A tool that can send
    headers of its own may say X-Slotgate-Workspace instead: --header "X-Slotgate-Workspace: $(basename "$PWD")" prints
    the line for that, too.
    """
    if tool is None:
        _list(output)
        return
    if tool in UNPOINTABLE:
        raise Failure("not_pointable", UNPOINTABLE[tool])
    base, urls, more = _named(admin, token_file) if admin else _configured(token_file, config)
    if base is None:
        raise Failure("no_address", "the proxy listens on unix sockets only, which have no URL")
    entry = TOOLS[tool]
    chosen = upstream or entry.upstream
    if chosen not in urls:
        urls |= more()
    if chosen not in urls:
        words = f"there is no upstream {chosen}; {nearest(chosen, urls)}--upstream NAME: {', '.join(urls)}"
        raise Failure("unknown_upstream", words)
    line = entry.pointed(base, upstream=chosen, url=urls[chosen], workspace=workspace)
    if line is None:
        speaks = "" if entry.dialect is None else f", which speaks {entry.dialect}'s"
        words = f"the upstream {chosen} ({urls[chosen]}) is not known to have an API for {entry.title}{speaks}"
        raise Failure("no_such_api", words)
    sends = None
    if headers:
        sends = entry.sending(base, dict(headers), upstream=chosen, url=urls[chosen], workspace=workspace)
        if sends is None:
            words = f"no setting is known by which {entry.title} sends headers; --workspace puts one into the URL"
            raise Failure("no_headers", words)
    sends_where = entry.where if entry.headers_where is None else entry.headers_where
    notes = [entry.note, entry.abroad if chosen != entry.upstream else "", _other_dialect(entry, urls[chosen])]
    answer = {"tool": tool, "line": line, "where": entry.where, "notes": [note for note in notes if note]}
    output.answer(answer if sends is None else {**answer, "headers": {"line": sends, "where": sends_where}})
    if sends is None or not entry.headers_say_all:
        output.say(line)
        if entry.where:
            output.remark(f"slotgate: this goes into {entry.where}")
    if sends is not None:
        output.say(sends)
        if sends_where:
            output.remark(f"slotgate: {'this goes' if entry.headers_say_all else 'the headers go'} into {sends_where}")
    for note in filter(None, notes):
        output.remark(f"slotgate: {note}")


def _other_dialect(entry: Tool, url: BaseUrl) -> str:
    """That a provider is met by another API than its own one."""
    if entry.dialect is Dialect.OPENAI and not entry.anthropic and url.host == HOMES["anthropic"].host:
        return "this is Anthropic's API for what speaks OpenAI's; a setting for Anthropic's own needs a URL without /v1"
    return ""


def _list(output: Output) -> None:
    """Every tool."""
    known = [{"tool": name, "title": tool.title, "upstream": tool.upstream} for name, tool in TOOLS.items()]
    not_here = [{"tool": name, "reason": reason} for name, reason in UNPOINTABLE.items()]
    output.answer({"tools": known, "notPointable": not_here})
    rows = [[name, tool.title, tool.upstream, tool.where or "the shell"] for name, tool in TOOLS.items()]
    output.table(("tool", "called", "upstream", "goes into"), rows)
    for tool, reason in UNPOINTABLE.items():
        output.say(f"not {tool}: {reason}")


def _named(admin: str, token_file: str | None) -> Known:
    """Of the proxy whose admin API is at `admin`, as it says. Failure if it does not."""
    asked = find_admin(admin, token_file, None)
    with understood(asked):
        listen, urls = asked.get("status")["listen"], _urls(asked)
        base = first_base_url(listen, near=asked.at.host if isinstance(asked.at, BaseUrl) else None)
    return base, urls, dict


def _configured(token_file: str | None, config: str | None) -> Known:
    """Of the proxy that `serve` would be. Where the configuration cannot be read from here, the one that runs is
    asked."""
    running = functools.partial(_of_running_proxy, token_file, config)
    try:
        settings = settings_of(config)
    except BadConfig:
        listen, urls = running()
        if not listen:
            raise
        return first_base_url(listen), urls, dict
    urls = {name: upstream.url for name, upstream in settings.upstreams.items()}
    return first_base_url(map(str, settings.listen)), urls, lambda: running()[1]


def _of_running_proxy(token_file: str | None, config: str | None) -> tuple[list[str], dict[str, BaseUrl]]:
    """Where clients reach it and its upstreams' URLs; both empty if it does not run, or must not be asked."""
    try:
        asked = find_admin(None, token_file, config)
        with understood(asked):
            listen = asked.get("config")["listen"]
            return [listen] if isinstance(listen, str) else list(listen), _urls(asked)
    except Failure:
        return [], {}


def _urls(asked: Admin) -> dict[str, BaseUrl]:
    return {name: parse_url(upstream["url"]) for name, upstream in asked.get("config")["upstreams"].items()}
