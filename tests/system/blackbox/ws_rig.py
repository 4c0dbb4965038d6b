# One proxy in front of WebSocket servers of both libraries, for the tests of a module.
#
# Rule 1: a test ends at rest, as with `rig`: no slot held, nobody waiting, no socket left at a server.

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from blackbox import ws_aiohttp, ws_websockets
from blackbox.process import Proxy
from blackbox.rig import Make, Options, Rig, a_rig
from blackbox.ws import Door, Server, Socket

LIBRARIES: Mapping[str, Any] = {"websockets": ws_websockets, "aiohttp": ws_aiohttp}
PAIRS = [(client, server) for client in LIBRARIES for server in LIBRARIES]


class Tunnels:
    """`rig` is the proxy with its admin API; `servers` are its upstreams and their providers, by name."""

    def __init__(self, rig: Rig, servers: Mapping[str, Server]) -> None:
        self.rig = rig
        self.servers = servers
        self._clients: list[Socket] = []
        self._connecting: list[asyncio.Task[Socket]] = []

    async def connect(self, upstream: str = "websockets", *, by: str = "websockets", **options: Any) -> Socket:
        """A client through the proxy."""
        return self._kept(await LIBRARIES[by].connect(self.url(upstream), **options))

    async def line_up(self, *names: str, upstream: str = "websockets", **options: Any) -> list[asyncio.Task[Socket]]:
        """Upgrades that have to wait; each is in the queue before the next one comes."""
        already = (await self.rig.status(upstream))["queued"]
        for count, name in enumerate(names, already + 1):
            self._connecting.append(asyncio.create_task(self.connect(upstream, name=name, **options)))
            await self.rig.queued(count, upstream)
        return self._connecting[-len(names) :]

    async def connect_directly(self, server: str = "websockets", *, by: str = "websockets", **options: Any) -> Socket:
        """The same client without the proxy."""
        url = self.servers[server].url.replace("http", "ws", 1)
        return self._kept(await LIBRARIES[by].connect(url + "/v1/realtime", **options))

    async def pair(self, upstream: str = "websockets", **options: Any) -> tuple[Socket, Socket]:
        """A tunnel's two ends, the client's first."""
        client = await self.connect(upstream, **options)
        return client, await self.door(upstream).socket()

    def url(self, upstream: str) -> str:
        host, port = self.rig.proxy.address
        return f"ws://{host}:{port}/{upstream}/v1/realtime"

    def door(self, upstream: str = "websockets") -> Door:
        return self.servers[upstream].door

    async def reset(self) -> None:
        """Every socket ends, and every setting is as the file has it. Fails where a slot was lost."""
        await self.leave()
        for server in self.servers.values():
            server.door.clear()
        await self.rig.reset()

    async def leave(self) -> None:
        """Every client vanishes, those that wait as well."""
        for task in self._connecting:
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        self._connecting.clear()
        for client in self._clients:
            client.leave("rst")
            await client.ended()
        self._clients.clear()

    def _kept(self, client: Socket) -> Socket:
        self._clients.append(client)
        return client


@contextlib.asynccontextmanager
async def serving(**servers: Server) -> AsyncIterator[None]:
    """These servers, running."""
    async with contextlib.AsyncExitStack() as stack:
        for server in servers.values():
            await server.start()
            stack.push_async_callback(server.stop)
        yield


@contextlib.asynccontextmanager
async def tunnels_to(
    directory: Path,
    servers: Mapping[str, Server],
    upstreams: Mapping[str, Options],
    *,
    make: Make = Proxy,
    **top: Any,
) -> AsyncIterator[Tunnels]:
    """A running proxy. Each upstream is its own provider. Its option `server` names its server, if that is not of its
    own name; None is a raw one, in `rig.upstreams`."""
    async with serving(**servers):
        configured, behind = {}, {}
        for name, options in upstreams.items():
            configured[name] = {"provider": name, "cooldown": "0s", **options}
            server = configured[name].pop("server", name)
            if server is not None:
                behind[name] = servers[server]
                configured[name]["url"] = servers[server].url
        async with a_rig(directory, configured, top, make=make) as rig:
            tunnels = Tunnels(rig, behind)
            yield tunnels
            await tunnels.leave()
