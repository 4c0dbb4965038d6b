# The script that moves a provider's state in Redis, and how its steps and effects are written.
#
# Rule 1: a call is one list of steps, which happen together. It answers with effects, which are the core's own.
# Rule 2: None is never sent in a list, where Lua would end it: False stands for it.
# Rule 3: times in effects are Redis'; `Reply.now` is what they are compared with.

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from proxy.core.limit import notice
from proxy.core.model import CooldownSet, LimitSet, Paused, Policy, RateLimit, Reduced, Resumed, Ticket

Step = list[Any]
Raw = Sequence[Any]
Change = Paused | Resumed | Reduced | LimitSet | CooldownSet


class Standing(NamedTuple):
    """How a provider stands, for who decides something by itself. Times are Redis' seconds; `deadline`: when time alone
    changes something, None: never; `waker`: which replica is to call then, None: any. `eager`: somebody waits for how
    answers begin."""

    deadline: float | None = None
    waker: str | None = None
    limit: int | None = None
    waiting: int = 0
    paused_until: float | None = None
    cooldown_s: float = 0.0
    grants: int = 0
    eager: bool = False


class Reply(NamedTuple):
    """`now`: when it happened, in Redis' seconds; `done`: the number of the replica's last call before it that was no
    announcement, None: none is known. `unknown`: the server does not know of the replica, which has to announce
    itself; `late`: a later call of the replica came first. In both cases nothing has happened."""

    now: float
    effects: list[Raw]
    standing: Standing
    done: int | None = None
    unknown: bool = False
    late: bool = False


def source() -> str:
    """The script's text."""
    folder = files(__package__) / "lua"
    return "\n".join(part.read_text("utf-8") for part in sorted(folder.iterdir(), key=lambda part: part.name))


def request(
    steps: Sequence[Step],
    *,
    replica: str,
    number: int,
    run: str | None,
    channel: str | None = None,
    now: float | None = None,
    now_ms: int | None = None,
) -> bytes:
    """What the script is given: `replica` asks a server that calls itself `run` (None: the server says it itself);
    `number` is greater than that of its call before. Effects that concern others are pushed to `channel` and the name
    of each, or `all`. `now` and `now_ms` stand in for Redis' clock."""
    said = {"replica": replica, "number": number, "run": run, "channel": channel, "steps": steps}
    said |= {"now": now, "now_ms": now_ms}
    return msgspec.msgpack.encode(_without_none(said))


def reply(packed: bytes) -> Reply:
    """What the script says."""
    said = msgspec.msgpack.decode(packed)
    return Reply(
        said["now"],
        said.get("effects") or [],
        Standing(**said.get("standing", {})),
        said.get("done"),
        said.get("unknown", False),
        said.get("late", False),
    )


class News(NamedTuple):
    """What a call of `replica` at the provider of `key` has pushed; the rest as in a Reply."""

    key: str
    replica: str
    now: float
    effects: list[Raw]
    standing: Standing


def news(packed: bytes) -> News:
    """What was pushed."""
    said = msgspec.msgpack.decode(packed)
    return News(said["key"], said["from"], said["now"], said["effects"], Standing(**said["standing"]))


def ticket(asking: Ticket) -> dict[str, Any]:
    """A ticket as the script knows it."""
    return _without_none(
        {
            "id": asking.id,
            "workspace": asking.workspace,
            "conversation": asking.conversation,
            "prompt": asking.prompt_started_at,
            "path": asking.path,
        }
    )


def policy(configured: Policy) -> dict[str, Any]:
    """A policy as the script knows it."""
    return _without_none(asdict(configured))


def announcement(
    start: Mapping[str, Any],
    *,
    fresh: bool = False,
    poll: int = 0,
    peers: Sequence[str] = (),
    held: Sequence[Mapping[str, Any]] = (),
    waiting: Sequence[Mapping[str, Any]] = (),
) -> Step:
    """The first step at a server. `start` is what the provider starts with if nothing is known of it; where something
    is, what of it is configured counts if this process has just begun (`fresh`). `peers` are the replicas that this one
    knows of, `poll` is the last usage poll that it was asked for. `held` and `waiting` are its own, as `ticket` writes
    them: the ones with `grant`, `held_s` and `taken`, the others with `waited_s`, `seq` where it is known, and `after`
    where they have given back a slot."""
    said = {"start": _without_none(start), "fresh": fresh, "poll": poll}
    return ["announce", {**said, "peers": [*peers], "held": [*held], "waiting": [*waiting]}]


def refusal(status: int, kind: str, retry_after_ms: int | None) -> dict[str, Any]:
    """A refusal before the script has said when it was, and what was in flight."""
    return _without_none({"status": status, "kind": str(kind), "retry_after_ms": retry_after_ms})


def told(seen: RateLimit) -> dict[str, Any]:
    """A refusal as the script keeps it."""
    return _without_none(seen._asdict())


def rate_limit(said: Mapping[str, Any]) -> RateLimit:
    """A refusal as the script has kept it."""
    return RateLimit(said["at"], said["status"], said["kind"], said.get("retry_after_ms"), said["in_flight"])


def change(name: str, said: Sequence[Any], *, ahead_s: float = 0.0) -> Change | None:
    """What concerns all requests of a provider, as the core has it, in the time of a clock that is `ahead_s` of Redis';
    None: `name` is none of them."""
    match name, said:
        case "Paused", (until_at, cause):
            return Paused(until_at + ahead_s, cause)
        case "Resumed", (cause,):
            return Resumed(cause)
        case "Reduced", (limit, original):
            return Reduced(limit, original, notice(limit))
        case "LimitSet", (limit, by):
            return LimitSet(limit or None, by)
        case "CooldownSet", (seconds, by):
            return CooldownSet(seconds, by)
    return None


def _without_none(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}
