# What outlives the process, as values: one provider's settings and learning, the stars, the events, the minutes, and
# the changes by hand.
#
# Rule 1: times that end in `_ms`, and an event's `at`, are epoch milliseconds: they must mean the same after a restart.
# Rule 2: the file's value is kept beside the one in force, so that the next start can tell whether the file was
#         changed since (spec §13: the latest human action wins). Who wins is decided by the reader, not here.

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from proxy.core.model import RateLimit

HISTORY_MS = 7 * 24 * 3600 * 1000  # how long events and minutes are kept (spec §13)
AUDIT_MS = 365 * 24 * 3600 * 1000  # how long changes by hand are
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRecord:
    """One provider as it was when it was saved. `*_by` is "file", "api", or "auto" (auto-reduced or learned);
    a limit of None is unlimited, a `file_*` of None is a file that said nothing. `strikes` are those of the day that
    ends at `strikes_until_ms`; `restore_after_s` is how long auto_restore waits now."""

    provider_id: str
    limit: int | None
    limit_by: str
    file_limit: int | None
    cooldown_s: float
    cooldown_by: str
    file_cooldown_s: float | None
    auto_reduced_from: int | None
    evidence: tuple[RateLimit, ...]
    paused_until_ms: int | None
    pause_cause: str | None
    strikes: int = 0
    strikes_until_ms: int | None = None
    restore_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedEvent:
    """One line of the event history; `data` must be JSON-able and holds no secret."""

    at: int
    name: str
    provider_id: str | None
    data: Mapping[str, object]


class Span(NamedTuple):
    """How many durations (`number`) were from `low_ms` up to `high_ms`; None: no bound above. It says its bounds, so
    that a later version may have others."""

    low_ms: float
    high_ms: float | None
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """What one process saw of one provider in the minute that begins at `at`. It looked on for `seen_ms` of it, more
    than there are if the clock was set back meanwhile; `in_flight_ms` and `queued_ms` are sums over that time, so a
    mean is their quotient. `limit` is the last one in force. There may be several of the same minute: a restart ends
    one and begins the next."""

    provider_id: str
    at: int
    seen_ms: int
    limit: int | None
    in_flight_max: int = 0
    in_flight_ms: int = 0
    queued_max: int = 0
    queued_ms: int = 0
    oldest_wait_ms: int = 0
    granted: int = 0
    completed: int = 0
    rate_limited: int = 0
    reduced: int = 0
    paused_ms: int = 0
    waits: tuple[Span, ...] = ()
    first_bytes: tuple[Span, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing went on."""
        return not (self.in_flight_max or self.queued_max or self.granted or self.completed or self.paused_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedChange:
    """One change by hand that took effect: `by` whom ("api", "page", "cli", "file") `what` was changed, from `before`
    to `after`, which are small, JSON-able and hold no secret."""

    at: int
    by: str
    what: str
    provider_id: str | None
    workspace: str | None
    before: object
    after: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Everything that a start needs; events and minutes are asked for when somebody wants to see them. `recorded` are
    the providers of which there are minutes; `fingerprint_key` is what replicas name conversations with, None: each
    process has its own."""

    providers: Mapping[str, ProviderRecord] = field(default_factory=dict)
    stars: frozenset[str] = frozenset()
    recorded: frozenset[str] = frozenset()
    fingerprint_key: bytes | None = None
