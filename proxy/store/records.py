# What outlives the process, as values: one provider's settings and learning, the stars, the events.
#
# Rule 1: times that end in `_ms`, and an event's `at`, are epoch milliseconds: they must mean the same after a restart.
# Rule 2: the file's value is kept beside the one in force, so that the next start can tell whether the file was
#         changed since (spec §13: the latest human action wins). Who wins is decided by the reader, not here.

from collections.abc import Mapping
from dataclasses import dataclass, field

from proxy.core.model import RateLimit

HISTORY_MS = 7 * 24 * 3600 * 1000  # how long events are kept (spec §13)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Everything that a start needs; events are asked for when somebody wants to see them."""

    providers: Mapping[str, ProviderRecord] = field(default_factory=dict)
    stars: frozenset[str] = frozenset()
