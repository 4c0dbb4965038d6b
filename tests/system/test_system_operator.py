# An operator takes a slot back or sends a waiter away over the admin API (spec §12).

from blackbox.admin import part
from blackbox.client import CUT, RESET
from blackbox.rig import Rig


async def remove(rig: Rig, entry: dict[str, object]) -> int:
    reply = await rig.admin.delete(f"/concurrency/slots/{part(rig.provider)}/{entry['id']}")
    return reply.status


async def test_reclaimed_stream_is_cut_and_its_slot_goes_on(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("one")
    head = await client.head()
    await rig.line_up("b")
    assert await remove(rig, (await rig.slots())["slots"][0]) == 204
    assert (await client.body(head))[1] in (CUT, RESET)
    await call.stopped()
    second = await rig.up.call()
    assert second.name == "b"
    assert call.ended_at is not None
    assert second.arrived_at >= call.ended_at


async def test_reclaimed_request_without_an_answer_gets_504(rig: Rig) -> None:
    """LEAK-12 (c): taken back while the upstream's head is awaited, freed once."""
    client = await rig.ask("a")
    call = await rig.up.call()
    (slot,) = (await rig.slots())["slots"]
    assert await remove(rig, slot) == 204
    answer = await client.answer()
    assert (answer.status, answer.code) == (504, "reclaimed")
    await call.stopped()
    await rig.in_flight(0)
    await rig.ask("b")
    await rig.up.call()
    await rig.line_up("c")
    assert rig.up.peak == 1
    assert await remove(rig, slot) == 404
    assert (await rig.status())["inFlight"] == 1


async def test_dropped_waiter_gets_503_and_the_others_stay(rig: Rig) -> None:
    await rig.ask("a")
    await rig.up.call()
    b, _ = await rig.line_up("b", "c")
    waiters = (await rig.slots())["waiters"]
    assert [waiter["position"] for waiter in waiters] == [1, 2]
    assert await remove(rig, waiters[0]) == 204
    answer = await b.answer()
    assert (answer.status, answer.code) == (503, "dropped")
    await rig.queued(1)
    await rig.up.calls[0].answer()
    assert (await rig.up.call()).name == "c"


async def test_unknown_slot_is_404(rig: Rig) -> None:
    for name in ("999999999", "nonsense", "-1"):
        assert (await rig.admin.delete(f"/concurrency/slots/{part(rig.provider)}/{name}")).status == 404
    assert (await rig.admin.get("/concurrency/slots/nobody.example")).status == 404
    assert (await rig.admin.delete("/concurrency/slots/nobody.example/1")).status == 404
