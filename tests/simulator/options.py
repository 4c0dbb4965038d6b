# The command line of both commands, and what it means.

import argparse

from .buckets import KINDS, STYLES
from .dialects import ROWS
from .provider import Terms
from .queueing import Queueing
from .ranges import counts, duration, durations, share
from .simulation import WAYS, Setup
from .work import Load

_TERMS = Terms()


def parser() -> argparse.ArgumentParser:
    """For `serve` and `run`."""
    top = argparse.ArgumentParser(
        prog="python -m tests.simulator",
        description="A provider that says no, and agents that ask it.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="the provider as an HTTP server", description=_SERVE)
    serve.add_argument("--port", type=int, default=0, help="0: any free one (the default)")
    serve.add_argument("--limit", type=int, default=None, help="answers at once (default: any number)")
    _account(serve)
    run = commands.add_parser("run", help="agents × hours under a simulated clock", description=_RUN)
    run.add_argument(
        "--limit", type=_limit, default=4, help="the limit that the proxy is given; auto: it learns it (default 4)"
    )
    run.add_argument("--real-limit", type=int, default=None, help="what the provider enforces (default: the same)")
    _account(run)
    _work(run)
    _proxy(run)
    return top


def terms(options: argparse.Namespace, limit: int | None) -> Terms:
    """The account."""
    return Terms(
        dialect=options.dialect,
        limit=limit,
        lag_s=options.lag,
        usage_lag_s=options.usage_lag,
        usage_latency_s=options.usage_latency,
        usage_failures=options.usage_failures,
        strikes=options.strikes,
        slowness=options.slowness,
        lockout_s=options.lockout,
        rpm=options.rpm,
        tpm=options.tpm,
        bucket=options.bucket,
        bucket_headers=options.bucket_headers,
        overload=options.overload,
        overload_waits=options.overload_waits,
        quota=dict(options.quota),
        external=options.external,
        hold_s=options.hold,
        in_stream=options.in_stream,
    )


def setup(options: argparse.Namespace, way: str) -> Setup:
    """A run."""
    learn_limit, learn_cooldown = options.limit is None, options.cooldown is None
    limit = options.limit
    return Setup(
        terms=terms(options, options.real_limit or limit),
        load=Load(
            agents=options.agents,
            projects=options.projects,
            calls=options.calls,
            hold_s=options.hold,
            tools_s=options.tools,
            tokens=options.tokens,
            models=tuple(options.models.split(",")),
        ),
        queueing=Queueing(
            limit=limit,
            learn_limit=learn_limit,
            cooldown_s=Queueing().cooldown_s if learn_cooldown else options.cooldown,
            learn_cooldown=learn_cooldown,
            gate_s=options.gate,
            gate_age_s=options.gate_age,
            absorb=options.absorb,
            auto_reduce=options.auto_reduce,
            auto_restore_s=options.auto_restore,
            strikes=options.strikes,
            pause_default_s=options.pause_default,
            pause_min_s=options.pause_min,
        ),
        hours=options.hours,
        seed=options.seed,
        way=way,
        unrest=options.unrest,
    )


_SERVE = """Serves /v1/messages (as Anthropic), /v1/chat/completions and any other POST (as OpenAI), streamed
unless the body says "stream": false, and GET /v1/usage. GET /simulator says what it has seen, as JSON. Durations are
350ms, 5s, 10m, 1h; a range is 600ms-900ms."""
_RUN = """The work fills HOURS if every slot is always in use; agents take it prompt by prompt."""


def _account(to: argparse.ArgumentParser) -> None:
    group = to.add_argument_group("the account")
    add = group.add_argument
    add("--dialect", choices=sorted(ROWS), default="generic", help="whose words it says no in (default generic)")
    add("--lag", type=durations, default=_TERMS.lag_s, help="how long a finished answer is still counted (default 0)")
    add("--usage-lag", type=durations, default=_TERMS.usage_lag_s, help="how old the usage count is (default 0)")
    add("--usage-latency", type=durations, default=_TERMS.usage_latency_s, help="of a poll (default 50ms-150ms)")
    add("--usage-failures", type=share, default=0.0, help="share of the polls that get an error (default 0%%)")
    add("--strikes", type=int, default=None, help="refusals for concurrency borne in 24 hours; one more locks it")
    add("--slowness", type=float, default=_TERMS.slowness, help="each adds this to an answer's time, for 30 min (0.25)")
    add("--lockout", type=duration, default=_TERMS.lockout_s, help="for how long (default 5h)")
    add("--rpm", type=int, default=None, help="requests a minute")
    add("--tpm", type=int, default=None, help="tokens a minute")
    add("--bucket", choices=sorted(KINDS), default="window", help="full again after a minute, or filling steadily")
    add("--bucket-headers", choices=sorted(STYLES), default="none", help="whose headers tell of them (default none)")
    add("--overload", type=share, default=0.0, help="share of the time in which it is overloaded (bursts of 5-30 s)")
    add("--overload-waits", type=share, default=0.5, help="share of these bursts that state a wait (default 50%%)")
    add("--quota", type=_quota, action="append", default=[], help="MODEL=N: used up after N answers, for 5 hours")
    add("--external", type=counts, default=_TERMS.external, help="others on it: always there - at most (0-2)")
    add("--hold", type=durations, default=_TERMS.hold_s, help="how long an answer takes (default 2s-20s)")
    add("--in-stream", type=share, default=0.0, help="share of the refusals that come inside a 200 (default 0%%)")
    add("--seed", type=int, default=1, help="of everything that is drawn (default 1)")


def _work(to: argparse.ArgumentParser) -> None:
    load = Load()
    add = to.add_argument_group("the agents").add_argument
    add("--agents", type=int, default=load.agents, help=f"default {load.agents}")
    add("--hours", type=float, default=1.0, help="of work (default 1)")
    add("--projects", type=int, default=load.projects, help=f"workspaces (default {load.projects})")
    add("--calls", type=counts, default=load.calls, help="of a prompt (default 5-40)")
    add("--tools", type=durations, default=load.tools_s, help="between two calls (default 200ms-8s)")
    add("--tokens", type=counts, default=load.tokens, help="of a call (default 2000-60000)")
    add("--models", default="", help="a list with commas: each agent has one, in turn")


def _proxy(to: argparse.ArgumentParser) -> None:
    queueing = Queueing()
    add = to.add_argument_group("the way to the provider").add_argument
    add("--way", choices=(*WAYS, "all"), default="proxy", help="what the calls go through (default proxy)")
    add("--cooldown", type=_cooldown, default=queueing.cooldown_s, help="a duration, or auto (default 350ms)")
    add("--gate-age", type=duration, default=0.0, help="how old the proxy is told that the usage count may be (0s)")
    add("--gate", type=duration, default=None, metavar="INTERVAL", help="polls the usage count (1s); without: no gate")
    add("--absorb", type=int, default=0, help="tries that the client does not see (default 0)")
    add("--auto-restore", type=duration, default=None, help="after so long without a refusal one step up (30m)")
    add("--no-auto-reduce", dest="auto_reduce", action="store_false", help="the limit stays")
    add("--pause-default", type=duration, default=queueing.pause_default_s, help="where no wait is stated (30s)")
    add("--pause-min", type=duration, default=queueing.pause_min_s, help="at least (default 0; the umans preset: 5s)")
    add("--unrest", action="store_true", help="calls leave the queue, slots are reclaimed, a person stars and pauses")
    add("--json", action="store_true", help="everything, as JSON; with --way all a list")


def _limit(text: str) -> int | None:
    """None is auto."""
    if text != "auto" and not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 1 nor auto")
    return None if text == "auto" else int(text)


def _cooldown(text: str) -> float | None:
    """None is auto."""
    return None if text == "auto" else duration(text)


def _quota(text: str) -> tuple[str, int]:
    model, _, number = text.rpartition("=")
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not MODEL=N")
    return model, int(number)
