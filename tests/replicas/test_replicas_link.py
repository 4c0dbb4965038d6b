"""Connections to the server that all share: what ends a session, what a new one says, and when the server is away."""

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager

import pytest
from servers.redis_server import RedisServer

from proxy.core.model import Policy
from proxy.replicas import link as module
from proxy.replicas import script
from proxy.replicas.link import Link
from proxy.replicas.server import Away, Server
from proxy.replicas.server_clock import ServerClock

PATIENCE_S = 30.0
START = {"policy": script.policy(Policy()), "limit": 1, "cooldown_s": 0.0}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "RENEW_S", 0.05)
    monkeypatch.setattr(module, "LOOK_S", 0.02)


class Listener:
    """One that has nothing; `heard` is what happened elsewhere, `announced` how often it was asked for everything."""

    def __init__(self) -> None:
        self.announced, self.heard = 0, []

    def announcement(self):
        self.announced += 1
        return script.announcement(START)

    def renewal(self):
        return [["peers"]]

    def happened(self, effects, now, standing, *, elsewhere):
        self.now = now
        if elsewhere:
            self.heard += effects


class End:
    """One end: a link, with a line for each provider that is named."""

    def __init__(self, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.states, self.faults, self.warnings, self.others = [], [], [], []
        self.link = Link(
            Server(url),
            now=loop.time,
            wall_ms=lambda: 42,
            changed=self.states.append,
            heard_of=self.others.append,
            warn=self.warnings.append,
            complain=self.faults.append,
        )
        self.listener = Listener()
        self.line = self.link.line("p", self.listener)

    async def said(self, *step):
        async with asyncio.timeout(PATIENCE_S):
            return await self.line.ask(*step)


@asynccontextmanager
async def linked(own: RedisServer, *, faults: int = 0):
    """It runs, and has announced itself; at the end it has complained as often as is said."""
    end = await asyncio.to_thread(End, own.url, asyncio.get_running_loop())
    running = asyncio.create_task(end.link.run())
    try:
        await end.link.connected()
        await end.said("peers")
        yield end
    finally:
        while not running.done():
            running.cancel()
            await asyncio.wait([running], timeout=2.0)
    assert len(end.faults) == faults


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():
            await asyncio.sleep(0.002)


def killed(own: RedisServer, kind: str) -> int:
    with own.connection() as connection:
        return connection.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def paused(own: RedisServer, milliseconds: int) -> None:
    with own.connection() as connection:
        connection.execute_command("CLIENT", "PAUSE", milliseconds, "ALL")


async def test_a_subscription_that_ends_begins_everything_anew(own):
    async with linked(own) as one, linked(own) as two:
        before = one.listener.announced
        assert killed(own, "pubsub") == 2
        await until(lambda: one.listener.announced > before)
        await one.said("peers")
        await two.said("set_limit", 5, "api", False)
        await until(lambda: any(name == "LimitSet" for name, *_ in one.listener.heard))


async def test_a_call_that_is_cut_off_begins_everything_anew_and_is_said_again(own):
    async with linked(own) as one, linked(own) as two:
        before = one.listener.announced
        paused(own, 200)
        told = one.line.ask("set_limit", 7, "api", False)
        await until(lambda: one.line._sent)
        with own.connection() as connection:
            connection.execute_command("CLIENT", "UNPAUSE")
            mine = [each for each in connection.client_list() if each["name"] == "slotgate"]
            for each in mine:
                connection.client_kill_filter(_id=each["id"])
        async with asyncio.timeout(PATIENCE_S):
            await told
        assert one.listener.announced >= before
        await until(lambda: any(effect[0] == "LimitSet" for effect in two.listener.heard))


async def test_both_connections_cut_at_once_over_and_over_leave_no_task_and_end_in_peace(own):
    async with linked(own) as one:
        for _ in range(15):
            killed(own, "normal"), killed(own, "pubsub")
            await one.said("peers")
        assert one.link.away is None


async def test_a_script_that_the_server_has_forgotten_is_loaded_again(own):
    async with linked(own) as one:
        before = one.listener.announced
        with own.connection() as connection:
            connection.script_flush()
        assert (await one.said("peers"))[-1][0] == "Peers"
        assert one.listener.announced > before


async def test_a_step_that_is_a_fault_is_told_and_does_not_end_the_line(own):
    async with linked(own, faults=1) as one:
        with pytest.raises(Exception, match="user_script"):
            await one.said("no such step")
        assert (await one.said("peers"))[-1][0] == "Peers"


async def test_after_a_fault_the_lease_is_renewed_though_nobody_says_anything(own):
    async with linked(own, faults=1) as one:
        before = one.listener.announced
        one.line.say("no such step")
        await until(lambda: one.faults)
        await until(lambda: one.line.announced and one.listener.announced > before)


async def test_a_fault_of_one_provider_is_not_anothers(own):
    async with linked(own, faults=1) as one:
        other = one.link.line("q", Listener())
        await other.ask("peers")
        one.line.say("no such step")
        told = other.ask("peers")
        async with asyncio.timeout(PATIENCE_S):
            await told
        assert other.announced


async def test_what_happens_at_another_replica_is_heard_and_ones_own_is_not(own):
    async with linked(own) as one, linked(own) as two:
        assert one.link.replica != two.link.replica
        await one.said("star", "w", True)
        await until(lambda: ["Starred", False, "w", True] in two.listener.heard)
        await two.said("star", "w", False)
        await until(lambda: ["Starred", False, "w", False] in one.listener.heard)
        assert ["Starred", False, "w", True] not in one.listener.heard


async def test_who_leaves_is_known_no_more(own):
    async with linked(own) as one, linked(own) as two:
        await one.link.leave()
        (peers,) = [said for name, _, said, *_ in await two.said("peers") if name == "Peers" and len(said)]
        assert one.link.replica not in peers
        assert two.link.replica in peers


async def test_who_leaves_while_the_server_is_away_does_not_wait_for_it(own):
    async with linked(own) as one:
        one.link._interrupted("it is away")
        async with asyncio.timeout(PATIENCE_S):
            await one.link.leave()


async def test_a_server_that_hangs_is_away_until_it_answers(own, monkeypatch):
    monkeypatch.setattr(module, "SLOW_S", 0.05)
    async with linked(own) as one:
        paused(own, 400)
        one.line.say("peers")
        await until(lambda: one.states)
        assert "no answer for" in one.states[0]
        assert one.link.away is None or "no answer for" in one.link.away
        await until(lambda: one.states[-1] is None)
        assert one.link.away is None


async def test_a_server_that_is_killed_is_told_once_and_so_is_its_return(tmp_path_factory):
    with RedisServer(tmp_path_factory.mktemp("killed")) as mortal:
        async with linked(mortal) as one:
            await asyncio.to_thread(mortal.kill)
            await until(lambda: one.link.away)
            told = one.line.ask("set_limit", 3, "api", False)
            await until(lambda: one.states)
            assert not told.done()
            await asyncio.to_thread(mortal.start)
            async with asyncio.timeout(PATIENCE_S):
                await told
            assert [state is None for state in one.states] == [False, True]


async def test_a_server_that_was_never_there_is_told_and_no_return_is(tmp_path_factory):
    server = RedisServer(tmp_path_factory.mktemp("late"))
    end = await asyncio.to_thread(End, server.url, asyncio.get_running_loop())
    running = asyncio.create_task(end.link.run())
    try:
        await until(lambda: end.states)
        assert "cannot be reached" in end.states[0]
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(PATIENCE_S):
            await end.link.connected()
        assert end.states[-1] is None
    finally:
        running.cancel()
        await asyncio.wait([running])
        server.kill()


async def test_the_time_is_the_servers_and_without_one_this_machines(own):
    end = await asyncio.to_thread(End, own.url, asyncio.get_running_loop())
    assert end.link.server_ms() == 42
    async with linked(own) as one, linked(own) as two:
        assert abs(one.link.server_ms() - time.time() * 1000) < PATIENCE_S * 1000
        assert abs(one.link.server_ms() - two.link.server_ms()) < PATIENCE_S * 1000


def test_one_moment_has_one_name_until_the_servers_clock_is_set():
    clock = ServerClock()
    assert clock.ahead_s is None
    clock.heard(100.0, called_at=10.0, now=12.0)
    assert clock.ahead_s == -89.0
    clock.heard(200.0, called_at=110.5, now=111.5)  # it agrees
    assert clock.ahead_s == -89.0
    clock.heard(200.0, called_at=110.0, now=170.0)  # it came late, and tells nothing
    assert clock.ahead_s == -89.0
    clock.heard(300.0, called_at=150.0, now=151.0)  # it was set
    assert clock.ahead_s == -149.0
    assert repr(clock) == "<ServerClock +149.000 s>"


async def test_a_lost_cancellation_holds_up_nobody(own):
    """What redis-py does on Python 3.11 with one that comes with its answer."""

    async def deaf():
        lost = 0
        while lost < 3:
            try:
                await asyncio.sleep(PATIENCE_S)
            except asyncio.CancelledError:
                lost += 1

    async def fails():
        await asyncio.sleep(0)
        raise Away("it is away")

    with pytest.raises(Away):
        async with asyncio.timeout(PATIENCE_S / 2):
            await module._until_one_ends(deaf(), fails())


async def test_whoever_waits_for_both_may_be_cancelled_twice_and_leaves_nothing_running(own):
    begun = asyncio.Event()

    async def slow():
        begun.set()
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            await asyncio.sleep(0.02)

    running = asyncio.create_task(module._until_one_ends(slow(), slow()))
    await begun.wait()
    running.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


async def test_a_call_of_many_providers_answers_each(own):
    async with linked(own) as one:
        lines = [one.link.line(f"provider {number}", Listener()) for number in range(20)]
        async with asyncio.timeout(PATIENCE_S):
            answers = await asyncio.gather(*(line.ask("peers") for line in lines))
        assert all(answer[-1][0] == "Peers" for answer in answers)
        assert len({line.key for line in lines}) == 20


async def test_warnings_are_told_once(own):
    with own.connection() as connection:
        connection.config_set("maxmemory", "100mb")
        connection.config_set("maxmemory-policy", "allkeys-lru")
    try:
        async with linked(own) as one:
            killed(own, "pubsub")
            before = one.listener.announced
            await until(lambda: one.listener.announced > before)
            assert len(one.warnings) == 1
    finally:
        with own.connection() as connection:
            connection.config_set("maxmemory", "0")
            connection.config_set("maxmemory-policy", "noeviction")
