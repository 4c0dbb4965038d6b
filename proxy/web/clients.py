# The listener for clients: accepts connections, sweeps idle ones, and drains.

import asyncio
import random
import resource
import socket
from collections.abc import Callable

from proxy.errors import OwnAnswer
from proxy.wire.client import IDLE_S, ClientConnection
from proxy.wire.hangup import Hangups
from proxy.wire.listener import Service
from proxy.wire.request import Request

DESCRIPTORS_KEPT = 64  # for the admin API, the state, look-ups: an operator is let in when clients have filled the rest
SWEEP_S = 10.0  # how often idle connections are looked for


class ClientListener:
    """Every client connection of the process. `draining` turns what is served into the last of its connection."""

    def __init__(self, service: Service, header_timeout_s: Callable[[], float]) -> None:
        self.service = service
        self.header_timeout_s = header_timeout_s
        self.draining = False
        # A client that is served needs a descriptor, and one towards its upstream.
        self.most = max(1, (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - DESCRIPTORS_KEPT) // 2)
        self.connections: set[ClientConnection] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.get_running_loop()
        self._sweeper: asyncio.TimerHandle | None = None
        self.hangups = Hangups(self._loop)

    def __repr__(self) -> str:
        return f"<ClientListener {len(self.connections)} connections{' draining' if self.draining else ''}>"

    async def open(self, sockets: list[socket.socket]) -> None:
        """Accept on sockets that listen already."""
        for sock in sockets:
            start = self._loop.create_unix_server if sock.family == socket.AF_UNIX else self._loop.create_server
            self._servers.append(await start(lambda: ClientConnection(self, self._loop), sock=sock))
        self._sweep()

    def stop_accepting(self) -> None:
        """No new connection; those that are idle are closed, the others end with their present request."""
        self.draining = True
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.close_if_idle()

    def crowded(self) -> OwnAnswer | None:
        """What a client that has just connected is to be told if there is no room for it."""
        if len(self.connections) <= self.most:
            return None
        return OwnAnswer(
            "queue_full",
            f"{self.most} clients are connected, as many as the limit on open files allows",
            retry_after_s=random.randint(2, 9),  # noqa: S311 - not all at once again
        )

    def serving(self) -> list[Request]:
        """The requests under way."""
        return [connection.request for connection in self.connections if connection.request is not None]

    def busy(self) -> bool:
        """Whether an answer is under way, or one that has ended is not all taken yet."""
        return any(connection.request is not None or connection.unsent() for connection in self.connections)

    def cut_all(self) -> None:
        """End every connection now; what is in the middle of an answer sees a cut."""
        for connection in list(self.connections):
            connection.cut(at_once=True)

    def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        self.hangups.close()

    def _sweep(self) -> None:
        oldest = self._loop.time() - IDLE_S
        for connection in list(self.connections):
            if connection.idle_since < oldest and connection.is_idle():
                connection.close_if_idle()
        self._sweeper = self._loop.call_later(SWEEP_S, self._sweep)
