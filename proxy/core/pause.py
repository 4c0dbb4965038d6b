# When nothing is granted at a provider, and who goes first afterwards (spec §7.2).
#
# Rule 1: a pause by hand replaces whatever is in force, the latest human word; what the provider says only lengthens.
# Rule 2: after a provider's pause the first waiter goes alone, as the probe. It opens the way when its answer begins
#         or after PROBE_S; if it leaves without an answer, the next one is the probe. A pause by hand has no probe.
# Rule 3: a newcomer who finds a free place and no queue passes a probe; one that goes before any waiter did takes the
#         probe's place: somebody has gone and will bring news (spec §6.2).
# Rule 4: a pair of state and event that `_NEXT` does not have is a bug and raises.

from enum import StrEnum
from math import inf

from proxy.core.model import Kind, PausePolicy, RateLimit, Slot

PROBE_S = 1.0  # how long the others wait for the probe's answer (spec §7.2)
OVERLOAD_MAX_S = 60.0  # what an overloaded provider may ask of us (spec §7.2)
IMMEDIATELY_S = 1.0  # what a stated wait of zero means, so that a provider which says "now" is not hammered
OPERATOR = "operator"  # the cause of a pause by hand


class State(StrEnum):
    OPEN = "open"
    BY_HAND = "by hand"
    PAUSED = "paused"  # by what the provider said
    DUE = "probe due"  # the pause is over, and nobody has gone since
    PROBING = "probing"


class Event(StrEnum):
    HOLD = "hold"  # a pause by hand
    REFUSE = "refuse"  # a pause by what the provider said
    END = "end"  # of the pause
    SEND = "send"  # a waiter was granted
    BYPASS = "bypass"  # a newcomer was granted
    ANSWER = "answer"  # the probe's has begun, or its time is up
    LEAVE = "leave"  # the probe has, without an answer
    LIFT = "lift"  # no limit any more: nothing holds back


_NEXT: dict[tuple[State, Event], State] = {
    **{(state, Event.HOLD): State.BY_HAND for state in State},
    **{(state, Event.REFUSE): State.PAUSED for state in State},
    **{(state, Event.LIFT): State.OPEN for state in State},
    (State.OPEN, Event.BYPASS): State.OPEN,
    (State.BY_HAND, Event.END): State.OPEN,
    (State.PAUSED, Event.END): State.DUE,
    (State.DUE, Event.SEND): State.PROBING,
    (State.DUE, Event.BYPASS): State.OPEN,
    (State.PROBING, Event.BYPASS): State.PROBING,
    (State.PROBING, Event.ANSWER): State.OPEN,
    (State.PROBING, Event.LEAVE): State.DUE,
}
_BLOCKING = (State.BY_HAND, State.PAUSED, State.PROBING)


def pause_s(policy: PausePolicy, seen: RateLimit, floor_s: float = 0.0) -> float:
    """For how long the refusal `seen` pauses its provider; 0: not at all. `floor_s`: the shortest pause that
    strikes ask for, beside the policy's."""
    stated_s = None if seen.retry_after_ms is None else seen.retry_after_ms / 1000 or IMMEDIATELY_S
    if seen.ours:
        return min(max(policy.default_s if stated_s is None else stated_s, policy.min_s, floor_s), policy.max_s)
    if seen.kind == Kind.OVERLOAD and stated_s is not None:
        return min(stated_s, OVERLOAD_MAX_S, policy.max_s)
    return 0.0


class Pause:
    """The pause of one provider and the probe after it. `until_at` and `cause` are set during a pause alone."""

    __slots__ = ("blocks", "cause", "is_open", "probe", "probe_until_at", "state", "until_at")

    def __init__(self) -> None:
        self.state = State.OPEN
        # What the state says, at hand for every request: whether all may go, and whether no waiter may go now.
        self.is_open = True
        self.blocks = False
        self.until_at: float | None = None
        self.cause: str | None = None
        self.probe: Slot | None = None
        self.probe_until_at = 0.0

    @property
    def deadline(self) -> float:
        """When time alone changes something, or inf: the end of the pause, or of the probe's time."""
        if self.probe is not None:
            return self.probe_until_at
        return inf if self.until_at is None else self.until_at

    def restore(self, state: State, until_at: float | None, cause: str | None) -> None:
        """As another has left it."""
        self.state, self.until_at, self.cause = state, until_at, cause
        self.is_open, self.blocks = state is State.OPEN, state in _BLOCKING

    def begin(self, until_at: float, cause: str) -> None:
        """Pause until `until_at`, whatever was before; a probe that is out is one no more."""
        self._move(Event.HOLD if cause == OPERATOR else Event.REFUSE)
        self.until_at, self.cause, self.probe = until_at, cause, None

    def lengthens(self, until_at: float) -> bool:
        """Whether `until_at` is later than the end of the pause in force."""
        return self.until_at is None or until_at > self.until_at

    def outlasts(self, until_at: float) -> bool:
        """Whether the pause in force goes on after `until_at`."""
        return self.until_at is not None and self.until_at > until_at

    def end(self) -> None:
        """The pause in force is over."""
        self._move(Event.END)
        self.until_at = self.cause = None

    def lift(self) -> None:
        """Nothing holds waiters back from now on."""
        self._move(Event.LIFT)
        self.until_at = self.cause = self.probe = None

    def passed(self) -> None:
        """A newcomer was granted."""
        self._move(Event.BYPASS)

    def sent(self, slot: Slot, now: float) -> None:
        """A waiter was granted `slot` though not all may go: it is the probe."""
        if self._move(Event.SEND) is State.PROBING:
            self.probe, self.probe_until_at = slot, now + PROBE_S

    def answered(self, slot: Slot) -> bool:
        """News from `slot` came, or its time is up; True if it was the probe, so that the others may follow."""
        if slot is not self.probe:
            return False
        self._move(Event.ANSWER)
        self.probe = None
        return True

    def left(self, slot: Slot) -> bool:
        """`slot` was given back; True if it was the probe and had no answer, so that the next one is to go."""
        if slot is not self.probe:
            return False
        self._move(Event.LEAVE)
        self.probe = None
        return True

    def _move(self, event: Event) -> State:
        self.state = _NEXT[self.state, event]
        self.is_open = self.state is State.OPEN
        self.blocks = self.state in _BLOCKING
        return self.state

    def __repr__(self) -> str:
        if self.until_at is not None:
            return f"<Pause until {self.until_at:.3f} for {self.cause}>"
        return f"<Pause {self.state}>"
