# The machine of machine.py where there is always more to do than the limit allows: for states to which it seldom comes,
# since most of what it does empties a queue.

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from machine import PAUSE, Build, SchedulerMachine, workspaces

from proxy.core.model import PausePolicy, Policy

limits = st.sampled_from([1, 2, 3])
policies = st.builds(
    Policy,
    auto_restore_s=st.sampled_from([None, 4.0]),
    pause=st.sampled_from([PAUSE, PausePolicy(default_s=0.5, max_s=64.0)]),
    slot_timeout_s=st.none(),
    max_wait_s=st.just(1000.0),
    gate_interval_s=st.sampled_from([None, 1.0, 1.0]),
)


class BusyMachine(SchedulerMachine):
    """Always a limit, endless patience, and several who ask at once."""

    @initialize(policy=policies, limit=limits, cooldown_s=st.sampled_from([0.0, 0.5, 2.0]))
    def start(self, policy: Policy, limit: int, cooldown_s: float) -> None:
        super().start(policy, limit, cooldown_s, learns_limit=False, learns_cooldown=False)

    @rule(names=st.lists(workspaces, min_size=1, max_size=4), started=st.integers(0, 4))
    def crowd(self, names: list[str], started: int) -> None:
        for workspace in names:
            self.ask(workspace, started)

    @rule(limit=limits)
    def set_limit(self, limit: int) -> None:
        super().set_limit(limit)

    @rule()
    def pause(self) -> None:
        super().pause(0.5)

    @precondition(lambda self: self.paused_until is not None)
    @rule()
    def pause_ends(self) -> None:
        assert self.paused_until is not None
        self.now = max(self.now, self.paused_until)
        self.tick()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def one_is_left(self, data: st.DataObject) -> None:
        super().few_left(data, 64.0, 1)

    @rule(policy=policies)
    def reload(self, policy: Policy) -> None:
        super().reload(policy)


def busy_machine_of(build: Build) -> type[SchedulerMachine]:
    """The machine for schedulers that `build(policy, stars, …)` makes."""
    return type("BusyMachine", (BusyMachine,), {"build": staticmethod(build)})
