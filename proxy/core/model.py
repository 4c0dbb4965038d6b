# The nouns of the queue: what asks, what waits, what holds, and what the scheduler says happened.
#
# Rule 1: times named `*_at` are monotonic seconds of one process; `prompt_started_at` alone is epoch milliseconds,
#         because clients state it and it must compare across processes.
# Rule 2: an effect is a fact of the past (or one order: PollUsage, Abort). Whoever gets it acts; nobody edits it.
# Rule 3: what every request makes has an `__init__` of its own: that of a dataclass is not compiled (setup.py), and its
#         slots=True makes a second class, which the compiler knows nothing of.

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol


class Phase(StrEnum):
    """What a slot is doing; `cooling` is the rest after its release."""

    CONNECTING = "connecting"
    WAITING = "waiting"  # sent, no byte of the answer yet
    STREAMING = "streaming"
    COOLING = "cooling"


_CONNECTING = Phase.CONNECTING  # looking up a member of an enum is a call in Python 3.11


class Kind(StrEnum):
    """What a provider's answer says about limits (spec §7.1)."""

    CONCURRENCY = "concurrency"
    RATE = "rate"
    QUOTA = "quota"
    OVERLOAD = "overload"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class PausePolicy:
    """How long a rate limit holds everything back: seconds."""

    default_s: float = 30.0
    min_s: float = 0.0
    max_s: float = 600.0


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What an operator configured for one provider. The limit and the cooldown in force are the scheduler's own,
    since the admin API and rate limits change them; `None` stands for "never" or "none"."""

    auto_reduce: bool = True
    auto_restore_s: float | None = None  # without a rate limit for so long: one step back up
    strikes: int | None = None  # concurrency refusals that the provider bears in a day
    pause: PausePolicy = field(default_factory=PausePolicy)
    slot_timeout_s: float | None = 300.0
    max_hold_s: float | None = None
    max_waiting: int = 1000
    max_wait_s: float = 600.0
    gate_interval_s: float | None = None  # seconds between polls while somebody waits; None: no gate
    gate_age_s: float = 0.0  # how old the number that a poll gives may be
    absorb: int = 0


class Ticket:
    """One counted request that asks for a slot. `id` is unique in the process and grows with arrival; it is the
    arrival sequence of the order and the id that the admin API shows for the waiter and then for its slot."""

    __slots__ = ("conversation", "id", "path", "prompt_started_at", "queued_at", "workspace")

    def __init__(self, *, id: int, workspace: str, conversation: str | None, prompt_started_at: int, path: str) -> None:
        self.id = id
        self.workspace = workspace
        self.conversation = conversation
        self.prompt_started_at = prompt_started_at
        self.path = path
        self.queued_at = 0.0  # when its present wait began

    @property
    def order(self) -> tuple[int, int]:
        """The key within one workspace; the star is the workspace's and is read when a slot is given."""
        return (self.prompt_started_at, self.id)


class Holder(Protocol):
    """Who holds a slot: told of what the scheduler has decided, never asked by it."""

    def abort(self, why: str) -> None:
        """Close the upstream connection before returning; the slot is no longer yours."""

    def measure(self, slot: "Slot", now: float) -> None:
        """Bring `slot.progress_at` up to date."""


class Slot:
    """One unit of the limit, and whoever has it. The wire writes `phase`, `bytes`, `last_byte_at` and `progress_at`
    directly while the slot is held, the service `holder`; everything else belongs to the scheduler."""

    __slots__ = (
        "bytes",
        "cooled_at",
        "grant",
        "granted_at",
        "held",
        "holder",
        "last_byte_at",
        "phase",
        "progress_at",
        "refused",
        "taken",
        "ticket",
    )

    def __init__(self, ticket: Ticket, grant: int, granted_at: float) -> None:
        self.ticket = ticket
        self.grant = grant  # how many grants this provider had made before: orders grants and reductions
        self.granted_at = granted_at
        self.last_byte_at = granted_at
        self.progress_at = granted_at  # what the watchdog measures silence from
        self.phase = _CONNECTING
        self.bytes = 0
        self.cooled_at = 0.0  # when the rest ends; meaningful while cooling
        self.held = False  # from its grant until it is given back; what names it later changes nothing
        self.holder: Holder | None = None
        self.refused = False  # the provider would not take it, so it does not count it
        self.taken = False  # a successful answer has begun

    @property
    def id(self) -> int:
        return self.ticket.id

    def __repr__(self) -> str:
        return f"<Slot {self.id} {self.phase} {self.bytes} bytes>"


