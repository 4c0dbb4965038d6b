# Slots and places in the queue of one provider: `slotgate slots` shows them, `slotgate reclaim` takes one away.
#
# Rule 1: a person at a terminal is asked first: a reclaimed slot cuts somebody's answer, a dropped waiter gets a 503.

import sys
from typing import Any

import click

from proxy.cli.admin import Admin
from proxy.cli.completing import complete_entry
from proxy.cli.control import provider_argument
from proxy.cli.failure import Failure
from proxy.cli.lengths import span
from proxy.cli.naming import named
from proxy.cli.options import name, of_running_proxy
from proxy.cli.output import Output
from proxy.cli.states import states
from proxy.cli.table import Table
from proxy.cli.waiting import expected, held_for, phase, queue, silent_for, size, who, why
from proxy.service.clock import wall_ms

Entry = dict[str, Any]

_SLOTS = ("concurrency", "slots")
_SLOT_COLUMNS = (" slot", "workspace", "conversation", "phase", " held for", " last byte", " bytes", "path")
_WAITER_COLUMNS = (" place", "id", "workspace", "conversation", " waits", " expected", "why", "path")


@click.command()
@provider_argument
@of_running_proxy
def slots(admin: Admin, output: Output, provider: str) -> None:
    """Show who holds a PROVIDER's slots, and who waits and why."""
    which = named(admin, provider)
    with which.known():
        places = admin.get(*_SLOTS, which.provider_id)
        entry = admin.get("concurrency", "status", which.provider_id, query="?all=1")
    now_ms = _now_ms(places)
    output.answer({"provider": entry, **places})
    used = f"no limit, {entry['inFlight']} in flight"
    if entry["limit"] is not None:
        used = f"{entry['inFlight']} of {entry['limit']} in use"
    output.say(f"{which.provider_id}: {used}, {queue(entry)}")
    for state in states(entry, now_ms):
        output.say(f"  {state}")
    held, waiting = places["slots"], places["waiters"]
    if held:
        output.show(["", Table(columns=_SLOT_COLUMNS, rows=[_slot(slot, now_ms) for slot in held])])
    if waiting:
        output.show(["", Table(columns=_WAITER_COLUMNS, rows=[_waiter(waiter) for waiter in waiting])])


@click.command()
@provider_argument
@click.argument("id", metavar="ID", type=name, shell_complete=complete_entry)
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nobody is asked.")
@of_running_proxy
def reclaim(admin: Admin, output: Output, provider: str, id: str, yes: bool) -> None:
    """Take a slot back, or send a waiter away.

    ID is what `slotgate slots PROVIDER` shows. The holder's answer is cut off; a waiter gets a 503.
    """
    which = named(admin, provider)
    with which.known():
        places = admin.get(*_SLOTS, which.provider_id)
    what, entry = _found(places, id)
    if not yes and sys.stdin.isatty():
        _confirm(output, which.provider_id, what, entry, _now_ms(places))
    admin.delete(*_SLOTS, which.provider_id, id)
    output.answer({"providerId": which.provider_id, "id": id, "was": what})
    done = "reclaimed" if what == "slot" else "dropped"
    output.say(f"{which.provider_id}: {what} {id} of {who(entry)} {done}")


def _now_ms(places: Entry) -> int:
    """The proxy's time; an older one does not tell it."""
    return places.get("now") or wall_ms()


def _found(places: Entry, wanted: str) -> tuple[str, Entry]:
    """`slot` or `waiter`, and which one it is."""
    for what in ("slot", "waiter"):
        for entry in places[f"{what}s"]:
            if entry["id"] == wanted:
                return what, entry
    known = [entry["id"] for entry in (*places["slots"], *places["waiters"])]
    there = f"there are: {', '.join(known[:20])}{' …' if len(known) > 20 else ''}" if known else "there is nobody"
    raise Failure("unknown_id", f"no slot is held and nobody waits under the id {wanted}; {there}", status=404)


def _confirm(output: Output, provider_id: str, what: str, entry: Entry, now_ms: int) -> None:
    if what == "slot":
        said = f"slot {entry['id']} of {provider_id}: {who(entry)}, {phase(entry)}, held for {held_for(entry, now_ms)}"
        question = "Cut this answer off?"
    else:
        said = f"place {entry['position']} at {provider_id}: {who(entry)}, waits for {span(entry['waitingMs'])}"
        question = "Send this one away?"
    output.ask(said, question)


def _slot(slot: Entry, now_ms: int) -> list[str]:
    return [
        slot["id"],
        slot["workspaceId"],
        slot["conversationId"] or "",
        phase(slot),
        held_for(slot, now_ms),
        silent_for(slot, now_ms),
        size(slot["bytes"]),
        _where(slot),
    ]


def _where(entry: Entry) -> str:
    """The path and, where several replicas share a queue, which one has the request."""
    return f"{entry['path']} at {entry['replica']}" if "replica" in entry else str(entry["path"])


def _waiter(waiter: Entry) -> list[str]:
    return [
        str(waiter["position"]),
        waiter["id"],
        waiter["workspaceId"],
        waiter["conversationId"] or "",
        span(waiter["waitingMs"]),
        expected(waiter),
        why(waiter),
        _where(waiter),
    ]
