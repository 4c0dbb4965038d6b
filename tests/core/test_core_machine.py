"""The scheduler, used wildly beside a naive model of the contract (see machine.py)."""

from collections.abc import Set as AbstractSet
from typing import Any

from busy_machine import busy_machine_of
from hypothesis import settings
from machine import machine_of

from proxy.core.model import Policy
from proxy.core.scheduler import Scheduler


def in_memory(policy: Policy, stars: AbstractSet[str], **start: Any) -> Scheduler:
    return Scheduler("api.example.com", policy, stars, **start)


Machine = machine_of(in_memory)
Machine.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestScheduler = Machine.TestCase

BusyMachine = busy_machine_of(in_memory)
BusyMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestBusyScheduler = BusyMachine.TestCase
