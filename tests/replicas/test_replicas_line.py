"""What one replica says of one provider: in which order, how much at once, and what again after an interruption."""

import asyncio

import msgspec
import pytest

from proxy.replicas.line import MOST, Line
from proxy.replicas.script import News, Reply, Standing

STANDING = Standing()


class Listener:
    """Whose line it is; `heard` is what happened, and `now` what an announcement says."""

    def __init__(self) -> None:
        self.now = 0
        self.heard = []

    def announcement(self):
        return ["announce", {"now": self.now}]

    def renewal(self):
        return [["progress"], ["peers"]]

    def happened(self, effects, now, standing, *, elsewhere):
        self.heard.append((list(effects), elsewhere))


class Desk:
    def __init__(self, *, announced: bool = True) -> None:
        self.listener, self.woken = Listener(), 0
        self.line = Line("key", self.listener, self._wake)
        if announced:
            self.line.begin()
            self.call()
            self.answer()
            self.woken = 0

    def _wake(self) -> None:
        self.woken += 1

    def call(self):
        """The steps of the next call, and its number in `number`."""
        said = msgspec.msgpack.decode(self.line.call("me", "run", "channel"))
        self.number = said["number"]
        return said["steps"]

    def answer(self, *effects, **more):
        self.line.answered(Reply(1.0, list(effects), STANDING, **more))


async def test_nothing_to_say_is_not_said():
    desk = Desk(announced=False)
    assert not desk.line.has_something
    assert not desk.woken


async def test_the_first_call_announces_and_says_nothing_else():
    desk = Desk(announced=False)
    desk.line.say("request", 1)
    assert desk.line.has_something
    desk.listener.now = 7
    assert desk.call() == [["announce", {"now": 7}]]
    desk.answer()
    assert not desk.line.has_something, "the announcement has said it"


async def test_what_is_said_goes_in_order_after_what_is_due():
    desk = Desk()
    for number in range(3):
        desk.line.say("request", number)
    assert desk.woken == 3
    assert desk.call() == [["catch_up"], ["request", 0], ["request", 1], ["request", 2]]
    desk.answer()
    assert not desk.line.has_something


async def test_what_is_said_during_a_call_goes_together_in_the_next():
    desk = Desk()
    desk.line.say("request", 1)
    desk.call()
    desk.line.say("release", 1)
    desk.line.say("request", 2)
    desk.woken = 0
    desk.answer()
    assert desk.woken == 1
    assert desk.call() == [["catch_up"], ["release", 1], ["request", 2]]


async def test_what_is_said_during_the_announcement_is_said_after_it():
    desk = Desk(announced=False)
    desk.line.begin()
    desk.call()
    desk.line.say("request", 1)
    desk.answer()
    assert desk.call() == [["catch_up"], ["request", 1]]


async def test_a_call_says_no_more_than_its_share_and_the_rest_follows():
    desk = Desk()
    for number in range(MOST + 2):
        desk.line.say("request", number)
    assert len(desk.call()) == 1 + MOST
    desk.woken = 0
    desk.answer()
    assert desk.woken, "the rest is called for"
    assert desk.call() == [["catch_up"], ["request", MOST], ["request", MOST + 1]]


async def test_who_asks_is_told_what_happened_in_that_call():
    desk = Desk()
    told = desk.line.ask("look", 1)
    desk.call()
    desk.answer(["Look", "me", {}])
    assert await told == [["Look", "me", {}]]
    assert desk.listener.heard[-1] == ([["Look", "me", {}]], False)


async def test_who_has_given_up_asking_is_told_nothing():
    desk = Desk()
    told = desk.line.ask("look", 1)
    desk.call()
    told.cancel()
    desk.answer()
    assert told.cancelled()


# --- a call of which nobody knows whether it happened -----------------------------------------------------------------


async def test_after_an_interruption_what_lasts_is_said_again_and_the_rest_is_announced():
    desk = Desk()
    for step in ("request", "set_limit", "leave", "pause", "release", "catch_up", "progress"):
        desk.line.say(step)
    desk.call()
    desk.line.interrupted()
    assert desk.call() == [["announce", {"now": 0}]]
    desk.answer(done=desk.number - 2)
    assert desk.call() == [["catch_up"], ["set_limit"], ["pause"]]


async def test_what_the_server_knows_of_is_not_said_again():
    desk = Desk()
    desk.line.say("set_limit", 1)
    desk.call()
    happened = desk.number
    desk.line.interrupted()
    desk.call()
    desk.answer(done=happened)
    assert not desk.line.has_something


async def test_what_was_not_sent_yet_comes_after_what_is_said_again():
    desk = Desk()
    desk.line.say("set_limit", 1)
    desk.call()
    desk.line.say("set_limit", 2)
    desk.line.say("request", 1)
    desk.line.interrupted()
    desk.line.say("set_limit", 3)
    desk.call()
    desk.answer()
    assert desk.call() == [["catch_up"], ["set_limit", 1], ["set_limit", 2], ["set_limit", 3]]


