# Who goes next: (workspace is not starred, prompt start, arrival), read when a slot is given (spec §6.2).

import pytest
from blackbox.rig import MESSAGES, Rig
from blackbox.waiting import never, until


async def serve_all(rig: Rig, count: int) -> list[str | None]:
    """Answers `count` calls, each as soon as it arrives; their names in the order of arrival."""
    names = []
    for _ in range(count):
        call = await rig.up.call()
        names.append(call.name)
        await call.answer()
    return names


async def test_waiters_go_in_the_order_in_which_they_came(rig: Rig) -> None:
    await rig.ask("first")
    await rig.up.call()
    await rig.line_up("a", "b", "c")
    await rig.up.calls[0].answer()
    assert await serve_all(rig, 3) == ["a", "b", "c"]
    assert rig.up.peak == 1


async def test_older_prompt_goes_before_a_younger_one_whatever_the_arrival(rig: Rig) -> None:
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("young", started_at=1_700_000_900_000)
    await rig.line_up("old", started_at=1_700_000_100_000)
    await rig.line_up("middle", started_at=1_700_000_500_000)
    assert [waiter["promptStartedAt"] for waiter in (await rig.slots())["waiters"]] == [
        1_700_000_100_000,
        1_700_000_500_000,
        1_700_000_900_000,
    ]
    await first.answer()
    assert await serve_all(rig, 3) == ["old", "middle", "young"]


@pytest.mark.parametrize(
    "old", ["1700000100", "1700000100000", "2023-11-14T22:15:00Z"], ids=["seconds", "milliseconds", "iso"]
)
async def test_prompt_start_is_read_in_each_of_its_forms(rig: Rig, old: str) -> None:
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("young", started_at=1_700_000_900_000)
    await rig.line_up("old", headers=[("x-slotgate-prompt-started-at", old)])
    await first.answer()
    assert await serve_all(rig, 2) == ["old", "young"]


async def test_prompt_start_in_the_future_or_unreadable_gains_nothing(rig: Rig) -> None:
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("plain")
    await rig.line_up("garbage", headers=[("X-Slotgate-Prompt-Started-At", "soon")])
    await rig.line_up("later", started_at=9_999_999_999_999)
    await rig.line_up("last")
    await first.answer()
    assert await serve_all(rig, 4) == ["plain", "garbage", "later", "last"]


async def test_starred_waiter_goes_before_an_older_one(rig: Rig) -> None:
    await rig.star("important")
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("older", workspace="plain", started_at=1_700_000_000_000)
    await rig.line_up("starred", workspace="important", started_at=1_700_000_900_000)
    await first.answer()
    assert await serve_all(rig, 2) == ["starred", "older"]
    await rig.star("important", False)


async def test_star_set_while_waiting_moves_the_waiters_and_taking_it_away_moves_them_back(rig: Rig) -> None:
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("a", workspace="x", conversation="a")
    await rig.line_up("b", workspace="y", conversation="b")
    await rig.line_up("c", workspace="y", conversation="c")
    assert await rig.waiting() == ["a", "b", "c"]
    await rig.star("y")
    assert await rig.waiting() == ["b", "c", "a"]
    await rig.star("y", False)
    assert await rig.waiting() == ["a", "b", "c"]
    await rig.star("y")
    await first.answer()
    second = await rig.up.call()
    assert second.name == "b"
    await rig.star("y", False)
    await second.answer()
    assert await serve_all(rig, 2) == ["a", "c"]


async def test_workspace_in_the_path_is_starred_like_one_in_the_header(rig: Rig) -> None:
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("header", workspace="plain")
    await rig.line_up("path", target="/~my%20project/up/v1/messages?x=1")
    await rig.star("my project")
    await first.answer()
    second = await rig.up.call()
    assert (second.name, second.head.target) == ("path", "/v1/messages?x=1")
    await second.answer()
    await (await rig.up.call()).answer()
    await rig.star("my project", False)


