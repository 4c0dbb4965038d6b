"""Several replicas at one provider: one limit, one order, and what becomes of the slots of those that are gone."""

import subprocess
from pathlib import Path

import pytest
import redis
from blackbox.process import free_ports
from peers import Provider


@pytest.fixture(autouse=True)
def empty(server):
    server.flushall()


def names(effects):
    return [name for name, *_ in effects]


def outlives_a_lease(*peers):
    """These go on calling, often enough, for longer than a lease; nobody else does. What happened."""
    happened = []
    for _ in range(4):
        peers[0].provider.now += 4
        for peer in peers:
            happened += peer.say(["tick"])
    return happened


def test_one_limit_holds_over_all_and_a_grant_is_pushed_to_whose_request_it_is(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    first = one.ask()
    second = two.ask()
    assert (list(one.held), list(two.waiting)) == ([first], [second])
    one.release(first)
    assert "Granted" in names(two.hear())
    assert list(two.held) == [second]
    assert one.hear() == []


def test_the_order_is_that_of_all_waiters_together_and_a_star_counts_at_once(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    holder = one.ask()
    late, early, starred = one.ask("a", 9), two.ask("b", 5), one.ask("c", 99)
    two.say(["star", "c", True])
    served = []
    for _ in range(3):
        (one if holder in one.held else two).release(holder)
        one.hear(), two.hear()
        (holder,) = [*one.held, *two.held]
        served.append(holder)
    assert served == [starred, early, late]


def test_a_dead_replica_keeps_its_slots_for_a_lease_and_no_longer(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    one.ask()
    waiter = two.ask()
    for _ in range(3):
        provider.now += 4.9
        assert two.say(["tick"]) == []
    provider.now += 0.4
    assert names(two.say(["tick"])) == ["Released", "Granted", "Buried"]
    assert list(two.held) == [waiter]


def test_who_waits_at_a_dead_replica_waits_no_more(server):
    provider = Provider(server, limit=1)
    one, two, three = (provider.replica(name) for name in ("one", "two", "three"))
    holder = two.ask()
    one.ask("a", 1)
    waiter = three.ask("a", 2)
    outlives_a_lease(two, three)
    two.release(holder)
    three.hear()
    assert list(three.held) == [waiter]


def test_a_replica_that_comes_back_too_late_is_told_and_takes_nothing_from_anybody(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    stalled = one.ask()
    waiter = two.ask()
    outlives_a_lease(two)
    assert list(two.held) == [waiter]
    assert one.say(["tick"]) == [("Unknown",)]
    assert one.announce() == [("Lost", "one", stalled, 1)]
    one.ask()
    assert len(one.waiting) == 1, "the slot was given twice"


def test_when_nobody_could_call_nobody_has_died(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    holder = one.ask()
    two.ask()
    provider.now += 60  # the server was not there
    assert two.say(["tick"]) == []
    provider.now += 4
    one.release(holder)
    assert "Granted" in names(two.hear())


def test_an_empty_server_grants_nothing_before_all_have_said_what_they_hold(server):
    provider = Provider(server, limit=2)
    one, two = provider.replica("one"), provider.replica("two")
    one.ask(), two.ask()
    late, early = one.ask("a", 9), two.ask("a", 1)
    server.flushall()
    provider.run, provider.now = "second", provider.now + 1
    assert one.say(["tick"]) == [("Unknown",)]
    one.announce("two")
    third = one.ask("a", 0)
    assert (len(one.held), list(one.waiting)) == (1, [late, third]), "granted before the other was heard"
    two.announce("one")
    assert (len(one.held), len(two.held)) == (1, 1)
    one.release(next(iter(one.held)))
    two.release(next(iter(two.held)))
    one.hear(), two.hear()
    assert {*one.held, *two.held} == {early, third}


def test_a_replica_that_does_not_come_back_is_waited_for_no_longer_than_a_lease(server):
    provider = Provider(server, limit=2)
    one = provider.replica("one")
    provider.replica("two")
    server.flushall()
    provider.run = "second"
    one.announce("two")
    waiter = one.ask()
    for _ in range(3):
        provider.now += 5
        one.say(["tick"])
    assert list(one.held) == [waiter]


def test_a_dead_replica_is_waited_for_no_longer_than_its_own_lease(server):
    provider = Provider(server, limit=2)
    one = provider.replica("one")
    provider.replica("two")
    for _ in range(2):
        provider.now += 5
        one.say(["tick"])
    provider.run = "second"  # which has kept everything
    one.announce("two")
    waiter = one.ask()
    provider.now += 4.9
    one.say(["tick"])
    assert list(one.waiting) == [waiter]
    provider.now += 0.2
    one.say(["tick"])
    assert list(one.held) == [waiter]


def test_what_another_server_has_forgotten_is_put_in_and_what_is_over_is_taken_out(server):
    provider = Provider(server, limit=3)
    one = provider.replica("one")
    kept, over, lost = one.ask(), one.ask(), one.ask()
    grant = one.held.pop(lost)
    one.say(["release", lost, grant, True])
    one.held[lost] = grant  # as if the server had never heard of it
    del one.held[over]  # it ended while no server was there
    provider.run = "second"
    effects = one.announce("one")
    assert names(effects) == ["Released"]
    assert sorted(one.held) == [kept, lost]
    one.ask(), one.ask()
    assert (len(one.held), len(one.waiting)) == (3, 1)


def test_who_leaves_takes_all_with_it(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    one.ask(), one.ask()
    waiter = two.ask()
    one.say(["leave_all"])
    two.hear()
    assert list(two.held) == [waiter]


def test_one_replica_is_to_call_when_something_is_due_and_looking_does_not_make_it_another(server):
    provider = Provider(server, limit=1, cooldown_s=1.0)
    one, two = provider.replica("one"), provider.replica("two")
    holder = one.ask()
    two.ask()
    one.release(holder)
    two.say(["look", 1])
    assert (one.waker, two.waker) == ("one", "one")
    provider.now += 2
    two.say(["catch_up"])  # the other one has not
    one.say(["look", 1])
    assert (one.waker, two.waker) == ("two", "two")


@pytest.mark.parametrize("leaves", [True, False], ids=["left", "died"])
def test_when_who_is_to_call_is_gone_another_is(server, leaves):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    one.ask()
    two.ask()
    one.ask()
    assert (one.waker, two.waker) == ("two", "two")
    if leaves:
        two.say(["leave_all"])
    else:
        outlives_a_lease(one)
    one.say(["look", 1])
    assert one.waker != "two"


def test_a_poll_of_a_dead_replica_is_over_and_another_asks(server):
    provider = Provider(server, limit=1, gate_interval_s=60.0)
    one, two = provider.replica("one"), provider.replica("two")
    holder = two.ask()
    one.ask("a", 1)
    waiter = two.ask("a", 2)
    assert "PollUsage" in names(two.release(holder))
    asked = [effect for effect in outlives_a_lease(two) if effect[0] == "PollUsage"]
    assert [effect[1:3] for effect in asked] == [("two", waiter)], "another asks in its place"
    two.say(["polled", asked[0][3], 0, False])
    assert list(two.held) == [waiter]


def test_nothing_is_left_of_workspaces_that_nobody_waits_in(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    before = provider.keys
    holder = one.ask()
    for number in range(50):
        one.ask(f"workspace {number}")
    while one.held:
        one.release(holder)
        holder = next(iter(one.held), 0)
    assert provider.keys - before <= {"of:one", "past", "lag"}
    assert "of:one" not in provider.keys


def test_a_cluster_takes_the_script(tmp_path: Path):
    (port,) = free_ports(1)  # its other port is 10,000 above
    arguments = ["--port", str(port), "--cluster-enabled", "yes", "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(["redis-server", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            node = redis.Redis(
                port=port,
                retry_on_error=[redis.ConnectionError],
                retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.1), 100),
            )
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            while b"cluster_state:ok" not in node.execute_command("CLUSTER", "INFO"):
                pass
            provider = Provider(node, limit=1)
            one, two = provider.replica("one"), provider.replica("two")
            one.release(one.ask())
            two.ask()
            assert len(two.held) == 1
            node.close()
        finally:
            process.kill()
