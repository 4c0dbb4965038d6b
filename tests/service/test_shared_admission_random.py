"""Hundreds of requests over three replicas, cancelled at random, while connections are killed and replicas change."""

import asyncio
import random

import pytest
from shared_desk import PATIENCE_S, Replica, Shared, sharing, soon, until

from proxy.errors import OwnAnswer

REQUESTS = 300


class Crowd:
    """Who asks, and what befalls them."""

    def __init__(self, shared: Shared, chance: random.Random) -> None:
        self.shared, self.chance = shared, chance
        self.running: dict[asyncio.Task[None], Replica] = {}

    def come(self) -> None:
        replica = self.chance.choice(self.shared.replicas)
        task = asyncio.create_task(self._work(replica))
        self.running[task] = replica
        task.add_done_callback(lambda ended: self.running.pop(ended))

    async def _work(self, replica: Replica) -> None:
        chance = self.chance
        slot = await replica.acquire(replica.ticket(f"w{chance.randrange(3)}", chance.randrange(5)))
        try:
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(chance.choice((0, 0, 0.001, 0.003)))
                if chance.random() < 0.3:
                    slot = await replica.acquire_again(slot, patience_s=PATIENCE_S)
                elif chance.random() < 0.3:
                    replica.admission.answered(slot, success=True)
        except OwnAnswer as refused:
            assert refused.code == "reclaimed"  # noqa: PT017 — by an operator, below
        finally:
            replica.release(slot, reached=chance.random() < 0.8)

    async def befall(self) -> None:
        chance, shared = self.chance, self.shared
        what = chance.random()
        if what < 0.45 and self.running:
            chance.choice(list(self.running)).cancel()
        elif what < 0.50:
            shared.kill(chance.choice(("normal", "pubsub")))
        elif what < 0.55:
            line = chance.choice(shared.replicas).admission._line
            line.announced = False
            line.begin()
        elif what < 0.60:
            chance.choice(shared.replicas).admission.star_changed(f"w{chance.randrange(3)}", chance.random() < 0.5)
        elif what < 0.62:
            await self._replace(chance.choice(shared.replicas))
        elif what < 0.64:
            holding = chance.choice(shared.replicas).admission.holding()
            if holding:
                slot = chance.choice(holding)
                shared.held.discard((slot.id, slot.grant))  # whose turn it is then may hear of it first
                chance.choice(shared.replicas).admission.reclaim(slot)

    async def _replace(self, replica: Replica) -> None:
        """It leaves with all that it has, and another comes."""
        self.shared.replicas.remove(replica)
        mine = [task for task, whose in self.running.items() if whose is replica]
        for task in mine:
            task.cancel()
        await asyncio.gather(*mine, return_exceptions=True)
        await until(lambda: replica.admission._line.announced)
        await replica.link.leave()
        assert replica.remembered == 0 or replica.link.away
        await replica.stop()
        await self.shared.replica()


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(4))
async def test_no_slot_is_lost_or_given_twice_and_nothing_is_left(server, own, seed, monkeypatch):
    monkeypatch.setattr("proxy.replicas.link.RENEW_S", 0.05)  # so that what is compared then matters
    monkeypatch.setattr("proxy.service.shared_admission.backoff_s", lambda *said: 0.004 * (seed % 2))
    chance, limit = random.Random(seed), 1 + seed
    async with sharing(server, own.socket, limit, cooldown_s=0.002 * (seed // 2)) as p:
        crowd = Crowd(p, chance)
        for _ in range(3):
            await p.replica()
        failed: list[BaseException] = []
        for _ in range(REQUESTS):
            crowd.come()
            await asyncio.sleep(chance.choice((0, 0.001, 0.004)))
            await crowd.befall()
        async with asyncio.timeout(PATIENCE_S):
            ended = await asyncio.gather(*crowd.running, return_exceptions=True)
        failed += [one for one in ended if isinstance(one, Exception)]
        assert not failed
        assert 1 <= p.peak <= limit
        await until(lambda: not any(replica.link.away for replica in p.replicas))
        for replica in p.replicas:
            await replica.admission.settled()
        await until(lambda: not any(p.left.values()))
        for replica in p.replicas:
            await replica.admission.settled()
            assert replica.remembered == 0, repr(replica.admission._ended)
            assert len(replica.admission._line._unsent) <= 2
        slots = [await soon(chance.choice(p.replicas).ask()) for _ in range(limit)]  # all of them are there
        assert len(slots) == limit


@pytest.mark.parametrize("seed", range(3))
async def test_who_waits_is_served_in_the_order_of_all_though_connections_are_killed(server, own, seed):
    chance = random.Random(seed)
    async with sharing(server, own.socket) as p:
        replicas = [await p.replica() for _ in range(3)]
        replicas[0].stars.add("starred")
        replicas[0].admission.star_changed("starred", True)
        holder, slot = replicas[0], await replicas[0].acquire()
        waiting = {}
        for _ in range(24):
            replica, workspace, started = (
                chance.choice(replicas),
                chance.choice(("plain", "starred")),
                chance.randrange(9),
            )
            task = await replica.waiter(workspace, started)
            waiting[task] = (workspace != "starred", started, p._ids, replica)
        for expected in sorted(waiting, key=lambda task: waiting[task][:3]):
            if chance.random() < 0.3:
                p.kill("normal"), p.kill("pubsub")
            holder.release(slot)
            slot, holder = await soon(expected), waiting[expected][3]
            assert p.peak == 1
        holder.release(slot)


async def test_a_replica_at_rest_says_only_that_it_lives(server, own, monkeypatch):
    """No step is said for ever, and nothing answers what answers it."""
    async with sharing(server, own.socket, cooldown_s=0.001) as p:
        one, two = await p.replica(), await p.replica()
        for replica in (one, two, one):
            replica.release(await soon(replica.ask()))
        await one.admission.settled()
        await until(lambda: not any(p.left.values()))
        await one.admission.settled()
        await two.admission.settled()
        before = one.admission._line._number + two.admission._line._number
        await asyncio.sleep(0.3)
        assert one.admission._line._number + two.admission._line._number <= before + 2  # a rest's end, at the most
