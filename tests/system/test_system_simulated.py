# The real process in front of a simulated provider that forgets a finished answer late: agents that make call after
# call are never refused, and every answer is whole.

import asyncio
import json
import re
from typing import Any

import pytest
from blackbox.rig import Rig, Starter
from simulator.provider import Terms
from simulator.ranges import Range
from simulator.server import serving

AGENTS, CALLS = 8, 5
HOLD_S = Range(0.05, 0.2)
LAG_S = Range(0.03, 0.09)
GATE = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "50ms"}
DIALECTS = {"/v1/messages": "event: message_stop", "/v1/chat/completions": "data: [DONE]"}


async def agent(rig: Rig, number: int) -> None:
    """One prompt: its calls, one after the other, on one connection."""
    client = await rig.client()
    headers = [
        ("X-Slotgate-Conversation", f"agent-{number}"),
        ("X-Slotgate-Workspace", f"project-{number % 3}"),
        ("Authorization", "Bearer sk-agent"),
    ]
    for call in range(CALLS):
        path = list(DIALECTS)[(number + call) % 2]
        await client.request("POST", f"/up{path}", headers, b'{"model":"m","stream":true}')
        answer = await client.answer(timeout=60)
        text = answer.body.decode()
        assert (answer.status, answer.ended) == (200, "clean"), text
        assert DIALECTS[path] in text.split("\n\n")[-2], "its end is missing"
        said = re.findall(r"(\d+)/(\d+) ", text)
        assert said, "an answer without a word"
        assert [int(part) for part, _ in said] == list(range(1, int(said[0][1]) + 1)), "a part is missing"


@pytest.mark.parametrize(
    ("limit", "options"),
    [(2, {"cooldown": "100ms"}), (1, {"cooldown": "5ms", "usage": GATE})],
    ids=["a cooldown longer than the lag", "a gate and hardly a cooldown"],
)
async def test_agents_are_never_refused_and_get_whole_answers(
    start: Starter, limit: int, options: dict[str, Any]
) -> None:
    terms = Terms(dialect="umans", limit=limit, lag_s=LAG_S, hold_s=HOLD_S, usage_latency_s=Range(0.002, 0.01))
    async with serving(terms) as provider:
        rig = await start({"up": {"url": provider.url, "limit": limit, **options}})
        await asyncio.gather(*(agent(rig, number) for number in range(AGENTS)))
        await rig.at_rest()
        seen = provider.seen()
        assert (seen["answered"], seen["refused"], seen["open"]) == (AGENTS * CALLS, {}, 0)
        assert seen["peak"] <= limit
        entry = await rig.status()
        assert (entry["limit"], entry["autoReduced"], entry.get("lastRateLimit")) == (limit, False, None)
        assert (seen["polls"] > 0) is ("usage" in options)


async def test_refusal_is_handed_on_and_lowers_the_limit_to_what_is_enforced(start: Starter) -> None:
    """The provider takes one less than it is said to: one strike, and the others are served one after the other."""
    terms = Terms(dialect="umans", limit=1, hold_s=Range(0.3, 0.3))
    async with serving(terms) as provider:
        rig = await start({"up": {"url": provider.url, "limit": 2, "cooldown": "50ms", "pause": {"min": "100ms"}}})
        clients = [await rig.ask(str(number)) for number in range(6)]
        answers = await asyncio.gather(*(client.answer(timeout=60) for client in clients))
        assert sorted(answer.status for answer in answers) == [200] * 5 + [429]
        (refused,) = (answer for answer in answers if answer.status == 429)
        assert refused.head.get("retry-after") == "1"
        await rig.at_rest()
        assert ((await rig.status())["limit"], provider.seen()["strikes"]) == (1, 1)


async def test_overload_inside_a_stream_is_handed_on_untouched(start: Starter) -> None:
    terms = Terms(dialect="anthropic", overload=1.0, overload_waits=0.0, in_stream=1.0)
    async with serving(terms) as provider:
        rig = await start({"up": {"url": provider.url, "limit": 2, "cooldown": "0s"}})
        answer = await (await rig.ask("a")).answer()
        assert answer.status == 200
        assert json.loads(answer.body.partition(b"data: ")[2])["error"]["type"] == "overloaded_error"
        entry = await rig.status()
        assert (entry["limit"], entry["paused"]) == (2, False)
