# What one configuration means for requests: routes, readers of identity, and the pools of the upstreams.

import asyncio

from proxy.config import Settings, Upstream
from proxy.service.runtime import Runtime
from proxy.web.identity import Reader
from proxy.web.routing import Router
from proxy.wire.dial import Way
from proxy.wire.pool import Pool


class View:
    """Made for each configuration; takes over those pools of the one `before` whose upstream has not changed."""

    def __init__(self, runtime: Runtime, before: "View | None") -> None:
        self.settings: Settings = runtime.settings
        self.router = Router(self.settings)
        self.reader = Reader(self.settings.identity, runtime.fingerprint_key)
        self._pools: dict[str, tuple[Upstream, Pool]] = {}
        old = {} if before is None else dict(before._pools)  # its own requests go on using them
        for name, upstream in self.settings.upstreams.items():
            kept = old.get(name)
            if kept is not None and kept[0] == upstream and kept[1].way.tls is runtime.tls.get(name):
                self._pools[name] = old.pop(name)
                continue
            way = Way(
                url=upstream.url,
                tls=runtime.tls.get(name),
                timeout_s=upstream.connect_timeout_s,
                proxy=upstream.proxy,
                proxy_tls=runtime.proxy_tls,
            )
            self._pools[name] = (upstream, Pool(way, reuse=upstream.reuse, loop=asyncio.get_running_loop()))
        for _, pool in old.values():
            pool.close()

    def __repr__(self) -> str:
        return f"<View of {len(self._pools)} upstreams>"

    def pool(self, upstream: Upstream) -> Pool:
        """The connections of one of this configuration's upstreams."""
        return self._pools[upstream.name][1]

    def close(self) -> None:
        for _, pool in self._pools.values():
            pool.close()
