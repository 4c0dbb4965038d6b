# What waiters are told when they line up, against how long they really wait, in the simulator.
#
# Rule: whoever waits behind agents at work waits for their next calls, too. What is told has to be of the right size,
#       for those who are next and for those who are last; of one alone nobody can know it.

from dataclasses import dataclass, field

import pytest

from proxy.core.model import Effect, Granted, Queued

from .provider import Terms
from .proxied import Proxied
from .queueing import Queueing
from .ranges import Range
from .simulation import Setup, Simulation
from .work import Load


@dataclass
class Told:
    """`waits`: (place in the queue, seconds that were told, seconds that it took)."""

    waits: list[tuple[int, float, float]] = field(default_factory=list)
    _lined_up: dict[int, tuple[float, int, float]] = field(default_factory=dict)

    def listen(self, proxy: Proxied, now: float, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Granted) and effect.ticket.id in self._lined_up:
                at, place, wait_s = self._lined_up.pop(effect.ticket.id)
                self.waits.append((place, wait_s, now - at))
        queued = {effect.ticket.id for effect in effects if isinstance(effect, Queued)}
        if queued:
            for place, one in enumerate(proxy.scheduler.expected_waits(now, int(now * 1000)), 1):
                if one.ticket.id in queued and one.wait_s is not None:
                    self._lined_up[one.ticket.id] = (now, place, one.wait_s)

    def sized(self, first: int, last: int) -> float:
        """All that was told to those in these places, over all that it took."""
        told = [(wait_s, took_s) for place, wait_s, took_s in self.waits if first <= place <= last]
        assert len(told) > 20, "too few to say anything"
        return sum(wait_s for wait_s, _ in told) / sum(took_s for _, took_s in told)


def run(load: Load) -> Told:
    told = Told()
    setup = Setup(terms=Terms(limit=4), load=load, queueing=Queueing(limit=4))
    simulation = Simulation(setup)
    proxy, clock = simulation.proxy, simulation.clock
    assert proxy is not None
    carry_out = proxy.apply

    def apply(effects: list[Effect]) -> None:
        listened = list(effects)
        carry_out(effects)
        told.listen(proxy, clock.now, listened)

    proxy.apply = apply  # type: ignore[method-assign]
    simulation.run()
    return told


def test_agents_at_work_are_expected_back() -> None:
    told = run(Load(agents=12))
    assert 0.7 < told.sized(1, 1) < 1.5
    assert 0.7 < told.sized(2, 4) < 1.5
    assert 0.5 < told.sized(5, 99) < 2.0


def test_calls_that_stand_for_themselves_wait_for_who_is_there() -> None:
    told = run(Load(agents=12, calls=Range(1, 1)))
    assert told.sized(1, 99) == pytest.approx(1.0, abs=0.1)


def test_many_agents_with_short_prompts() -> None:
    told = run(Load(agents=40, calls=Range(1, 3)))
    assert told.sized(9, 99) == pytest.approx(1.0, abs=0.15)
