# A TCP relay in front of Redis, which is the network between: passes everything on, holds it, cuts it, or cuts it in
# the middle of what is said.
#
# Rule 1: what it holds it passes on later, in order, as a network does that comes back.
# Rule 2: one relay may stand before some replicas and not before others: it parts these alone from Redis.

import asyncio
import contextlib

COMMAND, REPLY = "command", "reply"


class Relay:
    """Listens on a port of its own; new connections go to `target`, which may change."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.bitten = 0
        self._bites: set[str] = set()
        self._refusing = False
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    async def stop(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.reset()

    # --- what may happen to it -------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Nothing passes, in either direction, and nobody is told."""
        self._open.clear()

    def refuse(self) -> None:
        """Every connection is reset, and every new one."""
        self._refusing = True
        self.reset()

    def let(self) -> None:
        """Everything passes again."""
        self._refusing = False
        self._bites.clear()
        self._open.set()

    def reset(self) -> None:
        """Every connection is reset; new ones pass."""
        for writer in self._writers:
            writer.transport.abort()

    def bite(self, what: str) -> None:
        """The next COMMAND or REPLY is passed on by half, and its connection reset."""
        self._bites.add(what)

    # --- passing on ------------------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            if not self._refusing:
                await self._open.wait()
                await self._between(reader, writer)
        except OSError:
            pass  # nobody is there
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _between(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(*self.target)
        self._writers.add(to_server)
        ways = [self._pass_on(reader, to_server, COMMAND), self._pass_on(from_server, writer, REPLY)]
        work = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in work:
                one.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            to_server.transport.abort()
            self._writers.discard(to_server)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, what: str) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                if what in self._bites:
                    self._bites.discard(what)
                    self.bitten += 1
                    writer.write(data[: len(data) // 2])
                    await asyncio.sleep(0)  # the half has left before the connection is reset
                    return
                writer.write(data)
                await writer.drain()
