# Several processes of one configuration and one shared state behind the face of one (process.py): what a client or an
# operator does goes to one of them after the other, as behind a load balancer.
#
# Rule 1: who connects goes to the next one, whoever went before: nothing may depend on where a request went.
# Rule 2: what a person does to the process (a signal, a new file, a restart) is done to all.
# Rule 3: the file is one: where each listens comes from its environment.

import asyncio
import itertools
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from blackbox.admin import Admin
from blackbox.client import Headers, RawClient
from blackbox.events import EventStream, MergedEvents
from blackbox.process import Proxy, free_ports
from blackbox.waiting import PATIENCE, until

LISTEN, ADMIN = "SLOTGATE_TEST_LISTEN", "SLOTGATE_TEST_ADMIN"  # variables of each one's environment


class Replicas:
    """`count` of them; `config` says where the state lies that they share."""

    def __init__(self, directory: Path, config: Mapping[str, Any], count: int) -> None:
        self.directory = directory
        self.members = [Proxy(directory, config) for _ in range(count)]
        self.file = self.members[0].file
        self.state = self.members[0].state
        self.config = self.members[0].config
        self.ready_headers: Headers = ()
        self._clients, self._operators = itertools.cycle(self.members), itertools.cycle(self.members)

    @property
    def address(self) -> tuple[str, int]:
        """Where the next client goes."""
        return next(self._clients).address

    @property
    def admin_address(self) -> tuple[str, int]:
        return next(self._operators).admin_address

    @property
    def admin(self) -> Admin:
        """Of the next one; a reload goes to all."""
        chosen = next(self._operators)
        return Admin(chosen.admin_address, [one.admin_address for one in self.members if one is not chosen])

    @property
    def admins(self) -> list[Admin]:
        return [next(self._operators).admin for _ in self.members]

    async def events(self, headers: Headers) -> MergedEvents:
        opening = [EventStream.open(one.admin_address, "/concurrency/events", headers) for one in self.members]
        return MergedEvents(await asyncio.gather(*opening))

    @property
    def pid(self) -> int:
        raise AssertionError("there are several; a test of one process is marked so")

    def write(self, changes: Mapping[str, Any] | None = None) -> None:
        self.config = {**self.config, **(changes or {})}
        self.file.write_text(yaml.safe_dump(self.config, sort_keys=False))

    async def start(self) -> None:
        for _ in range(3):
            self._take_ports()
            admin = {**self.config.get("admin", {}), "listen": f"${{{ADMIN}}}"}
            self.write({"listen": f"${{{LISTEN}}}", "admin": admin})
            if await self._run():
                return
            if "in use" not in self.output:
                break
            await self.discard()
        raise AssertionError(f"the replicas did not start:\n{self.tail()}")

    async def spawn(self, *arguments: str) -> None:
        if not all("listen" in one.config for one in self.members):
            self._take_ports()
        await asyncio.gather(*(one.spawn(*arguments, environment=_places(one)) for one in self.members))

    def _take_ports(self) -> None:
        ports = iter(free_ports(2 * len(self.members)))
        for one in self.members:
            one.config = {"listen": f"127.0.0.1:{next(ports)}", "admin": {"listen": f"127.0.0.1:{next(ports)}"}}
            one.ready_headers = self.ready_headers

    async def _run(self) -> bool:
        await self.spawn()
        return all(await asyncio.gather(*(one.becomes_ready() for one in self.members)))

    # --- their end -------------------------------------------------------------------------------------------------

    def over(self) -> bool:
        return all(one.over() for one in self.members)

    def signal(self, number: int) -> None:
        for one in self.members:
            if not one.over():
                one.signal(number)

    async def ended(self, *, timeout: float = PATIENCE) -> int:
        """The exit status, which must be that of all."""
        (status,) = set(await asyncio.gather(*(one.ended(timeout=timeout) for one in self.members)))
        return status

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> None:
        await asyncio.gather(*(one.stop() for one in self.members))

    async def discard(self) -> None:
        await asyncio.gather(*(one.discard() for one in self.members))

    async def restart(self) -> None:
        assert self.over()
        await self.start()

    async def come_back(self) -> None:
        assert self.over()
        assert await self._run(), f"the replicas did not come back:\n{self.tail()}"

    # --- what they say ---------------------------------------------------------------------------------------------

    @property
    def output(self) -> str:
        return "".join(one.output for one in self.members)

    def tail(self, lines: int = 60) -> str:
        each = (f"--- replica {number} ---\n{one.tail(lines)}" for number, one in enumerate(self.members))
        return "\n".join(each)

    @property
    def log(self) -> list[dict[str, Any]]:
        """Of all, one replica's after the other's."""
        return [line for one in self.members for line in one.log]

    async def logged(self, predicate: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Waits for a log line of which `predicate` is true, of any."""
        line: dict[str, Any] = await until(lambda: next(filter(predicate, self.log), None), what="a line in a log")
        return line

    async def connect(self, *, receive_buffer: int | None = None) -> RawClient:
        return await RawClient.connect(self.address, receive_buffer=receive_buffer)


def _places(one: Proxy) -> Mapping[str, str]:
    return {LISTEN: one.config["listen"], ADMIN: one.config["admin"]["listen"]}
