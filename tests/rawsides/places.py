# More places at which a rig listens, and clients that come there.

import asyncio
import socket
from typing import Self

from proxy.config import Address
from proxy.web.listeners import open_sockets
from rawsides.peer import Peer
from rawsides.rig import Rig

FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6, "unix": socket.AF_UNIX}


class Places:
    """A rig that listens at ::1 and at a unix socket as well; `close` before the rig."""

    def __init__(self, rig: Rig, opened: dict[str, socket.socket]) -> None:
        self._rig = rig
        self._opened = opened
        self._peers: list[Peer] = []

    @classmethod
    async def open(cls, rig: Rig, path: str) -> Self:
        wanted = {"ipv6": Address(host="::1", port=0), "unix": Address(kind="unix", path=path)}
        opened = {kind: (await asyncio.to_thread(open_sockets, place))[0] for kind, place in wanted.items()}
        await rig.listener.open(list(opened.values()))
        return cls(rig, opened)

    async def connect(self, kind: str) -> Peer:
        """A client that comes by `kind`, a key of FAMILIES."""
        sock = socket.socket(FAMILIES[kind])
        sock.setblocking(False)
        place = self._rig.address if kind == "ipv4" else self._opened[kind].getsockname()
        await asyncio.get_running_loop().sock_connect(sock, place)
        self._peers.append(Peer(sock))
        return self._peers[-1]

    async def close(self) -> None:
        for peer in self._peers:
            peer.close()
        self._rig.listener.stop_accepting()
        for sock in self._opened.values():
            sock.close()
