"""Auto-reduce, its evidence, and limits that are learned (spec §7.3)."""

import pytest
from desk import Desk

from proxy.core.limit import Limit
from proxy.core.model import RateLimit, Reduced

NOTICE = "Concurrency limit auto-reduced to 3 after a 429 — restore manually when ready."


@pytest.mark.parametrize(
    ("kind", "status", "limit"),
    [
        ("concurrency", 429, 3),
        ("rate", 429, 3),
        ("none", 429, 3),
        ("concurrency", 402, 3),
        ("quota", 429, 4),
        ("overload", 529, 4),
        ("overload", 429, 4),
    ],
)
def test_refusal_for_our_own_limit_takes_one_off(kind: str, status: int, limit: int) -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    desk.refuse("a", kind, 1.0, status=status)
    assert desk.scheduler.limit == limit


def test_reduction_says_from_what_and_in_the_words_of_the_contract() -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    desk.refuse("a")
    assert Reduced(3, 4, NOTICE) in desk.effects
    assert desk.scheduler.notice == NOTICE
    assert desk.scheduler.auto_reduced_from == 4
    assert desk.scheduler.snapshot(0.0).auto_reduced


def test_one_burst_is_one_reduction() -> None:
    desk = Desk(limit=4)
    desk.crowd("a b c d")
    for name in "abcd":
        desk.refuse(name, "concurrency", 1.0)
    assert desk.scheduler.limit == 3


def test_refusal_of_a_request_granted_after_the_reduction_reduces_again_and_keeps_the_original() -> None:
    desk = Desk(limit=4)
    desk.crowd("a b")
    desk.refuse("a", "rate", 1.0)
    desk.release("a")
    desk.at(1.0)
    desk.ask("c")
    desk.refuse("c", "rate", 1.0)
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (2, 4)
    desk.refuse("b", "rate", 1.0)  # granted before either
    assert desk.scheduler.limit == 2


def test_same_request_refused_twice_reduces_once() -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    desk.refuse("a")
    desk.refuse("a")
    assert desk.scheduler.limit == 3


def test_refusal_that_is_read_after_the_slot_is_gone_still_reduces() -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    desk.reclaim("a")
    desk.refuse("a")
    assert desk.scheduler.limit == 3


def test_limit_never_goes_below_one_and_at_one_there_is_no_notice() -> None:
    desk = Desk(limit=1, cap=0.0)
    for name in "abc":
        desk.ask(name)
        assert desk.refuse(name) == [f"{name} refused by the provider: rate"]
        desk.release(name)
    assert desk.scheduler.limit == 1
    assert desk.scheduler.notice is None
    assert desk.scheduler.auto_reduced_from is None


def test_limit_that_was_reduced_to_one_keeps_its_notice() -> None:
    desk = Desk(limit=2, cap=0.0)
    for name in "abc":
        desk.ask(name)
        desk.refuse(name)
        desk.release(name)
    assert desk.scheduler.limit == 1
    assert desk.scheduler.notice is not None
    assert "auto-reduced to 1 after" in desk.scheduler.notice


def test_auto_reduce_off_pauses_without_reducing() -> None:
    desk = Desk(limit=4, auto_reduce=False)
    desk.ask("a")
    assert desk.refuse("a", "rate", 2.0) == ["a refused by the provider: rate", "paused until 2: rate"]
    assert desk.scheduler.limit == 4
    assert desk.scheduler.notice is None


def test_reduced_limit_holds_back_and_evicts_nobody() -> None:
    desk = Desk(limit=2)
    desk.crowd("a b c")
    desk.refuse("a", "rate", 1.0)
    desk.at(1.0)
    assert desk.scheduler.held == 2
    assert desk.release("a") == ["a released"]
    assert desk.release("b") == ["b released", "c granted"]


@pytest.mark.parametrize("by", ["api", "file"])
@pytest.mark.parametrize("limit", [3, 4, None])
def test_setting_the_limit_clears_origin_notice_and_evidence(limit: int | None, by: str) -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    desk.refuse("a")
    desk.limit(limit, by)
    snapshot = desk.scheduler.snapshot(0.0)
    assert (snapshot.limit, snapshot.auto_reduced_from, snapshot.notice, snapshot.evidence) == (limit, None, None, ())


def test_rest_of_a_burst_does_not_reduce_what_a_person_has_restored() -> None:
    desk = Desk(limit=4)
    desk.crowd("a b")
    desk.refuse("a", "rate", 1.0)
    desk.restore()
    desk.refuse("b", "rate", 1.0)
    assert desk.scheduler.limit == 4


def test_restore_goes_back_to_the_limit_before_the_first_reduction_and_grants_what_fits() -> None:
    desk = Desk(limit=2)
    desk.crowd("a b c")
    desk.refuse("a", "rate", 1.0)
    desk.release("a")
    desk.at(1.0)
    assert desk.restore() == ["limit 2 by restore", "c granted"]
    assert desk.restore() == []
    assert desk.scheduler.notice is None


def test_evidence_tells_time_status_kind_wait_and_what_was_in_flight() -> None:
    desk = Desk(limit=4, cooldown_s=9.0)
    desk.crowd("a b c")
    desk.release("c")
    desk.refuse("a", "concurrency", 2.0, at=1_700_000_000_000)
    assert desk.scheduler.snapshot(0.0).evidence == (RateLimit(1_700_000_000_000, 429, "concurrency", 2000, 3),)


def test_evidence_has_only_refusals_for_our_own_limit() -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    for kind in ("quota", "overload"):
        desk.refuse("a", kind, 1.0)
    assert desk.scheduler.snapshot(0.0).evidence == ()
    assert desk.scheduler.last_rate_limit.kind == "overload"


