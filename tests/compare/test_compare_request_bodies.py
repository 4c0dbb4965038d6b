# Bodies of requests: their framing and every byte of them pass as they came, read whole first or streamed.

import itertools

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, chunk, post, request
from stage import Exchange, Stage
from uploads import BODIES, COUNTED, ONE_OF_A_KIND, STREAMED, sent

OK = answer(b"ok")


@pytest.mark.parametrize(
    "line", [COUNTED, STREAMED, "POST /up/v1/messages/count_tokens", "GET /up/", "DELETE /up/", "HEAD /up/"]
)
async def test_every_body_as_it_was_sent(stage: Stage, line: str):
    reply = OK if not line.startswith("HEAD") else b"HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n"
    await stage.shows_no_difference({name: Exchange(sent(line, name), reply) for name in BODIES})


@pytest.mark.parametrize("pieces", [1, 2, 7, 1000])
@pytest.mark.parametrize("line", [COUNTED, STREAMED])
async def test_every_body_in_any_pieces(stage: Stage, line: str, pieces: int):
    names = [name for name in BODIES if len(BODIES[name][1]) < 1000 * pieces]
    await stage.shows_no_difference({name: Exchange(sent(line, name), OK, pieces=pieces) for name in names})


@pytest.mark.parametrize("line", [COUNTED, STREAMED])
async def test_every_body_behind_every_other(stage: Stage, line: str):
    for one, other in itertools.product(ONE_OF_A_KIND, repeat=2):
        found = await stage.differences(Exchange(sent(line, one), OK), Exchange(sent(line, other), OK))
        assert not found, (one, other, found)


@pytest.mark.parametrize("line", [COUNTED, STREAMED])
async def test_every_body_behind_every_other_in_one_go(stage: Stage, line: str):
    for one, other in itertools.product(ONE_OF_A_KIND, repeat=2):
        found = await stage.pipelined(*(Exchange(sent(line, name), OK) for name in (one, other, one)))
        assert not found, (one, other, found)


@pytest.mark.parametrize("kind", ["length", "chunked"])
async def test_a_body_of_ten_megabytes(stage: Stage, kind: str):
    body = bytes(range(250)) * 40_000
    message = post("/up/v1/messages", body)
    if kind == "chunked":
        message = request("PUT", "/up/v1/files", CHUNKED) + chunk(body) + chunk(body) + LAST_CHUNK
    await stage.shows_no_difference({kind: Exchange(message, answer(body))})
