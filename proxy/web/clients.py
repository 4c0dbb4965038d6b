# The listener for clients: accepts connections, sweeps idle ones, and drains.

import asyncio
import socket
from collections.abc import Callable

from proxy.wire.client import IDLE_S, ClientConnection, Service
from proxy.wire.hangup import Hangups
from proxy.wire.request import Request

SWEEP_S = 10.0  # how often idle connections are looked for


class ClientListener:
    """Every client connection of the process. `draining` turns what is served into the last of its connection."""

    def __init__(self, service: Service, header_timeout_s: Callable[[], float]) -> None:
        self.service = service
        self.header_timeout_s = header_timeout_s
        self.draining = False
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

    def serving(self) -> list[Request]:
        """The requests under way."""
        return [connection.request for connection in self.connections if connection.request is not None]

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
