# The longest and the most that the contract lets pass (start line 16 KiB, one header 32 KiB, 200 headers), in both
# directions; and one byte or one line more, which is refused and reaches nobody.

import pytest
from rawsides.message import answer, begun, get
from rawsides.rig import Rig
from stage import Exchange, Stage

KIB = 1024
OK = answer(b"ok")
START, FIELD, FIELDS = 16 * KIB, 32 * KIB, 200


def target(size: int) -> str:
    """Makes a request line of that many bytes."""
    return "/up/" + "a" * (size - len("GET /up/ HTTP/1.1"))


def reason(size: int) -> str:
    return "200 " + "r" * (size - len("HTTP/1.1 200 "))


def line(size: int, name: str = "X-A") -> str:
    return f"{name}: " + "a" * (size - len(name) - 2)


async def test_the_longest_and_the_most_pass(stage: Stage):
    many = ["X: 1"] * (FIELDS - 1)  # a Host, or a length, makes them as many as may be
    all_of_them = [line(FIELD)] * (FIELDS - 1)
    await stage.shows_no_difference(
        {
            "request line": Exchange(get(target(START)), OK),
            "header": Exchange(get("/up/", line(FIELD)), OK),
            "name": Exchange(get("/up/", line(FIELD, "X" * (FIELD - 3))), OK),
            "headers": Exchange(get("/up/", *many), OK),
            "status line": Exchange(get("/up/"), answer(b"ok", status=reason(START))),
            "answer's header": Exchange(get("/up/"), answer(b"ok", line(FIELD))),
            "answer's headers": Exchange(get("/up/"), answer(b"ok", *many)),
            "all at once": Exchange(
                get(target(START), *all_of_them), answer(b"ok", *all_of_them, status=reason(START))
            ),
            "interim": Exchange(get("/up/"), begun(line(FIELD), *many, status="103 " + reason(START)[4:]) + OK),
        }
    )


TOO_MUCH = [[line(FIELD + 1)], ["X: 1"] * FIELDS]


@pytest.mark.parametrize("message", [get(target(START + 1)), *(get("/up/", *lines) for lines in TOO_MUCH)])
async def test_one_more_in_a_request_is_a_400(rig: Rig, message: bytes):
    client = await rig.client()
    await client.send(message)
    assert (await client.head()).startswith(b"HTTP/1.1 400 ")
    assert rig.upstream.was_left_alone()


@pytest.mark.parametrize(
    "message", [answer(b"", status=reason(START + 1)), *(answer(b"", *lines) for lines in TOO_MUCH)]
)
async def test_one_more_in_an_answer_is_a_502(rig: Rig, message: bytes):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(message)
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    assert await link.ended() in ("fin", "rst")
