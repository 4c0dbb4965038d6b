# Clients that give up on silence are kept alive by an interim answer while they wait; nobody else is (spec §9).

import asyncio

import pytest
from blackbox.rig import Rig

pytestmark = pytest.mark.slow
NEEDS_IT = [("x-stainless-runtime", "node"), ("User-Agent", "GeminiCLI-tui/0.61.0/m"), ("User-Agent", "x gl-node/22")]


async def test_waiting_client_known_to_need_it_gets_102_and_others_get_nothing(rig: Rig) -> None:
    await rig.ask("holder")
    holder = await rig.up.call()
    (patient,) = await rig.line_up("patient", headers=[("User-Agent", "OpenAI/Python 2.20.0")])
    impatient = [(await rig.line_up("needs it", headers=[header]))[0] for header in NEEDS_IT]
    for head in await asyncio.gather(*(client.head(timeout=40) for client in impatient)):
        assert (head.status, head.headers) == (102, [])
    rig.up.behaviour = lambda call: call.answer()
    await holder.answer()
    for client in (*impatient, patient):
        head = await client.head()
        assert head.status == 200 if client is patient else head.status in (200, 102)