class RateLimit(NamedTuple):
    """One refusal by the provider, as evidence: `at` is epoch milliseconds, `in_flight` what was in flight then. A step
    of auto_restore stands among the evidence as kind `restored` with status 0: nobody answered anything."""

    at: int
    status: int
    kind: str
    retry_after_ms: int | None
    in_flight: int

    @property
    def ours(self) -> bool:
        """Whether it says that we asked for too much: only then it reduces, and pauses without a stated wait. A 429
        of unknown kind does (spec §7.2)."""
        if self.kind in (Kind.QUOTA, Kind.OVERLOAD):
            return False
        return self.kind in (Kind.CONCURRENCY, Kind.RATE) or self.status == 429


class GateReading(NamedTuple):
    """The last usage poll: what it saw (None: no information), when (monotonic), and why it saw nothing."""

    observed: int | None
    at: float
    error: str | None


# --- effects -----------------------------------------------------------------------------------------------------


class Queued(NamedTuple):
    ticket: Ticket


class Granted(NamedTuple):
    ticket: Ticket
    slot: Slot
    waited_s: float


class Left(NamedTuple):
    """A waiter went away by itself (its client disconnected)."""

    ticket: Ticket
    waited_s: float


class Refused(NamedTuple):
    """A ticket will get no slot: `code` is an own answer of spec §11."""

    ticket: Ticket
    code: str


class Released(NamedTuple):
    slot: Slot
    held_s: float


class Reclaimed(NamedTuple):
    """A slot was taken back; its holder must close its upstream connection now, before anything else happens."""

    slot: Slot
    why: str  # "silent", "max_hold", "operator"
    after_s: float  # silent or held for so long


class PollUsage(NamedTuple):
    """Ask the provider's own usage count now, with the credentials of this waiter; then call `polled`."""

    ticket: Ticket


class Paused(NamedTuple):
    until_at: float
    cause: str  # a Kind, or "operator"


class Resumed(NamedTuple):
    cause: str  # "elapsed", "operator", "unlimited"


class RateLimited(NamedTuple):
    """`slot` is None where the answer's slot was gone already."""

    ticket: Ticket
    limit: RateLimit


class Reduced(NamedTuple):
    limit: int
    original: int
    notice: str


class LimitSet(NamedTuple):
    limit: int | None
    by: str  # "file", "api", "restore", "learned", "auto_restore"


class CooldownSet(NamedTuple):
    cooldown_s: float
    by: str  # "file", "api", "learned"


Effect = (
    Queued
    | Granted
    | Left
    | Refused
    | Released
    | Reclaimed
    | PollUsage
    | Paused
    | Resumed
    | RateLimited
    | Reduced
    | LimitSet
    | CooldownSet
)


# --- what can be read --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One provider at one moment, for status, metrics and state; `*_at` monotonic, durations in seconds."""

    provider_id: str
    limit: int | None
    held: int
    cooling: int
    queued: int
    paused_until_at: float | None
    pause_cause: str | None
    cooldown_s: float
    auto_reduced_from: int | None
    notice: str | None
    oldest_wait_s: float | None
    last_rate_limit: RateLimit | None
    evidence: tuple[RateLimit, ...]
    gate: GateReading | None
    external: int | None = None  # what others use of the same account; None: nobody has told lately
    lag_s: float | None = None  # how long the provider counts a request that has ended; None: not learned
    learns_limit: bool = False
    learns_cooldown: bool = False
    strikes: int = 0  # refusals for concurrency on this day
    strikes_until_at: float | None = None  # when that day ends
    strikes_allowed: int | None = None
    restore_at: float | None = None  # when the reduced limit goes one step up
    restore_after_s: float | None = None  # how long it must be quiet for that; after failed steps more than configured
    few_left_until_at: float | None = None  # the provider takes no more before an answer, or until then
    quota: RateLimit | None = None  # the last refusal for a used-up quota, until an answer shows that there is some

    @property
    def in_flight(self) -> int:
        return self.held + self.cooling

    @property
    def auto_reduced(self) -> bool:
        return self.auto_reduced_from is not None
