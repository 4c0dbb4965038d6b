# Everything that is told to the outside: events, numbers, log lines, history.
#
# Rule 1: nothing here decides anything, waits for anything, or fails because nobody listens.
# Rule 2: a request has one line, when it ends; a change of state has one line, one event and one entry of the history.
#         The steps of a request (queued, granted, released, left, refused) are events, and lines for debugging alone.

from collections.abc import Callable, Iterable, Sequence
from logging import INFO
from typing import Any, NamedTuple

from proxy.core.model import Effect, Snapshot
from proxy.service.clock import Clock
from proxy.service.counts import Counts, Tally
from proxy.service.events import EventKind, EventStream
from proxy.service.log import Log
from proxy.service.metrics import Metrics
from proxy.service.quoting import iso
from proxy.service.record import RequestRecord
from proxy.service.vocabulary import EFFECTS, NOT_RELOADED, RELOADED, STARRED, Fields, Words, in_json
from proxy.store.records import SavedEvent

POLL_QUIET_S = 60.0  # between two lines about failing polls of one provider (spec §8)


class _Told(NamedTuple):
    """What is done with one kind of effect: how it is counted; which event a step of a request is, None for a change of
    state; and what makes its fields."""

    words: Words
    measure: Callable[[str, Any], None] | None
    step: EventKind | None
    fields_of: Callable[[Any], Fields]


class Telemetry:
    """Gets what happens, tells it on. `history` is given what shall outlive the process and must not wait."""

    def __init__(
        self,
        *,
        clock: Clock,
        snapshots: Callable[[], Iterable[Snapshot]],
        log: Log,
        history: Callable[[Sequence[SavedEvent]], None],
        state_ok: Callable[[], bool] = lambda: True,
    ) -> None:
        self.events = EventStream(clock)
        self.log = log
        self._unread: str | None = None  # the last reason
        self._clock = clock
        self._history = history
        self._counts = Counts()
        self._metrics = Metrics(self._counts, snapshots, state_ok)
        self._polls_quiet_until: dict[str, float] = {}
        self._told = {kind: self._how_to_tell(kind) for kind in EFFECTS}

    def observe(self, provider_id: str, effect: Effect) -> None:
        """What a scheduler did."""
        words, measure, step, fields_of = self._told[type(effect)]
        if measure is not None:
            measure(provider_id, effect)
        if step is None:
            self._change(words, provider_id, fields_of(effect))
            return
        self.events.publish_late(step, provider_id, effect)
        if self.log.debugging:
            self.log.say(words.level, words.line, {"provider": provider_id, **fields_of(effect)})

    def overhear(self, provider_id: str, effect: Effect) -> None:
        """What another replica has brought about, which counts it and keeps it."""
        words, _, _, fields_of = self._told[type(effect)]
        self._change(words, provider_id, fields_of(effect), elsewhere=True)

    def request_ended(self, record: RequestRecord) -> None:
        """The end of any request, counted or not; `record` is not changed any more."""
        record.at_ms = self._clock.wall_ms()
        self._counts.request_ended(record)
        self.log.put(INFO, record)

    def starred(self, workspace: str, starred: bool, *, elsewhere: bool = False) -> None:
        """A workspace's star was set or taken; `elsewhere`: at another replica, which keeps it."""
        self._change(STARRED, None, {"workspace": workspace, "starred": starred}, elsewhere=elsewhere)

    def replica_gone(self, provider_id: str, replica: str, held: int, waited: int) -> None:
        """A replica that held slots or let requests wait has not been heard of for a lease."""
        self.log.warning("replica.gone", provider=provider_id, replica=replica, held=held, waiting=waited)

    def state_changed(self, away: str | None) -> None:
        """The state that replicas share cannot be reached, or can be again (None)."""
        if away is None:
            self.log.info("state.back")
        else:
            self.log.error("state.away", error=away)

    def reloaded(self, changed: Sequence[str], needs_restart: Sequence[str], error: str | None) -> None:
        """A reload ended; with `error` the configuration is the one of before."""
        self._metrics.reloaded(error is None)
        fields: Fields = {"changed": list(changed), "needs_restart": list(needs_restart), "error": error}
        self._change(RELOADED if error is None else NOT_RELOADED, None, fields)

    def poll_failed(self, provider_id: str, reason: str) -> None:
        """A usage poll gave no information. Counted each time, a line at most once a minute."""
        self._counts.poll_errors[provider_id] += 1
        now = self._clock.now()
        if now >= self._polls_quiet_until.get(provider_id, now):
            self._polls_quiet_until[provider_id] = now + POLL_QUIET_S
            self.log.warning("usage.poll_failed", provider=provider_id, reason=reason)

    def state_unread(self, error: str) -> None:
        """What people asked for could not be read from the state. A line for each new reason, not for each who asks."""
        if error != self._unread:
            self._unread = error
            self.log.error("state.read_failed", error=error)

    def unreadable(self, fact: str) -> None:
        """A request stated `fact` (workspace, conversation, prompt_started_at) in a way that could not be read."""
        self._counts.unreadable[fact] += 1

    def tally(self, provider_id: str) -> Tally:
        """What was counted of one provider so far."""
        return self._counts.tally(provider_id)

    def metrics(self) -> bytes:
        """The Prometheus text exposition, as of now."""
        return self._metrics.text()

    def _how_to_tell(self, kind: type) -> _Told:
        words, read = EFFECTS[kind]

        def fields_of(effect: Effect) -> Fields:
            return read(effect, self._clock)

        step = None
        if words.of_a_request:
            assert words.event is not None, "every step of a request is an event"
            step = EventKind(words.event, lambda effect: in_json(fields_of(effect)))
        return _Told(words, self._counts.measures.get(kind), step, fields_of)

    def _change(self, words: Words, provider_id: str | None, fields: Fields, *, elsewhere: bool = False) -> None:
        if words.event is not None:
            details = in_json(fields)
            self.events.publish(words.event, provider_id, **details)
            saved = SavedEvent(at=self._clock.wall_ms(), name=words.event, provider_id=provider_id, data=details)
            if not elsewhere:
                self._history([saved])
        told = {"provider": provider_id, **fields}
        until = fields.get("until")
        if isinstance(until, int):
            told["until"] = iso(until)
        self.log.say(words.level, words.line, told)
