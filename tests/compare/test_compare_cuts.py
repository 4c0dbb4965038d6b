# Either side leaves after any byte: the other one sees what came until then, and never a clean end.

import pytest
from ear import Ear
from model import FIN, RST, client_sees, read_head, upstream_sees
from rawsides.message import CHUNKED, begun, chunk, get, post, request
from rawsides.rig import Rig
from stage import say

ANSWERS = {
    "a length": begun("X-A: b", "Content-Length: 12") + b"hello, world",
    "chunked": begun(CHUNKED, "Trailer: X-T")
    + b"5;a=b\r\nhello\r\n"
    + chunk(b"\r\n0\r\n\r\n")
    + b"0;z\r\nX-T: u\r\n\r\n",
}
CLIENTS = {"1.1": get("/up/x"), "POST": post("/up/v1/messages", b"{}"), "1.0": b"GET /up/x HTTP/1.0\r\n\r\n"}
UPLOADS = {
    "a length": request("PUT", "/up/v1/files", "Content-Length: 12") + b"hello, world",
    "chunked": request("PUT", "/up/v1/files", CHUNKED) + b"5;a=b\r\nhello\r\n0;z\r\nX-T: u\r\n\r\n",
}


@pytest.mark.parametrize("how", [FIN, RST])
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("framing", ANSWERS)
async def test_answer_cut_after_any_byte_is_seen_up_to_there_and_cut(rig: Rig, framing: str, client: str, how: str):
    whole, asked = ANSWERS[framing], CLIENTS[client]
    for end in range(whole.index(b"\r\n\r\n") + 4, len(whole)):
        expected = client_sees(whole[:end], how, asked)
        assert expected is not None
        peer, link = await rig.ask(asked)
        await link.exactly(len(upstream_sees(asked, rig.upstream.authority.encode())))
        await say(link, whole[:end], 0, how)
        seen = await Ear(peer).hear(0, to_its_end=True)
        link.close()
        peer.close()
        assert seen == expected, whole[:end]


@pytest.mark.parametrize("how", [FIN, RST])
@pytest.mark.parametrize("before", [b"", begun("Link: <a>", status="103 Early Hints")])
async def test_head_cut_after_any_byte_is_a_502(rig: Rig, before: bytes, how: str):
    whole = begun("X-A: b", "Content-Length: 0")
    for end in range(len(whole)):
        peer, link = await rig.ask(CLIENTS["1.1"])
        await link.head()
        await say(link, before + whole[:end], 0, how)
        assert await peer.exactly(len(before)) == before, whole[:end]
        assert (await peer.head()).startswith(b"HTTP/1.1 502 "), whole[:end]
        assert b'"upstream_bad_response"' in await peer.until(b"}}")
        link.close()
        peer.close()


@pytest.mark.parametrize("how", [FIN, RST])
@pytest.mark.parametrize("framing", UPLOADS)
async def test_upload_cut_after_any_byte_is_never_whole(rig: Rig, framing: str, how: str):
    whole = UPLOADS[framing]
    expected = upstream_sees(whole, rig.upstream.authority.encode())
    read = read_head(whole)
    assert read is not None
    head = len(whole) - len(read[1])
    for end in range(head, len(whole)):
        peer, link = await rig.ask(whole[:head])
        passed = len(expected) - len(whole)
        assert await link.exactly(head + passed) == expected[: head + passed]
        await say(peer, whole[head:end], 0, how)
        seen = await Ear(link).hear(0, to_its_end=True)
        assert seen.ended in (FIN, RST)
        assert whole[head:end].startswith(seen.data), whole[:end]
        link.close()
        peer.close()


@pytest.mark.parametrize("how", [FIN, RST])
async def test_counted_request_cut_after_any_byte_is_never_sent(rig: Rig, how: str):
    whole = post("/up/v1/messages", b'{"stream":true}')
    for end in range(len(whole)):
        peer = await rig.client()
        await say(peer, whole[:end], 0, how)
        peer.close()
    await rig.at_rest()
    assert rig.upstream.was_left_alone()
