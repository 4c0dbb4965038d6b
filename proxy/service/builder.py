# How a provider's queue is made: of this process alone, or as one replica's part of a shared one.

import asyncio
import random
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.config import Provider
from proxy.core.model import Policy
from proxy.core.scheduler import Scheduler
from proxy.core.turns import Turns
from proxy.service import standing as standings
from proxy.service.admission import Admission, Credentials, Observer, Tell
from proxy.service.clock import Clock
from proxy.service.local_admission import LocalAdmission
from proxy.service.shared_start import shared_start

if TYPE_CHECKING:  # its package is there only where the state is shared
    from proxy.replicas.link import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """`link` None: there is but this process. The rest is as the admissions take it; `stars` is the live set,
    `turns` the tracker of the process."""

    clock: Clock
    loop: asyncio.AbstractEventLoop
    stars: AbstractSet[str]
    turns: Turns
    link: "Link | None"
    observe: Observer
    keep: Observer
    overhear: Observer
    overhear_star: Callable[[str, bool], None]
    tell_of_death: Callable[[str, str, int, int], None]
    poll: Callable[[Admission, Credentials, Tell], None]
    chance: random.Random

    def build(self, provider_id: str, provider: Provider, policy: Policy, start: standings.Start) -> Admission:
        """The queue of a provider, which begins as `start` says."""
        if self.link is None:
            return self._local(provider_id, policy, start)
        from proxy.service.shared_admission import SharedAdmission

        admission = SharedAdmission(
            provider_id,
            policy,
            shared_start(provider, start),
            self.stars,
            self.turns,
            link=self.link,
            clock=self.clock,
            loop=self.loop,
            observe=self.observe,
            keep=self.keep,
            overhear=self.overhear,
            overhear_star=self.overhear_star,
            tell_of_death=self.tell_of_death,
            poll=self.poll,
            chance=self.chance,
        )
        if provider.limit is not None or provider.learn_limit or start.limit is not None:
            admission.begin()
        return admission

    def _local(self, provider_id: str, policy: Policy, start: standings.Start) -> Admission:
        now = self.clock.now()
        scheduler = Scheduler(
            provider_id,
            policy,
            self.stars,
            limit=start.limit,
            learns_limit=start.learns_limit,
            cooldown_s=start.cooldown_s,
            learns_cooldown=start.learns_cooldown,
            auto_reduced_from=start.auto_reduced_from,
            evidence=start.evidence,
            paused_until_at=None if start.pause_left_s is None else now + start.pause_left_s,
            pause_cause=start.pause_cause,
            strikes=start.strikes,
            strikes_until_at=None if start.strikes_left_s is None else now + start.strikes_left_s,
            restore_after_s=start.restore_after_s,
        )
        admission = LocalAdmission(
            scheduler,
            clock=self.clock,
            loop=self.loop,
            observe=self.observe,
            keep=self.keep,
            poll=self.poll,
            chance=self.chance,
        )
        admission.apply(scheduler.tick(now, self.clock.wall_ms()))
        return admission
