# Everything that lives as long as the process: the providers' queues, the state, the configuration in force.
#
# Rule 1: a change is made first and stored then; an operator's call is answered when it is stored (spec §13).
# Rule 2: a reload validates everything before it changes anything, and then changes it without an await in between.
# Rule 3: a provider once known stays known: what runs or waits there is never disturbed by a new configuration.

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from proxy.config import Provider, Settings, diff, effective
from proxy.core.model import Effect, Policy, Snapshot
from proxy.core.turns import Turns
from proxy.errors import ConfigErrors, StoreError
from proxy.service import standing as standings
from proxy.service.admission import TICKETS, Admission, Credentials, Tell
from proxy.service.audit import Actor, Audit, InForce, What, in_force
from proxy.service.builder import Builder
from proxy.service.clock import Clock
from proxy.service.gate import UsageClient
from proxy.service.history import History
from proxy.service.keeping import Keeping
from proxy.service.peers import Peers
from proxy.service.tasks import Tasks
from proxy.service.telemetry import Telemetry
from proxy.store import ProviderRecord, Saved, SavedEvent, Store
from proxy.wire import tls

if TYPE_CHECKING:  # their package is there only where the state is shared
    from proxy.replicas.link import Link
    from proxy.replicas.server import Server

EVERYBODY = 1000  # who wait, as far as they are shown one by one where the queue is shared
CONNECT_S, REOPEN_S = 2.0, 1.0
STORE_CLOSE_S = 5.0  # a disk that hangs must not keep the process for ever


