# What a configuration may say already, though this version does not do it yet.
#
# Rule: nobody shall rely on it without having been told; what is done takes its line away from here.

from collections.abc import Iterator

from proxy.config import Settings
from proxy.errors import StoreError
from proxy.store import open_store


def unfinished(settings: Settings) -> list[str]:
    """One line for each key that has no effect yet."""
    return [f"{key}: not there yet; {instead}" for key, instead in _unfinished(settings)]


def _unfinished(settings: Settings) -> Iterator[tuple[str, str]]:
    for upstream in settings.upstreams.values():
        if upstream.websocket == "per_response":
            yield f"upstreams.{upstream.name}.websocket: per_response", "it is as auto"


def refused_state(settings: Settings) -> str | None:
    """Why `serve` cannot keep its state there; None if it can, as far as its kind goes. Nothing is opened."""
    try:
        open_store(settings.state.kind, settings.state.target)
    except StoreError as error:
        return str(error)
    return None
