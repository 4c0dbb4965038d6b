# What a test is given: `start`, which makes rigs, and `rig`, one with the defaults.

from collections.abc import AsyncIterator, Mapping

import pytest

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
