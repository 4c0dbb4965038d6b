"""The waiting room: order, stars, lazy deletion that stays bounded (spec §6.2)."""

import random
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from proxy.core.model import Ticket
from proxy.core.waitlist import Waitlist

SMALL = 64  # dead entries that are allowed beyond as many as are live


def ticket(number: int, workspace: str = "w", started: int = 0) -> Ticket:
    return Ticket(id=number, workspace=workspace, conversation=None, prompt_started_at=started, path="/")


def drained(waiting: Waitlist) -> list[int]:
    taken = []
    while (first := waiting.take()) is not None:
        taken.append(first.id)
    return taken


def size(waiting: Waitlist) -> int:
    """Entries kept, dead ones too."""
    return len(waiting._heads) + sum(len(room.keys) for room in waiting._rooms.values())


def filled(tickets: Iterable[Ticket], stars: set[str] | None = None) -> Waitlist:
    waiting = Waitlist(set() if stars is None else stars)
    for one in tickets:
        waiting.add(one)
    return waiting


def test_empty_room_has_nobody() -> None:
    waiting = Waitlist(set())
    assert (len(waiting), waiting.first(), waiting.take(), waiting.longest()) == (0, None, None, None)
    assert not waiting.remove(ticket(1))


def test_starred_first_then_older_prompt_then_arrival() -> None:
    waiting = filled(
        [ticket(1, "x", 5), ticket(2, "y", 9), ticket(3, "x", 1), ticket(4, "y", 9), ticket(5, "z", 5)], {"y"}
    )
    assert drained(waiting) == [2, 4, 3, 1, 5]


def test_prompt_starts_of_any_size_and_sign_keep_their_order() -> None:
    starts = [2**80, 0, -5, 1_700_000_000_000, -(2**70), 1]
    waiting = filled(ticket(number, started=started) for number, started in enumerate(starts))
    assert [starts[number] for number in drained(waiting)] == sorted(starts)


def test_first_looks_and_take_takes() -> None:
    waiting = filled([ticket(1)])
    assert waiting.first() is waiting.first()
    assert waiting.take() is not None
    assert waiting.first() is None


def test_ticket_of_the_same_id_is_not_mistaken_for_the_one_that_waits() -> None:
    waiting = filled([ticket(1)])
    assert not waiting.remove(ticket(1))
    assert ticket(1) not in waiting
    assert len(waiting) == 1


def test_waiter_put_back_after_its_grant_stands_in_its_own_place() -> None:
    waiting = filled([ticket(1), ticket(2)])
    first = waiting.take()
    assert first is not None
    waiting.add(first)
    assert drained(waiting) == [1, 2]


def test_longest_is_who_queued_first_not_who_is_first() -> None:
    old, urgent = ticket(1, started=9), ticket(2, started=1)
    waiting = filled([old, urgent])
    assert waiting.longest() is old
    assert waiting.first() is urgent
    waiting.remove(old)
    assert waiting.longest() is urgent


def test_counts_and_lookups_know_only_live_waiters() -> None:
    one, two = ticket(1, "x"), ticket(2, "x")
    waiting = filled([one, two, ticket(3, "y")])
    waiting.remove(one)
    assert (waiting.count("x"), waiting.count("y"), waiting.count("z")) == (1, 1, 0)
    assert set(waiting.workspaces()) == {"x", "y"}
    assert (waiting.get(1), waiting.get(2)) == (None, two)
    waiting.take()
    assert set(waiting.workspaces()) == {"y"}


def test_who_rests_is_counted_and_found_too() -> None:
    one, two = ticket(1, "x"), ticket(2, "x")
    waiting = filled([two])
    waiting.rest(one, 5.0)
    assert (waiting.count("x"), waiting.count("y"), waiting.get(1)) == (2, 0, one)
    assert one in waiting
    assert waiting.woken(4.9) is None
    assert waiting.remove(two)
    assert waiting.woken(5.0) is one


def test_star_for_a_workspace_that_nobody_waits_in_is_harmless() -> None:
    stars = {"x"}
    waiting = filled([ticket(1, "y")], stars)
    waiting.star_changed("x")
    assert drained(waiting) == [1]


def test_storm_of_cancels_behind_one_patient_waiter_keeps_nothing() -> None:
    waiting = filled([ticket(0, started=-1)])
    for number in range(1, 20_000):
        one = ticket(number, started=number)
        waiting.add(one)
        waiting.remove(one)
        assert size(waiting) <= 2 * (SMALL + 3)
    assert drained(waiting) == [0]


def test_storm_of_cancels_from_the_front_keeps_nothing() -> None:
    waiting = filled([ticket(0, started=10**9)])
    for number in range(1, 20_000):
        one = ticket(number, started=10**9 - number)
        waiting.add(one)
        waiting.remove(one)
        assert size(waiting) <= 2 * (SMALL + 3)
    assert drained(waiting) == [0]


def test_star_set_and_taken_all_day_keeps_nothing() -> None:
    stars: set[str] = set()
    waiting = filled([ticket(1, "x"), ticket(2, "y")], stars)
    for _ in range(10_000):
        stars.symmetric_difference_update({"y"})
        waiting.star_changed("y")
        assert size(waiting) <= 2 * (SMALL + 3)
    assert drained(waiting) == [1, 2]


