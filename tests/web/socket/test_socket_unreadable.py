# What may ask for an answer is counted, however it is written: what one JSON parser refuses, another reads.

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import event, frame, hear, said, socket

ODD = {
    "half an emoji in the prompt": rb'{"type":"response.create","input":[{"role":"user","content":"cut \ud83d"}]}',
    "half an emoji in the metadata": rb'{"type":"response.create","client_metadata":{"a":"\ud83d"}}',
    "NaN": b'{"type":"response.create","temperature":NaN}',
    "deep": b'{"type":"response.create","x":' + b"[" * 3000 + b"]" * 3000 + b"}",
    "an escape in the type": rb'{"type":"response\u002ecreate"}',
    "an escape in the name": rb'{"\u0074ype":"response.create"}',
    "many digits": b'{"type":"response.create","x":NaN,"seed":' + b"1" * 5000 + b"}",
    "a byte order mark": b'\xef\xbb\xbf{"type":"response.create"}',
    "more behind it": b'{"type":"response.create"}{}',
    "too many values for a slow parser": b'{"type":"response.create","temperature":NaN,"x":[' + b"0," * 60_000 + b"0]}",
    "a large field that is looked at": b'{"type":"response.create","generate":"' + b"x" * 100_000 + b'"}',
    "cut off": rb'{"type":"response\u002ecreate","inp',
}
NO_QUESTION = {
    "another type": rb'{"type":"session.update","note":"response.create \u002e"}',
    "a list": b'["response.create"]',
    "half an emoji": rb'{"type":"session.update","note":"\ud83d"}',
    "a large type": b'{"note":"response.create","type":"' + b"x" * 100_000 + b'"}',
    "a prewarm": rb'{"type":"response.create","generate":false,"input":"\ud83d"}',
}


@pytest.mark.parametrize("payload", ODD.values(), ids=ODD)
async def test_message_that_some_parser_reads_as_a_question_waits_for_a_slot(start, payload):
    rig = await start({"limit": 1})
    running, link = await socket(rig)
    await answering(running, link)
    client, other = await socket(rig)
    await client.send(said(payload))
    await waiting(rig)
    await link.send(event("completed", "r1"))
    assert (await hear(other)).payload == payload
    assert rig.scheduler.held == 1
    await other.send(frame(b'{"type":"error","error":{"message":"what?"}}'))
    await held(rig, 0)


@pytest.mark.parametrize("payload", NO_QUESTION.values(), ids=NO_QUESTION)
async def test_message_that_asks_for_nothing_takes_no_slot_whatever_is_in_it(start, payload):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(said(payload))
    assert (await hear(link)).payload == payload
    assert rig.scheduler.held == 0


async def test_what_a_message_says_of_itself_is_read_beside_half_an_emoji(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(
        said(
            rb'{"type":"response.create","input":"'
            + b", " * 60_000
            + rb'\ud83d","client_metadata":{"session_id":"s1"}}'
        )
    )
    await hear(link)
    (slot,) = rig.scheduler.holding()
    assert slot.ticket.conversation == "s1"
