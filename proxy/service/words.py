# What a queue does just now, in words for people: what its first waiter waits for, and why each has its place. The page
# and the command line show what stands here, so that both say the same.
#
# Rule 1: a word that is meant for programs is never shown alone.
# Rule 2: a length of time is written in one way everywhere: `lasting`. The page's words.js has the same for its clocks.

import math

from proxy.core.model import Kind, Ticket
from proxy.core.obstacle import Code, Obstacle
from proxy.core.pause import OPERATOR

CAUSES: dict[str, str] = {
    OPERATOR: "by hand",
    "exhausted": "no requests left in this window",
    Kind.CONCURRENCY: "too many at once",
    Kind.RATE: "too fast",
    Kind.OVERLOAD: "overloaded",
}
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_FINE_S = 10 * _MINUTE  # a length from here on is told without its seconds
_ARRIVED_MS = 1000  # a prompt that began so near to its request's arrival began with it


def lasting(seconds: float) -> str:
    """`0.4 s`, `28 s`, `1 min 55 s`, `3 min`, `54 min`, `2 h 5 min`, `2 d 4 h`: two units at most, rounded."""
    if seconds < 0.95:
        return "0 s" if seconds <= 0 else f"{max(0.1, _rounded(seconds * 10) / 10):.1f} s"
    whole = _rounded(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _FINE_S:
        return _two(whole, (_MINUTE, "min"), (1, "s"))
    minutes = _rounded(seconds / _MINUTE) * _MINUTE
    if minutes < _HOUR:
        return f"{minutes // _MINUTE} min"
    if minutes < _DAY:
        return _two(minutes, (_HOUR, "h"), (_MINUTE, "min"))
    return _two(_rounded(seconds / _HOUR) * _HOUR, (_DAY, "d"), (_HOUR, "h"))


def rough(seconds: float) -> str:
    """An estimate, no finer than it can be true: to 5 s under a minute, to half a minute under ten."""
    fine = 1 if seconds < 10 else 5 if seconds < _MINUTE else 30 if seconds < _FINE_S else _MINUTE
    return lasting(max(math.ceil(seconds / fine) * fine, 1))


def waits_for(obstacle: Obstacle, now: float) -> str:
    """Why the first in the queue is not let in; without a subject, so that it can stand after a name and a colon."""
    left = another((obstacle.until_at or now) - now)
    match obstacle.code:
        case Code.PAUSE:
            return f"paused for {left}: {CAUSES.get(obstacle.cause, obstacle.cause)}"
        case Code.REST:
            return f"it rests after a refusal for {left}"
        case Code.SLOT:
            return _slots(obstacle.count, obstacle.limit)
        case Code.COOLDOWN:
            return f"a slot rests for {left}"
        case Code.PROBE:
            return "one goes ahead alone to see whether the provider takes requests again"
        case Code.ALLOWANCE:
            return "few requests are left in this window: an answer is awaited"
        case Code.GATE:
            counts = f"the provider counts {obstacle.count} of {obstacle.limit}"
            return counts if obstacle.count >= obstacle.limit else f"{counts}, and may not know of the latest yet"
        case Code.GATE_UNKNOWN:
            return f"the provider does not tell its count: {obstacle.cause}"
        case Code.GATE_ASKED if obstacle.until_at is None:
            return "the provider is being asked"
        case Code.GATE_ASKED:
            return "the provider is asked again in a moment"


def place(ticket: Ticket, *, starred: bool, rests_s: float | None, waiting_s: float, now_ms: int) -> str:
    """Why a waiter stands where it stands: spec §6.2. `rests_s`: what is left of its rest, `waiting_s`: how long it has
    waited."""
    if rests_s is not None:
        return f"rests after a refusal for {another(rests_s)}"
    age_s = (now_ms - ticket.prompt_started_at) / 1000
    came_with_it = abs(age_s - waiting_s) * 1000 <= _ARRIVED_MS
    words = f"arrived {_ago(waiting_s)}" if came_with_it else f"prompt began {_ago(age_s)}"
    return f"starred, {words}" if starred else words


def _slots(held: int, limit: int) -> str:
    if held > limit:
        return f"{held} slots are in use, and the limit is {limit} now"
    if limit <= 2:
        return "the only slot is in use" if limit == 1 else "both slots are in use"
    return f"all {limit} slots are in use"


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)  # as the page's language rounds


def _two(seconds: int, great: tuple[int, str], small: tuple[int, str]) -> str:
    rest = seconds % great[0] // small[0]
    first = f"{seconds // great[0]} {great[1]}"
    return f"{first} {rest} {small[1]}" if rest else first


def another(seconds: float) -> str:
    """What is left of a time, counted down: never nothing."""
    return "another moment" if seconds < 1 else f"another {lasting(seconds)}"


def _ago(seconds: float) -> str:
    return "just now" if seconds < 1 else f"{lasting(seconds)} ago"
