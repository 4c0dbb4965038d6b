# Which answer an event ends: that whose id it names, also where ids come twice, late or all the same.

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import create, event, frame, hear, socket, text
from rawsides.rig import becomes

from proxy.web.socket.protocol import Event
from proxy.web.socket.under_way import ENDED_KNOWN, UnderWay

ERROR = frame(text({"type": "error", "status": 500, "error": {"message": "no", "type": "server_error"}}))


async def passes(link, client, *frames):
    """The upstream says these, and the client has heard them."""
    for each in frames:
        await link.send(each)
        assert (await hear(client)).raw == each


@pytest.mark.parametrize("end", ["completed", "failed", "incomplete"])
async def test_end_that_is_told_twice_does_not_end_the_next_answer(start, end):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link, "r1")
    await passes(link, client, event("completed", "r1"))
    await answering(client, link, "r2")
    await passes(link, client, event(end, "r1"))
    assert rig.scheduler.held == 1
    other, _ = await socket(rig)
    await other.send(create())
    await waiting(rig)
    await passes(link, client, event("completed", "r2"))
    await waiting(rig, 0)


async def test_error_that_is_told_twice_does_not_end_the_message_behind_it(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link, "r1")
    await passes(link, client, ERROR)
    await held(rig, 0)
    await client.send(create())
    await hear(link)
    await passes(link, client, event("failed", "r1"))
    assert rig.scheduler.held == 1
    await passes(link, client, event("created", "r2"), event("completed", "r2"))
    await held(rig, 0)


@pytest.mark.parametrize("second", [event("failed", "r1"), event("failed")], ids=["with an id", "without"])
async def test_error_that_is_told_twice_before_anything_else_does_not_end_the_message_behind_it(start, second):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await passes(link, client, ERROR)
    await held(rig, 0)
    await client.send(create())
    await hear(link)
    await passes(link, client, second)
    assert rig.scheduler.held == 1
    await passes(link, client, event("failed", "r2"))
    await held(rig, 0)


async def test_second_telling_of_an_absorbed_refusal_is_kept_back_too(start):
    rig = await start({"limit": 1, "absorb": 2, "pause": {"default": "1ms", "max": "1ms"}, "auto_reduce": False})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    refusal = {"message": "no", "type": "rate_limit_error", "code": "rate_limit_exceeded"}
    await link.send(frame(text({"type": "error", "status": 429, "error": refusal})))
    await hear(link)
    await link.send(event("failed", "r1", about={"error": refusal}) + event("created", "r2"))
    assert (await hear(client)).json["type"] == "response.created"
    assert rig.scheduler.held == 1


async def test_late_word_of_an_answer_that_has_ended_does_not_begin_the_next(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link, "r1")
    await passes(link, client, event("completed", "r1"))
    await client.send(create())
    await hear(link)
    await passes(link, client, event("output_text.done", response_id="r1"))
    await client.send(create())
    await becomes(lambda: rig.scheduler.held == 1, "one held")
    await passes(link, client, ERROR)
    await hear(link)
    assert (rig.records[-1].first_byte_ms, rig.scheduler.held) == (None, 1)


async def test_end_with_an_id_that_nobody_knows_ends_the_answer_that_is_open(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    for _ in range(2):
        await answering(client, link, "r1")
        await passes(link, client, event("completed", "another"))
        await held(rig, 0)


async def test_answers_that_all_have_the_same_id_end_one_after_the_other(start):
    rig = await start({"limit": 2})
    client, link = await socket(rig)
    for _ in range(3):
        await answering(client, link, "same")
        await passes(link, client, event("completed", "same"))
        await held(rig, 0)
    await answering(client, link, "same")
    await answering(client, link, "same")
    await passes(link, client, event("completed", "same"))
    await held(rig, 1)
    await passes(link, client, event("completed", "same"))
    await held(rig, 0)


def test_few_ids_are_remembered():
    under_way = UnderWay()
    for number in range(ENDED_KNOWN + 1):
        under_way.add(None, None)
        ended = Event("response.completed", f"r{number}", None, None)
        under_way.end(under_way.whose(ended), ended)
    under_way.add(None, None)
    assert under_way.whose(Event("response.completed", f"r{ENDED_KNOWN}", None, None)) is None
    assert under_way.whose(Event("response.completed", "r1", None, None)) is None
    assert under_way.whose(Event("response.completed", "r0", None, None)) is not None
