# A primary, its copy, and a sentinel that makes the copy the primary when the first one is gone.

from collections.abc import Sequence
from pathlib import Path

from blackbox.waiting import until

from replicas.redis_server import RedisServer

SERVICE = "slots"


class Sentinel(RedisServer):
    """Watches `primary`; one of it is a majority."""

    def __init__(self, directory: Path, primary: RedisServer) -> None:
        super().__init__(directory, ("--sentinel",))
        self.primary = primary

    @property
    def url(self) -> str:
        return f"redis+sentinel://{self.host}:{self.port}/{SERVICE}/0"

    def _file(self) -> Sequence[str]:
        """It writes into its file what it has learned."""
        file = self.directory / "sentinel.conf"
        watched = f"sentinel monitor {SERVICE} {self.primary.host} {self.primary.port} 1"
        quickly = (f"down-after-milliseconds {SERVICE} 1000", f"failover-timeout {SERVICE} 4000")
        file.write_text("\n".join([watched, *(f"sentinel {line}" for line in quickly), ""]))
        return (str(file),)

    async def knows_the_copy(self) -> None:
        await until(self._has_seen_it, what="the sentinel to know the copy")

    async def _has_seen_it(self) -> bool:
        return bool(await self.ask("SENTINEL", "REPLICAS", SERVICE))

    async def has_failed_over(self, to: RedisServer) -> None:
        async def done() -> bool:
            found = await self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
            return int(found[1]) == to.port

        await until(done, timeout=30, every=0.1, what="the failover")


async def follows(copy: RedisServer, primary: RedisServer) -> None:
    """Returns when `copy` has everything that `primary` has."""
    await copy.ask("REPLICAOF", primary.host, primary.port)

    async def linked() -> bool:
        role = await copy.ask("ROLE")
        return bool(role[0] == b"slave" and role[3] == b"connected")

    await until(linked, what="the copy to have caught up")
