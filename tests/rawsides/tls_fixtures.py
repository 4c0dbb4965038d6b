# The rig with an upstream that is reached over TLS. What a test is given: `names`, which it may change; `authority`,
# whom the rigs trust; `start_tls`, which makes rigs, and `tls_rig`, one with the defaults.

import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from rawsides.names import Names
from rawsides.rig import Rig, Start
from rawsides.tls_authority import Authority
from rawsides.tls_upstream import TlsUpstream

UP = "up.test"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Where UP, and whatever else a test wants, is found."""
    made = Names({UP: ["127.0.0.1"]})
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    return made


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def start_tls(authority: Authority, names: Names) -> AsyncIterator[Start]:
    """As `start`, with an upstream that is `name` by its URL, and `served` by its certificate."""
    rigs: list[Rig] = []

    async def begin(
        entry: Mapping[str, object] | None = None,
        *,
        name: str = UP,
        served: ssl.SSLContext | None = None,
        receive_buffer: int | None = None,
        **options: object,
    ) -> Rig:
        upstream = TlsUpstream(name, served or authority.server(UP), receive_buffer=receive_buffer)
        trusting = {"tls": {"ca_file": str(authority.file)}, **(entry or {})}
        rig = Rig(upstream, trusting, options, scheme="https")
        await rig.start()
        rigs.append(rig)
        return rig

    yield begin
    for rig in rigs:
        await rig.close()


@pytest.fixture
async def tls_rig(start_tls: Start) -> Rig:
    """A rig without a limit, so that nobody waits."""
    return await start_tls()