def test_evidence_keeps_the_last_twenty() -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    for at in range(30):
        desk.refuse("a", at=at)
    assert [seen.at for seen in desk.scheduler.snapshot(0.0).evidence] == list(range(10, 30))


def test_reduction_and_evidence_of_an_earlier_process_are_still_there() -> None:
    seen = RateLimit(1, 429, "rate", None, 4)
    desk = Desk(limit=3, auto_reduced_from=4, evidence=(seen,))
    snapshot = desk.scheduler.snapshot(0.0)
    assert (snapshot.auto_reduced_from, snapshot.notice, snapshot.evidence) == (4, NOTICE, (seen,))
    assert snapshot.last_rate_limit == seen
    assert desk.restore() == ["limit 4 by restore"]


# --- limit: auto ---


def test_first_refusal_for_concurrency_teaches_the_limit_what_else_was_in_flight() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c d e")
    assert desk.refuse("e", "concurrency", 2.0) == [
        "e refused by the provider: concurrency",
        "limit 4 by learned",
        "paused until 2: concurrency",
    ]
    assert desk.scheduler.notice is None


def test_each_refusal_of_a_burst_shows_one_more_that_was_not_taken() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c d e f g h i j k l")
    for name in "efghijkl":
        desk.refuse(name, "concurrency", 1.0)
        desk.release(name)
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (4, None)


def test_refused_request_that_is_still_held_does_not_count_as_taken() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c")
    desk.refuse("a", "rate")
    desk.refuse("b", "concurrency")
    assert desk.scheduler.limit == 1


def test_burst_goes_on_teaching_where_a_newcomer_was_refused_meanwhile() -> None:
    desk = Desk(limit=None, learns_limit=True, cap=0.0)
    desk.crowd("a b c d e f g h")
    desk.refuse("h", "concurrency")
    desk.release("h")
    desk.release("a")
    desk.ask("late")
    desk.refuse("late", "concurrency")
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (6, 7)
    for name in "efg":
        desk.refuse(name, "concurrency")
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (3, 4)


def test_what_the_provider_served_at_once_it_takes() -> None:
    """It let the others wait, and refused them after the first four had ended."""
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c d e f g h")
    for name in "abcd":
        desk.answer(name)
    for name in "abcd":
        desk.release(name)
    for name in "efgh":
        desk.refuse(name, "concurrency", 1.0)
    assert desk.scheduler.limit == 4


def test_limit_that_a_person_removed_is_not_learned_again() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.limit(3)
    desk.limit(None)
    desk.crowd("a b c")
    desk.refuse("c", "concurrency")
    assert desk.scheduler.limit is None


def test_learned_limit_counts_only_the_others_when_the_slot_is_gone_already() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c")
    desk.release("c")
    desk.refuse("c", "concurrency")
    assert desk.scheduler.limit == 2


def test_learned_limit_is_at_least_one() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.ask("a")
    desk.refuse("a", "concurrency")
    assert desk.scheduler.limit == 1


@pytest.mark.parametrize("kind", ["rate", "quota", "overload", "none"])
def test_other_refusals_teach_no_limit(kind: str) -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.ask("a")
    desk.refuse("a", kind)
    assert desk.scheduler.limit is None


def test_without_limit_auto_nothing_is_learned() -> None:
    desk = Desk(limit=None)
    desk.ask("a")
    desk.refuse("a", "concurrency")
    assert desk.scheduler.limit is None


def test_learned_limit_is_reduced_by_the_next_burst() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c d")
    desk.refuse("d", "concurrency", 1.0)
    for name in "abcd":
        desk.release(name)
    desk.at(1.0)
    desk.ask("e")
    desk.refuse("e", "concurrency", 1.0)
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (2, 3)


def test_repr_of_a_limit_says_what_it_was() -> None:
    limit = Limit(4, None, (), learns=False)
    assert repr(limit) == "<Limit 4>"
    limit.reduce(1, 1)
    assert repr(limit) == "<Limit 3 reduced from 4>"
    limit.set(None, learns=False)
    assert repr(limit) == "<Limit ∞>"


@pytest.mark.parametrize(
    ("before", "limit"),
    [
        ("ask a, answer a, release a, ask b, answer b", 1),
        ("ask a, answer a, answer a", 1),
        ("ask a, release a, answer a, ask b, answer b", 1),
        ("ask a, ask b, answer a, refuse a, answer b", 1),
        ("ask a, answer a, release a, ask b, ask c, answer b, answer c, release b", 2),
    ],
)
def test_limit_is_learned_no_lower_than_what_was_served_at_one_time(before: str, limit: int) -> None:
    desk = Desk(limit=None, learns_limit=True)
    for step in before.split(", "):
        what, name = step.split()
        getattr(desk, what)(name)
    desk.ask("z")
    assert f"limit {limit} by learned" in desk.refuse("z", "concurrency", 1.0)


def test_limit_that_is_learned_anew_forgets_what_was_served() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c")
    for name in "abc":
        desk.answer(name)
    for name in "abc":
        desk.release(name)
    desk.scheduler.set_limit(None, "file", 0.0, learns=True)
    desk.crowd("d e")
    assert "limit 1 by learned" in desk.refuse("e", "concurrency", 1.0)


def test_rest_of_a_burst_teaches_nothing_about_a_limit_set_by_hand_meanwhile() -> None:
    desk = Desk(limit=None, learns_limit=True)
    desk.crowd("a b c d")
    assert "limit 3 by learned" in desk.refuse("d", "concurrency", 1.0)
    desk.limit(8)
    desk.refuse("c", "concurrency", 1.0)
    assert desk.scheduler.limit == 8
