# (temporary)
from collections.abc import Sequence
from typing import Any

import redis.asyncio
import redis.exceptions


class Away(Exception):
    """The server cannot be reached, or will not do what it is asked."""


class Server:
    def __init__(self, url: str) -> None:
        self._url, _, query = url.partition("?")
        self.name = url
        self.prefix = query.partition("=")[2] or "slotgate"

    def client(self) -> Any:
        return redis.asyncio.Redis.from_url(
            self._url,
            single_connection_client=True,
            socket_timeout=10,
            retry=redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0),
        )

    async def run_id(self, client: Any) -> str | None:
        return (await client.info("server"))["run_id"]

    async def prepare(self, client: Any) -> None:
        await client.ping()

    async def evaluate(self, client: Any, sha: str, calls: Sequence[tuple[str, bytes]]) -> list[bytes | Exception]:
        pipeline = client.pipeline(transaction=False)
        for key, packed in calls:
            pipeline.evalsha(sha, 1, key, packed)
        return await pipeline.execute(raise_on_error=False)

    def away(self, error: BaseException) -> Away:
        return error if isinstance(error, Away) else Away(f"state {self.name}: {error!r}")

    def refused(self, error: Exception) -> Exception:
        return error if "script" in str(error) and not isinstance(error, redis.exceptions.NoScriptError) else self.away(error)
