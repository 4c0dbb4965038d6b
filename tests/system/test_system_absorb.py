# Absorbing rate limits: the refused request goes back to its own place and is sent again; its client sees the last
# answer only (spec §7.5).

from blackbox.call import Call
from blackbox.rig import Rig, Starter
from blackbox.waiting import never

UPSTREAMS = {
    "up": {
        "limit": 1,
        "cooldown": "0s",
        "absorb": 2,
        "auto_reduce": False,
        "pause": {"default": "300ms", "max": "10m"},
    },
}


async def refuse(call: Call, status: int = 429, *headers: tuple[str, str]) -> None:
    await call.answer(status, b'{"error":"no"}', headers)


async def test_refused_request_is_sent_again_byte_for_byte(rig: Rig) -> None:
    body = bytes(range(256)) * 100
    client = await rig.ask("a", body=body, headers=[("X-Odd", "  caf\xe9  ")], target="/up/v1//x%2F?q=1&")
    first = await rig.up.call()
    await refuse(first)
    again = await rig.up.call()
    assert again.head.raw == first.head.raw
    assert again.body == first.body == body
    await again.answer(200, b"at last")
    answer = await client.answer()
    assert (answer.status, answer.body) == (200, b"at last")


async def test_client_sees_the_last_refusal_unchanged(rig: Rig) -> None:
    client = await rig.ask("a")
    for number in range(3):
        await refuse(await rig.up.call(), 429, ("X-Number", str(number)))
    answer = await client.answer()
    assert (answer.status, answer.head.get("x-number"), answer.code) == (429, "2", None)
    await never(lambda: len(rig.up.calls) > 3, during=0.5, what="absorbed once too often")


async def test_absorbed_request_keeps_its_place_and_holds_no_slot_while_it_waits(rig: Rig) -> None:
    """ORD-08: nobody holds a slot through a wait."""
    await rig.ask("a")
    first = await rig.up.call()
    await rig.line_up("b")
    await refuse(first, 429, ("Retry-After", "1"))
    entry = await rig.until_status(paused=True, queued=2)
    assert entry["inFlight"] == 0
    again = await rig.up.call()
    assert again.name == "a"
    assert first.ended_at is not None
    assert again.arrived_at - first.ended_at >= 0.95
    await again.answer()
    assert (await rig.up.call()).name == "b"


async def test_overload_is_absorbed_and_other_errors_are_not(rig: Rig) -> None:
    client = await rig.ask("a")
    await refuse(await rig.up.call(), 529)
    await rig.finish(await rig.up.call(), client)
    for status in (400, 402, 500):
        client = await rig.ask("b")
        await refuse(await rig.up.call(), status)
        assert (await client.answer()).status == status


async def test_client_that_leaves_while_absorbed_is_not_sent_again(rig: Rig) -> None:
    client = await rig.ask("a")
    await refuse(await rig.up.call(), 429, ("Retry-After", "1"))
    await rig.until_status(queued=1)
    client.rst()
    await rig.until_status(queued=0)
    await never(lambda: len(rig.up.calls) > 1, during=1.3)


async def test_answer_that_has_begun_is_never_taken_back(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("one")
    await client.until(b"\n\n")
    call.cut("rst")
    await client.closed()
    await never(lambda: len(rig.up.calls) > 1, during=0.5)


async def test_waits_of_an_absorbed_request_share_one_patience(start: Starter) -> None:
    """Not max_wait anew with each refusal: the client gets the last answer when its patience is used up."""
    absorbing = {"limit": 1, "cooldown": "0s", "absorb": 20, "auto_reduce": False}
    rig = await start({"up": absorbing}, queue={"max_wait": "2s"})

    async def always(call: Call) -> None:
        await refuse(call, 429, ("Retry-After", "1"), ("X-Number", str(len(rig.up.calls))))

    rig.up.behaviour = always
    answer = await (await rig.ask("a")).answer()
    assert (answer.status, answer.head.get("x-number")) == (429, str(len(rig.up.calls)))
    assert 2 <= len(rig.up.calls) <= 3
