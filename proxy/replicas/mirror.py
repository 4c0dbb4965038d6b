# One provider's queue as it stands in Redis, made into the core's own objects, so that everything that shows a queue
# shows this one.
#
# Rule: a mirror is looked at and thrown away. Nothing that is done to it reaches Redis.

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from proxy.core.cooldown import Cooldown
from proxy.core.gate import Ours
from proxy.core.lag import Lag
from proxy.core.limit import Limit
from proxy.core.model import GateReading, PausePolicy, Phase, Policy, Slot, Snapshot, Ticket
from proxy.core.pause import State
from proxy.core.queue import Queue
from proxy.core.recovery import Recovery
from proxy.core.refusals import Refusals
from proxy.core.strikes import Strikes
from proxy.replicas.script import rate_limit

_TABLES = ("recovery", "strikes", "allowance", "pause")  # empty, they come as lists: Lua knows no difference

Said = Mapping[str, Any]


class Mirror:
    """`queue` and `refusals` as the core has them; `replicas` says whose each id is. `ahead_s`: how far this process'
    clock is ahead of Redis'; all times are this process'. `tickets` and `slots`: those that are known here stand for
    themselves, slots by their grants."""

    def __init__(self, said: Said, *, ahead_s: float, tickets: Mapping[int, Ticket], slots: Mapping[int, Slot]) -> None:
        self._ahead_s = ahead_s
        self._tickets, self._slots, self._progress = tickets, slots, said["progress"] or {}
        self.replicas: dict[int, str] = {}
        state: Said = {name: value or {} if name in _TABLES else value for name, value in said["state"].items()}
        self._queued = state["ready"] + state["resting"]
        self.queue = Queue(
            _policy(state["policy"]),
            set(said["stars"]),
            self._limit(state),
            self._recovery(state["recovery"]),
            Cooldown(state["cooldown_s"], learns=False),
        )
        self._fill_cooldown(state, said["lag"])
        self._fill_slots(state, said)
        self._fill_waiting(said)
        self._fill_pause(state["pause"])
        self._fill_gate(state)
        last, quota, strikes = state.get("last"), state.get("quota"), state["strikes"]
        self.refusals = Refusals(
            self.queue,
            None if last is None else rate_limit(last),
            Strikes(strikes["count"], self._at(strikes.get("until_at"))),
        )
        self.refusals.quota = None if quota is None else rate_limit(quota)
        allowance = self.queue.allowance
        allowance.last_grant = state["allowance"].get("last_grant", inf)
        allowance.until_at = self._at(state["allowance"].get("until_at"))

    def counted(self, snapshot: Snapshot) -> Snapshot:
        """`snapshot` of this queue, with all who wait, also where not everybody was looked at."""
        return replace(snapshot, queued=self._queued)

    def _at(self, seconds: float | None) -> Any:
        return None if seconds is None else seconds + self._ahead_s

    def _limit(self, state: Said) -> Limit:
        evidence = tuple(rate_limit(seen) for seen in state["evidence"] or ())
        return Limit(state.get("limit"), state.get("original"), evidence, learns=bool(state.get("learns_limit")))

    def _recovery(self, said: Said) -> Recovery:
        recovery = Recovery(said.get("configured"), said.get("after"))
        recovery.due_at = self._at(said.get("due"))
        return recovery

    def _fill_cooldown(self, state: Said, said: Said) -> None:
        cooldown = self.queue.cooldown
        cooldown.learns = bool(state.get("learns_cooldown"))
        lag = cooldown.lag = Lag(said["estimate_s"])
        lag.learned = said["learned"]

    def _ticket(self, said: Said) -> Ticket:
        self.replicas[said["id"]] = said["replica"]
        ticket = self._tickets.get(said["id"])
        if ticket is None:
            ticket = Ticket(
                id=said["id"],
                workspace=said["workspace"],
                conversation=said.get("conversation"),
                prompt_started_at=said["prompt"],
                path=said["path"],
            )
            ticket.queued_at = self._at(said.get("queued", 0.0))
        return ticket

    def _slot(self, said: Said, *, held: bool = False) -> Slot:
        self.replicas[said["id"]] = said["replica"]
        slot = self._slots.get(said["grant"])
        if slot is None:
            slot = Slot(self._ticket(said), said["grant"], self._at(said["granted"]))
            slot.held = held
            slot.refused, slot.taken = bool(said.get("refused")), bool(said.get("taken"))
            slot.phase = Phase.STREAMING if slot.taken else Phase.WAITING
            if held and (progress := self._progress.get(str(slot.id))) is not None:
                phase, slot.bytes, last_byte = progress
                slot.phase, slot.last_byte_at = Phase(phase), self._at(last_byte)
        return slot

    def _fill_slots(self, state: Said, said: Said) -> None:
        slots = self.queue.slots
        held = [self._slot(one, held=True) for one in said["held"] or ()]
        cooling = []
        for until_at, one in said["cooling"] or ():
            slot = self._slot(one)
            slot.phase, slot.cooled_at = Phase.COOLING, self._at(until_at)
            cooling.append(slot)
        slots.restore(held, cooling, grants=state["grants"], in_flight=state["in_flight"], taken=state["taken"])
        slots.past = deque(
            ((held_s, self._slot(one)) for held_s, one in reversed(said["past"] or ())), slots.past.maxlen
        )

    def _fill_waiting(self, said: Said) -> None:
        waiting = self.queue.waiting
        for one in said["waiting"] or ():
            waiting.add(self._ticket(one))
        for until_at, one in said["resting"] or ():
            waiting.rest(self._ticket(one), self._at(until_at))

    def _fill_pause(self, said: Said) -> None:
        pause = self.queue.pause
        pause.restore(State(said["state"]), self._at(said.get("until_at")), said.get("cause"))
        if "probe" in said:
            pause.probe = next((slot for slot in self.queue.slots.holding() if slot.grant == said["probe"]), None)
            pause.probe_until_at = self._at(said["probe_until"])

    def _fill_gate(self, state: Said) -> None:
        gate, said, reading = self.queue.gate, state["gate"], state["gate"].get("reading")
        gate.polling = said["polling"]
        gate.slot = self._slot(said["slot"]) if "slot" in said else None
        gate.next_poll_at = self._at(said["next_at"])
        gate.began_at, gate.ended_at = self._at(said.get("began", 0.0)), self._at(said.get("ended", 0.0))
        gate.counted = said.get("counted")
        gate.restore([(self._at(at), beyond) for at, beyond in said["beyond"] or ()])
        if reading is not None:
            gate.reading = GateReading(reading.get("observed"), self._at(reading["at"]), reading.get("error"))
        ours = said.get("ours")
        if ours:
            gate.ours = Ours(
                ours["held"], ours["in_flight"], [self._at(at) for at in ours["unseen"] or ()], ours["grants"]
            )


def _policy(said: Said) -> Policy:
    known = {name: value for name, value in said.items() if name != "gate_patience_s"}  # of replicas alone
    return Policy(**{**known, "pause": PausePolicy(**said["pause"])})
