# `slotgate top`: the whole terminal shows what goes on at every provider, and keys steer it.
#
# Rule 1: the terminal is as before when it ends, whatever ends it.
# Rule 2: a key is answered at once: what asks the proxy is another thread's.

import dataclasses
import sys

import click

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.cli.options import of_running_proxy
from proxy.cli.output import Output
from proxy.cli.terminal import whole_terminal

_PATIENCE_S = 5.0  # for one answer: a proxy that takes longer is shown as lost


@click.command()
@of_running_proxy
def top(admin: Admin, output: Output) -> None:
    """Watch and steer what goes on, on the whole terminal.

    \b
    up down j k   move            s   star or unstar the workspace
    p             pause, resume   r   restore a reduced limit
    + -           the limit       x   reclaim the slot, drop the waiter
    ?             every key       q   quit
    """
    if output.as_json:
        raise Failure("no_terminal", "top is for people; programs ask: slotgate status --watch --json")
    if not (sys.stdin.isatty() and whole_terminal()):
        words = "top needs a terminal, for what it shows and for its keys; elsewhere: slotgate status --watch"
        raise Failure("no_terminal", words)
    # Here, because no other command needs it, and it takes long to import.
    from proxy.cli.live.loop import run

    run(dataclasses.replace(admin, patience_s=_PATIENCE_S))
