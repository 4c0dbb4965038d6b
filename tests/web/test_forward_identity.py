# Who asks, on the whole way: what a client does not say is read from the body, and decides who is next.

import gzip
import json

import zstandard
from rawsides.message import answer, post
from rawsides.rig import becomes

AGENT = "User-Agent: agent/1.0"


def body(prompt, *steps, **more):
    """In the Anthropic format: `steps` are what tools have said."""
    messages = [{"role": "user", "content": prompt}]
    for step in steps:
        messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "r", "input": {}}]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": step}]})
    return json.dumps({"tools": [{"name": "r"}], "messages": messages, **more}).encode()


async def lines_up(rig, message, count):
    client = await rig.client()
    await client.send(message)
    await becomes(lambda: len(rig.scheduler.waiting) == count, f"{count} wait")
    return client


async def test_agent_that_sends_no_id_goes_on_before_a_younger_one(start):
    rig = await start({"limit": 1})
    old, link = await rig.ask(post("/up/v1/messages", body("the old prompt"), AGENT))
    await link.until(body("the old prompt"))
    (slot,) = rig.scheduler.slots()
    name = slot.ticket.conversation
    assert name.startswith("fp:")

    first = await lines_up(rig, post("/up/v1/messages", body("one"), AGENT), 1)
    second = await lines_up(rig, post("/up/v1/messages", body("two"), AGENT), 2)
    await link.send(answer(b"use a tool"))
    await old.until(b"use a tool")
    await link.until(body("one"))
    step = body("the old prompt", "it said this")
    await old.send(post("/up/v1/messages", step, AGENT))
    await becomes(lambda: len(rig.scheduler.waiting) == 2, "the old one waits again")
    await link.send(answer(b"done"))
    await first.until(b"done")
    await link.until(step)
    (slot,) = rig.scheduler.slots()
    assert slot.ticket.conversation == name
    await link.send(answer(b"done"))
    await old.until(b"done")
    await link.until(body("two"))
    await link.send(answer(b"done"))
    await second.until(b"done")
    await rig.at_rest()
    assert len({record.conversation for record in rig.records}) == 3


async def test_without_a_limit_nobody_is_given_a_name_unless_a_pause_makes_them_wait(start):
    rig = await start({})
    client, link = await rig.ask(post("/up/v1/messages", body("one"), AGENT))
    await link.until(body("one"))
    await link.send(answer(b"done"))
    await client.until(b"done")
    assert (await rig.record()).conversation is None
    await rig.runtime.pause("up", 60)
    await client.send(post("/up/v1/messages", body("one"), AGENT))
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "it waits")
    await rig.runtime.resume("up")
    await link.until(body("one"))
    await link.send(answer(b"done"))
    await client.until(b"done")
    assert (await rig.record(2)).conversation.startswith("fp:")


async def test_coded_body_is_read_and_goes_on_as_it_came(start):
    rig = await start({"limit": 1})
    plain = body("one", metadata={"session_id": "s1"})
    for number, (coding, coded) in enumerate({"gzip": gzip.compress(plain), "zstd": zstandard.compress(plain)}.items()):
        client, link = await rig.ask(post("/up/v1/messages", coded, f"Content-Encoding: {coding}", "Connection: close"))
        await link.until(coded)
        await link.send(answer(b"done", "Connection: close"))
        await client.until(b"done")
        assert (await rig.record(number + 1)).conversation == "s1"
