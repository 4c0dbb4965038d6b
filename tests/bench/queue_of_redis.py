# A provider's queue in Redis, spoken to without a replica: filled, made to grant, looked at; and what Redis counts.

import random
from itertools import islice

import redis

from proxy.core.model import Policy
from proxy.replicas import script

from .queue_depth import tickets

MOST = 100  # steps in a call, as a replica sends them
STEPS = 500  # in a batch


class QueueOfRedis:
    """With one slot, which is taken at once, and no cooldown."""

    def __init__(self, port: int) -> None:
        self._server = redis.Redis(port=port)
        self._call = self._server.register_script(script.source())
        self._tickets = tickets(random.Random(port))
        self._calls = self._waiting = 0
        self._held = (0, 0)  # id and grant

    # --- what Redis counts ---

    def forget_calls(self) -> None:
        self._server.config_resetstat()

    def calls(self) -> int:
        """Scripts that were run since."""
        return int(self._counted()["calls"])

    def used_us(self) -> int:
        """How long they took in Redis."""
        return int(self._counted()["usec"])

    def _counted(self) -> dict[str, float]:
        found: dict[str, float] = self._server.info("commandstats").get("cmdstat_evalsha", {"calls": 0, "usec": 0})
        return found

    # --- the queue ---

    def fill(self, waiting: int) -> None:
        """Until so many wait."""
        if not self._calls:
            policy = script.policy(Policy(max_waiting=10**9, max_wait_s=1e9))
            self._say(script.announcement({"policy": policy, "limit": 1, "cooldown_s": 0.0, "stars": _STARRED}))
            self._say(self._request())
        while self._waiting < waiting:
            some = min(MOST, waiting - self._waiting)
            self._say(*[self._request() for _ in range(some)])
            self._waiting += some

    def enqueue_and_grant(self) -> float:
        """µs of Redis for each, in the mean of a batch."""
        self.forget_calls()
        for _ in range(STEPS):
            self._say(self._request())
            self._say(["release", *self._held, True])
        return self.used_us() / STEPS

    def look(self, most: int) -> float:
        """µs of Redis for a look at the first `most`, in the mean of ten."""
        self.forget_calls()
        for _ in range(10):
            self._say(["look", most])
        return self.used_us() / 10

    def _request(self) -> script.Step:
        return ["request", *[script.ticket(ticket) for ticket in islice(self._tickets, 1)]]

    def _say(self, *steps: script.Step) -> None:
        self._calls += 1
        first = [] if steps[0][0] == "announce" else [["catch_up"]]
        asked = script.request([*first, *steps], replica="bench", number=self._calls, run="1", channel="bench:")
        for name, _, *said in script.reply(self._call(keys=["bench:{deep}:"], args=[asked])).effects:
            if name == "Granted":
                self._held = (said[0], said[1])


_STARRED = ["project-1", "project-2"]