async def test_two_interrupted_calls_are_each_said_again_where_they_did_not_happen():
    desk = Desk()
    numbers = []
    for limit in (1, 2):
        desk.line.say("set_limit", limit)
        desk.call()
        numbers.append(desk.number)
        desk.line.interrupted()
        desk.call()
        desk.line.interrupted() if limit == 1 else desk.answer(done=numbers[0])
        if limit == 1:
            desk.call()
            desk.answer(done=None)  # the server has forgotten: it is said again
            assert desk.call() == [["catch_up"], ["set_limit", 1]]
            numbers[0] = desk.number
            desk.answer()
    assert desk.call() == [["catch_up"], ["set_limit", 2]]


async def test_who_asked_in_a_call_that_happened_is_told_that_it_has():
    desk = Desk()
    told = desk.line.ask("set_limit", 1)
    desk.call()
    happened = desk.number
    desk.line.interrupted()
    desk.call()
    desk.answer(done=happened)
    assert await told == []


async def test_who_asked_in_a_call_that_did_not_happen_is_told_after_the_next():
    desk = Desk()
    told = desk.line.ask("peers")
    desk.call()
    desk.line.interrupted()
    desk.call()
    desk.answer()
    assert not told.done()
    assert desk.call() == [["catch_up"], ["peers"]]
    desk.answer(["Peers", "me", [], 0])
    assert await told == [["Peers", "me", [], 0]]


async def test_what_nobody_waits_for_any_more_is_not_said_again():
    desk = Desk()
    told, lasts = desk.line.ask("look", 1), desk.line.ask("set_limit", 1)
    desk.call()
    desk.line.interrupted()
    told.cancel(), lasts.cancel()
    desk.call()
    desk.answer()
    assert desk.call() == [["catch_up"], ["set_limit", 1]]


async def test_while_the_server_is_away_only_what_lasts_is_kept():
    desk = Desk()
    for number in range(1000):
        desk.line.say("request", number)
    desk.line.interrupted()
    for number in range(1000):
        desk.line.say("request", number)
        desk.line.say("leave", number)
    desk.line.say("pause", 1.0)
    assert len(desk.line._unsent) == 1
    assert desk.call() == [["announce", {"now": 0}]]
    desk.answer()
    assert desk.call() == [["catch_up"], ["pause", 1.0]]


async def test_an_interrupted_announcement_is_made_anew():
    desk = Desk(announced=False)
    desk.line.begin()
    desk.call()
    desk.line.say("request", 1)
    desk.line.interrupted()
    desk.listener.now = 2
    assert desk.call() == [["announce", {"now": 2}]]
    desk.answer()
    assert not desk.line.has_something


# --- a server that does not know us -----------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["unknown", "late"])
async def test_a_call_that_did_nothing_is_followed_by_an_announcement(why):
    desk = Desk()
    desk.line.say("request", 1)
    told = desk.line.ask("set_limit", 1)
    desk.call()
    desk.line.say("star", "w", True)
    before, desk.woken = list(desk.listener.heard), 0
    desk.answer(**{why: True})
    assert desk.woken
    assert desk.listener.heard == before
    assert not told.done()
    assert desk.call() == [["announce", {"now": 0}]]
    desk.answer()
    assert desk.call() == [["catch_up"], ["set_limit", 1], ["star", "w", True]]


async def test_a_call_that_is_a_fault_is_not_repeated_and_whoever_asked_hears_of_it():
    desk = Desk()
    desk.line.say("set_limit", 1)
    told = desk.line.ask("look", 1)
    desk.call()
    desk.line.say("pause", 1.0)
    fault = ValueError("no luck")
    desk.line.failed(fault)
    with pytest.raises(ValueError, match="no luck"):
        await told
    assert desk.call() == [["announce", {"now": 0}, True]]
    desk.answer()
    assert desk.call() == [["catch_up"], ["pause", 1.0]]


async def test_after_a_fault_it_announces_itself_at_the_next_renewal():
    """Else its lease would end, though it lives and has nothing to say."""
    desk = Desk()
    desk.line.say("set_limit", 1)
    desk.call()
    desk.line.failed(ValueError())
    desk.woken = 0
    desk.line.renew()
    assert desk.woken
    assert desk.line.has_something
    assert desk.call() == [["announce", {"now": 0}, True]]


async def test_a_renewal_says_what_is_said_now_and_then():
    desk = Desk()
    desk.line.renew()
    assert desk.call() == [["catch_up"], ["progress"], ["peers"]]


async def test_a_line_that_nobody_has_used_renews_nothing():
    desk = Desk(announced=False)
    desk.line.renew()
    assert not desk.line.has_something
    assert not desk.woken


async def test_what_is_pushed_happened_elsewhere():
    desk = Desk()
    desk.line.heard(News("key", "other", 1.0, [["Granted", "me", 1, 1, 0]], STANDING))
    assert desk.listener.heard[-1] == ([["Granted", "me", 1, 1, 0]], True)


async def test_numbers_grow_with_each_call():
    desk, numbers = Desk(), []
    for outcome in ("answered", "interrupted", "failed"):
        desk.line.say("request")
        desk.call()
        numbers.append(desk.number)
        if outcome == "answered":
            desk.answer()
        elif outcome == "interrupted":
            desk.line.interrupted()
        else:
            desk.line.failed(ValueError())
    assert numbers == sorted(set(numbers))
    assert asyncio.get_running_loop()


def test_repr_is_for_people():
    assert repr(Desk(announced=False).line) == "<Line key call 0, 0 unsent>"
