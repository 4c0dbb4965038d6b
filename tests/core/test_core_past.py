# What the last requests say about the next.

from collections.abc import Iterator
from math import inf

import pytest

from proxy.core.model import Slot, Ticket
from proxy.core.past import Past, past, turn_of

NOW, NOW_MS = 5000.0, 1_700_000_000_000


def call(came_at: float, held_s: float, *, conversation: str | None, began_at: float) -> tuple[float, Slot]:
    began_ms = NOW_MS + round((began_at - NOW) * 1000)
    ticket = Ticket(id=1, workspace="w", conversation=conversation, prompt_started_at=began_ms, path="/")
    ticket.queued_at = came_at
    return held_s, Slot(ticket, 1, came_at)


def turn(conversation: str | None, began_at: float, calls: int) -> Iterator[tuple[float, Slot]]:
    """Calls of 10 s, with 2 s between them."""
    for number in range(calls):
        yield call(began_at + 12 * number, 10.0, conversation=conversation, began_at=began_at)


def look(*ended: tuple[float, Slot]) -> Past:
    return past(ended, set(), set(), NOW, NOW_MS)


def test_nothing_is_known_at_first_and_nobody_is_expected() -> None:
    assert look() == Past(returns=1 - 1 / 1, gap_s=0.0, gone=[], starred_s=inf)


def test_calls_that_come_with_a_new_prompt_each_do_not_come_back() -> None:
    seen = look(*(call(100.0 * n, 10.0, conversation=f"c{n}", began_at=100.0 * n) for n in range(20)))
    assert seen.returns == pytest.approx(0.0)


def test_of_prompts_with_five_calls_four_in_five_are_followed() -> None:
    seen = look(*(one for n in range(20) for one in turn(f"c{n}", 200.0 * n, 5)))
    assert seen.returns == pytest.approx(0.8, abs=0.01)
    assert seen.gap_s == 2.0


def test_prompt_that_began_before_all_that_is_known_is_not_new() -> None:
    seen = look(*list(turn("long", 0.0, 60))[20:])
    assert seen.returns == pytest.approx(1 - 1 / 41)


def test_call_that_came_long_after_its_prompt_began_is_its_first_if_none_was_before() -> None:
    """It has waited for so long that it was refused, and came again."""
    old = list(turn("old", 0.0, 20))
    late = [call(900.0 + n, 10.0, conversation=f"c{n}", began_at=1.0) for n in range(10)]
    assert look(*old, *late).returns == pytest.approx(1 - 12 / 31)


def test_those_without_a_conversation_that_come_in_one_millisecond_are_not_one() -> None:
    seen = look(*(call(100.0, 10.0, conversation=None, began_at=100.0) for _ in range(20)))
    assert (seen.returns, seen.gone) == (pytest.approx(0.0), [])


def test_who_has_just_ended_may_be_back_and_who_is_here_is_not_gone() -> None:
    ended = [*turn("a", NOW - 38.0, 3), *turn("b", NOW - 37.0, 3), *turn("away", NOW - 41.0, 3)]
    seen = past(ended, set(), {turn_of(ended[3][1].ticket)}, NOW, NOW_MS)
    assert [(ticket.conversation, at) for ticket, at in seen.gone] == [("a", NOW - 4.0)]


def test_how_often_starred_workspaces_begin_a_prompt_is_known() -> None:
    ended = [one for n in range(20) for one in turn(f"c{n}", NOW - 2000.0 + 100.0 * n, 3)]
    assert past(ended, {"w"}, set(), NOW, NOW_MS).starred_s == pytest.approx(100.0)
    assert past(ended, {"other"}, set(), NOW, NOW_MS).starred_s == inf
