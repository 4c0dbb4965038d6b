# What happened in a run: refusals, waits, slots in use, order.
#
# Rule: whoever sends requests tells the meter; the meter asks nobody but the account, which tells the truth.

from collections import Counter
from typing import NamedTuple

from .clock import BEGIN
from .line import Refused
from .provider import Account
from .work import Request

INVERSION_S = 0.05  # an older call that has waited for less than this was not overtaken


class Event(NamedTuple):
    """Something worth telling: `at` is seconds since the beginning."""

    at: float
    what: str


class RefusedCall(NamedTuple):
    at: float
    reason: str
    read_as: str
    waited: bool


class Meter:
    """`slots` is how many answers the account and the configuration allow at once."""

    def __init__(self, account: Account, slots: int) -> None:
        self._account = account
        self._slots = slots
        self._now = BEGIN
        self._waiting: dict[int, Request] = {}
        self._held = self._resting = 0
        self.refused: list[RefusedCall] = []
        self.waits: dict[int, list[float]] = {}  # by agent
        self.events: list[Event] = []
        self.own: Counter[str] = Counter()  # refusals of the proxy's own, by code
        self.calls = self.given_up = self.inversions = self.over = self.peak_held = 0
        self.busy_s = self.rested_s = self.blocked_s = self.waiting_s = self.paused_s = 0.0
        self.paused = False

    def elapse(self, until: float) -> None:
        """Time goes on to `until` with everything as it is."""
        passed_s = until - self._now
        self._now = until
        if not self._waiting or passed_s <= 0:
            return
        account = self._account
        account.advance(until - passed_s)
        unavailable = account.counted(until - passed_s) - account.open  # what others use, and what is still counted
        self.waiting_s += passed_s
        self.busy_s += passed_s * self._held
        self.rested_s += passed_s * min(self._slots, self._resting + account.others)
        self.blocked_s += passed_s * min(self._slots, max(0, unavailable))
        self.paused_s += passed_s * self.paused

    def event(self, what: str) -> None:
        self.events.append(Event(self._now - BEGIN, what))

    # --- a request's life ---

    def lined_up(self, request: Request) -> None:
        request.lined_up_at = self._now
        request.waited = True
        self._waiting[request.number] = request

    def left(self, request: Request) -> None:
        """It waits no more, and was not sent."""
        self._waiting.pop(request.number, None)

    def sent(self, request: Request, stars: frozenset[str] | set[str] = frozenset()) -> None:
        self._waiting.pop(request.number, None)
        request.sent_at = self._now
        self._held += 1
        self.peak_held = max(self.peak_held, self._held)
        mine = _order(request, stars)
        self.inversions += any(
            _order(other, stars) < mine and self._now - other.lined_up_at > INVERSION_S
            for other in self._waiting.values()
        )

    def returned(self, resting: bool = False) -> None:
        """A slot was given back."""
        self._held -= 1
        self._resting += resting

    def rested(self) -> None:
        """A slot has rested."""
        self._resting -= 1

    def no(self, request: Request, refused: Refused, read_as: str) -> None:
        """The provider refused it."""
        self.refused.append(RefusedCall(self._now - BEGIN, refused.reason, read_as, request.waited))

    def gave_up(self, request: Request) -> None:
        self.given_up += 1

    def done(self, request: Request) -> None:
        self.calls += 1
        self.waits.setdefault(request.agent, []).append(request.sent_at - request.first_at)

    # --- shares ---

    @property
    def in_use(self) -> float:
        """Slots in use while anyone waits, of what rests (and others) leave."""
        return _share(self.busy_s, self.waiting_s * self._slots - self.rested_s)

    @property
    def of_possible(self) -> float:
        """The same, of what the provider would have taken in these moments."""
        return _share(self.busy_s, self.waiting_s * self._slots - self.blocked_s)


def _order(request: Request, stars: frozenset[str] | set[str]) -> tuple[bool, int]:
    return (request.project not in stars, int(request.prompt_at * 1000))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0
