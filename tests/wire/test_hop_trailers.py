# Trailers behind any hop: with the header that announces them, in their order, in both directions.

import pytest
from rawsides.hop import carried, heard, trailers
from rawsides.message import CHUNKED, LAST_CHUNK, begun, chunk, get, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

LINES = [b"X-Checksum: abc", b"x-t:1", b"X-T: caf\xe9\xff", b"X-Empty:", b"Server-Timing: total;dur=1"]
FIELDS = [
    (b"x-checksum", b"abc"),
    (b"x-t", b"1"),
    (b"x-t", b"caf\xe9\xff"),
    (b"x-empty", b""),
    (b"server-timing", b"total;dur=1"),
]
BODY = chunk(b"abc") + b"0\r\n" + b"".join(line + b"\r\n" for line in LINES) + b"\r\n"


@pytest.mark.parametrize("announced", [["Trailer: X-Checksum, X-T", "TE: trailers"], []])
@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_trailers_of_a_request_arrive(hop, method, announced):
    _, link = await hop.ask(request(method, "/x", CHUNKED, *announced) + BODY)
    head = await heard(link)
    assert head.values(b"trailer") == [b"X-Checksum, X-T"] * bool(announced)
    assert head.values(b"te") == [b"trailers"] * bool(announced)
    assert await carried(link, 3) == b"abc"
    assert await trailers(link) == FIELDS


@pytest.mark.parametrize("announced", [["Trailer: X-Checksum", "Trailer: X-T"], []])
async def test_trailers_of_an_answer_arrive_and_the_connections_go_on(hop, announced):
    client, link = await hop.ask(get("/1", "TE: trailers"))
    await link.head()
    await link.send(begun(CHUNKED, *announced) + BODY)
    assert (await heard(client)).values(b"trailer") == [b"X-Checksum", b"X-T"][: len(announced)]
    assert await carried(client, 3) == b"abc"
    assert await trailers(client) == FIELDS
    await client.send(get("/2"))
    assert (await heard(link)).first == b"GET /2 HTTP/1.1"


async def test_trailers_in_any_pieces(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun(CHUNKED))
    for at in range(len(BODY)):
        await link.send(BODY[at : at + 1])
    await client.head()
    assert await carried(client, 3) == b"abc"
    assert await trailers(client) == FIELDS


async def test_no_trailers_are_none(hop):
    client, link = await hop.ask(request("PUT", "/x", CHUNKED, "Trailer: X-T") + chunk(b"abc") + LAST_CHUNK)
    await link.head()
    assert await carried(link, 3) == b"abc"
    assert await trailers(link) == []
    await link.send(begun(CHUNKED, "Trailer: X-T") + LAST_CHUNK)
    await client.head()
    assert await trailers(client) == []
