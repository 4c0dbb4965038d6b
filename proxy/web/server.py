# The process: sockets, signals, and the order in which things begin and end.
#
# Rule 1: ready is said when every listener accepts, and taken back first when the end begins.
# Rule 2: SIGTERM drains: no new connection; what runs may finish within the grace, waiters may still be granted; then
#         waiters are told, and the rest is cut. A second signal cuts at once. The state is stored in either case.
# Rule 3: the signs of life for systemd come from the loop that serves: a loop that hangs gives none.

import asyncio
import logging
import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from proxy.config import Settings, parse_address
from proxy.errors import ConfigErrors, StoreError
from proxy.service import systemd
from proxy.service.clock import Clock, wall_ms
from proxy.service.library_log import LibraryLog
from proxy.service.log import Log
from proxy.service.runtime import Runtime
from proxy.service.telemetry import Telemetry
from proxy.service.watch import watch_config, watch_heap, watch_history, watch_patience, watch_slots
from proxy.store import Store, open_store
from proxy.web import workers
from proxy.web.admin import admin_app
from proxy.web.clients import ClientListener
from proxy.web.forward import Forwarder
from proxy.web.greeting import greeting
from proxy.web.listeners import ADMIN, CLIENTS, ListenError, Sockets, raise_descriptor_limit

if TYPE_CHECKING:  # its package is there only where the state is shared
    from proxy.store.redis import RedisStore

OK, FAILED, BAD_CONFIG = 0, 1, 78  # 78: EX_CONFIG of sysexits.h
LAST_WORDS_S = 0.5  # how long refusals may take to leave after the grace
PARENT_S = 1.0  # between a worker's looks whether its parent lives
POLL_S = 0.05  # how often a drain looks whether everything has ended


def serve(load: Callable[[], Settings], settings: Settings, find: Callable[[], Path | None]) -> int:
    """Run until a signal ends it; the exit status. `load` loads the configuration again, for reloads; `find` says where
    its file is now."""
    try:
        import uvloop
    except ImportError:  # no build for this machine: asyncio's own loop does the same, slower
        factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    else:
        factory = uvloop.new_event_loop
    raise_descriptor_limit()
    log = Log(settings.log, wall_ms=wall_ms)
    library_log = LibraryLog(log)
    logging.getLogger().addHandler(library_log)
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            if settings.workers > 1 and workers.number(os.environ) is None:
                return runner.run(_supervise(settings, os.environ, log))
            return runner.run(_run(load, settings, find, os.environ, log))
    finally:
        logging.getLogger().removeHandler(library_log)
        log.close()


async def _supervise(settings: Settings, env: Mapping[str, str], log: Log) -> int:
    try:
        return await workers.supervise(settings, env, log)
    except ListenError as error:
        print(f"slotgate: {error}", file=sys.stderr)
        return FAILED


async def _run(
    load: Callable[[], Settings],
    settings: Settings,
    find: Callable[[], Path | None],
    env: Mapping[str, str],
    log: Log,
) -> int:
    clock = Clock(asyncio.get_running_loop().time)
    try:
        store = open_store(settings.state.kind, settings.state.target)
    except StoreError as error:  # a kind of state that this version does not have
        print(f"slotgate: {error}", file=sys.stderr)
        return BAD_CONFIG
    shared = _shared(store)
    runtime = Runtime(
        settings,
        server=None if shared is None else shared.server,
        load=load,
        store=store,
        telemetry=lambda runtime: Telemetry(
            clock=clock,
            snapshots=runtime.snapshots,
            log=log,
            history=runtime.keep_events,
            state_ok=lambda: runtime.state_error is None,
        ),
        clock=clock,
        chance=random.Random(),  # noqa: S311 - jitter is no secret
        fingerprint_key=secrets.token_bytes(32),
    )
    if shared is not None and runtime.link is not None:
        shared.replica = runtime.link.replica
    handed = workers.inherited(env) or systemd.inherited(env, os.getpid())
    sockets = Sockets(handed, settings.admin.listen)
    try:
        await runtime.start()
        return await Process(runtime, sockets, find, env).run()
    except (StoreError, ListenError) as error:
        print(f"slotgate: {error}", file=sys.stderr)
        return FAILED
    except ConfigErrors as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG
    finally:
        await runtime.close()
        sockets.close()


def _shared(store: Store) -> "RedisStore | None":
    if store.kind != "redis":
        return None
    from proxy.store.redis import RedisStore

    assert isinstance(store, RedisStore)
    return store


