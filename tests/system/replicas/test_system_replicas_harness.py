# The faults themselves: what is done to Redis and the network happens, and what a storm must not bring is noticed.

from pathlib import Path

import pytest
import redis.asyncio
from blackbox.waiting import until

from replicas.conftest import RedisStarter
from replicas.fleet import LEASE, NOTICED
from replicas.journal import IDLE_S, SETTLED_S, TOGETHER_S, Ask, Journal
from replicas.namespace import a_namespace
from replicas.redis_server import KEEPS
from replicas.relay import COMMAND, REPLY, Relay
from replicas.sentinel import Sentinel, follows


async def test_killed_server_knows_again_what_it_was_to_keep_and_nothing_else(a_redis: RedisStarter) -> None:
    keeps, forgets = await a_redis(KEEPS), await a_redis()
    for server in (keeps, forgets):
        await server.ask("SET", "key", "value")
        await server.restart()
    assert await keeps.ask("GET", "key") == b"value"
    assert await forgets.ask("GET", "key") is None


async def test_relay_holds_refuses_and_passes_on(a_redis: RedisStarter) -> None:
    server = await a_redis()
    relay = Relay(server.address)
    await relay.start()
    async with redis.asyncio.Redis(port=relay.port, socket_timeout=0.3, retry=None) as client:
        assert await client.ping()
        relay.hold()
        with pytest.raises(redis.TimeoutError):
            await client.ping()
        relay.let()
        assert await client.ping()
        relay.refuse()
        with pytest.raises(redis.ConnectionError):
            await client.ping()
        relay.let()
        assert await client.ping()
    await relay.stop()


@pytest.mark.parametrize(("what", "done"), [(COMMAND, b"0"), (REPLY, b"1")])
async def test_command_that_is_cut_is_not_done_and_one_whose_reply_is_cut_is(
    a_redis: RedisStarter, what: str, done: bytes
) -> None:
    server = await a_redis()
    await server.ask("SET", "count", 0)
    relay = Relay(server.address)
    await relay.start()
    async with redis.asyncio.Redis(port=relay.port, retry=None) as client:
        assert await client.ping()
        relay.bite(what)
        with pytest.raises(redis.ConnectionError):
            await client.incr("count")
    await relay.stop()
    assert (await server.ask("GET", "count"), relay.bitten) == (done, 1)


async def test_unplugged_server_does_not_answer(a_redis: RedisStarter) -> None:
    with a_namespace() as namespace:
        server = await a_redis(host=namespace.address, within=namespace.within)
        async with redis.asyncio.Redis(host=server.host, port=server.port, socket_timeout=0.3, retry=None) as client:
            assert await client.ping()
            namespace.unplug()
            with pytest.raises(redis.TimeoutError):
                await client.ping()
            namespace.plug()
            await until(lambda: server.ask("PING"), what="an answer")
            await server.discard()


async def test_sentinel_makes_the_copy_the_primary(a_redis: RedisStarter, tmp_path: Path) -> None:
    primary, copy = await a_redis(), await a_redis()
    await follows(copy, primary)
    sentinel = Sentinel(tmp_path / "sentinel", primary)
    try:
        await sentinel.start()
        await sentinel.knows_the_copy()
        await primary.kill()
        await sentinel.has_failed_over(copy)
        await until(lambda: copy.ask("ROLE"), what="a role")
        assert (await copy.ask("ROLE"))[0] == b"master"
    finally:
        await sentinel.discard()


# --- the judge of a storm --------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


@pytest.mark.parametrize(
    ("waited", "calm", "later", "inversions"),
    [
        (SETTLED_S + 1, SETTLED_S + 1, TOGETHER_S * 2, 1),
        (SETTLED_S / 2, SETTLED_S + 1, TOGETHER_S * 2, 0),  # it may have come after the grant
        (SETTLED_S + 1, SETTLED_S / 2, TOGETHER_S * 2, 0),  # a new Redis may not know of it yet
        (SETTLED_S + 1, SETTLED_S + 1, TOGETHER_S / 2, 0),  # both were let go together
    ],
)
def test_younger_prompt_that_goes_before_an_older_one_is_noticed_in_the_calm(
    waited: float, calm: float, later: float, inversions: int
) -> None:
    journal = Journal(1, clock := Clock())
    journal.asked(Ask("younger", 0, prompt=2, sent_at=0))
    journal.asked(Ask("older", 1, prompt=1, sent_at=clock.at))
    clock.at += waited - calm
    journal.trouble("some")
    journal.passed()
    clock.at += calm
    journal.went("younger")
    clock.at += later
    journal.went("older")
    assert len(journal.inversions) == inversions


@pytest.mark.parametrize(("after", "lost"), [(LEASE + NOTICED + 1, 1), (LEASE - 1, 0)])
def test_slot_that_is_idle_while_somebody_waits_is_lost_once_the_lease_of_the_dead_is_over(
    after: float, lost: int
) -> None:
    journal = Journal(2, clock := Clock())
    journal.asked(Ask("waiter", 0, prompt=1, sent_at=clock.at))
    journal.trouble("death")
    journal.passed(died=True)
    clock.at += after
    journal.look(1)
    clock.at += IDLE_S + 0.1
    journal.look(1)
    assert journal.lost == lost
    journal.look(2)
    clock.at += IDLE_S + 0.1
    journal.look(2)
    assert journal.lost == lost


def test_one_more_than_the_limit_and_one_that_was_sent_twice_are_noticed() -> None:
    journal = Journal(2, Clock())
    journal.asked(Ask("one", 0, prompt=1, sent_at=0))
    for open_now in (1, 3):
        journal.went("one")
        journal.open_now(open_now)
    assert journal.faults == {"over the limit": 1, "sent twice": 1}
