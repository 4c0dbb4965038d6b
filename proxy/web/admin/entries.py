# The core's nouns as the admin API's JSON (spec §12).
#
# Rule: times are epoch milliseconds, durations whole milliseconds; what does not apply is absent where the contract
#       says so, and null elsewhere.

from collections import Counter

from proxy.core.forecast import Expected
from proxy.core.model import Phase, RateLimit, Slot, Snapshot, Ticket
from proxy.service import words
from proxy.service.admission import Admission
from proxy.service.clock import Clock, whole_ms
from proxy.service.runtime import Runtime

Entry = dict[str, object]


def provider(admission: Admission, runtime: Runtime) -> Entry:
    """The status entry of one provider."""
    clock, snapshot, standing = runtime.clock, admission.snapshot(), runtime.standing(admission.provider_id)
    now = clock.now()
    waits_for = admission.scheduler.waits_for(now)
    entry: Entry = {
        "providerId": snapshot.provider_id,
        "limit": snapshot.limit,
        "limitBy": standing.limit_by,
        "inFlight": snapshot.in_flight,
        "held": snapshot.held,
        "cooling": snapshot.cooling,
        "queued": snapshot.queued,
        "oldestWaitMs": _maybe_ms(snapshot.oldest_wait_s),
        "waitsFor": waits_for and {"code": waits_for.code.value, "words": words.waits_for(waits_for, now)},
        "expectedWaitMs": _maybe_ms(admission.scheduler.newcomer_wait_s(now, clock.wall_ms())),
        "paused": snapshot.paused_until_at is not None,
        "cooldownMs": whole_ms(snapshot.cooldown_s),
        "cooldownBy": standing.cooldown_by,
        "autoReduced": snapshot.auto_reduced,
        "lastRateLimit": None if snapshot.last_rate_limit is None else _rate_limit(snapshot.last_rate_limit),
        "gate": _gate(snapshot, clock),
    }
    if snapshot.paused_until_at is not None:
        entry |= {"pausedUntil": clock.to_wall_ms(snapshot.paused_until_at), "pauseCause": snapshot.pause_cause}
    if snapshot.auto_reduced:
        evidence = [{**_rate_limit(seen), "inFlight": seen.in_flight} for seen in snapshot.evidence]
        entry |= {"autoReducedFrom": snapshot.auto_reduced_from, "notice": snapshot.notice, "evidence": evidence}
    return entry | _learned(snapshot, clock)


def _learned(snapshot: Snapshot, clock: Clock) -> Entry:
    """What is known of the provider beyond its limit, as far as anything is."""
    known: Entry = {}
    if snapshot.learns_limit:
        known["limitAuto"] = True
    if snapshot.learns_cooldown:
        known["cooldownAuto"] = True
    if snapshot.lag_s is not None:
        known["lagMs"] = whole_ms(snapshot.lag_s)
    if snapshot.external is not None:
        known["externalUse"] = snapshot.external
    if snapshot.strikes or snapshot.strikes_allowed is not None:
        known["strikes"] = {"today": snapshot.strikes, "allowed": snapshot.strikes_allowed}
    if snapshot.restore_at is not None and snapshot.restore_after_s is not None:
        known |= {
            "restoreAt": clock.to_wall_ms(snapshot.restore_at),
            "restoreAfterMs": whole_ms(snapshot.restore_after_s),
        }
    if snapshot.few_left_until_at is not None:
        known["fewLeftUntil"] = clock.to_wall_ms(snapshot.few_left_until_at)
    if snapshot.quota is not None:
        known["quota"] = _rate_limit(snapshot.quota)
    return known


def slots(admission: Admission, runtime: Runtime) -> Entry:
    """Who holds slots of a provider and who waits, in the order of service."""
    admission.catch_up()
    clock, scheduler = runtime.clock, admission.scheduler
    now, now_ms = clock.now(), clock.wall_ms()
    return {
        "now": now_ms,
        "slots": [{**_slot(slot, clock, now), **_replica(admission, slot.ticket)} for slot in scheduler.slots()],
        "waiters": [
            {
                **_waiter(position, expected, expected.ticket.workspace in runtime.stars, now, now_ms),
                **_replica(admission, expected.ticket),
            }
            for position, expected in enumerate(scheduler.expected_waits(now, now_ms), 1)
        ],
    }


def workspaces(runtime: Runtime) -> dict[str, Entry]:
    """Those that have a star, a waiter or a slot, by name; the starred ones first."""
    queued: Counter[str] = Counter()
    in_flight: Counter[str] = Counter()
    for admission in runtime.admissions.values():
        admission.catch_up()
        waiting = admission.scheduler.waiting
        queued.update({name: waiting.count(name) for name in waiting.workspaces()})
        in_flight.update(slot.ticket.workspace for slot in admission.scheduler.slots())
    names = {*runtime.stars, *queued, *in_flight}
    return {
        name: workspace(name, name in runtime.stars, queued[name], in_flight[name])
        for name in sorted(names, key=lambda name: (name not in runtime.stars, name))
    }


def workspace(name: str, starred: bool, queued: int = 0, in_flight: int = 0) -> Entry:
    return {"workspaceId": name, "starred": starred, "queued": queued, "inFlight": in_flight}


def _replica(admission: Admission, ticket: Ticket) -> Entry:
    """Where several replicas share the queue: whose request it is."""
    replica = admission.replica_of(ticket)
    return {} if replica is None else {"replica": replica}


def _who(ticket: Ticket) -> Entry:
    return {
        "conversationId": ticket.conversation,
        "workspaceId": ticket.workspace,
        "promptStartedAt": ticket.prompt_started_at,
        "path": ticket.path,
    }


def _waiter(position: int, expected: Expected, starred: bool, now: float, now_ms: int) -> Entry:
    ticket, rests_until_at = expected.ticket, expected.rests_until_at
    waiting_s = now - ticket.queued_at
    rests_s = None if rests_until_at is None else rests_until_at - now
    return {
        "id": str(ticket.id),
        "position": position,
        **_who(ticket),
        "starred": starred,
        "waitingMs": whole_ms(waiting_s),
        "why": words.place(ticket, starred=starred, rests_s=rests_s, waiting_s=waiting_s, now_ms=now_ms),
        "expectedWaitMs": _maybe_ms(expected.wait_s),
    }


def _slot(slot: Slot, clock: Clock, now: float) -> Entry:
    entry: Entry = {
        "id": str(slot.id),
        **_who(slot.ticket),
        "phase": slot.phase.value,
        "grantedAt": clock.to_wall_ms(slot.granted_at),
        "lastByteAt": clock.to_wall_ms(slot.last_byte_at),
        "ageMs": whole_ms(now - slot.granted_at),
        "silentMs": whole_ms(now - slot.last_byte_at),
        "bytes": slot.bytes,
    }
    if slot.phase is Phase.COOLING:
        # One that did not need to rest has no end of it; the provider is asked whether it can be given.
        entry["cooledAt"] = clock.to_wall_ms(slot.cooled_at or now)
    return entry


def _rate_limit(seen: RateLimit) -> Entry:
    return {"at": seen.at, "status": seen.status, "kind": str(seen.kind), "retryAfterMs": seen.retry_after_ms}


def _gate(snapshot: Snapshot, clock: Clock) -> Entry | None:
    reading = snapshot.gate
    if reading is None:
        return None
    return {"observed": reading.observed, "at": clock.to_wall_ms(reading.at), "error": reading.error}


def _maybe_ms(seconds: float | None) -> int | None:
    return None if seconds is None else whole_ms(seconds)
