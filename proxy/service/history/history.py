# The history of every provider: looked at by a timer, kept by the store, asked for by pages.
#
# Rule 1: a minute is given to the store as soon as it is over, and the one that runs at a clean end, so a kill loses no
#         more than that one.
# Rule 2: a provider where nothing ever went on and nothing is limited has no minutes: most presets are never used.

import asyncio
from collections.abc import Callable, Mapping, Sequence

from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.counts import Tally
from proxy.service.history.marks import EVENTS, Mark, mark
from proxy.service.history.points import Point, point
from proxy.service.history.recorder import Recorder
from proxy.service.pending import Pending
from proxy.store import MINUTE_MS, Minute, Store, StoreError, steps

LOOK_S = 1.0
MARKS_MAX = 1000
POINTS_MAX = 10_080  # the minutes of seven days


class History:
    """`begin` once the store is open, `look` when `until_look_s` is over, again and again, and `end` before the store
    is closed. `admissions` are all known providers, `keep` gives minutes to the store."""

    def __init__(
        self,
        *,
        clock: Clock,
        store: Store,
        admissions: Mapping[str, Admission],
        tally: Callable[[str], Tally],
        keep: Pending[Minute],
    ) -> None:
        self._clock = clock
        self._store = store
        self._admissions = admissions
        self._tally = tally
        self._keep = keep
        self._recorded: set[str] = set()
        self._recorder: Recorder | None = None

    def __repr__(self) -> str:
        return f"<History of {len(self._recorded)} providers, {self._recorder!r}>"

    def begin(self, recorded: frozenset[str]) -> None:
        """`recorded` are the providers of which the store has minutes."""
        self._recorded.update(recorded)
        self._recorder = Recorder(self._tally, self._clock.now(), self._clock.wall_ms())

    @property
    def until_look_s(self) -> float:
        """When to look next: in a second, or when the minute ends."""
        return min(LOOK_S, (MINUTE_MS - self._clock.wall_ms() % MINUTE_MS) / 1000)

    def look(self) -> None:
        """Note what goes on. Where nothing does, that costs next to nothing; once a minute everything is looked at."""
        if self._recorder is not None:
            self._look(self._recorder)

    def knows(self, provider_id: str) -> bool:
        """Whether there are minutes of this provider, known or not any more."""
        return provider_id in self._recorded

    async def points(self, provider_id: str, *, since_ms: int, until_ms: int, step_ms: int) -> list[Point]:
        """The last POINTS_MAX of a provider from `since_ms` on and before `until_ms`, both at the beginning of a step;
        the present minute as far as it goes. StoreError: the state cannot be read."""
        present, minutes, again = None, list[Minute](), True
        while again:  # a minute that ends while the state is read is in both, or in neither
            if self._recorder is not None:
                self._look(self._recorder, everywhere=True)
            present = None if self._recorder is None else self._recorder.present(provider_id)
            begun = self._begun_at
            await self._keep.done()
            minutes = await self._store.minutes(provider_id, since_ms=since_ms, until_ms=until_ms, step_ms=step_ms)
            again = self._begun_at != begun
        if present is not None and since_ms <= present.at < until_ms and self._worth_keeping([present]):
            minutes = steps([*minutes, present], step_ms)
        # A week of minutes is work for a while, and requests do not wait for it.
        return await asyncio.to_thread(lambda: [point(minute, step_ms) for minute in minutes[-POINTS_MAX:]])

    async def marks(self, provider_id: str, *, since_ms: int, until_ms: int) -> list[Mark]:
        """The last MARKS_MAX of what happened at a provider, newest last. StoreError: the state cannot be read."""
        events = await self._store.events_of(provider_id, EVENTS, since_ms=since_ms, until_ms=until_ms, most=MARKS_MAX)
        try:
            return [mark(event) for event in events]
        except (TypeError, ValueError, ArithmeticError) as error:
            raise StoreError(f"state: an event of {provider_id} is not what was written: {error}") from error

    def end(self) -> None:
        """Keep the minute that runs as far as it goes; nothing is looked at any more."""
        if self._recorder is not None:
            self._look(self._recorder, everywhere=True)
            self._keep.add(self._worth_keeping(self._recorder.everything()))
            self._recorder = None

    @property
    def _begun_at(self) -> int | None:
        return None if self._recorder is None else self._recorder.at

    def _look(self, recorder: Recorder, *, everywhere: bool = False) -> None:
        now, wall_ms = self._clock.now(), self._clock.wall_ms()
        everywhere = everywhere or recorder.is_over(wall_ms)
        seen = [
            admission.snapshot()
            for provider_id, admission in self._admissions.items()
            if everywhere or admission.is_busy or not recorder.is_idle(provider_id)
        ]
        self._keep.add(self._worth_keeping(recorder.look(seen, now, wall_ms)))

    def _worth_keeping(self, minutes: Sequence[Minute]) -> list[Minute]:
        kept = [
            minute
            for minute in minutes
            if minute.limit is not None or not minute.is_empty or minute.provider_id in self._recorded
        ]
        self._recorded.update(minute.provider_id for minute in kept)
        return kept
