# What a shell may offer for an argument: names that the running proxy knows.
#
# Rule 1: a proxy that does not answer at once, as a whole, is not waited for, and one that answers oddly is not
#         understood: nothing is offered then, and nothing is said.
# Rule 2: names come from clients, and a shell puts what is offered on its line as it is: only names that mean nothing
#         to any shell are offered.

import functools
import queue
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from proxy.cli.finding import find_admin

_PATIENCE_S = 0.5  # that somebody who pressed a key does not notice
_HARMLESS = re.compile(r"[\w@%+./][\w@%+./-]*")  # no colon: bash takes words apart there


Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _at_once(complete: Completer) -> Completer:
    """The same, but for nothing where it takes too long or fails, however."""

    @functools.wraps(complete)
    def run(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        found: queue.SimpleQueue[list[CompletionItem]] = queue.SimpleQueue()

        def work() -> None:
            try:
                found.put(complete(context, parameter, begun))
            except Exception:  # noqa: BLE001 - whatever it is, somebody is in the middle of a line of a shell
                found.put([])

        threading.Thread(target=work, name="completing", daemon=True).start()
        try:
            return found.get(timeout=_PATIENCE_S)
        except queue.Empty:
            return []

    return run


@_at_once
def complete_provider(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Upstreams, by whose names people call their providers."""
    upstreams = _asked(context, "config").get("upstreams", {})
    return _offered({name: str(upstream["provider"]) for name, upstream in upstreams.items()}, begun)


@_at_once
def complete_workspace(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Those that have a star, a waiter or a slot."""
    found = _asked(context, "concurrency", "workspaces").get("workspaces", [])
    return _offered({entry["workspaceId"]: "starred" if entry["starred"] else "" for entry in found}, begun)


@_at_once
def complete_entry(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of slots and waiters of the provider that is named already."""
    config = _asked(context, "config").get("upstreams", {})
    name = str(context.params.get("provider"))
    found = _asked(context, "concurrency", "slots", str(config.get(name, {}).get("provider", name)))
    entries = {slot["id"]: f"slot of {slot['workspaceId']}" for slot in found.get("slots", [])}
    entries |= {waiter["id"]: f"waiter of {waiter['workspaceId']}" for waiter in found.get("waiters", [])}
    return _offered(entries, begun)


def _asked(context: click.Context, *path: str) -> dict[str, Any]:
    """The proxy's answer; Failure if there is none."""
    given = context.params
    answer = find_admin(given.get("admin"), given.get("token_file"), given.get("config")).get(*path)
    return answer if isinstance(answer, dict) else {}


def _offered(names: dict[str, str], begun: str) -> list[CompletionItem]:
    """The harmless ones that go on from what is typed; their help is text of ours and harmless names alone."""
    return [CompletionItem(name, help=_harmless(said)) for name, said in names.items() if _fits(name, begun)]


def _fits(name: str, begun: str) -> bool:
    return name.startswith(begun) and _HARMLESS.fullmatch(name) is not None


def _harmless(text: str) -> str | None:
    words: Iterable[str] = text.split(" ")
    return text if text and all(_HARMLESS.fullmatch(word.replace(":", ".")) for word in words) else None
