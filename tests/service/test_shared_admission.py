"""What operators, files, the watchdog and usage polls do to a queue that several replicas share."""

import asyncio
from dataclasses import replace

import pytest
from shared_desk import file, sharing, soon, until

from proxy.core.model import (
    CooldownSet,
    LimitSet,
    Paused,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Resumed,
)
from proxy.errors import OwnAnswer, StoreError


class Holder:
    """Who holds a slot; `aborted` says why it does no more."""

    def __init__(self) -> None:
        self.aborted = []
        self.measured = 0

    def abort(self, why):
        self.aborted.append(why)

    def measure(self, slot, now):
        self.measured += 1


def kinds(effects, *kinds):
    return [type(effect) for effect in effects if isinstance(effect, kinds)]


TOLD = (CooldownSet, LimitSet, Paused, RateLimited, Reduced, Resumed)


# --- told once --------------------------------------------------------------------------------------------------------


async def test_what_an_operator_does_is_told_by_who_was_asked_and_overheard_elsewhere(server, own):
    async with sharing(server, own.socket, 4) as p:
        one, two = await p.replica(), await p.replica()
        one.seen.clear(), two.heard.clear()
        one.admission.set_limit(2, "api")
        one.admission.set_cooldown(1.5, "api")
        one.admission.pause(60.0)
        one.admission.resume()
        await one.admission.settled()
        await until(lambda: len(two.heard) == 4)
        told = [LimitSet, CooldownSet, Paused, Resumed]
        assert [type(effect) for effect in one.seen] == told
        assert [type(effect) for effect in one.kept] == told
        assert [type(effect) for effect in two.heard] == told
        assert (one.heard, two.seen, two.kept) == ([], [], [])
        assert two.heard[0] == LimitSet(2, "api")


async def test_what_a_refusal_does_is_told_by_whose_request_it_was(server, own):
    async with sharing(server, own.socket, 4) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        one.seen.clear(), two.heard.clear()
        one.admission.rate_limited(slot, status=429, kind="concurrency", retry_after_ms=5000)
        await one.admission.settled()
        await until(lambda: len(two.heard) == 2)
        assert kinds(one.kept, *TOLD) == kinds(one.seen, *TOLD) == [RateLimited, Reduced, Paused]
        assert [type(effect) for effect in two.heard] == [Reduced, Paused], "whose request it was is nobody else's"
        assert two.kept == []
        assert not one.admission._refused_tickets
        one.release(slot)


