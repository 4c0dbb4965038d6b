# One provider with its admission, and callers that ask it for slots.

import asyncio
import random
from collections.abc import Mapping

from proxy.core.model import Effect, Policy, Slot, Ticket
from proxy.core.scheduler import Scheduler
from proxy.service.clock import Clock
from proxy.service.local_admission import LocalAdmission


class Desk:
    """`seen` is every effect that was observed, `kept` those that change what is stored, `polls` the credentials of
    every poll that was asked for."""

    def __init__(self, limit: int | None = 1, *, cooldown_s: float = 0.0, policy: Policy | None = None) -> None:
        self.seen: list[Effect] = []
        self.kept: list[Effect] = []
        self.polls: list[Mapping[str, str]] = []
        self.peak = 0
        loop = asyncio.get_running_loop()
        self.clock = Clock(loop.time)
        self.scheduler = Scheduler("p", policy or Policy(), set(), limit=limit, cooldown_s=cooldown_s)
        self.admission = LocalAdmission(
            self.scheduler,
            clock=self.clock,
            loop=loop,
            observe=self._observe,
            keep=lambda provider_id, effect: self.kept.append(effect),
            poll=lambda admission, credentials, tell: self.polls.append(credentials),
            chance=random.Random(1),
        )
        self._ids = 0

    def ticket(self) -> Ticket:
        self._ids += 1
        return Ticket(id=self._ids, workspace="w", conversation=None, prompt_started_at=0, path="/")

    async def slot(self) -> Slot:
        """A slot that is free."""
        return await self.admission.acquire(self.ticket(), {})

    def ask(self, credentials: Mapping[str, str] | None = None) -> "asyncio.Task[Slot]":
        """A caller that waits, or has its slot, once the loop has turned."""

        async def acquire() -> Slot:
            return await self.admission.acquire(self.ticket(), credentials or {})

        return asyncio.create_task(acquire())

    async def held_and_waiting(self, waiters: int) -> tuple[Slot, list["asyncio.Task[Slot]"]]:
        """One holder, and that many behind it; their tickets are 1, 2, …"""
        slot = await self.slot()
        tasks = [self.ask() for _ in range(waiters)]
        await asyncio.sleep(0)
        assert len(self.scheduler.waiting) == waiters
        return slot, tasks

    def names(self) -> list[str]:
        """What was observed, by name."""
        return [type(effect).__name__ for effect in self.seen]

    def _observe(self, provider_id: str, effect: Effect) -> None:
        assert provider_id == "p"
        self.seen.append(effect)
        self.peak = max(self.peak, self.scheduler.in_flight)
