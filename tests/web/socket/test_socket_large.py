# A message of the upstream's that is too long to be parsed still ends its answer, in whatever order its fields are.

import pytest
from rawsides.answers import answering, held
from rawsides.frames import CONTINUATION, PING, TEXT, event, frame, hear, socket

from proxy.web.socket.protocol import READ_END, READ_MAX
from proxy.wire.websocket import FrameReader

LONG = b"y" * (READ_MAX + 100_000)
RESPONSE = b'"response": {"id": "r1", "object": "response", "x": "' + LONG + b'", "usage": {"type": "error"}}'
KIND = b'"type": "response.completed"'
ENDS = {
    "the type first": b"{" + KIND + b", " + RESPONSE + b"}",
    "behind a number": b'{"sequence_number": 5, ' + KIND + b", " + RESPONSE + b"}",
    "the type last": b"{" + RESPONSE + b', "sequence_number": 5, ' + KIND + b"}\n",
    "in front of the last": b"{" + RESPONSE + b", " + KIND + b', "stream_id": null, "note": "\\"}"}',
    "no space": (b"{" + RESPONSE + b"," + KIND + b"}").replace(b" ", b""),
}
OTHERS = {
    "a piece of text": b'{"type": "response.output_text.delta", "delta": "' + LONG + b'"}',
    "words that look like an end": b'{"type": "response.output_text.done", "text": "'
    + LONG
    + rb'\"type\":\"error\"}"}',
    "an item that is called an error": b'{"item": {"text": "' + LONG + b'", "type": "error"}, "type": "response.x"}',
    "an item at the end": b'{"type": "response.x", "item": {"text": "' + LONG + b'", "type": "error"}}',
}


async def passes(link, client, payload, raw):
    await link.send(raw)
    assert await client.exactly(len(raw)) == raw, payload[:100]


@pytest.mark.parametrize("payload", ENDS.values(), ids=ENDS)
async def test_long_message_ends_its_answer(start, payload):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    await passes(link, client, payload, frame(payload))
    await held(rig, 0)


@pytest.mark.parametrize("payload", OTHERS.values(), ids=OTHERS)
async def test_long_message_that_is_no_end_ends_nothing(start, payload):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    await passes(link, client, payload, frame(payload))
    assert rig.scheduler.held == 1
    await link.send(event("completed", "r1"))
    await hear(client)
    await held(rig, 0)


@pytest.mark.parametrize("size", [100, READ_END - 10, 300_000, READ_MAX + 10])
async def test_long_message_in_fragments_ends_its_answer(start, size):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    payload = ENDS["the type last"]
    first = len(payload) - 3 * size if 3 * size < len(payload) else size
    parts = [payload[:first], *(payload[at : at + size] for at in range(first, len(payload), size))]
    raw = frame(b"", PING).join(
        frame(part, CONTINUATION if number else TEXT, fin=number == len(parts) - 1) for number, part in enumerate(parts)
    )
    await passes(link, client, payload, raw)
    await held(rig, 0)


@pytest.mark.parametrize("keep", [2 + 2, 2 + 5, 2 + 9, 2 + 10, 2 + 20])
@pytest.mark.parametrize("step", [1, 3, 50])
def test_both_ends_of_a_frame_are_kept_and_no_byte_twice(keep, step):
    reader, said = FrameReader(masks=False, keep=keep, keep_end=4), frame(b"0123456789") + frame(b"")
    found = []
    for at in range(0, len(said), step):
        piece, start = said[at : at + step], 0
        while start < len(piece):
            read, start = reader.take(piece, start)
            found += [] if read is None else [read]
    kept = keep - 2
    assert [(each.payload(), each.end) for each in found] == [
        (b"0123456789"[:kept], b"0123456789"[kept:][-4:]),
        (b"", b""),
    ]
