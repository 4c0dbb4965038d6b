"""What a provider in Redis makes of words that were lost, came late or twice, and of steps that only replicas say."""

import pytest
from peers import Provider

from proxy.core.model import Policy, Slot, Ticket
from proxy.core.scheduler import Scheduler
from proxy.replicas import script
from proxy.replicas.mirror import Mirror


@pytest.fixture(autouse=True)
def empty(server):
    server.flushall()


def names(effects):
    return [name for name, *_ in effects]


def announced(peer, *, held=(), waiting=(), **more):
    return peer.say(script.announcement(peer.provider.start, held=held, waiting=waiting, **more))


def look(peer, most=1000):
    (seen,) = [effect[2] for effect in peer.say(["look", most]) if effect[0] == "Look"]
    return seen


def mirror(peer, most=1000):
    return Mirror(look(peer, most), ahead_s=0.0, tickets={}, slots={})


# --- announcing -------------------------------------------------------------------------------------------------------


def test_a_grant_at_once_whose_word_was_lost_is_told_by_the_announcement(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    ticket = one.tickets[asked]
    effects = announced(one, waiting=[{**ticket, "waited_s": 1.0, "after": 0}])
    assert ("Granted", "one", asked, 1, 0) in effects
    assert look(one)["state"]["held"] == 1


def test_a_slot_that_the_server_forgot_can_be_put_back(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    ticket, grant = one.tickets[asked], one.held.pop(asked)
    server.flushall()
    announced(one, held=[{**ticket, "grant": grant, "held_s": 1.0, "taken": False}])
    assert names(one.say(["requeue_within", asked, grant, 0.0, 60.0])) == ["Released", "Queued", "Granted"]
    assert list(one.held) == [asked]
    one.release(asked)
    assert look(one)["state"]["in_flight"] == 0


def test_who_has_put_back_a_slot_waits_and_does_not_hold_it(server):
    """`after` is the slot that it has given back; the word of it was lost."""
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    waiting = {**one.tickets[asked], "waited_s": 0.0, "after": one.held.pop(asked)}
    effects = announced(one, waiting=[waiting])
    assert names(effects) == ["Released", "Queued", "Granted"]
    assert one.held == {asked: 2}


def test_who_has_put_back_a_slot_and_was_granted_another_is_told_of_that(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    after = one.held.pop(asked)
    one.say(["requeue_within", asked, after, 0.0, 60.0])
    effects = announced(one, waiting=[{**one.tickets[asked], "waited_s": 0.0, "after": after}])
    assert names(effects) == ["Granted"]
    assert look(one)["state"]["in_flight"] == 1


def test_who_rests_after_a_refusal_goes_on_resting_through_an_announcement(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    after = one.held.pop(asked)
    one.say(["requeue_within", asked, after, 5.0, 60.0])
    assert announced(one, waiting=[{**one.tickets[asked], "waited_s": 0.0, "after": after}]) == []
    provider.now += 5
    assert names(one.say(["catch_up"])) == ["Queued", "Granted"]


def test_an_announcement_says_twice_what_it_says_once(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    held, waits = one.ask(), one.ask()
    before = look(one)["state"]
    for _ in range(2):
        one.announce()
    after = look(one)["state"]
    assert (after["held"], after["ready"], after["in_flight"]) == (before["held"], before["ready"], 1)
    assert (list(one.held), list(one.waiting)) == ([held], [waits])


def test_a_call_that_comes_late_does_nothing(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    one.ask()
    late = script.request([["set_limit", 9, "api", False]], replica="one", number=1, run=provider.run, now=provider.now)
    said = script.reply(provider.call(keys=["slotgate:{api.example}:"], args=[late]))
    assert said.late
    assert look(one)["state"]["limit"] == 1


def test_the_number_of_the_last_call_that_said_something_is_told(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    one.say(["catch_up"])
    said = script.request(
        [script.announcement(provider.start)], replica="one", number=7, run=provider.run, now=provider.now
    )
    assert script.reply(provider.call(keys=["slotgate:{api.example}:"], args=[said])).done == 2


def test_what_it_knows_of_replicas_that_are_gone_does_not_grow(server):
    provider = Provider(server, limit=1)
    provider.replica("stays")
    for number in range(30):
        provider.replica(f"goes {number}").say(["leave_all"])
    stays = provider.replica("stays too")
    assert len(look(stays)["state"]["announced"]) <= 2
    assert {key for key in provider.keys if key.startswith("of:")} == set()


def test_nothing_is_given_to_whom_a_dead_replica_let_wait(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    one.ask()
    for started in range(20):
        one.ask("a", started)
    waiter = two.ask("a", 99)
    assert names(one.say(["leave_all"])) == ["Released", "Granted", "Buried"]
    two.hear()
    assert list(two.held) == [waiter]


# --- usage polls ------------------------------------------------------------------------------------------------------


def polled_by(provider, one, two):
    """`two` waits and was asked to poll; the number of the poll, and who waits."""
    holder = one.ask()
    waiter = two.ask()
    one.release(holder)
    (asked,) = [effect for effect in two.hear() if effect[0] == "PollUsage"]
    return asked[3], waiter


def test_a_poll_whose_word_was_lost_is_asked_for_again(server):
    provider = Provider(server, limit=1, gate_interval_s=60.0)
    one, two = provider.replica("one"), provider.replica("two")
    number, waiter = polled_by(provider, one, two)
    waiting = [{**two.tickets[waiter], "waited_s": 0.0, "after": 0}]
    asked = [effect for effect in announced(two, waiting=waiting, poll=number - 1) if effect[0] == "PollUsage"]
    assert [effect[1:3] for effect in asked] == [("two", waiter)]
    two.say(["polled", number, 0, False])
    assert not two.held, "the poll that was lost is over"
    two.say(["polled", asked[0][3], 0, False])
    assert list(two.held) == [waiter]


def test_a_poll_that_was_heard_of_goes_on_through_an_announcement(server):
    provider = Provider(server, limit=1, gate_interval_s=60.0)
    one, two = provider.replica("one"), provider.replica("two")
    number, waiter = polled_by(provider, one, two)
    waiting = [{**two.tickets[waiter], "waited_s": 0.0, "after": 0}]
    assert "PollUsage" not in names(announced(two, waiting=waiting, poll=number))
    assert "PollUsage" not in names(announced(one))
    two.say(["polled", number, 0, False])
    assert list(two.held) == [waiter]


def test_a_poll_that_cannot_be_asked_for_is_asked_for_by_the_next(server):
    provider = Provider(server, limit=1, gate_interval_s=60.0)
    one, two = provider.replica("one"), provider.replica("two")
    number, waiter = polled_by(provider, one, two)
    other = one.ask()
    two.say(["leave", waiter])
    assert "PollUsage" not in names(two.say(["unasked", number + 1])), "of another poll"
    two.say(["unasked", number])
    (asked,) = [effect for effect in one.hear() if effect[0] == "PollUsage"]
    assert asked[2] == other
    assert two.say(["unasked", number]) == []


def test_a_poll_of_which_nothing_is_heard_is_over_after_the_patience(server):
    provider = Provider(server, limit=1, gate_interval_s=60.0)
    provider.start["policy"]["gate_patience_s"] = 30.0
    one, two = provider.replica("one"), provider.replica("two")
    _, waiter = polled_by(provider, one, two)
    for _ in range(8):
        provider.now += 4
        one.say(["catch_up"]), two.say(["catch_up"])
    two.hear()
    assert list(two.held) == [waiter]
    assert "has not said" in look(one)["state"]["gate"]["reading"]["error"]


# --- what the file says -----------------------------------------------------------------------------------------------


def test_a_file_that_repeats_itself_changes_nothing_and_one_that_changes_counts_once(server):
    provider = Provider(server, limit=4)
    one, two = provider.replica("one"), provider.replica("two")
    assert names(one.say(["file_limit", 6, 6, False])) == ["LimitSet"]
    one.say(["set_limit", 2, "api", False])
    assert two.say(["file_limit", 6, 6, False]) == [], "the other one reads the same file a moment later"
    assert look(two)["state"]["limit"] == 2
    assert two.say(["file_limit", False, False, False]) == [("LimitSet", False, False, "file")]
    assert one.say(["file_limit", False, False, False]) == []
    assert names(one.say(["file_limit", 0, False, True])) == ["LimitSet"], "auto is another word than none"
    assert look(two)["state"]["learns_limit"]


def test_a_cooldown_that_the_file_repeats_does_not_undo_one_by_hand(server):
    provider = Provider(server, limit=4)
    one, two = provider.replica("one"), provider.replica("two")
    one.say(["file_cooldown", 0.5, 0.5, False])
    one.say(["set_cooldown", 2.0, "api", False])
    assert two.say(["file_cooldown", 0.5, 0.5, False]) == []
    assert look(one)["state"]["cooldown_s"] == 2.0
    two.say(["file_cooldown", 0.7, 0.7, False])
    assert look(one)["state"]["cooldown_s"] == 0.7


# --- put back within a patience ---------------------------------------------------------------------------------------


def test_who_cannot_bear_the_pause_is_not_put_back(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    one.say(["pause", 100.0])
    grant = one.held.pop(asked)
    assert one.say(["requeue_within", asked, grant, 1.0, 99.0])[-1] == ("Outlasted", "one", asked)
    assert look(one)["state"]["in_flight"] == 0
    assert "of:one" not in provider.keys


def test_a_pause_that_is_borne_holds_the_place_without_a_rest(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    one.say(["pause", 10.0])
    grant = one.held.pop(asked)
    assert names(one.say(["requeue_within", asked, grant, 5.0, 60.0])) == ["Released", "Queued"]
    provider.now += 10
    assert "Granted" in names(one.say(["catch_up"]))


def test_what_is_not_held_any_more_is_not_put_back(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    asked = one.ask()
    grant = one.held.pop(asked)
    one.say(["reclaim", asked, grant, "operator"])
    assert one.say(["requeue_within", asked, grant, 0.0, 60.0]) == []
    assert look(one)["state"]["ready"] == 0


# --- what is looked at ------------------------------------------------------------------------------------------------


def test_a_look_shows_as_many_waiters_as_are_asked_for_and_counts_all(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    held = one.ask()
    first = two.ask("a", 5)
    for _ in range(9):
        one.ask("b", 1)
    seen = mirror(one, 1)
    assert [ticket.id for ticket in seen.queue.waiting.ordered()] == [first], "those that came first"
    assert seen.counted(shown(seen)).queued == 10
    assert {**seen.replicas} == {held: "one", first: "two"}


def shown(seen):
    view = Scheduler("api.example", Policy(), frozenset(), limit=1, cooldown_s=0.0)
    view.show(seen.queue, seen.refusals)
    return view.snapshot(1000.0)


def test_progress_of_a_slot_shows_elsewhere_and_is_forgotten_with_it(server):
    provider = Provider(server, limit=2)
    one, two = provider.replica("one"), provider.replica("two")
    asked, silent = one.ask(), one.ask()
    one.say(["progress", [[asked, "streaming", 512, 3.0], [999, "streaming", 1, 0.0]]])
    (slot, other) = mirror(two).queue.slots.holding()
    assert (slot.id, slot.phase, slot.bytes, slot.last_byte_at) == (asked, "streaming", 512, provider.now - 3)
    assert (other.id, other.phase, other.bytes) == (silent, "waiting", 0)
    one.release(asked), one.release(silent)
    assert "progress" not in provider.keys


def test_due_things_happen_before_a_call_and_once(server):
    provider = Provider(server, limit=1, cooldown_s=2.0)
    one, two = provider.replica("one"), provider.replica("two")
    one.release(one.ask())
    waiter = two.ask()
    provider.now += 1.9
    assert one.say(["catch_up"]) == []
    provider.now += 0.2
    assert names(one.say(["catch_up"])) == ["Granted"]
    two.hear()
    assert list(two.held) == [waiter]
    assert one.say(["catch_up"]) == []


def test_a_full_server_still_takes_and_gives_back_slots(server):
    provider = Provider(server, limit=1)
    one, two = provider.replica("one"), provider.replica("two")
    server.config_set("maxmemory", "1")
    try:
        asked = one.ask()
        waiter = two.ask()
        one.release(asked)
        two.hear()
        assert list(two.held) == [waiter]
    finally:
        server.config_set("maxmemory", "0")


def test_a_conversation_of_any_text_is_kept_as_it_is(server):
    provider = Provider(server, limit=1)
    one = provider.replica("one")
    for workspace in ("", "ü\x00:{}", "a" * 128, "%s"):
        one.ask(workspace)
    seen = mirror(one)
    assert {ticket.workspace for ticket in seen.queue.waiting.ordered()} == {"ü\x00:{}", "a" * 128, "%s"}


@pytest.mark.parametrize("number", [1, 99_999])
def test_ids_of_any_replica_are_exact(server, number):
    provider = Provider(server, limit=1)
    provider.ids = number * 10**9 + 999_999_990
    one = provider.replica("one")
    asked = [one.ask() for _ in range(3)]
    assert (list(one.held), list(one.waiting)) == (asked[:1], asked[1:])
    one.say(["leave", asked[1]])
    one.waiting.pop(asked[1])
    one.announce()
    one.release(asked[0])
    assert list(one.held) == [asked[2]]
    one.release(asked[2])
    assert "tickets" not in provider.keys


# --- the mirror -------------------------------------------------------------------------------------------------------


def test_a_mirror_shows_what_is_known_here_as_it_is_and_the_rest_as_it_lies_there(server):
    provider = Provider(server, limit=2, cooldown_s=9.0)
    one, two = provider.replica("one"), provider.replica("two")
    mine, theirs = one.ask("a", 1), two.ask("b", 2)
    waits = two.ask("c", 3)
    one.say(["answered", mine, one.held[mine], True])
    two.say(["star", "c", True])
    known = Ticket(id=mine, workspace="a", conversation=None, prompt_started_at=1, path="/")
    slot = Slot(known, one.held[mine], 5.0)
    slot.held = True
    seen = Mirror(look(one), ahead_s=100.0, tickets={mine: known}, slots={slot.grant: slot})
    held = seen.queue.slots.holding()
    assert [each is slot for each in held] == [True, False]
    assert held[1].granted_at == provider.now + 100.0
    assert {each: seen.replicas[each] for each in (theirs, waits)} == {theirs: "two", waits: "two"}
    two.release(theirs)
    before = Mirror(look(one), ahead_s=0.0, tickets={}, slots={})
    assert before.queue.slots.in_flight == 2
    assert [each.id for each in before.queue.slots.holding()] == [mine]
    assert [each.id for each in before.queue.waiting.ordered()] == [waits]


def test_a_mirror_of_a_new_provider_is_empty(server):
    seen = mirror(Provider(server, limit=None).replica("one"))
    view = shown(seen)
    assert (view.limit, view.held, view.cooling, view.queued, seen.replicas) == (None, 0, 0, 0, {})


def test_a_mirror_shows_a_pause_and_a_reduction_in_this_process_time(server):
    provider = Provider(server, limit=4)
    one = provider.replica("one")
    asked = one.ask()
    one.say(["rate_limited", asked, one.held[asked], script.refusal(429, "concurrency", 5000)])
    seen = Mirror(look(one), ahead_s=-900.0, tickets={}, slots={})
    view = shown(seen)
    assert (view.limit, view.auto_reduced_from, len(view.evidence)) == (3, 4, 1)
    assert view.paused_until_at == provider.now + 5 - 900
    assert view.pause_cause == "concurrency"
