# The admin API over real connections, in front of a real Runtime. Only the store is made up: it can be told to fail.

import asyncio
import contextlib
import itertools
import json
import os
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from proxy.config import Settings, load
from proxy.core.model import Slot, Ticket
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.log import Log
from proxy.service.runtime import Runtime
from proxy.service.telemetry import Telemetry
from proxy.store import Minute, ProviderRecord, SavedChange, SavedEvent, StoreError
from proxy.store.memory import MemoryStore
from proxy.web.admin import admin_app

Headers = Sequence[tuple[str, str]]
JSON = ("Content-Type", "application/json")
YAML = """
presets: false
upstreams:
  up: {url: "http://up.example:8443", limit: 1, cooldown: 350ms, max_hold: null}
  free: {url: "http://free.example"}
  auto: {url: "http://auto.example", limit: auto, cooldown: auto}
"""


class Shelf(MemoryStore):
    """A store that keeps what it is given, or says that it does not, or cannot be read."""

    kind = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.ok = self.readable = True
        self.saved: list[object] = []

    @property
    def error(self) -> str | None:  # type: ignore[override]
        return None if self.ok else "no space left"

    async def save_provider(self, record: ProviderRecord) -> bool:
        return self._save(record)

    async def save_star(self, workspace: str, starred: bool) -> bool:
        return self._save((workspace, starred))

    def _save(self, value: object) -> bool:
        if self.ok:
            self.saved.append(value)
        return self.ok

    async def append_events(self, events: Sequence[SavedEvent]) -> bool:
        return self.ok and await super().append_events(events)

    async def append_minutes(self, minutes: Sequence[Minute]) -> bool:
        return self.ok and await super().append_minutes(minutes)

    async def append_changes(self, changes: Sequence[SavedChange]) -> bool:
        return self.ok and await super().append_changes(changes)

    async def events_of(self, *args: Any, **more: Any) -> list[SavedEvent]:
        self._look()
        return await super().events_of(*args, **more)

    async def minutes(self, *args: Any, **more: Any) -> list[Minute]:
        self._look()
        return await super().minutes(*args, **more)

    async def changes(self, **more: Any) -> list[SavedChange]:
        self._look()
        return await super().changes(**more)

    def _look(self) -> None:
        if not self.readable:
            raise StoreError("state /state.db cannot be read: disk I/O error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """Of a refusal, which has just these keys."""
        assert set(self.json["error"]) == {"code", "message"}, self
        words: str = self.json["error"]["message"]
        return words


class Rig:
    """A runtime and its admin API. `yaml` is what a reload reads."""

    def __init__(self, yaml: str) -> None:
        self.yaml = yaml
        self._ids = itertools.count(1)  # not those of the runtime, which begin anywhere
        self.store = Shelf()
        self.runtime: Runtime
        self.address: tuple[str, int]
        self.session: aiohttp.ClientSession
        self.runner: web.AppRunner
        self._tasks: list[asyncio.Task[Slot]] = []

    def load(self) -> Settings:
        return load(None, env={"HOME": "/nowhere"}, text=self.yaml)

    # --- calls -------------------------------------------------------------------------------------------------------

    async def call(self, method: str, path: str, body: Any = None, headers: Headers = ()) -> Reply:
        """`body` is sent as JSON; bytes are sent as they are, without a content type."""
        sent = list(headers)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.append(JSON)
        url = URL(f"http://{self.address[0]}:{self.address[1]}{path}", encoded=True)
        async with self.session.request(method, url, data=body, headers=sent, allow_redirects=False) as answer:
            return Reply(status=answer.status, headers=answer.headers, body=await answer.read())

    async def get(self, path: str, headers: Headers = ()) -> Reply:
        return await self.call("GET", path, headers=headers)

    async def raw(self, request: bytes, address: Any = None) -> bytes:
        """The whole answer to these bytes, for what no client would send; it must end the connection."""
        if isinstance(address, str):
            reader, writer = await asyncio.open_unix_connection(address)
        else:
            reader, writer = await asyncio.open_connection(*(address or self.address))
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()

    # --- traffic -----------------------------------------------------------------------------------------------------

    def provider(self, provider_id: str = "up.example:8443") -> Admission:
        return self.runtime.admission(provider_id)

    def ticket(
        self, workspace: str = "default", conversation: str | None = None, prompt_started_at: int = 1_700_000_000_000
    ) -> Ticket:
        return Ticket(
            id=next(self._ids),
            workspace=workspace,
            conversation=conversation,
            prompt_started_at=prompt_started_at,
            path="/v1/messages",
        )

    async def hold(self, workspace: str = "default", *, of: str = "up.example:8443", **who: Any) -> Slot:
        """A slot that is free is taken."""
        return await self.provider(of).acquire(self.ticket(workspace, **who), {})

    async def wait(self, workspace: str = "default", *, of: str = "up.example:8443", **who: Any) -> asyncio.Task[Slot]:
        """Somebody waits."""
        task = asyncio.create_task(self.provider(of).acquire(self.ticket(workspace, **who), {}))
        self._tasks.append(task)
        await asyncio.sleep(0)
        assert not task.done()
        return task

    async def limited(self, status: int = 429, kind: str = "concurrency", retry_after_ms: int | None = 60_000) -> Slot:
        """A request got through to the provider, which refused it."""
        slot = await self.hold()
        self.provider().rate_limited(slot, status=status, kind=kind, retry_after_ms=retry_after_ms)
        return slot

    async def leave(self) -> None:
        for admission in self.runtime.admissions.values():
            admission.apply(admission.scheduler.drop_all("draining"))
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def a_rig(yaml: str = YAML, *, host: str = "127.0.0.1") -> AsyncIterator[Rig]:
    rig = Rig(yaml)
    clock, silent = Clock(asyncio.get_running_loop().time), os.open(os.devnull, os.O_WRONLY)
    settings = await asyncio.to_thread(rig.load)
    log = Log(settings.log, wall_ms=clock.wall_ms, fd=silent)
    rig.runtime = Runtime(
        settings,
        load=rig.load,
        store=rig.store,
        telemetry=lambda runtime: Telemetry(
            clock=clock, snapshots=runtime.snapshots, log=log, history=runtime.keep_events
        ),
        clock=clock,
        chance=random.Random(0),
        fingerprint_key=b"key of the tests",
    )
    await rig.runtime.start()
    rig.runtime.listening, rig.runtime.ready = ["127.0.0.1:8787"], True
    rig.runner = web.AppRunner(admin_app(rig.runtime), access_log=None, shutdown_timeout=1.0)
    await rig.runner.setup()
    site = web.TCPSite(rig.runner, host, 0)
    await site.start()
    rig.address = rig.runner.addresses[0][:2]
    async with aiohttp.ClientSession(
        skip_auto_headers=["Content-Type", "User-Agent"], timeout=aiohttp.ClientTimeout(10)
    ) as rig.session:
        try:
            yield rig
        finally:
            await rig.leave()
            await rig.runner.cleanup()
            await rig.runtime.close()
            await asyncio.to_thread(log.close)
            os.close(silent)
