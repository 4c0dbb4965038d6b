"""What can be read of a scheduler: repr, snapshot, estimates, deadlines."""

from desk import Desk


def test_repr_is_for_people() -> None:
    desk = Desk(limit=4, cooldown_s=1.0)
    desk.crowd("a b c d e f")
    desk.release("a")
    assert repr(desk.scheduler) == "<Scheduler api.example.com held 3/4 cooling 1 waiting 2>"
    desk.pause(12.0)
    assert repr(desk.scheduler) == "<Scheduler api.example.com held 3/4 cooling 1 waiting 2 paused until 12.000>"


def test_repr_without_a_limit() -> None:
    assert repr(Desk(limit=None).scheduler) == "<Scheduler api.example.com held 0/∞ cooling 0 waiting 0>"


def test_repr_of_the_parts() -> None:
    desk = Desk(limit=1, cooldown_s=1.0)
    desk.ask("a")
    desk.ask("b", workspace="x")
    assert repr(desk.slots["a"]) == f"<Slot {desk.tickets['a'].id} connecting 0 bytes>"
    assert repr(desk.scheduler.waiting) == "<Waitlist 1 waiting in 1 workspaces>"


def test_idle_scheduler_has_no_deadline() -> None:
    desk = Desk()
    assert desk.deadline is None
    desk.ask("a")
    assert desk.deadline is None


def test_next_deadline_is_the_first_of_all() -> None:
    desk = Desk(limit=2, cooldown_s=30.0, max_wait_s=100.0)
    desk.crowd("a b c")
    assert desk.deadline == 100.0
    desk.pause(50.0)
    assert desk.deadline == 50.0
    desk.release("a")
    assert desk.deadline == 30.0


def test_snapshot_tells_the_longest_wait() -> None:
    desk = Desk()
    assert desk.scheduler.snapshot(1.0).oldest_wait_s is None
    desk.ask("a")
    desk.now = 3.0
    desk.ask("first", started=9)
    desk.now = 5.0
    desk.ask("second", started=1)
    snapshot = desk.scheduler.snapshot(10.0)
    assert (snapshot.queued, snapshot.oldest_wait_s) == (2, 7.0)
    desk.cancel("first")
    assert desk.scheduler.snapshot(10.0).oldest_wait_s == 5.0


def test_estimate_grows_with_the_queue_and_with_how_long_slots_are_held() -> None:
    desk = Desk(limit=2, cooldown_s=1.0)
    desk.ask("a")
    desk.now = 9.0
    desk.finish("a")  # held for 9 s, and a rest of 1 s
    assert desk.scheduler.wait_estimate_s(9.0) == 5.0
    desk.crowd("b c d e f")
    assert len(desk.line) == 4
    assert desk.scheduler.wait_estimate_s(9.0) == 25.0


def test_estimate_follows_newer_answers() -> None:
    desk = Desk(limit=1, cooldown_s=0.0)
    for held_s in [100.0, *[10.0, 20.0] * 16]:  # the first is too long ago
        desk.ask("a")
        desk.now += held_s
        desk.finish("a")
    assert desk.scheduler.wait_estimate_s(desk.now) == 15.0


def test_estimate_includes_what_is_left_of_the_pause() -> None:
    desk = Desk(limit=None)
    desk.pause(20.0)
    assert desk.scheduler.wait_estimate_s(5.0) == 15.0
    assert desk.scheduler.wait_estimate_s(25.0) == 0.0
    desk.resume()
    assert desk.scheduler.wait_estimate_s(5.0) == 0.0
