# What client connections ask of whoever accepts them; web.clients has the real one.

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from proxy.errors import OwnAnswer
from proxy.wire.hangup import Hangups
from proxy.wire.head import RequestHead
from proxy.wire.request import Request

if TYPE_CHECKING:
    from proxy.wire.client import ClientConnection


class Service(Protocol):
    """What is done with requests."""

    def serve(self, request: Request) -> Coroutine[Any, Any, None]:
        """Take one to its end."""

    def refused(self, error: OwnAnswer, head: RequestHead | None) -> None:
        """One was refused before it was served; without `head` it was none that could be read."""


class Listener(Protocol):
    """What the connections of one server share."""

    header_timeout_s: Callable[[], float]
    draining: bool
    service: Service
    connections: set["ClientConnection"]
    hangups: Hangups

    def crowded(self) -> OwnAnswer | None:
        """What a client that has just connected is to be told if there is no room for it."""