async def test_a_star_moves_waiters_everywhere_and_is_overheard(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        late, starred = await one.waiter("plain", 1), await two.waiter("starred", 9)
        one.stars.add("starred")
        one.admission.star_changed("starred", True)
        await until(lambda: two.stars == {"starred"})
        one.release(slot)
        two.release(await soon(starred))
        one.release(await soon(late))
        two.admission.star_changed("starred", False)
        await until(lambda: not one.stars)


# --- waiters and slots of another replica -----------------------------------------------------------------------------


async def test_whose_a_request_is_is_known_of_ones_own_and_of_anothers(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot, waiter = await one.acquire(), await two.waiter()
        for replica in (one, two):
            await replica.admission.refresh(10)
            admission, scheduler = replica.admission, replica.admission.scheduler
            assert [admission.replica_of(one.ticket) for one in scheduler.slots()] == [one.link.replica]
            assert [admission.replica_of(ticket) for ticket in scheduler.waiting.ordered()] == [two.link.replica]
        one.release(slot)
        two.release(await soon(waiter))


async def test_a_waiter_of_another_replica_can_be_dropped(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        waiter = await two.waiter()
        await one.admission.refresh(10)
        (ticket,) = one.admission.scheduler.waiting.ordered()
        assert one.admission.replica_of(ticket) == two.link.replica
        one.admission.drop(ticket)
        with pytest.raises(OwnAnswer) as refused:
            await soon(waiter)
        assert refused.value.code == "dropped"
        assert isinstance(two.seen[-1], Refused)
        assert not kinds(one.seen, Refused)
        one.release(slot)


async def test_a_slot_of_another_replica_can_be_reclaimed(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot, holder = await two.acquire(), Holder()
        two.admission.hold(slot, holder)
        await one.admission.refresh(10)
        (seen,) = one.admission.scheduler.slots()
        one.admission.reclaim(seen)
        await until(lambda: holder.aborted)
        assert holder.aborted == ["operator"]
        assert kinds(two.seen, Reclaimed)
        two.release(slot)  # what its request does at its end
        one.release(await soon(one.ask()))
        await until(lambda: not any(p.left.values()))


async def test_the_watchdog_measures_and_takes_back_only_its_own(server, own):
    async with sharing(server, own.socket, 2, max_hold_s=0.0) as p:
        one, two = await p.replica(), await p.replica()
        mine, theirs, holder = await one.acquire(), await two.acquire(), Holder()
        one.admission.hold(mine, holder)
        one.admission.watch()
        await until(lambda: holder.aborted)
        assert (holder.aborted, holder.measured) == (["max_hold"], 1)
        assert (mine.held, theirs.held) == (False, True)
        assert one.admission.holding() == []


async def test_all_who_wait_here_are_refused_and_nobody_elsewhere(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        here, there = await one.waiter(), await two.waiter()
        one.admission.drop_all("draining")
        with pytest.raises(OwnAnswer) as refused:
            await soon(here)
        assert refused.value.code == "draining"
        assert len(kinds(one.seen, Refused)) == 1
        one.release(slot)
        two.release(await soon(there))


# --- usage polls ------------------------------------------------------------------------------------------------------


async def test_the_replica_whose_request_is_next_asks_with_its_credentials(server, own):
    async with sharing(server, own.socket, gate_interval_s=60.0) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        waiter = await two.waiter(authorization="theirs")
        one.release(slot)
        await until(lambda: two.polls)
        assert one.polls == []
        credentials, tell = two.polls[0]
        assert credentials == {"authorization": "theirs"}
        assert not waiter.done()
        tell(0, None)
        two.release(await soon(waiter))
        assert len(two.polls) == 1


async def test_a_poll_for_a_client_that_has_left_is_asked_by_the_next(server, own):
    async with sharing(server, own.socket, gate_interval_s=60.0) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        leaves, stays = await two.waiter(started=1, key="first"), await one.waiter(started=2, key="second")
        asked = []
        two.admission._deeds = {**two.admission._deeds, "PollUsage": lambda *said: asked.append(said)}
        one.release(slot)
        await until(lambda: asked)
        leaves.cancel()
        await asyncio.wait([leaves])
        two.admission._ask_for_usage(*asked[0])  # it comes now
        await until(lambda: one.polls)
        assert [credentials for credentials, _ in [*one.polls, *two.polls]] == [{"key": "second"}]
        one.polls[0][1](None, "no luck")
        one.release(await soon(stays))


async def test_a_poll_whose_word_was_lost_with_the_connection_is_asked_for_again(server, own):
    async with sharing(server, own.socket, gate_interval_s=60.0) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        waiter = await two.waiter()
        deeds = two.admission._deeds
        lost = []
        two.admission._deeds = {**deeds, "PollUsage": lambda *said: lost.append(said)}
        one.release(slot)
        await until(lambda: lost)
        two.admission._deeds = deeds
        p.kill("pubsub")
        await until(lambda: two.polls)
        two.polls[0][1](0, None)
        two.release(await soon(waiter))


# --- what is read -----------------------------------------------------------------------------------------------------


async def test_looks_in_one_call_do_not_show_less_than_was_asked_for(server, own):
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        slot = await one.acquire()
        waiters = [await one.waiter() for _ in range(3)]
        await asyncio.gather(one.admission.refresh(10), one.admission.refresh(1))
        assert len(one.admission.scheduler.waiting.ordered()) == 3
        for waiter in waiters:
            waiter.cancel()
        await asyncio.wait(waiters)
        one.release(slot)


async def test_a_snapshot_counts_all_waiters_though_one_was_looked_at(server, own):
    async with sharing(server, own.socket) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        waiters = [await two.waiter() for _ in range(3)]
        await one.admission.refresh()
        assert one.admission.snapshot().queued == 3
        assert one.admission.snapshot().held == 1
        for waiter in waiters:
            waiter.cancel()
        await asyncio.wait(waiters)
        one.release(slot)


# --- while the server is away -----------------------------------------------------------------------------------------


@pytest.mark.plain
async def test_nobody_is_told_that_an_order_has_happened_of_which_nobody_knows(server, own, monkeypatch):
    monkeypatch.setattr("proxy.service.shared_admission.SETTLE_S", 0.05)
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        server.execute_command("CLIENT", "PAUSE", 400, "ALL")
        one.admission.set_limit(3, "api")
        with pytest.raises(StoreError, match="it is not known whether this will happen"):
            await one.admission.settled()
        await until(lambda: one.admission._standing.limit == 3)


@pytest.mark.plain
async def test_what_was_seen_last_is_shown_while_the_server_does_not_answer(server, own, monkeypatch):
    monkeypatch.setattr("proxy.service.shared_admission.LOOK_S", 0.05)
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        slot = await one.acquire()
        await one.admission.refresh()
        server.execute_command("CLIENT", "PAUSE", 300, "ALL")
        await one.admission.refresh()
        assert one.admission.snapshot().held == 1
        one.release(slot)
        await one.admission.settled()


@pytest.mark.plain
async def test_who_waits_for_longer_than_max_wait_is_refused_here_where_the_server_cannot(server, own, monkeypatch):
    monkeypatch.setattr("proxy.service.shared_admission.GRACE_S", -60.0)
    async with sharing(server, own.socket, max_wait_s=60.0) as p:
        one = await p.replica()
        slot = await one.acquire()
        waiter = await one.waiter()
        one.admission.give_up_late()
        with pytest.raises(OwnAnswer) as refused:
            await soon(waiter)
        assert refused.value.code == "queue_timeout"
        assert len(kinds(one.seen, Refused)) == 1
        one.release(slot)
        await one.admission.settled()
        await until(lambda: not any(p.left.values()))


async def test_who_does_not_wait_too_long_is_not_refused(server, own):
    async with sharing(server, own.socket) as p:
        one = await p.replica()
        slot = await one.acquire()
        waiter = await one.waiter()
        one.admission.give_up_late()
        one.release(slot)
        one.release(await soon(waiter))


# --- words ------------------------------------------------------------------------------------------------------------


async def test_a_full_queue_is_full_for_all_and_its_refusal_says_how_it_stands(server, own):
    async with sharing(server, own.socket, max_waiting=2) as p:
        one, two = await p.replica(), await p.replica()
        slot = await one.acquire()
        waiters = [await one.waiter(), await two.waiter()]
        with pytest.raises(OwnAnswer) as refused:
            await two.acquire()
        assert refused.value.code == "queue_full"
        assert "at p: 2 waiting, limit 1" in refused.value.message
        assert 1 <= refused.value.retry_after_s <= 59
        two.admission.check_room()  # who waits elsewhere, the server counts
        for waiter in waiters:
            waiter.cancel()
        await asyncio.wait(waiters)
        one.release(slot)
        await two.admission.settled()
        two.admission.check_room()


async def test_a_refusal_says_how_long_the_pause_is(server, own):
    async with sharing(server, own.socket, max_wait_s=10.0) as p:
        one, two = await p.replica(), await p.replica()
        one.admission.pause(600.0)
        await one.admission.settled()
        with pytest.raises(OwnAnswer) as refused:
            await two.acquire()
        assert refused.value.code == "paused"
        assert "paused for another" in refused.value.message
        assert 30 <= refused.value.retry_after_s <= 59


# --- what the file says -----------------------------------------------------------------------------------------------


async def test_a_file_that_another_replica_reads_too_changes_the_limit_once(server, own):
    async with sharing(server, own.socket, 4) as p:
        one, two = await p.replica(), await p.replica()
        one.admission.read_limit(6, learns=False)
        await one.admission.settled()
        two.admission.set_limit(2, "api")
        two.admission.read_limit(6, learns=False)
        await two.admission.settled()
        await one.admission.settled()
        assert one.admission._standing.limit == 2
        assert kinds(one.seen, LimitSet) == [LimitSet]


async def test_a_replica_that_starts_with_another_file_brings_its_word(server, own):
    async with sharing(server, own.socket, 4) as p:
        one = await p.replica()
        await p.replica(file=file(6, 0.0))
        await until(lambda: one.admission._standing.limit == 6)


async def test_a_replica_whose_first_words_were_lost_still_brings_its_file(server, own):
    async with sharing(server, own.socket, 4) as p:
        one = await p.replica()
        two = await p.replica(file=file(4, 0.0))
        two.admission._start["file"] = file(6, 0.0)
        two.admission._fresh = True
        two.admission.announcement()  # made, and never heard
        two.admission._line.interrupted()
        two.admission.begin()
        await until(lambda: one.admission._standing.limit == 6)
        one.admission.set_limit(3, "api")
        await one.admission.settled()
        two.admission._line.interrupted()
        two.admission.begin()
        await two.admission.settled()
        assert two.admission._standing.limit == 3, "said once"


async def test_a_server_that_forgot_is_told_what_is_in_force_now(server, own):
    async with sharing(server, own.socket, 4) as p:
        one = await p.replica()
        one.admission.read_limit(6, learns=False)
        one.admission.read_cooldown(0.5, learns=False)
        one.admission.set_policy(replace(p.policy, max_waiting=7))
        one.admission.set_limit(2, "api")
        await one.admission.settled()
        server.flushall()
        await one.admission.settled()
        happened = await one.admission._line.ask("look", 1)
        (seen,) = [said[0] for name, _, *said in happened if name == "Look"]
        assert seen["state"]["policy"]["max_waiting"] == 7
        await p.replica(file=file(6, 0.5))  # the same file; it is no news
        await one.admission.settled()
        assert one.admission._standing.limit == 2
        assert one.admission._standing.cooldown_s == 0.5


async def test_a_limit_to_be_learned_is_still_learned_by_a_server_that_forgot(server, own):
    async with sharing(server, own.socket, None) as p:
        one = await p.replica(learns_limit=True)
        server.flushall()
        await one.admission.settled()
        await one.admission.refresh()
        assert one.admission.snapshot().learns_limit
