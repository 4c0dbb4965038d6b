# What one replica has to say of one provider, in order, until the server has heard it.
#
# Rule 1: one call at a time. What is said meanwhile goes together in the next.
# Rule 2: an announcement says all that is held and waits here; what asked for it, or gave it back, need not be said
#         beside it. Everything else (LASTING) is said again after a call of which nobody knows whether it happened,
#         unless the server knows that it has.
# Rule 3: nothing here waits. The link calls, and tells what came of it.

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from proxy.replicas import script
from proxy.replicas.script import News, Raw, Reply, Standing, Step

ANEW = True  # said with an announcement: what lies there is of no use
MOST = 100  # steps in one call: some milliseconds of the server's time, which all wait for
LASTING = {
    *("answered", "rate_limited", "few_left", "polled", "unasked", "turn"),
    *("set_limit", "restore", "set_cooldown", "set_policy", "file_limit", "file_cooldown"),
    *("pause", "resume", "star", "drop", "drop_all", "reclaim"),
}

Said = tuple[Step, asyncio.Future[list[Raw]] | None]


class Listener(Protocol):
    """Whose line it is."""

    def announcement(self) -> Step:
        """Everything as it is here now."""

    def renewal(self) -> list[Step]:
        """What is said now and then, though nothing has changed."""

    def happened(self, effects: Sequence[Raw], now: float, standing: Standing, *, elsewhere: bool) -> None:
        """`effects` of what was said here, or `elsewhere`, at `now` by the server's clock; and how it stands then."""


class _Doubtful(NamedTuple):
    """A call of which nobody knows whether it has happened."""

    number: int
    said: list[Said]


class Line:
    """`key` begins all of the provider's keys. `wake` is called when there is something to say."""

    def __init__(self, key: str, listener: Listener, wake: Callable[[], None]) -> None:
        self.key = key
        self.announced = False
        self._listener = listener
        self._wake = wake
        self._unsent: list[Said] = []
        self._sent: list[Said] = []
        self._doubtful: list[_Doubtful] = []
        self._number = 0
        self._faulty = False  # what lies there is of no use, and is made anew
        self._announcing = False  # it is under way
        self._begun = False  # something has been said, or is to be announced

    def __repr__(self) -> str:
        return f"<Line {self.key} call {self._number}, {len(self._unsent)} unsent>"

    def say(self, *step: object) -> None:
        """Soon."""
        # Before an announcement is made, it says all that does not last.
        if self.announced or self._announcing or step[0] in LASTING:
            self._unsent.append((list(step), None))
        self._begun = True
        self._wake()

    def ask(self, *step: object) -> asyncio.Future[list[Raw]]:
        """The same; what happened in the call that said it, once that is known."""
        told: asyncio.Future[list[Raw]] = asyncio.get_running_loop().create_future()
        self._unsent.append((list(step), told))
        self._begun = True
        self._wake()
        return told

    def begin(self) -> None:
        """Announce the replica, though there is nothing to say."""
        self._begun = True
        self._wake()

    def renew(self) -> None:
        """Say what is to be said now and then; after a fault that is the announcement."""
        if self.announced:
            for step in self._listener.renewal():
                self.say(*step)
        elif self._begun:
            self._wake()

    @property
    def has_something(self) -> bool:
        return bool(self._unsent) if self.announced else self._begun

    # --- the link's side ---

    def call(self, replica: str, run: str | None, channel: str) -> bytes:
        """The next call, as it is sent."""
        if self.announced:
            self._sent, self._unsent = self._unsent[:MOST], self._unsent[MOST:]
            steps: list[Step] = [["catch_up"], *(step for step, _ in self._sent)]
        else:
            self._announcing = True
            steps = [[*self._listener.announcement(), *([ANEW] if self._faulty else [])]]
            self._unsent = [said for said in self._unsent if _lasts(said)]
        self._number += 1
        return script.request(steps, replica=replica, number=self._number, run=run, channel=channel)

    def answered(self, reply: Reply) -> None:
        """What came of the call."""
        sent, self._sent, self._announcing = self._sent, [], False
        if reply.unknown or reply.late:
            self._unsent = [*sent, *self._unsent]
            self.announced = False
            self._wake()
            return
        if not self.announced:
            self.announced = True
            self._faulty = False
            self._settle(reply.done or 0)
        self._listener.happened(reply.effects, reply.now, reply.standing, elsewhere=False)
        _tell(sent, reply.effects)
        if self._unsent:
            self._wake()

    def failed(self, error: Exception) -> None:
        """The call was refused for what it says: a fault. What it said is lost, and what is here is announced anew."""
        sent, self._sent = self._sent, []
        self.announced = self._announcing = False
        self._faulty = True
        for _, told in sent:
            if told is not None and not told.done():
                told.set_exception(error)

    def interrupted(self) -> None:
        """Nobody knows whether the last call has happened, or what was pushed since."""
        if self._sent:
            self._doubtful.append(_Doubtful(self._number, self._sent))
        self._sent = []
        self.announced = self._announcing = False
        self._unsent = [said for said in self._unsent if _lasts(said)]

    def heard(self, news: News) -> None:
        """What was pushed."""
        self._listener.happened(news.effects, news.now, news.standing, elsewhere=True)

    def _settle(self, done: int) -> None:
        """The last call that the server knows of is number `done`."""
        again: list[Said] = []
        for number, said in self._doubtful:
            if number <= done:
                _tell(said, [])
            else:
                again += [one for one in said if _lasts(one)]
        self._doubtful = []
        self._unsent = [*again, *self._unsent]


def _lasts(said: Said) -> bool:
    step, told = said
    return step[0] in LASTING or (told is not None and not told.done())


def _tell(said: Sequence[Said], effects: list[Raw]) -> None:
    for _, told in said:
        if told is not None and not told.done():
            told.set_result(effects)