def test_workspaces_that_come_and_go_keep_nothing() -> None:
    waiting = filled([ticket(0, "home")])
    for number in range(1, 20_000):
        one = ticket(number, f"w{number}", number)
        waiting.add(one)
        waiting.remove(one)
        assert size(waiting) <= 2 * (SMALL + 3)
    assert len(waiting.workspaces()) == 1


def test_crowd_that_leaves_at_once_leaves_nothing_behind() -> None:
    everybody = [ticket(number, f"w{number}") for number in range(5_000)]
    waiting = filled(everybody)
    for one in everybody:
        waiting.remove(one)
    assert size(waiting) <= SMALL


def test_half_of_ten_thousand_cancelled_at_random_leaves_the_order_of_the_rest() -> None:
    chance = random.Random(1)
    everybody = [ticket(number, f"w{chance.randrange(20)}", chance.randrange(1000)) for number in range(10_000)]
    stars = {"w3", "w7"}
    waiting = filled(everybody, stars)
    gone = set(chance.sample(everybody, 5_000))
    for one in gone:
        waiting.remove(one)
    rest = [one for one in everybody if one not in gone]
    expected = sorted(rest, key=lambda one: (one.workspace not in stars, one.prompt_started_at, one.id))
    assert size(waiting) <= 2 * len(rest) + 20 * (SMALL + 3)
    assert [one.id for one in waiting.ordered()] == [one.id for one in expected]
    assert drained(waiting) == [one.id for one in expected]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-3, 3)), max_size=30), st.sets(st.sampled_from("abc")))
def test_taking_all_gives_the_sorted_list(facts: list[tuple[str, int]], stars: set[str]) -> None:
    everybody = [ticket(number, workspace, started) for number, (workspace, started) in enumerate(facts)]
    expected = sorted(everybody, key=lambda one: (one.workspace not in stars, one.prompt_started_at, one.id))
    assert drained(filled(everybody, stars)) == [one.id for one in expected]


def test_last_one_taken_leaves_no_more_dead_entries_than_the_last_one_removed() -> None:
    waiting = filled([ticket(1, "a", 0)])
    for number in range(2, 67):
        gone = ticket(number, "b", 3)
        waiting.add(gone)
        waiting.remove(gone)
    waiting.take()
    assert size(waiting) <= SMALL


class AgainstASortedList(RuleBasedStateMachine):
    """Every operation, beside a list that is sorted anew each time."""

    def __init__(self) -> None:
        super().__init__()
        self.stars: set[str] = set()
        self.waiting = Waitlist(self.stars)
        self.naive: list[Ticket] = []  # in the order of queueing
        self.taken: list[Ticket] = []
        self.number = 0

    @property
    def expected(self) -> list[Ticket]:
        return sorted(self.naive, key=lambda one: (one.workspace not in self.stars, one.prompt_started_at, one.id))

    @rule(workspace=st.sampled_from("abcd"), started=st.integers(0, 5))
    def add(self, workspace: str, started: int) -> None:
        self.number += 1
        one = ticket(self.number, workspace, started)
        self.waiting.add(one)
        self.naive.append(one)

    @precondition(lambda self: self.naive)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.naive))
        assert self.waiting.remove(one)
        assert not self.waiting.remove(one)
        self.naive.remove(one)

    @precondition(lambda self: self.naive)
    @rule()
    def take(self) -> None:
        expected = self.expected[0]
        assert self.waiting.take() is expected
        self.naive.remove(expected)
        self.taken.append(expected)

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.taken))
        self.taken.remove(one)
        self.waiting.add(one)
        self.naive.append(one)

    @rule(workspace=st.sampled_from("abcd"))
    def flip_star(self, workspace: str) -> None:
        self.stars.symmetric_difference_update({workspace})
        self.waiting.star_changed(workspace)

    @rule(count=st.integers(1, 200), workspace=st.sampled_from("abcd"))
    def storm(self, count: int, workspace: str) -> None:
        for _ in range(count):
            self.number += 1
            one = ticket(self.number, workspace, 3)
            self.waiting.add(one)
            self.waiting.remove(one)

    @invariant()
    def same_order(self) -> None:
        assert [one.id for one in self.waiting.ordered()] == [one.id for one in self.expected]
        assert self.waiting.first() is (self.expected[0] if self.naive else None)

    @invariant()
    def same_facts(self) -> None:
        assert len(self.waiting) == len(self.naive)
        assert self.waiting.longest() is (self.naive[0] if self.naive else None)
        for workspace in "abcd":
            assert self.waiting.count(workspace) == sum(one.workspace == workspace for one in self.naive)

    @invariant()
    def bounded(self) -> None:
        rooms = len(self.waiting.workspaces())
        assert size(self.waiting) <= 2 * len(self.naive) + 2 * rooms + (rooms + 1) * SMALL


AgainstASortedList.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAgainstASortedList = AgainstASortedList.TestCase
