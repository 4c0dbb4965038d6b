# A reload disturbs nothing: who waits, reads or runs goes on with the configuration that it began with.

import pytest
from rawsides.message import answer, get, post
from rawsides.rig import becomes

from proxy.web.view import View


async def test_waiters_are_served_after_a_reload_that_a_newcomer_has_noticed(start):
    rig = await start({"limit": 1})
    holder, first = await rig.ask(post("/up/a", b"{}"))
    await first.until(b"{}")
    waiting = await rig.client()
    await waiting.send(post("/up/b", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "one waiter")
    await rig.reconfigure({})
    newcomer, second = await rig.ask(get("/up/models"))  # the first request of the new configuration
    await second.head()
    await second.send(answer(b"models"))
    await newcomer.until(b"models")
    await first.send(answer(b"one"))
    await holder.until(b"one")
    await first.head()  # the kept connection, or the newcomer's: whichever is younger
    await first.send(answer(b"two"))
    assert b"200" in await waiting.until(b"two")


async def test_a_failure_before_the_request_is_sent_loses_no_slot(start, monkeypatch):
    rig = await start({"limit": 1})

    def broken(self, upstream):
        raise KeyError(upstream.name)

    with monkeypatch.context() as patched:
        patched.setattr(View, "pool", broken)
        client = await rig.client()
        await client.send(post("/up/", b"{}"))
        assert b"500 Internal" in await client.until(b"}}")
    assert rig.errors.pop().startswith("request.failed")
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(answer(b"served"))
    await client.until(b"served")


@pytest.mark.parametrize("entry", [{"reuse": False}, {"connect_timeout": "3s"}])
async def test_a_changed_upstream_gets_new_connections_and_what_runs_keeps_its_own(start, entry):
    rig = await start({})
    running, old = await rig.ask(post("/up/a", b"{}"))
    await old.until(b"{}")
    await rig.reconfigure(entry)
    newcomer, new = await rig.ask(post("/up/b", b"{}"))
    await new.until(b"{}")
    await new.send(answer(b"new"))
    await newcomer.until(b"new")
    await old.send(answer(b"old"))
    await running.until(b"old")
