# Conversations over a WebSocket and its ends, each played by both sides; what is returned is what both libraries say.

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from blackbox.ws import Socket

Play = Callable[[Socket, Socket], Awaitable[list[Any]]]


async def conversation(client: Socket, server: Socket) -> list[Any]:
    heard: list[Any] = []
    for message in ("", "text", b"", b"\x00\xff", "ü" * 70_000):
        await client.say(message)
        heard.append(await server.hear())
        await server.say(message)
        heard.append(await client.hear())
    return heard


async def client_closes(client: Socket, server: Socket) -> list[Any]:
    server_saw, _ = await asyncio.gather(server.ended(), client.close(4001, "größer"))
    return [server_saw, await client.ended()]


async def server_closes(client: Socket, server: Socket) -> list[Any]:
    client_saw, _ = await asyncio.gather(client.ended(), server.close(1011, "failed"))
    return [client_saw, await server.ended()]


async def both_close_at_once(client: Socket, server: Socket) -> list[Any]:
    await asyncio.gather(client.close(3001, "client"), server.close(3002, "server"))
    return [await client.ended(), await server.ended()]


async def server_dies(client: Socket, server: Socket) -> list[Any]:
    server.leave("fin")
    return [await client.ended()]


async def client_dies(client: Socket, server: Socket) -> list[Any]:
    client.leave("fin")
    return [await server.ended()]


async def server_dies_behind_its_last_words(client: Socket, server: Socket) -> list[Any]:
    await server.say("x" * 200_000)
    heard = await client.hear()
    await server.say("last words")
    server.leave("rst")
    return [heard, await client.hear(), await client.ended()]


async def client_dies_behind_its_last_words(client: Socket, server: Socket) -> list[Any]:
    await client.say("last words")
    client.leave("fin")
    return [await server.hear(), await server.ended()]


PLAYS: list[Play] = [
    conversation,
    client_closes,
    server_closes,
    both_close_at_once,
    server_dies,
    client_dies,
    server_dies_behind_its_last_words,
    client_dies_behind_its_last_words,
]
