# Several processes on one machine that serve the same addresses (`workers: N`): this one opens the sockets, starts the
# workers, and waits for them.
#
# Rule 1: each worker has a socket of its own for each TCP address (SO_REUSEPORT), so that the kernel spreads
#         connections evenly. Those of unix paths, and those that a service manager opened, are shared.
# Rule 2: all sockets stay open here: who has connected to a worker that died waits for the one that takes its place.
# Rule 3: a worker that dies is replaced. One that ends before all were ever ready will not do better: then all end.
# Rule 4: signals go to all workers. The service manager hears that all are ready, that all are, and that all live.

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from proxy.config import Address, Settings
from proxy.service import systemd
from proxy.service.log import Log
from proxy.web.listeners import ADMIN, CLIENTS, Sockets, open_sockets

NUMBER, DESCRIPTORS = "SLOTGATE_WORKER", "SLOTGATE_WORKER_FDS"  # in a worker's environment
AGAIN_S = 1.0  # between the death of a worker and its successor
MESSAGE_MAX = 4096  # bytes of a message to the service manager
FAILED = 1


def number(env: Mapping[str, str]) -> int | None:
    """Which worker this process is; None: it is none."""
    said = env.get(NUMBER)
    return int(said) if said is not None and said.isdecimal() else None


def inherited(env: Mapping[str, str]) -> dict[str, list[int]]:
    """The descriptors of a worker's sockets, by what they are for."""
    found: dict[str, list[int]] = {}
    for part in filter(None, env.get(DESCRIPTORS, "").split(",")):
        role, _, descriptor = part.partition(":")
        found.setdefault(role, []).append(int(descriptor))
    return found


async def supervise(settings: Settings, env: Mapping[str, str], log: Log) -> int:
    """Run `settings.workers` processes until a signal ends them; the exit status. ListenError: an address cannot be
    listened on."""
    sockets = Sockets(systemd.inherited(env, os.getpid()), settings.admin.listen)
    try:
        with tempfile.TemporaryDirectory(prefix="slotgate-") as directory:
            workers = _Workers(_own_sockets(sockets, settings), env, log, Path(directory, "notify"))
            try:
                return await workers.run()
            finally:
                workers.close()
    finally:
        sockets.close()


def _own_sockets(sockets: Sockets, settings: Settings) -> list[dict[str, list[socket.socket]]]:
    """For each worker its sockets by role: own ones where that can be, else those of all."""
    admin = [] if settings.admin.listen is None else [settings.admin.listen]
    first = {
        CLIENTS: sockets.of(CLIENTS, settings.listen, spread=True),
        ADMIN: sockets.of(ADMIN, admin, spread=True) if admin else [],
    }
    return [
        first,
        *({role: _again(mine, sockets) for role, mine in first.items()} for _ in range(settings.workers - 1)),
    ]


def _again(found: list[socket.socket], sockets: Sockets) -> list[socket.socket]:
    """Others at the same addresses, or the same ones where that cannot be."""
    again: list[socket.socket] = []
    for sock in found:
        if sockets.opened(sock) and sock.family != socket.AF_UNIX:
            host, port = sock.getsockname()[:2]
            again += sockets.keep(open_sockets(Address(host=host, port=port), spread=True))
        else:
            again.append(sock)
    return again


class _Worker:
    """The process in one of the places."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready = self.reloading = self.alive = False


class _Workers:
    """`notify_at`: where workers send what they would tell the service manager."""

    def __init__(
        self, sockets: list[dict[str, list[socket.socket]]], env: Mapping[str, str], log: Log, notify_at: Path
    ) -> None:
        self._sockets = sockets
        self._env = env
        self._log = log
        self._notify_at = notify_at
        self._workers: dict[int, _Worker] = {}
        self._ending = False
        self._status = 0
        self._ever_ready = False
        self._inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inbox.setblocking(False)
        self._inbox.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._inbox.bind(str(notify_at))

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._inbox, self._hear)
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(one, self._signal, one)
        await asyncio.gather(*(self._keep(place) for place in range(len(self._sockets))))
        return self._status

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._inbox)
        self._inbox.close()

    async def _keep(self, place: int) -> None:
        """Have a worker in this place until all end."""
        while not self._ending:
            worker = self._workers[place] = await self._start(place)
            status = await worker.process.wait()
            del self._workers[place]
            if self._ending:
                return
            if not (worker.ready or self._ever_ready):
                self._status = status if status > 0 else FAILED
                self._signal(signal.SIGTERM)
                return
            self._log.error("worker.died", number=place, status=status)
            await asyncio.sleep(AGAIN_S)

    async def _start(self, place: int) -> _Worker:
        mine = self._sockets[place]
        descriptors = [(role, sock.fileno()) for role, found in mine.items() for sock in found]
        # `pass_fds` keeps the numbers; what is for this process alone is not for its children.
        env = {
            name: value for name, value in self._env.items() if name not in ("LISTEN_PID", "LISTEN_FDS", "WATCHDOG_PID")
        }
        env |= {
            NUMBER: str(place),
            DESCRIPTORS: ",".join(f"{role}:{descriptor}" for role, descriptor in descriptors),
            "NOTIFY_SOCKET": str(self._notify_at),
        }
        command = [sys.executable, "-m", "proxy", *sys.argv[1:]]
        process = await asyncio.create_subprocess_exec(
            *command, env=env, stdin=asyncio.subprocess.DEVNULL, pass_fds=[descriptor for _, descriptor in descriptors]
        )
        return _Worker(process)

    def _signal(self, number: int) -> None:
        if number != signal.SIGHUP:
            if not self._ending:
                systemd.notify(systemd.STOPPING, self._env)
            self._ending = True
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                worker.process.send_signal(number)

    # --- what is told to the service manager ---

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            while True:
                message, ancillary, _, _ = self._inbox.recvmsg(MESSAGE_MAX, socket.CMSG_SPACE(12))
                pid = next((int.from_bytes(data[:4], sys.byteorder) for _, _, data in ancillary), 0)
                worker = next((one for one in self._workers.values() if one.process.pid == pid), None)
                if worker is not None:
                    self._told(worker, message.decode(errors="replace"))

    def _told(self, worker: _Worker, message: str) -> None:
        everybody = self._workers.values()
        if message.startswith("RELOADING"):
            if not any(one.reloading for one in everybody):
                systemd.notify(message, self._env)
            worker.reloading = True
        elif message == systemd.READY:
            reloaded, worker.reloading = worker.reloading, False
            first, worker.ready = not self._ever_ready, True
            complete = len(everybody) == len(self._sockets) and all(one.ready for one in everybody)
            if (first and complete) or (reloaded and not any(one.reloading for one in everybody)):
                self._ever_ready = self._ever_ready or complete
                systemd.notify(systemd.READY, self._env)
        elif message == systemd.ALIVE:
            worker.alive = True
            if all(one.alive for one in everybody):
                for one in everybody:
                    one.alive = False
                systemd.notify(systemd.ALIVE, self._env)
