# An answer that comes while the request is still being sent: it is read whole, and the connections end with it.

import asyncio

import pytest
from rawsides.message import CHUNKED, answer, begun, chunk, get, request
from rawsides.rig import becomes

MIB = 1024 * 1024
TOO_LARGE = answer(b'{"error": "too large"}', "X-A: b", status="413 Content Too Large")


async def upload(client, size: int) -> None:
    """As much as the other side takes; a connection that is closed meanwhile is no mistake."""
    try:
        for _ in range(0, size, 65536):
            await client.send(b"x" * 65536)
    except (ConnectionResetError, BrokenPipeError):
        return


@pytest.mark.parametrize("closes", [True, False])
async def test_refusal_of_a_streamed_upload_is_read_by_the_client(rig, closes):
    """BODY-05: whether the upstream closes with unread bytes (a RST) or keeps the connection."""
    client, link = await rig.ask(request("PUT", "/up/", f"Content-Length: {8 * MIB}"))
    await link.head()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(upload(client, 8 * MIB))
        await link.send(TOO_LARGE)
        if closes:
            link.close()
        head = await client.head()
        assert head == begun("X-A: b", "Content-Length: 22", "Connection: close", status="413 Content Too Large")
        assert await client.exactly(22) == b'{"error": "too large"}'
        assert await client.ended() == "fin"
    other = await rig.client()
    await other.send(get("/up/other"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /other ")
    if not closes:
        assert (await link.end())[1] in ("fin", "rst")


@pytest.mark.parametrize("framed", [True, False])
async def test_refusal_is_read_although_a_write_to_its_connection_failed_first(rig, framed):
    """The client's next piece, the answer and the RST behind it are here at once, in this order."""
    client, link = await rig.ask(request("PUT", "/up/", "Content-Length: 10000000"))
    await link.head()
    await client.send(b"x" * 1000)
    await becomes(lambda: link.unheard() >= 1000, "the upload has begun")
    client.send_what_fits(b"x" * 1000)
    link.sock.send(TOO_LARGE if framed else begun(status="413 Content Too Large") + b"no")
    link.reset()
    heard, how = await client.end()
    assert heard.startswith(b"HTTP/1.1 413 Content Too Large\r\n")
    assert heard.endswith(b'{"error": "too large"}' if framed else b"no")
    assert how == ("fin" if framed else "rst")


async def test_refusal_of_a_counted_upload_is_read_by_the_client_and_judged(start):
    """BODY-05 for a body that was read whole: the upstream answers 429 after the head and closes."""
    rig = await start({"limit": 2})
    client = await rig.client()
    await client.send(request("POST", "/up/", f"Content-Length: {8 * MIB}"))
    await upload(client, 8 * MIB)
    link = await rig.upstream.link()
    await link.head()
    refusal = answer(b"{}", "Retry-After: 30", status="429 Too Many Requests")
    await link.send(refusal)
    link.close()
    assert await client.exactly(len(refusal)) == refusal
    assert rig.scheduler.paused_until_at is not None


async def test_streamed_early_answer_goes_on_while_the_upload_does(rig):
    client, link = await rig.ask(request("PUT", "/up/", CHUNKED) + chunk(b"one"))
    await link.until(chunk(b"one"))
    await link.send(begun(CHUNKED) + chunk(b"answer to one"))
    assert (await client.until(chunk(b"answer to one"))).startswith(b"HTTP/1.1 200 OK\r\n")
    await client.send(chunk(b"two") + b"0\r\n\r\n")
    assert await link.until(b"0\r\n\r\n") == chunk(b"two") + b"0\r\n\r\n"
    await link.send(chunk(b"answer to two") + b"0\r\n\r\n")
    assert await client.end() == (chunk(b"answer to two") + b"0\r\n\r\n", "fin")
    assert (await rig.record()).outcome == "completed"


async def test_what_comes_behind_an_unread_body_is_no_request(rig):
    client, link = await rig.ask(request("PUT", "/up/", "Content-Length: 10"))
    await link.head()
    await link.send(TOO_LARGE)
    await client.until(b"too large")
    await client.send(b"x" * 10 + get("/up/smuggled"))
    await client.end()
    await rig.at_rest()
    assert len(rig.records) == 1


async def test_close_framed_early_answer_ends_with_its_connection(rig):
    client, link = await rig.ask(request("PUT", "/up/", "Content-Length: 10"))
    await link.head()
    await link.send(begun(status="413 Content Too Large") + b"no")
    link.close()
    assert await client.end() == (begun("Connection: close", status="413 Content Too Large") + b"no", "fin")