class Runtime:
    """Built by `start`; `close` ends it. Everything else is called on the event loop's thread."""

    def __init__(
        self,
        settings: Settings,
        *,
        load: Callable[[], Settings],
        store: Store,
        telemetry: Callable[["Runtime"], Telemetry],
        clock: Clock,
        chance: random.Random,
        fingerprint_key: bytes,
        server: "Server | None" = None,
    ) -> None:
        self.settings = self._started_with = settings
        self.clock = clock
        self.store = store
        self.fingerprint_key = fingerprint_key
        self.started_at_ms = self.loaded_at_ms = clock.wall_ms()
        self.config_error: str | None = None
        self.stars: set[str] = set()
        self.turns = Turns(gap_s=settings.identity.turn_gap_s)
        self.admissions: dict[str, Admission] = {}
        self.listening: list[str] = []
        self.ready = False
        self.telemetry = telemetry(self)
        self.tasks = Tasks(lambda name, error: self.telemetry.log.error("task.failed", task=name, exc_info=error))
        self.tls: Mapping[str, ssl.SSLContext | None] = {}
        self.proxy_tls: ssl.SSLContext | None = None
        self._load = load
        self._tls_contexts = tls.Contexts()
        self._usage = UsageClient()
        self._records: Mapping[str, ProviderRecord] = {}
        # As each was last configured: one that is no more keeps its rules for what it still has to finish.
        self._configured = dict(settings.providers)
        self._standings: dict[str, standings.Standing] = {}
        self.keeping = Keeping(
            clock=clock,
            store=store,
            tasks=self.tasks,
            log=self.telemetry.log,
            admissions=self.admissions,
            standings=self._standings,
        )
        self.link = None if server is None else self._linked(server)
        self._builder = Builder(
            clock=clock,
            loop=asyncio.get_running_loop(),
            stars=self.stars,
            turns=self.turns,
            link=self.link,
            observe=self.telemetry.observe,
            keep=self.keeping.heard,
            overhear=self._overhear,
            overhear_star=self._overhear_star,
            tell_of_death=self.telemetry.replica_gone,
            poll=self._start_poll,
            chance=chance,
        )
        self.audit = Audit(clock, store, self.keeping.changes)
        self.history = History(
            clock=clock,
            store=store,
            admissions=self.admissions,
            tally=self.telemetry.tally,
            keep=self.keeping.minutes,
        )
        self.peers = Peers()
        self._reloading = asyncio.Lock()
        # An id that somebody read before a restart must not be another's after it. The clock is ahead of what a process
        # has counted that took fewer than a hundred requests a second; nine digits can still be typed.
        self._ticket_ids = clock.wall_ms() // 10 % TICKETS

    def __repr__(self) -> str:
        return f"<Runtime {len(self.admissions)} providers, {len(self.settings.upstreams)} upstreams>"

    async def start(self) -> None:
        """Read the state and begin. StoreError if it cannot be used; ConfigErrors for a CA file that cannot."""
        self.tls, self.proxy_tls = await asyncio.to_thread(self._renew_tls, self.settings)
        if self.link is not None:
            await self._join(self.link)
        try:
            saved = await self.store.open()
        except StoreError:
            if self.link is None:
                raise
            saved = Saved()
            self.tasks.start("open state", self._open_late())
        self._records = saved.providers
        self.fingerprint_key = saved.fingerprint_key or self.fingerprint_key
        self.stars.update(saved.stars)
        for provider_id in {*self.settings.providers, *self._records}:
            self.admission(provider_id)
        self.history.begin(saved.recorded)

    async def close(self) -> None:
        """Stop timers and tasks, and store what is not stored yet."""
        self.history.end()
        self.peers.close()
        for admission in self.admissions.values():
            admission.close()
        if self.link is not None:
            await self.link.leave()
        with suppress(TimeoutError):  # said below, where the store does not end either
            async with asyncio.timeout(STORE_CLOSE_S):
                await self.keeping.done()
        await self.tasks.close()
        await self._usage.close()
        try:
            async with asyncio.timeout(STORE_CLOSE_S):
                await self.store.close()
        except TimeoutError:
            self.telemetry.log.error("state.not_closed", error=f"writes did not end within {STORE_CLOSE_S:g} s")

    # --- providers ---

    def admission(self, provider_id: str) -> Admission:
        """The queue of a provider, made when it is first asked for."""
        found = self.admissions.get(provider_id)
        if found is not None:
            return found
        provider = self._configured.get(provider_id, standings.DEFAULTS)
        record = self._records.get(provider_id)
        begin = standings.start(provider, record, self.clock.wall_ms())
        standing = self._standings[provider_id] = begin.standing
        admission = self._builder.build(provider_id, provider, self._policy(provider), begin)
        self.admissions[provider_id] = admission
        now_said = (standing.file_limit, standing.file_cooldown_s)
        if record is not None and (record.file_limit, record.file_cooldown_s) != now_said:
            self.audit.file_read(provider_id, record, begin)
            self.keeping.save_soon(provider_id)  # so that the file's new word is not forgotten when it is changed back
        return admission

    def snapshots(self) -> list[Snapshot]:
        """Every known provider at this moment."""
        return [admission.snapshot() for admission in self.admissions.values()]

    def standing(self, provider_id: str) -> standings.Standing:
        """Who set what of a known provider."""
        return self._standings[provider_id]

    def next_ticket_id(self) -> int:
        """The arrival sequence."""
        self._ticket_ids += 1
        return self._ticket_ids

    # --- operators ---

    async def set_limit(self, provider_id: str, limit: int | None, by: Actor = Actor.API) -> bool:
        """None is unlimited. Like the others: `by` whom, for the audit; whether it was stored, in memory it holds in
        any case. StoreError: nobody knows, since the state that is shared cannot be reached."""
        admission = self.admission(provider_id)
        async with self._noting(by, What.LIMIT, admission):
            admission.set_limit(limit, "api")
        return await self.keeping.saved(provider_id)

    async def restore(self, provider_id: str, by: Actor = Actor.API) -> bool:
        """Back to the limit before the auto-reduce."""
        admission = self.admission(provider_id)
        async with self._noting(by, What.RESTORE, admission):
            admission.restore()
        return await self.keeping.saved(provider_id)

    async def learn(self, provider_id: str, by: Actor = Actor.API) -> bool | None:
        """Forget what was learned or set by hand where the file says auto, and begin again; None if it nowhere does."""
        admission, provider = self.admission(provider_id), self._configured.get(provider_id, standings.DEFAULTS)
        if not (provider.learn_limit or provider.learn_cooldown):
            return None
        async with self._noting(by, What.LEARN, admission):
            if provider.learn_limit:
                admission.set_limit(None, "file", learns=True)
            if provider.learn_cooldown:
                admission.set_cooldown(provider.cooldown_s, "file", learns=True)
        return await self.keeping.saved(provider_id)

    async def set_cooldown(self, provider_id: str, cooldown_s: float, by: Actor = Actor.API) -> bool:
        admission = self.admission(provider_id)
        async with self._noting(by, What.COOLDOWN, admission):
            admission.set_cooldown(cooldown_s, "api")
        return await self.keeping.saved(provider_id)

    async def pause(self, provider_id: str, duration_s: float, by: Actor = Actor.API) -> bool:
        admission = self.admission(provider_id)
        async with self._noting(by, What.PAUSE, admission):
            admission.pause(duration_s)
        return await self.keeping.saved(provider_id)

    async def resume(self, provider_id: str, by: Actor = Actor.API) -> bool:
        admission = self.admission(provider_id)
        async with self._noting(by, What.RESUME, admission):
            admission.resume()
        return await self.keeping.saved(provider_id)

    async def star(self, workspace: str, starred: bool, by: Actor = Actor.API) -> bool:
        """Set or take a star; waiters move at once."""
        before = workspace in self.stars
        (self.stars.add if starred else self.stars.discard)(workspace)
        for admission in self.admissions.values():
            admission.star_changed(workspace, starred)
        self.telemetry.starred(workspace, starred)
        if starred != before:
            self.audit.note(by, What.STAR, before, starred, workspace=workspace)
        stored = await self.store.save_star(workspace, starred)
        await self.audit.stored()
        return stored

    async def remove(self, provider_id: str, ticket_id: int, by: Actor = Actor.API) -> bool:
        """Reclaim the slot or drop the waiter of this id; False if there is none. StoreError as above."""
        admission = self.admissions.get(provider_id)
        if admission is None:
            return False
        await admission.refresh(EVERYBODY)
        scheduler, now = admission.scheduler, self.clock.now()
        ticket, slot = scheduler.waiting.get(ticket_id), scheduler.slot(ticket_id)
        if ticket is not None:
            admission.drop(ticket)
            self.audit.removed(by, What.DROP, provider_id, ticket, now - ticket.queued_at)
        elif slot is not None:
            admission.reclaim(slot)
            self.audit.removed(by, What.RECLAIM, provider_id, slot.ticket, now - slot.granted_at)
        await admission.settled()
        return ticket is not None or slot is not None

    @property
    def state_error(self) -> str | None:
        """Why the state cannot be stored, or asked; None: it can."""
        if self.link is not None and (away := self.link.away) is not None:
            return away
        return None if self.store.ok else self.store.error

    async def refresh(self, most: int = 1) -> None:
        """Bring what can be read of all providers up to this moment; see Admission."""
        if self.link is not None:
            await asyncio.gather(*(admission.refresh(most) for admission in self.admissions.values()))

    async def refresh_busy(self) -> None:
        """The same where anything goes on."""
        if self.link is not None:
            await asyncio.gather(*(admission.refresh() for admission in self.admissions.values() if admission.is_busy))

    def keep_events(self, events: Sequence[SavedEvent]) -> None:
        """Add to the event history, soon."""
        self.keeping.events.add(events)

    def effective(self) -> dict[str, object]:
        """The configuration in force, without secrets."""
        return effective(self.settings)

    async def reload(self) -> tuple[list[str], list[str]]:
        """Load the configuration again: (changed keys, those that need a restart). ConfigErrors leave the old one."""
        async with self._reloading:
            try:
                settings = await asyncio.to_thread(self._load)
                contexts = await asyncio.to_thread(self._renew_tls, settings)
            except ConfigErrors as error:
                self.config_error = str(error)
                self.telemetry.reloaded([], [], self.config_error)
                raise
            changed, _ = diff(self.settings, settings)
            _, needs_restart = diff(self._started_with, settings)
            before = self._swap(settings, contexts)
            await self._note_changes(before)
            self.audit.reloaded(changed)
            self.telemetry.reloaded(changed, needs_restart, None)
            return changed, needs_restart

    # --- inside ---

    def _policy(self, provider: Provider) -> Policy:
        queue = self.settings.queue
        return standings.policy(provider, max_waiting=queue.max_waiting, max_wait_s=queue.max_wait_s)

    def _renew_tls(self, settings: Settings) -> "_Contexts":
        return self._tls_contexts.renew(list(settings.upstreams.values()), str(settings.source or "command line"))

    def _swap(self, settings: Settings, contexts: "_Contexts") -> list["_Before"]:
        self.settings = settings
        self._configured.update(settings.providers)
        self.tls, self.proxy_tls = contexts
        self.config_error = None
        self.loaded_at_ms = self.clock.wall_ms()
        self.turns.gap_s = settings.identity.turn_gap_s
        self.telemetry.log.configure(settings.log)
        before: list[_Before] = []
        for provider_id, provider in settings.providers.items():
            before += self._apply_file(self.admission(provider_id), provider)
        for provider_id, admission in self.admissions.items():
            admission.set_policy(self._policy(self._configured.get(provider_id, standings.DEFAULTS)))
        return before

    def _apply_file(self, admission: Admission, provider: Provider) -> list["_Before"]:
        """A value that the file itself changed is a person's latest word; one that it repeats is not. What was in force
        before."""
        standing, before = self._standings[admission.provider_id], list[_Before]()
        limit = standings.file_limit(provider)
        if limit != standing.file_limit:
            before.append((What.LIMIT, admission, self._in_force(What.LIMIT, admission)))
            standing.file_limit = limit
            admission.read_limit(provider.limit, learns=provider.learn_limit)
        cooldown_s = standings.file_cooldown_s(provider)
        if cooldown_s != standing.file_cooldown_s:
            before.append((What.COOLDOWN, admission, self._in_force(What.COOLDOWN, admission)))
            standing.file_cooldown_s = cooldown_s
            admission.read_cooldown(provider.cooldown_s, learns=provider.learn_cooldown)
        return before

    @asynccontextmanager
    async def _noting(self, by: Actor, what: What, admission: Admission) -> AsyncIterator[None]:
        """For the audit: what is done within is `what`, if it changes anything."""
        await admission.refresh()
        before = self._in_force(what, admission)
        yield
        await admission.settled()
        await admission.refresh(EVERYBODY)
        self._note_change(by, what, admission, before)

    async def _note_changes(self, before: Sequence["_Before"]) -> None:
        """The same for what the file has changed."""
        for what, admission, value in before:
            with suppress(StoreError):  # it will happen, and its effect is noted
                await admission.settled()
            await admission.refresh()
            self._note_change(Actor.FILE, what, admission, value)

    def _in_force(self, what: What, admission: Admission) -> InForce:
        return in_force(what, admission.scheduler, self._standings[admission.provider_id], self.clock.to_wall_ms)

    def _note_change(self, by: Actor, what: What, admission: Admission, before: InForce) -> None:
        after = self._in_force(what, admission)
        if after != before:
            self.audit.note(by, what, before.value, after.value, provider_id=admission.provider_id)

    # --- other replicas ---

    def _linked(self, server: "Server") -> "Link":
        from proxy.replicas.link import Link

        log = self.telemetry.log
        return Link(
            server,
            now=self.clock.now,
            wall_ms=self.clock.wall_ms,
            changed=self._state_changed,
            heard_of=self.admission,
            warn=lambda why: log.warning("state.warning", why=why),
            complain=lambda error: log.error("state.refused", exc_info=error),
        )

    def _state_changed(self, away: str | None) -> None:
        self.telemetry.state_changed(away)
        if away is None and not self.store.ok and self.admissions:
            self.keeping.save_soon(next(iter(self.admissions)))  # with it goes what could not be stored

    async def _join(self, link: "Link") -> None:
        """Become a replica; where the server is away, when it comes."""
        self.clock.prompt_ms = link.server_ms
        self._ticket_ids += link.number * TICKETS
        self.tasks.start("replica", link.run())
        with suppress(TimeoutError):  # it was there a moment ago; requests wait for it
            async with asyncio.timeout(CONNECT_S):
                await link.connected()

    async def _open_late(self) -> None:
        """Read the state when its server comes: a machine that boots may start it after us."""
        while True:
            await asyncio.sleep(REOPEN_S)
            with suppress(StoreError):
                saved = await self.store.open()
                break
        self._records = saved.providers
        for workspace in saved.stars:
            self._overhear_star(workspace, True)
        for provider_id, record in saved.providers.items():
            self.admission(provider_id)
            standing = self._standings[provider_id]
            standing.limit_by, standing.cooldown_by = record.limit_by, record.cooldown_by
        self.history.begin(saved.recorded)

    def _overhear(self, provider_id: str, effect: Effect) -> None:
        self.telemetry.overhear(provider_id, effect)
        self.keeping.overheard(provider_id, effect)

    def _overhear_star(self, workspace: str, starred: bool) -> None:
        if (workspace in self.stars) != starred:
            (self.stars.add if starred else self.stars.discard)(workspace)
            for admission in self.admissions.values():  # also where the other one knows no such provider
                admission.star_changed(workspace, starred)
            self.telemetry.starred(workspace, starred, elsewhere=True)

    # --- the usage gate ---

    def _start_poll(self, admission: Admission, credentials: Credentials, tell: Tell) -> None:
        self.tasks.start("usage poll", self._poll(admission, credentials, tell))

    async def _poll(self, admission: Admission, credentials: Credentials, tell: Tell) -> None:
        observed: int | None = None
        error: str | None = "the poll was stopped"
        try:
            provider = self.settings.providers.get(admission.provider_id)
            if provider is None or provider.usage is None:
                error = "the gate is configured no more"
                return
            upstream = self.settings.upstreams[provider.upstreams[0]]
            observed, error = await self._usage.ask(
                provider.usage, credentials, tls=self.tls[upstream.name], proxy=upstream.proxy
            )
            if error is not None:
                self.telemetry.poll_failed(admission.provider_id, error)
        finally:
            tell(observed, error)


_Contexts = tuple[Mapping[str, ssl.SSLContext | None], ssl.SSLContext | None]
_Before = tuple[What, Admission, InForce]
