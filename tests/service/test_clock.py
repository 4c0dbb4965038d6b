# A moment has one name in epoch milliseconds, however often it is asked for.

import pytest

from proxy.service import clock as clocks
from proxy.service.clock import Clock


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now_ms = [1_764_000_000_000]
    monkeypatch.setattr(clocks, "wall_ms", lambda: now_ms[0])
    return now_ms


def test_moment_is_named_the_same_while_the_clocks_tick_a_little_apart(wall: list[int]) -> None:
    now = [50.0]
    clock = Clock(lambda: now[0])
    named = set()
    for step in range(100):
        now[0] += 0.0106
        wall[0] += 11 if step % 2 else 10
        named.add(clock.to_wall_ms(60.0))
    assert named == {1_764_000_010_000}


@pytest.mark.parametrize("moved_ms", [-3_600_000, -21, 21, 3_600_000])
def test_clock_that_was_set_moves_every_moment(wall: list[int], moved_ms: int) -> None:
    clock = Clock(lambda: 50.0)
    wall[0] += moved_ms
    assert clock.to_wall_ms(60.0) == 1_764_000_010_000 + moved_ms


@pytest.mark.parametrize("moved_ms", [-20, 20])
def test_clock_that_is_set_by_a_little_moves_none(wall: list[int], moved_ms: int) -> None:
    clock = Clock(lambda: 50.0)
    wall[0] += moved_ms
    assert clock.to_wall_ms(60.0) == 1_764_000_010_000
