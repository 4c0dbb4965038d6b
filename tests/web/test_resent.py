# A client that gives up on silence and asks the same again, on a new connection, has its old place in the queue
# (spec §5, turn tracker; §9).

import pytest
from rawsides.message import answer, post
from rawsides.rig import becomes

ASKED = b'{"messages":[{"role":"system","content":"Be brief"},{"role":"user","content":"%s"}]}'
RETRY = "x-stainless-retry-count: 1"


class Agent:
    """One that asks the same whenever it asks."""

    def __init__(self, name, *lines):
        self.name = name
        self._body = ASKED % name.encode()
        self._lines = lines
        self.client = None

    async def asks(self, rig, *more):
        """Lines up, with a connection of its own."""
        before = len(rig.scheduler.waiting)
        self.client = await rig.client()
        await self.client.send(post(f"/up/{self.name}", self._body, *self._lines, *more))
        await becomes(lambda: len(rig.scheduler.waiting) == before + 1, f"{self.name} waits")

    async def gives_up(self, rig):
        before = len(rig.scheduler.waiting)
        self.client.close()
        await becomes(lambda: len(rig.scheduler.waiting) == before - 1, f"{self.name} has left")


@pytest.fixture(params=["id in a header", "id in the body", "no id"])
def agents(request):
    """Two, by what tells their conversations apart."""
    names = ("older", "younger")
    if request.param == "id in a header":
        return [Agent(name, f"x-session-id: {name}") for name in names]
    made = [Agent(name) for name in names]
    for each in made if request.param == "id in the body" else ():
        each._body = each._body.replace(b"{", b'{"prompt_cache_key":"%s",' % each.name.encode(), 1)
    return made


async def time_passes(rig):
    """So that what comes next has another prompt start."""
    now_ms = rig.runtime.clock.wall_ms()
    await becomes(lambda: rig.runtime.clock.wall_ms() > now_ms + 1)


async def lined_up(start, agents, **options):
    """A rig whose one slot is taken, with both agents in the queue; and the holder's upstream side."""
    rig = await start({"limit": 1}, **options)
    _, link = await rig.ask(post("/up/holder", b"{}"))
    await link.until(b"{}")
    for each in agents:
        await each.asks(rig)
        await time_passes(rig)
    return rig, link


async def order(link, count):
    """Whose requests the upstream sees, one after the other."""
    seen = []
    for _ in range(count):
        await link.send(answer(b"ok"))
        seen.append((await link.head()).split()[1].decode().strip("/"))
        await link.until(b"}]}")
    await link.send(answer(b"ok"))
    return seen


async def test_resent_request_goes_before_whoever_came_after_the_first_one(start, agents):
    rig, link = await lined_up(start, agents)
    older, younger = agents
    for _ in range(3):
        await older.gives_up(rig)
        await time_passes(rig)
        await older.asks(rig, RETRY)
    assert await order(link, 2) == ["older", "younger"]
    await older.client.until(b"ok")
    await younger.client.until(b"ok")


async def test_so_it_does_if_the_first_one_is_seen_to_leave_only_later(start, agents):
    rig, link = await lined_up(start, agents)
    older, younger = agents
    first = older.client
    await older.asks(rig, RETRY)
    first.close()
    await becomes(lambda: len(rig.scheduler.waiting) == 2, "the first one has left")
    assert await order(link, 2) == ["older", "younger"]
    await older.client.until(b"ok")
    await younger.client.until(b"ok")


async def test_so_it_does_after_it_was_told_that_it_has_waited_too_long(start, agents):
    rig, link = await lined_up(start, agents)
    older, younger = agents
    assert await rig.runtime.remove("up", next(iter(rig.scheduler.waiting.ready)))
    assert (await older.client.head()).startswith(b"HTTP/1.1 503 ")
    await older.asks(rig, RETRY)
    assert await order(link, 2) == ["older", "younger"]
    await older.client.until(b"ok")
    await younger.client.until(b"ok")


async def test_another_request_of_the_older_conversation_s_next_prompt_does_not(start, agents):
    """What comes again is the same body; another text of a person is a new prompt."""
    rig, link = await lined_up(start, agents)
    older, younger = agents
    await older.gives_up(rig)
    older._body = older._body.replace(b'"older"}]', b'"older"},{"role":"user","content":"something else"}]')
    await older.asks(rig)
    assert await order(link, 2) == ["younger", "older"]
    await older.client.until(b"ok")
    await younger.client.until(b"ok")


@pytest.mark.parametrize(
    ("status", "lines", "resent"),
    [
        ("200 OK", [], False),
        ("400 Bad Request", [], False),
        ("500 Internal Server Error", [], True),
        ("409 Conflict", [], True),
        ("200 OK", ["x-session-id: named"], True),
    ],
)
async def test_the_same_again_after_an_answer_is_no_resend_where_the_words_are_all_that_names_it(
    start, status, lines, resent
):
    rig = await start({"limit": 1})
    script, other = Agent("script", *lines), Agent("other")
    client, link = await rig.ask(post("/up/script", script._body, *lines))
    await link.until(b"}]}")
    await time_passes(rig)
    await link.send(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok".encode())
    await client.until(b"ok")
    await becomes(lambda: not rig.scheduler.in_flight, "the slot is free")
    holder = await rig.client()
    await holder.send(post("/up/holder", b"{}"))
    await link.until(b"{}")  # on the same connection
    await other.asks(rig)
    await time_passes(rig)
    await script.asks(rig)
    assert await order(link, 2) == (["script", "other"] if resent else ["other", "script"])