class Process:
    """A runtime with its listeners, from ready to drained."""

    def __init__(
        self, runtime: Runtime, sockets: Sockets, find: Callable[[], Path | None], env: Mapping[str, str]
    ) -> None:
        self._runtime = runtime
        self._sockets = sockets
        self._find = find
        self._env = env
        self._log = runtime.telemetry.log
        self._forwarder = Forwarder(runtime)
        self._clients = ClientListener(self._forwarder, lambda: runtime.settings.client_header_timeout_s)
        self._admin: web.AppRunner | None = None
        self._admin_address: str | None = None
        self._signals = 0
        self._ending = asyncio.Event()
        self._cutting = asyncio.Event()

    async def run(self) -> int:
        """Serve until a signal; OK once everything has ended."""
        await self._open()
        self._catch_signals()
        self._runtime.tasks.start(watch_config.__name__, watch_config(self._runtime, self._find))
        for watch in (watch_slots, watch_heap, watch_history, watch_patience):
            self._runtime.tasks.start(watch.__name__, watch(self._runtime))
        self._runtime.tasks.start("signs of life", self._live())
        if workers.number(self._env) is not None:
            self._runtime.tasks.start("parent", self._watch_parent(os.getppid()))
        self._runtime.ready = True
        systemd.notify(systemd.READY, self._env)
        self._greet()
        await self._ending.wait()
        await self._drain()
        return OK

    async def _open(self) -> None:
        settings, runtime = self._runtime.settings, self._runtime
        clients = self._sockets.of(CLIENTS, settings.listen)
        if settings.admin.listen is not None:
            self._admin = web.AppRunner(admin_app(runtime), access_log=None, shutdown_timeout=1.0)
            await self._admin.setup()
            for sock in self._sockets.of(ADMIN, (settings.admin.listen,)):
                self._check_admin(self._sockets.name(sock))
                await web.SockSite(self._admin, sock).start()
        await self._clients.open(clients)
        runtime.listening = [self._sockets.name(sock) for sock in clients]

    def _check_admin(self, address: str) -> None:
        """The configuration's rule, for an address that a service manager chose."""
        if self._runtime.settings.admin.token is None and not parse_address(address).is_loopback:
            raise ListenError(f"the admin listener at {address} can be reached by others: set admin.token_file")
        self._admin_address = address

    def _greet(self) -> None:
        settings, admin = self._runtime.settings, self._admin_address
        limits: dict[str, int | str | None] = {
            snapshot.provider_id: "auto" if snapshot.learns_limit and snapshot.limit is None else snapshot.limit
            for snapshot in self._runtime.snapshots()
        }
        limited = {name: limits.get(upstream.provider_id) for name, upstream in settings.upstreams.items()}
        if not workers.number(self._env):  # of several the first speaks for all
            print(greeting(self._runtime.listening, admin, limited), flush=True)
        self._log.info("proxy.started", listen=self._runtime.listening, admin=admin, store=self._runtime.store.kind)
        if self._runtime.store.damaged is not None:
            self._log.error("state.damaged", set_aside=str(self._runtime.store.damaged), why=self._runtime.store.damage)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._runtime.tasks.start("reload", self._reload()))

    def _end(self, number: signal.Signals) -> None:
        self._signals += 1
        running = len(self._clients.serving())
        waiting = sum(admission.waiting_here for admission in self._runtime.admissions.values())
        grace_s = self._runtime.settings.shutdown.grace_s if self._signals == 1 else 0.0
        self._log.info("proxy.stopping", signal=number.name, serving=running, waiting=waiting, grace_s=grace_s)
        (self._ending if self._signals == 1 else self._cutting).set()

    async def _reload(self) -> None:
        systemd.notify(systemd.reloading(time.monotonic_ns()), self._env)
        try:
            await self._runtime.reload()
        except ConfigErrors:
            pass  # reported by the runtime; the old configuration stays in force
        finally:
            systemd.notify(systemd.READY, self._env)

    async def _live(self) -> None:
        interval_s = systemd.watchdog_interval_s(self._env, os.getpid())
        while interval_s is not None:
            systemd.notify(systemd.ALIVE, self._env)
            await asyncio.sleep(interval_s)

    async def _watch_parent(self, parent: int) -> None:
        """A worker whose parent was killed would keep its addresses for ever."""
        while os.getppid() == parent:
            await asyncio.sleep(PARENT_S)
        self._end(signal.SIGTERM)

    async def _drain(self) -> None:
        runtime, clients = self._runtime, self._clients
        runtime.ready = False
        self._forwarder.drain()
        systemd.notify(systemd.STOPPING, self._env)
        clients.stop_accepting()
        await self._quiet_within(runtime.settings.shutdown.grace_s)
        if not self._cutting.is_set():
            for admission in runtime.admissions.values():
                admission.drop_all("draining")
            await asyncio.sleep(POLL_S)  # the refused tasks write their answers
            await self._flushed_within(LAST_WORDS_S)
        running = len(clients.serving())
        clients.cut_all()
        await self._quiet_within(LAST_WORDS_S, cut=True)
        clients.close()
        self._forwarder.close()
        runtime.telemetry.events.close()
        if self._admin is not None:
            await self._admin.cleanup()
        self._log.info("proxy.stopped", cut=running)

    async def _quiet_within(self, limit_s: float, *, cut: bool = False) -> None:
        """Wait until nothing is served, the time is over, or a second signal says that it is."""
        end_at = self._runtime.clock.now() + limit_s
        while self._clients.busy() and self._runtime.clock.now() < end_at:
            if self._cutting.is_set() and not cut:
                return
            await asyncio.sleep(POLL_S)

    async def _flushed_within(self, limit_s: float) -> None:
        """Give answers that are written a moment to leave."""
        end_at = self._runtime.clock.now() + limit_s
        while any(c.unsent() for c in self._clients.connections) and self._runtime.clock.now() < end_at:
            await asyncio.sleep(POLL_S)
