"""What agents meet at a provider with a limit, hours in seconds: the queue keeps refusals away, and slots in use.

Every figure comes from a fixed seed; `python -m tests.simulator run` with the words of a scenario shows all of them.
"""

from functools import cache
from itertools import pairwise

import pytest

from .options import parser, setup
from .provider import Reason
from .simulation import Simulation

SEEDS = pytest.mark.parametrize("seed", [1, 2, 3])


@cache
def play(words: str, seed: int, way: str = "proxy") -> Simulation:
    """A run of `words`; its promises to everybody are checked here."""
    run = Simulation(setup(parser().parse_args(["run", *words.split(), "--seed", str(seed)]), way)).run()
    assert run.meter.calls == run.backlog.calls, "a call was lost"
    if run.proxy is not None:
        scheduler = run.proxy.scheduler
        assert (run.meter.over, run.meter.inversions) == (0, 0)
        assert (scheduler.held, len(scheduler.waiting)) == (0, 0), "a slot was lost"
    return run


def refused(run: Simulation, *, after_s: float = 0.0, waited: bool = False) -> int:
    """Refusals after so many seconds, of calls that had waited or of all."""
    return sum(one.at >= after_s and (one.waited or not waited) for one in run.meter.refused)


def reductions(run: Simulation) -> int:
    return sum(event.what.endswith("reduced") for event in run.meter.events)


# --- the limit, and the lag of the provider's count ---


@SEEDS
def test_cooldown_longer_than_the_lag_leaves_nothing_to_refuse(seed: int) -> None:
    run = play("--agents 12 --limit 4 --lag 100ms-300ms --cooldown 350ms", seed)
    assert refused(run) == 0
    assert run.meter.in_use >= 0.995


@SEEDS
def test_gate_waits_out_a_lag_that_is_longer_than_the_cooldown(seed: int) -> None:
    run = play("--agents 12 --limit 4 --lag 600ms-900ms --cooldown 350ms --gate 1s --usage-latency 50ms-150ms", seed)
    assert refused(run) == 0
    assert run.meter.of_possible >= 0.97


@SEEDS
def test_few_agents_who_seldom_wait_are_not_refused_either(seed: int) -> None:
    """Newcomers who find a free place are what the gate does not ask for."""
    run = play("--agents 5 --limit 4 --lag 600ms-900ms --cooldown 350ms --gate 1s", seed)
    assert refused(run) == 0
    assert run.meter.of_possible >= 0.97


@SEEDS
@pytest.mark.parametrize("agents", [5, 12])
def test_cooldown_is_learned(seed: int, agents: int) -> None:
    run = play(f"--agents {agents} --limit 4 --lag 600ms-900ms --cooldown auto --gate 1s", seed)
    assert refused(run, after_s=60.0) == 0
    assert run.proxy is not None
    assert run.proxy.scheduler.cooldown_s == pytest.approx(0.885, rel=0.2), "not near the 95th percentile of the lag"
    assert run.meter.in_use >= 0.97


@SEEDS
def test_cooldown_is_learned_from_a_count_that_is_old(seed: int) -> None:
    run = play("--agents 12 --lag 600ms-900ms --usage-lag 0-300ms --cooldown auto --gate 1s", seed)
    assert refused(run, after_s=60.0) == 0
    assert run.meter.in_use >= 0.97


@SEEDS
@pytest.mark.parametrize("failures", ["10%", "100%"])
def test_polls_that_fail_hold_nobody_back(seed: int, failures: str) -> None:
    run = play(f"--lag 100ms-300ms --gate 1s --usage-failures {failures}", seed)
    assert refused(run) == 0
    assert run.meter.in_use >= 0.97


# --- limits that are wrong, or not known ---


@SEEDS
@pytest.mark.parametrize("real", [3, 2, 1])
def test_limit_that_is_too_high_settles_at_the_real_one(seed: int, real: int) -> None:
    run = play(f"--limit 4 --real-limit {real} --lag 100ms-300ms", seed)
    assert run.proxy is not None
    assert run.proxy.scheduler.limit == real
    assert refused(run) <= 2 * (4 - real)
    assert refused(run, after_s=180.0) == 0
    assert run.meter.in_use >= 0.98


@SEEDS
def test_limit_comes_back_when_the_provider_allows_it_again(seed: int) -> None:
    """One refusal for no lasting reason: the limit is what it was half an hour later."""
    run = play("--lag 100ms-400ms --cooldown 350ms --auto-restore 30m --hours 4", seed)
    lost, regained = (
        [event.at for event in run.meter.events if what in event.what] for what in ("reduced", "auto_rest")
    )
    assert lost
    assert len(regained) >= len(lost) - 1
    assert all(any(at + 1800 <= back <= at + 8000 for back in regained) for at in lost[:-1])


@SEEDS
def test_limit_that_stays_lower_is_tried_ever_more_seldom(seed: int) -> None:
    run = play("--limit 4 --real-limit 3 --lag 100ms-300ms --auto-restore 30m --hours 8", seed)
    assert run.proxy is not None
    tries = [event.at for event in run.meter.events if "auto_restore" in event.what]
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert 2 <= len(tries) <= 5
    assert all(later > 1.8 * earlier for earlier, later in pairwise(pauses))
    assert refused(run) <= 2 + len(tries)
    assert run.meter.in_use >= 0.98


