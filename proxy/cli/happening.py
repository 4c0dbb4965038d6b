# `slotgate events`: what happens at the proxy, a line for each event, until somebody ends it.

import click

from proxy.cli.admin import Admin
from proxy.cli.completing import complete_provider
from proxy.cli.ending import ends_in_order
from proxy.cli.failure import Failure
from proxy.cli.following import follow
from proxy.cli.naming import named
from proxy.cli.options import name, of_running_proxy
from proxy.cli.output import Output
from proxy.cli.telling import told

_ID_DIGITS = 20  # as the admin API


def _event_id(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS):
        raise click.BadParameter(f"{text!r} is not the id of an event, a number; 0 is everything that is kept")
    return text


@click.command()
@click.option("--provider", type=name, metavar="NAME", shell_complete=complete_provider, help="Only this provider's.")
@click.option("--since", type=_event_id, metavar="ID", help="Also what is kept since this one; 0: everything.")
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C; this is what it does anyway.")
@of_running_proxy
def events(admin: Admin, output: Output, provider: str | None, since: str | None, follow: bool) -> None:
    """Show what happens, as it happens.

    With --json each event is one document on a line of its own; its eventId is what --since takes.
    """
    only = None
    if provider is not None:
        which = named(admin, provider)
        which.refuse_slip()
        only = which.provider_id
    with ends_in_order():
        _tell(admin, output, only, since)


def _tell(admin: Admin, output: Output, only: str | None, since: str | None) -> None:
    for event in follow(admin, since):
        if isinstance(event, Failure):
            output.remark(f"slotgate: {event.message}; trying again")
        elif only is None or event.data.get("providerId") == only:
            output.answer_line({"eventId": event.id, "event": event.name, **event.data})
            output.say(told(event))
