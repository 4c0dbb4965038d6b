# The way of one request to the provider and of its answer back, under the simulated clock.

import random
from collections.abc import Callable
from typing import NamedTuple, Protocol

from .clock import Clock
from .dialects import Headers, refusal
from .provider import Account, Reason, Refusal, Taken
from .ranges import Range
from .work import Request

NET_S = Range(0.005, 0.04)  # one way
REFUSED_S = Range(0.003, 0.03)  # how long a provider thinks about a no
HEAD_S = Range(0.2, 1.0)  # until an answer begins


class Refused(NamedTuple):
    """What came back: `reason` is the truth, the rest what is said about it."""

    reason: Reason
    status: int
    headers: Headers
    body: bytes
    in_stream: bool  # the error stands in a successful answer, that is `status` 200


class Sender(Protocol):
    """Whoever sent a request."""

    def answered(self, request: Request, headers: Headers) -> None:
        """An answer has begun."""

    def refused(self, request: Request, refused: Refused) -> None:
        """It was refused, and that is all of the answer; after `answered` where it is `in_stream`."""

    def ended(self, request: Request) -> None:
        """The answer is complete."""


class Sending:
    """One try on its way. `abort` is what a proxy does when it closes its connection: nothing more is heard."""

    def __init__(self, clock: Clock, account: Account) -> None:
        self.aborted = False
        self.taken: Taken | None = None
        self._clock, self._account = clock, account

    def abort(self) -> None:
        self.aborted = True
        if self.taken is not None:
            self._account.end(self.taken, self._clock.now)


class Line:
    """To one account."""

    def __init__(self, clock: Clock, account: Account, chance: random.Random) -> None:
        self._clock = clock
        self._account = account
        self._chance = chance

    def send(self, request: Request, sender: Sender) -> Sending:
        """Send it now; `sender` hears what becomes of it."""
        sending = Sending(self._clock, self._account)
        self._later(sending, NET_S.draw(self._chance), lambda: self._arrived(request, sender, sending))
        return sending

    def _later(self, sending: Sending, seconds: float, action: Callable[[], None]) -> None:
        self._clock.later(seconds, lambda: None if sending.aborted else action())

    def _arrived(self, request: Request, sender: Sender, sending: Sending) -> None:
        taken = self._account.begin(self._clock.now, tokens=request.tokens, model=request.model)
        if isinstance(taken, Refusal):
            thinks_s = REFUSED_S.draw(self._chance)
            self._later(sending, thinks_s, lambda: self._say_no(request, sender, sending, taken))
        else:
            sending.taken = taken
            self._give(request, sender, sending, taken)

    def _say_no(self, request: Request, sender: Sender, sending: Sending, said: Refusal) -> None:
        terms, now = self._account.terms, self._clock.now
        answer = refusal(terms.dialect, said, now)
        headers = [*answer.headers, *self._account.headers(now)]
        net_s = NET_S.draw(self._chance)
        if self._chance.random() >= terms.in_stream:
            refused = Refused(said.reason, answer.status, headers, answer.body, in_stream=False)
        else:
            data = answer.frame.partition(b"data: ")[2].strip()
            refused = Refused(said.reason, 200, [("Content-Type", "text/event-stream")], data, in_stream=True)
            self._later(sending, net_s, lambda: sender.answered(request, refused.headers))
        self._later(sending, net_s, lambda: sender.refused(request, refused))

    def _give(self, request: Request, sender: Sender, sending: Sending, taken: Taken) -> None:
        work_s = request.work_s * taken.slowness
        head_s = min(HEAD_S.draw(self._chance), work_s)
        headers = self._account.headers(self._clock.now)
        net_s = NET_S.draw(self._chance)
        self._later(sending, head_s + net_s, lambda: sender.answered(request, headers))
        self._later(sending, work_s, lambda: self._account.end(taken, self._clock.now))
        self._later(sending, work_s + net_s, lambda: sender.ended(request))
