# Everything that is told to the outside: events, numbers, log lines, history.
#
# Rule 1: nothing here decides anything, waits for anything, or fails because nobody listens.
# Rule 2: a request has one line, when it ends; a change of state has one line, one event and one entry of the history.
#         The steps of a request (queued, granted, released, left, refused) are events, and lines for debugging alone.

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from proxy.core.model import Effect, Snapshot
from proxy.service.clock import Clock
from proxy.service.events import EventStream
from proxy.service.log import Log
from proxy.service.log_rendering import iso
from proxy.service.metrics import Metrics
from proxy.service.vocabulary import EFFECTS, NOT_RELOADED, RELOADED, STARRED, Fields, Words, in_json
from proxy.store.records import SavedEvent

PATH_CHARACTERS = 256  # of a request's path in its line: whole for every API there is, and no room for more
POLL_QUIET_S = 60.0  # between two lines about failing polls of one provider (spec §8)


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """One wide event per request: made when its head was read, filled in as it goes, told when it ends. `outcome` is
    one of completed, abandoned (the client left), cut, refused, reclaimed, failed; `code` that of our own answer,
    `why` what went wrong. `path` is as sent upstream, or else as asked for; never with the query. What could not be
    read as a request has neither method nor path. `ticket_id` is what its steps are told with, None before it may
    queue; `absorbed` how often it was put back into the queue. `refused` is the kind of the last limit that the
    provider told it of, inside a 200 too."""

    method: str | None = None
    path: str | None = None
    upstream: str | None = None
    provider_id: str | None = None
    workspace: str | None = None
    conversation: str | None = None
    status: int | None = None
    outcome: str = "failed"
    code: str | None = None
    why: str | None = None
    waited_ms: int = 0
    held_ms: int = 0
    first_byte_ms: int | None = None
    bytes: int = 0
    counted: bool = False
    ticket_id: int | None = None
    absorbed: int = 0
    refused: str | None = None


class Telemetry:
    """Gets what happens, tells it on. `history` is given what shall outlive the process and must not wait."""

    def __init__(
        self,
        *,
        clock: Clock,
        snapshots: Callable[[], Iterable[Snapshot]],
        log: Log,
        history: Callable[[Sequence[SavedEvent]], None],
    ) -> None:
        self.events = EventStream(clock)
        self.log = log
        self._clock = clock
        self._history = history
        self._metrics = Metrics(snapshots)
        self._polls_quiet_until: dict[str, float] = {}

    def observe(self, provider_id: str, effect: Effect) -> None:
        """What a scheduler did."""
        words, fields_of = EFFECTS[type(effect)]
        self._metrics.observe(provider_id, effect)
        if words.of_a_request:
            self._step(words, provider_id, partial(fields_of, effect, self._clock))
        else:
            self._change(words, provider_id, fields_of(effect, self._clock))

    def request_ended(self, record: RequestRecord) -> None:
        """The end of any request, counted or not; `record` is not changed any more."""
        self._metrics.request_ended(record.provider_id, record.outcome, record.code)
        if record.counted and record.provider_id is not None and record.first_byte_ms is not None:
            self._metrics.first_byte(record.provider_id, record.first_byte_ms / 1000)
        self.log.info(
            "request.ended",
            id=None if record.ticket_id is None else str(record.ticket_id),
            provider=record.provider_id,
            upstream=record.upstream,
            workspace=record.workspace,
            conversation=record.conversation,
            method=record.method,
            path=None if record.path is None else record.path[:PATH_CHARACTERS],
            status=record.status,
            outcome=record.outcome,
            code=record.code,
            why=record.why,
            waited_ms=record.waited_ms,
            held_ms=record.held_ms,
            first_byte_ms=record.first_byte_ms,
            bytes=record.bytes,
            counted=record.counted,
            absorbed=record.absorbed,
            refused=record.refused,
        )

    def starred(self, workspace: str, starred: bool) -> None:
        """A workspace's star was set or taken."""
        self._change(STARRED, None, {"workspace": workspace, "starred": starred})

    def reloaded(self, changed: Sequence[str], needs_restart: Sequence[str], error: str | None) -> None:
        """A reload ended; with `error` the configuration is the one of before."""
        self._metrics.reloaded(error is None)
        fields: Fields = {"changed": list(changed), "needs_restart": list(needs_restart), "error": error}
        self._change(RELOADED if error is None else NOT_RELOADED, None, fields)

    def poll_failed(self, provider_id: str, reason: str) -> None:
        """A usage poll gave no information. Counted each time, a line at most once a minute."""
        self._metrics.poll_failed(provider_id)
        now = self._clock.now()
        if now >= self._polls_quiet_until.get(provider_id, now):
            self._polls_quiet_until[provider_id] = now + POLL_QUIET_S
            self.log.warning("usage.poll_failed", provider=provider_id, reason=reason)

    def unreadable(self, fact: str) -> None:
        """A request stated `fact` (workspace, conversation, prompt_started_at) in a way that could not be read."""
        self._metrics.unreadable(fact)

    def metrics(self) -> bytes:
        """The Prometheus text exposition, as of now."""
        return self._metrics.text()

    def _step(self, words: Words, provider_id: str, fields: Callable[[], Fields]) -> None:
        assert words.event is not None, "every step of a request is an event"
        self.events.publish_lazily(words.event, provider_id, lambda: in_json(fields()))
        if self.log.debugging:
            self.log.say(words.level, words.line, {"provider": provider_id, **fields()})

    def _change(self, words: Words, provider_id: str | None, fields: Fields) -> None:
        if words.event is not None:
            details = in_json(fields)
            self.events.publish(words.event, provider_id, **details)
            saved = SavedEvent(at=self._clock.wall_ms(), name=words.event, provider_id=provider_id, data=details)
            self._history([saved])
        told = {"provider": provider_id, **fields}
        until = fields.get("until")
        if isinstance(until, int):
            told["until"] = iso(until)
        self.log.say(words.level, words.line, told)
