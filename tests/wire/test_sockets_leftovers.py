# An upstream that has said all it will, and reads nothing any more: what was on its way to it is dropped, and its
# connection closed, however long it keeps its own end open.

import os

import pytest
from rawsides.message import begun, request
from rawsides.rig import becomes
from rawsides.tls_fixtures import authority, names, start_tls

__all__ = ["authority", "names", "start_tls"]

SIZE = 8 * 1024 * 1024  # more than two sockets on the loopback take by themselves, with a small buffer for one


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_connection_is_closed_though_its_upload_is_not_taken(start, start_tls, tls, method):
    rig = await (start_tls if tls else start)(receive_buffer=4096)
    client = await rig.client()
    await client.send(request(method, "/up/", f"Content-Length: {SIZE}"))
    if method == "POST":
        await client.send(b"x" * SIZE)
    link = await rig.upstream.link()
    await link.head()
    if method == "PUT":
        sent = 0
        while sent < SIZE and (taken := client.send_what_fits(b"x" * 65536)):
            sent += taken
            await becomes(lambda: True)
    with_upstream = descriptors()
    await link.send(begun(status="413 Content Too Large") + b"too much")
    if tls:
        await link.close_notify()
    else:
        link.fin()
    assert (await client.until(b"too much")).startswith(b"HTTP/1.1 413 ")
    await rig.record()
    client.close()
    await becomes(lambda: not rig.listener.connections)
    await becomes(
        lambda: descriptors() <= with_upstream - 3, "both ends of the client's connection and one of the other"
    )
