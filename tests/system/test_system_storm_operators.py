# The storm again, while operators, reloads and rate limits change everything in the middle of it. At its end nothing is
# lost and nothing was made.

import asyncio
import random

import pytest
from blackbox.admin import part
from blackbox.call import Call
from blackbox.rig import Options, Rig, Starter
from blackbox.storm import Weather, as_many_as_the_limit_go_at_once, storm
from blackbox.upstream import Usage

pytestmark = pytest.mark.slow
LIMITED: Options = {"limit": 4, "cooldown": "0s", "pause": {"default": "200ms", "max": "500ms"}}
GATED: Options = {
    **LIMITED,
    "usage": {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "50ms", "timeout": "200ms"},
}


class BadWeather(Weather):
    """Now and then a rate limit; the usage endpoint is sometimes too slow."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.refusals = ("reclaimed", "dropped", "paused")

    async def serve(self, call: Call) -> None:
        if self.chance.random() < 0.04:
            await call.answer(429, b'{"error":{"message":"too many concurrent requests"}}', (("Retry-After", "0"),))
        else:
            await super().serve(call)

    async def poll(self, call: Call) -> None:
        if self.chance.random() < 0.1:
            await asyncio.sleep(0.3)
        await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % call.upstream.open)


async def operate(rig: Rig, chance: random.Random) -> None:
    """One thing that an operator may do."""
    provider = part(rig.provider)
    match chance.randrange(9):
        case 0:
            await rig.limit(chance.randint(1, 6))
        case 1:
            await rig.cooldown(chance.choice([0, 0, 20, 100]))
        case 2:
            await rig.pause(chance.randint(1, 200))
        case 3:
            await rig.resume()
        case 4:
            await rig.star("default", chance.random() < 0.5)
        case 5:
            await rig.admin.post("/reload")
        case 6:
            await rig.admin.post(f"/concurrency/restore/{provider}")
        case 7:
            listed = await rig.slots()
            for entry in chance.sample([*listed["slots"], *listed["waiters"], None], 1):
                if entry is not None:
                    await rig.admin.delete(f"/concurrency/slots/{provider}/{entry['id']}")
        case 8:
            await rig.admin.delete(f"/concurrency/limits/{provider}")


@pytest.mark.parametrize("options", [LIMITED, GATED], ids=["limit", "gate"])
async def test_no_slot_is_lost_or_made_whatever_operators_do_in_the_storm(start: Starter, options: Options) -> None:
    rig = await start({"up": options})
    weather = BadWeather(11)
    rig.up.behaviour, rig.up.usage = weather.serve, Usage()
    rig.up.usage.answer = weather.poll

    async def operators() -> None:
        chance = random.Random(11)
        while True:
            await operate(rig, chance)
            await asyncio.sleep(chance.expovariate(1 / 0.03))

    operating = asyncio.create_task(operators())
    await storm(rig, weather, clients=300, at_once=40)
    assert not operating.done(), "an operator was refused"
    operating.cancel()
    await asyncio.gather(operating, return_exceptions=True)
    await rig.resume()
    await rig.limit(3)
    await rig.cooldown(0)
    await rig.at_rest()
    rig.up.usage = Usage(0)
    await as_many_as_the_limit_go_at_once(rig, 3)
    assert not [line for line in rig.proxy.log if line.get("level") in ("error", "critical")]
    assert "Traceback" not in rig.proxy.output