@SEEDS
@pytest.mark.parametrize("real", [1, 2, 4, 8])
def test_limit_is_learned_in_one_burst(seed: int, real: int) -> None:
    run = play(f"--limit auto --real-limit {real} --agents 12 --lag 100ms-300ms", seed)
    assert run.proxy is not None
    assert run.proxy.scheduler.limit == real
    assert refused(run, after_s=60.0) == 0


# --- others on the same account ---


@SEEDS
def test_others_who_come_and_go_are_seldom_run_into(seed: int) -> None:
    """Between a poll and the request that it lets go somebody else can always come: that is the one or two left."""
    run = play("--external 0-1 --gate 1s --lag 100ms-300ms", seed)
    without = play("--external 0-1 --lag 100ms-300ms --no-auto-reduce", seed)
    assert refused(run) <= 2
    assert refused(run) < refused(without) / 10


# --- rate, overload, quota ---


@SEEDS
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_announced_bucket_holds_the_queue_before_it_is_empty(seed: int, style: str) -> None:
    run = play(f"--rpm 20 --bucket-headers {style} --dialect {style} --lag 100ms-300ms", seed)
    assert refused(run) == 0
    assert run.clock.elapsed_s <= 1.25 * run.ideal_s


@SEEDS
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_bucket_announced_as_empty_holds_the_queue(seed: int, style: str) -> None:
    """One call at a time, so that each has read what the one before it was told."""
    run = play(f"--limit 1 --agents 4 --rpm 4 --bucket-headers {style} --dialect {style} --lag 100ms-300ms", seed)
    assert refused(run) == 0
    assert any("exhausted" in event.what for event in run.meter.events)
    assert run.clock.elapsed_s <= 1.25 * run.ideal_s


@SEEDS
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "umans", "zai", "gemini", "deepseek", "generic"])
def test_overload_lowers_nothing(seed: int, dialect: str) -> None:
    run = play(f"--overload 2% --lag 100ms-300ms --dialect {dialect}", seed)
    assert {one.reason for one in run.meter.refused} == {Reason.OVERLOAD}
    assert {one.read_as for one in run.meter.refused} == {"overload"}
    assert reductions(run) == 0
    assert run.meter.in_use >= 0.95


@SEEDS
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "zai"])
def test_overload_inside_streams_lowers_nothing(seed: int, dialect: str) -> None:
    run = play(f"--overload 2% --in-stream 50% --lag 100ms-300ms --dialect {dialect}", seed)
    assert {one.read_as for one in run.meter.refused} == {"overload"}
    assert reductions(run) == 0


@SEEDS
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "umans", "zai", "gemini", "deepseek", "generic"])
def test_quota_of_some_stalls_nobody_else(seed: int, dialect: str) -> None:
    words = f"--lag 100ms-300ms --dialect {dialect} --agents 8 --models large,small,small,small"
    run, without = play(f"{words} --quota large=20", seed), play(words, seed)
    assert {one.reason for one in run.meter.refused} == {Reason.QUOTA}
    assert {one.read_as for one in run.meter.refused} == {"quota"}
    assert not run.meter.events, "paused or reduced"
    small = [agent for agent in range(8) if agent % 4]
    assert _mean_wait(run, small) <= 1.1 * _mean_wait(without, small)


def _mean_wait(run: Simulation, agents: list[int]) -> float:
    waits = [wait for agent in agents for wait in run.meter.waits[agent]]
    return sum(waits) / len(waits)


# --- strikes ---

UMANS = "--dialect umans --strikes 10 --pause-min 5s --usage-lag 0-300ms --gate-age 1s"


@SEEDS
@pytest.mark.parametrize("lag", ["300ms-2s", "300ms-5s"])
def test_strikes_of_a_day_stay_far_under_ten(seed: int, lag: str) -> None:
    run = play(f"{UMANS} --lag {lag} --gate 1s --cooldown auto --hours 6", seed)
    assert run.account.strikes.most_in_a_day <= 3
    assert run.account.strikes.lockouts == 0


@SEEDS
def test_strikes_stay_under_ten_where_others_work_on_the_account_too(seed: int) -> None:
    run = play(f"{UMANS} --lag 300ms-2s --gate 1s --cooldown auto --hours 6 --external 0-2", seed)
    assert run.account.strikes.most_in_a_day <= 8
    assert run.account.strikes.lockouts == 0


def test_without_the_proxy_the_account_is_locked() -> None:
    words = f"{UMANS} --lag 300ms-2s --hours 0.25"
    for way in ("direct", "semaphore"):
        run = play(words, 1, way)
        assert run.account.strikes.lockouts > 0
        assert run.clock.elapsed_s > 10 * run.ideal_s


# --- the simulator itself ---


def test_same_seed_is_the_same_run() -> None:
    words = "--overload 2% --external 0-2 --gate 1s --lag 100ms-300ms"
    setups = [setup(parser().parse_args(["run", *words.split()]), "proxy") for _ in range(2)]
    first, second = (Simulation(each).run() for each in setups)
    assert first.meter.waits == second.meter.waits
    assert first.meter.refused == second.meter.refused


def test_every_way_is_given_the_same_work() -> None:
    words = "--lag 0 --slowness 0 --hours 0.5"
    runs = [play(words, 1, way) for way in ("proxy", "direct", "semaphore")]
    assert len({run.meter.calls for run in runs}) == 1
    assert len({run.ideal_s for run in runs}) == 1
    assert all(run.clock.elapsed_s >= run.ideal_s for run in runs)
