# Names to addresses, for connections.
#
# Rule 1: a literal address needs no look-up, so that no name server can hold it up.
# Rule 2: one look-up per name at a time, in a thread of its own: a name server that hangs holds up that name alone, not
#         others (uvloop's own look-ups share four threads), and a daemon thread never keeps the process from ending.
# Rule 3: nothing is remembered: each connection asks again, so that a changed address is followed.

import asyncio
import socket
import threading
from typing import Any

AddressInfo = tuple[Any, Any, int, str, tuple[Any, ...]]


class Resolver:
    """Looks names up for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending: dict[tuple[str, int], asyncio.Future[list[AddressInfo]]] = {}

    def __repr__(self) -> str:
        return f"<Resolver looking up {sorted(host for host, _ in self._pending)}>"

    async def look_up(self, host: str, port: int) -> list[AddressInfo]:
        """What getaddrinfo says of a TCP service. OSError if there is no such name, or no answer."""
        try:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            pass  # a name
        pending = self._pending.get((host, port))
        if pending is None:
            pending = self._pending[host, port] = self._loop.create_future()
            threading.Thread(target=self._ask, args=(host, port, pending), name=f"dns {host}", daemon=True).start()
        return await asyncio.shield(pending)

    def _ask(self, host: str, port: int, pending: asyncio.Future[list[AddressInfo]]) -> None:
        found: list[AddressInfo] | OSError
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            found = error
        except UnicodeError:  # a label that is too long for a name
            found = socket.gaierror(socket.EAI_NONAME, "the name cannot be encoded")
        try:
            self._loop.call_soon_threadsafe(self._told, host, port, pending, found)
        except RuntimeError:
            return  # the loop has ended meanwhile: nobody waits any more

    def _told(
        self,
        host: str,
        port: int,
        pending: asyncio.Future[list[AddressInfo]],
        found: list[AddressInfo] | OSError,
    ) -> None:
        self._pending.pop((host, port), None)
        if isinstance(found, OSError):
            pending.set_exception(found)
            pending.exception()  # seen, also when everybody who asked has given up
        else:
            pending.set_result(found)