async def test_newcomer_is_granted_at_once_where_there_is_room(rig: Rig) -> None:
    await rig.limit(2)
    await rig.ask("a")
    await rig.ask("b")
    await rig.up.take(2)
    assert (await rig.status())["inFlight"] == 2
    await rig.line_up("c")
    assert sorted(name or "" for name in rig.up.names) == ["a", "b"]


async def test_newcomer_waits_while_anyone_waits(rig: Rig) -> None:
    await rig.cooldown(300)
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("waiter")
    await first.answer()
    newcomer = await rig.ask("newcomer")
    await rig.queued(2)
    assert await serve_all(rig, 2) == ["waiter", "newcomer"]
    assert (await newcomer.answer()).status == 200


async def test_hundreds_of_equals_go_in_the_order_of_arrival(rig: Rig) -> None:
    """ORD-04: the same workspace and prompt start for all of one burst."""
    await rig.ask("first")
    first = await rig.up.call()
    names = [str(number) for number in range(150)]
    await rig.line_up(*names, started_at=1_700_000_000_000)
    await first.answer()
    assert await serve_all(rig, 150) == names
    assert rig.up.peak == 1


async def test_slow_upload_holds_no_slot(rig: Rig) -> None:
    """ORD-06: whoever has not said everything yet neither holds a slot nor waits for one."""
    uploaders = []
    for _ in range(2):
        client = await rig.client()
        await client.send(f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n".encode() + b"x")
        uploaders.append(client)
    third = await rig.ask("third")
    call = await rig.up.call()
    assert call.name == "third"
    await rig.finish(call, third)
    for client in uploaders:
        await client.send(b"y")
    await never(lambda: len(rig.up.calls) > 1, during=0.2, what="an unfinished request went upstream")
    assert (await rig.status())["queued"] == 0


async def test_starred_work_goes_first_for_as_long_as_there_is_any(rig: Rig) -> None:
    """ORD-01: the rule starves the unstarred one and says so: its age can be read while it waits."""
    await rig.star("vip")
    await rig.ask("first", workspace="vip")
    call = await rig.up.call()
    await rig.line_up("plain", workspace="plain")
    for number in range(10):
        await rig.ask(f"vip {number}", workspace="vip")
        await rig.queued(2)
        await call.answer()
        call = await rig.up.call()
        assert call.name == f"vip {number}"
    before = (await rig.status())["oldestWaitMs"]
    assert before > 0

    async def older() -> bool:
        return bool((await rig.status())["oldestWaitMs"] > before)

    await until(older)
    await call.answer()
    assert (await rig.up.call()).name == "plain"
    await rig.star("vip", False)


async def test_conversation_keeps_the_age_of_its_turn_through_tool_calls(rig: Rig) -> None:
    """A request within the turn inherits its start, so the long-running agent goes before one that began later."""
    agent = await rig.ask("agent 1", conversation="agent")
    await rig.finish(await rig.up.call(), agent)
    await rig.ask("blocker", conversation="other")
    blocker = await rig.up.call()
    await rig.line_up("newer", conversation="newer")
    await rig.line_up("agent 2", conversation="agent")
    await blocker.answer()
    assert await serve_all(rig, 2) == ["agent 2", "newer"]


async def test_own_headers_are_not_forwarded_and_others_are(rig: Rig) -> None:
    headers = [("X-Conversation-Id", "c"), ("X-Workspace-Id", "w"), ("X-Prompt-Started-At", "1700000000000")]
    await rig.ask("a", workspace="w", conversation="c", started_at=1_700_000_000_000, headers=headers)
    call = await rig.up.call()
    names = [name.lower() for name, _ in call.head.headers]
    assert not [name for name in names if name.startswith("x-slotgate")]
    assert {"x-conversation-id", "x-workspace-id", "x-prompt-started-at"} <= set(names)
    await call.answer()
