"""A waiter of a shared queue that is cancelled at each moment: its slot ends with one holder or goes on."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest
from shared_desk import Replica, Shared, sharing, soon, until

from proxy.core.model import Granted, Left, Released, Slot
from proxy.errors import OwnAnswer


async def cancelled(task: "asyncio.Task[Slot]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def at_rest(p: Shared) -> None:
    """Nobody holds or waits any more, and nothing of anybody is left, here or in Redis."""
    for replica in p.replicas:
        await replica.admission.settled()
    await until(lambda: not any(p.left.values()))
    for replica in p.replicas:
        await replica.admission.settled()
    assert [replica.remembered for replica in p.replicas] == [0] * len(p.replicas)
    assert not p.held


def around(replica: Replica, name: str, deed: Callable[..., None]) -> None:
    """The next effect of this name is carried out by `deed`, which is given what carries it out and what it says."""
    deeds = replica.admission._deeds

    def once(*said: object) -> None:
        replica.admission._deeds = deeds
        deed(deeds[name], *said)

    replica.admission._deeds = {**deeds, name: once}


def told_later(late: list[tuple[str, tuple[object, ...]]], name: str, *said: object) -> None:
    late.append((name, said))


async def test_waiting_then_cancelled_leaves_the_queue(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        first, second = await two.waiter(), await one.waiter()
        await cancelled(first)
        assert isinstance(two.seen[-1], Left)
        one.release(slot)
        one.release(await soon(second))
        await at_rest(p)


async def test_cancelled_before_its_task_runs_gets_no_slot(server, own):
    """The future is cancelled, its task has not run, and what is told then is the grant."""
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        slot = await one.acquire()
        first, second = await one.waiter(), await one.waiter()
        one.seen.clear()
        around(one, "Granted", lambda grant, *said: (first.cancel(), grant(*said)))
        one.release(slot)
        one.release(await soon(second))
        assert first.cancelled()
        await at_rest(p)
        assert one.names() == ["Released", "Granted", "Released", "Granted", "Released"]


async def test_granted_then_cancelled_before_its_task_runs_gives_the_slot_on(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        first, second = await two.waiter(), await one.waiter()
        around(two, "Granted", lambda grant, *said: (grant(*said), first.cancel()))
        one.release(slot)
        one.release(await soon(second))
        assert first.cancelled()
        await at_rest(p)


async def test_granted_then_cancelled_skips_the_rest(server, own):
    async with sharing(server, own.socket, cooldown_s=60.0) as p:
        one = await p.replica()
        slot = await one.acquire()
        first, second = await one.waiter(), await one.waiter()
        around(one, "Granted", lambda grant, *said: (grant(*said), first.cancel()))
        one.release(slot, reached=False)
        one.release(await soon(second), reached=False)
        await at_rest(p)


async def test_cancelled_in_the_turn_in_which_it_asked_holds_nothing(server, own):
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        for turns in range(8):
            task = one.ask()
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                one.release(task.result())
        one.release(await soon(one.ask()))
        await at_rest(p)


async def test_cancelled_while_its_call_is_under_way_holds_nothing(server, own):
    """The server grants what has been given up meanwhile."""
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        server.execute_command("CLIENT", "PAUSE", 200, "ALL")
        task = one.ask()
        await until(lambda: one.admission._line._sent)
        await cancelled(task)
        two.release(await soon(two.ask()))
        await at_rest(p)
        assert [type(effect) for effect in one.seen].count(Granted) == [type(effect) for effect in one.seen].count(
            Released
        )


async def test_cancelled_while_the_server_is_away_is_never_granted(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await two.acquire()
        first, second = await one.waiter(), await one.waiter()
        p.kill("normal"), p.kill("pubsub")
        await until(lambda: one.link.away)
        await cancelled(first)
        two.release(slot)
        one.release(await soon(second))
        await at_rest(p)
        assert not [effect for effect in one.seen if isinstance(effect, Granted) and effect.ticket.id == 2]


async def test_release_while_the_server_is_away_gives_the_slot_on(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        waiter = await two.waiter()
        p.kill("normal"), p.kill("pubsub")
        await until(lambda: one.link.away)
        one.release(slot)
        two.release(await soon(waiter))
        await at_rest(p)


async def test_put_back_then_cancelled_leaves_the_queue(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        other = await two.waiter()
        again = asyncio.create_task(one.acquire_again(slot))
        two.release(await soon(other))
        await cancelled(again)
        two.release(await soon(two.ask()))
        await at_rest(p)


@pytest.mark.parametrize("turns", range(1, 6))
async def test_put_back_then_cancelled_at_once_leaves_the_queue(server, own, turns):
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        again = asyncio.create_task(one.acquire_again(await one.acquire()))
        for _ in range(turns):
            await asyncio.sleep(0)
        again.cancel()
        await asyncio.wait([again])
        one.release(await soon(one.ask()))
        await at_rest(p)


async def test_put_back_while_the_server_is_away_keeps_its_place(server, own):
    """What it has given back is told by the announcement; it goes before who came later with the same prompt start."""
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        other = await two.waiter()
        p.kill("normal"), p.kill("pubsub")
        await until(lambda: one.link.away and two.link.away)
        again = asyncio.create_task(one.acquire_again(slot, stated_ms=0))
        await asyncio.sleep(0)
        first, _ = await soon(asyncio.create_task(asyncio.wait([again, other], return_when="FIRST_COMPLETED")))
        holder = one if again in first else two
        holder.release(first.pop().result())
        assert again.done() or other.done()
        for replica, task in ((one, again), (two, other)):
            replica.release(await soon(task))
        await at_rest(p)


async def test_put_back_after_it_was_taken_back_elsewhere_is_not_forgotten(server, own, monkeypatch):
    """An operator at another replica takes the slot in the moment in which its holder puts it back."""
    monkeypatch.setattr("proxy.replicas.link.RENEW_S", 3600.0)  # nothing but this finds out
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        late: list[tuple[str, tuple[object, ...]]] = []
        deeds = one.admission._deeds
        one.admission._deeds = {
            **deeds,
            **{name: partial(told_later, late, name) for name in ("Reclaimed", "Released")},
        }
        two.admission.reclaim(slot)
        await until(lambda: len(late) == 2)
        one.admission._deeds = deeds
        again = asyncio.create_task(one.acquire_again(slot))
        await asyncio.sleep(0)
        for name, said in late:
            deeds[name](*said)
        one.release(await soon(again))
        await at_rest(p)


async def test_taken_back_in_the_moment_of_its_grant_is_told(server, own):
    """Reclaimed before its task has run: it had no holder who could be told."""
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        slot = await one.acquire()
        waiter = await one.waiter()

        def then_reclaimed(grant: Callable[..., None], ticket_id: int, number: int, waited_s: float) -> None:
            grant(ticket_id, number, waited_s)
            one.admission._reclaimed(ticket_id, number, "operator", 0.0)

        around(one, "Granted", then_reclaimed)
        one.release(slot)
        with pytest.raises(OwnAnswer) as refused:
            await soon(waiter)
        assert refused.value.code == "reclaimed"


async def test_left_after_a_refusal_is_not_told_twice(server, own):
    """Refused, and its client leaves before its task has run."""
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        slot = await one.acquire()
        waiter = await one.waiter()
        one.admission.drop_all("draining")
        waiter.cancel()
        await asyncio.wait([waiter])
        one.release(slot)
        await at_rest(p)
        assert one.names() == ["Granted", "Queued", "Refused", "Released"]
