# Replicas at one provider, in words: each call is one call of the script, at a time that the test says.

from typing import Any

import redis

from proxy.core.model import PausePolicy, Policy, Ticket
from proxy.replicas import script

KEY = "slotgate:{api.example}:"
CHANNEL = "slotgate:"


class Provider:
    """What several replicas share. `run` is what the server calls itself; `now` is its clock."""

    def __init__(self, server: "redis.Redis[bytes]", *, limit: int | None = 1, cooldown_s: float = 0.0, **policy: Any):
        self.server = server
        self.call = server.register_script(script.source())
        self.now, self.run, self.ids = 1000.0, "first", 0
        policy.setdefault("pause", PausePolicy())
        self.start = {"policy": script.policy(Policy(**policy)), "limit": limit, "cooldown_s": cooldown_s}

    def replica(self, name: str, *peers: str) -> "Peer":
        """A new one, which has announced itself."""
        peer = Peer(self, name)
        peer.announce(*peers)
        return peer

    @property
    def keys(self) -> set[str]:
        return {key.decode().removeprefix(KEY) for key in self.server.keys("*")}


class Peer:
    """One replica: what it holds (id to grant) and lets wait, as it has been told."""

    def __init__(self, provider: Provider, name: str) -> None:
        self.provider, self.name, self.calls = provider, name, 0
        self.held: dict[int, int] = {}
        self.waiting: dict[int, int] = {}  # id to sequence
        self.tickets: dict[int, dict[str, Any]] = {}
        self.waker: str | None = None  # who is to call when something is due, as it was told last
        self._ear = provider.server.pubsub()
        self._ear.subscribe(f"{CHANNEL}{name}", f"{CHANNEL}all")

    def say(self, *steps: script.Step) -> list[tuple[Any, ...]]:
        """What happened by these steps, as the caller is told; also to others' requests."""
        provider = self.provider
        self.calls += 1
        asked = script.request(
            steps, replica=self.name, number=self.calls, run=provider.run, channel=CHANNEL, now=provider.now
        )
        said = script.reply(provider.call(keys=[KEY], args=[asked]))
        if said.unknown:
            return [("Unknown",)]
        self.waker = said.standing.waker
        return self._take(said.effects)

    def hear(self) -> list[tuple[Any, ...]]:
        """What was pushed since."""
        found: list[tuple[Any, ...]] = []
        while (message := self._ear.get_message(timeout=0.05)) is not None:
            if message["type"] == "message":
                news = script.news(message["data"])
                if news.replica != self.name:
                    found += self._take(news.effects)
        return found

    def announce(self, *peers: str) -> list[tuple[Any, ...]]:
        """All that it has, at a server that may know nothing of it."""
        held = [{**self.tickets[one], "seq": 1, "grant": grant, "held_s": 1.0} for one, grant in self.held.items()]
        waiting = [{**self.tickets[one], "seq": seq, "waited_s": 1.0} for one, seq in self.waiting.items()]
        step = script.announcement(self.provider.start, peers=peers, held=held, waiting=waiting)
        return self.say(step)

    def ask(self, workspace: str = "a", started: int = 0) -> int:
        """The id of a new request, which holds a slot then or waits."""
        self.provider.ids += 1
        ticket = Ticket(
            id=self.provider.ids, workspace=workspace, conversation=None, prompt_started_at=started, path="/"
        )
        self.tickets[ticket.id] = script.ticket(ticket)
        self.say(["request", self.tickets[ticket.id]])
        return ticket.id

    def release(self, ticket_id: int) -> list[tuple[Any, ...]]:
        return self.say(["release", ticket_id, self.held.pop(ticket_id), True])

    def _take(self, effects: list[script.Raw]) -> list[tuple[Any, ...]]:
        for name, whose, *said in effects:
            if whose == self.name and name == "Granted":
                self.waiting.pop(said[0], None)
                self.held[said[0]] = said[1]
            elif whose == self.name and name == "Queued":
                self.waiting[said[0]] = said[1]
            elif whose == self.name and name == "Lost":
                del self.held[said[0]]
        return [tuple(effect) for effect in effects if effect[0] != "Peers"]
