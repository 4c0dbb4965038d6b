"""The script in Redis beside the core's scheduler, used as wildly as that is (tests/core/machine.py): whatever happens,
both say the same."""

import itertools

import pytest
from both import Both
from busy_machine import busy_machine_of
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from machine import machine_of
from redis_scheduler import RedisScheduler

FEW = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("kind", [machine_of, busy_machine_of])
def test_the_script_does_what_the_core_does(server, kind):
    numbers = itertools.count()

    def in_redis(policy, stars, **start):
        server.flushall()
        return RedisScheduler(server, f"slotgate:{{{next(numbers)}}}:", policy, stars, **start)

    run_state_machine_as_test(kind(lambda *given, **start: Both(in_redis, *given, **start)), settings=FEW)
