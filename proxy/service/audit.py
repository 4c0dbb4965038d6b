# Who changed what by hand, from what to what.
#
# Rule 1: only what took effect: a word that repeats what holds already is no change.
# Rule 2: values are small and our own: numbers, ids, keys of the configuration; never a path, a header or a body.

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from proxy.core.model import Ticket
from proxy.core.scheduler import Scheduler
from proxy.service.clock import Clock, whole_ms
from proxy.service.pending import Pending
from proxy.service.standing import Standing, Start
from proxy.store import ProviderRecord, SavedChange, Store

KEYS_MAX = 50  # of a reload that one entry names


class Actor(StrEnum):
    """Through what a person acted."""

    API = "api"
    PAGE = "page"
    CLI = "cli"
    FILE = "file"


class What(StrEnum):
    """What a person did."""

    LIMIT = "limit"
    COOLDOWN = "cooldown"
    PAUSE = "pause"
    RESUME = "resume"
    RESTORE = "restore"
    LEARN = "learn"
    STAR = "star"
    RECLAIM = "reclaim"
    DROP = "drop"
    RELOAD = "reload"


class InForce(NamedTuple):
    """What holds at a moment: a value for people, and what else a change of it may change."""

    value: object
    beside: tuple[object, ...] = ()


def in_force(what: What, scheduler: Scheduler, standing: Standing, to_wall_ms: Callable[[float], int]) -> InForce:
    """What a change of `what` is a change of."""
    cooldown_ms, until_at = whole_ms(scheduler.cooldown_s), scheduler.paused_until_at
    if what in (What.LIMIT, What.RESTORE):
        return InForce(scheduler.limit, (scheduler.auto_reduced_from, standing.limit_by))
    if what is What.COOLDOWN:
        return InForce(cooldown_ms, (standing.cooldown_by,))
    if what is What.LEARN:
        return InForce({"limit": scheduler.limit, "cooldownMs": cooldown_ms}, (standing.limit_by, standing.cooldown_by))
    assert what in (What.PAUSE, What.RESUME), what
    return InForce(None if until_at is None else {"until": to_wall_ms(until_at)})


class Audit:
    """The trail of changes. `keep` gives them to the store."""

    def __init__(self, clock: Clock, store: Store, keep: Pending[SavedChange]) -> None:
        self._clock = clock
        self._store = store
        self._keep = keep

    def __repr__(self) -> str:
        return f"<Audit {self._keep!r}>"

    def note(
        self,
        by: Actor,
        what: What,
        before: object,
        after: object,
        *,
        provider_id: str | None = None,
        workspace: str | None = None,
    ) -> None:
        """It has just been done."""
        change = SavedChange(
            at=self._clock.wall_ms(),
            by=by.value,
            what=what.value,
            provider_id=provider_id,
            workspace=workspace,
            before=before,
            after=after,
        )
        self._keep.add([change])

    def reloaded(self, changed: Sequence[str]) -> None:
        """The file was read again, and these keys were other ones."""
        if changed:
            keys = list(changed[:KEYS_MAX])
            more = {} if len(changed) == len(keys) else {"more": len(changed) - len(keys)}
            self.note(Actor.FILE, What.RELOAD, None, {"changed": keys, **more})

    def removed(self, by: Actor, what: What, provider_id: str, ticket: Ticket, after_s: float) -> None:
        """Somebody's slot was taken back, or somebody sent away, who had held or waited for so long."""
        before = {"id": str(ticket.id), "heldMs" if what is What.RECLAIM else "waitedMs": whole_ms(after_s)}
        self.note(by, what, before, None, provider_id=provider_id, workspace=ticket.workspace)

    def file_read(self, provider_id: str, record: ProviderRecord, begin: Start) -> None:
        """A process began with another word of the file than the one of before."""
        standing, by = begin.standing, Actor.FILE
        if record.file_limit != standing.file_limit and record.limit != begin.limit:
            self.note(by, What.LIMIT, record.limit, begin.limit, provider_id=provider_id)
        if record.file_cooldown_s != standing.file_cooldown_s and record.cooldown_s != begin.cooldown_s:
            self.note(
                by, What.COOLDOWN, whole_ms(record.cooldown_s), whole_ms(begin.cooldown_s), provider_id=provider_id
            )

    async def stored(self) -> None:
        """Wait until what was noted is stored, or could not be."""
        await self._keep.done()

    async def last(self, *, since_ms: int, most: int, provider_id: str | None = None) -> list[SavedChange]:
        """The last `most` from then on, the last one first. StoreError: the state cannot be read."""
        await self._keep.done()
        return await self._store.changes(since_ms=since_ms, most=most, provider_id=provider_id)
