# The same comparison where the upstream is reached over TLS: records begin and end where they like, and nobody sees it.

from collections.abc import AsyncIterator

import pytest
import uploads
from answers import BODIES, CLIENTS, HEADS, WITHOUT
from model import OPEN
from rawsides.message import answer
from rawsides.rig import Rig
from stage import Exchange, Stage


@pytest.fixture
async def stage(tls_rig: Rig) -> AsyncIterator[Stage]:
    stage = Stage(tls_rig.address, tls_rig.upstream)
    yield stage
    stage.clear()


@pytest.mark.parametrize("client", CLIENTS)
async def test_every_body_as_it_was_sent(stage: Stage, client: str):
    await stage.shows_no_difference({name: Exchange(CLIENTS[client], *body) for name, body in BODIES.items()})


@pytest.mark.parametrize("pieces", [1, 7, 1000])
async def test_every_body_in_any_records(stage: Stage, pieces: int):
    some = {name: body for name, body in BODIES.items() if len(body[0]) < 300 * pieces and not name.startswith("more")}
    await stage.shows_no_difference({name: Exchange(CLIENTS["POST"], *body, pieces) for name, body in some.items()})


async def test_every_answer_without_a_body(stage: Stage):
    await stage.shows_no_difference(
        {f"{asked}, {name}": Exchange(HEADS[asked], told, OPEN) for asked in HEADS for name, told in WITHOUT.items()}
    )


@pytest.mark.parametrize("line", [uploads.COUNTED, uploads.STREAMED])
@pytest.mark.parametrize("pieces", [0, 7])
async def test_every_upload_as_it_was_sent(stage: Stage, line: str, pieces: int):
    names = [name for name, (_, body) in uploads.BODIES.items() if len(body) < 1000 or pieces == 0]
    await stage.shows_no_difference(
        {name: Exchange(uploads.sent(line, name), answer(b"ok"), pieces=pieces) for name in names}
    )
