# A Runtime with its configuration file and its state file, that can be started again.

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from proxy.config import Settings, load
from proxy.core.model import Slot, Ticket
from proxy.core.scheduler import Scheduler
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.log import Log
from proxy.service.runtime import Runtime
from proxy.service.telemetry import Telemetry
from proxy.store import Store, open_store


class Desk:
    """One provider `p` behind one upstream `up`. `said` is every line of the log at level error or warning."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "slotgate.yaml"
        self.state = directory / "state.db"
        self.said: list[tuple[str, dict[str, object]]] = []
        self.store: Store | None = None  # instead of the file's
        self.write()

    def write(self, entry: Mapping[str, Any] | None = None, /, **options: Any) -> None:
        """The configuration file: `entry` are the keys of the upstream besides its address."""
        upstream = {"url": "http://127.0.0.1:9", "provider": "p", "limit": 4, **(entry or {})}
        wanted = {
            "presets": False,
            "state": str(self.state),
            "upstreams": {"up": {key: value for key, value in upstream.items() if value is not ...}},
            **options,
        }
        self.file.write_text(yaml.safe_dump(wanted))

    async def start(self) -> Runtime:
        settings = await asyncio.to_thread(self._load)
        clock = Clock(asyncio.get_running_loop().time)
        self._null = os.open(os.devnull, os.O_WRONLY)
        self._log = Log(settings.log, wall_ms=clock.wall_ms, fd=self._null)
        self._log.error = self._log.warning = self._hear  # type: ignore[method-assign]
        self.runtime = Runtime(
            settings,
            load=self._load,
            store=self.store or open_store(settings.state.kind, settings.state.target),
            telemetry=self._telemetry,
            clock=clock,
            chance=random.Random(1),
            fingerprint_key=b"key of the tests",
        )
        await self.runtime.start()
        return self.runtime

    async def stop(self) -> None:
        await self.runtime.close()
        await asyncio.to_thread(self._log.close)
        os.close(self._null)

    async def restart(self, entry: Mapping[str, Any] | None = None, /) -> Runtime:
        """Stop, write the file again if `entry` is given, and start with the same state."""
        await self.stop()
        if entry is not None:
            self.write(entry)
        return await self.start()

    async def reload(self, entry: Mapping[str, Any] | None = None, /, **options: Any) -> tuple[list[str], list[str]]:
        self.write(entry, **options)
        return await self.runtime.reload()

    @property
    def admission(self) -> Admission:
        return self.runtime.admission("p")

    @property
    def scheduler(self) -> Scheduler:
        return self.admission.scheduler

    def ticket(self, workspace: str = "w") -> Ticket:
        return Ticket(
            id=self.runtime.next_ticket_id(), workspace=workspace, conversation=None, prompt_started_at=0, path="/"
        )

    async def slot(self) -> Slot:
        return await self.admission.acquire(self.ticket(), {})

    def ask(self, workspace: str = "w", credentials: Mapping[str, str] | None = None) -> "asyncio.Task[Slot]":
        async def acquire() -> Slot:
            return await self.admission.acquire(self.ticket(workspace), credentials or {})

        return asyncio.create_task(acquire())

    def _hear(self, event: str, /, **fields: object) -> None:
        self.said.append((event, fields))

    def _load(self) -> Settings:
        return load(self.file, env={})

    def _telemetry(self, runtime: Runtime) -> Telemetry:
        made: Callable[[], Telemetry] = partial(
            Telemetry, clock=runtime.clock, snapshots=runtime.snapshots, log=self._log, history=runtime.keep_events
        )
        return made()
