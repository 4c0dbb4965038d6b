# What a configuration may say, though it has no effect beside what else it says.
#
# Rule 1: nobody shall rely on it without having been told; what gets an effect takes its line away from here.
# Rule 2: a remark is no error: the proxy runs with it.

from collections.abc import Iterator, Sequence

from proxy.config import Settings
from proxy.errors import StoreError
from proxy.web.agents import AGENTS, Interim
from proxy.wire.peer import can_be_known


def remarks(settings: Settings) -> list[str]:
    """One line for each key that does not do what it says."""
    return list(_in_vain(settings))


def _in_vain(settings: Settings) -> Iterator[str]:
    yield from _breaking(settings.queue.keepalive)
    if settings.identity.workspace_from_peer and not can_be_known():
        yield "identity.workspace_from_peer: without effect: this system does not tell whose a connection is"
    for provider in settings.providers.values():
        at = f"upstreams.{provider.upstreams[0]}"  # where `check` shows the settings of the provider
        if provider.auto_restore_s is not None and not provider.auto_reduce:
            yield f"{at}.auto_restore: without effect, since auto_reduce is false: nothing lowers the limit"
        if provider.learn_cooldown and provider.usage is None:
            yield f"{at}.cooldown: auto: there is no usage to learn from, so it only grows, after refusals"


def _breaking(keepalive: str | Sequence[str]) -> Iterator[str]:
    """Parts of a User-Agent that name a client which 102s break."""
    for part in () if isinstance(keepalive, str) else keepalive:
        for agent in AGENTS:
            marks = [mark.decode() for mark in agent.marks]
            if agent.interim is Interim.FATAL and any(part in mark or mark in part for mark in marks):
                yield f"queue.keepalive: {part}: {agent.name} takes a 102 for the answer"


def refused_state(settings: Settings) -> str | None:
    """Why `serve` cannot keep its state there; None if it can, as far as its kind goes. Nothing is opened."""
    from proxy.store import open_store  # takes as long to import as everything else

    try:
        open_store(settings.state.kind, settings.state.target)
    except StoreError as error:
        return str(error)
    return None
