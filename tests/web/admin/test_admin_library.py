# The plotting library at /page/chart.js: the installed package's script, packed, known again, and honestly missing.

import gzip
from functools import partial
from importlib.metadata import version

import pytest
from admin_rig import Rig
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from proxy.web.admin.call import CallError
from proxy.web.admin.library import Script, installed, serve

PATH = "/page/chart.js"


async def test_script_is_the_one_that_the_package_ships_with_its_notices(rig: Rig) -> None:
    reply = await rig.get(PATH)
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    head = reply.body[:2000].decode()
    assert head.startswith("/*!\n * Chart.js v4.")
    assert head.count("Released under the MIT") >= 3
    assert b"chartjs-adapter-date-fns" in reply.body[:2000]
    assert int(version("chartkick").split(".")[0]) == 1


async def test_script_travels_packed_and_is_the_same_then(rig: Rig) -> None:
    """Bytes as they travel: this client unpacks nothing that it did not ask for by itself."""
    plain = (await rig.raw(b"GET /page/chart.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).partition(
        b"\r\n\r\n"
    )[2]
    head, _, packed = (
        await rig.raw(
            b"GET /page/chart.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br, gzip\r\nConnection: close\r\n\r\n"
        )
    ).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert b"Vary: Accept-Encoding" in head
    assert len(packed) < len(plain) / 4
    assert gzip.decompress(packed) == plain


async def test_who_has_the_script_gets_it_no_second_time(rig: Rig) -> None:
    first = await rig.get(PATH)
    assert first.headers["Cache-Control"] == "no-cache"
    again = await rig.get(PATH, headers=[("If-None-Match", first.headers["ETag"])])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    other = await rig.get(PATH, headers=[("If-None-Match", '"of-last-year"')])
    assert other.status == 200


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'chartkick'"), FileNotFoundError("no such file")]
)
async def test_missing_library_is_told_with_what_to_install(rig: Rig, error: Exception) -> None:
    def absent() -> Script:
        raise error

    with pytest.raises(CallError) as refused:
        await serve(absent, rig.runtime, make_mocked_request("GET", PATH))
    assert refused.value.status == 404
    assert str(error) in refused.value.message
    assert "pip install 'chartkick>=1.2,<2'" in refused.value.message


async def test_script_is_read_once(rig: Rig) -> None:
    await rig.get(PATH)
    before = installed.cache_info()
    reply: web.Response = await partial(serve, installed)(rig.runtime, make_mocked_request("GET", PATH))
    assert reply.status == 200
    assert installed.cache_info().misses == before.misses == 1
