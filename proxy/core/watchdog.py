# Which slots are stuck (spec §9). Pure.

from proxy.core.model import Policy, Slot


def overdue(policy: Policy, slot: Slot, now: float) -> tuple[str, float] | None:
    """Why the held `slot` is to be taken back, and for how long that has been so; None: it is not."""
    hold_s, silent_s = now - slot.granted_at, now - slot.progress_at
    if policy.max_hold_s is not None and hold_s >= policy.max_hold_s:
        return "max_hold", hold_s
    if policy.slot_timeout_s is not None and silent_s >= policy.slot_timeout_s:
        return "silent", silent_s
    return None
