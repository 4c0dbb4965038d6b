# What a test is given: `start`, which makes rigs, and `rig`, one with the defaults; `start_hop` and `hop`, for tests
# that must hold for any hop, and so run once with us and once with HAProxy between the two sides.

from collections.abc import AsyncIterator, Iterator, Mapping

import pytest

from proxy.wire import pool
from rawsides.haproxy import COMMAND, WRITTEN_DOWN, Haproxy, HaproxyProcess
from rawsides.hop import Hop, StartHop
from rawsides.rig import Rig, Start
from rawsides.upstream import Upstream


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """`await start({…}, **options)`: a rig with these keys in its upstream's entry and in its configuration. At the
    end every rig must be at rest."""
    rigs: list[Rig] = []

    async def begin(
        entry: Mapping[str, object] | None = None,
        *,
        receive_buffer: int | None = None,
        scheme: str = "http",
        **options: object,
    ) -> Rig:
        rig = Rig(Upstream(receive_buffer=receive_buffer), entry or {}, options, scheme=scheme)
        await rig.start()
        rigs.append(rig)
        return rig

    yield begin
    for rig in rigs:
        await rig.close()


@pytest.fixture
async def rig(start: Start) -> Rig:
    """A rig without a limit, so that nobody waits."""
    return await start()


@pytest.fixture(scope="session")
def haproxy() -> Iterator[HaproxyProcess]:
    """The process that all tests through HAProxy share."""
    if COMMAND is None:
        pytest.skip("haproxy is not installed")
    process = HaproxyProcess()
    yield process
    process.stop()


@pytest.fixture(params=["slotgate", "haproxy"])
def between(request: pytest.FixtureRequest) -> str:
    """Who stands between the two sides."""
    return str(request.param)


@pytest.fixture
def front(between: str, request: pytest.FixtureRequest) -> str:
    """The same, for tests that tell the two apart: what HAProxy does otherwise is written down for one version."""
    if between == "haproxy" and not (found := request.getfixturevalue("haproxy").version).startswith(WRITTEN_DOWN):
        pytest.skip(f"what HAProxy does otherwise is written down for {WRITTEN_DOWN}, and this is {found}")
    return between


@pytest.fixture
async def start_hop(
    between: str, start: Start, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StartHop]:
    """`await start_hop(receive_buffer=4096)`: a hop to an upstream with that buffer. Targets are passed on whole, and
    no connection ends for being idle: one that ends was ended."""
    monkeypatch.setattr(pool, "IDLE_S", 3600.0)
    process: HaproxyProcess | None = request.getfixturevalue("haproxy") if between == "haproxy" else None
    others: list[Haproxy] = []

    async def begin(*, receive_buffer: int | None = None) -> Hop:
        if process is None:
            return await start(receive_buffer=receive_buffer, default_upstream="up")
        others.append(Haproxy(process, Upstream(receive_buffer=receive_buffer)))
        return others[-1]

    yield begin
    for other in others:
        other.close()


@pytest.fixture
async def hop(start_hop: StartHop) -> Hop:
    """A hop with the defaults."""
    return await start_hop()
