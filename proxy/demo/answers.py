# What the simulated model answers: how long it takes, and the events of the stream (Anthropic's Messages API).
#
# Rule 1: pure; chance is given. The lengths are those of coding agents: mostly a few seconds more than the shortest.

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proxy.demo.terms import ANSWER_S, FIRST_BYTE_S, Terms

_EVENTS_A_SECOND = 5.0  # of one stream
_MEAN_S = 5.0  # beyond the shortest
_GOES_ON = 0.7  # how often a call is followed by a tool's
_MOST_CALLS = 8  # of one prompt
_THOUGHTS = (
    "Let me look at how this is done elsewhere before I change anything. ",
    "The test fails because the fixture is built before the setting is read. ",
    "I will move the check to the edge, where the value comes in. ",
    "That function has two callers, and only one of them handles None. ",
    "Now the tests; the first one shows the fault that was reported. ",
    "The migration has to come first, or the old rows have no owner. ",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one answer goes: silence, then `pieces` of it with `pause_s` between them."""

    first_byte_s: float
    pause_s: float
    pieces: tuple[bytes, ...]


def plan(request: Mapping[str, Any], terms: Terms, chance: random.Random) -> Plan:
    """The answer to the request, whose body is given."""
    lasts_s = min(ANSWER_S.low + chance.expovariate(1 / _MEAN_S), ANSWER_S.high)
    first_byte_s = FIRST_BYTE_S.draw(chance)
    count = max(2, round((lasts_s - first_byte_s) * _EVENTS_A_SECOND))
    goes_on = _results(request) < _MOST_CALLS and chance.random() < _GOES_ON
    return Plan(
        first_byte_s=first_byte_s / terms.speed,
        pause_s=1 / (_EVENTS_A_SECOND * terms.speed),
        pieces=tuple(_pieces(count, "tool_use" if goes_on else "end_turn", chance)),
    )


def refusal(stated_s: int) -> tuple[dict[str, str], bytes]:
    """Header and body of a 429, in the words of an account that has too many requests at once."""
    said = "Number of concurrent connections has exceeded your rate limit. Please try again later."
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": said}}
    return {"Content-Type": "application/json", "Retry-After": str(stated_s)}, json.dumps(body).encode()


def _results(request: Mapping[str, Any]) -> int:
    """How many calls this prompt has had: each sent back what a tool said."""
    return sum(message.get("role") == "assistant" for message in request.get("messages", ()))


def _pieces(count: int, stop: str, chance: random.Random) -> Iterator[bytes]:
    usage = {"input_tokens": chance.randrange(4_000, 90_000), "output_tokens": 1}
    message = {"id": f"msg_{chance.randrange(16**12):012x}", "role": "assistant", "content": [], "usage": usage}
    block = {"type": "text", "text": ""}
    yield _event("message_start", message=message) + _event("content_block_start", index=0, content_block=block)
    for at in range(count):
        text = _THOUGHTS[at // 4 % len(_THOUGHTS)] if at % 4 == 0 else "… "
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    end = {"delta": {"stop_reason": stop}, "usage": {"output_tokens": count * 12}}
    yield _event("content_block_stop", index=0) + _event("message_delta", **end) + _event("message_stop")


def _event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more}, ensure_ascii=False)}\n\n".encode()
