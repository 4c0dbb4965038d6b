# Interim answers, invitations and switches: what comes before the final answer, or instead of it.

import pytest
from ear import Ear
from model import FIN, OPEN, Seen, client_sees, upstream_sees
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.rig import Rig
from stage import Exchange, Stage

OK = answer(b"ok")
HINTS = begun("Link: </a>; rel=preload", "link: <b>", "X-A:  b ", status="103 Early Hints")
PROCESSING = begun(status="102 Processing")
INTERIM = {
    "102": PROCESSING,
    "103": HINTS,
    "several": PROCESSING + HINTS + PROCESSING + HINTS,
    "with a length": begun("Content-Length: 5", status="103 Early Hints"),
    "unregistered": begun("X-A: b", status="199 Strange") + begun(status="104 Upload Resumption Supported"),
    "odd reasons": begun(status="103 caf\xe9") + begun(status="102 "),
    "an unasked 100": begun(status="100 Continue"),
    "an unasked 100 with fields": begun("X-A: b", status="100 Go on"),
    "100 among others": HINTS + begun(status="100 Continue") + PROCESSING,
    "of HTTP/1.0": b"HTTP/1.0 103 Early Hints\r\nLink: <a>\r\n\r\n",
    "as many as a hundred": PROCESSING * 100,
}
FINAL = {
    "length": (OK, OPEN),
    "chunked": (begun(CHUNKED) + chunk(b"ok") + LAST_CHUNK, OPEN),
    "until the end": (begun() + b"ok", FIN),
    "204": (begun(status="204 No Content"), OPEN),
    "503": (answer(b"no", status="503 No"), OPEN),
}
CLIENTS = {
    "GET": get("/up/x"),
    "POST": post("/up/v1/messages", b"{}"),
    "HEAD": request("HEAD", "/up/x"),
    "1.0": b"GET /up/x HTTP/1.0\r\n\r\n",
}
NO_BODY = request("POST", "/up/x", "Expect: 100-continue", "Content-Length: 0")
EXPECTATIONS = [
    *("Expect: 100-continue", "expect:100-Continue ", "EXPECT:\t100-CONTINUE", "Expect: ,100-continue, "),
    *("expect: 100-continue, a", "Expect: a ,100-continue", "Expect: a\r\nX-E: b\r\nexpect: 100-continue"),
    *("Expect: 100-continue\r\nExpect: a", "Expect: 100-continue, 100-continue"),
]
UPGRADE = ["Upgrade: websocket", "Sec-WebSocket-Key: abc", "sec-websocket-version: 13", "Sec-WebSocket-Protocol: a, b"]
SWITCHED = [
    begun(*lines, "Sec-WebSocket-Accept: d", status="101 Switching Protocols")
    for lines in (
        ["Upgrade: websocket", "Connection: Upgrade"],
        ["connection:upgrade", "X-A: b", "UPGRADE:WebSocket "],
        ["Connection: keep-alive, Upgrade", "Keep-Alive: a", "Upgrade: websocket"],
        ["Upgrade: websocket"],
    )
]


