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


class Line:
    """To one account."""

    def __init__(self, clock: Clock, account: Account, chance: random.Random) -> None:
        self._clock = clock
        self._account = account
        self._chance = chance

    def send(self, request: Request, sender: Sender) -> None:
        """Send it now; `sender` hears what becomes of it."""
        self._later(NET_S, lambda: self._arrived(request, sender))

    def _later(self, seconds: Range, action: Callable[[], None]) -> None:
        self._clock.later(seconds.draw(self._chance), action)

    def _arrived(self, request: Request, sender: Sender) -> None:
        taken = self._account.begin(self._clock.now, tokens=request.tokens, model=request.model)
        if isinstance(taken, Refusal):
            self._later(REFUSED_S, lambda: self._say_no(request, sender, taken))
        else:
            self._give(request, sender, taken)

    def _say_no(self, request: Request, sender: Sender, said: Refusal) -> None:
        terms, now = self._account.terms, self._clock.now
        answer = refusal(terms.dialect, said, now)
        headers = [*answer.headers, *self._account.headers(now)]
        net_s = NET_S.draw(self._chance)
        if self._chance.random() >= terms.in_stream:
            refused = Refused(said.reason, answer.status, headers, answer.body, in_stream=False)
        else:
            data = answer.frame.partition(b"data: ")[2].strip()
            refused = Refused(said.reason, 200, [("Content-Type", "text/event-stream")], data, in_stream=True)
            self._clock.later(net_s, lambda: sender.answered(request, refused.headers))
        self._clock.later(net_s, lambda: sender.refused(request, refused))

    def _give(self, request: Request, sender: Sender, taken: Taken) -> None:
        work_s = request.work_s * taken.slowness
        head_s = min(HEAD_S.draw(self._chance), work_s)
        headers = self._account.headers(self._clock.now)
        net_s = NET_S.draw(self._chance)
        self._clock.later(head_s + net_s, lambda: sender.answered(request, headers))
        self._clock.later(work_s, lambda: self._account.end(taken, self._clock.now))
        self._clock.later(work_s + net_s, lambda: sender.ended(request))
