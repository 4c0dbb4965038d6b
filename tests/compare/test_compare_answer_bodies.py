# Bodies of answers: their framing and every byte of them pass as they came, for clients of HTTP/1.1 and of HTTP/1.0.

import itertools

import pytest
from answers import BODIES, CLIENTS, HEADS, ONE_OF_A_KIND, WITHOUT
from model import FIN, OPEN
from rawsides.fixtures import Start
from stage import Exchange, Stage


@pytest.mark.parametrize("client", CLIENTS)
async def test_every_body_as_it_was_sent(stage: Stage, client: str):
    await stage.shows_no_difference({name: Exchange(CLIENTS[client], *body) for name, body in BODIES.items()})


@pytest.mark.parametrize("options", [{"limit": 1}, {"limit": 1, "absorb": 2}, {"reuse": False}], ids=repr)
async def test_every_body_whatever_is_configured(start: Start, options: dict[str, object]):
    """A slot, an answer that could be asked for again, a connection for each: none of it is seen on the wire."""
    rig = await start(options)
    stage = Stage(rig.address, rig.upstream, reuses=options.get("reuse") is not False)
    await stage.shows_no_difference({name: Exchange(CLIENTS["POST"], *body) for name, body in BODIES.items()})
    stage.clear()


@pytest.mark.parametrize("pieces", [1, 2, 7, 1000])
@pytest.mark.parametrize("client", ["GET", "POST 1.0"])
async def test_every_body_in_any_pieces(stage: Stage, client: str, pieces: int):
    some = {name: body for name, body in BODIES.items() if len(body[0]) < 1000 * pieces and not name.startswith("more")}
    await stage.shows_no_difference(
        {name: Exchange(CLIENTS[client], *body, pieces=pieces) for name, body in some.items()}
    )


@pytest.mark.parametrize("status", [None, "204 No Content", "304 Not Modified"])
async def test_every_answer_without_a_body(stage: Stage, status: str | None):
    clients = HEADS if status is None else CLIENTS
    await stage.shows_no_difference(
        {
            f"{client}, {name}, {ends}": Exchange(
                asked, told.replace(b"200 OK", (status or "200 OK").encode(), 1), ends
            )
            for client, asked in clients.items()
            for name, told in WITHOUT.items()
            for ends in (OPEN, FIN)
        }
    )


async def test_every_answer_behind_every_other(stage: Stage):
    some = [Exchange(CLIENTS["GET"], *BODIES[name]) for name in ONE_OF_A_KIND]
    some += [Exchange(HEADS["HEAD"], WITHOUT["a length"]), Exchange(HEADS["HEAD"], WITHOUT["chunked"])]
    for one, other in itertools.product(some, repeat=2):
        found = await stage.differences(one, other)
        assert not found, (one, other, found)


async def test_every_answer_to_requests_sent_in_one_go(stage: Stage):
    """Those that leave the client's connection open; test_compare_both_ways has the others."""
    between = Exchange(HEADS["HEAD"], WITHOUT["a length"])
    for name, (told, ends) in BODIES.items():
        if not name.startswith(("until", "events until", "HTTP/1.0, until")) and len(told) < 1000:
            one, other = Exchange(CLIENTS["GET"], told, ends), Exchange(CLIENTS["POST"], told, ends)
            found = await stage.pipelined(one, between, other, one)
            assert not found, (name, found)