@pytest.mark.parametrize("client", CLIENTS)
async def test_every_interim_answer_before_every_final_one(stage: Stage, client: str):
    heads = {name: (told.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", ends) for name, (told, ends) in FINAL.items()}
    await stage.shows_no_difference(
        {
            f"{name}, then {final}": Exchange(CLIENTS[client], interim + told, ends)
            for name, interim in INTERIM.items()
            for final, (told, ends) in (heads if client == "HEAD" else FINAL).items()
        }
    )


@pytest.mark.parametrize("pieces", [1, 3])
async def test_every_interim_answer_in_any_pieces(stage: Stage, pieces: int):
    await stage.shows_no_difference(
        {name: Exchange(CLIENTS["GET"], interim + OK, pieces=pieces) for name, interim in INTERIM.items()}
    )


@pytest.mark.parametrize("line", ["POST /up/v1/messages", "PUT /up/v1/files"])
@pytest.mark.parametrize("expect", EXPECTATIONS)
@pytest.mark.parametrize("body", [b"body", chunk(b"body") + b"0\r\nX-T: u\r\n\r\n"])
async def test_client_is_invited_once_and_the_upstream_sees_nothing_of_it(
    rig: Rig, line: str, expect: str, body: bytes
):
    framing = "Content-Length: 4" if body == b"body" else CHUNKED
    head = request(*line.split(" "), "X-A: b", expect, framing, "X-C: d")
    client = await rig.client()
    await client.send(head)
    assert await client.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.send(body)
    link = await rig.upstream.link()
    expected = upstream_sees(head + body, rig.upstream.authority.encode())
    assert await link.exactly(len(expected)) == expected
    await link.send(begun(status="100 Continue") + HINTS + OK)
    assert await client.exactly(len(HINTS + OK)) == HINTS + OK


async def test_nobody_is_invited_to_send_nothing(stage: Stage):
    old = b"POST /up/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"
    table = {"GET": get("/up/x", "Expect: 100-continue"), "no body": NO_BODY, "HTTP/1.0": old}
    await stage.shows_no_difference({name: Exchange(asked, OK) for name, asked in table.items()})


@pytest.mark.parametrize("framing", ["Content-Length: 4", CHUNKED])
async def test_final_answer_instead_of_the_body_is_passed_on(rig: Rig, framing: str):
    refusal = answer(b"too large", status="413 Content Too Large")
    client, link = await rig.ask(request("PUT", "/up/v1/files", framing))
    await link.head()
    await link.send(refusal)
    expected = client_sees(refusal, OPEN, request("PUT", "/", framing, "Connection: close"))
    assert expected is not None
    assert await client.exactly(len(expected.data)) == expected.data
    assert (await Ear(client).hear(1)).ended == FIN


@pytest.mark.parametrize(
    "connection",
    ["Connection: Upgrade", "connection: keep-alive, upgrade", "CONNECTION:UPGRADE ", "Connection: upgrade, X-A"],
)
@pytest.mark.parametrize("granted", SWITCHED)
@pytest.mark.parametrize("behind", [b"", b"\x81\x05hello", b"\r\n\r\n\x00\xff"])
async def test_switch_carries_every_byte(rig: Rig, connection: str, granted: bytes, behind: bytes):
    asked = get("/up/ws?a=%zz", *UPGRADE, connection, "X-A: b")
    client, link = await rig.ask(asked + behind)
    expected = upstream_sees(asked, rig.upstream.authority.encode())
    assert await link.exactly(len(expected)) == expected
    told = HINTS + granted + behind
    await link.send(told)
    seen = client_sees(told, OPEN, asked)
    assert seen is not None
    assert await client.exactly(len(seen.data)) == seen.data
    assert await link.exactly(len(behind)) == behind
    for source, target in ((client, link), (link, client)):
        await source.send(bytes(range(256)) * 100)
        assert await target.exactly(25_600) == bytes(range(256)) * 100
    link.fin()
    assert await Ear(client).hear(0, to_its_end=True) == Seen(b"", FIN)


async def test_refused_switch_is_an_answer_like_any_other(stage: Stage):
    refusals = {
        "401": (answer(b"who", "WWW-Authenticate: Basic", status="401 Unauthorized"), OPEN),
        "403": (begun(CHUNKED, status="403 No") + chunk(b"no") + LAST_CHUNK, OPEN),
        "426": (answer(b"", "Upgrade: TLS/1.3", "Connection: Upgrade", status="426 Upgrade Required"), OPEN),
        "426 and more": (answer(b"", "connection:a,UPGRADE", "Upgrade:b", "A: c", status="426 Upgrade Required"), OPEN),
        "426 without a Connection": (answer(b"", "Upgrade: b", "X-A: c", status="426 Upgrade Required"), OPEN),
        "200": (OK, OPEN),
        "until the end": (begun(status="404 x") + b"none", FIN),
        "103, then 503": (HINTS + answer(b"x", "Retry-After: 0", status="503 No"), OPEN),
    }
    asked = get("/up/ws", *UPGRADE, "Connection: Upgrade")
    await stage.shows_no_difference({name: Exchange(asked, *told) for name, told in refusals.items()})
