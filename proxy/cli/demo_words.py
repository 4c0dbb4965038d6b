# What a person reads about the demo: a line for each thing that is news, and how things stand in one line.
#
# Rule 1: pure. Names in a document come from clients; who prints them sees to the terminal.
# Rule 2: numbers are said as they are: a provider over its limit and calls that failed stand there like the rest.

from collections.abc import Mapping
from typing import Any

from proxy.cli.lengths import span
from proxy.service.words import CAUSES

Document = Mapping[str, Any]


def opening(document: Document, command: str) -> list[str]:
    """What it is and what to do now: after `ready`. `command` is what runs slotgate here."""
    admin, limit = document["admin"], document["limit"]
    agents = _count(document["agents"], "simulated agent")
    return [
        f"{agents} at a simulated provider that answers {limit} at once, through a real proxy.",
        "All of it stays on this machine and is gone afterwards; no key is needed.",
        "",
        f"  see it    {document['page']}",
        f"  steer it  {command} top --admin {admin}",
        f"  join in   {document['clients']} is the base URL (Anthropic's Messages API)",
        "  stop it   Ctrl-C",
        "",
    ]


def news(document: Document) -> str:
    """One line about what happened, "" where it is none."""
    match document:
        case {"event": "prompt_done", "workspaceId": name, "calls": calls, "tookMs": took_ms}:
            return f"{name} is done with a prompt: {_count(calls, 'answer')} in {span(took_ms)}"
        case {"event": "provider_refused", "why": "chance"}:
            return "the provider refuses a request for no reason, as providers do (429, too many at once)"
        case {"event": "provider_refused", "limit": limit}:
            return f"the provider refuses a request: it has its {limit} already (429)"
        case {"event": "paused", "until": until, "cause": cause, "at": at}:
            return f"paused for {span(until - at)}: {CAUSES.get(cause, cause)}"
        case {"event": "resumed"}:
            return "the pause is over: one request goes ahead, then the others"
        case {"event": "reduced", "limit": limit}:
            return f"the limit goes down to {limit}; Restore on the page takes it back, or time does"
        case {"event": "limit_set", "limit": limit}:
            return f"the limit is {'gone' if limit is None else limit}"
        case {"event": "starred", "workspaceId": name, "starred": starred}:
            return f"{name} goes first from now on" if starred else f"{name} waits its turn like the others"
        case {"event": "reclaimed", "workspaceId": name}:
            return f"a slot of {name} was taken back"
    return ""


def standing(state: Document, answers: int) -> str:
    """How things stand: `state` is the last document of this kind."""
    limit = "∞" if state["limit"] is None else state["limit"]
    waits = f"{state['queued']} wait"
    if state["oldestWaitMs"]:
        waits += f", the longest for {span(state['oldestWaitMs'])}"
    paused = "paused · " if state["paused"] else ""
    return f"{paused}{state['inFlight']} of {limit} slots in use · {waits} · {_count(answers, 'answer')} so far"


def closing(summary: Document) -> list[str]:
    """What the agents got, and whether the provider was ever over its limit."""
    chance, over, most = summary["refusedByChance"], summary["refusedOverLimit"], summary["mostAtOnce"]
    raised = ", after the limit was raised by hand" if over and summary["limitRaised"] else ""
    failed = [f"{count} × {what}" for what, count in summary["otherFailures"].items()]
    return [
        f"In {span(summary['lastedMs'])} {_count(summary['agents'], 'agent')} finished "
        f"{_count(summary['prompts'], 'prompt')} with {_count(summary['answers'], 'answer')}.",
        f"They saw {summary['refusedSeen']} × 429" + "".join(f", {each}" for each in failed) + "; "
        f"the longest wait for an answer to begin was {span(summary['longestWaitMs'])}.",
        f"The provider never answered more than {most} at once (its limit is {summary['limit']}). It refused "
        f"{_count(chance + over, 'request')}: {chance} by chance, {over} because there were too many{raised}.",
    ]


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
