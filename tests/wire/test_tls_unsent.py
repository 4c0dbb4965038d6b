# What a TLS upstream has not taken yet counts as waiting, though it is encrypted already: for whoever comes next on the
# connection, and for the watchdog.

import pytest
from rawsides.message import answer, get, request
from rawsides.tls_fixtures import authority, names, start_tls

__all__ = ["authority", "names", "start_tls"]

SIZE = 24 * 1024 * 1024  # of which a quarter is more than two sockets on the loopback take, with a small buffer for one


async def an_upload_that_nobody_reads(rig, method: str):
    """The head has been read; POST is counted, so its body is here whole before it goes upstream."""
    client = await rig.client()
    await client.send(request(method, "/up/big", f"Content-Length: {SIZE}"))
    if method == "POST":
        await client.send(b"x" * SIZE)
    link = await rig.upstream.link()
    await link.head()
    return client, link


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_connection_whose_upload_was_answered_before_it_was_read_is_not_used_again(start_tls, method):
    """What the upstream has not taken yet would stand in front of the next request."""
    rig = await start_tls(receive_buffer=4096)
    client, link = await an_upload_that_nobody_reads(rig, method)
    await link.send(answer(b"too much", status="413 Content Too Large"))
    assert (await client.until(b"too much")).startswith(b"HTTP/1.1 413 ")
    other = await rig.client()
    await other.send(get("/up/other"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /other ")


async def test_upstream_that_takes_a_body_slowly_makes_progress(start_tls):
    """Spec §9: no byte moved is what gets a slot reclaimed."""
    rig = await start_tls({"limit": 1, "slot_timeout": "1m"}, receive_buffer=4096)
    client, link = await an_upload_that_nobody_reads(rig, "POST")
    rig.admission.watch()
    (slot,) = rig.scheduler.slots()
    for _ in range(3):
        slot.progress_at -= 61
        slot.last_byte_at -= 61
        await link.exactly(SIZE // 4)
        rig.admission.watch()
        assert rig.scheduler.held == 1, "bytes have moved"
    await link.exactly(SIZE // 4)
    await link.send(answer(b"ok"))
    assert (await client.until(b"ok")).startswith(b"HTTP/1.1 200 ")


async def test_upstream_that_takes_nothing_for_too_long_is_given_up(start_tls):
    rig = await start_tls({"limit": 1, "slot_timeout": "1m"}, receive_buffer=4096)
    client, link = await an_upload_that_nobody_reads(rig, "POST")
    rig.admission.watch()
    (slot,) = rig.scheduler.slots()
    slot.progress_at -= 61
    slot.last_byte_at -= 61
    rig.admission.watch()
    assert rig.scheduler.held == 0
    assert (await client.head()).startswith(b"HTTP/1.1 504 ")
    assert (await link.end())[1] in ("fin", "rst")
