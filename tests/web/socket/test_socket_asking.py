# Who asks in a socket: each message has its own conversation, workspace and turn (spec §5), as Codex 0.171.0 and
# Copilot CLI 1.0.102 tell them.

import asyncio
import json

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import CODEX, create, event, hear, socket

from proxy.web.socket.asking import ANSWERS_KNOWN

SESSION = "01a22d63-219c-7643-94a8-7a8f79924263"
PREWARM = {"session_id": SESSION, "turn_id": "", "request_kind": "prewarm"}
STARTED = 1_796_057_801_878


def turn_metadata(**fields):
    return json.dumps({"session_id": SESSION, "request_kind": "turn", **fields})


def codex(started_ms=STARTED, turn="t1", project="proj"):
    """What Codex says about a turn in each message."""
    said = turn_metadata(
        turn_id=turn,
        root_turn_id=turn,
        turn_started_at_unix_ms=started_ms,
        workspaces={f"/home/me/{project}": {"has_changes": True}},
    )
    return {"client_metadata": {"session_id": SESSION, "turn_id": turn, "x-codex-turn-metadata": said}}


CODEX_LINES = (CODEX, f"session-id: {SESSION}", f"x-codex-turn-metadata: {json.dumps(PREWARM)}")
COPILOT_LINES = ("User-Agent: OpenAI/JS 5.20.1", "x-initiator: user", "Authorization: Bearer k")
USER = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}]
RESULT = [{"type": "function_call_output", "call_id": "c", "output": "x"}]


async def asked(rig, client, link, **fields):
    """The ticket of this message, whose answer has then ended."""
    await client.send(create(**fields))
    await hear(link)
    (slot,) = rig.scheduler.holding()
    return slot.ticket


async def ended(rig, client, link, response):
    await link.send(event("created", response) + event("completed", response))
    await hear(client), await hear(client)
    await held(rig, 0)


async def test_codex_tells_of_each_turn_in_its_message(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig, *CODEX_LINES)
    await client.send(create(generate=False, client_metadata={"x-codex-turn-metadata": json.dumps(PREWARM)}))
    await hear(link)
    await link.send(event("created", "r0") + event("completed", "r0"))
    await hear(client), await hear(client)
    for turn, started, project in (("t1", STARTED, "proj"), ("t2", STARTED + 60_000, "other")):
        ticket = await asked(rig, client, link, **codex(started, turn, project))
        assert (ticket.conversation, ticket.workspace) == (SESSION, project)
        assert ticket.prompt_started_at == min(started, rig.runtime.clock.wall_ms())
        await ended(rig, client, link, turn)


async def test_two_conversations_wait_by_their_prompts(start):
    rig = await start({"limit": 1})
    running, link = await socket(rig)
    await answering(running, link)
    now_ms = rig.runtime.clock.wall_ms()
    sides = []
    for age_ms in (10_000, 60_000):
        client, side = await socket(rig, CODEX)
        await client.send(create(input=str(age_ms), **codex(now_ms - age_ms, f"t{age_ms}")))
        sides.append(side)
        await waiting(rig, len(sides))
    await link.send(event("completed"))
    assert (await hear(sides[1])).json["input"] == "60000"


@pytest.mark.parametrize("known", [{"prompt_cache_key": "k1"}, {"metadata": {"session_id": "k1"}}])
async def test_body_is_read_as_that_of_a_request(start, known):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    assert (await asked(rig, client, link, **known)).conversation == "k1"


async def test_message_says_no_more_than_headers_of_the_client_may(start):
    """Neither what only the proxy's own headers say, nor a credential."""
    rig = await start({"limit": 1})
    client, link = await socket(rig, "session-id: s1")
    said = {"X-Slotgate-Conversation": "forged", "X-Slotgate-Workspace": "forged", "authorization": "x", "n": 5}
    ticket = await asked(rig, client, link, client_metadata=said)
    assert (ticket.conversation, ticket.workspace) == ("s1", "default")


async def test_messages_that_go_on_from_an_answer_belong_to_its_turn(start):
    """As Copilot's, which name no conversation, and have the first words of it in the first one alone."""
    rig = await start({"limit": 1})
    client, link = await socket(rig, *COPILOT_LINES, "X-Slotgate-Workspace: w")
    tickets = []
    previous = None
    for number, items in enumerate((USER, RESULT, RESULT)):
        about = {"previous_response_id": previous} if number else {}
        tickets.append(await asked(rig, client, link, input=items, instructions="system", **about))
        previous = f"r{number}"
        await ended(rig, client, link, previous)
    assert {ticket.conversation for ticket in tickets} == {tickets[0].conversation}
    assert tickets[0].conversation.startswith("fp:")
    assert {ticket.workspace for ticket in tickets} == {"w"}
    assert {ticket.prompt_started_at for ticket in tickets} == {tickets[0].prompt_started_at}


async def test_conversation_of_an_answer_long_ago_is_forgotten(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    for number in range(ANSWERS_KNOWN + 1):
        await asked(rig, client, link, prompt_cache_key=f"k{number}")
        await ended(rig, client, link, f"r{number}")
    ticket = await asked(rig, client, link, previous_response_id="r1", prompt_cache_key=None)
    assert ticket.conversation == "k1"
    await ended(rig, client, link, "last")
    ticket = await asked(rig, client, link, previous_response_id="r0", prompt_cache_key=None)
    assert ticket.conversation != "k0"


async def test_unreadable_facts_are_counted_and_refuse_nothing(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig, CODEX)
    await asked(rig, client, link, client_metadata={"x-codex-turn-metadata": "no json"})
    assert b'slotgate_identity_unreadable_total{fact="turn_metadata"} 1.0' in rig.runtime.telemetry.metrics()


async def test_the_same_question_after_its_answer_is_another_prompt_where_its_words_alone_name_it(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig, *COPILOT_LINES[::2])
    first = await asked(rig, client, link, input=USER)
    await ended(rig, client, link, "r1")
    while rig.runtime.clock.wall_ms() == first.prompt_started_at:
        await asyncio.sleep(0)
    again = await asked(rig, client, link, input=USER)
    assert again.conversation == first.conversation
    assert again.prompt_started_at > first.prompt_started_at
    await ended(rig, client, link, "r2")
