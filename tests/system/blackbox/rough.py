# An upstream that does what its caller asks for (`x-do`), most of it wrong: cuts, resets, silences, bad bytes, closings
# of kept connections. And addresses at which nobody answers.
#
# Rule 1: what a call gets is the caller's choice, so that the same clients meet the same fate in every round.
# Rule 2: a call is over when the upstream has said its last byte, or when the proxy closed: `Call` counts until then.

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator

from blackbox.call import Call

SILENCE_S = 0.03  # how long one is kept waiting; others wait for its slot meanwhile, so not long


async def short(call: Call) -> None:
    await call.answer(200, b"x" * 3000)


async def large(call: Call) -> None:
    await call.answer(200, b"x" * 200_000)


async def stream(call: Call) -> None:
    call.begin()
    for number in range(4):
        call.event(str(number))
        await asyncio.sleep(0.002)
    call.event("[DONE]")
    await call.finish()


async def slow_stream(call: Call) -> None:
    call.begin()
    call.event("first")
    await _pause(call)
    call.event("last")
    await call.finish()


async def silence(call: Call) -> None:
    await _pause(call)
    await call.answer()


async def cut_by_fin(call: Call) -> None:
    call.begin()
    call.event("one")
    call.cut("fin")


async def cut_by_rst(call: Call) -> None:
    call.begin()
    call.event("one")
    call.cut("rst")


async def reset_before_answer(call: Call) -> None:
    call.cut("rst")


async def bad_head(call: Call) -> None:
    call.raw(b"HTTP/1.1 2000 nonsense\r\nX\r\n\r\n")
    await _pause(call)
    call.cut("fin")


async def bad_chunk(call: Call) -> None:
    call.begin()
    call.event("one")
    call.raw(b"nonsense\r\n")
    await _pause(call)
    call.cut("fin")


async def framed_by_close(call: Call) -> None:
    call.raw(b"HTTP/1.1 200 OK\r\n\r\ndata: one\n\n")
    await call.drained()
    call.cut("fin")


async def interim(call: Call) -> None:
    call.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    await call.answer()


async def closes_afterwards(call: Call) -> None:
    await call.answer()
    call.connection.transport.close()


async def talks_afterwards(call: Call) -> None:
    await call.answer()
    call.connection.transport.write(b"HTTP/1.1 408 unsolicited\r\nContent-Length: 0\r\n\r\n")


async def error(call: Call) -> None:
    await call.answer(500, b'{"error":{"message":"oops"}}')


async def tunnel(call: Call) -> None:
    call.raw(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello\n\n")
    await _pause(call)
    call.cut("fin")


async def _pause(call: Call) -> None:
    """Silence, unless the proxy leaves."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SILENCE_S):
            await call.done.wait()


DEEDS: dict[str, Callable[[Call], Awaitable[None]]] = {
    deed.__name__: deed
    for deed in (
        *(short, large, stream, slow_stream, silence, cut_by_fin, cut_by_rst, reset_before_answer, bad_head, bad_chunk),
        *(framed_by_close, interim, closes_afterwards, talks_afterwards, error),
    )
}


async def as_asked(call: Call) -> None:
    """The behaviour of a rough upstream."""
    if call.head.get("upgrade") is not None:
        await tunnel(call)
    else:
        await DEEDS[call.head.get("x-do") or "short"](call)


@contextlib.contextmanager
def nobody_accepts() -> Iterator[int]:
    """The port of a listener whose queue is full: who connects hears nothing."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(address)
        yield address[1]
